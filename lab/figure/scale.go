package figure

import (
	"math"
	"slices"
	"strconv"
)

// A scale is an axis whose ends are known.
type scale struct {
	kind       Scale
	least, top float64 // of a logarithmic one, their logarithms
	ticks      []tick
}

// A tick is a place on an axis; base and power are its label: 10 and -3, or a number alone. Without
// them it is a short one.
type tick struct {
	at          float64
	base, power string
}

// scale finds the ends of an axis from all values on it, and its ticks.
func (a Axis) scale(all func(func(float64))) scale {
	s := scale{kind: a.Scale, least: math.Inf(1), top: math.Inf(-1)}
	all(func(v float64) {
		if v = s.of(v); !math.IsInf(v, 0) && !math.IsNaN(v) {
			s.least, s.top = min(s.least, v), max(s.top, v)
		}
	})
	if s.least > s.top {
		s.least, s.top = 0, 1
	}
	if s.kind == Linear && s.least > 0 && s.least < s.top/2 {
		s.least = 0
	}
	if s.least == s.top {
		wide := max(0.1*math.Abs(s.top), 0.5)
		s.least, s.top = s.least-wide, s.top+wide
	}
	room := 0.04 * (s.top - s.least)
	if s.top += room; s.kind != Linear || s.least != 0 {
		s.least -= room
	}
	switch s.kind {
	case Linear:
		s.linearTicks()
	case Log10:
		s.decades()
	case Log2:
		s.doublings()
	}
	return s
}

// of is a value, or its logarithm.
func (s *scale) of(v float64) float64 {
	switch s.kind {
	case Log10:
		return math.Log10(v)
	case Log2:
		return math.Log2(v)
	}
	return v
}

// part is how far along the axis a value is, from 0 to 1.
func (s *scale) part(v float64) float64 { return (s.of(v) - s.least) / (s.top - s.least) }

// linearTicks are 4 to 8 multiples of 1, 2 or 5 times a power of ten.
func (s *scale) linearTicks() {
	rough := (s.top - s.least) / 6
	unit := math.Pow(10, math.Floor(math.Log10(rough)))
	step := unit
	for _, m := range []float64{2, 5, 10} {
		if step < rough {
			step = m * unit
		}
	}
	decimals := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	big, letter := 1.0, ""
	for _, x := range []struct {
		big    float64
		letter string
	}{{1e6, "M"}, {1e3, "k"}} {
		if s.top >= 10*x.big && letter == "" {
			big, letter, decimals = x.big, x.letter, max(0, int(-math.Floor(math.Log10(step/x.big)+1e-9)))
		}
	}
	for i := math.Ceil(s.least/step - 1e-9); i*step <= s.top; i++ {
		v := i * step
		label := strconv.FormatFloat(v/big, 'f', decimals, 64)
		if v == 0 {
			label = "0"
		} else {
			label += letter
		}
		s.ticks = append(s.ticks, tick{at: v, base: label})
	}
}

// decades are the powers of ten, with short ticks between them. Where there are fewer than two, the
// multiples have labels too.
func (s *scale) decades() {
	first, last := math.Floor(s.least), math.Ceil(s.top)
	stride := math.Ceil((last - first) / 8)
	few := math.Floor(s.top)-math.Ceil(s.least) < 1
	for e := first; e <= last; e++ {
		for m := 1.0; m <= 9; m++ {
			v := m * math.Pow(10, e)
			if x := s.of(v); x < s.least || x > s.top {
				continue
			}
			t := tick{at: v}
			switch {
			case few && slices.Contains([]float64{1, 2, 5}, m):
				t.base = strconv.FormatFloat(v, 'g', 3, 64)
			case !few && m == 1 && math.Mod(e, stride) == 0 && e >= 0 && e < 3:
				t.base = strconv.FormatFloat(v, 'f', 0, 64)
			case !few && m == 1 && math.Mod(e, stride) == 0:
				t.base, t.power = "10", strconv.FormatFloat(e, 'f', 0, 64)
			case m > 1 && stride > 1:
				continue
			}
			s.ticks = append(s.ticks, t)
		}
	}
}

// doublings are the powers of two.
func (s *scale) doublings() {
	first, last := math.Ceil(s.least), math.Floor(s.top)
	stride := math.Ceil((last - first + 1) / 10)
	for e := first; e <= last; e++ {
		t := tick{at: math.Pow(2, e)}
		if math.Mod(e, stride) == 0 {
			t.base = strconv.FormatFloat(t.at, 'g', 6, 64)
		}
		s.ticks = append(s.ticks, t)
	}
}
