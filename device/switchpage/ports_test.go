package switchpage

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/mgmt/web"
	"tamtam/swss"
)

// The load of a port lies within the reported bounds, whenever the switch polled its counters. No load is reported
// for counters that were reset, are missing, or were read too close together.
func TestLoads(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 2000}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		age := func() time.Duration { return time.Duration(10+r.IntN(4000)) * time.Millisecond }
		rate, load := float64(1000+r.IntN(100_000)), 0.01+0.98*r.Float64() // rate in Mb/s
		size := float64(64 + r.IntN(9000))
		frames := func(at time.Duration) uint64 { // number of frames that have arrived by then
			return uint64(load * rate * 1e6 * at.Seconds() / (8 * (size + overhead)))
		}
		polled := func(at, old time.Duration) map[string]uint64 { // the counters as read, up to old before at
			n := frames(at - time.Duration(r.Int64N(int64(old))))
			return map[string]uint64{"in": n, "in bytes": uint64(size) * n}
		}
		first := 10*time.Second + time.Duration(r.IntN(1000))*time.Millisecond
		over := span{time.Duration(1+r.IntN(15_000)) * time.Millisecond, age(), age()}
		p := &web.Port{Mbps: int64(rate), Counters: polled(first+over.length, over.last)}
		was := polled(first, over.first)
		got := loadOf(p, was, "in", over)
		if over.length <= over.first+over.last {
			if got != nil {
				t.Errorf("over %v: %+v", over, *got)
			}
			return
		}
		// the load of one frame
		one := 8 * (size + overhead) / (rate * 1e6 * (over.length - over.last).Seconds())
		if got == nil || load < got.Low-one || load > got.High+one || got.Low > got.High || got.High > 1 {
			t.Errorf("load %.3f over %v: %+v", load, over, got)
		}
		was["in"] = p.Counters["in"] + 1
		if got := loadOf(p, was, "in", over); got != nil {
			t.Errorf("the counter began anew: %+v", *got)
		}
		delete(was, "in bytes")
		if got := loadOf(p, was, "in", over); got != nil || loadOf(p, nil, "out", over) != nil {
			t.Errorf("without a counter: %+v", got)
		}
	})
}

// Counters of one syncd are not compared with counters of another or unknown syncd, since nothing may update them.
func TestLoadsOfOneSyncd(t *testing.T) {
	var l loads
	at, sent := time.Unix(0, 0), uint64(0)
	for i, step := range []struct {
		by    string
		known bool
	}{{"a", false}, {"a", true}, {"", false}, {"a", false}, {"a", true}, {"b", false}, {"b", true}} {
		at, sent = at.Add(4*time.Second), sent+1000
		ports := []web.Port{{Name: "Ethernet0", Mbps: 1000, Counters: map[string]uint64{"in": sent, "in bytes": 100 * sent}}}
		l.add(sample{at: at, old: 1500 * time.Millisecond, by: step.by}, ports)
		if known := ports[0].In != nil; known != step.known {
			t.Errorf("reading %d, polled by %q: the load is known: %v, want %v", i, step.by, known, step.known)
		}
	}
}

// Frames that were counted at another rate are not part of the load at this rate.
func TestLoadsOfOneRate(t *testing.T) {
	var l loads
	at, sent := time.Unix(0, 0), uint64(0)
	for i, step := range []struct {
		mbps  int64
		known bool
	}{{1000, false}, {1000, true}, {10, false}, {10, false}, {10, false}, {10, true}} {
		at, sent = at.Add(5*time.Second), sent+1000
		counted := map[string]uint64{"in": sent, "in bytes": 100 * sent}
		ports := []web.Port{{Name: "Ethernet0", Mbps: step.mbps, Counters: counted}}
		l.add(sample{at: at, old: 1500 * time.Millisecond, by: "a"}, ports)
		if known := ports[0].In != nil; known != step.known {
			t.Errorf("reading %d, at %d Mb/s: the load is known: %v, want %v", i, step.mbps, known, step.known)
		}
	}
}

// Counters that are not polled are reported as such.
func TestPolled(t *testing.T) {
	for _, tt := range []struct {
		row   swss.FieldValues
		every time.Duration
		why   string
	}{
		{nil, time.Second, ""}, {swss.FieldValues{"FLEX_COUNTER_STATUS": "enable"}, time.Second, ""},
		{swss.FieldValues{"POLL_INTERVAL": "5000"}, 5 * time.Second, ""},
		{swss.FieldValues{"FLEX_COUNTER_STATUS": "disable"}, 0, "are not polled, by FLEX_COUNTER_TABLE|PORT"},
		{swss.FieldValues{"POLL_INTERVAL": "soon"}, 0, "is unknown: "},
	} {
		rows := map[string]swss.FieldValues{"ACL": {"FLEX_COUNTER_STATUS": "disable"}}
		if tt.row != nil {
			rows["PORT"] = tt.row
		}
		every, why := polledBy(rows)
		if every != tt.every || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%v: each %v, %q; want %v, %q", tt.row, every, why, tt.every, tt.why)
		}
	}
}
