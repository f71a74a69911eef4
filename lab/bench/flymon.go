package bench

import (
	"context"
	"net/netip"
	"time"

	"tamtam/flymonorch/plan"
	"tamtam/lab/bench/chipload"
	"tamtam/saisim/cmu"
	"tamtam/saisim/profile"
	"tamtam/tam/flymon"
)

// FlyMon measures CMU groups: what one update of a CMU costs by itself and with
// the compression of its key, the packet rate of the simulated chip with 0, 1 and 9
// groups busy and with 96 tasks in one group (as [ASIC] measures it, d for each
// load), and how soon tasks count ([Deployments]).
func FlyMon(ctx context.Context, d time.Duration) ([]Result, error) {
	b := asicBench{ctx: ctx, d: d}
	b.engine()
	idle := b.run(chipload.Load{Flows: 1024})
	b.add("chip, no task", idle.mpps, "Mpps")
	for _, l := range []struct {
		name string
		load chipload.Load
	}{
		{"count-min of 3 rows in 1 group", chipload.Load{Flows: 1024, Groups: 1}},
		{"BeauCoup of 3 rows in 1 group", chipload.Load{Flows: 1024, Groups: 1, Coupons: true}},
		{"count-min of 3 rows in each of 9 groups", chipload.Load{Flows: 1024, Groups: 9}},
		{"96 tasks in 1 group, 3 for each packet", chipload.Load{Flows: 32, Tasks: 96}},
	} {
		r := b.run(l.load)
		b.add("chip, "+l.name, r.mpps, "Mpps")
		b.add("chip, "+l.name+", of no task", r.mpps/idle.mpps, "times")
		b.add("chip, "+l.name+", allocations", r.allocs, "per packet")
	}
	if b.err != nil {
		return nil, b.err
	}
	deploy, err := deployFigures(ctx, 100)
	return append(b.results, deploy...), err
}

// engine measures CMU groups without a chip: a packet that no task matches, a task of one row, and
// one of three, each with the same compressed key. The buckets of 1,024 flows are in the cache.
func (b *asicBench) engine() {
	run := func(rows int) float64 {
		if b.err != nil {
			return 1
		}
		g, err := cmu.New(b.geometry())
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
		best := 0.0
		for range 5 {
			start, n := time.Now(), 0
			for took := time.Duration(0); took < max(1, b.d/5); took = time.Since(start) {
				for i := range packets {
					g.Run(&packets[i])
				}
				n += len(packets)
			}
			best = max(best, float64(n)/float64(time.Since(start).Nanoseconds()))
		}
		return 1 / best
	}
	idle, one, three := run(0), run(1), run(3)
	b.add("CMU groups alone, no task", idle, "ns/packet")
	b.add("CMU groups alone, filter, key of 5-tuple and one CMU", one-idle, "ns/packet")
	b.add("CMU groups alone, one more CMU", (three-one)/2, "ns/packet")
	b.add("CMU groups alone, count-min of 3 rows", 1e3/three, "Mpps")
}

func (b *asicBench) geometry() flymon.Geometry {
	p := profile.Default()
	return p.FlyMon.Geometry()
}
