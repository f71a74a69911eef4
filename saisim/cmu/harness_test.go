package cmu_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// geometry returns the geometry of the chip in the paper.
func geometry() flymon.Geometry {
	return flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: 32, Depth: 65536, Partitions: 32,
		MapEntries: 256, Digests: 16}
}

// small returns a geometry that tests can check word by word.
func small(width int) flymon.Geometry {
	g := geometry()
	g.Width, g.Depth, g.Partitions, g.MapEntries, g.Digests = width, 1024, 32, 64, 8
	return g
}

// A bench is a Groups under test.
type bench struct {
	testing.TB
	*cmu.Groups
	geo    flymon.Geometry
	number uint64
}

func newBench(t testing.TB, geo flymon.Geometry) *bench {
	t.Helper()
	g, err := cmu.New(geo)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{TB: t, Groups: g, geo: geo}
}

func (b *bench) apply(layouts ...flymon.Layout) {
	b.Helper()
	for _, l := range layouts {
		if err := b.Apply(l); err != nil {
			b.Fatal(err)
		}
	}
}

// words returns a bank of a unit.
func (b *bench) words(task string, unit, bank int) []uint32 {
	b.Helper()
	l, ok := b.Layout(task)
	if !ok {
		b.Fatalf("no task %q", task)
	}
	w, err := b.Read(task, unit, bank, 0, slices.Concat(l.Units, l.Frozen)[unit].Size)
	if err != nil {
		b.Fatal(err)
	}
	return w
}

func (b *bench) status(task string) flymon.ChipStatus {
	b.Helper()
	s, ok := b.Status(task)
	if !ok {
		b.Fatalf("no task %q", task)
	}
	return s
}

func (b *bench) digests(task string, bank int) []flymon.Vector {
	b.Helper()
	d, err := b.Digests(task, bank, 0, 1<<20)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// send runs packets with increasing numbers, and the second pass of those that need one.
func (b *bench) send(packets ...cmu.Packet) {
	for i := range packets {
		p := packets[i]
		b.number++
		p.Number = b.number
		if b.Run(&p) {
			b.RunAgain(&p)
		}
	}
}

func key(t testing.TB, s string) flymon.Key {
	t.Helper()
	k, err := flymon.ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func filter(t testing.TB, s string) flymon.Filter {
	t.Helper()
	f, err := flymon.ParseFilter(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func constant(v uint32) flymon.Param { return flymon.Param{From: flymon.Const, Value: v} }

// always returns a parameter with which cond-add always adds.
func always() flymon.Param { return constant(^uint32(0)) }

// countMin returns a task of three rows in one group.
func countMin(t testing.TB, name string, group int, base, size uint32) flymon.Layout {
	l := flymon.Layout{
		Task: name, Flow: key(t, "5-tuple"), Measures: "frequency",
		Masks: []flymon.MaskRule{{Group: group, Key: key(t, "5-tuple")}},
	}
	for row := range 3 {
		l.Units = append(l.Units, flymon.Unit{
			Group: group, CMU: row, Key: flymon.Ref{Shift: uint8(8 * row)}, Base: base, Size: size, Op: flymon.CondAdd,
			P1: constant(1), P2: always(),
		})
	}
	return l
}

// one returns a task of one unit, in group 0, CMU 0, that counts packets by source.
func one(t testing.TB, name string, base, size uint32) flymon.Layout {
	l := countMin(t, name, 0, base, size)
	l.Units = l.Units[:1]
	l.Masks[0].Key, l.Flow = key(t, "src-ip"), key(t, "src-ip")
	return l
}

func ip4(a, b, c, d byte) netip.Addr { return netip.AddrFrom4([4]byte{a, b, c, d}) }

// packet returns a packet of flow i, at i ns of the day.
func packet(i int) *cmu.Packet {
	return &cmu.Packet{Vector: flymon.Make(ip4(10, 0, byte(i>>8), byte(i)), ip4(10, 1, 0, 1), uint16(i), 443, 6,
		uint64(i)), Ports: true, Size: 64, Number: uint64(i + 1)}
}

// traffic makes packets of a small set of flows of all kinds. They are some nanoseconds to microseconds apart,
// sometimes with a clock that was set.
type traffic struct {
	r  *rand.Rand
	at uint64
}

func (f *traffic) next() cmu.Packet {
	r := f.r
	f.at += r.Uint64N(20_000)
	if r.IntN(500) == 0 {
		f.at += r.Uint64N(10_000_000) - 5_000_000
	}
	p := cmu.Packet{Size: 64 + r.Uint32N(9000), QueueBytes: r.Uint32N(100_000), QueueNS: r.Uint64N(1 << r.IntN(40))}
	if r.IntN(4) == 0 {
		p.QueueBytes, p.QueueNS = 0, 0
	}
	var src, dst netip.Addr
	proto := uint8([]int{6, 17, 1, 0}[r.IntN(4)])
	switch r.IntN(8) {
	case 0:
		p.Vector[5] = f.at
		return p
	case 1, 2:
		a := [16]byte{0x20, 1, 0xd, 0xb8, 15: byte(r.IntN(32))}
		src = netip.AddrFrom16(a)
		a[14] = 1
		dst = netip.AddrFrom16(a)
	default:
		src, dst = ip4(10, byte(r.IntN(4)), 0, byte(r.IntN(32))), ip4(192, 168, byte(r.IntN(2)), byte(r.IntN(8)))
	}
	var sport, dport uint16
	if proto == 6 || proto == 17 {
		p.Ports = true
		sport, dport = uint16(1000+r.IntN(8)), uint16([]int{53, 80, 443, 8080}[r.IntN(4)])
	}
	p.Vector = flymon.Make(src, dst, sport, dport, proto, f.at)
	return p
}

func (f *traffic) list(n int) []cmu.Packet {
	all := make([]cmu.Packet, n)
	for i := range all {
		all[i] = f.next()
	}
	return all
}

func newTraffic(seed uint64) *traffic {
	return &traffic{r: rand.New(rand.NewPCG(seed, 1)), at: 1_790_000_000_000_000_000}
}
