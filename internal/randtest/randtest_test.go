package randtest

import (
	"slices"
	"sync"
	"testing"
)

// seedsOf returns the seeds that were run.
func seedsOf(t *testing.T, fixed Cases) (seeds []uint64, c Cases) {
	var mu sync.Mutex
	c = Run(t, fixed, func(t *testing.T, seed uint64) {
		t.Parallel() // Run also waits for parallel subtests
		mu.Lock()
		defer mu.Unlock()
		seeds = append(seeds, seed)
	})
	slices.Sort(seeds)
	return seeds, c
}

func TestRun(t *testing.T) {
	fixed := Cases{Seed: 21, Count: 3}
	for _, tt := range []struct {
		name, seed, count string
		want              []uint64
		whole             bool
	}{
		{"the gate's", "", "", []uint64{21, 22, 23}, true},
		{"another seed", "100", "", []uint64{100, 101, 102}, true},
		{"more cases", "", "5", []uint64{21, 22, 23, 24, 25}, true},
		{"one case again", "22", "1", []uint64{22}, false},
		{"beyond the last seed", "18446744073709551615", "2", []uint64{0, 1<<64 - 1}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TAMTAM_SEED", tt.seed)
			t.Setenv("TAMTAM_CASES", tt.count)
			ran, c := seedsOf(t, fixed)
			if !slices.Equal(ran, tt.want) || c.Whole(fixed) != tt.whole {
				t.Errorf("seeds %d, whole %v, want %d, %v", ran, c.Whole(fixed), tt.want, tt.whole)
			}
		})
	}
}

func TestOneCaseWithoutCount(t *testing.T) {
	t.Setenv("TAMTAM_SEED", "")
	t.Setenv("TAMTAM_CASES", "")
	if ran, _ := seedsOf(t, Cases{Seed: 7}); !slices.Equal(ran, []uint64{7}) {
		t.Errorf("seeds %d, want 7 alone", ran)
	}
}
