package lab

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
)

// processor returns the processor time that this process has used on all cores.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident returns a line of /proc/self/status about this process' memory, in bytes.
func resident(b *testing.B, line string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(status), line+":")
	var kB float64
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		b.Fatalf("/proc/self/status: %s: %v", line, err)
	}
	return kB * 1024
}

// BenchmarkFabric measures the cost of a fat-tree, by size and number of workers. It reports processor time and memory
// to start a switch, and processor time for a frame to pass one. All ports to other switches are in use. Each edge
// switch has a host, which sends one or ten frames per microsecond, evenly spaced.
func BenchmarkFabric(b *testing.B) {
	for _, x := range []struct{ arity, workers, perMicrosecond int }{
		{4, 1, 1}, {4, 2, 1}, {4, 1, 10}, {8, 1, 1}, {8, 2, 1}, {8, 1, 10}, {16, 1, 1}, {16, 2, 1}, {16, 1, 10},
	} {
		if testing.Short() && x.arity > 4 {
			continue
		}
		b.Run(fmt.Sprintf("%d switches, %d workers, %d frames", x.arity*x.arity*5/4, x.workers, x.perMicrosecond),
			func(b *testing.B) { scale(b, x.arity, x.workers, x.perMicrosecond) })
	}
}

// BenchmarkThousand does the same as BenchmarkFabric with nearly a thousand switches. It needs minutes, and three
// gigabytes or more.
func BenchmarkThousand(b *testing.B) {
	if testing.Short() {
		b.Skip("takes minutes")
	}
	scale(b, 28, 2, 1)
}

func scale(b *testing.B, arity, workers, perMicrosecond int) {
	top, err := Parse("x.yaml", fmt.Appendf(nil, "experiment: x\nfabric: {kind: fat-tree, arity: %d, traffic: "+
		"{pps: %d, flows: {count: 16}}}", arity, 1_000_000*perMicrosecond), nil)
	if err != nil {
		b.Fatal(err)
	}
	debug.FreeOSMemory()
	free := resident(b, "VmRSS")
	// this resets the peak to the current size
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Skip(err)
	}
	used, begun := processor(b), time.Now()
	l, err := New(b.Context(), top, Options{Workers: workers})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	n := float64(len(l.nodes))
	start, wall := processor(b)-used, time.Since(begun)
	peak := resident(b, "VmHWM") - free
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	stays := resident(b, "VmRSS") - free
	d := 100 * Microsecond / Time(perMicrosecond)
	pass := func() {
		if err := l.pass(b.Context(), d); err != nil {
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
	b.ReportMetric(peak/1e6/n, "peak-MB")
	b.ReportMetric(stays/1e6/n, "resident-MB")
}
