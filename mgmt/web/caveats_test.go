package web

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/mgmt/web/rows"
)

// reports checks that a page contains texts, and does not contain those with the prefix "!".
func reports(t *testing.T, p *Page, at string, wants ...string) {
	t.Helper()
	r, text := get(t, p, at)
	if r.StatusCode != 200 {
		t.Errorf("%s: %s", at, r.Status)
	}
	for _, want := range wants {
		want, not := strings.CutPrefix(want, "!")
		if strings.Contains(text, want) == not {
			t.Errorf("%s says %q: %v\n%s", at, want, !not, text)
		}
	}
}

// recent returns a window of a second ago.
func recent() result.Window {
	return result.Window{Start: testNow.Add(-time.Second).UnixNano(), Length: int64(time.Millisecond)}
}

// times returns a distribution of n latencies.
func times(n, ns int64) result.Distribution {
	return result.Distribution{Count: n, Sum: n * ns, Min: ns, Max: ns, First: result.Bucket(ns),
		Buckets: []uint32{uint32(n)}}
}

// A mean of only some of the packets is inexact. The number of the other packets is shown.
func TestTimesOfSome(t *testing.T) {
	w := recent()
	p := put(t, &result.Batch{Hops: []result.Hop{
		{Window: w, Flow: "f", Path: "x", Switch: 1, Packets: 5, Unknown: 3, Resident: times(2, 700)},
		{Window: w, Flow: "f", Path: "x", Index: 1, Switch: 2, Packets: 5, Resident: times(5, 600), Link: times(1, 250)},
		{Window: w, Flow: "g", Path: "y", Switch: 1, Packets: 5, Resident: times(5, 700)},
		{Window: w, Flow: "h", Path: "z", Switch: 1, Packets: 5, Resident: times(5, 700)},
		{Window: w, Flow: "h", Path: "z", Index: 1, Switch: 3, Packets: 5, Unknown: 5, Link: times(5, 250)},
	}}, nil)
	const some = "times of some packets are unknown: at "
	reports(t, p, "/flows?q=f", some+"switch 1, switch 2<")
	reports(t, p, "/flows?q=g", "!"+some, `<span class="exact">exact`, ">switch 1 700 ns<")
	reports(t, p, "/flows?q=h", some+"switch 3<", "switch 1 700 ns, of those that are known<")
	reports(t, p, "/flow?flow=f&path=x", "time in the switch unknown of 3 of 5 packets",
		"time on the link unknown of 4 of 5 packets", "!time in the switch unknown of 4",
		"!time on the link unknown of 5")
	reports(t, p, "/", "delay unknown of 4 more packets")
}

// A mean whose sum would overflow covers only the values that fit, and reports that others were omitted.
func TestTimesTooLarge(t *testing.T) {
	w, day := recent(), int64(24*time.Hour)
	h := result.Hop{Window: w, Flow: "f", Path: "x", Switch: 1, Packets: 1 << 16, Resident: times(1<<16, day)}
	p := put(t, &result.Batch{Hops: []result.Hop{h, h}}, nil)
	reports(t, p, "/flow?flow=f&path=x", "<dt>Mean time</dt><dd>86400 s<", "overflow: ",
		"unknown of 65,536 of 131,072 packets")
}

// A link is shown without loss only if the loss of all periods is known.
func TestNothingLost(t *testing.T) {
	n := reported{&Network{Nodes: []Node{{Name: "a"}, {Name: "b"}},
		Links: []Link{{A: End{Node: "a", Port: "p"}, B: End{Node: "b", Port: "q"}}}}}
	of := func(cluster string, known bool, flags result.Flags) []result.Loss {
		return []result.Loss{{Flow: "web", From: "a", To: "b", Cluster: cluster, Window: recent(), Status: "ok",
			Known: known, Sent: 9, Received: 9, Flags: flags}}
	}
	many := make([]result.Loss, rows.MostPeriods)
	for i := range many {
		many[i] = of("", true, 0)[0]
		many[i].Period = uint64(i)
	}
	before := of("", true, 0)[0]
	before.Window.Start--
	before.Lost = 5
	whole := of("", true, 0)[0] // by another path
	whole.Lost = 5
	other := of("", false, 0)[0]
	other.Period = 1
	for name, tt := range map[string]struct {
		rows  []result.Loss
		class string
		says  string
	}{
		"known":            {of("", true, 0), "good", "lost 0 of 9 packets;"},
		"unknown":          {of("", false, 0), "unknown", "lost unknown;"},
		"one unknown":      {append(of("", true, 0), other), "unknown", "1 of 2 periods unknown"},
		"not exact":        {of("", true, result.Gap), "unknown", "lost 0 of 9 packets, and not all of it is known;"},
		"as many as kept":  {many, "good", "lost 0 of 4,500 packets;"},
		"more than kept":   {append(many[:rows.MostPeriods:rows.MostPeriods], before), "unknown", "1 older ones not counted"},
		"a part of a path": {append(of("1", true, 0), whole), "good", "lost 0 of 9 packets;"},
	} {
		p := put(t, &result.Batch{Losses: tt.rows}, func(c *Config) { c.Topology = n })
		row := fmt.Sprintf("<tr class=\"r-%s\">\n<th scope=\"row\">a:p<", tt.class)
		if _, text := get(t, p, "/"); !strings.Contains(text, row) || !strings.Contains(text, tt.says) {
			t.Errorf("%s: the page does not say %q and %q:\n%s", name, row, tt.says, text)
		}
	}
	p := put(t, &result.Batch{Losses: append(many, before)}, func(c *Config) { c.Topology = n })
	reports(t, p, "/marking", "1 rows of periods of alternate marking left out for room", `class="r-inexact"`,
		"1 older ones not counted")
	p = put(t, &result.Batch{Losses: of("", true, result.Gap)}, nil)
	reports(t, p, "/marking", "1 not exact", "lost 0, not exact<")
}

// Rows whose clock is ahead do not make other rows look new, and their own age is unknown.
func TestAhead(t *testing.T) {
	old, ahead := testNow.Add(-time.Minute).UnixNano(), testNow.Add(time.Hour).UnixNano()
	j := func(at int64) result.Journey { return result.Journey{Time: at, Key: fmt.Sprint(at)} }
	p := put(t, &result.Batch{Journeys: []result.Journey{j(old), j(ahead)}}, nil)
	reports(t, p, "/packets", "Newest data: 2026-03-01 11:59:00", "<strong>old: 1 min ago",
		"rows are of times up to 1 h later than now")
	p = put(t, &result.Batch{Journeys: []result.Journey{j(ahead)}}, nil)
	reports(t, p, "/packets", "All rows are of times later than now", "later than now: a clock is ahead",
		"!No rows in this time", "!ago")
	p = put(t, &result.Batch{Journeys: []result.Journey{j(testNow.Add(time.Second).UnixNano())}}, nil)
	reports(t, p, "/packets", "0 s ago", "!later than now") // clocks of hosts may differ
	p = put(t, &result.Batch{Position: result.Position{Sources: []result.Source{{Name: "leaf1", Latest: ahead}}}}, nil)
	reports(t, p, "/sources", "1 h later than now", "a clock is ahead: how old the newest is is unknown",
		`!<span class="exact">`)
}

// Omitted rows of lists are counted.
func TestCuts(t *testing.T) {
	w := recent()
	b := &result.Batch{}
	for i := range rowsOfPage + 3 {
		b.Hops = append(b.Hops, result.Hop{Window: w, Flow: "f", Path: fmt.Sprint(i), Switch: uint32(i), Packets: 1})
		b.Journeys = append(b.Journeys, result.Journey{Time: w.Start, Key: fmt.Sprint(i), End: fmt.Sprint("end ", i)})
		b.Drops = append(b.Drops, result.Drop{Window: w, Switch: "s", Reason: fmt.Sprint("reason ", i), Packets: 1})
	}
	f := &fabric{switches: []Switch{{Name: "s"}}}
	for range mostSessions + 5 {
		f.switches[0].Marking = append(f.switches[0].Marking, MarkingSession{Name: "m"})
	}
	p := put(t, b, func(c *Config) { c.Switches = f })
	reports(t, p, "/flow?flow=f&path=0", "Other paths; 2 more are not shown")
	reports(t, p, "/packets", fmt.Sprintf("and %d more<", rowsOfPage+3-mostChoices))
	reports(t, p, "/drops", fmt.Sprintf("Drops by reason; %d lines more are not shown", rowsOfPage+3-mostTallies),
		"!Drops by place;")
	reports(t, p, "/marking", "5 more sessions are not shown")
}

// NaN is neither within a bound nor outside.
func TestNoNumbers(t *testing.T) {
	for nan, want := range []string{"no bound", "truth unknown", "no bound"} {
		k := [3]float64{1, 2, 3}
		k[nan] = math.NaN()
		p := put(t, &result.Batch{Sketches: []result.Sketch{{Time: recent().Start, Switch: "a", Task: "t", Estimate: 2,
			Low: k[0], Truth: k[1], High: k[2], Bounded: true, Known: true}}}, nil)
		reports(t, p, "/sketches", `data-of="Verdict">`+want, "no answer can be judged", "!r-good", "!NaN")
	}
}

// A port of unknown state is not counted as down.
func TestPortsUp(t *testing.T) {
	f := &fabric{switches: []Switch{{Name: "s", Ports: []Port{{Oper: "up"}, {Oper: "down"}, {}, {}}}}}
	p := put(t, &result.Batch{}, func(c *Config) { c.Switches = f })
	reports(t, p, "/switches", `1 of 4 <small class="warn">2 unknown<`)
	f.switches[0].Ports = f.switches[0].Ports[:2]
	reports(t, p, "/switches", "1 of 2<")
}

// An amendment of a window applies to all drops in the window, whatever their time.
func TestAmendedDrops(t *testing.T) {
	w := recent()
	for _, tt := range []struct {
		from, to int64
		flagged  bool
	}{{w.Length - 1, w.Length - 1, true}, {0, 0, true}, {w.Length, w.Length + 5, false}, {-5, -1, false}} {
		p := put(t, &result.Batch{
			Drops:  []result.Drop{{Window: w, Switch: "s", Reason: "acl", Packets: 1, First: w.Start + 5, Last: w.Start + 9}},
			Amends: []result.Amend{{From: w.Start + tt.from, To: w.Start + tt.to, Flags: result.Gap}}}, nil)
		_, text := get(t, p, "/drops")
		if is := strings.Contains(text, "not exact"); is != tt.flagged {
			t.Errorf("doubt from %d to %d: flagged %v, want %v", tt.from, tt.to, is, tt.flagged)
		}
	}
}

// A packet is reported again when more of its path arrives late, and is shown once. Equal packets that were seen
// elsewhere at that time are different packets.
func TestReportedAgain(t *testing.T) {
	at := recent().Start
	journeyTo := func(port, end string, flags result.Flags) result.Journey {
		return result.Journey{Time: at, Key: "k", End: end, Flags: flags,
			Hops: []result.JourneyHop{{Parent: -1, Switch: "a", In: port}}}
	}
	p := put(t, &result.Batch{Journeys: []result.Journey{journeyTo("p", "lost", result.Missing), journeyTo("q", "lost", 0),
		journeyTo("p", "to server", result.Late)}}, nil)
	reports(t, p, "/packets", "to server <small>1<", "lost <small>1<")
	reports(t, p, "/packets?end=lost", "at=a%3Aq", "!at=a%3Ap")
}
