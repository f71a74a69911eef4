package lldpd

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"time"

	"tamtam/host/cpuport"
	"tamtam/host/lldp"
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
	System lldp.System // what the switch announces
}

// A Speaker is an agent with its input and output. All its methods run on the daemon's goroutine, in handlers, timers
// or [orch.Daemon.Do].
type Speaker struct {
	d      *orch.Daemon
	rows   *forward.OwnRows // rows of LLDP_ENTRY_TABLE
	log    *slog.Logger
	agent  *lldp.Agent
	system lldp.System
	line   Sender // nil while the CPU port is not connected

	begun  bool      // true once the CPU port has been connected
	paused time.Time // time since which the CPU port is not connected

	ports      map[string]swss.FieldValues // rows of PORT_TABLE
	configured bool                        // true if the agent has the current ports
	// before holds the rows of an earlier speaker, which count until their neighbours must have sent again. It is nil
	// until they are read.
	before map[string]swss.FieldValues
	until  time.Time
	lost   uint64 // number of frames that the CPU port refused
}

// reportPeriod is the interval at which the rows are updated.
const reportPeriod = time.Second

// New registers LLDP on a daemon.
func New(cfg Config) *Speaker {
	db := cfg.Redis.DB(swss.ApplDB)
	s := &Speaker{
		d: cfg.Daemon, rows: forward.NewOwnRows(cfg.Daemon, db, schema.AppLLDPEntry), log: cfg.Daemon.Logger(),
		agent: lldp.New(), system: cfg.System, ports: map[string]swss.FieldValues{},
	}
	forward.Consume(s.d, db, schema.AppPort, func(key string, fields swss.FieldValues) {
		if s.ports[key] = schema.LastOper(s.ports[key], fields); fields == nil {
			delete(s.ports, key)
		}
		s.configured = false
	})
	s.d.AfterRows(func() bool { return s.begun && (s.before == nil || !s.configured) }, s.reconcile)
	s.d.At(s.next, func(_ context.Context, now time.Time) error {
		s.agent.Advance(now)
		s.flush()
		return nil
	})
	s.d.Every(func() time.Duration { return reportPeriod }, s.report)
	return s
}

// Is reports whether a frame is an LLDP frame.
func Is(frame []byte) bool {
	return len(frame) >= 14 && [6]byte(frame[:6]) == lldp.Group && binary.BigEndian.Uint16(frame[12:]) == lldp.EtherType
}

// SetLine connects the CPU port, or disconnects it if line is nil. LLDP starts to work with the first connection, and
// pauses while there is none.
func (s *Speaker) SetLine(line Sender) {
	if line == nil {
		s.paused = s.d.Now()
	} else if s.begun && s.line == nil {
		s.agent.Resume(s.d.Now().Sub(s.paused))
	}
	s.line, s.begun = line, s.begun || line != nil
}

// Receive processes a frame that the chip has punted at a port, without a tag.
func (s *Speaker) Receive(port string, frame []byte) {
	if err := s.agent.Receive(s.now(), port, frame); err != nil {
		s.log.Debug("an LLDP frame is left out", "because", err)
	}
	s.flush()
}

// Counts returns the counters of LLDP as fields of [schema.CountersHost], and the number of frames that the CPU port
// refused.
func (s *Speaker) Counts() (fields swss.FieldValues, lost uint64) {
	c := s.agent.Counts()
	fields = swss.FieldValues{}
	for name, n := range map[string]uint64{
		"lldp-sent": c.Sent, "lldp-received": c.Received, "lldp-discarded": c.Discarded,
		"lldp-too-many": c.TooMany, "lldp-expired": c.Expired,
	} {
		fields[name] = strconv.FormatUint(n, 10)
	}
	return fields, s.lost
}

// now returns the time of LLDP, which stands still while the CPU port is not connected.
func (s *Speaker) now() time.Time {
	if s.line == nil {
		return s.paused
	}
	return s.d.Now()
}

func (s *Speaker) next() (at time.Time) {
	if s.line != nil {
		at, _ = s.agent.Next()
	}
	return at
}

// reconcile updates the agent, and first reads the rows of an earlier speaker.
func (s *Speaker) reconcile(ctx context.Context) error {
	if s.before == nil {
		rows, err := s.rows.Read(ctx)
		if err != nil {
			return err
		}
		s.before, s.until = maps.Clone(rows), s.now().Add(lldp.TTL)
	}
	var up []lldp.Port
	for name, fields := range s.ports {
		if schema.IsPortName(name) && s.isUp(name) {
			up = append(up, lldp.Port{Name: name, Alias: fields["alias"]})
		}
	}
	s.agent.Configure(s.now(), s.system, up)
	s.configured = true
	s.flush()
	return nil
}

func (s *Speaker) isUp(port string) bool {
	return s.ports[port][schema.FieldOperStatus] == schema.OperUp
}

// flush sends the agent's frames to the CPU port.
func (s *Speaker) flush() {
	for _, f := range s.agent.Frames() {
		if s.line == nil || s.line.Send(cpuport.Frame{Port: f.Port, Data: f.Data}) != nil {
			s.lost++
		}
	}
}

// report updates the rows, as differences.
func (s *Speaker) report(ctx context.Context, _ time.Time) error {
	if s.before == nil || !s.configured {
		return nil
	}
	return s.rows.Write(ctx, s.received())
}

// received returns the rows of LLDP_ENTRY_TABLE, as SONiC's lldp-syncd writes them: if a port has several neighbours,
// the newest one.
func (s *Speaker) received() map[string]swss.FieldValues {
	rows := map[string]swss.FieldValues{}
	if s.now().Before(s.until) {
		for port, row := range s.before {
			if s.isUp(port) {
				rows[port] = row
			}
		}
	}
	for _, n := range s.agent.Neighbors() {
		row := swss.FieldValues{
			"lldp_rem_index":              strconv.FormatUint(uint64(n.Index), 10),
			"lldp_rem_time_mark":          strconv.FormatInt(n.Received.Unix(), 10),
			"lldp_rem_chassis_id_subtype": strconv.Itoa(int(n.ChassisSubtype)),
			"lldp_rem_chassis_id":         n.ChassisID,
			"lldp_rem_port_id_subtype":    strconv.Itoa(int(n.PortSubtype)),
			"lldp_rem_port_id":            n.PortID,
			"lldp_rem_port_desc":          n.PortDescription,
			"lldp_rem_sys_name":           n.SystemName,
			"lldp_rem_sys_desc":           n.SystemDescription,
			"lldp_rem_sys_cap_supported":  capabilities(n.Supported),
			"lldp_rem_sys_cap_enabled":    capabilities(n.Enabled),
			"lldp_rem_man_addr":           "",
		}
		if n.Management.IsValid() {
			row["lldp_rem_man_addr"] = n.Management.String()
		}
		rows[n.Port] = row
	}
	return rows
}

// capabilities returns the bits in the order of SNMP, the first one highest, as two octets.
func capabilities(bits uint16) string {
	var b [2]byte
	for i := range 16 {
		if bits>>i&1 != 0 {
			b[i/8] |= 0x80 >> (i % 8)
		}
	}
	return fmt.Sprintf("%02X %02X", b[0], b[1])
}
