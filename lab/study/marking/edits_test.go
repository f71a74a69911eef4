package marking

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/lab"
	"tamtam/tam/altmark"
)

// Rules are edited at any time at any point, and other sessions come and go beside the measured one. Every period that
// is ok is right: its sent and lost packets are those of some of the flows. The reference is a ledger of every packet,
// which uses neither rules nor marks.
func TestAnyRuleEdit(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	var ok, periods atomic.Int64
	fixed := randtest.Cases{Seed: 7, Count: 6}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		t.Parallel()
		c := randomEdits(rand.New(rand.NewPCG(seed, 0xed17)))
		right, all := c.judge(t, seed)
		ok.Add(int64(right))
		periods.Add(int64(all))
		if t.Failed() {
			t.Logf("%d switches, %+v, events %v", c.switches, c.session, c.events)
		}
	})
	t.Logf("%d of %d periods ok in %d cases", ok.Load(), periods.Load(), run.Count)
	if run.Whole(fixed) && ok.Load() < periods.Load()/8 {
		t.Errorf("%d of %d periods ok, want an eighth at least", ok.Load(), periods.Load())
	}
}

// In these reported cases, an edit at one switch gave periods that were ok although they were wrong.
func TestRuleEdits(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing new for the race detector")
	}
	edit := func(at lab.Time, sw int, fields ...string) lab.Event {
		return editAt(at*lab.Millisecond, sw, fields...)
	}
	voice := func(at lab.Time, sw int, role string) lab.Event {
		return lab.Event{At: at * lab.Millisecond, Do: "config", Switch: fmt.Sprint("s", sw),
			Set: beside("voice", role, 200, 0, altmark.Step)}
	}
	ports := func(at lab.Time, sw int, names string) lab.Event {
		return lab.Event{At: at * lab.Millisecond, Do: "config", Switch: fmt.Sprint("s", sw),
			Set: map[string]map[string]string{
				"ACL_TABLE|TAM": {"type": "TAM", "stage": "ingress", "ports": names}}}
	}
	for name, events := range map[string][]lab.Event{
		"none":               nil,
		"mismatch at start":  {edit(0, 1, "L4_SRC_PORT", "5001")},
		"narrowed":           {edit(60, 1, "L4_SRC_PORT", "5001")},
		"to a range":         {edit(60, 1, "L4_SRC_PORT_RANGE", "5001-5003")},
		"blip":               {edit(41, 1, "L4_SRC_PORT", "5001"), edit(43, 1)},
		"unbound":            {edit(60, 1, "IN_PORTS", "Ethernet8")},
		"unbound, initiator": {edit(60, 0, "IN_PORTS", "Ethernet8")},
		"table unbound":      {ports(60, 1, "Ethernet8")},
		"new session":        {voice(30, 1, "terminator"), voice(60, 0, "initiator")},
		"overlap":            {voice(0, 1, "terminator")},
		"roll-out, reversed": {edit(30, 1, "L4_SRC_PORT_RANGE", "5001-5003"), edit(60, 0, "L4_SRC_PORT_RANGE", "5001-5003")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := edits{switches: 2, events: events, session: altmark.Session{Role: altmark.Initiator, Method: altmark.Step,
				Interval: -7, Mark: altmark.DSCP0, SlotSync: true}}
			ok, all := c.judge(t, 1)
			want := 0
			switch name {
			case "none":
				want = 9
			case "narrowed", "to a range", "blip", "unbound", "unbound, initiator", "table unbound", "new session",
				"roll-out, reversed":
				want = 1
			}
			if ok < want || want == 0 && ok > 0 {
				t.Errorf("%d of %d periods are ok, want %d", ok, all, want)
			}
		})
	}
}

// edits is one flow group of four flows, measured at all switches of a chain, with changes during the run.
type edits struct {
	session  altmark.Session
	switches int
	events   []lab.Event
}

const (
	editedFlows   = 4
	editedPeriods = 14
)

var editedRule = []string{"PRIORITY", "100", "DST_IP", "10.0.0.2/32", "IP_PROTOCOL", "17"}

// editAt returns an event that replaces the rule at a switch by the usual one with some fields added or changed.
func editAt(at lab.Time, sw int, fields ...string) lab.Event {
	row := map[string]string{}
	for list := append(editedRule[:len(editedRule):len(editedRule)], fields...); len(list) > 0; list = list[2:] {
		if row[list[0]] = list[1]; list[1] == "" {
			delete(row, list[0])
		}
	}
	return lab.Event{At: at, Do: "config", Switch: fmt.Sprint("s", sw), Delete: []string{"ACL_RULE|TAM|web"},
		Set: map[string]map[string]string{"ACL_RULE|TAM|web": row}}
}

// beside returns the rows of another session, which matches one of the flows.
func beside(name, role string, priority, flow int, m altmark.Method) map[string]map[string]string {
	row := map[string]string{"flowgroup": name, "role": role, "method": m.String(), "interval": "-7", "mark": "dscp0"}
	if m == altmark.Double {
		row["mark2"] = "dscp1"
	}
	return map[string]map[string]string{
		"TAM_FLOWGROUP_TABLE|" + name: {"id": fmt.Sprint(2 + len(name))},
		"ACL_RULE|TAM|" + name: {"PRIORITY": fmt.Sprint(priority), "DST_IP": "10.0.0.2/32", "IP_PROTOCOL": "17",
			"L4_SRC_PORT": fmt.Sprint(5000 + flow)},
		"TAM_ALTMARK_TABLE|" + name: row,
	}
}

func randomEdits(rnd *rand.Rand) edits {
	method := []altmark.Method{altmark.Step, altmark.Step, altmark.Double, altmark.Double, altmark.Pulse,
		altmark.Muxed}[rnd.IntN(6)]
	c := edits{switches: 2 + rnd.IntN(2), session: altmark.Session{Method: method, Interval: -7, Mark: altmark.DSCP0,
		SlotSync: true}}
	if c.session.Method == altmark.Double {
		c.session.Mark2 = altmark.DSCP1
	}
	at := func() lab.Time { return lab.Time(rnd.Int64N(int64(10*length(-7)))) * lab.Time(rnd.IntN(4)+2) / 4 }
	for range 1 + rnd.IntN(4) {
		sw := rnd.IntN(c.switches)
		port := fmt.Sprint(5000 + rnd.IntN(editedFlows))
		switch rnd.IntN(14) {
		case 0:
			c.events = append(c.events, editAt(at(), sw, "L4_SRC_PORT", port))
		case 1:
			c.events = append(c.events, editAt(at(), sw, "L4_SRC_PORT_RANGE", port+"-5003"))
		case 2:
			c.events = append(c.events, editAt(at(), sw)) // restore the usual rule
		case 3:
			c.events = append(c.events, editAt(at(), sw, "PRIORITY", fmt.Sprint(1+rnd.IntN(1000))))
		case 4:
			c.events = append(c.events, editAt(at(), sw, "DST_IP", []string{"10.0.0.0/24", "10.0.0.3/32", ""}[rnd.IntN(3)]))
		case 5:
			c.events = append(c.events, editAt(at(), sw, "IN_PORTS", []string{"Ethernet8", "Ethernet0",
				"Ethernet0,Ethernet8"}[rnd.IntN(3)]))
		case 6:
			c.events = append(c.events, editAt(at(), sw, "DSCP", []string{"0", "0/0x3e", "0/0x3c", "8", "0/0x30"}[rnd.IntN(5)]))
		case 7:
			c.events = append(c.events, editAt(at(), sw, "TTL", "64", "ETHER_TYPE", []string{"0x0800", "0x86dd"}[rnd.IntN(2)]))
		case 8: // deleted, and perhaps restored
			c.events = append(c.events, lab.Event{At: at(), Do: "config", Switch: fmt.Sprint("s", sw),
				Delete: []string{"ACL_RULE|TAM|web"}})
			if rnd.IntN(2) == 0 {
				c.events = append(c.events, editAt(at(), sw))
			}
		case 9:
			c.events = append(c.events, lab.Event{At: at(), Do: "config", Switch: fmt.Sprint("s", sw),
				Set: map[string]map[string]string{
					"ACL_TABLE|TAM": {"type": "TAM", "stage": "ingress", "ports": []string{"Ethernet0", "Ethernet8",
						"Ethernet0,Ethernet4"}[rnd.IntN(3)]}}})
		case 10: // the same edit everywhere, in any order
			fields := []string{"L4_SRC_PORT_RANGE", "5001-5003"}
			for i := range c.switches {
				c.events = append(c.events, editAt(at(), i, fields...))
			}
		default: // another session, which may go again, or come everywhere
			name, priority, flow := "voice", 1+rnd.IntN(200), rnd.IntN(editedFlows)
			if rnd.IntN(3) == 0 {
				priority = 100
			}
			for i := range c.switches {
				if i != sw && rnd.IntN(2) == 0 {
					continue
				}
				c.events = append(c.events, lab.Event{At: at(), Do: "config", Switch: fmt.Sprint("s", i),
					Set: beside(name, roleAt(i, c.switches), priority, flow, c.session.Method)})
			}
			if rnd.IntN(2) == 0 {
				c.events = append(c.events, lab.Event{At: at(), Do: "config", Switch: fmt.Sprint("s", sw),
					Delete: []string{"TAM_ALTMARK_TABLE|" + name}})
			}
		}
	}
	return c
}

func roleAt(i, of int) string {
	switch i {
	case 0:
		return "initiator"
	case of - 1:
		return "terminator"
	}
	return "transit"
}

// judge runs the case. It returns how many periods are ok, and how many there are.
func (c edits) judge(t *testing.T, chance uint64) (ok, all int) {
	t.Helper()
	var b, links, points strings.Builder
	b.WriteString(`
x-config: &config
  PORT:
    Ethernet0: {lanes: "1", speed: "10000", admin_status: up}
    Ethernet4: {lanes: "5", speed: "10000", admin_status: up}
    Ethernet8: {lanes: "9", speed: "10000", admin_status: up}
  VLAN: {Vlan10: {vlanid: "10"}}
  VLAN_MEMBER: {"Vlan10|Ethernet0": {tagging_mode: untagged}, "Vlan10|Ethernet4": {tagging_mode: untagged}}
  TAM_FEATURES_TABLE: {ALTMARK: {status: ACTIVE}}
  TAM_FLOWGROUP_TABLE: {web: {id: "1"}}
  ACL_RULE: {"TAM|web": {PRIORITY: "100", DST_IP: 10.0.0.2/32, IP_PROTOCOL: "17"}}
switches:
`)
	mark2 := ""
	if c.session.Mark2 != altmark.NoMark {
		mark2 = ", mark2: " + c.session.Mark2.String()
	}
	for i := range c.switches {
		fmt.Fprintf(&b,
			"- {name: s%d, config: {<<: *config, TAM_ALTMARK_TABLE: {web: {flowgroup: web, role: %s, method: %v, interval: "+
				"\"-7\", mark: %v%s}}}}\n",
			i, roleAt(i, c.switches), c.session.Method, c.session.Mark, mark2)
		if i > 0 {
			fmt.Fprintf(&links, "- {a: \"s%d:Ethernet4\", b: \"s%d:Ethernet0\", delay: 5us, loss: 0.02}\n", i-1, i)
		}
		fmt.Fprintf(&points, "%s\"s%d:web\"", map[bool]string{true: ", "}[i > 0], i)
	}
	fmt.Fprintf(&b,
		"hosts: [{name: c, ips: [10.0.0.1/24]}, {name: d, ips: [10.0.0.2/24]}]\nlinks:\n- {a: c, b: \"s0:Ethernet0\"}\n- "+
			"{a: \"s%d:Ethernet4\", b: d}\n%s",
		c.switches-1, links.String())
	fmt.Fprintf(&b, "altmark: {paths: [{name: p, points: [%s], traffic: [f0, f1, f2, f3]}]}\ntraffic:\n", points.String())
	for i := range editedFlows {
		fmt.Fprintf(&b, "- {name: f%d, from: c, to: d, pps: 8000, kind: poisson, size: 200, src_port: %d, start: 20us}\n", i,
			5000+i)
	}
	top, err := parse("edits.yaml", b.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	top.Events = c.events
	l, seen := newLab(t, withTime(top, editedPeriods*length(-7)), lab.Options{Seed: chance | 1, Workers: 1})
	defer l.Close()
	if err := l.Run(t.Context(), top.Duration); err != nil {
		t.Fatal(err)
	}
	r, err := l.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := seen.paths[0]
	for n, s := range reportOf(r)["p"].Segments {
		for i, p := range s.Periods {
			if all++; p.Status != "ok" {
				continue
			}
			ok++
			if p.Lost != nil && !ofSomeFlows(path.truth.periods[period{p.Period, 0}], path.segments[n], p) {
				t.Errorf("%s to %s, period %d: ok, %d lost of %d, which is right of no flows", s.From, s.To, i, *p.Lost, *p.Sent)
			}
			if p.Delay == nil {
				continue
			}
			if d := time.Duration(*p.Delay); d < 5*time.Microsecond || d > 30*time.Microsecond {
				t.Errorf("%s to %s, period %d: ok, and a delay of %v", s.From, s.To, i, d)
			}
		}
	}
	return ok, all
}

// ofSomeFlows reports whether the numbers of a period are true for some subset of the flows.
func ofSomeFlows(truth *truePeriod, of segment, p Period) bool {
	if truth == nil {
		return *p.Sent == 0 && *p.Lost == 0
	}
	for some := range 1 << editedFlows {
		sent, lost, _ := truth.account(of, func(flow int) bool { return some>>(flow-1)&1 == 1 })
		if sent == *p.Sent && lost == *p.Lost {
			return true
		}
	}
	return false
}
