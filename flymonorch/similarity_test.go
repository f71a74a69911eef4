package flymonorch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// epochSim returns the last epoch of a task that compares sets.
func (b *bench) epochSim(task string) (schema.FlyMonResult, bool) {
	b.T.Helper()
	row := b.Row(swss.CountersDB, schema.CountersFlyMonResult, task)
	if len(row) == 0 {
		return schema.FlyMonResult{}, false
	}
	r, err := schema.ParseFlyMonResult(task, row)
	if err != nil {
		b.T.Fatal(err)
	}
	return r, true
}

// compares adds a task that compares the sources of epochs.
func (b *bench) compares(name string, fields ...string) {
	b.T.Helper()
	b.task(name, append([]string{"key", "none", "attribute", "similarity(src-ip)", "memory", "640"}, fields...)...)
	b.Step()
	b.wantTask(name, "active")
}

// same sends one packet from each of the same 60 sources, spread over the time d.
func (b *bench) same(d time.Duration) {
	b.T.Helper()
	for i := range 60 {
		b.send(fmt.Sprintf("10.0.7.%d", i), 1)
		b.Pass(d / 60)
	}
}

// The sources of every epoch are the same. An epoch that the task saw only in part is not compared with the previous or
// the next epoch. The task may have begun, changed, or moved for another task during the epoch.
func TestNoSimilarityOfPartOfAnEpoch(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"nothing": func(b *bench) {},
		"begun": func(b *bench) {
			b.Del(schema.AppTAMFlyMonTask, "sim")
			b.Step()
			b.compares("sim")
		},
		"memory": func(b *bench) { b.compares("sim", "memory", "320") },
		"key":    func(b *bench) { b.compares("sim", "attribute", "similarity(ip-pair)") },
		"filter": func(b *bench) { b.compares("sim", "filter", "protocol=17") },
		"moved": func(b *bench) {
			b.chain("chain")
			b.wantTask("chain", "active")
			b.wantTask("sim", "active: moved to groups 3, 7 to make room for task chain")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := full(t, 0, 4)
			b.compares("sim")
			for _, group := range []string{"3", "7", "8"} {
				b.Del(schema.AppTAMFlyMonTask, b.names[group])
			}
			b.Pass(510 * time.Millisecond)
			for epoch := range 6 {
				b.same(480 * time.Millisecond)
				if epoch == 2 {
					change(b)
				}
				b.same(480 * time.Millisecond)
				b.Pass(40 * time.Millisecond)
				r, _ := b.epochSim("sim")
				whole := epoch != 2 || name == "nothing"
				if r.Flags.Whole() != whole || r.Epoch != uint64(1700000001+epoch) {
					t.Errorf("epoch %d: %+v", epoch, r)
				}
				j, compared := r.Metrics[flymon.MetricJaccard]
				d, differ := r.Metrics[flymon.MetricDifference]
				want := epoch > 0 && whole && (epoch != 3 || name == "nothing")
				if compared != want || differ != want || compared && (j.Value < 0.95 || d.Value > 3) {
					t.Errorf("epoch %d: similarity %+v, difference %+v, want them: %v", epoch, j, d, want)
				}
			}
		})
	}
}

// A task and others change at random times. A reported similarity is always the similarity of all packets of two
// epochs, as the test has sent them. If both epochs are complete, a similarity is reported.
func TestSimilarityAmidRandomChanges(t *testing.T) {
	var chances []float64
	missed, moved, compared := 0, 0, 0
	fixed := randtest.Cases{Seed: 3, Count: 8, Short: 2}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		b := full(t, 0, 4)
		rnd := rand.New(rand.NewPCG(seed, 9))
		pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
		sim := []string{"key", "none", "attribute", "similarity(src-ip)", "memory", "640"}
		b.task("sim", sim...)
		b.Step()
		b.Pass(500 * time.Millisecond)
		pool := rnd.Uint32()
		var before, now map[string]bool
		var last schema.FlyMonResult
		for range 20 {
			before, now = now, map[string]bool{}
			from, n := rnd.IntN(60), 60+rnd.IntN(60)
			changeAt := rnd.IntN(4 * n) // a change happens in one of four epochs
			for i := range n {
				host := uint32(from+i) ^ pool
				name := fmt.Sprintf("10.%d.%d.%d", byte(host>>16), byte(host>>8), byte(host))
				now[name] = true
				if i == changeAt {
					row := sim
					switch rnd.IntN(8) {
					case 0: // the set of its packets stays the same
						row = append(row, "filter", pick("any", "protocol=17", "dst-port=80"))
					case 1:
						row = append(row, "attribute", pick("similarity(src-ip)", "similarity(5-tuple)", "similarity(ip-pair)"))
					case 2:
						row = append(row, "memory", pick("320", "640"))
					case 3:
						b.Del(schema.AppTAMFlyMonTask, "sim")
						b.Step()
					default:
						b.others(pick)
						row = nil
					}
					if b.Step(); row != nil {
						sim = row
						b.task("sim", sim...)
						b.Step()
					}
				}
				b.send(name, 1+rnd.IntN(3))
				if i < n-1 {
					b.Pass(900 * time.Millisecond / time.Duration(n))
				}
			}
			b.Pass(b.Now.Truncate(time.Second).Add(1010 * time.Millisecond).Sub(b.Now))
			if strings.HasPrefix(b.Row(swss.StateDB, schema.StateTAMFlyMonTask, "sim")["reason"], "moved") {
				moved++
			}
			r, _ := b.epochSim("sim")
			j, ok := r.Metrics[flymon.MetricJaccard]
			d := r.Metrics[flymon.MetricDifference]
			whole := r.Flags == 0 && last.Flags == 0 && last.Epoch > 0 && r.Epoch == last.Epoch+1
			if ok != whole {
				t.Errorf("epoch %d %q after %d %q: similarity %+v", r.Epoch, r.Flags, last.Epoch, last.Flags, j)
			}
			last = r
			if !ok || before == nil {
				continue
			}
			compared++
			common := 0
			for name := range before {
				if now[name] {
					common++
				}
			}
			all := len(before) + len(now) - common
			chances = append(chances, 1-j.Confidence)
			if x, y := float64(common)/float64(all),
				float64(all-common); x < j.Lower || x > j.Upper || y < d.Lower || y > d.Upper {
				missed++
				t.Logf("epoch %d: similarity %+v, want %v; difference %+v, want %v", r.Epoch, j, x, d, y)
			}
		}
	})
	t.Logf("%d compared, %d outside of their bounds; %d moved", compared, missed, moved)
	if p := randtest.Tail(chances, missed); p < randtest.Never {
		t.Errorf("%d of %d are outside their bounds, which has a chance of %.2g", missed, len(chances), p)
	}
	if ran.Whole(fixed) && (moved < 2 || compared < 20) {
		t.Errorf("%d compared, %d moved: too few", compared, moved)
	}
}

// others changes other tasks, so that the task under test must move occasionally.
func (b *bench) others(pick func(...string) string) {
	for range 3 {
		b.Del(schema.AppTAMFlyMonTask, pick("a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"))
	}
	b.Del(schema.AppTAMFlyMonTask, "o")
	b.Step()
	switch pick("chain", "chain", "wide", "cms") {
	case "chain":
		b.task("o", "attribute", "max(interval)", "key", "ip-pair", "memory", pick("576", "2304"))
	case "wide":
		b.task("o", "memory", pick("1536", "768"))
	default:
		b.task(pick("a1", "a4"), "key", pick("src-ip", "5-tuple", "dst-ip"), "memory", pick("192", "768"))
	}
	b.Step()
}
