package recordplan

import "math"

// maxPacked is the maximum number of tables for which pack is exact.
const maxPacked = 6

// A cellGroup is a group of tables that share a cell: they exclude each other, and all of them can be in the stages lo
// to hi.
type cellGroup struct {
	lo, hi int
	tables []int
}

// pack puts tables into the cheapest cells. The tables of a cell exclude each other and have a common stage. No
// placement is cheaper. For more than maxPacked tables, or if tables of one unit are exempt, it considers only the
// tables of the dearest chain, which need a cell each.
func (x *search) pack(tables []int, price func(lo, hi int) float64) ([]cellGroup, float64) {
	if x.space.exempt || len(tables) > maxPacked {
		chain := x.dearest(tables, func(t int) float64 { return price(x.space.first[t], x.space.last[t]) })
		var cells []cellGroup
		cost := 0.0
		for _, t := range chain {
			cells = append(cells, cellGroup{x.space.first[t], x.space.last[t], []int{t}})
			cost += price(x.space.first[t], x.space.last[t])
		}
		return cells, cost
	}
	p := packer{search: x, price: price, cost: math.Inf(1)}
	p.put(tables, nil)
	return p.best, p.cost
}

type packer struct {
	*search
	price func(lo, hi int) float64
	best  []cellGroup
	cost  float64
}

// put tries the first table in each cell that it can share and in a cell of its own, with all placements of the other
// tables. It keeps the cheapest placement.
func (p *packer) put(tables []int, cells []cellGroup) {
	cost := 0.0
	for _, s := range cells {
		cost += p.price(s.lo, s.hi)
	}
	if cost >= p.cost {
		return
	}
	if len(tables) == 0 {
		p.cost = cost
		p.best = append([]cellGroup(nil), cells...)
		return
	}
	t := tables[0]
	lo, hi := p.space.first[t], p.space.last[t]
	for i, s := range cells {
		both := cellGroup{max(lo, s.lo), min(hi, s.hi), append(s.tables[:len(s.tables):len(s.tables)], t)}
		if both.lo > both.hi || p.competesAny(t, s.tables) {
			continue
		}
		cells[i] = both
		p.put(tables[1:], cells)
		cells[i] = s
	}
	p.put(tables[1:], append(cells[:len(cells):len(cells)], cellGroup{lo, hi, []int{t}}))
}

func (p *packer) competesAny(t int, others []int) bool {
	for _, o := range others {
		if p.space.competes(o, t) {
			return true
		}
	}
	return false
}

// one returns the price 1 for each cell.
func one(int, int) float64 { return 1 }

// cellsFor returns the minimum number of cells for tables.
func (x *search) cellsFor(tables []int) int {
	cells, _ := x.pack(tables, one)
	return len(cells)
}
