package answer_test

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/flymonorch/answer"
	"tamtam/internal/randtest"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// arrivals sends packets of flows at random times within an epoch, only a small number for some flows. It returns the
// longest interval of each flow, in ns.
func (r *run) arrivals(random *rand.Rand, flows int, epoch uint64) map[flymon.Vector]uint64 {
	type arrival struct {
		at   uint64
		flow uint32
	}
	var all []arrival
	for f := range uint32(flows) {
		for range 1 + random.IntN(1<<random.IntN(6)) {
			all = append(all, arrival{7*epoch + random.Uint64N(epoch), f})
		}
	}
	slices.SortFunc(all, func(a, b arrival) int { return int(a.at) - int(b.at) })
	last, longest := map[flymon.Vector]uint64{}, map[flymon.Vector]uint64{}
	for i, a := range all {
		v := flymon.Make(ip(a.flow), netip.Addr{}, 0, 0, 0, a.at)
		r.groups.Run(&cmu.Packet{Vector: v, Size: 100, Number: uint64(i) + 1})
		f := v.And(r.placed.Task.Key)
		if at, ok := last[f]; ok {
			longest[f] = max(longest[f], a.at-at)
		} else {
			longest[f] = 0
		}
		last[f] = a.at
	}
	return longest
}

// No interval is longer than the epoch, however many flows share buckets. The longest interval of a flow is within its
// bounds at least as often as the confidence promises. Each random task checks one flow.
func TestLongestIntervals(t *testing.T) {
	fixed := randtest.Cases{Seed: 1, Count: 600, Short: 150}
	var chances []float64
	missed := 0
	randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 3))
		task := flymon.Task{
			Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: flymon.Attribute{Kind: flymon.MaxInterval},
			Algorithm: flymon.MaxInterArr,
			Epoch:     time.Second, Rows: uint8(1 + random.IntN(3)), Accurate: true,
		}
		task.Memory = 3 * uint32(task.Rows) * 64 << random.IntN(3)
		geo := small([]int{8, 16, 24, 32}[random.IntN(4)])
		r := newRunOn(t, geo, task)
		flows := 1 + random.IntN(300)
		longest := r.arrivals(random, flows, uint64(task.Epoch))
		reading, one := r.bank(1), random.IntN(flows)
		for v, exact := range longest {
			e := reading.Flow(v)
			if e.Saturated || e.Value > float64(task.Epoch) {
				t.Fatalf("%s: %+v in an epoch of 1 s", task.Key.Format(v), e)
			}
			if e.Confidence == 0 { // nearly all buckets are shared with other flows
				if !strings.HasPrefix(e.Bound, "no bound is known") || e.Lower != 0 || e.Upper != 0 {
					t.Fatalf("%s: %+v, without confidence", task.Key.Format(v), e)
				}
				continue
			}
			if e.Upper > float64(task.Epoch) || e.Lower > e.Value || e.Value > e.Upper || e.Confidence < 0.01 {
				t.Fatalf("%s: %+v in an epoch of 1 s", task.Key.Format(v), e)
			}
			if v == flymon.Make(ip(uint32(one)), netip.Addr{}, 0, 0, 0, 0).And(task.Key) {
				if chances = append(chances, 1-e.Confidence); float64(exact) < e.Lower || e.Upper < float64(exact) {
					missed++
				}
			}
		}
	})
	p := randtest.Tail(chances, missed)
	t.Logf("%d of %d are outside their bounds: so many or more have a chance of %.2g", missed, len(chances), p)
	if p < randtest.Never {
		t.Error("that is too many")
	}
}

// If a flow's first packet finds the Bloom filter's bit set by another flow, but no last arrival, the flow has no
// interval yet.
func TestIntervalOfAKnownFlowWithoutArrival(t *testing.T) {
	task := flymon.Task{
		Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: flymon.Attribute{Kind: flymon.MaxInterval},
		Algorithm: flymon.MaxInterArr,
		Epoch:     time.Second, Rows: 1, Memory: 3 * 32, Accurate: true,
	}
	seen := 0
	for f := range uint32(400) {
		r := newRunOn(t, small(32), task)
		g, l := r.groups.Geometry(), &r.placed.Layout
		// Two flows: f, and one that has the same bit of the filter but another bucket of arrivals.
		bit := func(v flymon.Vector) [2]uint32 {
			u := &l.Units[0]
			return [2]uint32{l.Bucket(&g, 0, v), l.Compressed(u.Group, u.P1.Key, v) & (1<<u.P1.Bits - 1)}
		}
		a, b := flymon.Make(ip(0), netip.Addr{}, 0, 0, 0, 0), flymon.Make(ip(1+f), netip.Addr{}, 0, 0, 0, 0)
		if bit(a) != bit(b) || l.Bucket(&g, 1, a) == l.Bucket(&g, 1, b) {
			continue
		}
		seen++
		for i, v := range []flymon.Vector{a, b} {
			v[5] = uint64(7*time.Second) + uint64(time.Millisecond)*uint64(100+i)
			r.groups.Run(&cmu.Packet{Vector: v, Size: 100, Number: uint64(i) + 1})
		}
		if e := r.bank(1).Flow(b); e.Value != 0 {
			t.Errorf("a flow of one packet has an interval: %+v", e)
		}
	}
	if seen == 0 {
		t.Error("no two flows share a bit: the test shows nothing")
	}
}

// A longest interval that exceeds the epoch is reported as saturated, without confidence.
func TestImpossibleInterval(t *testing.T) {
	task := flymon.Task{
		Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: flymon.Attribute{Kind: flymon.MaxInterval},
		Algorithm: flymon.MaxInterArr,
		Epoch:     time.Second, Memory: 3 * 96, Accurate: true,
	}
	r := newRunOn(t, small(32), task)
	for i, at := range []uint64{7_900_000_000, 7_100_000_000} { // the clock was set back between the two times
		v := flymon.Make(ip(1), netip.Addr{}, 0, 0, 0, at)
		r.groups.Run(&cmu.Packet{Vector: v, Size: 100, Number: uint64(i) + 1})
	}
	if e := r.bank(1).Flow(flymon.Make(ip(1), netip.Addr{}, 0, 0, 0, 0)); !e.Saturated || e.Value > 1e9 || e.Lower != 0 ||
		e.Confidence != 0 {
		t.Errorf("%+v", e)
	}
}

// Times wrap after 2^42 ns. Without epochs an interval may be longer, so from then on intervals have no upper bound.
func TestIntervalLongerThanTheClockReports(t *testing.T) {
	task := flymon.Task{
		Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: flymon.Attribute{Kind: flymon.MaxInterval},
		Algorithm: flymon.MaxInterArr,
		Memory:    3 * 96, Accurate: true,
	}
	v := flymon.Make(ip(1), netip.Addr{}, 0, 0, 0, 0)
	for _, width := range []int{16, 32} {
		for _, interval := range []uint64{uint64(72 * time.Minute), uint64(80 * time.Minute)} {
			r := newRunOn(t, small(width), task)
			for i := range uint64(2) {
				v[5] = uint64(time.Hour) + i*interval
				r.groups.Run(&cmu.Packet{Vector: v, Size: 100, Number: i + 1})
			}
			r.ran = interval
			e := r.bank(0).Flow(v)
			if bounded := interval < 1<<42; e.Saturated == bounded || math.IsInf(e.Upper, 1) == bounded ||
				e.Lower > float64(interval) || e.Upper < float64(interval) {
				t.Errorf("%d bits, %v: %+v", width, time.Duration(interval), e)
			}
		}
	}
}

// In buckets of 8 bits, the unit of time is at most a 128th of the epoch. An interval is within its bounds at any
// position in the clock's 256 units, of which the first is stored as the second. An interval of 256 units has no upper
// bound.
func TestIntervalsInNarrowBuckets(t *testing.T) {
	task := flymon.Task{
		Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: flymon.Attribute{Kind: flymon.MaxInterval},
		Algorithm: flymon.MaxInterArr,
		Memory:    3 * 96, Accurate: true,
	}
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 400, Short: 50}, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 6))
		task.Epoch = time.Duration(1074-random.IntN(1<<random.IntN(10))) * time.Millisecond
		r := newRunOn(t, small(8), task)
		unit := uint64(1) << r.placed.Sketch.Scale
		start := uint64(task.Epoch) * (1 + 2*random.Uint64N(1e6))
		first := start + random.Uint64N(uint64(task.Epoch))
		if random.IntN(2) == 0 { // times near the wrap of the clock
			if turn := (start/(256*unit)+1)*256*unit - 8*unit; turn >= start && turn+8*unit < start+uint64(task.Epoch) {
				first = turn + random.Uint64N(8*unit)
			}
		}
		interval := random.Uint64N(min(start+uint64(task.Epoch)-first, unit<<random.IntN(9)))
		for i, at := range []uint64{first, first + interval} {
			v := flymon.Make(ip(1), netip.Addr{}, 0, 0, 0, at)
			r.groups.Run(&cmu.Packet{Vector: v, Size: 100, Number: uint64(i) + 1})
		}
		r.ran = uint64(task.Epoch)
		e := r.bank(1).Flow(flymon.Make(ip(1), netip.Addr{}, 0, 0, 0, 0))
		if e.Lower > float64(interval) || e.Upper < float64(interval) || e.Confidence < 0.9 {
			t.Errorf("%v after %v, in units of %d ns: %+v", time.Duration(interval), time.Duration(first), unit, e)
		}
		if wraps := uint64(task.Epoch) >= 254*unit; e.Saturated != wraps || math.IsInf(e.Upper, 1) != wraps {
			t.Errorf("in units of %d ns: %+v", unit, e)
		}
	})
}

// bank returns the reading of a bank.
func (r *run) bank(n int) *answer.Reading {
	r.Helper()
	s, _ := r.groups.Status("t")
	d := answer.Dump{
		Geometry: r.groups.Geometry(), Task: r.placed.Task, Layout: r.placed.Layout, Sketch: r.placed.Sketch,
		Packets: s.Banks[n].Packets, Bytes: s.Banks[n].Bytes, Ran: r.ran,
	}
	for i, u := range r.placed.Layout.Units {
		words, err := r.groups.Read("t", i, n, 0, u.Size)
		if err != nil {
			r.Fatal(err)
		}
		d.Registers = append(d.Registers, words)
	}
	reading, err := answer.New(d)
	if err != nil {
		r.Fatal(err)
	}
	return reading
}
