package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"tamtam/lab/bench/chipload"
)

// ASIC measures the simulated chip alone, packets of 64 bytes on the wire with
// FCS at one packet per cycle of a chip with 32 ports, each load for at least d on one
// core: what forwarding costs and what each feature adds, where the time of a packet
// goes, how two chips scale over two cores, what rules, flows, routes and longer frames cost, and what a
// change costs; and what other simulators do, as those who measured them say.
func ASIC(ctx context.Context, d time.Duration) ([]Result, error) {
	b := asicBench{ctx: ctx, d: d}
	steps := []func(){
		b.features, b.marking, b.parts, b.chips, b.rules, b.flows, b.routes, b.sizes, b.allocations, b.others, b.changes,
	}
	for _, step := range steps {
		if step(); b.err != nil {
			return nil, b.err
		}
	}
	return b.results, nil
}

type asicBench struct {
	ctx     context.Context
	d       time.Duration
	results []Result
	err     error
	allocs  float64 // per packet, of the load that allocates most
	label   string  // of a load, in profiles
}

// What the chip is to do on one core of an AMD EPYC, in million packets a second.
const (
	aimForwarding = 15
	aimEverything = 8
	aimMarked     = 5
	aimNineGroups = 5
)

// features are VLAN forwarding, and what is added to it, one after the other.
func (b *asicBench) features() {
	b.aim("VLAN forwarding", chipload.Load{}, aimForwarding)
	b.measure("+ 1,000 ACL rules", chipload.Load{Rules: 1000})
	b.measure("+ tail-stamping", chipload.Load{Rules: 1000, Stamp: true})
	b.aim("+ three count-min rows", chipload.Load{Rules: 1000, Stamp: true, Sketch: true}, aimEverything)
	b.measure("VLAN forwarding and three count-min rows", chipload.Load{Sketch: true})
}

// marking is what only other benchmarks measure beside it, with an aim.
func (b *asicBench) marking() {
	b.aim("10,000 flows marked", chipload.Load{Flows: 10_000, Marked: true}, aimMarked)
	b.aim("count-min rows in nine CMU groups", chipload.Load{Flows: 1024, Groups: 9}, aimNineGroups)
}

// parts measures where the nanoseconds of a packet go, as differences of two loads each.
func (b *asicBench) parts() {
	cost := map[chipload.Load]float64{}
	of := func(l chipload.Load) float64 {
		if _, ok := cost[l]; !ok {
			cost[l] = 1e3 / b.run(l).mpps
		}
		return cost[l]
	}
	for _, p := range chipload.Parts {
		ns := of(p.Load)
		if !p.First {
			ns -= of(p.Than)
		}
		r := Result{Name: "part: " + p.Name, Value: ns, Unit: "ns"}
		if ns < 0 {
			r.Doubt = "less than what the two loads vary by"
		}
		b.results = append(b.results, r)
	}
}

// chips runs one chip, then two on two cores. Processor time would not tell what these do to each other.
func (b *asicBench) chips() {
	one := b.run(chipload.Load{})
	if b.err != nil {
		return
	}
	var wg sync.WaitGroup
	var both [2]asicRun
	var errs [2]error
	for i := range both {
		wg.Go(func() { both[i], errs[i] = newASICRun(b.ctx, chipload.Load{}, b.d) })
	}
	wg.Wait()
	b.err = errors.Join(errs[:]...)
	b.add("one chip, by the clock", one.byClock, "Mpps")
	b.add("two chips at once, by the clock", both[0].byClock+both[1].byClock, "Mpps")
	b.add("two chips at once, of one chip", (both[0].byClock+both[1].byClock)/one.byClock, "times")
}

func (b *asicBench) rules() {
	for _, n := range []int{10, 1000, 100_000} {
		b.measure(fmt.Sprintf("%d ACL rules", n), chipload.Load{Rules: n})
	}
}

func (b *asicBench) flows() {
	for _, n := range []int{10, 1000, 100_000} {
		b.measure(fmt.Sprintf("%d flows, three count-min rows", n), chipload.Load{Flows: n, Sketch: true})
	}
}

// routes has packets to every route.
func (b *asicBench) routes() {
	for _, n := range []int{10, 1000, 100_000} {
		b.measure(fmt.Sprintf("%d routes", n), chipload.Load{Routes: n})
	}
	b.measure("ECMP over 32 ports", chipload.Load{Routes: 1024, ECMP: true})
}

// sizes has as many long frames as the ports take.
func (b *asicBench) sizes() {
	b.measure("frames of 1,500 bytes", chipload.Load{Size: 1500, Pause: 4})
	b.measure("frames of 1,500 bytes, three count-min rows", chipload.Load{Size: 1500, Pause: 4, Sketch: true})
}

// allocations are those of the packets of all loads so far.
func (b *asicBench) allocations() { b.add("allocations, of any load above", b.allocs, "per packet") }

// others are figures that were not measured here; scripts/flymon-simulator.sh measures the last of them.
func (b *asicBench) others() {
	const page = "p4lang/behavioral-model, docs/performance.md: 1047 Mb/s on EC2 c4.2xlarge"
	const issue = "measured when this was asked for, not by this command"
	b.results = append(b.results, []Result{
		{Name: "elsewhere: bmv2 -O3, its authors", Value: 0.080, Unit: "Mpps", Source: page},
		{Name: "elsewhere: bmv2 -O3, a machine", Value: 0.045, Unit: "Mpps", Source: issue},
		{Name: "elsewhere: bmv2 -O3, another", Value: 0.085, Unit: "Mpps", Source: issue},
		{Name: "elsewhere: FlyMon's C++ alone, three count-min rows, a machine", Value: 0.58, Unit: "Mpps", Source: issue},
		{Name: "elsewhere: FlyMon's C++ alone, three count-min rows, another", Value: 1.5, Unit: "Mpps", Source: issue},
	}...)
}

func (b *asicBench) add(name string, value float64, unit string) {
	b.results = append(b.results, Result{Name: name, Value: value, Unit: unit})
}

func (b *asicBench) run(l chipload.Load) asicRun {
	if b.err != nil {
		return asicRun{mpps: 1, byClock: 1}
	}
	r, err := newASICRun(pprof.WithLabels(b.ctx, pprof.Labels("load", b.label)), l, b.d)
	b.err = err
	return r
}

func (b *asicBench) measure(name string, l chipload.Load) { b.aim(name, l, 0) }

// aim measures a load, of which somebody said how fast it is to be.
func (b *asicBench) aim(name string, l chipload.Load, aim float64) {
	b.label = name
	r := b.run(l)
	b.label = ""
	b.results = append(b.results, Result{Name: name, Value: r.mpps, Unit: "Mpps", Aim: aim})
	b.allocs = max(b.allocs, r.allocs)
}

// An asicRun is how fast a chip was: by the processor time that it took, and by the clock, which runs on
// when others have the processor.
type asicRun struct{ mpps, byClock, allocs float64 }

// newASICRun makes a chip and runs packets through it for d: in five parts, of which the fastest
// counts, since other programs can only slow it down.
func newASICRun(ctx context.Context, l chipload.Load, d time.Duration) (run asicRun, err error) {
	t, err := chipload.New(ctx, l)
	if err != nil {
		return run, err
	}
	const batch = 10_000
	if err := t.Send(5 * batch); err != nil { // until nothing grows any more
		return run, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	first := t.Sent()
	pprof.SetGoroutineLabels(ctx) // of what follows, and not of making the chip
	defer pprof.SetGoroutineLabels(context.Background())
	for range 5 {
		start, busy, n := time.Now(), stopwatch(), 0
		for took := time.Duration(0); took < max(1, d/5); took = time.Since(start) {
			if err := errors.Join(ctx.Err(), t.Send(batch)); err != nil {
				return run, err
			}
			n += batch
		}
		run.mpps = max(run.mpps, float64(n)*1e3/float64(max(1, busy())))
		run.byClock = max(run.byClock, float64(n)*1e3/float64(time.Since(start).Nanoseconds()))
	}
	runtime.ReadMemStats(&after)
	// Other goroutines allocate now and then; one for a thousand packets is none.
	run.allocs = float64((after.Mallocs-before.Mallocs)*1000/uint64(t.Sent()-first)) / 1000
	return run, t.Check()
}

// stopwatch returns a function that says how much processor time went by since; where that is not known, by
// the clock.
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
