package plan_test

import (
	"fmt"
	"testing"

	"tamtam/flymonorch/plan"
	"tamtam/tam/flymon"
)

// The benchmark measures the time to place a task beside n others.
func BenchmarkTry(b *testing.B) {
	for _, n := range []int{0, 96, 864} {
		p := plan.New(geometry())
		for i := range n {
			x := task(b, fmt.Sprintf("dst-port=%d", i), "src-ip", "frequency", flymon.MRAC, 2048, 0)
			if _, err := p.Add(fmt.Sprint(i), x); err != nil {
				b.Fatal(err)
			}
		}
		x := task(b, "dst-port=1000", "src-ip", "frequency", flymon.MRAC, 2048, 0)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Try("t", x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
