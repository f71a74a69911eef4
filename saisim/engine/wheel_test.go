package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
)

// A wheel returns near and far copies in the order of time, lane and insertion, while time advances and lanes are
// cleared.
func TestWheel(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var w wheel
		var want []*copyOf // expected copies, sorted
		pk, now := &packet{}, Cycle(rnd.Uint64N(5000))
		for range 5000 {
			switch rnd.IntN(8) {
			default:
				span := []uint64{3, 100, wheelSpan - 1, wheelSpan + 1, 10 * wheelSpan}[rnd.IntN(5)]
				cp := &copyOf{pk: pk, at: now + 1 + Cycle(rnd.Uint64N(span)), lane: PortID(rnd.IntN(5))}
				w.push(cp)
				i := 0
				for i < len(want) && (want[i].at < cp.at || want[i].at == cp.at && want[i].lane <= cp.lane) {
					i++
				}
				want = slices.Insert(want, i, cp)
			case 0, 1, 2:
				to := now + Cycle(rnd.Uint64N([]uint64{2, 50, 3000, 30_000}[rnd.IntN(4)]))
				for cp := w.removeDue(to); cp != nil; cp = w.removeDue(to) {
					for ; cp != nil; cp = cp.next {
						w.n--
						if len(want) == 0 || want[0] != cp {
							t.Fatalf("took what is due at %d at lane %d, want %v", cp.at, cp.lane, want[:min(len(want), 1)])
						}
						want = want[1:]
					}
				}
				if len(want) > 0 && want[0].at <= to {
					t.Fatalf("left what is due at %d, at %d", want[0].at, to)
				}
				now = to
			case 3:
				lane := PortID(rnd.IntN(8))
				mine := slices.DeleteFunc(slices.Clone(want), func(cp *copyOf) bool { return cp.lane != lane })
				var got []*copyOf
				w.remove(lane, func(cp *copyOf) { got = append(got, cp) })
				if !slices.Equal(got, mine) {
					t.Fatalf("removed %d of lane %d, want %d", len(got), lane, len(mine))
				}
				want = slices.DeleteFunc(want, func(cp *copyOf) bool { return cp.lane == lane })
			}
			if w.n != len(want) {
				t.Fatalf("%d are there, want %d", w.n, len(want))
			}
			if first := w.due(); (first == nil) != (len(want) == 0) || first != nil && first != want[0] {
				t.Fatalf("due is %v, want %v", first, want[:min(len(want), 1)])
			}
		}
	})
}
