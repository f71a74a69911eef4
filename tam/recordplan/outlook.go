package recordplan

import (
	"cmp"
	"math"
	"slices"
)

// begin returns the outlook of a large piece with its must-record tables.
func (r *relaxation) begin(p *piece) outlook {
	sc := r.x.newScorer(p.must)
	o := outlook{own: p.must, gains: make([]float64, len(p.bits)), on: make([]bool, len(p.bits)), has: sc.parts[p.seg]}
	for i, b := range p.bits {
		o.on[i] = !slices.Contains(p.must, b)
		switch {
		case !o.on[i]:
		case r.x.exhausted():
			o.gains[i] = r.x.m.alone(b)
		default:
			o.gains[i] = sc.gain(b)
		}
	}
	o.most = sc.all(p.seg, p.bits, o.on)
	return o
}

// An outlook is the state of a large piece: the bits that it has, and the bits that may still be added, which are on.
type outlook struct {
	own   []bit
	on    []bool
	gains []float64 // upper bound of the entropy that each bit adds to own
	has   float64   // entropy of own
	most  float64   // entropy that all bits that are on add together
}

// upperBounds returns upper bounds of the piece's entropy minus the price of its cells, for 0, 1, ... n further bits. A
// set costs at least as much as its tables on the heavy chain. It also costs at least as much as the bits that it has,
// or, without any, as the cheapest bit that may be added.
func (r *relaxation) upperBounds(p *piece, o outlook, n int) []float64 {
	heavy, any := 0.0, r.costOf(r.x.tablesOf(o.own))
	for i, b := range p.bits {
		if p.heavy[i] && r.pays(b) && slices.Contains(o.own, b) {
			heavy += r.priceOf(b.table)
		}
	}
	first := any
	if len(o.own) == 0 {
		first = r.cheapestOf(p, o)
	}
	paying, free := r.sums(p, o, n, true), r.sums(p, o, n, false)
	for j := range paying {
		paying[j] = o.has + min(paying[j]-heavy, free[j]-any)
		any = first
	}
	return paying
}

// pays reports whether the bit is the one for which its table needs a cell.
func (r *relaxation) pays(b bit) bool { return !b.hit || r.x.m.tables[b.table].cut }

// cheapestOf returns the lowest price of the bits that are on.
func (r *relaxation) cheapestOf(p *piece, o outlook) float64 {
	least := math.Inf(1)
	for i, b := range p.bits {
		if o.on[i] {
			least = min(least, r.priceOf(b.table))
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// sums returns bounds of the entropy that 0, 1, ... n further bits add. If paying, it subtracts the prices of the bits
// on the heavy chain. Only one bit of each class counts. Since entropy is submodular, bits together add at most the sum
// of their gains.
func (r *relaxation) sums(p *piece, o outlook, n int, paying bool) []float64 {
	best := make(map[int]float64)
	for i, b := range p.bits {
		if !o.on[i] {
			continue
		}
		g := o.gains[i]
		if paying && p.heavy[i] && r.pays(b) {
			g -= r.priceOf(b.table)
		}
		if g > best[p.class[i]] {
			best[p.class[i]] = g
		}
	}
	sorted := make([]float64, 0, len(best))
	for _, g := range best {
		sorted = append(sorted, g)
	}
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	sums := make([]float64, max(n, 0)+1)
	for j := 1; j < len(sums); j++ {
		sums[j] = sums[j-1]
		if j <= len(sorted) {
			sums[j] = min(sums[j]+sorted[j-1], o.most)
		}
	}
	return sums
}
