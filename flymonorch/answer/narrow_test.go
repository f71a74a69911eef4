package answer_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// A narrowCase is a test case for an answer that can be compared with the exact value.
type narrowCase struct {
	algorithm      flymon.Algorithm
	key, attribute string
	metric         string // name of the metric, or "" for the answer of a flow
	threshold      uint64
}

// narrows are answers of all algorithms that work with buckets of 8 bits.
var narrows = []narrowCase{
	{flymon.CMS, "5-tuple", "frequency", "", 0}, {flymon.SuMaxSum, "5-tuple", "frequency", "", 0},
	{flymon.Tower, "5-tuple", "frequency", "", 0}, {flymon.CounterBraids, "5-tuple", "frequency", "", 0},
	{flymon.MRAC, "5-tuple", "frequency", "", 0}, {flymon.CMS, "5-tuple", "frequency", flymon.MetricCardinality, 0},
	{flymon.MRAC, "5-tuple", "frequency", flymon.MetricEntropy, 20},
	{flymon.SuMaxMax, "5-tuple", "max(queue-length)", "", 0}, {flymon.SuMaxMax, "5-tuple", "max(queue-delay)", "", 0},
	{flymon.SuMaxMax, "none", "max(queue-delay)", flymon.MetricMaximum, 0},
	{flymon.MaxInterArr, "5-tuple", "max(interval)", "", 0},
	{flymon.HyperLogLog, "none", "distinct(5-tuple)", flymon.MetricCardinality, 0},
	{flymon.LinearCounting, "none", "distinct(5-tuple)", flymon.MetricCardinality, 0},
	{flymon.BeauCoup, "none", "distinct(5-tuple)", flymon.MetricCardinality, 0},
	{flymon.Bloom, "none", "existence(5-tuple)", flymon.MetricMembers, 0},
	{flymon.OddSketch, "none", "similarity(5-tuple)", flymon.MetricMembers, 0},
}

// With narrow buckets, an answer of random tasks and traffic is within its bounds as often as its confidence promises,
// or it has no confidence. Each case checks one answer. If no counter is full, MRAC returns the same results as with
// wide counters. Otherwise its results are saturated, including the classes of the distribution.
func TestNarrowBuckets(t *testing.T) {
	chances, missed := make([][]float64, len(narrows)), make([]int, len(narrows))
	full, clear := 0, 0
	fixed := randtest.Cases{Seed: 1, Count: 40, Short: 8}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 11))
		for i := range narrows {
			tt := &narrows[i]
			width, wide := 8+random.IntN(9), newRunOn(t, small(32), tt.task(t, random))
			if tt.metric == flymon.MetricEntropy { // wider counters would hardly ever be full
				width = 8 + random.IntN(2)
			}
			r := newRunOn(t, small(width), wide.placed.Task)
			end := r.arrive(random, wide)
			r.ran, wide.ran = end, end
			if tt.metric == flymon.MetricEntropy {
				if r.sizesLike(wide) {
					full++
				} else {
					clear++
				}
				continue
			}
			e, exact := r.reading().Metrics()[tt.metric], 0.0
			switch {
			case tt.metric == "":
				v, n := r.oneOf(random)
				e, exact = r.reading().Flow(v), float64(n)
			case tt.metric == flymon.MetricMaximum:
				for _, n := range r.exact.Flows {
					exact = max(exact, float64(n))
				}
			case r.placed.Task.Key.IsZero():
				exact = elements(r.exact)
			default:
				exact = flows(r.exact)
			}
			if e.Confidence == 0 {
				continue
			}
			chances[i] = append(chances[i], 1-e.Confidence)
			if exact < e.Lower || exact > e.Upper {
				missed[i]++
				t.Logf("%s of %s, %d bits: %+v, want %v", tt.algorithm, tt.attribute, width, e, exact)
			}
		}
	})
	for i, tt := range narrows {
		t.Logf("%s %s %s: %d of %d outside", tt.algorithm, tt.attribute, tt.metric, missed[i], len(chances[i]))
		if p := randtest.Tail(chances[i], missed[i]); p < randtest.Never {
			t.Errorf("%s of %s: %d of %d are outside their bounds, which has a chance of %.2g", tt.algorithm, tt.attribute,
				missed[i], len(chances[i]), p)
		}
	}
	if ran.Whole(fixed) && (full < 5 || clear < 5) {
		t.Errorf("counters of MRAC are full in %d cases, in %d not: too few", full, clear)
	}
}

// A narrow bucket holds maxima in whole steps. A flow whose maximum reaches the threshold is listed even if its value,
// rounded down to a step, is below the threshold.
func TestNoHeavyMaximumIsMissed(t *testing.T) {
	fixed, reached := randtest.Cases{Seed: 1, Count: 40, Short: 8}, 0
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 12))
		d := narrowCase{algorithm: flymon.SuMaxMax, key: "5-tuple", attribute: "max(queue-delay)"}
		r, wide := newRunOn(t, small(8+random.IntN(9)), d.task(t, random)), newRunOn(t, small(32), d.task(t, random))
		r.arrive(random, wide)
		threshold := uint64(1)<<r.placed.Sketch.Scale + random.Uint64N(1<<random.IntN(20))
		all, listed := slices.Collect(maps.Keys(r.exact.Flows)), map[flymon.Vector]bool{}
		for _, f := range r.reading().Heavy(all, threshold) {
			listed[f.Flow] = true
		}
		for v, exact := range r.exact.Flows {
			if exact < threshold {
				continue
			}
			if reached++; !listed[v] {
				t.Fatalf("%v has %d and is not listed, of %d and more", v, exact, threshold)
			}
		}
	})
	if ran.Whole(fixed) && reached < 20 {
		t.Errorf("%d flows reached the threshold: too few", reached)
	}
}

// task returns a task with the doubt's algorithm, key and attribute, and random memory.
func (d *narrowCase) task(t *testing.T, random *rand.Rand) flymon.Task {
	task := flymon.Task{
		Key: parse(t, flymon.ParseKey, d.key), Attribute: parse(t, flymon.ParseAttribute, d.attribute),
		Algorithm: d.algorithm,
		Memory:    uint32(96) << random.IntN(3), Threshold: d.threshold, Accurate: true,
	}
	if task.Attribute.Kind == flymon.MaxInterval {
		task.Epoch = time.Hour // all packets arrive in the first epoch
	}
	return task
}

// arrive sends flows of random sizes to two runs and returns the duration in nanoseconds. Some flows exceed the range
// of narrow counters.
func (r *run) arrive(random *rand.Rand, other *run) uint64 {
	now, number := uint64(time.Second), uint64(0)
	most, apart := math.Exp2(random.Float64()*11), 1+random.Uint64N(1<<random.IntN(26))
	for range 1 + random.IntN(80) {
		v := flymon.Make(ip(random.Uint32()%1<<16), ip(random.Uint32()%1<<16), uint16(random.Uint32()), 80, 6, 0)
		for range 1 + int(most*math.Pow(random.Float64(), 6)) {
			number++
			now += random.Uint64N(apart)
			v[5] = now
			p := cmu.Packet{
				Vector: v, Ports: true, Size: 64 + random.Uint32N(1400), QueueBytes: random.Uint32N(1 << random.IntN(27)),
				QueueNS: random.Uint64N(1 << random.IntN(30)), Number: number,
			}
			r.groups.Run(&p)
			other.groups.Run(&p)
		}
	}
	r.truth()
	return now - uint64(time.Second)
}

// oneOf returns a random observed flow with its exact value, or sometimes a flow that was not observed, with zero.
func (r *run) oneOf(random *rand.Rand) (flymon.Vector, uint64) {
	if random.IntN(10) == 0 {
		return flymon.Make(netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), 1, 2, 6, 0), 0
	}
	n := random.IntN(len(r.exact.Flows))
	for _, v := range sortedFlows(r.exact.Flows) {
		if n == 0 {
			return v, r.exact.Flows[v]
		}
		n--
	}
	panic("there are fewer flows")
}

// sizesLike compares entropy, heavy flows and distribution with those of wide counters. It reports whether any narrow
// counter is full.
func (r *run) sizesLike(wide *run) bool {
	a, b := r.reading(), wide.reading()
	full := false
	for _, w := range a.Registers[0] {
		full = full || w == a.Geometry.Mask()
	}
	for _, name := range []string{flymon.MetricEntropy, flymon.MetricHeavy} {
		x, y := a.Metrics()[name], b.Metrics()[name]
		if full && !x.Saturated || !full && (x.Value != y.Value || x.Saturated != y.Saturated) {
			r.Errorf("%s: %+v of %d bits, %+v of 32; a counter is full: %v", name, x, a.Geometry.Width, y, full)
		}
	}
	classes := a.Sizes()
	for least, e := range classes {
		if full && !e.Saturated || !full && e.Value != b.Sizes()[least].Value {
			r.Errorf("flows of %d or more: %+v of %d bits, %+v of 32; a counter is full: %v", least, e, a.Geometry.Width,
				b.Sizes()[least], full)
		}
	}
	if len(classes) == 0 || !full && len(classes) != len(b.Sizes()) {
		r.Errorf("%d classes of %d bits, %d of 32", len(classes), a.Geometry.Width, len(b.Sizes()))
	}
	return full
}

// One flow of 1000 packets and one of 10 have an entropy of 0.08 bits. Counters of 8 bits cannot show this, so the
// entropy is saturated.
func TestEntropyOfFullCounters(t *testing.T) {
	task := flymon.Task{
		Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: flymon.Attribute{Kind: flymon.Packets}, Algorithm: flymon.MRAC,
		Memory: 96, Threshold: 100,
	}
	for width, full := range map[int]bool{8: true, 9: true, 10: false, 16: false} {
		r := newRunOn(t, small(width), task)
		for n := range uint64(1010) {
			r.send(uint32(n/1000), 1, n+1)
		}
		for _, name := range []string{flymon.MetricEntropy, flymon.MetricHeavy} {
			if e := r.reading().Metrics()[name]; e.Saturated != full {
				t.Errorf("%d bits: %s %+v, want it saturated: %v", width, name, e, full)
			}
		}
		for least, e := range r.reading().Sizes() {
			if e.Saturated != full || e.Bound == "" {
				t.Errorf("%d bits: flows of %d or more: %+v", width, least, e)
			}
		}
	}
}

// If a task counts a random share of the packets, its totals cover all packets, within bounds that hold as often as
// their confidence promises. Its other answers report that only a share was counted.
func TestTotalsOfAShare(t *testing.T) {
	var chances [2][]float64
	var missed [2]int
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 120, Short: 30}, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 12))
		task := flymon.Task{
			Key: parse(t, flymon.ParseKey, "src-ip"), Attribute: flymon.Attribute{Kind: flymon.Packets}, Algorithm: flymon.MRAC,
			Memory: 256, Threshold: 10, Share: uint8(random.IntN(flymon.MaxShare + 1)),
		}
		r := newRunOn(t, small(32), task)
		first, bytes := random.Uint64(), 0.0
		n := random.Uint64N(1 << random.IntN(15))
		for i := range n {
			p := cmu.Packet{Vector: flymon.Make(ip(random.Uint32N(30)), ip(1), 1, 2, 6, 0), Ports: true, Number: first + i}
			p.Size = 64 + random.Uint32N(1<<random.IntN(11))%1459
			bytes += float64(p.Size)
			r.groups.Run(&p)
		}
		m := r.reading().Metrics()
		for i, want := range []float64{float64(n), bytes} {
			e := m[[]string{flymon.MetricPackets, flymon.MetricBytes}[i]]
			if task.Share == 0 && (e.Value != want || e.Confidence != 1 || e.Lower != want || e.Upper != want) {
				t.Errorf("%+v, want exactly %v", e, want)
			}
			if chances[i] = append(chances[i], 1-e.Confidence); want < e.Lower || want > e.Upper {
				missed[i]++
			}
			// The bounds are tight: at most 8 times as wide as sampling requires.
			unit := []float64{1, 1522}[i]
			s := float64(uint64(1) << task.Share)
			if most := 8 * unit * (s - 1 + math.Sqrt((e.Value/unit+s)*(s-1))); e.Upper-e.Lower > most+1e-6 {
				t.Errorf("1/%v of %v: %+v", s, want, e)
			}
		}
		if task.Share > 0 {
			rest := map[uint64]flymon.Estimate{}
			maps.Copy(rest, r.reading().Sizes())
			for _, name := range []string{flymon.MetricEntropy, flymon.MetricHeavy} {
				rest[uint64(len(name))<<32] = m[name]
			}
			for _, e := range rest {
				if !saysSeen(e) {
					t.Errorf("share 1/%d: %+v", 1<<task.Share, e)
				}
			}
		}
	})
	for i := range chances {
		if p := randtest.Tail(chances[i], missed[i]); p < randtest.Never {
			t.Errorf("total %d: %d of %d are outside their bounds, which has a chance of %.2g", i, missed[i], len(chances[i]), p)
		}
	}
}

// saysSeen reports whether an answer's bound mentions that only a share of the packets was counted.
func saysSeen(e flymon.Estimate) bool { return strings.Contains(e.Bound, "one packet in ") }

func sortedFlows(all map[flymon.Vector]uint64) []flymon.Vector {
	return slices.SortedFunc(maps.Keys(all), func(a, b flymon.Vector) int { return slices.Compare(a[:], b[:]) })
}
