package lacpd

import (
	"context"
	"encoding/binary"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/host/cpuport"
	"tamtam/host/lacp"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Sender sends frames to the chip.
type Sender interface{ Send(cpuport.Frame) error }

// Config configures a [Speaker].
type Config struct {
	Daemon *orch.Daemon
	Redis  *swss.Redis
	MAC    [6]byte // MAC address of the switch
}

// A Speaker is an agent with its input and output. All its methods run on the daemon's goroutine, in handlers, timers
// or [orch.Daemon.Do].
type Speaker struct {
	d     *orch.Daemon
	redis *swss.Redis
	log   *slog.Logger
	mac   [6]byte
	agent *lacp.Agent
	line  Sender // nil while the CPU port is not connected

	begun  bool      // true once the CPU port has been connected
	paused time.Time // time since which the CPU port is not connected

	rows       map[string]map[string]swss.FieldValues // rows of APPL_DB, by table
	configured bool                                   // true if the agent has the current rows
	before     map[string]before                      // state left by an earlier speaker, by PortChannel|port
	loaded     bool                                   // true if before is known
	unsure     bool                                   // true if rows may have to be written
	written    map[string]*forward.OwnRows            // own rows, by table of STATE_DB and COUNTERS_DB
	up         map[string]bool                        // last known state of ports: true if up
	was        map[string]lacp.Mux                    // last logged state, by PortChannel|port
	lost       map[string]uint64                      // number of frames that the CPU port refused, by port
}

var tables = []string{schema.AppPort, schema.AppLAG, schema.AppLAGMember}

// reportPeriod is the interval at which counters, and values that change only with time, are updated.
const reportPeriod = time.Second

// New registers LACP on a daemon.
func New(cfg Config) *Speaker {
	s := &Speaker{
		d: cfg.Daemon, redis: cfg.Redis, log: cfg.Daemon.Logger(), mac: cfg.MAC, agent: lacp.New(),
		rows: map[string]map[string]swss.FieldValues{}, written: map[string]*forward.OwnRows{},
		up: map[string]bool{}, was: map[string]lacp.Mux{}, lost: map[string]uint64{},
	}
	for _, table := range tables {
		s.rows[table] = map[string]swss.FieldValues{}
		forward.Consume(s.d, s.redis.DB(swss.ApplDB), table, func(key string, fields swss.FieldValues) {
			if s.rows[table][key] = fields; fields == nil {
				delete(s.rows[table], key)
			}
			s.configured = false
		})
	}
	for _, table := range []string{schema.StateLACP, schema.StateLACPMember} {
		rows := forward.NewOwnRows(s.d, s.redis.DB(swss.StateDB), table)
		s.written[table] = rows
		forward.Consume(s.d, s.redis.DB(swss.StateDB), table, func(key string, fields swss.FieldValues) {
			if s.loaded && rows.Differs(key, fields) { // another client wrote there: that is corrected
				rows.Forget()
				s.unsure = true
			}
		})
	}
	s.written[schema.CountersLACP] = forward.NewOwnRows(s.d, s.redis.DB(swss.CountersDB), schema.CountersLACP)
	s.d.OnFlush(func() { s.unsure = true })
	s.d.AfterRows(s.due, s.reconcile)
	s.d.At(s.next, func(ctx context.Context, now time.Time) error {
		s.agent.Advance(now)
		s.unsure = true
		return s.reconcile(ctx)
	})
	s.d.Every(func() time.Duration { return reportPeriod }, s.report)
	return s
}

// Is reports whether a frame is of a slow protocol: LACP, markers and the like.
func Is(frame []byte) bool {
	return len(frame) >= 14 && binary.BigEndian.Uint16(frame[12:]) == lacp.EtherType
}

// SetLine connects the CPU port, or disconnects it if line is nil. LACP starts to work with the first connection, and
// pauses while there is none.
func (s *Speaker) SetLine(line Sender) {
	if line == nil {
		s.paused = s.d.Now()
	} else if s.begun && s.line == nil {
		s.agent.Resume(s.d.Now().Sub(s.paused))
		s.unsure = true
	}
	s.line, s.begun = line, s.begun || line != nil
}

// Receive processes a frame that the chip has punted at a port. It returns false if the port is in no PortChannel that
// negotiates, so that the frame is not for LACP. A frame is lost before the rows of an earlier LACP have been read:
// the ports must continue from them.
func (s *Speaker) Receive(port string, frame []byte) bool {
	if !s.loaded {
		return s.speaks(port)
	}
	if !s.configured {
		s.configure()
	}
	if !s.speaks(port) {
		return false
	}
	at, timed := s.agent.Next()
	err := s.agent.Receive(s.now(), port, frame)
	if err != nil {
		s.log.Debug("a LACP frame is left out", "because", err)
	}
	s.flush()
	// A discarded frame changes nothing, and costs nothing, except for timers that were due before it.
	s.unsure = s.unsure || err == nil || timed && !s.now().Before(at)
	return true
}

// speaks reports whether a port is in a PortChannel that negotiates.
func (s *Speaker) speaks(port string) bool {
	for name := range s.rows[schema.AppLAGMember] {
		if lag, member, _ := strings.Cut(name, ":"); member == port && s.negotiates(lag) {
			return true
		}
	}
	return false
}

func (s *Speaker) negotiates(lag string) bool {
	return s.rows[schema.AppLAG][lag][schema.FieldProtocol] == schema.ProtocolLACP
}

func (s *Speaker) due() bool { return s.begun && (!s.loaded || !s.configured || s.unsure) }

// next returns the time at which the agent must be advanced.
func (s *Speaker) next() time.Time {
	if s.line == nil {
		return time.Time{}
	}
	at, _ := s.agent.Next()
	return at
}

// now returns the agent's time, which stands still while the CPU port is not connected.
func (s *Speaker) now() time.Time {
	if s.line == nil {
		return s.paused
	}
	return s.d.Now()
}

// reconcile updates the agent, and writes its output.
func (s *Speaker) reconcile(ctx context.Context) error {
	if !s.begun {
		return nil
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	if !s.configured {
		s.configure()
	}
	if s.line != nil {
		s.agent.Advance(s.now())
	}
	s.flush()
	return s.write(ctx)
}

// configure passes the PortChannels to the agent, with what is in force at their members.
func (s *Speaker) configure() {
	byLAG := map[string][]lacp.Member{}
	var ports []string
	for _, name := range slices.Sorted(maps.Keys(s.rows[schema.AppLAGMember])) {
		lag, port, ok := strings.Cut(name, ":")
		number, valid := portNumber(port)
		if !ok || !valid || !s.negotiates(lag) {
			continue
		}
		ports = append(ports, name)
		is := s.rows[schema.AppLAGMember][name][schema.FieldIncarnation]
		was := s.before[lag+"|"+port].of(is)
		byLAG[lag] = append(byLAG[lag], lacp.Member{
			Name: port, Number: number, MAC: s.mac, Up: s.isUp(port, was != nil), Speed: s.speed(port),
			Incarnation: is, Before: was,
		})
	}
	var all []lacp.Aggregate
	for _, name := range slices.Sorted(maps.Keys(s.rows[schema.AppLAG])) {
		row, err := schema.ParsePortChannel(name, s.rows[schema.AppLAG][name])
		if err != nil || !s.negotiates(name) {
			continue // orchagent reports the error
		}
		a := lacp.Aggregate{
			Name: name, System: lacp.System{Priority: lacp.SystemPriority, MAC: s.mac}, Key: row.LACPKey(),
			Fast: row.FastRate, Fallback: row.Fallback, Up: row.AdminUp, Members: byLAG[name],
		}
		if !row.SystemMAC.IsZero() {
			a.System.MAC = row.SystemMAC
		}
		all = append(all, a)
	}
	s.agent.Configure(s.now(), all)
	for _, name := range ports {
		_, port, _ := strings.Cut(name, ":")
		does := s.rows[schema.AppLAGMember][name][schema.FieldOperStatus]
		s.agent.InForce(s.now(), port, does == schema.OperUp || does == schema.MemberCollecting)
	}
	s.before, s.configured, s.unsure = nil, true, true
}

// isUp reports whether a port is up. While the ASIC state is unknown, it is the last known state, or else that of an
// earlier speaker.
func (s *Speaker) isUp(port string, before bool) bool {
	is, known := s.up[port]
	switch s.rows[schema.AppPort][port][schema.FieldOperStatus] {
	case schema.OperUp:
		is = true
	case schema.OperUnknown:
		is = is || !known && before
	default:
		is = false
	}
	s.up[port] = is
	return is
}

// speed returns the speed of a port in Mb/s, 0 if it is unknown.
func (s *Speaker) speed(port string) uint32 {
	n, _ := strconv.ParseUint(s.rows[schema.AppPort][port]["speed"], 10, 32)
	return uint32(n)
}

// portNumber returns the number of a port in LACP: that of its name, from 1. It does not change with a restart.
func portNumber(name string) (uint16, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(name, "Ethernet"), 10, 16)
	return uint16(n + 1), err == nil && n < 1<<16-1
}

// flush sends the agent's frames to the CPU port.
func (s *Speaker) flush() {
	for _, f := range s.agent.Frames() {
		if s.line == nil || s.line.Send(cpuport.Frame{Port: f.Port, Data: f.Data}) != nil {
			s.lost[f.Port]++
		}
	}
}
