package tm

import (
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
)

func TestRing(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 3}, func(t *testing.T, seed uint64) {
		var r Ring[int]
		next, first := 0, 0
		rnd := rand.New(rand.NewPCG(seed, 3))
		for range 1000 {
			if rnd.IntN(5) > 1 || r.Len() == 0 {
				r.Push(next)
				next++
			} else {
				if *r.First() != first {
					t.Fatalf("first is %d, want %d", *r.First(), first)
				}
				r.Pop()
				first++
			}
			if r.Len() != next-first {
				t.Fatalf("%d items, want %d", r.Len(), next-first)
			}
		}
	})
}
