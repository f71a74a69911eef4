package flymonorch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// changes returns the heavy changers of a task as "flow: before > after". It returns false if none are reported.
func (b *bench) changes(task string) (list []string, said bool) {
	b.T.Helper()
	r, _ := b.epochSim(task)
	for flow, text := range b.Row(swss.CountersDB, schema.CountersFlyMonChange, task) {
		c, err := schema.ParseFlyMonChange(text)
		if err != nil {
			b.T.Fatal(err)
		}
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s: %v > %v %s", flow, c.Before, c.After, c.Flags)))
	}
	slices.Sort(list)
	m, said := r.Metrics[flymon.MetricChangers]
	if said && m.Value != float64(len(list)) || !said && len(list) > 0 {
		b.T.Errorf("%v are listed, %+v", list, m)
	}
	return list, said
}

// epoch sends the given number of packets from each source, and ends the epoch.
func (b *bench) epoch(sent map[string]int) {
	b.T.Helper()
	for _, src := range slices.Sorted(maps.Keys(sent)) {
		b.send(src, sent[src])
	}
	b.Pass(b.Now.Truncate(time.Second).Add(1010 * time.Millisecond).Sub(b.Now))
}

// Whatever changes in a task and in other tasks, two epochs are compared exactly if both are complete, and the list is
// correct.
func TestChangesAmidRandomChanges(t *testing.T) {
	compared, moved := 0, 0
	fixed := randtest.Cases{Seed: 1, Count: 8, Short: 2}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		b := full(t, 0, 4)
		rnd := rand.New(rand.NewPCG(seed, 21))
		pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
		row := []string{"change-threshold", "10", "memory", "768"}
		b.task("ch", row...)
		b.Step()
		b.Pass(b.Now.Truncate(time.Second).Add(1010 * time.Millisecond).Sub(b.Now))
		var last schema.FlyMonResult
		var before, now map[string]int
		for range 20 {
			before, now = now, map[string]int{}
			for i := range 6 {
				now[fmt.Sprintf("10.0.0.%d", 1+i)] = rnd.IntN(40)
			}
			switch rnd.IntN(12) {
			case 0:
				row = []string{"change-threshold", "10", "memory", pick("768", "1536")}
				b.task("ch", row...)
			case 1:
				b.Del(schema.AppTAMFlyMonTask, "ch")
				b.Step()
				b.task("ch", row...)
			case 2:
				b.task("ch", append(row, "pinned", pick("true", "false"))...)
			case 3, 4, 5:
				b.others(pick)
			}
			b.Step()
			b.epoch(now)
			if strings.HasPrefix(b.Row(swss.StateDB, schema.StateTAMFlyMonTask, "ch")["reason"], "moved") {
				moved++
			}
			r, _ := b.epochSim("ch")
			list, said := b.changes("ch")
			if whole := r.Flags == 0 && last.Flags == 0 && last.Epoch > 0 && r.Epoch == last.Epoch+1; said != whole {
				t.Errorf("epoch %d %q after %d %q: %v, %v", r.Epoch, r.Flags, last.Epoch, last.Flags, list, said)
			}
			if last = r; !said || before == nil {
				continue
			}
			compared++
			var want []string
			for src, n := range now {
				if was := before[src]; max(was, n)-min(was, n) >= 10 {
					want = append(want, fmt.Sprintf("%s: %d > %d", src, was, n))
				}
			}
			if slices.Sort(want); !slices.Equal(list, want) { // six flows in 256 buckets, in three rows
				t.Errorf("epoch %d: %v, want %v", r.Epoch, list, want)
			}
		}
	})
	t.Logf("%d compared, %d moved", compared, moved)
	if ran.Whole(fixed) && (compared < 20 || moved < 2) {
		t.Error("the test shows little")
	}
}

// A move that splits an epoch is flagged everywhere. The epoch, its metrics, flows and sizes, and the answers to
// queries have the flag.
func TestMovedIsFlaggedInEveryAnswer(t *testing.T) {
	b := full(t, 0, 3, 8)
	moved := b.names["4"]
	b.task(moved, "threshold", "1")
	b.query("q", moved, "10.0.0.1")
	b.Step()
	b.epoch(nil)
	b.send("10.0.0.1", 5)
	b.chain("chain")
	b.wantTask(moved, "active: moved to group 3 to make room for task chain")
	for part := range 3 {
		var want flymon.Flags
		if part < 2 {
			want = flymon.FlagPartial
		}
		estimates := maps.Clone(b.Row(swss.CountersDB, schema.CountersFlyMonFlows, moved))
		if len(estimates) == 0 && part != 1 {
			t.Errorf("part %d: no flows", part)
		}
		for name, text := range b.Row(swss.CountersDB, schema.CountersFlyMonResult, moved) {
			if name == strings.ToLower(name) {
				estimates[name] = text
			}
		}
		answer := b.Row(swss.CountersDB, schema.CountersFlyMonAnswer, "q")
		estimates["answer"] = answer["ESTIMATE"]
		if r, _ := b.epochSim(moved); r.Flags != want || answer["FLAGS"] != want.String() {
			t.Errorf("part %d: %+v, %v", part, r, answer)
		}
		for name, text := range estimates {
			if e, err := schema.ParseFlyMonEstimate(text); err != nil || e.Flags != want {
				t.Errorf("part %d, %s: %s, want it flagged %q", part, name, text, want)
			}
		}
		b.epoch(map[string]int{"10.0.0.1": 3})
	}
}
