package marks

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/tam/altmark"
)

// A pointReport is a report of a point.
type pointReport struct {
	point int
	altmark.Period
	arrived time.Time
}

// randomReports returns reports of all points for some periods, in the order of their periods. Some of them are
// missing, duplicate or flagged.
func randomReports(rnd *rand.Rand, points, periods int) (all []pointReport) {
	first := 1000 + rnd.Uint64N(1<<40)
	for k := first; k < first+uint64(periods); k++ {
		sent := 100 + rnd.Uint64N(100)
		for i := range points {
			p := report(k, sent, time.Duration(i)*ms*time.Duration(5+rnd.IntN(4)))
			p.Captures = [...]uint32{0, 1, 1, 1, 1, 1, 1, 2}[rnd.IntN(8)]
			if rnd.IntN(6) == 0 {
				p.Flags = altmark.Flags(1 << rnd.IntN(9))
			}
			sent -= rnd.Uint64N(10)
			came := [...]time.Time{{}, p.ReadAt.Std().Add(700 * ms), p.ReadAt.Std()}[min(rnd.IntN(12), 2)]
			if rnd.IntN(6) > 0 {
				all = append(all, pointReport{i, p, came})
			}
			if rnd.IntN(6) == 0 {
				all = append(all, pointReport{i, p, came})
				if rnd.IntN(6) == 0 {
					all[len(all)-1].Packets++
				}
			}
		}
	}
	return all
}

// lastResults joins reports and returns the last result for every period and segment.
func lastResults(t *testing.T, path Path, reports []pointReport) map[string]Result {
	m := newTestJoiner(t, path)
	last := map[string]Result{}
	collect := func(results []Result) {
		for _, r := range results {
			key := fmt.Sprint(r.Period, r.From, r.To)
			if old, ok := last[key]; ok != r.Revised {
				t.Fatalf("%s was given before: %v, as %s", line(r), ok, line(old))
			}
			r.Revised = false
			last[key] = r
		}
	}
	for _, r := range reports {
		collect(m.Add(r.point, r.Period, r.arrived))
		if len(m.entries) > keptPeriods || len(m.gone) > 2*keptPeriods {
			t.Fatalf("%d periods are remembered, %d forgotten", len(m.entries), len(m.gone))
		}
	}
	collect(m.Flush())
	return last
}

// For any reports in any order, losses are differences of unflagged reports of one period. Periods without a report are
// missing, no period is left out, and the order of reports does not matter.
func TestAltMarkRandom(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300, Short: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		path := [...]func(altmark.Method) Path{twoPoints, threePoints}[rnd.IntN(2)](altmark.Method(1 + rnd.IntN(4)))
		path.Wait = rnd.IntN(9)
		reports := randomReports(rnd, len(path.Points), 20)
		if len(reports) == 0 {
			return
		}
		results := lastResults(t, path, reports)
		checkRandom(t, path, reports, results)
		rnd.Shuffle(len(reports), func(i, j int) {
			if max(i, j)-min(i, j) < 30 {
				reports[i], reports[j] = reports[j], reports[i]
			}
		})
		// If two reports differ, the first is shown. Results that depend on such reports are compared without their
		// numbers.
		again := lastResults(t, path, reports)
		for key, r := range again {
			was, ok := results[key]
			if !ok {
				continue // the first and the last period decide the periods in between, so their order matters
			}
			if strings.Contains(strings.Join(r.Reasons, ""), "differ") {
				continue
			}
			if !reflect.DeepEqual(was, r) && !conflictNear(reports, r.Period) {
				t.Fatalf("%s, and in another order %s", line(was), line(r))
			}
		}
		for key, r := range results {
			if _, ok := again[key]; !ok && r.Counted {
				t.Fatalf("%s: not there in another order", line(r))
			}
		}
	})
}

// conflictNear reports whether two reports in the window of period k differ.
func conflictNear(reports []pointReport, k uint64) bool {
	seen := map[[2]uint64]altmark.Period{}
	for _, r := range reports {
		key := [2]uint64{uint64(r.point), r.Number}
		if p, ok := seen[key]; ok && p != r.Period && r.Number+Window+2 >= k {
			return true
		}
		seen[key] = r.Period
	}
	return false
}

func checkRandom(t *testing.T, path Path, reports []pointReport, results map[string]Result) {
	said := map[string]map[uint64][]altmark.Period{}
	for _, p := range path.Points {
		said[p.Switch] = map[uint64][]altmark.Period{}
	}
	low, high := reports[0].Number, reports[0].Number
	for _, r := range reports {
		low, high = min(low, r.Number), max(high, r.Number)
		of := said[path.Points[r.point].Switch]
		if !slices.Contains(of[r.Number], r.Period) {
			of[r.Number] = append(of[r.Number], r.Period)
		}
	}
	segments := len(path.Points)*2 - 3 // number of segments for two or three points
	if want := int(high-low+1) * segments; len(results) != want {
		t.Fatalf("%d results of periods %d to %d, want %d", len(results), low, high, want)
	}
	for _, r := range results {
		a, b := said[r.From][r.Period], said[r.To][r.Period]
		switch {
		case (len(a) == 0 || len(b) == 0) != (r.Status == Missing), r.Counted == (r.Status == Missing):
			t.Fatalf("reports %v and %v: %s", a, b, line(r))
		case r.Status == Missing && (r.LossValid || r.DelayValid || r.RawDelayValid || r.JitterValid):
			t.Fatalf("nothing can be known: %s", line(r))
		case (r.Status == OK) != (len(r.Reasons) == 0):
			t.Fatalf("status and reasons: %s", line(r))
		case r.LossValid && (len(a) != 1 || len(b) != 1 || (a[0].Flags | b[0].Flags).VoidsLoss() ||
			r.Lost != int64(a[0].Packets)-int64(b[0].Packets)):
			t.Fatalf("reports %v and %v: %s", a, b, line(r))
		case r.DelayValid && (len(a) != 1 || len(b) != 1 || (a[0].Flags | b[0].Flags).VoidsDelay() || a[0].Captures != 1 ||
			b[0].Captures != 1 || r.Delay != b[0].Timestamp.Sub(a[0].Timestamp)):
			t.Fatalf("reports %v and %v: %s", a, b, line(r))
		case r.Status == OK && path.Points[0].Settings.Method.Loss() != r.LossValid:
			t.Fatalf("complete, but no loss: %s", line(r))
		}
	}
}
