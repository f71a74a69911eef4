// Package randtest runs random tests: tests whose cases are made from seeds. The gate runs fixed
// seeds, so it never depends on luck; a soak runs the same tests on seeds nobody has seen, because
// passing on one seed says little. What belongs here: what every random test needs, whatever it
// tests.
//
// Two environment variables choose what is run:
//
//	TAMTAM_SEED    the first seed; without, the one that the test states
//	TAMTAM_CASES   how many cases, on seeds one after the other; without, as many as the test states
//
// A case depends on its seed alone. So TAMTAM_SEED=140 TAMTAM_CASES=1 repeats the case of seed 140,
// whatever run it failed in.
package randtest

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

// Cases are seeds one after the other: Seed, Seed+1, ..., as many as Count. Count 0 stands for one.
type Cases struct {
	Seed  uint64
	Count int
	// Short is how many cases run with -short, as under the race detector; 0: all.
	Short int
}

// Run runs f for each case as a subtest, prints seed, cases and failures, and returns what was run.
// Cases may run in parallel (t.Parallel in f): Run returns when all are through.
//
// Run stands in a Test function itself, not in what it calls: the soak finds random tests by it.
func Run(t *testing.T, fixed Cases, f func(t *testing.T, seed uint64)) Cases {
	t.Helper()
	c := chosen(t, fixed)
	var failed atomic.Int64
	t.Run("seed", func(t *testing.T) {
		for i := range c.Count {
			seed := c.Seed + uint64(i)
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Cleanup(func() {
					if t.Failed() {
						failed.Add(1)
					}
				})
				f(t, seed)
			})
		}
	})
	t.Logf(Report, c.Seed, c.Count, failed.Load())
	return c
}

// Report is the format that Run prints: the first seed, the cases and how many of them failed.
const Report = "randtest: seed %d, cases %d, failed %d"

// Whole reports whether c are at least as many cases as the test states. Checks of how often
// something must occur are for these.
func (c Cases) Whole(fixed Cases) bool { return c.Count >= max(fixed.Count, 1) }

func chosen(t *testing.T, fixed Cases) Cases {
	t.Helper()
	c := Cases{Seed: fixed.Seed, Count: max(fixed.Count, 1)}
	if seed, given := number(t, "TAMTAM_SEED"); given {
		c.Seed = seed
	}
	switch count, given := number(t, "TAMTAM_CASES"); {
	case given && (count < 1 || count > 1<<30):
		t.Fatalf("TAMTAM_CASES is %d, want 1 to %d", count, 1<<30)
	case given:
		c.Count = int(count)
	case testing.Short() && fixed.Short > 0:
		c.Count = fixed.Short
	}
	return c
}

// number reads a variable of the environment.
func number(t *testing.T, name string) (uint64, bool) {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(fmt.Errorf("%s is %q, want a whole number: %w", name, s, err))
	}
	return n, true
}
