package sketch

import (
	"cmp"
	"math"
	"slices"

	"tamtam/tam/flymon"
)

// A Bounded is an estimate with how far it may be off.
type Bounded struct {
	Value float64
	// Off bounds the error: of 100 sketches at most one is further off. It is the sketch's own
	// estimate, of flows that no level kept and of what is left in its counters. Infinite: nothing bounds it, and
	// Why says the reason.
	Off float64
	Why string
}

// deviations are how many standard deviations Off is.
const deviations = 4.5

// Why nothing is said of an error.
const (
	lastFull = "the last level keeps as many flows as it can: others may be missing"
	narrow   = "a level keeps more than half as many flows as it has counters"
)

// A solved level has the sizes of the flows that it keeps, all of them at once.
type solvedLevel struct {
	flows  []flymon.Vector // in a fixed order
	sizes  []float64
	spread float64 // the standard deviation of a size; infinite: there are too few counters
}

// solve finds the sizes of flows kept by which the counters are explained best, in the sense of least squares. A small
// flow whose counters are those of a great one in most rows has the great one's size by its median alone;
// both together, it has its own.
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
			left[p.counter] -= p.sign * s.sizes[i]
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
				left[p.counter] -= p.sign * by
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
		square += v * v
	}
	s.spread = math.Sqrt(square / float64(len(left)-len(s.flows)) / float64(u.rows))
	return s
}

// A place is the counter of a flow in a row, and whether it counts up or down.
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

// Sum estimates the sum of f, which is nowhere negative, of the sizes of all flows: twice that of the next level,
// and the flows of this one, those that the next has seen too subtracted. Sizes of flows that a level keeps are
// too great rather than too small, since it keeps those that look great; as one half is subtracted twice, that adds
// nothing.
//
// A flow that a level does not keep is doubled by the next or is missing, each with a chance of one half: its square
// is the variance. Of these flows one half is in the next level, kept there or not. Where a level keeps all
// its flows there are none.
func (u *UnivMon) Sum(f func(size float64) float64) Bounded {
	var sum, squares, variance float64 // squares: of the flows not kept
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
			here, noise = here+v, noise+d*d
			if !last && u.depth(&l.flows[k]) > i {
				seen += v
			}
			if i > 0 && !u.keeps(i-1, l.flows[k]) {
				unkept += v * v
			}
		}
		sum = 2*sum + here - 2*seen
		variance = 4*variance + squares + noise
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
	b := u.Sum(func(size float64) float64 { return size * math.Log2(size) })
	b.Value = min(max(0, math.Log2(n)-b.Value/n), math.Log2(n))
	b.Off /= n
	return b
}

// Heavy returns the flows of at least a size that the first level keeps, with their sizes.
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
