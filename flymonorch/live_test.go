package flymonorch

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// oracle sets up a chip of the usual size that also counts exactly.
func oracle(b *bench) {
	b.geo.Depth = 65536
	b.geo.Width = 32
	b.chip.Room[flymon.ObjectTruth] = 16
	b.exact = 1000
}

// A task that counts while it is read misses the packets between the reading of a part of the registers and its
// clearing. A task with two banks misses none. The oracle shows this, and so does the number of packets.
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
	// A part has 8192 words, which take 4.096 ms, so five packets arrive meanwhile.
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

// If a sweep is given up after parts of the registers were cleared, the next result lacks what they had counted, and is
// flagged.
func TestSweepThatIsGivenUp(t *testing.T) {
	b := newBench(t, oracle)
	b.task("live", "readout", "live", "memory", "49152", "filter", "protocol=17")
	b.query("q", "live", "10.0.0.1")
	b.Step()
	for ms := range 2000 {
		if ms == 1510 { // the sweep began 10 ms ago
			b.Rec.FailAt(1, sai.StatusFailure)
		}
		b.send("10.0.0.1", 1)
		b.Pass(time.Millisecond)
	}
	row, err := schema.ParseFlyMonResult("live", b.Row(swss.CountersDB, schema.CountersFlyMonResult, "live"))
	if err != nil || row.Flags != flymon.FlagLive|flymon.FlagPartial {
		t.Errorf("the flags are %s, want live and partial; the answer is %s", row.Flags, b.answer("q"))
	}
}

// Whichever call of a sweep fails, the answer has all packets between its begin and its end, but for the two that are
// lost in each sweep, or is flagged partial.
func TestEveryCallOfASweepFails(t *testing.T) {
	run := func(fail int) (answer string, flags flymon.Flags, calls int) {
		b := newBench(t, oracle)
		b.task("live", "readout", "live", "memory", "1024", "filter", "protocol=17")
		b.query("q", "live", "10.0.0.1")
		b.Step()
		for ms := range 1900 {
			if ms == 1490 { // the sweep begins 10 ms later
				b.Rec.FailAt(fail, sai.StatusFailure)
			}
			b.send("10.0.0.1", 1)
			b.Pass(time.Millisecond)
		}
		row, err := schema.ParseFlyMonResult("live", b.Row(swss.CountersDB, schema.CountersFlyMonResult, "live"))
		if err != nil {
			t.Fatal(err)
		}
		return b.answer("q"), row.Flags, b.Rec.Changes()
	}
	whole, flags, calls := run(0)
	if flags != flymon.FlagLive || calls < 3 {
		t.Fatalf("%s, flags %s, %d calls", whole, flags, calls)
	}
	for fail := 1; fail <= calls; fail++ {
		answer, flags, _ := run(fail)
		var epoch, counted, exact int
		if _, err := fmt.Sscanf(answer, "%d: %d of %d", &epoch, &counted, &exact); err != nil {
			t.Fatal(answer, err)
		}
		if flags&flymon.FlagPartial == 0 && (counted < exact-2 || exact < 1000) {
			t.Errorf("call %d fails: the answer is %s, without a flag", fail, answer)
		}
	}
}

// The result of a live task until its change counts the packets since its last answer. It does not contain anything
// from before that.
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
	b.wantAnswer("q", "1700000001: 998 of 1000") // reading a part takes a millisecond
	b.task("live", append(live, "memory", "2048")...)
	b.Step()
	row, err := schema.ParseFlyMonResult("live", b.Row(swss.CountersDB, schema.CountersFlyMonResult, "live"))
	if n := row.Metrics[flymon.MetricPackets]; err != nil || n.Value != 891 ||
		row.Flags != flymon.FlagLive|flymon.FlagPartial {
		t.Errorf("%+v, %v, want 891 packets", row, err)
	}
	b.wantAnswer("q", "1700000002: 891")
}

// The oracle cannot distinguish the maximum of a sweep from the maximum so far, so it returns no value.
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

// The number of heavy flows by MRAC is computed from its distribution, not from the flows that queries name.
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
	if err != nil || math.Round(n.Value) != 40 { // 40 flows in 4096 counters, none in the same counter
		t.Errorf("%+v, %v, want 40 heavy flows", n, err)
	}
}

// A sweep that takes longer than an epoch omits epochs.
func TestSweepLongerThanAnEpoch(t *testing.T) {
	b := newBench(t, oracle)
	b.task("live", "readout", "live", "memory", "49152", "epoch", "10") // a sweep takes 24.6 ms
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

// The rows of a task have a maximum size, regardless of the chip's reports.
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
	// the oracle is queried 17 times
	b.wantAnswer("q299", "1700000000: 0 of 0")
	// two of these flows share their buckets with others
	if cut := b.Row(swss.CountersDB, schema.CountersFlyMonResult, "t1")["FLOWS_CUT"]; cut != "106" {
		t.Errorf("%s flows are cut, want 4200 and 2 less %d", cut, maxFlows)
	}
	for _, l := range b.Logged {
		t.Error(l)
	}
}

// A task without epochs counts for longer than its time unit can represent. Intervals are then flagged as possibly
// longer.
func TestIntervalLongerThanTimesReport(t *testing.T) {
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

// If there are more digests than the chip keeps, the epoch is flagged. An oracle whose capacity was exceeded returns no
// value.
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

// A change that leaves a live task at its place, such as that of its filter, does not interrupt the sequence of sweeps:
// the next result counts from the end of the last one.
func TestFilterOfALiveTaskIsChanged(t *testing.T) {
	b := newBench(t, oracle)
	live := []string{"readout", "live", "memory", "1024"}
	b.task("live", append(live, "filter", "protocol=17")...)
	b.query("q", "live", "10.0.0.1")
	b.Step()
	for range 2400 {
		b.send("10.0.0.1", 1)
		b.Pass(time.Millisecond)
	}
	b.task("live", append(live, "filter", "protocol=17,dst-ip=10.0.0.0/8")...)
	b.Step()
	for range 400 {
		b.send("10.0.0.1", 1)
		b.Pass(time.Millisecond)
	}
	row, err := schema.ParseFlyMonResult("live", b.Row(swss.CountersDB, schema.CountersFlyMonResult, "live"))
	if err != nil || row.Flags != flymon.FlagLive|flymon.FlagPartial || row.End-row.Start > int64(1100*time.Millisecond) ||
		row.Metrics[flymon.MetricPackets].Value > 1100 {
		t.Errorf("%d ns, %+v, %v; the answer is %s", row.End-row.Start, row, err, b.answer("q"))
	}
}
