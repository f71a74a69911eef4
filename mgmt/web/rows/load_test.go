package rows

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/collector/result"
	"tamtam/internal/randtest"
)

// However old counters are when they are read, the traffic of each slot is within its bounds.
func TestRandomLoads(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		begin := r.Int64N(1 << 50)
		reach := int64(1) << (10 + r.IntN(40))
		frames := make([]int64, r.IntN(2000)) // when each was sent, with 100 bytes
		for i := range frames {
			frames[i] = begin + r.Int64N(reach)
		}
		slices.Sort(frames)
		until := func(at int64) uint64 { // frames before a time
			n, _ := slices.BinarySearch(frames, at)
			return uint64(n)
		}
		age := r.Int64N(1+reach>>8) * int64(r.IntN(2))
		p := result.PortReadings{Switch: "a", Port: "Ethernet0"}
		value := uint64(0)
		for at := begin; at < begin+reach; at += 1 + r.Int64N(1+reach>>(4+r.IntN(5))) {
			value = max(value, until(at-r.Int64N(age+1)))
			p.Readings = append(p.Readings, result.Reading{Time: at, Age: age, Out: result.Traffics{Known: true,
				Packets: value, Bytes: 100 * value}, Queued: -1})
		}
		g := GridOf([]result.PortReadings{p}, Interval{0, 1<<63 - 1})
		items, _ := g.Items([]result.PortReadings{p}, func(string, bool) string { return "" })
		for _, x := range items {
			if x.Direction != "sent" {
				t.Fatalf("%+v: nothing was received", x)
			}
			n := until(x.At.To) - until(x.At.From)
			low, high := result.PerSecond(n, uint64(g.Length), false), result.PerSecond(n, uint64(g.Length), true)
			if high < x.packets.Low || low > x.packets.High || result.PerSecond(100*n, uint64(g.Length), true) < x.Bytes.Low ||
				result.PerSecond(100*n, uint64(g.Length), false) > x.Bytes.High {
				t.Fatalf("%d packets in %d ns: not within %v a second", n, g.Length, x.packets)
			}
		}
		if len(p.Readings) > 100 && len(items) == 0 {
			t.Error("no slot has a load")
		}
	})
}

// The slots of a range end with it, even at the end of time.
func TestLoadsOfAllTime(t *testing.T) {
	p := result.PortReadings{Switch: "a", Port: "Ethernet0"}
	for i := range int64(5) {
		p.Readings = append(p.Readings, result.Reading{Time: 1_700_000_000e9 + i*1e9, Queued: 5})
	}
	for to := range int64(3) {
		g := GridOf([]result.PortReadings{p}, Interval{0, math.MaxInt64 - 1 - to})
		items, left := g.Items([]result.PortReadings{p}, func(string, bool) string { return "" })
		if len(items) != 1 || left != 0 || !items[0].queued {
			t.Errorf("to %d: %+v: want the slot with the readings", g.Shown.To, items)
		}
	}
}
