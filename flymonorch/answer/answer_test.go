package answer_test

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"tamtam/flymonorch/answer"
	"tamtam/flymonorch/plan"
	"tamtam/internal/randtest"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
	"tamtam/tam/sketch"
)

// A run is a task on a chip's groups, with traffic from a seed.
type run struct {
	*testing.T
	groups *cmu.Groups
	placed *plan.Placed
	exact  *cmu.Truth
	ran    uint64 // duration of the count in ns, as in the dump
}

func parse[T any](t testing.TB, f func(string) (T, error), s string) T {
	t.Helper()
	v, err := f(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func newRun(t *testing.T, width int, key, attribute string, algorithm flymon.Algorithm, memory uint32,
	threshold uint64) *run {
	t.Helper()
	return newRunOn(t, flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: width, Depth: 65536,
		Partitions: 32, MapEntries: 256, Digests: 1024}, flymon.Task{
		Key: parse(t, flymon.ParseKey, key), Attribute: parse(t, flymon.ParseAttribute, attribute), Algorithm: algorithm,
		Memory: memory, Accurate: true, Threshold: threshold,
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

// traffic sends packets of flows with Pareto-distributed sizes: most are small, some large.
func (r *run) traffic(seed uint64, flows int) {
	random := rand.New(rand.NewPCG(seed, 1))
	now, n := uint64(time.Second), uint64(0)
	for range flows {
		src := netip.AddrFrom4([4]byte{10, byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())})
		dst := netip.AddrFrom4([4]byte{byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32()), 1})
		sport, size := uint16(random.Uint32()), int(math.Min(3000, 1/math.Pow(random.Float64(), 1.2)))
		for range size {
			n++
			now += random.Uint64N(20_000)
			p := cmu.Packet{
				Vector: flymon.Make(src, dst, sport, 443, 6, now), Ports: true, Size: 64 + random.Uint32N(1400),
				QueueBytes: random.Uint32N(60_000), QueueNS: random.Uint64N(60_000), Number: n,
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

// The sketches that promise not to underestimate a flow keep this promise. Their answer never exceeds the sum of the
// values in the flow's buckets. Flows with a bucket of their own are within their bounds.
func TestFlows(t *testing.T) {
	const memory = 3 * 2048 * 3
	all := []struct {
		algorithm flymon.Algorithm
		attribute string
		memory    uint32
		flows     int
	}{
		{flymon.CMS, "frequency", memory, 1500}, {flymon.CMS, "frequency(bytes)", memory, 1500},
		{flymon.SuMaxSum, "frequency", memory, 1500}, {flymon.SuMaxSum, "frequency(bytes)", memory, 1500},
		{flymon.Tower, "frequency", memory, 1500}, {flymon.CounterBraids, "frequency", memory, 1500},
		{flymon.MRAC, "frequency", memory, 1500},
		{flymon.SuMaxMax, "max(queue-length)", memory, 1500}, {flymon.SuMaxMax, "max(queue-delay)", memory, 1500},
		{flymon.SuMaxMax, "max(size)", memory, 1500},
		{flymon.MaxInterArr, "max(interval)", 9 * 16384, 100}, // a flow that is mistaken for another has a large error
	}
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		for _, tt := range all {
			t.Run(string(tt.algorithm)+" "+tt.attribute, func(t *testing.T) {
				r := newRun(t, 32, "5-tuple", tt.attribute, tt.algorithm, tt.memory, 0)
				r.traffic(seed, tt.flows)
				r.judgeFlows()
			})
		}
	})
}

// judgeFlows checks the answers of all flows.
func (r *run) judgeFlows() {
	reading, most, wrong := r.reading(), r.mosts(), 0
	algorithm, n, rows := r.placed.Sketch.Algorithm, len(r.exact.Flows), len(r.placed.Sketch.Rows)
	for v, exact := range r.exact.Flows {
		e := reading.Flow(v)
		if algorithm != flymon.MaxInterArr && (e.Upper < float64(exact) || e.Value > most[v]) {
			r.Fatalf("%v is %v, at most %v, want %d to %v", v, e.Value, e.Upper, exact, most[v])
		}
		if e.Lower > float64(exact) || float64(exact) > e.Upper {
			wrong++
		}
	}
	allowed := sharers(n, r.size(0), rows)
	switch algorithm {
	case flymon.Tower, flymon.CounterBraids: // the flow's own counter may be full
		allowed += r.reach(r.least())
	case flymon.MaxInterArr: // the last arrival must be alone in all rows, and the longest interval in one
		pairs := float64(n) * float64(n) / 2
		allowed = 2*randtest.AtMost(float64(rows)*pairs/float64(r.size(1))) + sharers(n, r.size(2), rows)
	}
	if wrong > allowed || allowed >= n/2 {
		r.Errorf("bounds do not hold for %d of %d flows, want %d at most", wrong, n, allowed)
	}
}

// Full counters of bytes are reported as saturated, and never wrap unnoticed.
func TestFullCountersOfBytes(t *testing.T) {
	for _, algorithm := range []flymon.Algorithm{flymon.CMS, flymon.SuMaxSum} {
		r := newRun(t, 16, "5-tuple", "frequency(bytes)", algorithm, 3*4096, 0)
		v := flymon.Make(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), 1, 2, 6, 1)
		for n := range uint64(200) {
			e := r.reading().Flow(v)
			if exact := float64(1000 * n); !e.Saturated && e.Value != exact ||
				e.Saturated && (e.Value > exact || e.Upper < exact) || e.Saturated != (exact >= 1<<15) {
				t.Errorf("%s, %.0f bytes: %+v", algorithm, exact, e)
			}
			r.groups.Run(&cmu.Packet{Vector: v, Ports: true, Size: 1000, Number: n + 1})
		}
	}
}

// A maximum beyond the range of its buckets is reported as a lower bound, for a flow and for all packets.
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

// Metrics of all flows are within their bounds at least as often as their confidence states.
func TestMetrics(t *testing.T) {
	metrics := []struct {
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
	}
	chances, missed := make([][]float64, len(metrics)), make([]int, len(metrics))
	randtest.Run(t, randtest.Cases{Seed: 7, Count: 16, Short: 4}, func(t *testing.T, seed uint64) {
		for i, tt := range metrics {
			r := newRun(t, []int{16, 32}[seed%2], tt.key, tt.attribute, tt.algorithm, tt.memory, 0)
			r.traffic(seed, 1000)
			m := r.reading().Metrics()
			e, exact := m[tt.metric], tt.exact(r.exact)
			if chances[i] = append(chances[i], 1-e.Confidence); exact < e.Lower || exact > e.Upper {
				missed[i]++
				t.Logf("%s: %s is %.1f (%.1f to %.1f), want %.1f", tt.algorithm, tt.metric, e.Value, e.Lower, e.Upper, exact)
			}
			if n := m[flymon.MetricPackets]; n.Value != float64(r.exact.Packets) || n.Lower != n.Upper {
				t.Errorf("%s: %v packets, want %d", tt.algorithm, n, r.exact.Packets)
			}
		}
	})
	// The traffic of different cases is independent.
	for i, tt := range metrics {
		if p := randtest.Tail(chances[i], missed[i]); p < randtest.Never {
			t.Errorf("%s of %s: %d of %d are outside their bounds, which has a chance of %.2g", tt.metric, tt.algorithm,
				missed[i], len(chances[i]), p)
		}
	}
}

func elements(x *cmu.Truth) float64 { return float64(len(x.Elements)) }
func flows(x *cmu.Truth) float64    { return float64(len(x.Flows)) }

// Distribution and entropy equal MRAC's estimates from the counters that the flows must produce. The tests of package
// sketch check MRAC's accuracy.
func TestEntropy(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		r := newRun(t, 32, "5-tuple", "frequency", flymon.MRAC, 8192, 0)
		r.traffic(seed, 3000)
		reading := r.reading()
		want := sketch.MRAC(r.counters(reading, r.placed.Sketch.Rows[0][0]))
		if e := reading.Metrics()[flymon.MetricEntropy]; e.Value != want.Entropy() || e.Confidence != 0 {
			t.Errorf("%+v, want %v bits", e, want.Entropy())
		}
		bins := reading.Distribution()
		for _, b := range bins {
			if b.Flows != want[b.Size] {
				t.Errorf("%.1f flows of %d, want %.1f", b.Flows, b.Size, want[b.Size])
			}
		}
		if len(bins) != len(want) || bins[0].Size != 1 {
			t.Errorf("%d sizes from %d on, want %d", len(bins), bins[0].Size, len(want))
		}
	})
}

// Digests name every flow that reaches the threshold. A flow is also listed if the flows of its buckets together reach
// the threshold before its last packet.
func TestHeavyFlows(t *testing.T) {
	const threshold = 100
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		for _, algorithm := range []flymon.Algorithm{flymon.CMS, flymon.SuMaxSum, flymon.Tower} {
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
			most := r.mosts()
			for v, n := range r.exact.Flows {
				if n >= threshold && !got[v] || got[v] && most[v] < threshold {
					t.Errorf("%s: a flow of %d packets, with others at most %v: listed %v", algorithm, n, most[v], got[v])
				}
			}
			// Each of 3000 flows is heavy with chance 100^-(1/1.2), so the chance that none is heavy is e^-65.
			if r.reach(threshold) == 0 {
				t.Errorf("%s: no flow has %d packets", algorithm, threshold)
			}
		}
	})
}

// Counter Braids decode the exact sizes of flows that follow one by one from flows decoded before.
func TestDecode(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		r := newRun(t, 32, "5-tuple", "frequency", flymon.CounterBraids, 3*8192*5/4, 0)
		r.traffic(seed, 3000)
		var all []flymon.Vector
		for v := range r.exact.Flows {
			all = append(all, v)
		}
		peeled := r.peeled()
		for _, f := range r.reading().Decode(all) {
			n := float64(r.exact.Flows[f.Flow])
			if f.Lower > n || f.Upper < n || peeled[f.Flow] && f.Lower != f.Upper {
				t.Fatalf("%v to %v, want %v: it follows from others: %v", f.Lower, f.Upper, n, peeled[f.Flow])
			}
		}
		// Flows with a counter of their own are decoded first, and nearly all others follow from them.
		if least := len(all) - sharers(len(all), r.size(0), 3) - r.reach(r.least()); len(peeled) < least ||
			least < len(all)/2 {
			t.Errorf("%d of %d follow, want %d", len(peeled), len(all), least)
		}
	})
}

// If all flows are known from digests, Counter Braids answer for each with certainty, and with the exact size if they
// decode it. This includes a flow that was not counted. Otherwise they return bounds without certainty.
func TestBraidsThatKnowAllFlows(t *testing.T) {
	const threshold = 50
	randtest.Run(t, randtest.Cases{Seed: 7}, func(t *testing.T, seed uint64) {
		r := newRun(t, 32, "5-tuple", "frequency", flymon.CounterBraids, 3*8192*5/4, threshold)
		r.traffic(seed, 700)
		digests, err := r.groups.Digests("t", 0, 0, 1024)
		if err != nil || len(digests) != len(r.exact.Flows) {
			t.Fatalf("%d digests of %d flows: %v", len(digests), len(r.exact.Flows), err)
		}
		reading, peeled := r.reading(), r.peeled()
		bounded := reading.Flow(digests[0])
		if reading.Know(digests); bounded.Confidence >= 1 || bounded.Upper < float64(r.exact.Flows[digests[0]]) {
			t.Errorf("without knowing all: %+v", bounded)
		}
		for v, n := range r.exact.Flows {
			e := reading.Flow(v)
			if e.Confidence != 1 || e.Lower > float64(n) || e.Upper < float64(n) || peeled[v] && e.Value != float64(n) {
				t.Errorf("%d packets: %+v", n, e)
			}
		}
		heavy := map[flymon.Vector]bool{}
		for _, f := range reading.Heavy(digests, threshold) {
			heavy[f.Flow] = true
		}
		for v := range peeled {
			if n := r.exact.Flows[v]; heavy[v] != (n >= threshold) {
				t.Errorf("a flow of %d packets is listed: %v", n, heavy[v])
			}
		}
		// Each of 700 flows is heavy with chance 50^-(1/1.2), so the chance that none is heavy is e^-26.
		if r.reach(threshold) == 0 {
			t.Errorf("no flow has %d packets", threshold)
		}
		if e := reading.Flow(flymon.Make(netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), 1, 2, 6,
			0)); e.Value != 0 || e.Confidence != 1 {
			t.Errorf("a flow that was not counted: %+v", e)
		}
		if n := reading.Metrics()[flymon.MetricCardinality]; n.Value != float64(len(digests)) || n.Confidence != 1 {
			t.Errorf("%+v, want %d flows", n, len(digests))
		}
	})
}

// A dump whose registers do not match the layout is refused.
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
