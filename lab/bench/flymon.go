package bench

import (
	"context"
	"fmt"
	"net/netip"

	"tamtam/flymonorch/plan"
	"tamtam/lab/bench/chipload"
	"tamtam/saisim/cmu"
	"tamtam/saisim/profile"
	"tamtam/tam/flymon"
)

// FlyMon measures CMU groups: the cost of one update of a CMU, alone and with the compression of its key. It also
// measures the packet rate of the simulated chip, as [ASIC] does, with 0, 1 and 9 groups in use and with 96 tasks in
// one group. [Deployments] adds how soon tasks count.
func FlyMon(ctx context.Context, o Options) ([]Result, error) {
	b := chipBench{ctx: ctx, d: o.Duration}
	b.groups()
	b.against("no task", chipload.Load{Flows: 1024},
		rate{"count-min of 3 rows in 1 group", chipload.Load{Flows: 1024, Groups: 1}, 0},
		rate{"BeauCoup of 3 rows in 1 group", chipload.Load{Flows: 1024, Groups: 1, Coupons: true}, 0},
		rate{"count-min of 3 rows in each of 9 groups", chipload.Load{Flows: 1024, Groups: 9}, 0},
		rate{"96 tasks in 1 group, 3 for each packet", chipload.Load{Flows: 32, Tasks: 96}, 0})
	if b.err != nil {
		return nil, b.err
	}
	all, err := Deployments(ctx, max(1, o.Changes/10))
	for _, d := range all {
		name := fmt.Sprintf("%s: %s, %d rules in %d groups, p", d.Redis, d.Algorithm, d.Rules, d.Groups)
		b.add(name+"50", milliseconds(d.Quantile(0.5)), "ms")
		b.add(name+"99", milliseconds(d.Quantile(0.99)), "ms")
	}
	return b.results, err
}

// groups measures CMU groups without a chip: a packet that no task matches, a task of one row, and one of three. All
// use the same compressed key. The buckets of 1,024 flows are in the cache.
func (b *chipBench) groups() {
	run := func(rows int) float64 {
		if b.err != nil {
			return 1
		}
		p := profile.Default()
		g, err := cmu.New(p.FlyMon.Geometry())
		if err == nil && rows > 0 {
			t := chipload.CountMin("any")
			t.Rows = uint8(rows)
			var p *plan.Placed
			if p, err = plan.New(g.Geometry()).Add("t", t); err == nil {
				err = g.Apply(p.Layout)
			}
		}
		if b.err = err; err != nil {
			return 1
		}
		var packets [1024]cmu.Packet
		for i := range packets {
			src := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
			v := flymon.Make(src, src.Next(), uint16(i), 443, 17, 0)
			packets[i] = cmu.Packet{Vector: v, Ports: true, Size: 64, Number: uint64(i)}
		}
		_, best, _ := fastest(b.d, func() (int, error) {
			for i := range packets {
				g.Run(&packets[i])
			}
			return len(packets), nil
		})
		return 1 / best
	}
	idle, one, three := run(0), run(1), run(3)
	b.add("CMU groups alone, no task", idle, "ns/packet")
	b.add("CMU groups alone, filter, key of 5-tuple and one CMU", one-idle, "ns/packet")
	b.add("CMU groups alone, one more CMU", (three-one)/2, "ns/packet")
	b.add("CMU groups alone, count-min of 3 rows", 1e3/three, "Mpps")
}
