package rows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/collector/result"
	"tamtam/internal/randtest"
)

// Clusters of a graph, and segments of a path, count the packets of the whole path again. Only the whole counts.
func TestWholePaths(t *testing.T) {
	all := map[SeriesKey]*Series{}
	for _, k := range []SeriesKey{
		{Flow: "video", From: "leaf1", To: "leaf2"},
		{Flow: "video", Cluster: "1", From: "leaf1", To: "spine1+spine2"},
		{Flow: "video", Cluster: "2", From: "spine1+spine2", To: "leaf2"},
		{Flow: "web", From: "a", To: "b"}, {Flow: "web", From: "b", To: "c"}, {Flow: "web", From: "a", To: "c"},
		{Flow: "voice", From: "c", To: "a"},
	} {
		all[k] = &Series{SeriesKey: k}
	}
	var got []string
	for _, x := range wholePaths(all) {
		got = append(got, x.Flow+" "+x.From+" "+x.To)
	}
	slices.Sort(got)
	if want := []string{"video leaf1 leaf2", "voice c a", "web a c"}; !slices.Equal(got, want) {
		t.Errorf("whole paths %q, want %q", got, want)
	}
}

// Whatever windows rows have, each slot's count of packets and drops is within its bounds, and there are few slots.
// What is known to lie in a slot is exact.
func TestRandomTimelines(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 100}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		reach := int64(1) << (20 + r.IntN(40))
		begin := r.Int64N(1 << 40)
		s := &Snapshot{}
		if r.IntN(2) == 0 {
			s.Time.chosen = Interval{begin + r.Int64N(reach), begin + reach + 1}
		}
		window := 1 + reach>>(4+r.IntN(8))
		var packets, drops []int64 // when each was
		for range 1 + r.IntN(2000) {
			w := result.Window{Start: FloorTo(begin+r.Int64N(reach), window), Length: window}
			if r.IntN(4) == 0 {
				w = result.Window{Start: begin + r.Int64N(reach), Length: r.Int64N(1 + reach>>r.IntN(20))}
			}
			v, n := intervalOf(w), r.IntN(3)
			for range n {
				packets = append(packets, v.From+r.Int64N(v.To-v.From))
			}
			s.Time.addHop(&result.Hop{Window: w, Packets: int64(n)})
			d := result.Drop{Window: w, Packets: 1, Source: "s", Reason: fmt.Sprint(r.IntN(3)), First: v.From, Last: v.To - 1}
			if r.IntN(4) == 0 && d.First > 0 { // it came in a much later report, which has times
				d.Window.Start += reach
			}
			drops = append(drops, v.From+r.Int64N(v.To-v.From))
			s.Time.addDrop(&d)
		}
		length := s.Time.Length(StampRows)
		all := s.Time.Slots(s, length, 0)
		if len(all) > mostSlots+1 {
			t.Fatalf("%d slots", len(all))
		}
		at := func(times []int64, from, to int64) (n int64) {
			for _, x := range times {
				if x >= from && x < to && (s.Time.chosen == Interval{} || x >= s.Time.chosen.From && x < s.Time.chosen.To) {
					n++
				}
			}
			return n
		}
		var seen int64
		for i := range all {
			x := &all[i]
			is, known := SlotTable.Field("packets").Number(x, 0)
			want, wantDrops := at(packets, x.At, x.At+length), at(drops, x.At, x.At+length)
			seen += wantDrops
			if known && (want < is.Low || want > is.High) || !known && want > 0 {
				t.Fatalf("slot %d: %d packets, not within %v", i, want, is)
			}
			if wantDrops < x.dropped.Low || wantDrops > x.dropped.High || !x.Overlaps && !x.dropped.Exact() {
				t.Fatalf("slot %d: %d drops, not within %v", i, wantDrops, x.dropped)
			}
			if x.At%length != 0 || i > 0 && x.At < all[i-1].At+length {
				t.Fatalf("slot %d begins at %d, length %d", i, x.At, length)
			}
		}
		if want := at(drops, 0, math.MaxInt64); seen != want {
			t.Fatalf("%d drops in slots, want %d", seen, want)
		}
	})
}
