package orch

import (
	"maps"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
)

// A SmallSet has the same members as a map after any additions and removals.
func TestSmallSet(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		want, got := map[int]struct{}{}, SmallSet[int]{}
		for range 200 {
			k := rnd.IntN(4)
			if rnd.IntN(2) == 0 {
				want[k], got = struct{}{}, got.With(k)
			} else {
				delete(want, k)
				got = got.Without(k)
			}
			all := map[int]struct{}{}
			for k := range got.All() {
				if _, twice := all[k]; twice || !got.Has(k) {
					t.Fatalf("%d twice, or not a member", k)
				}
				all[k] = struct{}{}
			}
			if !maps.Equal(all, want) || got.Empty() != (len(want) == 0) {
				t.Fatalf("%v, want %v", all, want)
			}
		}
	})
}
