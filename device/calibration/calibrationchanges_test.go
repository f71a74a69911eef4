package calibration

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
)

// changers returns the sketches that find heavy changers.
func changers() []measure {
	counters := [2]int{192, 1536}
	return []measure{
		{name: "cms", attribute: "frequency", algorithm: "cms", keys: anyKey, metric: "heavy-changers", memory: counters},
		{name: "cms bytes", attribute: "frequency(bytes)", algorithm: "cms", keys: anyKey, metric: "heavy-changers",
			memory: counters},
		{name: "sumax-sum", attribute: "frequency", algorithm: "sumax-sum", keys: anyKey, metric: "heavy-changers",
			memory: counters},
		{name: "tower", attribute: "frequency", algorithm: "tower", keys: anyKey, metric: "heavy-changers", memory: counters},
		{name: "mrac", attribute: "frequency", algorithm: "mrac", keys: anyKey, metric: "heavy-changers",
			memory: [2]int{64, 512}, silent: true},
		{name: "braids", attribute: "frequency", algorithm: "counter-braids", keys: anyKey, metric: "heavy-changers",
			memory: counters},
		{name: "share cms", attribute: "frequency", algorithm: "cms", keys: anyKey, metric: "heavy-changers",
			memory: counters, share: true},
	}
}

// A changeTally sums up the results of the tasks of one sketch.
type changeTally struct {
	measure
	tasks, lost, full   int
	listed, real, found int // sums over tasks without lost digests and full counters
	bounded             []float64
	outside             int
	missable            []float64 // probabilities to miss the real changer that was drawn
	missed              int
	disagree            int
}

// Heavy changers of random tasks over random traffic, from CONFIG_DB to gNMI, are compared with the test's counts of
// the frames that left. Precision is the share of listed changers that are real, recall the share of real changers that
// are listed. For each task, the test draws one listed change and one real changer. The listed change lies within its
// bounds as often as the bounds claim. With count-min, the changer is missed only if an excess is larger than its
// margin over the threshold. This is the excess of the epoch in which the changer was smaller. With n packets in rows
// of w counters, the probability in each of d rows is at most n/(w margin), by Markov's inequality.
func TestFlyMonCalibrationChanges(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	var tallies []*changeTally
	for _, m := range changers() {
		tallies = append(tallies, &changeTally{measure: m})
	}
	fixed := randtest.Cases{Seed: 1, Count: 4}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		c := newCalibration(t, seed, changers())
		for _, in := range c.instances {
			in.epoch = c.epoch
			in.changes = c.changeOf(in)
		}
		_, late, first := c.play([]int{16, 400, 400, 400}[seed%4])
		for i, in := range c.instances {
			c.checkChanges(in, tallies[i], late.tasks[in.task], first+1)
		}
	})
	t.Logf("%-10s %6s %6s %6s %6s %6s %10s %8s %8s %8s %8s %8s", "sketch", "tasks", "lost", "full", "real", "listed",
		"precision", "recall", "bounded", "outside", "claimed", "found")
	lost := 0
	for _, y := range tallies {
		y.judge(t, ran.Whole(fixed))
		lost += y.lost
	}
	if ran.Whole(fixed) && lost == 0 {
		t.Error("no digests were lost: the test shows little")
	}
}

// countsOf returns a task's true count for each flow, in an epoch.
func (c *calibration) countsOf(in *instance, epoch int) map[string]float64 {
	counts := map[string]float64{}
	for _, p := range c.traffic.packets {
		if p.class == in.class && p.epoch == epoch {
			n := 1.0
			if in.attribute == "frequency(bytes)" {
				n = float64(p.size + 4) // with FCS
			}
			counts[valuesOf(p.flowOf, in.key)] += n
		}
	}
	return counts
}

// changesOf returns the changes of all flows.
func (c *calibration) changesOf(in *instance) map[string]float64 {
	before, after := c.countsOf(in, 0), c.countsOf(in, 1)
	changes := map[string]float64{}
	for flow, n := range before {
		changes[flow] = math.Abs(after[flow] - n)
	}
	for flow, n := range after {
		changes[flow] = math.Abs(n - before[flow])
	}
	return changes
}

// changeOf draws a threshold from the greater half of the changes, or near one.
func (c *calibration) changeOf(in *instance) uint64 {
	var sizes []float64
	for _, n := range c.changesOf(in) {
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	n := sizes[len(sizes)/2+c.r.IntN(len(sizes)-len(sizes)/2)] * (0.5 + 0.6*c.r.Float64())
	return uint64(min(max(n, in.seen), 30000)) // within reach of narrow buckets
}

// checkChanges adds a task's heavy changers to its tally.
func (c *calibration) checkChanges(in *instance, y *changeTally, task map[string]any, epoch uint64) {
	t := c.t
	if status := strings.ToLower(fmt.Sprint(within(task, "state", "status"))); status != "active" {
		t.Fatalf("%s is %v: %v", in.name, status, within(task, "state", "reason"))
	}
	last := within(task, "state", "last-epoch")
	if n, _ := number(within(last, "epoch")); n != float64(epoch) {
		t.Fatalf("%s: the last epoch is %v, want %d", in.name, n, epoch)
	}
	var metric any
	metrics, _ := within(task, "metrics", "metric").([]any)
	for _, m := range metrics {
		if within(m, "quantity") == in.metric {
			metric = within(m, "state")
		}
	}
	if metric == nil {
		t.Fatalf("%s: both epochs are whole, and nothing is said of changers: %v", in.name, task)
	}
	list, _ := within(task, "changes", "change").([]any)
	if n, _ := number(within(metric, "estimate")); n != float64(len(list)) {
		t.Errorf("%s: %v heavy changers, and %d are listed", in.name, n, len(list))
	}
	truth, before, after := c.changesOf(in), c.countsOf(in, 0), c.countsOf(in, 1)
	flags := flagsOf(metric)
	y.tasks++
	listed, real := map[string]bool{}, 0
	var drawn any
	if len(list) > 0 {
		drawn = list[c.r.IntN(len(list))]
	}
	for _, entry := range list {
		flow := fmt.Sprint(within(entry, "flow"))
		state := within(entry, "state")
		change, _ := number(within(state, "estimate"))
		was, _ := number(within(state, "before"))
		is, _ := number(within(state, "after"))
		if listed[flow] = true; change < float64(in.changes) || math.Abs(math.Abs(is-was)-change) > 1e-3 {
			t.Errorf("%s, threshold %d: %s is listed with %v, from %v to %v", in.name, in.changes, flow, change, was, is)
		}
		if got := flagsOf(state); !slices.Equal(got, flags) {
			t.Errorf("%s: %s is flagged %v, the list %v", in.name, flow, got, flags)
		}
		if !in.share && (was < before[flow] && !saturated(state) || is < after[flow] && !saturated(state)) {
			t.Errorf("%s: %s counted %v and %v, want at least %v and %v", in.name, flow, was, is, before[flow], after[flow])
		}
		if exact, ok := number(within(state, "exact")); ok && exact != truth[flow] {
			y.disagree++
			t.Logf("%s %s: the oracle says %v, the test counted %v", in.name, flow, exact, truth[flow])
		}
		if truth[flow] >= float64(in.changes) {
			real++
		}
	}
	y.bounds(t, in, drawn, truth)
	switch {
	case slices.Contains(flags, "digests-lost"):
		y.lost++
		return
	case saturated(metric):
		y.full++
		return
	}
	var all []string
	for flow, n := range truth {
		if n >= float64(in.changes) {
			all = append(all, flow)
		}
	}
	y.listed, y.real, y.found = y.listed+len(list), y.real+len(all), y.found+real
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	flow := all[c.r.IntN(len(all))]
	smaller := before
	if after[flow] < before[flow] {
		smaller = after
	}
	total := 0.0
	for _, n := range smaller {
		total += n
	}
	chance := 1.0
	place := within(task, "state", "placement")
	buckets, _ := number(within(place, "buckets"))
	rows, _ := number(within(place, "rows"))
	if in.algorithm != "counter-braids" && !in.share {
		one := total / (buckets / rows * (truth[flow] - float64(in.changes) + 1))
		if chance = min(1, math.Pow(one, rows)); in.algorithm == "tower" { // tower's narrow rows may be full
			chance = min(1, one)
		}
	}
	y.missable = append(y.missable, chance)
	if !listed[flow] {
		y.missed++
		t.Logf("%s, threshold %d: %s is not listed, from %v to %v; the chance of that is %.3g", in.name, in.changes, flow,
			before[flow], after[flow], chance)
	}
}

func saturated(state any) bool { return fmt.Sprint(within(state, "saturated")) == "true" }

// bounds compares a listed change with the exact one.
func (y *changeTally) bounds(t *testing.T, in *instance, drawn any, truth map[string]float64) {
	if drawn == nil {
		return
	}
	state, flow := within(drawn, "state"), fmt.Sprint(within(drawn, "flow"))
	confidence, _ := number(within(state, "confidence"))
	lower, below := number(within(state, "lower"))
	upper, above := number(within(state, "upper"))
	if !above {
		upper = math.Inf(1)
	}
	if confidence == 0 || !above && !below {
		if text := fmt.Sprint(within(state, "bound")); !saturated(state) && !strings.Contains(text, "no bound") {
			t.Errorf("%s of %s: a change without bounds does not say so: %v", in.name, flow, state)
		}
		return
	}
	y.bounded = append(y.bounded, 1-confidence)
	if slack := 1e-4 + 1e-6*truth[flow]; truth[flow] < lower-slack || truth[flow] > upper+slack {
		y.outside++
		t.Logf("%s of %s: %v, exactly %v", in.name, flow, state, truth[flow])
	}
}

func (y *changeTally) judge(t *testing.T, whole bool) {
	claimed := 0.0
	for _, p := range y.bounded {
		claimed += 1 - p
	}
	n := float64(len(y.bounded))
	precision, recall := float64(y.found)/float64(y.listed), float64(y.found)/float64(y.real)
	t.Logf("%-10s %6d %6d %6d %6d %6d %9.2f%% %7.2f%% %8d %8d %7.1f%% %7.1f%%", y.name, y.tasks, y.lost, y.full, y.real,
		y.listed, 100*precision, 100*recall, len(y.bounded), y.outside, 100*claimed/n, 100*(1-float64(y.outside)/n))
	if p := randtest.Tail(y.bounded, y.outside); p < randtest.Never {
		t.Errorf("%s: %d of %d changes are outside their bounds, which has a chance of %.2g", y.name, y.outside,
			len(y.bounded), p)
	}
	if p := randtest.Tail(y.missable, y.missed); p < randtest.Never {
		t.Errorf("%s: %d of %d real changers are missed, which has a chance of %.2g", y.name, y.missed, len(y.missable), p)
	}
	if y.disagree > 0 {
		t.Errorf("%s: the chip's oracle disagrees with the test %d times", y.name, y.disagree)
	}
	if y.silent && len(y.bounded) > 0 {
		t.Errorf("%s: %d changes have bounds, for which there is no ground", y.name, len(y.bounded))
	}
	if whole && (len(y.bounded) == 0 && !y.silent || len(y.missable) == 0 || !y.share && precision < 0.5 || recall < 0.5) {
		t.Errorf("%s: the test shows little: precision %.2f, recall %.2f, %d with bounds", y.name, precision, recall,
			len(y.bounded))
	}
}
