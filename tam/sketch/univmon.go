package sketch

import (
	"fmt"
	"math/bits"
	"slices"

	"tamtam/tam/flymon"
)

// UnivMon is the universal sketch in software (Liu et al., SIGCOMM 2016). Level i receives the flows whose hash begins
// with i ones, about 2^-i of them. Each level is a Count Sketch and keeps its largest flows. The sum of any function
// over the flows' sizes is computed from the largest flows of all levels (Braverman and Ostrovsky, 2013).
type UnivMon struct {
	levels []level
	rows   int
	width  int
	most   int
	seed   uint64
	total  uint64
}

type level struct {
	counters []int32 // counters of all rows
	great    []sized // heap of the largest flows, the smallest first
	at       map[flymon.Vector]int
}

type sized struct {
	flow flymon.Vector
	size int64
}

// UnivMonEntry is the size in bytes of a stored flow on a switch or its controller: a 5-tuple and a counter.
const UnivMonEntry = 17

// NewUnivMon returns a sketch of 1 to 32 levels. Each has rows (odd, 1 to 15) of width counters (1 to 2^26), and keeps
// most flows (1 to 2^20). An error names the number that is out of range.
func NewUnivMon(levels, rows, width, most int, seed uint64) (*UnivMon, error) {
	switch {
	case levels < 1 || levels > 32:
		return nil, fmt.Errorf("levels is %d, want 1 to 32", levels)
	case rows < 1 || rows > 15 || rows%2 == 0:
		return nil, fmt.Errorf("rows is %d, want an odd number from 1 to 15", rows)
	case width < 1 || width > 1<<26:
		return nil, fmt.Errorf("width is %d, want 1 to %d counters", width, 1<<26)
	case most < 1 || most > 1<<20:
		return nil, fmt.Errorf("flows that a level keeps are %d, want 1 to %d", most, 1<<20)
	}
	u := &UnivMon{levels: make([]level, levels), rows: rows, width: width, most: most, seed: seed}
	for i := range u.levels {
		u.levels[i] = level{counters: make([]int32, rows*width), at: map[flymon.Vector]int{}}
	}
	return u, nil
}

// Bytes returns the memory of the sketch in bytes: counters of 32 bits, and the kept flows.
func (u *UnivMon) Bytes() int { return len(u.levels) * (u.rows*u.width*4 + u.most*UnivMonEntry) }

// Add counts n packets or bytes of a flow.
func (u *UnivMon) Add(flow flymon.Vector, n uint32) {
	u.total += uint64(n)
	last := u.depth(&flow)
	h := hash(&flow, u.seed+1)
	var signed [15]int32
	for i := range u.levels[:last+1] {
		l := &u.levels[i]
		g := scramble(h ^ uint64(i)<<56)
		for row := range u.rows {
			g = scramble(g)
			c := &l.counters[row*u.width+below(g, u.width)]
			sign := int32(g&1)<<1 - 1
			*c += sign * int32(n)
			signed[row] = sign * *c
		}
		slices.Sort(signed[:u.rows])
		l.keep(flow, int64(signed[u.rows/2]), u.most)
	}
}

// depth returns the last level that receives a flow.
func (u *UnivMon) depth(flow *flymon.Vector) int {
	return min(bits.LeadingZeros64(^hash(flow, u.seed)), len(u.levels)-1)
}

// keep adds a flow to a level's kept flows or updates it, if it is one of the largest.
func (l *level) keep(flow flymon.Vector, size int64, most int) {
	i, known := l.at[flow]
	switch {
	case known:
		l.great[i].size = size
	case len(l.great) < most:
		i = len(l.great)
		l.great = append(l.great, sized{flow, size})
		l.at[flow] = i
	case size <= l.great[0].size:
		return
	default:
		i = 0
		delete(l.at, l.great[0].flow)
		l.great[0] = sized{flow, size}
		l.at[flow] = 0
	}
	l.sift(i)
}

// sift restores the heap order around entry i.
func (l *level) sift(i int) {
	for i > 0 && l.great[i].size < l.great[(i-1)/2].size {
		l.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child+1 < len(l.great) && l.great[child+1].size < l.great[child].size {
			child++
		}
		if child >= len(l.great) || l.great[i].size <= l.great[child].size {
			return
		}
		l.swap(i, child)
		i = child
	}
}

func (l *level) swap(i, j int) {
	l.great[i], l.great[j] = l.great[j], l.great[i]
	l.at[l.great[i].flow], l.at[l.great[j].flow] = i, j
}

// Estimate returns a flow's size by the Count Sketch of the first level.
func (u *UnivMon) Estimate(flow flymon.Vector) int64 { return u.size(0, flow) }

// size returns a flow's size by the Count Sketch of a level that receives it.
func (u *UnivMon) size(level int, flow flymon.Vector) int64 {
	g := scramble(hash(&flow, u.seed+1) ^ uint64(level)<<56)
	var values [15]int32
	for row := range u.rows {
		g = scramble(g)
		values[row] = (int32(g&1)<<1 - 1) * u.levels[level].counters[row*u.width+below(g, u.width)]
	}
	slices.Sort(values[:u.rows])
	return int64(values[u.rows/2])
}
