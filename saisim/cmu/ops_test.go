package cmu_test

import (
	"fmt"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// The operations follow Appendix A, line by line, with one more operation in the fourth slot. A second unit, four
// groups later, exchanges its word for the result, and so stores it. The initial word also comes from a packet: each
// operation can change 0 to any word.
func TestOperations(t *testing.T) {
	const top = 0xffff // maximum of a 16-bit bucket
	for _, tt := range []struct {
		op                           flymon.Op
		before, p1, p2, want, result uint32
	}{
		// Cond-ADD: if register < p2, add p1 and return the register; else return 0.
		{flymon.CondAdd, 5, 3, 6, 8, 8},
		{flymon.CondAdd, 5, 3, 5, 5, 0},
		{flymon.CondAdd, 5, 3, 4, 5, 0},
		{flymon.CondAdd, 0, 3, 0, 0, 0},
		{flymon.CondAdd, 5, 0, 6, 5, 5},
		{flymon.CondAdd, top - 1, 3, top, 1, 1}, // limited to the bucket's width
		{flymon.CondAdd, top, 3, top, top, 0},
		// MAX: if register < p1, store p1 and return it; else return 0.
		{flymon.Max, 5, 6, 0, 6, 6},
		{flymon.Max, 5, 5, 0, 5, 0},
		{flymon.Max, 5, 4, 0, 5, 0},
		{flymon.Max, 0, 0, 0, 0, 0},
		{flymon.Max, 0, top, top, top, top},
		// AND-OR: if p2 is 0, AND and return the register; else OR and return the new bits.
		{flymon.AndOr, 0b1100, 0b1010, 0, 0b1000, 0b1000},
		{flymon.AndOr, 0b1100, 0b1010, 1, 0b1110, 0b0010},
		{flymon.AndOr, 0b1100, 0b1010, top, 0b1110, 0b0010},
		{flymon.AndOr, 0b1100, 0b1000, 1, 0b1100, 0},
		{flymon.AndOr, top, 0, 0, 0, 0},
		{flymon.AndOr, 0, 0, 1, 0, 0},
		// XOR, or exchange; return the previous word in both cases.
		{flymon.XorSwap, 0b1100, 0b1010, 0, 0b0110, 0b1100},
		{flymon.XorSwap, 0b1100, 0b1010, 1, 0b1010, 0b1100},
		{flymon.XorSwap, 7, 7, 0, 0, 7},
		{flymon.XorSwap, 0, 7, 7, 7, 0},
	} {
		t.Run(fmt.Sprintf("%s/%d,%d,%d", tt.op, tt.before, tt.p1, tt.p2), func(t *testing.T) {
			b := newBench(t, small(16))
			l := one(t, "t", 0, 32)
			l.Masks = append(l.Masks, flymon.MaskRule{Group: 4, Key: l.Masks[0].Key})
			u := &l.Units[0]
			u.Op, u.P1, u.P2 = tt.op, flymon.Param{From: flymon.QueueLength}, flymon.Param{From: flymon.QueueDelay}
			keep := *u
			keep.Group, keep.Op, keep.P1, keep.P2 = 4, flymon.XorSwap, flymon.Param{From: flymon.Result, Of: []int{0}},
				constant(1)
			l.Units = append(l.Units, keep)
			b.apply(l)
			send := func(p1, p2 uint32) (word, result uint32) {
				p := *packet(1)
				p.QueueBytes, p.QueueNS = p1, uint64(p2)
				b.send(p)
				return b.words("t", 0, 0)[l.Bucket(&b.geo, 0, p.Vector)], b.words("t", 1, 0)[l.Bucket(&b.geo, 1, p.Vector)]
			}
			if w, _ := send(tt.before, top); w != tt.before { // changes the word from 0 to tt.before
				t.Fatalf("%d to begin with, want %d", w, tt.before)
			}
			if w, result := send(tt.p1, tt.p2); w != tt.want || result != tt.result {
				t.Errorf("word %d, result %d, want %d and %d", w, result, tt.want, tt.result)
			}
		})
	}
}

// These are the sources of parameters, and how they are truncated.
func TestParameters(t *testing.T) {
	p := *packet(3)
	p.Vector[5], p.Size, p.QueueBytes, p.QueueNS = 0x123456789abc, 1518, 70_000, 0x5_0000_1234
	fiveTuple := key(t, "5-tuple")
	c := flymon.Compress(flymon.Poly(0, 1), p.Vector.And(fiveTuple))
	for _, tt := range []struct {
		name  string
		width int
		param flymon.Param
		want  uint32
	}{
		{"const", 16, constant(0x12345), 0x2345},
		{"size", 16, flymon.Param{From: flymon.Size}, 1518},
		{"size of a jumbo frame in a narrow bucket", 8, flymon.Param{From: flymon.Size}, 255},
		{"timestamp", 32, flymon.Param{From: flymon.Timestamp}, 0x56789abc},
		{"timestamp that would be 0", 32, flymon.Param{From: flymon.Timestamp, Scale: 50}, 1},
		{"timestamp in us", 16, flymon.Param{From: flymon.Timestamp, Scale: 10}, 0x123456789abc >> 10 & 0xffff},
		{"queue length", 32, flymon.Param{From: flymon.QueueLength}, 70_000},
		{"queue length in a narrow bucket", 16, flymon.Param{From: flymon.QueueLength}, 65535},
		{"queue length in 256 bytes", 16, flymon.Param{From: flymon.QueueLength, Scale: 8}, 70_000 >> 8},
		{"queue delay", 32, flymon.Param{From: flymon.QueueDelay}, ^uint32(0)},
		{"queue delay in 4 ns", 32, flymon.Param{From: flymon.QueueDelay, Scale: 4}, 0x5000_0123},
		{"key", 32, flymon.Param{From: flymon.Compressed, Key: flymon.Ref{A: 1}}, c},
		{"bits of a key", 32, flymon.Param{From: flymon.Compressed, Key: flymon.Ref{A: 1, Shift: 12}, Bits: 5}, c >> 12 & 31},
		{"key around the corner", 32, flymon.Param{From: flymon.Compressed, Key: flymon.Ref{A: 1, Shift: 28}, Bits: 8},
			(c>>28 | c<<4) & 255},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, small(tt.width))
			l := one(t, "t", 0, 32)
			l.Masks = append(l.Masks, flymon.MaskRule{Unit: 1, Key: fiveTuple})
			l.Units[0].Op, l.Units[0].P1, l.Units[0].P2 = flymon.XorSwap, tt.param, constant(1)
			b.apply(l)
			b.send(p)
			if got := b.words("t", 0, 0)[l.Bucket(&b.geo, 0, p.Vector)]; got != tt.want {
				t.Errorf("p1 is %#x, want %#x", got, tt.want)
			}
			l.Units[0].Op, l.Units[0].P1, l.Units[0].P2 = flymon.CondAdd, constant(1), tt.param
			b.apply(l)
			b.send(p)
			if got := b.words("t", 0, 0)[l.Bucket(&b.geo, 0, p.Vector)]; (got == 1) != (tt.want > 0) {
				t.Errorf("p2 %d lets %d in", tt.want, got)
			}
		})
	}
}

// A parameter may be the result of units in earlier groups: of a single unit, the least non-zero result, or the time
// since a result. The time is truncated to a bucket's width before it is mapped.
func TestResults(t *testing.T) {
	for _, tt := range []struct {
		name          string
		first, second uint32 // results of units 0 and 1
		param         flymon.Param
		want          uint32
	}{
		{"result", 7, 9, of(flymon.Result, 1), 9},
		{"least", 7, 9, of(flymon.Least, 0, 1), 7},
		{"least that is not 0", 0, 9, of(flymon.Least, 0, 1), 9},
		{"least of nothing", 0, 0, of(flymon.Least, 0, 1), 255},
		{"least, and not more than that", 0, 9, flymon.Param{From: flymon.Least, Value: 5, Of: []int{0, 1}}, 5},
		{"least below the most", 0, 9, flymon.Param{From: flymon.Least, Value: 11, Of: []int{0, 1}}, 9},
		{"the most, for there is none", 0, 0, flymon.Param{From: flymon.Least, Value: 11, Of: []int{0, 1}}, 11},
		{"since", 250, 0, of(flymon.Since, 0, 1), 0x134 - 250},
		{"since, around the corner", 0x35, 0, of(flymon.Since, 0, 1), 255},
		{"since 0, which is no time", 0, 0, of(flymon.Since, 0, 1), 0},
		{"since nothing", 250, 1, of(flymon.Since, 0, 1), 0},
		{"since, in 4 ns", 2, 0, flymon.Param{From: flymon.Since, Scale: 2, Of: []int{0, 1}}, 0x134>>2 - 2},
	} {
		for _, mapped := range []bool{false, true} {
			b := newBench(t, small(8))
			l := rows(t, 3, 3, flymon.Unit{Size: 32, Op: flymon.CondAdd, P2: always()})
			l.Units[0].P1, l.Units[1].P1 = constant(tt.first), constant(tt.second)
			u := &l.Units[2]
			u.Op, u.P1, u.P2 = flymon.XorSwap, tt.param, constant(1)
			want := tt.want
			if mapped && tt.param.From == flymon.Since { // bits above the bucket's width are cut off before
				u.Map, want = []flymon.MapRule{rule(tt.want, ^uint32(0), 77)}, 77
			}
			b.apply(l)
			p := at(0x134)
			b.send(p)
			if got := b.words("t", 2, 0)[l.Bucket(&b.geo, 2, p.Vector)]; got != want {
				t.Errorf("%s, mapped %v: %#x, want %#x", tt.name, mapped, got, want)
			}
		}
	}
}

func rule(value, mask, out uint32) flymon.MapRule {
	return flymon.MapRule{Value: value, Mask: mask, Out: out}
}

// The first matching rule of a map gives the parameter, or 0 if no rule matches.
func TestMaps(t *testing.T) {
	var oneHot, coupons []flymon.MapRule
	for i := range uint32(32) {
		oneHot = append(oneHot, flymon.MapRule{Value: i << 3, Mask: 31 << 3, Out: 1 << i})
		coupons = append(coupons, flymon.MapRule{Value: i << 15, Mask: 0xffff8000, Out: 1 << i})
	}
	for _, tt := range []struct {
		name  string
		rules []flymon.MapRule
		in    map[uint32]uint32
	}{
		{"none", nil, map[uint32]uint32{0: 0, 77: 77, ^uint32(0): ^uint32(0)}},
		{"one-hot", oneHot, map[uint32]uint32{0: 1, 0xff: 1 << 31, 0xffffff0f: 1 << 1}},
		{"coupons", coupons, map[uint32]uint32{0: 1, 0x7fff: 1, 0x8000: 2, 31<<15 | 5: 1 << 31, 32 << 15: 0, ^uint32(0): 0}},
		{"first of two", []flymon.MapRule{rule(1, 1, 10), rule(3, 3, 20)}, map[uint32]uint32{1: 10, 3: 10, 2: 0}},
		{"first of two that are far apart", []flymon.MapRule{rule(3, 3, 20), rule(1, 0x80000001, 10)},
			map[uint32]uint32{3: 20, 1: 10, 0x80000001: 0}},
		{"same value twice", []flymon.MapRule{rule(1<<20, ^uint32(0), 1), rule(1<<20, ^uint32(0), 2)},
			map[uint32]uint32{1 << 20: 1, 0: 0}},
		{"value beyond its mask", []flymon.MapRule{rule(0xf1, 0x0f, 9)}, map[uint32]uint32{1: 9, 0x31: 9, 2: 0}},
		{"whatever comes", []flymon.MapRule{rule(0, 0, 5)}, map[uint32]uint32{0: 5, 99: 5}},
		{"of the rest", []flymon.MapRule{rule(0, ^uint32(0), 1), rule(0, 0, 0)}, map[uint32]uint32{0: 1, 99: 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for in, want := range tt.in {
				for name, param := range map[string]flymon.Param{"constant": constant(in), "delay": {From: flymon.QueueDelay}} {
					b := newBench(t, small(32))
					l := one(t, "t", 0, 32)
					l.Units[0].Op, l.Units[0].P1, l.Units[0].P2, l.Units[0].Map = flymon.XorSwap, param, constant(1), tt.rules
					b.apply(l)
					p := *packet(3)
					p.QueueNS = uint64(in)
					b.send(p)
					if got := b.words("t", 0, 0)[l.Bucket(&b.geo, 0, p.Vector)]; got != want {
						t.Errorf("%s %#x becomes %#x, want %#x", name, in, got, want)
					}
				}
			}
		})
	}
}

// An address is a compressed key, rotated. The key comes from one hash unit, or is the XOR of two. The address is
// translated by the low or by the high bits of the index.
func TestAddresses(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1}, func(t *testing.T, seed uint64) {
		for _, shifted := range []bool{false, true} {
			for _, ref := range []flymon.Ref{{}, {Shift: 8}, {A: 1, Shift: 31}, {A: 0, B: 2}, {A: 2, B: 2, Shift: 16}} {
				t.Run(fmt.Sprintf("%+v/shifted=%v", ref, shifted), func(t *testing.T) {
					b := newBench(t, small(32))
					l := one(t, "t", 256, 128)
					l.Masks = []flymon.MaskRule{{Key: key(t, "src-ip")}, {Unit: 1, Key: key(t, "dst-ip")},
						{Unit: 2, Key: key(t, "src-port")}}
					l.Units[0].Key, l.Units[0].Shifted = ref, shifted
					b.apply(l)
					want := make([]uint32, 128)
					for _, p := range newTraffic(seed).list(500) {
						b.send(p)
						c := flymon.Compress(flymon.Poly(0, ref.A), p.Vector.And(l.Masks[ref.A].Key))
						if ref.B > 0 {
							c ^= flymon.Compress(flymon.Poly(0, ref.B-1), p.Vector.And(l.Masks[ref.B-1].Key))
						}
						raw := (c>>ref.Shift | c<<(32-ref.Shift)) % 1024
						if shifted {
							raw >>= 3
						}
						want[raw%128]++
					}
					if got := b.words("t", 0, 0); !slices.Equal(got, want) {
						t.Errorf("%v, want %v", got, want)
					}
				})
			}
		}
	})
}

// Every packet has one coin, and all 256 coins are equally frequent.
func TestCoins(t *testing.T) {
	var seen [256]int
	for n := range uint64(256 * 400) {
		seen[cmu.Coin(n+1)]++
	}
	var chi float64
	for _, n := range seen {
		chi += float64((n-400)*(n-400)) / 400
	}
	if chi < 170 || chi > 360 { // mean 255, standard deviation 22.6
		t.Errorf("chi-square is %.0f of 255 degrees of freedom", chi)
	}
	b := newBench(t, small(32))
	for i, from := range []uint16{0, 64, 192} {
		l := one(t, string(rune('a'+i)), uint32(i)*32, 32)
		l.Units[0].From, l.Units[0].To = from, []uint16{64, 192, 256}[i]
		b.apply(l)
	}
	want := map[string]uint64{}
	for range 2000 {
		b.send(*packet(1))
		switch c := cmu.Coin(b.number); {
		case c < 64:
			want["a"]++
		case c < 192:
			want["b"]++
		default:
			want["c"]++
		}
	}
	for name, n := range want {
		sum := uint64(0)
		for _, w := range b.words(name, 0, 0) {
			sum += uint64(w)
		}
		if s := b.status(name).Banks[0]; sum != n || s.Packets != n {
			t.Errorf("%s counted %d, of %d packets, want %d", name, sum, s.Packets, n)
		}
	}
}
