package tm

import (
	"math/rand/v2"
	"testing"
)

func TestRing(t *testing.T) {
	var r Ring[int]
	next, first := 0, 0
	rnd := rand.New(rand.NewPCG(3, 3))
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
}
