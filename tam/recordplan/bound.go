package recordplan

import (
	"math"
	"slices"
)

// A relaxation is the basis of the bounds of [record.BranchAndBound]. Recorded tables of
// different segments never exclude each other, so that each container takes, in one stage,
// tables of one segment only. What is left of the constraints is counted: bits, and cells,
// which are pairs of a container and a stage.
//
// That leaves, segment by segment, a best entropy for so many bits and cells, and over the
// segments a knapsack, which is solved exactly. Prices of the stages (Lagrange multipliers)
// bring the windows of the tables back in: tables pay the cheapest stages that they can be in,
// and the bound earns the price of every cell that there is.
type relaxation struct {
	x      *search
	pieces []piece
	cells  int // that there are; 0: not counted
	price  []float64
	earned float64 // the price of all cells
	// rest[i][b][q] bounds what the pieces from i on add with b bits and q cells.
	rest  [][][]float64
	steps [][]portion // of each piece
}

// A piece is a segment that can be recorded.
type piece struct {
	seg     int
	bits    []bit
	must    []bit
	class   []int    // bits of one class follow from each other
	options []option // all useful ones; nil: the segment is too large to list them
	heavy   []bool   // of a large piece: the bits whose tables are on one chain
	start   outlook  // likewise: with its must-record tables
	most    int      // bits that it can use, must-record ones too
}

// An option is a set of bits of a small piece.
type option struct {
	set    []bit
	tables []int // in the order of the program
	h      float64
	long   int // the cells that it takes
	cost   float64
}

// maxClassified is how many bits a piece may have if each two are to be compared.
const maxClassified = 300

// maxWork bounds the work of solving the relaxation once: bits and cells of the whole times those of
// the pieces. Beyond, cells are not counted.
const maxWork = 4_000_000

// maxOptions bounds the options of all pieces together.
const maxOptions = 100_000

// maxListed is how many bits a piece may have if all its sets are to be listed.
const maxListed = 12

// newRelaxation makes the pieces, the largest first: a search decides first what is bounded worst.
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

// countCells counts cells if there are fewer of them than bits, and it is not too much work.
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

// classify finds the bits that follow from each other.
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

// needed reports whether a hit can be recorded only together with the bit.
func (x *search) needed(b bit) bool {
	return !b.hit && x.settings.Hits && !x.m.tables[b.table].keyless
}

// tablesOf returns the tables of a set in the order of the program.
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

// dearest is the chain of tables that one packet can all run, which take a cell each, with
// the greatest sum of prices, and of several the longest. Where units are exempt, it is a
// single table.
func (x *search) dearest(tables []int, price func(table int) float64) []int {
	const little = 1e-9 // for each table
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

// cheapest returns the lowest price of some stages.
func (r *relaxation) cheapest(lo, hi int) float64 { return slices.Min(r.price[lo : hi+1]) }

// priceOf returns the lowest price of a stage that a table can be in.
func (r *relaxation) priceOf(t int) float64 {
	return r.cheapest(r.x.space.first[t], r.x.space.last[t])
}

// costOf returns the least that tables pay.
func (r *relaxation) costOf(tables []int) float64 {
	_, cost := r.x.pack(tables, r.cheapest)
	return cost
}

// heaviest marks the bits of a large piece whose tables are on the chain that says most.
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

// values returns the bounds of one piece by how many bits and cells it may use.
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

// largeValues bounds a large piece: what its best bits add to its must-record tables.
func (r *relaxation) largeValues(p *piece, v [][]float64) {
	long := r.x.cellsFor(r.x.tablesOf(p.must))
	for j, w := range r.worth(p, p.start, p.most-len(p.must)) {
		if q := r.cellsOf(max(long, min(j, 1))); q <= r.cells {
			v[len(p.must)+j][q] = w
		}
	}
}

// solve fills rest for the prices.
func (r *relaxation) solve() {
	r.earned = 0
	for _, p := range r.price {
		r.earned += p * float64(len(r.x.space.widths))
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

// A portion is the bits and cells that a piece gets, and its value with them.
type portion struct {
	bits, cells int
	value       float64
}

// stepsOf returns the portions with which a piece is better than with any smaller one.
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

// best divides bits and cells between a piece and those after it.
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

// bound returns the bound of all sets.
func (r *relaxation) bound() float64 { return r.earned + r.rest[0][r.x.limit][r.cells] }
