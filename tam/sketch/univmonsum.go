package sketch

import (
	"cmp"
	"math"
	"slices"

	"tamtam/tam/flymon"
	"tamtam/tam/libm"
)

// A Bounded is an estimate with an error bound.
type Bounded struct {
	Value float64
	// Off bounds the error: at most one sketch in 100 exceeds it. The sketch estimates it from flows that no level kept
	// and from the residual of its counters. If Off is infinite, there is no bound, and Why is the reason.
	Off float64
	Why string
}

// deviations is the number of standard deviations in Off.
const deviations = 4.5

// The reasons why there is no bound.
const (
	lastFull = "the last level keeps as many flows as it can: others may be missing"
	narrow   = "a level keeps more than half as many flows as it has counters"
)

// A solvedLevel holds the sizes of the flows that a level keeps, solved together.
type solvedLevel struct {
	flows  []flymon.Vector // flows in a fixed order
	sizes  []float64
	spread float64 // standard deviation of a size; infinite if there are too few counters
}

// solve returns the sizes of the kept flows that explain the counters best, by least squares. A small flow may share
// its counters with a large one in most rows. Its median alone would then be the large flow's size. Solved together, it
// gets its own size.
func (u *UnivMon) solve(level int) solvedLevel {
	l := &u.levels[level]
	s := solvedLevel{spread: math.Inf(1)}
	for _, g := range l.great {
		s.flows = append(s.flows, g.flow)
	}
	slices.SortFunc(s.flows, func(a, b flymon.Vector) int { return slices.CompareFunc(a[:], b[:], cmp.Compare) })
	left := make([]float64, len(l.counters))
	for i, c := range l.counters {
		left[i] = float64(c)
	}
	at := make([]place, 0, u.rows*len(s.flows))
	for i := range s.flows {
		s.sizes = append(s.sizes, float64(u.size(level, s.flows[i])))
		at = u.places(level, &s.flows[i], at)
		for _, p := range at[i*u.rows:] {
			left[p.counter] -= float64(p.sign * s.sizes[i])
		}
	}
	if 2*len(s.flows) > len(left) {
		return s
	}
	for range 100 {
		moved := 0.0
		for i := range s.sizes {
			by := 0.0
			for _, p := range at[i*u.rows : (i+1)*u.rows] {
				by += p.sign * left[p.counter] / float64(u.rows)
			}
			for _, p := range at[i*u.rows : (i+1)*u.rows] {
				left[p.counter] -= float64(p.sign * by)
			}
			s.sizes[i] += by
			moved = max(moved, math.Abs(by))
		}
		if moved < 1e-3 {
			break
		}
	}
	square := 0.0
	for _, v := range left {
		square += float64(v * v)
	}
	s.spread = math.Sqrt(square / float64(len(left)-len(s.flows)) / float64(u.rows))
	return s
}

// A place is the counter of a flow in a row, and the sign with which the flow counts.
type place struct {
	counter int
	sign    float64
}

// places appends a flow's places in all rows of a level.
func (u *UnivMon) places(level int, flow *flymon.Vector, list []place) []place {
	g := scramble(hash(flow, u.seed+1) ^ uint64(level)<<56)
	for row := range u.rows {
		g = scramble(g)
		list = append(list, place{row*u.width + below(g, u.width), float64(g&1)*2 - 1})
	}
	return list
}

// Sum estimates the sum of f, which must not be negative, over the sizes of all flows. Each level doubles the sum of
// the next level, adds its own flows, and subtracts those that the next level has received too. Sizes of kept flows
// tend to be too large, because a level keeps those that look large. This adds no bias, since half of them is
// subtracted twice.
//
// A flow that a level does not keep is doubled by the next or is missing, each with probability one half, so its square
// is the variance. Half of these flows are in the next level, kept or not. A level that keeps all its flows contributes
// no variance.
func (u *UnivMon) Sum(f func(size float64) float64) Bounded {
	var sum, squares, variance float64 // squares is the sum over the flows that are not kept
	why := ""
	for i := len(u.levels) - 1; i >= 0; i-- {
		l := u.solve(i)
		last := i+1 == len(u.levels)
		switch {
		case math.IsInf(l.spread, 1):
			why = narrow
		case last && len(l.flows) == u.most:
			why = lastFull
		}
		var here, seen, unkept, noise float64
		for k, size := range l.sizes {
			v := f(max(1, size))
			d := (f(max(1, size+l.spread)) - f(max(1, size-l.spread))) / 2
			here, noise = here+v, noise+float64(d*d)
			if !last && u.depth(&l.flows[k]) > i {
				seen += v
			}
			if i > 0 && !u.keeps(i-1, l.flows[k]) {
				unkept += float64(v * v)
			}
		}
		sum = 2*sum + here - 2*seen
		variance = float64(4*variance) + squares + noise
		squares = 2 * (squares + unkept)
	}
	b := Bounded{Value: max(0, sum), Off: deviations * math.Sqrt(variance), Why: why}
	if why != "" {
		b.Off = math.Inf(1)
	}
	return b
}

// keeps reports whether a level keeps a flow.
func (u *UnivMon) keeps(level int, flow flymon.Vector) bool {
	_, ok := u.levels[level].at[flow]
	return ok
}

// Cardinality estimates the number of flows.
func (u *UnivMon) Cardinality() Bounded { return u.Sum(func(float64) float64 { return 1 }) }

// Entropy estimates the entropy of the sizes of flows, in bits.
func (u *UnivMon) Entropy() Bounded {
	if u.total == 0 {
		return Bounded{}
	}
	n := float64(u.total)
	b := u.Sum(func(size float64) float64 { return size * libm.Log2(size) })
	b.Value = min(max(0, libm.Log2(n)-b.Value/n), libm.Log2(n))
	b.Off /= n
	return b
}

// Heavy returns the flows of at least this size that the first level keeps, with their sizes.
func (u *UnivMon) Heavy(threshold uint64) map[flymon.Vector]uint64 {
	heavy := map[flymon.Vector]uint64{}
	l := u.solve(0)
	for i, size := range l.sizes {
		if n := math.Round(size); n > 0 && n >= float64(threshold) {
			heavy[l.flows[i]] = uint64(n)
		}
	}
	return heavy
}
