package answer_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"

	"tamtam/flymonorch/answer"
	"tamtam/flymonorch/plan"
	"tamtam/internal/randtest"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

func ip(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, 10<<24|n)))
}

// send sends a packet with number n at time n.
func (r *run) send(src, dst uint32, n uint64) {
	r.groups.Run(&cmu.Packet{Vector: flymon.Make(ip(src), ip(dst), 1000, 443, 6, n), Ports: true, Size: 100, Number: n})
}

// truth reads the exact values of the flows.
func (r *run) truth() {
	r.Helper()
	var ok bool
	if r.exact, ok = r.groups.Truth("t", 0); !ok || r.exact.Overflow {
		r.Fatal("no truth")
	}
}

// The number of distinct sources of a destination is within its bounds in at least 90 % of cases. Hosts far above the
// threshold are reported, and hosts far below it are not.
func TestVictims(t *testing.T) {
	const threshold = 512
	r := newRun(t, 32, "dst-ip", "distinct(src-ip)", flymon.BeauCoup, 3*8192, threshold)
	n := uint64(0)
	for dst := range uint32(300) {
		for src := range 1 + dst*dst/75 {
			for range 1 + src%2 { // a second packet of a source does not count
				n++
				r.send(src, dst, n)
			}
		}
	}
	r.truth()
	var all []flymon.Vector
	within, reading := 0, r.reading()
	for v, exact := range r.exact.Flows {
		all = append(all, v)
		if e := reading.Flow(v); e.Lower <= float64(exact) && float64(exact) <= e.Upper {
			within++
		}
	}
	if within < len(all)*90/100 {
		t.Errorf("bounds hold for %d of %d", within, len(all))
	}
	reported := map[flymon.Vector]bool{}
	for _, f := range reading.Heavy(all, threshold) {
		if reported[f.Flow] = true; f.Value < threshold {
			t.Errorf("reported for a threshold of %d: %+v", threshold, f.Estimate)
		}
	}
	wrong := 0
	for v, exact := range r.exact.Flows {
		if reported[v] != (exact >= threshold) {
			if wrong++; exact > 2*threshold || exact < threshold/4 {
				t.Errorf("%d sources: reported %v", exact, reported[v])
			}
		}
	}
	if wrong > len(all)/5 {
		t.Errorf("%d of %d are wrong", wrong, len(all))
	}
}

// No member of a set is missed, and the rate of false members follows from the load. Candidates of a set are elements.
func TestMembers(t *testing.T) {
	for _, width := range []int{16, 32} {
		r := newRun(t, width, "none", "existence(src-ip)", flymon.Bloom, 3*512, 0)
		const members, others = 4000, 6000
		for i := range uint32(members) {
			r.send(i, 1, uint64(i)+1)
		}
		reading, wrong, confidence := r.reading(), 0, 0.0
		var some []flymon.Vector
		for i := range uint32(members + others) {
			v := flymon.Make(ip(i), netip.Addr{}, 0, 0, 0, 0)
			e := reading.Flow(v)
			switch {
			case i < members && (e.Value != 1 || e.Lower != 1):
				t.Fatalf("width %d: member %d is missed", width, i)
			case i < 50:
				some = append(some, v)
			case i >= members && e.Value == 1:
				wrong++
				confidence = e.Confidence
			case i >= members && (e.Confidence != 1 || e.Upper != 0):
				t.Fatalf("%+v", e)
			}
		}
		if want := (1 - confidence) * others; math.Abs(float64(wrong)-want) > 5*math.Sqrt(want)+0.15*want {
			t.Errorf("width %d: %d are wrong, want %.1f", width, wrong, want)
		}
		if got := reading.Heavy(append(some, some...), 0); len(got) != 50 {
			t.Errorf("width %d: %d members of 50", width, len(got))
		}
	}
}

// Counts of a share of the packets are scaled to all packets, within the bounds.
func TestShare(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		g, err := cmu.New(small(32))
		if err != nil {
			t.Fatal(err)
		}
		task := flymon.Task{Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: flymon.Attribute{Kind: flymon.Packets},
			Algorithm: flymon.CMS, Memory: 1536, Share: 3}
		placed, err := plan.New(g.Geometry()).Add("t", task)
		if err == nil {
			err = g.Apply(placed.Layout)
		}
		if err != nil {
			t.Fatal(err)
		}
		r := &run{T: t, groups: g, placed: placed}
		random := rand.New(rand.NewPCG(seed, 2))
		exact := map[uint32]float64{}
		for n := range uint64(60_000) {
			src := min(random.Uint32N(40), random.Uint32N(40))
			exact[src]++
			r.send(src, 1, n+1)
		}
		reading := r.reading()
		missed, chances := 0, []float64{}
		for src, n := range exact {
			e := reading.Flow(flymon.Make(ip(src), netip.Addr{}, 0, 0, 0, 0))
			if chances = append(chances, 1-e.Confidence); n < e.Lower || e.Upper < n {
				missed++
			}
			// Each of n packets is counted with chance 1/8 and stands for eight. By Bernstein's inequality, the error
			// of a flow exceeds off once in 10^11 cases. The flows are the same in all cases.
			const l = 26. // logarithm of 2 * 10^11
			if off := 8 * (l/3 + math.Sqrt(l*l/9+2*l*n*7/64)); math.Abs(e.Value-n) > off {
				t.Errorf("%v packets, want %v +- %.0f", e.Value, n, off)
			}
		}
		if p := randtest.Tail(chances, missed); p < randtest.Never {
			t.Errorf("%d of %d are outside their bounds, which has a chance of %.2g", missed, len(exact), p)
		}
	})
}

// A tower ignores full counters in favour of wider ones. If all are full, the answer is saturated and its lower bound
// is the smallest possible count.
func TestFullTower(t *testing.T) {
	r := newRun(t, 16, "src-ip", "frequency", flymon.Tower, 3*2048, 0)
	v := flymon.Make(ip(1), netip.Addr{}, 0, 0, 0, 0)
	for n := range uint64(70_000) {
		switch n {
		case 10, 300, 65_000:
			if e := r.reading().Flow(v); e.Value != float64(n) || e.Saturated {
				t.Errorf("%d packets: %+v", n, e)
			}
		}
		r.send(1, 1, n+1)
	}
	e := r.reading().Flow(v)
	// the values are those of a single row of such counters
	if lower, upper := e.Bounds(); e.Value != 65_535 || !e.Saturated || upper || !lower || e.Lower > 70_000 ||
		e.Confidence != 0.5 {
		t.Errorf("%+v", e)
	}
}

// Counter Braids that decode only some of the flows return estimates without confidence.
func TestDecodeWithoutAll(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		r := newRun(t, 32, "5-tuple", "frequency", flymon.CounterBraids, 3*8192*5/4, 0)
		r.traffic(seed, 500)
		var most flymon.Vector
		for v, n := range r.exact.Flows {
			if n > r.exact.Flows[most] {
				most = v
			}
		}
		got := r.reading().Decode([]flymon.Vector{most, most})
		if len(got) != 1 || got[0].Confidence != 0 || got[0].Upper < float64(r.exact.Flows[most]) {
			t.Errorf("%+v", got)
		}
	})
}

// Buckets are at the addresses in the layout.
func TestAddresses(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		r := newRun(t, 32, "5-tuple", "frequency", flymon.CMS, 3*4096, 0)
		r.traffic(seed, 300)
		reading, g := r.reading(), r.groups.Geometry()
		for v := range r.exact.Flows {
			least := uint32(math.MaxUint32)
			for i, words := range reading.Registers {
				least = min(least, words[r.placed.Layout.Bucket(&g, i, v)])
			}
			if got := reading.Flow(v).Value; got != float64(least) {
				t.Fatalf("%v: %v, want %d", v, got, least)
			}
		}
	})
}

func BenchmarkFlow(b *testing.B) {
	g := small(32)
	task := flymon.Task{Key: parse(b, flymon.ParseKey, "5-tuple"), Attribute: flymon.Attribute{Kind: flymon.Packets},
		Algorithm: flymon.CMS, Memory: 768}
	placed, err := plan.New(g).Add("t", task)
	if err != nil {
		b.Fatal(err)
	}
	r, err := answer.New(answer.Dump{Geometry: g, Task: task, Layout: placed.Layout, Sketch: placed.Sketch,
		Registers: registers(&placed.Layout, []byte{1, 0, 0, 0})})
	if err != nil {
		b.Fatal(err)
	}
	v := flymon.Make(ip(1), ip(2), 3, 4, 6, 0)
	for b.Loop() {
		r.Flow(v)
	}
}
