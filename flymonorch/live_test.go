package flymonorch

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// oracle is a chip of the usual size that counts exactly too.
func oracle(b *bench) {
	b.geo.Depth = 65536
	b.geo.Width = 32
	b.chip.Room[flymon.ObjectTruth] = 16
	b.exact = 1000
}

// A task that counts while it is read misses the packets that come between the reading
// of a part of the registers and its clearing; one with two banks misses none. The
// oracle tells, and so does the number of packets.
func TestLiveReadoutLosesPackets(t *testing.T) {
	b := newBench(t, oracle)
	b.task("live", "readout", "live", "memory", "49152", "filter", "protocol=17")
	b.query("ql", "live", "10.0.0.1")
	b.task("banked", "memory", "49152", "filter", "protocol=17")
	b.query("qb", "banked", "10.0.0.1")
	b.Step()
	b.wantTask("live", "active")
	b.wantTask("banked", "active")
	for range 3600 {
		b.send("10.0.0.1", 1)
		b.Pass(time.Millisecond)
	}
	b.wantAnswer("qb", "1700000003: 1000 of 1000")
	// A part has 8192 words, which take 4.096 ms: five packets come.
	b.wantAnswer("ql", "1700000003: 995 of 1000")
	row, err := schema.ParseFlyMonResult("live", b.Row(swss.CountersDB, schema.CountersFlyMonResult, "live"))
	if err != nil {
		t.Fatal(err)
	}
	if row.Flags != flymon.FlagLive || row.Metrics[flymon.MetricPackets].Value != 1000 {
		t.Errorf("result %+v", row)
	}
	if end := row.End - row.Start; end != int64(time.Second) {
		t.Errorf("from %d to %d", row.Start, row.End)
	}
	for _, l := range b.Logged {
		t.Error(l)
	}
}

// What a live task counted until it is changed is that since its last answer, by the number of packets:
// what it had been before is not in it.
func TestLiveTaskIsChanged(t *testing.T) {
	b := newBench(t, oracle)
	live := []string{"readout", "live", "memory", "1024", "filter", "protocol=17"}
	b.task("live", live...)
	b.query("q", "live", "10.0.0.1")
	b.Step()
	for range 2400 {
		b.send("10.0.0.1", 1)
		b.Pass(time.Millisecond)
	}
	b.wantAnswer("q", "1700000001: 998 of 1000") // a part takes a millisecond to read
	b.task("live", append(live, "memory", "2048")...)
	b.Step()
	row, err := schema.ParseFlyMonResult("live", b.Row(swss.CountersDB, schema.CountersFlyMonResult, "live"))
	if n := row.Metrics[flymon.MetricPackets]; err != nil || n.Value != 891 ||
		row.Flags != flymon.FlagLive|flymon.FlagPartial {
		t.Errorf("%+v, %v, want 891 packets", row, err)
	}
	b.wantAnswer("q", "1700000002: 891")
}

// The oracle cannot tell the greatest of a sweep from the greatest so far: it says nothing.
func TestLiveMaximumHasNoExactValue(t *testing.T) {
	b := newBench(t, oracle)
	b.task("live", "readout", "live", "attribute", "max(size)", "memory", "1024")
	b.query("q", "live", "10.0.0.1")
	b.Step()
	for range 2500 {
		b.send("10.0.0.1", 1)
		b.Pass(time.Millisecond)
	}
	e, err := schema.ParseFlyMonEstimate(b.Row(swss.CountersDB, schema.CountersFlyMonAnswer, "q")["ESTIMATE"])
	if lower, upper := e.Bounds(); err != nil || e.Value == 0 || e.Exact != nil || lower || upper {
		t.Errorf("%+v, %v", e, err)
	}
}

// What MRAC says of heavy flows is by its distribution, not by how many of those that queries name.
func TestHeavyFlowsOfMRAC(t *testing.T) {
	b := newBench(t, oracle)
	b.task("t", "algorithm", "mrac", "memory", "4096", "threshold", "10", "attribute", "frequency")
	b.query("q", "t", "10.0.0.1")
	b.Step()
	for host := range 40 {
		b.send(fmt.Sprintf("10.0.0.%d", host), 20)
	}
	b.Pass(time.Second)
	row, err := schema.ParseFlyMonResult("t", b.Row(swss.CountersDB, schema.CountersFlyMonResult, "t"))
	n := row.Metrics[flymon.MetricHeavy]
	if err != nil || math.Round(n.Value) != 40 { // 40 flows in 4096 counters, none together
		t.Errorf("%+v, %v, want 40 heavy flows", n, err)
	}
}

// A sweep that takes longer than an epoch leaves epochs out.
func TestSweepLongerThanAnEpoch(t *testing.T) {
	b := newBench(t, oracle)
	b.task("live", "readout", "live", "memory", "49152", "epoch", "10") // 24.6 ms
	b.Step()
	var numbers []string
	for range 100 {
		b.send("10.0.0.1", 1)
		b.Pass(time.Millisecond)
		if r := b.result("live"); r != "" && (len(numbers) == 0 || numbers[len(numbers)-1] != r) {
			numbers = append(numbers, r)
		}
	}
	if want := "[170000000050: 36 first,live 170000000053: 30 live 170000000056: 30 live]"; fmt.Sprint(numbers) != want {
		t.Errorf("epochs %v, want %s", numbers, want)
	}
}

// What one row of a task may have is bounded, whatever the chip tells.
func TestBounded(t *testing.T) {
	b := newBench(t, oracle, func(b *bench) { b.geo.Digests, b.exact = 1<<13, 5000 })
	b.task("t1", "memory", "49152", "threshold", "1")
	for i := range 300 {
		b.query(fmt.Sprint("q", i), "t1", fmt.Sprintf("10.1.%d.%d", i/256, i%256))
	}
	b.Step()
	for i := range 4200 {
		b.send(fmt.Sprintf("10.0.%d.%d", i/250, i%250), 1)
	}
	b.Pass(time.Second)
	if n := len(b.Row(swss.CountersDB, schema.CountersFlyMonFlows, "t1")); n != maxFlows {
		t.Errorf("%d flows, want %d", n, maxFlows)
	}
	b.wantResult("t1", "1700000000: 4200 first")
	b.wantAnswer("q9", "1700000000: 0 of 0")
	// the oracle is asked 17 times
	b.wantAnswer("q299", "1700000000: 0 of 0")
	// two of those asked for share their buckets with others
	if cut := b.Row(swss.CountersDB, schema.CountersFlyMonResult, "t1")["FLOWS_CUT"]; cut != "106" {
		t.Errorf("%s flows are cut, want 4200 and 2 less %d", cut, maxFlows)
	}
	for _, l := range b.Logged {
		t.Error(l)
	}
}

// A task without epochs counts for longer than its units of time tell apart: of intervals it says then
// that they may be longer.
func TestIntervalLongerThanTimesTell(t *testing.T) {
	b := newBench(t, func(b *bench) { b.geo.Groups, b.geo.Width = 9, 32 })
	b.task("t1", "attribute", "max(interval)", "memory", "576", "epoch", "0")
	b.query("q", "t1", "10.0.0.1")
	b.Step()
	for _, after := range []time.Duration{70 * time.Minute, 80 * time.Minute} {
		b.send("10.0.0.1", 1)
		b.Now = b.Now.Add(after)
		b.send("10.0.0.1", 1)
		b.Pass(2 * time.Second)
		row := b.Row(swss.CountersDB, schema.CountersFlyMonAnswer, "q")
		e, err := schema.ParseFlyMonEstimate(row["ESTIMATE"])
		if _, bounded := e.Bounds(); err != nil || bounded != (after < 73*time.Minute) || e.Saturated == bounded {
			t.Errorf("after %v: %v %v", after, row, err)
		}
	}
}

// More digests than the chip keeps are missed, and it is said. An oracle that kept too
// little says nothing.
func TestTooMany(t *testing.T) {
	b := newBench(t, oracle, func(b *bench) { b.geo.Digests, b.exact = 10, 20 })
	b.task("t1", "memory", "49152", "threshold", "2")
	b.query("q", "t1", "10.0.0.1")
	b.Step()
	for i := range 15 {
		b.send(fmt.Sprintf("10.0.0.%d", i), 2)
	}
	b.Pass(time.Second)
	b.wantResult("t1", "1700000000: 30 first,digests-lost")
	b.wantAnswer("q", "1700000000: 2 of 2")
	if n := len(b.Row(swss.CountersDB, schema.CountersFlyMonFlows, "t1")); n != 10 {
		t.Errorf("%d flows, want 10", n)
	}
	if lost := b.Row(swss.CountersDB, schema.CountersFlyMonResult, "t1")["DIGESTS_LOST"]; lost != "5" {
		t.Errorf("%s digests are lost, want 5: of the second packets of five flows", lost)
	}
	for i := range 30 {
		b.send(fmt.Sprintf("10.0.0.%d", i), 1)
	}
	b.Pass(time.Second)
	b.wantResult("t1", "1700000001: 30")
	b.wantAnswer("q", "1700000001: 1")
}
