package flymonorch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// Whatever the order of events, with occasional failures of SAI calls, the chip has exactly the tasks that are reported
// to count. The chip refuses no task. When all tasks are deleted, nothing is left.
func TestRandomSequences(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 6}, func(t *testing.T, seed uint64) {
		b := newBench(t, func(b *bench) { b.geo.Groups, b.geo.Spliced = 5, 2 })
		rnd := rand.New(rand.NewPCG(seed, 5))
		for range 60 {
			b.random(rnd)
			b.Step()
			b.wantConsistent()
			featuretest.Whole(b.Bench, b.fm.Feature)
		}
		b.Rec.FailAt(0, 0)
		b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE")
		for i := range 6 {
			b.Del(schema.AppTAMFlyMonTask, fmt.Sprint("t", i))
		}
		b.Step()
		b.Pass(2 * time.Second)
		if got := b.objects(); len(got) > 0 {
			t.Errorf("objects %v stay", got)
		}
		featuretest.Empty(b.Bench, b.fm.Feature, schema.CountersFlyMonGroup)
		for g := range b.geo.All() {
			if row := b.Row(swss.CountersDB, schema.CountersFlyMonGroup, fmt.Sprint(g)); row["TASKS"] != "0" ||
				row["LARGEST_FREE"] != "1024,1024,1024" || row["KEYS"] != "free;free;free" {
				t.Errorf("group %d: %v", g, row)
			}
		}
	})
}

// random makes a random change.
func (b *bench) random(rnd *rand.Rand) {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	name := fmt.Sprint("t", rnd.IntN(6))
	switch rnd.IntN(12) {
	case 0:
		b.Del(schema.AppTAMFlyMonTask, name)
	case 1:
		b.Set(schema.AppTAMFeature, featureName, "status", pick("ACTIVE", "ACTIVE", "INACTIVE"))
	case 2:
		b.query(fmt.Sprint("q", rnd.IntN(3)), name, pick("10.0.0.1", "10.0.0.1,80", "x"))
	case 3:
		b.Rec.FailAt(1+rnd.IntN(5), []sai.Status{sai.StatusFailure, sai.StatusInsufficientResources}[rnd.IntN(2)])
	case 4, 5:
		b.send("10.0.0.1", rnd.IntN(20))
		b.Pass(time.Duration(rnd.IntN(1500)) * time.Millisecond)
	default:
		b.task(name, "memory", pick("96", "192", "768", "1536"), "key", pick("src-ip", "src-ip,dst-port", "5-tuple"),
			"filter", pick("any", "protocol=17", "protocol=6", "dst-port=80"),
			"epoch", pick("1000", "1000", "300", "0"), "readout", "banked", "threshold", pick("0", "9"), "plan",
			pick("false", "false", "false", "true"),
			"attribute", pick("frequency", "max(size)", "frequency(bytes)"), "algorithm", "auto", "share", pick("1", "1", "1/2"),
			"pinned", pick("false", "true"))
	}
}

// wantConsistent checks that the chip has exactly the tasks that are reported to count.
func (b *bench) wantConsistent() {
	b.T.Helper()
	rows, err := swss.NewTable(b.Redis.DB(swss.StateDB), schema.StateTAMFlyMonTask).Dump(b.Ctx)
	if err != nil {
		b.T.Fatal(err)
	}
	var want []string
	for name, row := range rows {
		if row["status"] == schema.StatusActive && !strings.HasPrefix(row["reason"], "planned") ||
			strings.Contains(row["reason"], "it counts on as it was") {
			want = append(want, flymon.ObjectTask+" "+name)
		}
		if strings.Contains(row["reason"], "the switch refused") {
			b.T.Errorf("task %s: %s", name, row["reason"])
		}
	}
	slices.Sort(want)
	got := slices.DeleteFunc(b.objects(), func(s string) bool { return !strings.HasPrefix(s, flymon.ObjectTask) })
	for name, t := range b.fm.Sessions { // deleted tasks that could not be removed yet
		if !t.Configured {
			got = slices.DeleteFunc(got, func(s string) bool { return s == flymon.ObjectTask+" "+name })
		}
	}
	if !slices.Equal(got, want) {
		b.T.Errorf("the chip has %v, want %v", got, want)
	}
}
