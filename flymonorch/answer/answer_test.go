package answer_test

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"tamtam/flymon"
	"tamtam/flymonorch/answer"
	"tamtam/flymonorch/plan"
	"tamtam/saisim/cmu"
)

// A run is a task on a chip's groups with traffic of a seed.
type run struct {
	*testing.T
	groups *cmu.Groups
	placed *plan.Placed
	exact  *cmu.Truth
	ran    uint64 // ns, as a dump of it says
}

func parse[T any](t testing.TB, f func(string) (T, error), s string) T {
	t.Helper()
	v, err := f(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func newRun(t *testing.T, width int, key, attribute string, algorithm flymon.Algorithm, memory uint32, threshold uint64) *run {
	t.Helper()
	return newRunOn(t, flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: width, Depth: 65536, Partitions: 32, MapEntries: 256, Digests: 1024}, flymon.Task{
		Key: parse(t, flymon.ParseKey, key), Attribute: parse(t, flymon.ParseAttribute, attribute), Algorithm: algorithm, Memory: memory, Accurate: true, Threshold: threshold,
	})
}

func newRunOn(t *testing.T, geo flymon.Geometry, task flymon.Task) *run {
	t.Helper()
	g, err := cmu.New(geo)
	if err != nil {
		t.Fatal(err)
	}
	g.SetOracle(1 << 20)
	placed, err := plan.New(g.Geometry()).Add("t", task)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Apply(placed.Layout); err != nil {
		t.Fatal(err)
	}
	return &run{T: t, groups: g, placed: placed}
}

// traffic sends packets of flows whose sizes are Pareto's: most are small, some large.
func (r *run) traffic(seed uint64, flows int) {
	random := rand.New(rand.NewPCG(seed, 1))
	now, n := uint64(time.Second), uint64(0)
	for f := range flows {
		src := netip.AddrFrom4([4]byte{10, byte(f >> 16), byte(f >> 8), byte(f)})
		dst := netip.AddrFrom4([4]byte{byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32()), 1})
		sport, size := uint16(random.Uint32()), int(math.Min(3000, 1/math.Pow(random.Float64(), 1.2)))
		for range size {
			n++
			now += random.Uint64N(20_000)
			p := cmu.Packet{
				Vector: flymon.Make(src, dst, sport, 443, 6, now), Ports: true, Size: 64 + random.Uint32N(1400), QueueBytes: random.Uint32N(60_000), QueueNS: random.Uint64N(60_000), Number: n,
			}
			r.groups.Run(&p)
		}
	}
	var ok bool
	if r.exact, ok = r.groups.Truth("t", 0); !ok || r.exact.Overflow {
		r.Fatal("no truth")
	}
}

func (r *run) reading() *answer.Reading {
	r.Helper()
	return r.bank(0)
}

const seed = 7

// What sketches never say too low is never too low, and bounds hold as often as they
// say.
func TestFlows(t *testing.T) {
	for _, tt := range []struct {
		algorithm flymon.Algorithm
		attribute string
		never     bool // too low
		flows     int
	}{
		{flymon.CMS, "frequency", true, 1500}, {flymon.CMS, "frequency(bytes)", true, 1500}, {flymon.SuMaxSum, "frequency", true, 1500}, {flymon.SuMaxSum, "frequency(bytes)", true, 1500},
		{flymon.Tower, "frequency", true, 1500}, {flymon.CounterBraids, "frequency", true, 1500}, {flymon.MRAC, "frequency", true, 1500},
		{flymon.SuMaxMax, "max(queue-length)", true, 1500}, {flymon.SuMaxMax, "max(queue-delay)", true, 1500}, {flymon.SuMaxMax, "max(size)", true, 1500},
		{flymon.MaxInterArr, "max(interval)", false, 100}, // a flow that is taken for another is off by far
	} {
		t.Run(string(tt.algorithm)+" "+tt.attribute, func(t *testing.T) {
			r := newRun(t, 32, "5-tuple", tt.attribute, tt.algorithm, 3*2048*3, 0)
			r.traffic(seed, tt.flows)
			reading := r.reading()
			within, off, total := 0, 0.0, 0.0
			for v, exact := range r.exact.Flows {
				e := reading.Flow(v)
				if tt.never && e.Upper < float64(exact) {
					t.Fatalf("seed %d: %v is at most %v, want %d", seed, v, e.Upper, exact)
				}
				if e.Lower <= float64(exact) && float64(exact) <= e.Upper {
					within++
				}
				off += math.Abs(e.Value - float64(exact))
				total += float64(exact)
			}
			n := float64(len(r.exact.Flows))
			if part := float64(within) / n; part < 0.8 {
				t.Errorf("seed %d: bounds hold for %.3f of %v flows", seed, part, n)
			}
			if off > 0.2*total {
				t.Errorf("seed %d: off by %.3f on average", seed, off/total)
			}
		})
	}
}

// Counters of bytes that are full say so: they never begin anew without a word.
func TestFullCountersOfBytes(t *testing.T) {
	for _, algorithm := range []flymon.Algorithm{flymon.CMS, flymon.SuMaxSum} {
		r := newRun(t, 16, "5-tuple", "frequency(bytes)", algorithm, 3*4096, 0)
		v := flymon.Make(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), 1, 2, 6, 1)
		for n := range uint64(200) {
			e := r.reading().Flow(v)
			if exact := float64(1000 * n); !e.Saturated && e.Value != exact || e.Saturated && (e.Value > exact || e.Upper < exact) || e.Saturated != (exact >= 1<<15) {
				t.Errorf("%s, %.0f bytes: %+v", algorithm, exact, e)
			}
			r.groups.Run(&cmu.Packet{Vector: v, Ports: true, Size: 1000, Number: n + 1})
		}
	}
}

// A maximum that its buckets have no room for is that much or more, of a flow and of all packets.
func TestFullMaximum(t *testing.T) {
	for _, key := range []string{"none", "5-tuple"} {
		r := newRun(t, 16, key, "max(queue-delay)", flymon.SuMaxMax, 3*64, 0)
		v := flymon.Make(ip(1), ip(2), 1000, 80, 17, 0)
		r.groups.Run(&cmu.Packet{Vector: v, Ports: true, Size: 1000, QueueNS: 1 << 40, Number: 1})
		e := r.reading().Flow(v)
		if key == "none" {
			e = r.reading().Metrics()[flymon.MetricMaximum]
		}
		if lower, upper := e.Bounds(); !e.Saturated || !lower || upper || e.Lower > 1<<40 || e.Confidence < 0.9 {
			t.Errorf("key %s: %+v", key, e)
		}
	}
}

// Metrics of all flows are within their bounds.
func TestMetrics(t *testing.T) {
	for _, tt := range []struct {
		algorithm      flymon.Algorithm
		key, attribute string
		memory         uint32
		metric         string
		exact          func(x *cmu.Truth) float64
	}{
		{flymon.HyperLogLog, "none", "distinct(5-tuple)", 2048, flymon.MetricCardinality, elements},
		{flymon.HyperLogLog, "none", "distinct(src-ip)", 8192, flymon.MetricCardinality, elements},
		{flymon.LinearCounting, "none", "distinct(5-tuple)", 2048, flymon.MetricCardinality, elements},
		{flymon.Bloom, "none", "existence(5-tuple)", 3 * 2048, flymon.MetricMembers, elements},
		{flymon.CMS, "5-tuple", "frequency", 3 * 8192, flymon.MetricCardinality, flows},
		{flymon.MRAC, "5-tuple", "frequency", 8192, flymon.MetricCardinality, flows},
		{flymon.BeauCoup, "none", "distinct(5-tuple)", 3 * 2048, flymon.MetricCardinality, elements},
		{flymon.OddSketch, "none", "similarity(5-tuple)", 2048, flymon.MetricMembers, elements},
	} {
		for _, width := range []int{16, 32} {
			r := newRun(t, width, tt.key, tt.attribute, tt.algorithm, tt.memory, 0)
			r.traffic(seed, 3000)
			m := r.reading().Metrics()
			e, exact := m[tt.metric], tt.exact(r.exact)
			if e.Confidence == 0 || exact < e.Lower || exact > e.Upper {
				t.Errorf("seed %d: %s, width %d: %s is %.1f (%.1f to %.1f), want %.1f", seed, tt.algorithm, width, tt.metric, e.Value, e.Lower, e.Upper, exact)
			}
			if n := m[flymon.MetricPackets]; n.Value < 3000 || n.Lower != n.Upper {
				t.Errorf("%s: %v packets", tt.algorithm, n)
			}
		}
	}
}

func elements(x *cmu.Truth) float64 { return float64(len(x.Elements)) }
func flows(x *cmu.Truth) float64    { return float64(len(x.Flows)) }

// MRAC's distribution has the entropy of the flows, within 2 %, where there are fewer
// flows than counters.
func TestEntropy(t *testing.T) {
	r := newRun(t, 32, "5-tuple", "frequency", flymon.MRAC, 8192, 0)
	r.traffic(seed, 3000)
	total, sum := 0.0, 0.0
	for _, n := range r.exact.Flows {
		total += float64(n)
		sum += float64(n) * math.Log2(float64(n))
	}
	want := math.Log2(total) - sum/total
	if e := r.reading().Metrics()[flymon.MetricEntropy]; math.Abs(e.Value/want-1) > 0.02 {
		t.Errorf("seed %d: %.3f bits, want %.3f", seed, e.Value, want)
	}
	ones, bins := 0.0, r.reading().Distribution()
	for _, n := range r.exact.Flows {
		if n == 1 {
			ones++
		}
	}
	if bins[0].Size != 1 || math.Abs(bins[0].Flows/ones-1) > 0.05 {
		t.Errorf("seed %d: %.1f flows of one packet, want %.0f", seed, bins[0].Flows, ones)
	}
}

// Digests name every flow that reaches the threshold, and what is listed is right.
func TestHeavyFlows(t *testing.T) {
	for _, algorithm := range []flymon.Algorithm{flymon.CMS, flymon.SuMaxSum, flymon.Tower} {
		const threshold = 100
		r := newRun(t, 32, "5-tuple", "frequency", algorithm, 3*8192, threshold)
		r.traffic(seed, 3000)
		digests, err := r.groups.Digests("t", 0, 0, 1024)
		if err != nil {
			t.Fatal(err)
		}
		got := map[flymon.Vector]bool{}
		for _, f := range r.reading().Heavy(digests, threshold) {
			got[f.Flow] = true
		}
		want := 0
		for v, n := range r.exact.Flows {
			if n >= threshold {
				if want++; !got[v] {
					t.Errorf("%s: a flow of %d packets is missing", algorithm, n)
				}
			}
		}
		if want == 0 || len(got) > want+want/5 {
			t.Errorf("seed %d: %s: %d flows are listed, want %d", seed, algorithm, len(got), want)
		}
	}
}

// Counter Braids decode to the exact sizes when there is room for the flows.
func TestDecode(t *testing.T) {
	r := newRun(t, 32, "5-tuple", "frequency", flymon.CounterBraids, 3*8192*5/4, 0)
	r.traffic(seed, 3000)
	var all []flymon.Vector
	for v := range r.exact.Flows {
		all = append(all, v)
	}
	exact := 0
	for _, f := range r.reading().Decode(all) {
		n := float64(r.exact.Flows[f.Flow])
		if f.Lower > n || f.Upper < n {
			t.Fatalf("seed %d: %v to %v, want %v", seed, f.Lower, f.Upper, n)
		}
		if f.Lower == f.Upper {
			exact++
		}
	}
	if exact < len(all)*99/100 {
		t.Errorf("seed %d: %d of %d are exact", seed, exact, len(all))
	}
}

// Counter Braids that know all flows, by digests, answer for each with its size, also for one that
// was not counted; without they bound it.
func TestBraidsThatKnowAllFlows(t *testing.T) {
	r := newRun(t, 32, "5-tuple", "frequency", flymon.CounterBraids, 3*8192*5/4, 100)
	r.traffic(seed, 700)
	digests, err := r.groups.Digests("t", 0, 0, 1024)
	if err != nil || len(digests) != len(r.exact.Flows) {
		t.Fatalf("%d digests of %d flows: %v", len(digests), len(r.exact.Flows), err)
	}
	reading, want := r.reading(), 0
	bounded := reading.Flow(digests[0])
	reading.Know(digests)
	for v, n := range r.exact.Flows {
		if n >= 100 {
			want++
		}
		if e := reading.Flow(v); e.Value != float64(n) || e.Confidence != 1 {
			t.Errorf("%d packets: %+v", n, e)
		}
	}
	if got := reading.Heavy(digests, 100); len(got) != want || want == 0 {
		t.Errorf("%d heavy flows, want %d", len(got), want)
	}
	if e := reading.Flow(flymon.Make(netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), 1, 2, 6, 0)); e.Value != 0 || e.Confidence != 1 {
		t.Errorf("a flow that was not counted: %+v", e)
	}
	if n := reading.Metrics()[flymon.MetricCardinality]; n.Value != float64(len(digests)) || n.Confidence != 1 {
		t.Errorf("%+v, want %d flows", n, len(digests))
	}
	if bounded.Confidence >= 1 || bounded.Upper < float64(r.exact.Flows[digests[0]]) {
		t.Errorf("without knowing all: %+v", bounded)
	}
}

// A registers' dump that is not the layout's is refused.
func TestHostileDumps(t *testing.T) {
	r := newRun(t, 32, "5-tuple", "frequency", flymon.CounterBraids, 24576, 0)
	good := r.reading().Dump
	for name, change := range map[string]func(d *answer.Dump){
		"no registers":      func(d *answer.Dump) { d.Registers = nil },
		"a short unit":      func(d *answer.Dump) { d.Registers = append([][]uint32{{1}}, d.Registers[1:]...) },
		"no rows":           func(d *answer.Dump) { d.Sketch.Rows = nil },
		"a row of one":      func(d *answer.Dump) { d.Sketch.Rows = [][]int{{0}} },
		"a unit too many":   func(d *answer.Dump) { d.Sketch.Rows = [][]int{{0, 99}} },
		"counters too wide": func(d *answer.Dump) { d.Sketch.Bits = []uint8{33, 1} },
		"no geometry":       func(d *answer.Dump) { d.Geometry = flymon.Geometry{} },
		"no layout":         func(d *answer.Dump) { d.Layout.Units = nil },
	} {
		d := good
		change(&d)
		if _, err := answer.New(d); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
