package answer

import (
	"fmt"

	"tamtam/tam/flymon"
	"tamtam/tam/sketch"
)

// check returns an error if a dump is impossible.
func (d *Dump) check() error {
	if err := d.Layout.Check(&d.Geometry); err != nil {
		return err
	}
	if d.Task.Share > flymon.MaxShare {
		return fmt.Errorf("share is 1/2^%d, want at least 1/2^%d", d.Task.Share, flymon.MaxShare)
	}
	if len(d.Registers) != len(d.Layout.Units) {
		return fmt.Errorf("registers of %d units, want %d", len(d.Registers), len(d.Layout.Units))
	}
	for i, words := range d.Registers {
		if len(words) != int(d.Layout.Units[i].Size) {
			return fmt.Errorf("unit %d has %d buckets, want %d", i, len(words), d.Layout.Units[i].Size)
		}
		for at, w := range words {
			if w > d.Geometry.Mask() {
				return fmt.Errorf("unit %d has %d in bucket %d, want at most %d", i, w, at, d.Geometry.Mask())
			}
		}
	}
	if err := d.checkRows(); err != nil {
		return err
	}
	return d.checkSketch()
}

// checkRows checks that rows have the units that the algorithm needs.
func (d *Dump) checkRows() error {
	s := &d.Sketch
	units, widths := shape(s)
	if units == 0 {
		return fmt.Errorf("algorithm %q, want one that is known, not auto", s.Algorithm)
	}
	if len(s.Rows) == 0 || len(s.Bits) != widths {
		return fmt.Errorf("a sketch %s of %d rows and counters of %v bits, want at least one row and %d widths",
			s.Algorithm, len(s.Rows), s.Bits, widths)
	}
	for i, row := range s.Rows {
		if err := d.checkRow(i, row, units); err != nil {
			return err
		}
	}
	for _, b := range s.Bits {
		if b == 0 || int(b) > d.Geometry.Width {
			return fmt.Errorf("counters of %d bits, want 1 to %d", b, d.Geometry.Width)
		}
	}
	return nil
}

// shape returns the number of units per row of a sketch, or 0 if its algorithm is unknown, and the number of its
// counter widths.
func shape(s *flymon.Sketch) (units, widths int) {
	switch s.Algorithm {
	case flymon.CMS, flymon.SuMaxSum, flymon.SuMaxMax, flymon.Bloom, flymon.BeauCoup,
		flymon.MRAC, flymon.HyperLogLog, flymon.LinearCounting:
		return 1, 0
	case flymon.OddSketch:
		return 2, 0
	case flymon.Tower:
		return 1, len(s.Rows)
	case flymon.CounterBraids:
		return 2, 2
	case flymon.MaxInterArr:
		return 3, 0
	}
	return 0, 0
}

func (d *Dump) checkRow(i int, row []int, units int) error {
	if len(row) != units {
		return fmt.Errorf("row %d has %d units, want %d", i, len(row), units)
	}
	for _, unit := range row {
		if unit < 0 || unit >= len(d.Registers) {
			return fmt.Errorf("row %d has unit %d, want 0 to %d", i, unit, len(d.Registers)-1)
		}
	}
	if d.Sketch.Algorithm == flymon.CounterBraids && !d.braided(row[0], row[1]) {
		return fmt.Errorf("row %d: the bucket of the second layer is not that of the first modulo its size", i)
	}
	return nil
}

// braided reports whether a packet's bucket in the second unit follows from its bucket in the first.
func (d *Dump) braided(first, second int) bool {
	a, b := &d.Layout.Units[first], &d.Layout.Units[second]
	return !a.Shifted && !b.Shifted && b.Size <= a.Size && d.source(a.Group, a.Key) == d.source(b.Group, b.Key)
}

// A source holds everything on which a compressed key depends.
type source struct {
	poly  [2]uint32
	mask  [2]flymon.Key
	shift uint8
}

func (d *Dump) source(group int, ref flymon.Ref) source {
	s := source{shift: ref.Shift}
	for _, m := range d.Layout.Masks {
		if m.Group == group && m.Unit == ref.A {
			s.poly[0], s.mask[0] = flymon.Poly(group, m.Unit), m.Key
		}
		if m.Group == group && m.Unit == ref.B-1 {
			s.poly[1], s.mask[1] = flymon.Poly(group, m.Unit), m.Key
		}
	}
	return s
}

// checkSketch checks the parameters of a sketch's algorithm: scale, coupons, and length of strings.
func (d *Dump) checkSketch() error {
	s := &d.Sketch
	switch most := min(d.Geometry.Width, sketch.MaxCoupons); {
	case s.Scale > 40:
		return fmt.Errorf("scale is 2^%d, want at most 2^40", s.Scale)
	case s.Algorithm == flymon.BeauCoup && (s.Coupons < 1 || int(s.Coupons) > most ||
		s.CouponShift > flymon.MaxCouponShift || uint64(s.Coupons) > 1<<s.CouponShift):
		return fmt.Errorf("%d coupons of a chance of 2^-%d, want 1 to %d, together at most 1", s.Coupons, s.CouponShift, most)
	case s.Algorithm == flymon.HyperLogLog && (s.Element.Bits > 32 || int(s.Element.Bits) > d.Geometry.Width ||
		s.Element.Bits == 0 && d.Geometry.Width < 32):
		return fmt.Errorf("strings of %d bits, want 1 to %d", s.Element.Bits, d.Geometry.Width)
	}
	return nil
}
