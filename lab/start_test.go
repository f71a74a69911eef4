package lab

import (
	"runtime"
	"testing"
)

// BenchmarkStart measures the start and the end of the 20 switches of a fat-tree. It reports processor time, allocated
// memory and allocations for each switch.
func BenchmarkStart(b *testing.B) {
	top, err := Parse("x.yaml", []byte("experiment: x\nfabric: {kind: fat-tree, arity: 4}"), nil)
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used, started := processor(b), 0
	for b.Loop() {
		l, err := New(b.Context(), top, Options{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		started += len(l.nodes)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	used = processor(b) - used
	runtime.ReadMemStats(&after)
	n := float64(started)
	b.ReportMetric(used.Seconds()*1e3/n, "ms/switch")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1e6/n, "MB/switch")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/switch")
}
