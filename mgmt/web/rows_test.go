package web

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/tam/words"
)

// Names of the network of the tests, and names that a hostile switch may have.
var (
	hostile = []string{`<script>alert(1)</script>`, `" onload="x`, "'; DROP", "a\x00b\n", "javascript:alert(1)",
		"&amp;{{.}}", "\xff\xfe",
		"\u202egnol\u2066", "\x1b[31m\r\n\t", strings.Repeat("long", 50), strings.Repeat("\u0301", 60)}
	testSwitch  = []string{"leaf1", "leaf2", "spine1", "spine2"}
	testReasons = []string{"acl-deny", "no-route", "ttl", "tail-drop"}
)

// A fabric is a random network in the form that the page needs.
type fabric struct {
	network  Network
	switches []Switch
	err      error
}

func (f *fabric) Network(context.Context) (*Network, error)  { return &f.network, f.err }
func (f *fabric) Switches(context.Context) ([]Switch, error) { return f.switches, f.err }

// A world makes random rows of everything; with spite some of the texts are hostile.
type world struct {
	r     *rand.Rand
	spite bool
	now   time.Time
}

func (w *world) text(from ...string) string {
	if w.spite && w.r.IntN(4) == 0 {
		return hostile[w.r.IntN(len(hostile))]
	}
	return from[w.r.IntN(len(from))]
}

func (w *world) flags() result.Flags {
	if w.r.IntN(3) > 0 {
		return 0
	}
	return result.Flags(1 << w.r.IntN(7)) // includes a bit that is no flag
}

func (w *world) time() int64 {
	return w.now.Add(-time.Duration(w.r.IntN(int(30 * time.Second)))).UnixNano()
}

func (w *world) window() result.Window {
	const length = int64(100 * time.Millisecond)
	return result.Window{Start: w.time() / length * length, Length: length}
}

func (w *world) dist() (d result.Distribution) {
	if w.r.IntN(5) == 0 {
		return d
	}
	for range 1 + w.r.IntN(20) {
		v := int64(500 + w.r.IntN(100_000))
		d.Add(result.Distribution{Count: 1, Sum: v, Min: v, Max: v, First: result.Bucket(v), Buckets: []uint32{1}})
	}
	return d
}

func (w *world) flow() string {
	return w.text("UDP 10.0.1.2:1024 > 10.0.2.2:9", "TCP 10.0.1.2:7 > 10.0.3.2:80", "")
}

// batch returns a batch of n rows of each kind.
func (w *world) batch(n int) *result.Batch {
	b := &result.Batch{Partition: "p", First: 1, Position: result.Position{Last: 1}}
	for i := range n {
		flow, path := w.flow(), fmt.Sprint(i%7)
		for k, sw := range []uint32{257, 513, 258} {
			if w.r.IntN(9) > 0 {
				b.Hops = append(b.Hops, result.Hop{Window: w.window(), Flow: flow, Path: path, Index: k, Switch: sw,
					In:  uint16(w.r.IntN(3)),
					Out: uint16(w.r.IntN(3)), Packets: w.r.Int64N(1e6), Unknown: w.r.Int64N(2), Resident: w.dist(), Link: w.dist(),
					Flags: w.flags()})
			}
		}
		b.Drops = append(b.Drops, result.Drop{Window: w.window(), Switch: w.text(testSwitch...),
			Port:  w.text("Ethernet0", ""),
			Queue: w.r.IntN(4) + result.NoQueue, Reason: w.text(testReasons...), Rule: w.text("", "TABLE|RULE_1"),
			Flow:    w.flow(),
			Packets: w.r.Int64N(1000), First: w.time(), Last: w.time(), Source: w.text("ipfix", "sflow", "record"),
			Flags: w.flags()})
		b.Losses = append(b.Losses, result.Loss{Flow: w.text("web"), Cluster: w.text("", "1"), From: w.text("leaf1"),
			To:     w.text("spine1", "spine1+spine2"),
			Period: uint64(i), Window: w.window(), Status: w.text("ok", "flagged", "missing"), Known: w.r.IntN(3) > 0, Sent: 100,
			Received: 100,
			Lost:     w.r.Int64N(3), Delay: w.dist(), Detail: w.text("", "clock-step"),
			Mean: []result.MeanDelay{{}, {Known: true, Delay: w.r.Int64N(1e6) - 1000, Sum: "7"},
				{Unknown: "2 of 100 packets were lost"}}[w.r.IntN(3)]})
		b.Journeys = append(b.Journeys, w.journey(i))
		b.Sketches = append(b.Sketches, result.Sketch{Time: w.time(), Switch: w.text(testSwitch...),
			Task: w.text("heavy", "distinct"),
			Key:  w.text("10.0.1.2", "10.0.3.2"), Estimate: w.r.Float64() * 1e6, Low: 10, High: 1e6, Bounded: w.r.IntN(2) == 0,
			Truth: w.r.Float64() * 2e6, Known: w.r.IntN(2) == 0, Flags: w.text("", "early")})
		b.Sources = append(b.Sources, result.Source{Name: w.text("leaf1", "leaf2", "h1"), Kind: w.text("ipfix", "tailstamp"),
			Events: 7,
			Lost:   w.r.Int64N(2), Late: w.r.Int64N(2), Latest: w.time(), Silent: w.r.IntN(2) == 0})
	}
	return b
}

func (w *world) journey(i int) result.Journey {
	j := result.Journey{Time: w.time(), Flow: w.flow(), Key: fmt.Sprintf("k%d", i/2), From: w.text("h1", ""),
		End: "forwarded out of the network", Flags: w.flags()}
	if w.r.IntN(3) == 0 {
		j.Ambiguous, j.Candidate, j.Of = true, 1, 2
	}
	for k := range 1 + w.r.IntN(4) {
		h := result.JourneyHop{Parent: w.r.IntN(k+1) - 1, Perhaps: w.text("", "", "spine1:Ethernet0 after 5µs"),
			Switch: w.text(testSwitch...), In: w.text("Ethernet0", ""), Out: w.text("Ethernet4", ""),
			Queue: w.r.IntN(3) - 1, Depth: w.r.Int64N(9000) - 1, Tables: w.text("", "chip.acl hit, chip.route ran")}
		if w.r.IntN(4) > 0 {
			h.Arrival = j.Time + int64(k)*2000
			h.Departure = h.Arrival + w.r.Int64N(1500)
		}
		j.Hops = append(j.Hops, h)
	}
	if w.r.IntN(2) == 0 {
		h := &j.Hops[len(j.Hops)-1]
		h.Dropped, h.Out, h.Departure = w.text(testReasons...), "", 0
		j.End = "dropped: " + h.Dropped
	}
	return j
}

func (w *world) fabric() *fabric {
	f := &fabric{network: Network{Source: "a test"}}
	for i, name := range testSwitch {
		f.network.Nodes = append(f.network.Nodes, Node{Name: name, ID: uint32(257 + 255*(i/2) + i%2 + i/2)})
		f.switches = append(f.switches, w.sw(name))
	}
	f.network.Nodes = append(f.network.Nodes, Node{Name: w.text("h1"), Host: true}, Node{Name: "h2", Host: true},
		Node{Name: "who", Unknown: true})
	for i, leaf := range testSwitch[:2] {
		for k, spine := range testSwitch[2:] {
			f.network.Links = append(f.network.Links, Link{Name: leaf + "-" + spine, Mbps: 10_000,
				Oper: w.text("up", "down", ""),
				A:    End{leaf, fmt.Sprintf("Ethernet%d", 4+4*k), uint16(1 + k)},
				B:    End{spine, fmt.Sprintf("Ethernet%d", 4*i), uint16(i)},
				AB:   w.traffic(), BA: w.traffic()})
		}
		host := f.network.Nodes[4+i].Name
		f.network.Links = append(f.network.Links, Link{A: End{Node: host}, B: End{leaf, "Ethernet0", 0}, AB: w.traffic(),
			BA: w.traffic()})
	}
	return f
}

func (w *world) traffic() Traffic {
	return Traffic{Counted: w.r.IntN(3) > 0, Frames: w.r.Int64N(1e6), Load: w.r.Float64(), LostKnown: w.r.IntN(2) == 0,
		Lost: w.r.Int64N(2)}
}

func (w *world) sw(name string) Switch {
	s := Switch{Name: name, Read: w.now.Add(-time.Second)}
	if w.r.IntN(5) == 0 {
		s.Error = w.text("the databases do not answer")
		s.Read = time.Time{}
		return s
	}
	for i := range 60 {
		s.Objects = append(s.Objects, Object{Name: fmt.Sprintf("TAM_TAILSTAMPING_TABLE|%s%d", w.text("a"), i),
			Status: Status(words.Statuses()[w.r.IntN(len(words.Statuses()))]),
			Reason: w.text("", "feature is not active"),
			Since:  w.now.Add(-time.Hour), Unapplied: []string{w.text("no-effect: fec has no effect",
				"unknown: there is no field a")}})
	}
	for i := range 4 {
		s.Ports = append(s.Ports, Port{Name: fmt.Sprintf("Ethernet%d", 4*i), Oper: w.text("up", "down", ""), Admin: "up",
			Mbps:     10_000 * int64(w.r.IntN(2)),
			Counters: map[string]uint64{"in": w.r.Uint64(), "dropped": uint64(w.r.IntN(2))}})
	}
	if w.r.IntN(2) == 0 {
		w.own(&s)
	}
	return s
}

// own adds the data of a switch's own page.
func (w *world) own(s *Switch) {
	s.Ports[0].In, s.Ports[1].Out = &Load{0.1, 0.2, time.Second}, &Load{0.3, 0.3, time.Second}
	s.Troubles = []string{w.text("syncd does not answer")}
	s.DropAccount = &DropAccount{Since: w.now.Add(-time.Hour), Total: w.r.Uint64N(3), Kept: 1, Forgotten: w.r.Uint64N(2)}
	if w.r.IntN(3) == 0 {
		s.DropAccount.Error = w.text("syncd is not running")
	}
	for range mostTallies + 3 {
		c := Count{w.text("acl", ""), w.r.Uint64(), w.text("", "no-vlan 29")}
		s.DropAccount.Reasons, s.DropAccount.Rules = append(s.DropAccount.Reasons, c), append(s.DropAccount.Rules, c)
	}
	for range 3 {
		s.DropAccount.Last = append(
			s.DropAccount.Last,
			DroppedPacket{Time: w.now, In: w.text("Ethernet0", ""), Out: w.text("", "Ethernet4"),
				Queue: w.text("", "3, behind 90 bytes"), Reason: w.text("acl", ""), Text: w.text("a rule", ""),
				Rule: w.text("ACL rule A|1", ""),
				Flow: w.flow(), Bytes: 60, Tables: []string{w.text("chip.acl EDGE hit A|1")},
				Unknown: []string{w.text("program tables")}[w.r.IntN(2):]},
		)
		m := MarkingSession{Name: w.text("m", ""), Error: w.text("", "bad"), Role: w.text("", "transit"),
			Timing: w.text("exact"), Guard: time.Duration(w.r.IntN(2))}
		for i := range w.r.IntN(3) {
			m.Periods = append(m.Periods, MarkingPeriod{Error: w.text("", "no JSON"), Number: uint64(i), Read: w.text("", "5.0"),
				Clock: w.text("", "PTP"),
				Flags: []string{w.text("late")}[w.r.IntN(2):]})
		}
		s.Marking = append(s.Marking, m)
		s.Stamping = append(s.Stamping, StampingSession{w.text("t"), w.text("", "bad"), map[string]uint64{"matched": 3}})
	}
	s.Stamping = append(s.Stamping, StampingSession{Name: "u"})
	alarm := SwitchAlarm{Type: w.text("OBJECTS_FAILED", ""), Resource: w.text("PORT"), Severity: w.text("MAJOR"),
		Text: w.text("3 failed", ""), Count: w.text("3"), Raised: []time.Time{{}, w.now}[w.r.IntN(2)]}
	s.Alarms = []SwitchAlarm{alarm}[w.r.IntN(2):]
	alarm.Cleared = w.now
	s.PastAlarms = []SwitchAlarm{alarm}[w.r.IntN(2):]
}

// page returns a page of the world's rows.
func (w *world) page(t *testing.T, rows int) *Page {
	t.Helper()
	m := result.NewMemory(0)
	if rows > 0 {
		if _, err := m.Put(t.Context(), w.batch(rows)); err != nil {
			t.Fatal(err)
		}
	}
	f := w.fabric()
	cfg := Config{Title: "a test", Store: m, Scanner: fakeScanner{new(result.Ask), testNow}, Topology: f, Switches: f,
		Own: w.r.IntN(4) == 0,
		Now: func() time.Time { return w.now },
		Alarms: rulesOf(t, 0.005, `graphs: [{name: web, links: [[leaf1, spine1], [leaf1, spine2]], points: [
			{switch: leaf1, target: "l1:1", session: w}, {switch: spine1, target: "s1:1", session: w},
			{switch: spine2, target: "s2:1", session: w}]}]`)}
	if cfg.Own && rows == 0 {
		cfg.Lacks = map[string]string{"/flows": "that takes a collector", "/time": "that takes a collector"}
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
