package bench

import (
	"context"
	"time"

	"tamtam/lab/bench/chipload"
)

// SFlow measures what sFlow costs the simulated chip, each load in turns with the same one without it, d for each: with
// every port sampled and no packet chosen, one of a thousand and one of a hundred; and with one packet of a hundred and
// every packet dropped, and somebody told of each.
func SFlow(ctx context.Context, d time.Duration) ([]Result, error) {
	b := asicBench{ctx: ctx, d: d}
	for _, x := range []struct {
		name    string
		without chipload.Load
		one     uint32
	}{
		{"idle", chipload.Load{}, 1 << 31},
		{"1 packet of 1000 sampled", chipload.Load{}, 1000},
		{"1 packet of 100 sampled", chipload.Load{}, 100},
		{"1 packet of 100 dropped, and told", chipload.Load{Dropped: 100}, 0},
		{"every packet dropped, and told", chipload.Load{Dropped: 1}, 0},
	} {
		with := x.without
		with.OneIn, with.Told = x.one, x.one == 0
		b.beside(x.name, x.without, with)
	}
	return b.results, b.err
}
