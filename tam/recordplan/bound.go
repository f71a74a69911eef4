package recordplan

import (
	"math"
	"slices"
)

// A relaxation is the basis of the bounds of [record.BranchAndBound]. Recorded tables of different segments never
// exclude each other. So each container serves, in one stage, tables of one segment only. The relaxation counts only
// bits and cells. A cell is a pair of a container and a stage.
//
// For each segment this leaves a best entropy per number of bits and cells, and over the segments a knapsack, which is
// solved exactly. Prices of the stages (Lagrange multipliers) bring the tables' windows of stages back in. Tables pay
// the cheapest stages of their windows, and the bound earns the price of every cell.
type relaxation struct {
	x      *search
	pieces []piece
	cells  int // number of cells of the containers; zero means that cells are not counted
	price  []float64
	earned float64 // sum of the prices of all cells
	// rest[i][b][q] bounds the contribution of the pieces from i on, with b bits and q cells.
	rest  [][][]float64
	steps [][]portion // portions that are worth choosing, for each piece
}

// A piece is a segment that can be recorded.
type piece struct {
	seg     int
	bits    []bit
	must    []bit
	class   []int    // class of each bit; the bits of one class determine each other
	options []option // all useful options, or nil if the segment is too large to list them
	heavy   []bool   // for a large piece, the bits whose tables are on one chain
	start   outlook  // for a large piece, its state with its must-record tables
	most    int      // maximum number of bits that the piece can use, including must-record ones
}

// An option is a set of bits of a small piece.
type option struct {
	set    []bit
	tables []int // in the order of the program
	h      float64
	long   int // number of cells that the option needs
	cost   float64
}

// maxClassified is the maximum number of bits of a piece for pairwise comparison.
const maxClassified = 300

// maxWork limits the work of one solution of the relaxation: the product of all bits and cells with those of each
// piece. Above it, cells are not counted.
const maxWork = 4_000_000

// maxOptions limits the number of options of all pieces together.
const maxOptions = 100_000

// maxListed is the maximum number of bits of a piece for listing all its sets.
const maxListed = 12

// newRelaxation makes the pieces, the largest first, so that a search first decides those with the loosest bounds.
func (x *search) newRelaxation() *relaxation {
	r := &relaxation{x: x, price: make([]float64, x.space.stages)}
	bySeg := map[int]*piece{}
	sc := x.newScorer(nil)
	for _, b := range x.byEntropy() {
		seg := x.m.tables[b.table].seg
		if x.m.alone(b) <= alike && !x.needed(b) && !slices.Contains(x.must, b) {
			continue
		}
		if bySeg[seg] == nil {
			bySeg[seg] = &piece{seg: seg}
		}
		bySeg[seg].bits = append(bySeg[seg].bits, b)
	}
	for seg := range x.m.segments {
		p := bySeg[seg]
		if p == nil {
			continue
		}
		for _, b := range x.must {
			if x.m.tables[b.table].seg == seg {
				p.must = append(p.must, b)
			}
		}
		p.most = min(len(p.bits), x.limit)
		x.classify(p, sc)
		r.pieces = append(r.pieces, *p)
	}
	slices.SortStableFunc(r.pieces, func(a, b piece) int { return len(b.bits) - len(a.bits) })
	r.countCells()
	listed := 0
	for i := len(r.pieces) - 1; i >= 0; i-- {
		p := &r.pieces[i]
		if len(p.bits) <= r.x.listed && listed < maxOptions {
			r.list(p)
			listed += len(p.options)
		} else {
			p.heavy, p.start = r.heaviest(p), r.begin(p)
		}
	}
	r.solve()
	return r
}

// countCells enables counting of cells if there are fewer cells than bits, and the work is limited.
func (r *relaxation) countCells() {
	total := r.x.space.stages * len(r.x.space.widths)
	if r.x.space.exempt || total >= r.x.limit {
		return
	}
	work := 0
	for _, p := range r.pieces {
		work += (p.most + 1) * (r.x.limit + 1)
	}
	if work*(total+1)*(total+1) <= maxWork {
		r.cells = total
	}
}

// classify finds the bits that determine each other.
func (x *search) classify(p *piece, sc *scorer) {
	p.class = make([]int, len(p.bits))
	alone := make([]float64, len(p.bits))
	for i, b := range p.bits {
		alone[i] = sc.m.alone(b)
	}
	for i, b := range p.bits {
		p.class[i] = i
		if len(p.bits) > maxClassified || x.exhausted() {
			continue
		}
		sc.set(b, true)
		for j := range i {
			if p.class[j] == j && alone[i]-alone[j] < alike && alone[j]-alone[i] < alike && sc.gain(p.bits[j]) < alike {
				p.class[i] = j
				break
			}
		}
		sc.set(b, false)
	}
}

// list lists the sets of a piece in which no bit follows from the others.
func (r *relaxation) list(p *piece) {
	sc := r.x.newScorer(nil)
	for _, b := range p.must {
		sc.set(b, true)
	}
	r.listFrom(p, sc, 0, slices.Clone(p.must))
}

func (r *relaxation) listFrom(p *piece, sc *scorer, i int, set []bit) {
	if i == len(p.bits) {
		for _, b := range set {
			if b.hit && !r.x.m.tables[b.table].cut && !slices.Contains(set, bit{b.table, false}) {
				return
			}
		}
		o := option{set: slices.Clone(set), h: sc.parts[p.seg], tables: r.x.tablesOf(set)}
		o.long = r.x.cellsFor(o.tables)
		p.options = append(p.options, o)
		return
	}
	b := p.bits[i]
	r.listFrom(p, sc, i+1, set)
	if len(set) < p.most && !slices.Contains(set, b) && (sc.gain(b) > alike || r.x.needed(b)) {
		sc.set(b, true)
		r.listFrom(p, sc, i+1, append(set, b))
		sc.set(b, false)
	}
}

// needed reports whether the hit of the bit's table can only be recorded together with this bit.
func (x *search) needed(b bit) bool {
	return !b.hit && x.settings.Hits && !x.m.tables[b.table].keyless
}

// tablesOf returns the tables of a set in program order.
func (x *search) tablesOf(set []bit) []int {
	var tables []int
	for _, b := range set {
		if !slices.Contains(tables, b.table) {
			tables = append(tables, b.table)
		}
	}
	slices.SortFunc(tables, func(a, b int) int { return x.space.rank[a] - x.space.rank[b] })
	return tables
}

// dearest returns the chain with the greatest sum of prices, or the longest such chain. The tables of a chain can all
// run for one packet, so each needs its own cell. If tables of one unit are exempt, the chain is a single table.
func (x *search) dearest(tables []int, price func(table int) float64) []int {
	const little = 1e-9 // added per table, to prefer longer chains
	upto, from := make([]float64, len(tables)), make([]int, len(tables))
	last := -1
	for i, t := range tables {
		from[i] = -1
		for j := range i {
			if !x.space.exempt && upto[j] > upto[i] && x.space.competes(tables[j], t) {
				upto[i], from[i] = upto[j], j
			}
		}
		upto[i] += price(t) + little
		if last < 0 || upto[i] > upto[last] {
			last = i
		}
	}
	var chain []int
	for ; last >= 0; last = from[last] {
		chain = append(chain, tables[last])
	}
	return chain
}

// cheapest returns the lowest price of the stages lo to hi.
func (r *relaxation) cheapest(lo, hi int) float64 { return slices.Min(r.price[lo : hi+1]) }

// priceOf returns the lowest price of a table's possible stages.
func (r *relaxation) priceOf(t int) float64 {
	return r.cheapest(r.x.space.first[t], r.x.space.last[t])
}

// costOf returns the minimum cost of tables.
func (r *relaxation) costOf(tables []int) float64 {
	_, cost := r.x.pack(tables, r.cheapest)
	return cost
}

// heaviest marks the bits of a large piece whose tables are on the chain with the most entropy.
func (r *relaxation) heaviest(p *piece) []bool {
	x := r.x
	value := map[int]float64{}
	for _, b := range p.bits {
		value[b.table] = max(value[b.table], x.m.alone(b))
	}
	on := map[int]bool{}
	for _, t := range x.dearest(x.tablesOf(p.bits), func(t int) float64 { return value[t] }) {
		on[t] = true
	}
	heavy := make([]bool, len(p.bits))
	for i, b := range p.bits {
		heavy[i] = on[b.table]
	}
	return heavy
}

// values returns the bounds of one piece by the number of bits and cells.
func (r *relaxation) values(p *piece) [][]float64 {
	v := make([][]float64, p.most+1)
	for b := range v {
		v[b] = make([]float64, r.cells+1)
		for q := range v[b] {
			v[b][q] = math.Inf(-1)
		}
	}
	if p.options == nil {
		r.largeValues(p, v)
	}
	for i := range p.options {
		o := &p.options[i]
		o.cost = r.costOf(o.tables)
		q := r.cellsOf(o.long)
		if len(o.set) <= p.most && q <= r.cells {
			v[len(o.set)][q] = max(v[len(o.set)][q], o.h-o.cost)
		}
	}
	for b := range v {
		for q := range v[b] {
			if b > 0 {
				v[b][q] = max(v[b][q], v[b-1][q])
			}
			if q > 0 {
				v[b][q] = max(v[b][q], v[b][q-1])
			}
		}
	}
	return v
}

func (r *relaxation) cellsOf(long int) int {
	if r.cells == 0 {
		return 0
	}
	return long
}

// largeValues bounds a large piece: the contribution of its best bits in addition to its must-record tables.
func (r *relaxation) largeValues(p *piece, v [][]float64) {
	long := r.x.cellsFor(r.x.tablesOf(p.must))
	for j, w := range r.upperBounds(p, p.start, p.most-len(p.must)) {
		if q := r.cellsOf(max(long, min(j, 1))); q <= r.cells {
			v[len(p.must)+j][q] = w
		}
	}
}

// solve computes rest for the current prices.
func (r *relaxation) solve() {
	r.earned = 0
	for _, p := range r.price {
		r.earned += float64(p * float64(len(r.x.space.widths)))
	}
	r.rest = make([][][]float64, len(r.pieces)+1)
	for i := range r.rest {
		r.rest[i] = make([][]float64, r.x.limit+1)
		for b := range r.rest[i] {
			r.rest[i][b] = make([]float64, r.cells+1)
		}
	}
	r.steps = make([][]portion, len(r.pieces))
	for i := len(r.pieces) - 1; i >= 0; i-- {
		r.steps[i] = stepsOf(r.values(&r.pieces[i]))
		for b := range r.rest[i] {
			for q := range r.rest[i][b] {
				r.rest[i][b][q] = r.best(i, b, q).value
			}
		}
	}
}

// A portion is a number of bits and cells for a piece, and the piece's value with them.
type portion struct {
	bits, cells int
	value       float64
}

// stepsOf returns the portions that are better than every smaller one.
func stepsOf(v [][]float64) []portion {
	var steps []portion
	for b := range v {
		for q := range v[b] {
			less := math.Inf(-1)
			if b > 0 {
				less = v[b-1][q]
			}
			if q > 0 {
				less = max(less, v[b][q-1])
			}
			if v[b][q] > less {
				steps = append(steps, portion{b, q, v[b][q]})
			}
		}
	}
	return steps
}

// best returns the best portion for piece i if the remaining bits and cells go to the pieces after it.
func (r *relaxation) best(i, bits, cells int) portion {
	best := portion{value: math.Inf(-1)}
	rest := r.rest[i+1]
	for _, s := range r.steps[i] {
		if s.bits > bits || s.cells > cells {
			continue
		}
		if v := s.value + rest[bits-s.bits][cells-s.cells]; v > best.value {
			best = portion{s.bits, s.cells, v}
		}
	}
	return best
}

// bound returns the bound for all sets.
func (r *relaxation) bound() float64 { return r.earned + r.rest[0][r.x.limit][r.cells] }
