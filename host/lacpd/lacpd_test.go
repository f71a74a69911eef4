package lacpd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/cfgmgr/ports"
	"tamtam/host/cpuport"
	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A bench is two switches, each with tammgrd, LACP and a replacement of orchagent that puts into force what is
// requested. A frame that one switch sends at a port arrives at the same port of the other switch. Time is simulated.
type bench struct {
	*testing.T
	now time.Time
	all [2]*side
}

type side struct {
	b     *bench
	mac   [6]byte
	redis *swss.Redis
	mgr   *orch.Daemon
	d     *orch.Daemon
	lacp  *Speaker
	sent  []cpuport.Frame
	away  bool     // true if the CPU port is not connected
	asic  []string // what was put into force, in order

	listener *swss.Listener
	handed   []*swss.ConsumerState // consumers of tammgrd's output, by table
}

// Send records a frame that a switch sends.
func (s *side) Send(f cpuport.Frame) error {
	s.sent = append(s.sent, f)
	return nil
}

func newBench(t *testing.T, lag string) *bench {
	b := &bench{T: t, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
	for i := range b.all {
		s := &side{b: b, mac: [6]byte{2, 0, 0, 0, 0, byte(i + 1)}, redis: swsstest.Start(t)}
		b.all[i] = s
		s.configure(lag)
		s.manage()
		s.start()
	}
	b.step()
	return b
}

// configure configures the PortChannel, with ports that are up.
func (s *side) configure(lag string) {
	for _, port := range []string{"Ethernet0", "Ethernet4"} {
		s.set(swss.ConfigDB, schema.CfgPort, port, "lanes="+strings.TrimPrefix(port, "Ethernet")+
			" speed=10000 admin_status=up")
		s.set(swss.ConfigDB, schema.CfgPortChannelMbr, "PortChannel1|"+port, "NULL=NULL")
		s.up(port, "up")
	}
	s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", lag)
}

// manage starts tammgrd, and stops the earlier one.
func (s *side) manage() {
	if s.mgr != nil {
		_ = s.mgr.Close()
	}
	d := orch.NewDaemon(orch.Manager, s.redis, orch.Options{})
	ports.New(d, s.redis).LACP = true
	s.b.Cleanup(func() { _ = d.Close() })
	s.mgr = d
}

// kill ends LACP, which writes nothing more.
func (s *side) kill() {
	_ = s.d.Close()
	s.d, s.away = nil, true
}

// start starts LACP, and stops the earlier one.
func (s *side) start() {
	if s.d != nil {
		_ = s.d.Close()
	}
	s.d = orch.NewDaemon("hostd", s.redis, orch.Options{})
	d := s.d
	s.b.Cleanup(func() { _ = d.Close() })
	s.lacp = New(Config{Daemon: d, Redis: s.redis, MAC: s.mac})
	s.stepOne(s.d)
	s.line(s)
}

func (s *side) line(line Sender) {
	s.away = line == nil
	if err := s.d.Do(s.b.Context(), func() { s.lacp.SetLine(line) }); err != nil {
		s.b.Fatal(err)
	}
}

func (s *side) set(db swss.DBName, table, key, fields string) {
	s.b.Helper()
	row := swss.FieldValues{}
	for _, f := range strings.Fields(fields) {
		k, v, _ := strings.Cut(f, "=")
		row[k] = v
	}
	if err := swss.NewTable(s.redis.DB(db), table).Set(s.b.Context(), key, row); err != nil {
		s.b.Fatal(err)
	}
}

// up reports the state of a port, as orchagent does.
func (s *side) up(port, oper string) { s.set(swss.ApplDB, schema.AppPort, port, "oper_status="+oper) }

func (s *side) stepOne(d *orch.Daemon) bool {
	did, err := d.Step(s.b.Context(), s.b.now)
	if err != nil {
		s.b.Fatal(err)
	}
	return did
}

func (b *bench) step() {
	b.Helper()
	rounds := 0
	for again := true; again; {
		if rounds++; rounds > 1000 {
			b.Fatal("there is no end of it")
		}
		again = false
		for i, s := range b.all {
			again = s.d != nil && s.stepOne(s.d) || again
			again = s.stepOne(s.mgr) || again
			again = s.enforce() || again
			for _, f := range s.sent {
				b.all[1-i].receive(f)
				again = true
			}
			s.sent = nil
		}
	}
}

func (s *side) receive(f cpuport.Frame) {
	if s.away {
		return
	}
	if err := s.d.Do(s.b.Context(), func() { s.lacp.Receive(f.Port, f.Data) }); err != nil {
		s.b.Fatal(err)
	}
}

// enforce consumes the output of tammgrd, and reports that it is in force.
func (s *side) enforce() (did bool) {
	if s.listener == nil {
		s.listener = swss.NewListener(s.redis)
		s.b.Cleanup(func() { s.listener.Close() })
		for _, table := range tables {
			s.handed = append(s.handed, swss.NewConsumerState(s.listener, s.redis.DB(swss.ApplDB), table))
		}
	}
	if err := s.listener.Sync(s.b.Context()); err != nil {
		s.b.Fatal(err)
	}
	for i, table := range tables {
		rows, err := s.handed[i].Pops(s.b.Context())
		if err != nil {
			s.b.Fatal(err)
		}
		for _, r := range rows {
			did = true
			if table != schema.AppLAGMember {
				continue
			}
			if r.Op == swss.OpDel {
				s.asic = append(s.asic, strings.TrimPrefix(r.Key, "PortChannel1:")+" gone")
				if err := swss.NewTable(s.redis.DB(swss.ApplDB), table).Del(s.b.Context(), r.Key); err != nil {
					s.b.Fatal(err)
				}
				continue
			}
			row := r.FieldValues()
			does := schema.OperUp
			if row["status"] == schema.MemberDisabled {
				if does = schema.OperDown; row[schema.FieldCollecting] == "true" {
					does = schema.MemberCollecting
				}
			}
			s.asic = append(s.asic, strings.TrimPrefix(r.Key, "PortChannel1:")+" "+does)
			s.set(swss.ApplDB, table, r.Key, "oper_status="+does)
		}
	}
	return did
}

func (b *bench) pass(d time.Duration) {
	b.Helper()
	for end := b.now.Add(d); b.now.Before(end); {
		b.now = b.now.Add(min(time.Second, end.Sub(b.now)))
		b.step()
	}
}

// want checks the rows of members of both sides: mux and reason of each.
func (b *bench) want(what, text string) {
	b.Helper()
	for i, s := range b.all {
		if got := s.members(); got != text {
			b.Errorf("%s: side %d\n     %q\nwant %q", what, i, got, text)
		}
	}
}

func (s *side) members() string {
	s.b.Helper()
	rows, err := swss.NewTable(s.redis.DB(swss.StateDB), schema.StateLACPMember).Dump(s.b.Context())
	if err != nil {
		s.b.Fatal(err)
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		all = append(all, strings.TrimSpace(strings.TrimPrefix(key, "PortChannel1|")+" "+rows[key]["mux"]+" "+
			rows[key]["reason"]))
	}
	return strings.Join(all, "; ")
}

func (s *side) row(db swss.DBName, table, key string) swss.FieldValues {
	row, _, err := swss.NewTable(s.redis.DB(db), table).Get(s.b.Context(), key)
	if err != nil {
		s.b.Fatal(err)
	}
	return row
}

const bothUp = "Ethernet0 distributing; Ethernet4 distributing"

// Two switches aggregate their links. No member carries traffic before it is negotiated, each receives before it sends,
// and the state is in rows.
func TestTwoSwitches(t *testing.T) {
	b := newBench(t, "admin_status=up fast_rate=true min_links=2")
	waits := "waiting waits up to 2s for others to be aggregated with"
	b.want("in the beginning", "Ethernet0 "+waits+"; Ethernet4 "+waits)
	for _, s := range b.all {
		if row := s.row(swss.StateDB, schema.StateLACP, "PortChannel1"); row["links"] != "0" ||
			row["reason"] != "0 of its members carry traffic, want 2" {
			t.Errorf("the PortChannel is %v", row)
		}
	}
	b.pass(4 * time.Second)
	b.want("after 4 s", bothUp)
	for i, s := range b.all {
		if got := strings.Join(s.asic,
			", "); got != "Ethernet0 down, Ethernet4 down, Ethernet0 collecting, Ethernet4 collecting, Ethernet0 up, "+
			"Ethernet4 up" {
			t.Errorf("side %d did %s", i, got)
		}
		lag, member := s.row(swss.StateDB, schema.StateLACP, "PortChannel1"),
			s.row(swss.StateDB, schema.StateLACPMember, "PortChannel1|Ethernet4")
		other := fmt.Sprintf("02:00:00:00:00:%02x", 2-i)
		if lag["partner"] != other || lag["links"] != "2" || lag["reason"] != "" || lag["runner.fast_rate"] != "true" {
			t.Errorf("side %d: the PortChannel is %v", i, lag)
		}
		for field, want := range map[string]string{
			"runner.partner_lacpdu_info.system": other, "runner.partner_lacpdu_info.port": "5",
			"runner.partner_lacpdu_info.state": "63",
			"runner.actor_lacpdu_info.key":     "11", "runner.actor_lacpdu_info.state": "63", "runner.state": "current",
			"runner.selected": "true",
			"link.up":         "true", "churned": "",
		} {
			if member[field] != want {
				t.Errorf("side %d: %s is %q, want %q", i, field, member[field], want)
			}
		}
		if c := s.row(swss.CountersDB, schema.CountersLACP, "PortChannel1:Ethernet0"); c["lacpdu-sent"] == "0" ||
			c["lacpdu-received"] == "0" ||
			c["discarded-bad-tlv"] != "0" || c["changed"] != "1" {
			t.Errorf("side %d counted %v", i, c)
		}
	}
	b.all[0].up("Ethernet4", "down")
	b.all[1].up("Ethernet4", "down")
	b.step()
	b.want("one is cut", "Ethernet0 distributing; Ethernet4 detached the port is down")
	b.all[0].up("Ethernet4", "up")
	b.all[1].up("Ethernet4", "up")
	b.pass(4 * time.Second)
	b.want("it heals", bothUp)
}

// A restart of LACP or tammgrd changes nothing of an aggregation. Nor does an unknown ASIC state with a disconnected
// CPU port, for less than the partner's timeout.
func TestRestartChangesNothing(t *testing.T) {
	b := newBench(t, "admin_status=up")
	b.pass(4 * time.Second)
	b.want("after 4 s", bothUp)
	s := b.all[0]
	s.asic, b.all[1].asic = nil, nil
	calm := func(what string) {
		t.Helper()
		b.want(what, bothUp)
		if len(s.asic)+len(b.all[1].asic) > 0 {
			t.Errorf("%s: put into force %q, and at the other %q", what, s.asic, b.all[1].asic)
		}
	}
	s.start()
	b.pass(60 * time.Second)
	calm("LACP was restarted")
	frame := b.said()
	s.start()
	s.receive(cpuport.Frame{Port: "Ethernet0", Data: frame}) // before the rows of the earlier LACP have been read
	b.pass(60 * time.Second)
	calm("LACP was restarted, and heard its partner at once")
	s.manage()
	b.pass(60 * time.Second)
	calm("tammgrd was restarted")
	for _, port := range []string{"Ethernet0", "Ethernet4"} {
		s.up(port, schema.OperUnknown)
	}
	s.line(nil)
	b.pass(50 * time.Second)
	s.start() // the new LACP has no better information
	b.pass(time.Second)
	calm("syncd was away, and LACP restarted")
	for _, port := range []string{"Ethernet0", "Ethernet4"} {
		s.up(port, "up")
	}
	b.pass(60 * time.Second)
	calm("syncd is back")
	// A database that is flushed is filled again.
	if err := s.redis.DB(swss.StateDB).Client().FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.d.Do(t.Context(), func() {
		s.lacp.written[schema.StateLACPMember].Forget()
		s.lacp.written[schema.StateLACP].Forget()
		s.lacp.unsure = true
	}); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Second)
	b.want("STATE_DB was emptied", bothUp)
}

// Frames of ports that do not negotiate are not for LACP, and a PortChannel that becomes static leaves no row.
func TestStatic(t *testing.T) {
	b := newBench(t, "admin_status=up")
	b.pass(4 * time.Second)
	for _, s := range b.all {
		s.set(swss.ConfigDB, schema.CfgPortChannel, "PortChannel1", "static=true")
	}
	b.pass(2 * time.Second)
	b.want("static", "")
	for _, s := range b.all {
		if len(s.row(swss.StateDB, schema.StateLACP, "PortChannel1"))+
			len(s.row(swss.CountersDB, schema.CountersLACP, "PortChannel1:Ethernet0")) > 0 {
			t.Error("LACP still says something of it")
		}
		if does := s.row(swss.ApplDB, schema.AppLAGMember, "PortChannel1:Ethernet0"); does["status"] != schema.MemberEnabled {
			t.Errorf("its members are %v", does)
		}
		if err := s.d.Do(context.Background(), func() {
			if s.lacp.Receive("Ethernet0", make([]byte, 60)) {
				t.Error("a frame was taken")
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}
