package saisim_test

import (
	"testing"

	"tamtam/saisim"
)

// BenchmarkPacketTrace measures a trace, and how long the chip is locked for it, by the contents of the chip's tables.
func BenchmarkPacketTrace(b *testing.B) {
	for name, load := range map[string]func(testing.TB) *load{
		"bridge":            func(t testing.TB) *load { return newLoad(t, 0, false) },
		"route+100k routes": func(t testing.TB) *load { return newRoutedLoad(t, 100_000, false) },
		"10k ACL entries":   func(t testing.TB) *load { return newLoad(t, 10_000, true) },
	} {
		b.Run(name, func(b *testing.B) {
			l := load(b)
			l.step(1000)
			for b.Loop() {
				if _, err := l.TracePacket(l.Ports()[0], l.Now(), saisim.Frame{Data: l.frames[0]}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
