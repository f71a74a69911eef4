package lab

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// processor is the time that this process has had of all cores.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// What a fat-tree costs, by size and number of workers: processor time and memory to start a switch, whose
// ports are all in use, and processor time for a frame to pass one. Each host sends a frame each microsecond.
func BenchmarkFabric(b *testing.B) {
	arities := []int{4, 8, 16}
	if testing.Short() {
		arities = arities[:1]
	}
	for _, arity := range arities {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d switches, %d workers", arity*arity*5/4, workers), func(b *testing.B) {
				scale(b, arity, workers)
			})
		}
	}
}

func scale(b *testing.B, arity, workers int) {
	top, err := Parse("x.yaml", fmt.Appendf(nil,
		"experiment: x\nfabric: {kind: fat-tree, arity: %d, traffic: {pps: 1000000, flows: {count: 16}}}", arity), nil)
	if err != nil {
		b.Fatal(err)
	}
	used, begun := processor(b), time.Now()
	l, err := New(b.Context(), top, Options{Workers: workers})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	n := float64(len(l.nodes))
	start, wall := processor(b)-used, time.Since(begun)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	pass := func() {
		if err := l.pass(b.Context(), 100*Microsecond); err != nil {
			b.Fatal(err)
		}
	}
	pass()
	before, used := l.moved(), processor(b)
	for b.Loop() {
		pass()
	}
	hops := float64(l.moved() - before)
	b.ReportMetric((processor(b)-used).Seconds()*1e6/hops, "us/hop")
	b.ReportMetric(hops/b.Elapsed().Seconds()/1e6, "Mhops/s")
	b.ReportMetric(start.Seconds()*1e3/n, "start-ms")
	b.ReportMetric(wall.Seconds(), "start-s")
	b.ReportMetric(float64(m.HeapAlloc+m.StackInuse)/1e6/n, "MB")
}
