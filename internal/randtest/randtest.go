// Package randtest runs random tests: tests whose cases are made from seeds. The gate runs fixed seeds, so it never
// depends on luck. A soak runs the same tests on new seeds, because passing on one seed proves little. This package
// holds the common code of all random tests.
//
// Two environment variables choose the cases:
//
//	TAMTAM_SEED    the first seed; if unset, the test's own first seed
//	TAMTAM_CASES   the number of cases, which use consecutive seeds; if unset, the test's own number
//
// A case depends only on its seed. So TAMTAM_SEED=140 TAMTAM_CASES=1 repeats the case of seed 140 of any run.
package randtest

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

// Cases are consecutive seeds: Seed, Seed+1, ..., Count of them. Zero means one.
type Cases struct {
	Seed  uint64
	Count int
	// Short is the number of cases with -short, as under the race detector. Zero means all.
	Short int
}

// Run runs f for each case as a subtest, prints seed, cases and failures, and returns the cases that ran. Cases may run
// in parallel (t.Parallel in f); Run returns when all have ended.
//
// Run must be called by a Test function itself, since the soak finds random tests by this call.
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

// Whole reports whether c has at least as many cases as the test defines by itself. Only then can a test check how
// often something occurs.
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

// number returns an environment variable as a number, and whether it is set.
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
