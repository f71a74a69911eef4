package cmu_test

import (
	"testing"

	"tamtam/saisim/cmu"
)

func BenchmarkRun(b *testing.B) {
	for _, n := range []int{0, 1, 9} {
		b.Run(map[int]string{0: "idle", 1: "1 group", 9: "9 groups"}[n], func(b *testing.B) {
			g, err := cmu.New(geometry())
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				if err := g.Apply(countMin(b, string(rune('a'+i)), i, 0, 65536)); err != nil {
					b.Fatal(err)
				}
			}
			var ps [1024]cmu.Packet
			for i := range ps {
				ps[i] = *packet(i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				g.Run(&ps[i&1023])
			}
		})
	}
}
