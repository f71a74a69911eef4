package bench

import (
	"context"
	"time"

	"tamtam/lab/bench/chipload"
)

// recordChip measures what table recording costs the simulated chip, as [ASIC] measures it, d for
// each load: packets that an ACL table matches without a plan, with one that sets its bits and no
// session, and with one packet of a hundred and every packet recorded. Packets come as fast as one
// port can send their records.
func recordChip(ctx context.Context, d time.Duration) ([]Result, error) {
	b := asicBench{ctx: ctx, d: d}
	const pause = 24
	idle := b.run(chipload.Load{Table: true, Pause: pause})
	b.add("chip, no plan", idle.mpps, "Mpps")
	for _, l := range []struct {
		name string
		load chipload.Load
	}{
		{"a plan of 7 tables, nothing recorded", chipload.Load{Table: true, Pause: pause, Plan: true}},
		{"1 packet of 100 recorded", chipload.Load{Table: true, Pause: pause, Plan: true, Sample: 100}},
		{"every packet recorded", chipload.Load{Table: true, Pause: pause, Plan: true, Sample: 1}},
	} {
		r := b.run(l.load)
		b.add("chip, "+l.name, r.mpps, "Mpps")
		b.add("chip, "+l.name+", of no plan", r.mpps/idle.mpps, "times")
		b.add("chip, "+l.name+", allocations", r.allocs, "per packet")
	}
	return b.results, b.err
}
