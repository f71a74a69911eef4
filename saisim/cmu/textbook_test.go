package cmu_test

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// A textbook is a sketch written from its definition. It uses the layout only to hash keys. It processes packets, and
// returns the expected registers.
type textbook interface {
	insert(p *cmu.Packet)
	registers() [][]uint32
}

// hashed is the common part of all: the chip, the task, and rows of numbers.
type hashed struct {
	geo    *flymon.Geometry
	layout flymon.Layout
	rows   [][]uint32
}

func newHashed(geo *flymon.Geometry, l flymon.Layout) hashed {
	h := hashed{geo: geo, layout: l}
	for i := range l.Units {
		h.rows = append(h.rows, make([]uint32, l.Units[i].Size))
	}
	return h
}

func (h *hashed) registers() [][]uint32 { return h.rows }

// at returns the counter of a packet in a row.
func (h *hashed) at(row int, p *cmu.Packet) *uint32 {
	return &h.rows[row][h.layout.Bucket(h.geo, row, p.Vector)]
}

// A countMinSketch adds the packet to each row's counter of the flow. MRAC is a countMinSketch of one row.
type countMinSketch struct{ hashed }

func (s *countMinSketch) insert(p *cmu.Packet) {
	for row := range s.rows {
		*s.at(row, p)++
	}
}

// A suMaxSum is SuMax(Sum) of LightGuardian: row by row, a counter grows only if it is below the least counter of the
// rows before.
type suMaxSum struct{ hashed }

func (s *suMaxSum) insert(p *cmu.Packet) {
	least := ^uint32(0)
	for row := range s.rows {
		if c := s.at(row, p); *c < least {
			*c++
			least = *c
		}
	}
}

// A suMaxMax is SuMax(Max): each row's counter is the greatest value so far. Here the value is the queue length in
// units of 16 bytes.
type suMaxMax struct{ hashed }

func (s *suMaxMax) insert(p *cmu.Packet) {
	for row := range s.rows {
		c := s.at(row, p)
		*c = max(*c, p.QueueBytes/16)
	}
}

// A tower is a TowerSketch: rows of counters of different width that stop when they are full. They are the highest bits
// of 16-bit buckets.
type tower struct {
	hashed
	width []uint8
}

func (s *tower) insert(p *cmu.Packet) {
	for row, b := range s.width {
		c := s.at(row, p)
		n := *c >> (16 - b)
		n = min(n+1, 1<<b-1)
		*c = n << (16 - b)
	}
}

// A braids is Counter Braids as in the paper's appendix D: a packet that overflows the narrow counter is counted in the
// second layer.
type braids struct {
	hashed
	bits uint8
}

func (s *braids) insert(p *cmu.Packet) {
	low := s.at(0, p)
	if n := *low >> (16 - s.bits); n < 1<<s.bits-1 {
		*low = (n + 1) << (16 - s.bits)
		return
	}
	*s.at(1, p)++
}

// In a hyperLogLog, a register has the greatest rank: the number of leading ones in the string of an element, plus one.
// The chip keeps the greatest string.
type hyperLogLog struct {
	hashed
	ranks []int
}

func (s *hyperLogLog) insert(p *cmu.Packet) {
	i := s.layout.Bucket(s.geo, 0, p.Vector)
	text := uint16(s.layout.Compressed(0, flymon.Ref{Shift: 16}, p.Vector))
	s.ranks[i] = max(s.ranks[i], bits.LeadingZeros16(^text)+1)
}

// A bitmap has bits that elements set. Linear counting has one bitmap, a Bloom filter three.
type bitmap struct{ hashed }

func (s *bitmap) insert(p *cmu.Packet) {
	for row := range s.rows {
		bit := s.layout.Compressed(0, s.layout.Units[row].P1.Key, p.Vector) % 16
		*s.at(row, p) |= 1 << bit
	}
}

// An oddSketch has bits that elements toggle. A Bloom filter in front of it removes elements that occurred before.
type oddSketch struct{ hashed }

func (s *oddSketch) insert(p *cmu.Packet) {
	bit := uint32(1) << (s.layout.Compressed(0, s.layout.Units[0].P1.Key, p.Vector) % 16)
	if *s.at(0, p)&bit == 0 {
		*s.at(0, p) |= bit
		*s.at(1, p) ^= bit
	}
}

// In beauCoup, each flow collects coupons that the hash of the attribute draws: one of 16, each with probability 2^-6.
type beauCoup struct{ hashed }

func (s *beauCoup) insert(p *cmu.Packet) {
	drawn := s.layout.Compressed(0, flymon.Ref{A: 1}, p.Vector) >> 26
	if drawn >= 16 {
		return
	}
	for row := range s.rows {
		*s.at(row, p) |= 1 << drawn
	}
}

// An interArrival computes the greatest inter-arrival time. A Bloom filter holds earlier flows, the next unit the last
// arrival, the third the greatest interval. Without an earlier arrival there is no interval.
type interArrival struct{ hashed }

func (s *interArrival) insert(p *cmu.Packet) {
	at := uint32(p.Vector[5]>>10) & 0xffff
	if at == 0 {
		at = 1
	}
	known, last, most := s.at(0, p), s.at(1, p), s.at(2, p)
	bit := uint32(1) << (s.layout.Compressed(0, s.layout.Units[0].P1.Key, p.Vector) % 16)
	if *known&bit != 0 && *last != 0 {
		*most = max(*most, (at-*last)&0xffff)
	}
	*known, *last = *known|bit, at
}

// rows returns a layout with similar units: in the CMUs of one group, or spread over groups four apart.
func rows(t testing.TB, n, groups int, u flymon.Unit) flymon.Layout {
	l := flymon.Layout{Task: "t", Flow: key(t, "src-ip"), Measures: "frequency"}
	for i := range n {
		u.Group, u.CMU = 4*(i%groups), i/groups
		if groups == 1 {
			u.Key.Shift = uint8(8 * i)
		}
		l.Units = append(l.Units, u)
	}
	for i := range min(n, groups) {
		l.Masks = append(l.Masks, flymon.MaskRule{Group: 4 * i, Key: key(t, "src-ip")},
			flymon.MaskRule{Group: 4 * i, Unit: 1, Key: key(t, "5-tuple")})
	}
	return l
}

func of(from flymon.Source, units ...int) flymon.Param { return flymon.Param{From: from, Of: units} }

// For the same packets and hash functions, each algorithm of the paper has the same registers on CMUs as in its
// textbook form.
func TestTextbook(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 3}, func(t *testing.T, seed uint64) {
		geo := small(16)
		u := flymon.Unit{Base: 256, Size: 128, Op: flymon.CondAdd, P1: constant(1), P2: always()}
		var oneHot, coupons []flymon.MapRule
		for i := range uint32(16) {
			oneHot = append(oneHot, rule(i, 15, 1<<i))
			coupons = append(coupons, rule(i<<26, 63<<26, 1<<i))
		}
		with := func(l flymon.Layout, change func(i int, u *flymon.Unit)) flymon.Layout {
			for i := range l.Units {
				change(i, &l.Units[i])
			}
			return l
		}
		bit := func(i int, u *flymon.Unit) {
			u.Op, u.P2, u.Map = flymon.AndOr, constant(1), oneHot
			u.P1 = flymon.Param{From: flymon.Compressed, Key: flymon.Ref{A: 1, Shift: uint8(8*i + 4)}}
		}
		for _, tt := range []struct {
			name   string
			layout flymon.Layout
			book   func(h hashed) textbook
		}{
			{"count-min", rows(t, 3, 1, u), func(h hashed) textbook { return &countMinSketch{hashed: h} }},
			{"count-min of bytes", with(rows(t, 3, 1, u), func(_ int, u *flymon.Unit) {
				u.P1 = flymon.Param{From: flymon.Size}
			}),
				func(h hashed) textbook { return &bytes16{countMinSketch{hashed: h}} }},
			{"MRAC", rows(t, 1, 1, u), func(h hashed) textbook { return &countMinSketch{hashed: h} }},
			{"SuMax(Sum)", with(rows(t, 3, 3, u), func(i int, u *flymon.Unit) {
				if i > 0 {
					u.P2 = of(flymon.Least, []int{0, 1}[:i]...)
				}
			}), func(h hashed) textbook { return &suMaxSum{h} }},
			{"SuMax(Max)", with(rows(t, 3, 1, u), func(_ int, u *flymon.Unit) {
				u.Op, u.P1 = flymon.Max, flymon.Param{From: flymon.QueueLength, Scale: 4}
			}), func(h hashed) textbook { return &suMaxMax{h} }},
			{"TowerSketch", with(rows(t, 3, 1, u), func(i int, u *flymon.Unit) {
				b := []uint8{4, 8, 16}[i]
				u.P1, u.P2 = constant(1<<(16-b)), constant((1<<b-1)<<(16-b))
			}), func(h hashed) textbook { return &tower{h, []uint8{4, 8, 16}} }},
			{"Counter Braids", with(rows(t, 2, 2, u), func(i int, u *flymon.Unit) {
				if i == 0 {
					u.P1, u.P2 = constant(1<<12), constant(15<<12)
				} else {
					u.P1, u.Map = of(flymon.Result, 0), []flymon.MapRule{rule(0, ^uint32(0), 1)}
				}
			}), func(h hashed) textbook { return &braids{h, 4} }},
			{"HyperLogLog", with(rows(t, 1, 1, u), func(_ int, u *flymon.Unit) {
				u.Op, u.P1 = flymon.Max, flymon.Param{From: flymon.Compressed, Key: flymon.Ref{Shift: 16}, Bits: 16}
			}), func(h hashed) textbook { return &hyperLogLog{h, make([]int, 128)} }},
			{"linear counting", with(rows(t, 1, 1, u), bit), func(h hashed) textbook { return &bitmap{h} }},
			{"Bloom filter", with(rows(t, 3, 1, u), bit), func(h hashed) textbook { return &bitmap{h} }},
			{"Odd Sketch", with(rows(t, 2, 2, u), func(i int, u *flymon.Unit) {
				if i == 0 {
					bit(i, u)
				} else {
					u.Op, u.P1, u.P2 = flymon.XorSwap, of(flymon.Result, 0), constant(0)
				}
			}), func(h hashed) textbook { return &oddSketch{h} }},
			{"BeauCoup", with(rows(t, 3, 1, u), func(_ int, u *flymon.Unit) {
				u.Op, u.P2, u.Map = flymon.AndOr, constant(1), coupons
				u.P1 = flymon.Param{From: flymon.Compressed, Key: flymon.Ref{A: 1}}
			}), func(h hashed) textbook { return &beauCoup{h} }},
			{"greatest inter-arrival time", with(rows(t, 3, 3, u), func(i int, u *flymon.Unit) {
				switch i {
				case 0:
					u.Op, u.P2, u.Map = flymon.AndOr, constant(1), oneHot
					u.P1 = flymon.Param{From: flymon.Compressed, Key: flymon.Ref{Shift: 10}}
				case 1:
					u.Op, u.P1, u.P2 = flymon.XorSwap, flymon.Param{From: flymon.Timestamp, Scale: 10}, constant(1)
				case 2:
					u.Op, u.P1 = flymon.Max, flymon.Param{From: flymon.Since, Scale: 10, Of: []int{1, 0}}
				}
			}), func(h hashed) textbook { return &interArrival{h} }},
		} {
			t.Run(tt.name, func(t *testing.T) {
				b := newBench(t, geo)
				b.apply(tt.layout)
				book := tt.book(newHashed(&geo, tt.layout))
				for _, p := range newTraffic(seed).list(2000) {
					p.Vector[5] &= 1<<62 - 1
					b.send(p)
					book.insert(&p)
				}
				for row, want := range book.registers() {
					got := b.words("t", row, 0)
					if h, ok := book.(*hyperLogLog); ok {
						ranksOf(got)
						want = h.want()
					}
					if slices.Max(want) == 0 || !slices.Equal(got, want) {
						t.Errorf("row %d: %s", row, differ(got, want))
					}
				}
			})
		}
	})
}

// bytes16 holds 16-bit counters of bytes, which wrap around. Only a counter that is exactly full stays full, because
// the CMU adds only to values below its second parameter.
type bytes16 struct{ countMinSketch }

func (s *bytes16) insert(p *cmu.Packet) {
	for row := range s.rows {
		if n := s.at(row, p); *n < 0xffff {
			*n = (*n + p.Size) & 0xffff
		}
	}
}

// ranksOf converts the strings of a chip to ranks. An empty register stays 0.
func ranksOf(words []uint32) {
	for i, w := range words {
		if w != 0 {
			words[i] = uint32(bits.LeadingZeros16(^uint16(w)) + 1)
		}
	}
}

func (s *hyperLogLog) want() []uint32 {
	w := make([]uint32, len(s.ranks))
	for i, r := range s.ranks {
		w[i] = uint32(r)
	}
	return w
}

func differ(got, want []uint32) string {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Sprintf("bucket %d is %#x, want %#x", i, got[i], want[i])
		}
	}
	return "nothing was counted"
}
