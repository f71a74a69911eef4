package recordplan

import (
	"cmp"
	"math"
	"slices"
)

// priceRounds is the number of adjustments of the prices.
const priceRounds = 80

// maxPriced limits the total number of evaluated options. With more options, prices are adjusted less often.
const maxPriced = 400_000

// setPrices lowers the bound. It raises the price of a stage if the best sets of the relaxation use the stage more
// often than it has containers. It lowers the other prices. This is a subgradient method with Polyak's steps. Any
// prices give a valid bound, and the best prices are kept.
func (r *relaxation) setPrices(reached float64) {
	if r.x.space.exempt || r.cells == 0 && len(r.price) == 1 {
		return
	}
	best, kept := r.bound(), slices.Clone(r.price)
	step, worse := 1.0, 0
	options := 0
	for _, p := range r.pieces {
		options += len(p.options)
	}
	for range min(priceRounds, maxPriced/(options+1)) {
		over, norm := r.overuse()
		gap := r.bound() - reached
		if norm == 0 || gap < alike {
			break
		}
		for s := range r.price {
			r.price[s] = max(r.price[s]+step*gap*over[s]/norm, 0)
		}
		r.solve()
		if b := r.bound(); b < best-alike {
			best, kept, worse = b, slices.Clone(r.price), 0
		} else if worse++; worse == 4 {
			step, worse = step/2, 0
		}
	}
	r.price = kept
	r.solve()
}

// overuse returns, for each stage, the number of tables in the relaxation's best sets minus the number of containers,
// and the sum of squares. A stage without a price that is not full counts as zero.
func (r *relaxation) overuse() ([]float64, float64) {
	over := make([]float64, len(r.price))
	for s := range over {
		over[s] = -float64(len(r.x.space.widths))
	}
	bits, cells := r.x.limit, r.cells
	for i := range r.pieces {
		p := &r.pieces[i]
		s := r.best(i, bits, cells)
		bits, cells = bits-s.bits, cells-s.cells
		for _, f := range r.payers(p, s.bits, s.cells, s.value-r.rest[i+1][bits][cells]) {
			over[r.cheapestStage(f.lo, f.hi, over)]++
		}
	}
	norm := 0.0
	for s, o := range over {
		if o < 0 && r.price[s] == 0 {
			over[s] = 0
			continue
		}
		norm += float64(o * o)
	}
	return over, norm
}

// payers returns the cells that are paid for the value of a piece.
func (r *relaxation) payers(p *piece, b, q int, v float64) []cellGroup {
	for i := range p.options {
		o := &p.options[i]
		if len(o.set) <= b && r.cellsOf(o.long) <= q && math.Abs(o.h-o.cost-v) < alike {
			// In stages with price zero, cells have a tiny price, to break ties.
			cells, _ := r.x.pack(o.tables, func(lo, hi int) float64 { return r.cheapest(lo, hi) + 1e-9 })
			return cells
		}
	}
	if p.options != nil {
		return nil
	}
	var cells []cellGroup
	for _, t := range r.largePayers(p, b) {
		cells = append(cells, cellGroup{r.x.space.first[t], r.x.space.last[t], []int{t}})
	}
	return cells
}

// largePayers returns the tables that pay in a large piece with b bits: the best on its heavy chain, or a single table.
// The tighter bound determines the choice.
func (r *relaxation) largePayers(p *piece, b int) []int {
	type paying struct {
		table       int
		gain, price float64
	}
	var list []paying
	cheapest := -1
	for i, b := range p.bits {
		c := r.priceOf(b.table)
		if cheapest < 0 || c < r.priceOf(cheapest) {
			cheapest = b.table
		}
		if g := p.start.gains[i] - c; p.heavy[i] && r.pays(b) && p.class[i] == i && g > 0 {
			list = append(list, paying{b.table, g, c})
		}
	}
	if b == 0 || len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b paying) int { return cmp.Compare(b.gain, a.gain) })
	var tables []int
	price := 0.0
	for _, e := range list[:min(b, len(list))] {
		tables = append(tables, e.table)
		price += e.price
	}
	if price <= r.priceOf(cheapest) {
		return []int{cheapest}
	}
	return tables
}

// cheapestStage returns one of the cheapest stages of a range, the least used of these.
func (r *relaxation) cheapestStage(lo, hi int, used []float64) int {
	best := lo
	for s := lo; s <= hi; s++ {
		if d := r.price[s] - r.price[best]; d < 0 || d == 0 && used[s] < used[best] {
			best = s
		}
	}
	return best
}
