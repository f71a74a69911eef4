package switchpage

import (
	"math/rand/v2"
	"testing"
	"time"

	"tamtam/collectord/page"
	"tamtam/internal/randtest"
)

// The load of a port lies between the bounds that are told, whenever the switch had polled its counters; and nothing is told
// of counters that began anew, are not there, or were read too close to each other.
func TestLoads(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 2000}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		poll := time.Duration(10+r.IntN(2000)) * time.Millisecond
		rate, load := float64(1000+r.IntN(100_000)), 0.01+0.98*r.Float64() // Mb/s
		size := float64(64 + r.IntN(9000))
		frames := func(at time.Duration) uint64 { // those that have come by then
			return uint64(load * rate * 1e6 * at.Seconds() / (8 * (size + overhead)))
		}
		polled := func(at time.Duration) map[string]uint64 { // up to poll before
			n := frames(at - time.Duration(r.Int64N(int64(poll))))
			return map[string]uint64{"in": n, "in bytes": uint64(size) * n}
		}
		first := 10*time.Second + time.Duration(r.IntN(1000))*time.Millisecond
		over := time.Duration(1+r.IntN(15_000)) * time.Millisecond
		p := &page.Port{Mbps: int64(rate), Counters: polled(first + over)}
		was := polled(first)
		got := loadOf(p, was, "in", over, poll)
		if over <= 2*poll {
			if got != nil {
				t.Errorf("over %v, polled each %v: %+v", over, poll, *got)
			}
			return
		}
		one := 8 * (size + overhead) / (rate * 1e6 * (over - poll).Seconds()) // a frame more or less
		if got == nil || load < got.Low-one || load > got.High+one || got.Low > got.High || got.High > 1 {
			t.Errorf("load %.3f over %v, polled each %v: %+v", load, over, poll, got)
		}
		was["in"] = p.Counters["in"] + 1
		if got := loadOf(p, was, "in", over, poll); got != nil {
			t.Errorf("the counter began anew: %+v", *got)
		}
		delete(was, "in bytes")
		if got := loadOf(p, was, "in", over, poll); got != nil || loadOf(p, nil, "out", over, poll) != nil {
			t.Errorf("without a counter: %+v", got)
		}
	})
}
