package cmu_test

import (
	"net/netip"
	"testing"

	"tamtam/flymon"
	"tamtam/saisim/cmu"
)

func geometry() flymon.Geometry {
	return flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: 32, Depth: 65536, Partitions: 32, MapEntries: 256, Digests: 16}
}

func key(t testing.TB, s string) flymon.Key {
	t.Helper()
	k, err := flymon.ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// countMin is a task of three rows in one group.
func countMin(t testing.TB, name string, group int, base, size uint32) flymon.Layout {
	l := flymon.Layout{
		Task: name, Flow: key(t, "5-tuple"), Measures: "frequency", Masks: []flymon.MaskRule{{Group: group, Key: key(t, "5-tuple")}},
	}
	for row := range 3 {
		l.Units = append(l.Units, flymon.Unit{
			Group: group, CMU: row, Key: flymon.Ref{Shift: uint8(8 * row)}, Base: base, Size: size, Op: flymon.CondAdd,
			P1: flymon.Param{From: flymon.Const, Value: 1}, P2: flymon.Param{From: flymon.Const, Value: ^uint32(0)},
		})
	}
	return l
}

func packet(i int) *cmu.Packet {
	src := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
	return &cmu.Packet{Vector: flymon.Make(src, netip.AddrFrom4([4]byte{10, 1, 0, 1}), uint16(i), 443, 6, uint64(i)), Ports: true, Size: 64, Number: uint64(i + 1)}
}

func TestCountMin(t *testing.T) {
	geo := geometry()
	g, err := cmu.New(geo)
	if err != nil {
		t.Fatal(err)
	}
	l := countMin(t, "t", 0, 2048, 2048)
	if err := g.Apply(l); err != nil {
		t.Fatal(err)
	}
	want := [3][2048]uint32{}
	for i := range 5000 {
		p := packet(i % 900)
		g.Run(p)
		for row := range want {
			want[row][l.Bucket(&geo, row, p.Vector)]++
		}
	}
	for row := range want {
		got, err := g.Read("t", row, 0, 0, 2048)
		if err != nil || [2048]uint32(got) != want[row] {
			t.Errorf("row %d: %v", row, err)
		}
	}
	s, _ := g.Status("t")
	if b := s.Banks[0]; b.Packets != 5000 || b.Bytes != 5000*64 || b.Dirty {
		t.Errorf("%+v", b)
	}
}

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
