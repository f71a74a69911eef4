package bench

import (
	"context"
	"runtime"
	"slices"
	"time"

	"tamtam/lab/bench/chipload"
	"tamtam/saisim"
)

// Drops measures what a drop monitor costs the simulated chip, each load in turns with the same one without it, d for
// each: with nothing dropped, with one packet of a hundred and every packet dropped and reported, or counted by flow,
// and with every packet recorded. Where there are reports or records, packets come as fast as one port can send those.
func Drops(ctx context.Context, d time.Duration) ([]Result, error) {
	b := asicBench{ctx: ctx, d: d}
	const pause = 60
	dropped := func(one int, m chipload.Monitor) chipload.Load {
		return chipload.Load{Dropped: one, Monitor: m, Pause: pause}
	}
	table := chipload.Load{Table: true, Pause: pause}
	recorded := table
	recorded.Plan, recorded.Sample = true, 1
	for _, x := range []struct {
		name          string
		without, with chipload.Load
	}{
		{"nothing dropped", chipload.Load{}, chipload.Load{Monitor: chipload.Stateless}},
		{"1 packet of 100 dropped", dropped(100, chipload.NoMonitor), dropped(100, chipload.Stateless)},
		{"1 packet of 100 dropped, stateful", dropped(100, chipload.NoMonitor), dropped(100, chipload.Stateful)},
		{"every packet dropped", dropped(1, chipload.NoMonitor), dropped(1, chipload.Stateless)},
		{"every packet dropped, stateful", dropped(1, chipload.NoMonitor), dropped(1, chipload.Stateful)},
		{"every packet recorded", table, recorded},
	} {
		b.beside(x.name, x.without, x.with)
	}
	return b.results, b.err
}

// beside measures a load in turns with another one, of which it is a part. Of each the fastest tenth of the turns
// counts, since other programs can only slow it down.
func (b *asicBench) beside(name string, without, with chipload.Load) {
	if b.err != nil {
		return
	}
	const turn = 6400
	var feeds [2]*chipload.Feed
	for i, l := range []chipload.Load{without, with} {
		if feeds[i], b.err = chipload.New(b.ctx, l); b.err == nil {
			b.err = feeds[i].Send(saisim.KeptDrops + 5*turn) // until nothing grows any more
		}
		if b.err != nil {
			return
		}
	}
	var took [2][]float64
	one := func(i int) {
		busy := stopwatch()
		if err := feeds[i].Send(turn); b.err == nil {
			b.err = err
		}
		took[i] = append(took[i], float64(busy()))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for start := time.Now(); b.err == nil && (n < 2 || time.Since(start) < b.d); n++ {
		one(n % 2)
		one(1 - n%2)
		if b.err == nil {
			b.err = b.ctx.Err()
		}
	}
	runtime.ReadMemStats(&after)
	for _, f := range feeds {
		if b.err == nil {
			b.err = f.Check()
		}
	}
	mpps := func(all []float64) float64 {
		slices.Sort(all)
		sum, most := 0.0, max(1, len(all)/10)
		for _, x := range all[:most] {
			sum += x
		}
		return turn * float64(most) * 1e3 / max(1, sum)
	}
	reference, load := mpps(took[0]), mpps(took[1])
	b.add(name+": without", reference, "Mpps")
	b.add(name+": with", load, "Mpps")
	b.add(name+": time with, of without", reference/load, "times")
	// Other goroutines allocate now and then; one for a thousand packets is none.
	b.add(name+": allocations", float64((after.Mallocs-before.Mallocs)*1000/uint64(2*turn*n))/1000, "per packet")
}
