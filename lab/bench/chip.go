package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"tamtam/lab/bench/chipload"
	"tamtam/saisim"
)

// ASIC measures only the simulated chip. Packets of 64 bytes on the wire with FCS enter a chip with 32 ports, one per
// cycle. Each load runs for at least the duration on one core. ASIC reports the cost of forwarding and of each feature,
// and the parts of a packet's time. It also reports how two chips scale over two cores, and the cost of rules, flows,
// routes, longer frames and changes. Figures of other simulators are quoted from their sources.
func ASIC(ctx context.Context, o Options) ([]Result, error) {
	b := chipBench{ctx: ctx, d: o.Duration}
	stamped := chipload.Load{Rules: 1000, Stamp: true}
	everything := stamped
	everything.Sketch = true
	b.rates( // the aim of the chip on one core of an AMD EPYC, in million packets a second
		rate{"VLAN forwarding", chipload.Load{}, 15},
		rate{"+ 1,000 ACL rules", chipload.Load{Rules: 1000}, 0},
		rate{"+ tail-stamping", stamped, 0},
		rate{"+ three count-min rows", everything, 8},
		rate{"VLAN forwarding and three count-min rows", chipload.Load{Sketch: true}, 0},
		rate{"10,000 flows marked", chipload.Load{Flows: 10_000, Marked: true}, 5},
		rate{"count-min rows in nine CMU groups", chipload.Load{Flows: 1024, Groups: 9}, 5},
	)
	b.parts()
	b.chips()
	sizes := slices.Compact([]int{min(10, o.Most), min(1000, o.Most), min(100_000, o.Most)})
	for _, n := range sizes {
		b.rates(rate{fmt.Sprintf("%d ACL rules", n), chipload.Load{Rules: n}, 0})
	}
	for _, n := range sizes {
		b.rates(rate{fmt.Sprintf("%d flows, three count-min rows", n), chipload.Load{Flows: n, Sketch: true}, 0})
	}
	for _, n := range sizes { // packets go to every route
		b.rates(rate{fmt.Sprintf("%d routes", n), chipload.Load{Routes: n}, 0})
	}
	b.rates(
		rate{"ECMP over 32 ports", chipload.Load{Routes: 1024, ECMP: true}, 0},
		// As many long frames as the ports can carry.
		rate{"frames of 1,500 bytes", chipload.Load{Size: 1500, Pause: 4}, 0},
		rate{"frames of 1,500 bytes, three count-min rows", chipload.Load{Size: 1500, Pause: 4, Sketch: true}, 0},
	)
	b.add("allocations, of any load above", b.allocs, "per packet")
	b.results = append(b.results, elsewhere...)
	b.changes(sizes[0], sizes[len(sizes)-1])
	return b.results, b.err
}

// elsewhere holds figures that were not measured here. scripts/flymon-simulator.sh measures the last of them.
var elsewhere = []Result{
	{Name: "elsewhere: bmv2 -O3, its authors", Value: 0.080, Unit: "Mpps",
		Source: "p4lang/behavioral-model, docs/internals/performance.md: 1047 Mb/s on EC2 c4.2xlarge"},
	{Name: "elsewhere: bmv2 -O3, a machine", Value: 0.045, Unit: "Mpps", Source: asked},
	{Name: "elsewhere: bmv2 -O3, another", Value: 0.085, Unit: "Mpps", Source: asked},
	{Name: "elsewhere: FlyMon's C++ alone, three count-min rows, a machine", Value: 0.58, Unit: "Mpps", Source: asked},
	{Name: "elsewhere: FlyMon's C++ alone, three count-min rows, another", Value: 1.5, Unit: "Mpps", Source: asked},
}

const asked = "measured when this was asked for, not by this command"

// Drops measures the cost of a drop monitor for the simulated chip. Each load alternates with the same load without the
// monitor, and each of the two runs for the given duration. The loads have no drops, one packet of a hundred dropped,
// and every packet dropped; drops are reported, or counted by flow. One load also records every packet. With reports or
// records, packets arrive as fast as one port can send the reports or records.
func Drops(ctx context.Context, o Options) ([]Result, error) {
	b := chipBench{ctx: ctx, d: o.Duration}
	const pause = 60
	b.beside("nothing dropped", chipload.Load{}, chipload.Load{Monitor: chipload.Stateless})
	for _, x := range []struct {
		name    string
		dropped int
		monitor chipload.Monitor
	}{
		{"1 packet of 100 dropped", 100, chipload.Stateless},
		{"1 packet of 100 dropped, stateful", 100, chipload.Stateful},
		{"every packet dropped", 1, chipload.Stateless},
		{"every packet dropped, stateful", 1, chipload.Stateful},
	} {
		without := chipload.Load{Dropped: x.dropped, Pause: pause}
		with := without
		with.Monitor = x.monitor
		b.beside(x.name, without, with)
	}
	b.beside("every packet recorded", chipload.Load{Table: true, Pause: pause},
		chipload.Load{Table: true, Pause: pause, Plan: true, Sample: 1})
	return b.results, b.err
}

// SFlow measures the cost of sFlow for the simulated chip. Each load alternates with the same load without sFlow, and
// each of the two runs for the given duration. In the first loads every port is sampled, and no packet, one of a
// thousand or one of a hundred is chosen. In the others one packet of a hundred, or every packet, is dropped, and a
// listener receives each drop.
func SFlow(ctx context.Context, o Options) ([]Result, error) {
	b := chipBench{ctx: ctx, d: o.Duration}
	b.beside("idle", chipload.Load{}, chipload.Load{OneIn: 1 << 31})
	for _, n := range []int{1000, 100} {
		b.beside(fmt.Sprintf("1 packet of %d sampled", n), chipload.Load{}, chipload.Load{OneIn: uint32(n)})
	}
	b.beside("1 packet of 100 dropped, and told", chipload.Load{Dropped: 100}, chipload.Load{Dropped: 100, Reported: true})
	b.beside("every packet dropped, and told", chipload.Load{Dropped: 1}, chipload.Load{Dropped: 1, Reported: true})
	return b.results, b.err
}

// A chipBench measures only the chip. After an error it measures nothing more.
type chipBench struct {
	ctx     context.Context
	d       time.Duration // minimum duration of each measurement
	results []Result
	err     error
	allocs  float64 // maximum per packet over the loads of rates
}

// A rate is a load whose packets per second are measured.
type rate struct {
	name string
	load chipload.Load
	aim  float64 // target, in million packets per second; zero means that there is none
}

func (b *chipBench) add(name string, value float64, unit string) {
	b.results = append(b.results, Result{Name: name, Value: value, Unit: unit})
}

// rates measures loads. Profiles label the work of each load with its name.
func (b *chipBench) rates(list ...rate) {
	ctx := b.ctx
	defer func() { b.ctx = ctx }()
	for _, x := range list {
		b.ctx = pprof.WithLabels(ctx, pprof.Labels("load", x.name))
		r := b.run(x.load)
		b.results = append(b.results, Result{Name: x.name, Value: r.mpps, Unit: "Mpps", Aim: x.aim})
		b.allocs = max(b.allocs, r.allocs)
	}
}

// against measures loads, and the speed of each relative to one without a feature.
func (b *chipBench) against(name string, without chipload.Load, list ...rate) {
	idle := b.run(without)
	b.add("chip, "+name, idle.mpps, "Mpps")
	for _, x := range list {
		r := b.run(x.load)
		b.add("chip, "+x.name, r.mpps, "Mpps")
		b.add("chip, "+x.name+", of "+name, r.mpps/idle.mpps, "times")
		b.add("chip, "+x.name+", allocations", r.allocs, "per packet")
	}
}

// parts measures the nanoseconds for each part of a packet's path, as differences of two loads.
func (b *chipBench) parts() {
	cost := map[chipload.Load]float64{}
	of := func(l chipload.Load) float64 {
		if _, ok := cost[l]; !ok {
			cost[l] = 1e3 / b.run(l).mpps
		}
		return cost[l]
	}
	for _, p := range chipload.Parts {
		ns := of(p.Load) - of(p.Than)
		r := Result{Name: "part: " + p.Name, Value: ns, Unit: "ns"}
		if ns < 0 {
			r.Caveat = "less than what the two loads vary by"
		}
		b.results = append(b.results, r)
	}
}

// chips runs one chip, then two on two cores. It uses the clock, since processor time would not show how these affect
// each other.
func (b *chipBench) chips() {
	one := b.run(chipload.Load{})
	if b.err != nil {
		return
	}
	both := [2]chipBench{{ctx: b.ctx, d: b.d}, {ctx: b.ctx, d: b.d}}
	var byClock [2]float64
	var wg sync.WaitGroup
	for i := range both {
		wg.Go(func() { byClock[i] = both[i].run(chipload.Load{}).byClock })
	}
	wg.Wait()
	b.err = errors.Join(both[0].err, both[1].err)
	b.add("one chip, by the clock", one.byClock, "Mpps")
	b.add("two chips at once, by the clock", byClock[0]+byClock[1], "Mpps")
	b.add("two chips at once, of one chip", (byClock[0]+byClock[1])/one.byClock, "times")
}

// changes measures one change through SAI in a chip with a small number of entries, routes and addresses, and in one
// with a large number. A packet follows each change, so that the cost of lists rebuilt for it is included.
func (b *chipBench) changes(few, many int) {
	var of [2]*chipload.Filled
	for i, n := range []int{few, many} {
		if b.err == nil {
			of[i], b.err = chipload.NewFilled(b.ctx, n)
		}
	}
	for _, what := range chipload.Changes {
		if b.err != nil {
			return
		}
		took := b.pairedChanges(of, what)
		b.add(fmt.Sprintf("one %s changed, among %d", what, few), took[0], "us")
		b.add(fmt.Sprintf("one %s changed, among %d", what, many), took[1], "us")
		b.add(fmt.Sprintf("one %s changed, among %d, of among %d", what, many, few), took[1]/took[0], "times")
	}
}

// pairedChanges returns the time of a change in each of two chips, in microseconds. The chips alternate, and the
// fastest round of each counts.
func (b *chipBench) pairedChanges(of [2]*chipload.Filled, what string) (us [2]float64) {
	const turn = 200
	us = [2]float64{math.Inf(1), math.Inf(1)}
	for begin, first := time.Now(), true; first || time.Since(begin) < b.d; first = false {
		for i, c := range of {
			start := time.Now()
			for n := range turn {
				if b.err = c.Change(what, n); b.err != nil {
					return us
				}
			}
			us[i] = min(us[i], float64(time.Since(start).Nanoseconds())/1e3/turn)
		}
	}
	return us
}

// A chipRun is the speed of a chip: by the processor time that it used, and by the clock, which also runs while other
// processes have the processor.
type chipRun struct{ mpps, byClock, allocs float64 }

// run creates a chip and runs packets through it.
func (b *chipBench) run(l chipload.Load) (r chipRun) {
	if b.err != nil {
		return chipRun{mpps: 1, byClock: 1}
	}
	feed := b.feed(l, 50_000)
	if b.err != nil {
		return r
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	first := feed.Sent()
	pprof.SetGoroutineLabels(b.ctx) // for the following work, not for the creation of the chip
	defer pprof.SetGoroutineLabels(context.Background())
	busy, clock, err := fastest(b.d, func() (int, error) {
		const batch = 10_000
		return batch, errors.Join(b.ctx.Err(), feed.Send(batch))
	})
	r.mpps, r.byClock = 1e3*busy, 1e3*clock
	runtime.ReadMemStats(&after)
	r.allocs = perThousand(after.Mallocs-before.Mallocs, uint64(feed.Sent()-first))
	b.err = errors.Join(err, feed.Check())
	return r
}

// feed creates a chip, and sends packets until no memory grows any more.
func (b *chipBench) feed(l chipload.Load, packets int) *chipload.Feed {
	if b.err != nil {
		return nil
	}
	f, err := chipload.New(b.ctx, l)
	if err == nil {
		err = f.Send(packets)
	}
	b.err = err
	return f
}

// fastest repeats turn for a time, in five parts. It returns the most work per nanosecond, of processor time and of the
// clock, since other programs can only slow it down. turn returns the amount of its work.
func fastest(d time.Duration, turn func() (int, error)) (busy, clock float64, err error) {
	for range 5 {
		start, stop, n := time.Now(), stopwatch(), 0
		for took := time.Duration(0); took < max(1, d/5); took = time.Since(start) {
			did, err := turn()
			if err != nil {
				return 0, 0, err
			}
			n += did
		}
		busy = max(busy, float64(n)/float64(max(1, stop())))
		clock = max(clock, float64(n)/float64(time.Since(start)))
	}
	return busy, clock, nil
}

// perThousand returns the number of allocations per packet, rounded down to thousandths. Other goroutines allocate now
// and then; fewer than one per thousand packets count as none.
func perThousand(allocations, packets uint64) float64 {
	return float64(allocations*1000/packets) / 1000
}

// beside alternates a load with another one that is a part of it. The fastest tenth of the rounds of each counts, since
// other programs can only slow it down.
func (b *chipBench) beside(name string, without, with chipload.Load) {
	b.besideFor(6400, name, without, with)
}

// besideFor does so in rounds of some packets. Of two chips, the one that was created first is faster by up to 3 %, by
// its place in the memory. So each load is measured first and second.
func (b *chipBench) besideFor(turn int, name string, without, with chipload.Load) {
	loads, took, allocs := [2]chipload.Load{without, with}, [2][]float64{}, 0.0
	for first := range loads {
		feeds := [2]*chipload.Feed{}
		for i := range loads {
			feeds[first^i] = b.feed(loads[first^i], saisim.KeptDrops+32_000)
		}
		if b.err != nil {
			return
		}
		one := func(i int) {
			busy := stopwatch()
			b.err = errors.Join(b.err, feeds[i].Send(turn))
			took[i] = append(took[i], float64(busy()))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n := 0
		for start := time.Now(); b.err == nil && (n < 2 || time.Since(start) < b.d/2); n++ {
			one(n % 2)
			one(1 - n%2)
			b.err = errors.Join(b.err, b.ctx.Err())
		}
		runtime.ReadMemStats(&after)
		b.err = errors.Join(b.err, feeds[0].Check(), feeds[1].Check())
		allocs = max(allocs, perThousand(after.Mallocs-before.Mallocs, uint64(2*turn*n)))
	}
	mpps := func(all []float64) float64 {
		slices.Sort(all)
		sum, most := 0.0, max(1, len(all)/10)
		for _, x := range all[:most] {
			sum += x
		}
		return float64(turn*most) * 1e3 / max(1, sum)
	}
	reference, load := mpps(took[0]), mpps(took[1])
	b.add(name+": without", reference, "Mpps")
	b.add(name+": with", load, "Mpps")
	b.add(name+": time with, of without", reference/load, "times")
	b.add(name+": allocations", allocs, "per packet")
}

// stopwatch returns a function that returns the processor time since the call. Where that is unknown, it returns the
// time of the clock.
func stopwatch() func() time.Duration {
	start := time.Now()
	from, err := chipload.ProcessorTime()
	return func() time.Duration {
		if now, err2 := chipload.ProcessorTime(); err == nil && err2 == nil {
			return now - from
		}
		return time.Since(start)
	}
}
