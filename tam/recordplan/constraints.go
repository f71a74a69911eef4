package recordplan

import (
	"fmt"
	"slices"

	"tamtam/tam/record"
)

// A space is the solution space of recorded tables under the constraints of the paper's table I. A table is in a stage
// of the pipeline (C1). Its bits are in one container (C2) with enough space (C3). The dependencies of the program hold
// (C4). Two tables that one packet can run do not write the same container in the same stage (C5). Tables of the same
// unit of the chip are exempt.
type space struct {
	stages      int
	widths      []int
	first, last []int // first and last stage that C1 and C4 allow for each table
	// before and after hold each table's dependencies on earlier and later tables, with the distance in stages.
	before, after [][]lag
	order         []int   // the tables, each after those that it depends on
	gaps          [][]int // computed rows of gap
	rank          []int   // position of each table in the program
	exempt        bool    // true if any table belongs to a unit
	competes      func(a, b int) bool
	placed        bool
	solves        uint64
}

type lag struct{ table, stages int }

// A load is a table to be recorded.
type load struct {
	table, bits int
	container   int // required container, or -1 for any
}

// A cell is the place of a load: a container in a stage.
type cell struct{ stage, container int }

// free is the container of a load that may use any.
const free = -1

// A verdict is the result of a fit.
type verdict int

const (
	fits verdict = iota
	fitsNot
	unknown // the solver was stopped before it found a result
)

// newSpace returns the space of a model with this number of stages. Zero means as many as the program needs.
func (m *Model) newSpace(c record.Containers, stages int) (*space, error) {
	p := &space{gaps: make([][]int, len(m.tables)), placed: m.graph.Placed, competes: m.competes}
	for _, w := range c {
		p.widths = append(p.widths, int(w))
	}
	p.rank = make([]int, len(m.tables))
	for i, t := range m.tables {
		p.rank[i] = t.seg<<32 | t.at
		p.exempt = p.exempt || m.graph.Nodes[t.node].Unit != ""
	}
	n := len(m.tables)
	p.before, p.after = make([][]lag, n), make([][]lag, n)
	if p.placed {
		return p, m.placedSpace(p)
	}
	for _, d := range m.deps {
		a, okA := m.index[d.From]
		b, okB := m.index[d.To]
		if !okA || !okB {
			return nil, fmt.Errorf("dependency of %q on %q, want two tables of the graph", d.To, d.From)
		}
		l := 0
		if d.Strict() {
			l = 1
		}
		p.after[a] = append(p.after[a], lag{b, l})
		p.before[b] = append(p.before[b], lag{a, l})
	}
	if err := m.sortDependencies(p); err != nil {
		return nil, err
	}
	return p, m.setStages(p, stages)
}

// placedSpace fills the space of a chip, whose tables cannot be moved.
func (m *Model) placedSpace(p *space) error {
	p.stages = m.graph.Stages
	for i, t := range m.tables {
		s := m.graph.Nodes[t.node].Stage
		if s < 0 || s >= p.stages {
			return fmt.Errorf("table %q is in stage %d, want 0 to %d", t.id, s, p.stages-1)
		}
		p.first, p.last = append(p.first, s), append(p.last, s)
		p.order = append(p.order, i)
	}
	return nil
}

// competes reports whether two tables must not write the same container in the same stage.
func (m *Model) competes(a, b int) bool {
	na, nb := &m.graph.Nodes[m.tables[a].node], &m.graph.Nodes[m.tables[b].node]
	if na.Unit != "" && na.Unit == nb.Unit {
		return false
	}
	return !m.reach.Exclusive(m.tables[a].node, m.tables[b].node)
}

// sortDependencies orders the tables by their dependencies.
func (m *Model) sortDependencies(p *space) error {
	open := make([]int, len(m.tables))
	for i := range m.tables {
		if open[i] = len(p.before[i]); open[i] == 0 {
			p.order = append(p.order, i)
		}
	}
	for i := 0; i < len(p.order); i++ {
		for _, l := range p.after[p.order[i]] {
			if open[l.table]--; open[l.table] == 0 {
				p.order = append(p.order, l.table)
			}
		}
	}
	if len(p.order) < len(m.tables) {
		i := slices.IndexFunc(open, func(n int) bool { return n > 0 })
		return fmt.Errorf("the dependencies of table %q make a circle, want an order", m.tables[i].id)
	}
	return nil
}

// setStages computes the range of stages of each table.
func (m *Model) setStages(p *space, stages int) error {
	n := len(m.tables)
	p.first, p.last = make([]int, n), make([]int, n)
	least := 1
	for _, t := range p.order {
		for _, l := range p.before[t] {
			p.first[t] = max(p.first[t], p.first[l.table]+l.stages)
		}
		least = max(least, p.first[t]+1)
	}
	if stages == 0 {
		stages = least
	}
	if stages < least {
		return fmt.Errorf("%d stages, want at least %d, which the program's dependencies take", stages, least)
	}
	p.stages = stages
	for _, t := range slices.Backward(p.order) {
		p.last[t] = stages - 1
		for _, l := range p.after[t] {
			p.last[t] = min(p.last[t], p.last[l.table]-l.stages)
		}
	}
	return nil
}

// gap returns the minimum distance in stages of b after a, or -1 if b need not be after a.
func (p *space) gap(a, b int) int {
	row := p.gaps[a]
	if row == nil {
		row = make([]int, len(p.first))
		for i := range row {
			row[i] = -1
		}
		row[a] = 0
		for _, t := range p.order {
			if row[t] < 0 {
				continue
			}
			for _, l := range p.after[t] {
				row[l.table] = max(row[l.table], row[t]+l.stages)
			}
		}
		p.gaps[a] = row
	}
	return row[b]
}

// fit returns a cell for each load. Otherwise the verdict is that no such cells exist, or that this is unknown.
func (p *space) fit(loads []load) ([]cell, verdict) {
	if !p.roomy(loads) {
		return nil, fitsNot
	}
	if cells, ok := p.list(loads); ok {
		return cells, fits
	}
	if p.crowded(loads) {
		return nil, fitsNot
	}
	return p.solve(loads)
}

// roomy reports whether the containers have enough bits for all loads.
func (p *space) roomy(loads []load) bool {
	total, widest := 0, 0
	for _, w := range p.widths {
		total += w
		widest = max(widest, w)
	}
	for _, l := range loads {
		if l.bits > widest {
			return false
		}
		total -= l.bits
	}
	return total >= 0
}

// list fills stage by stage. Loads with the earliest last stage are first.
func (p *space) list(loads []load) ([]cell, bool) {
	cells := make([]cell, len(loads))
	room := slices.Clone(p.widths)
	left := make([]int, len(loads))
	for i := range loads {
		left[i] = i
	}
	slices.SortStableFunc(left, func(a, b int) int {
		if d := p.last[loads[a].table] - p.last[loads[b].table]; d != 0 {
			return d
		}
		return loads[b].bits - loads[a].bits
	})
	for s := 0; s < p.stages && len(left) > 0; s++ {
		var here, wait []int
		for again := true; again; { // a table may share a stage with one that it follows at distance 0
			again = false
			wait = wait[:0]
			for k, i := range left {
				c := p.bestContainer(loads, cells, here, left, k, s, room)
				if c < 0 {
					wait = append(wait, i)
					continue
				}
				cells[i] = cell{s, c}
				room[c] -= loads[i].bits
				here = append(here, i)
				left = slices.Delete(slices.Clone(left), k, k+1)
				again = true
				break
			}
		}
		for _, i := range left {
			if p.last[loads[i].table] <= s {
				return nil, false
			}
		}
	}
	return cells, len(left) == 0
}

// bestContainer returns the container with the most free space that load left[k] can use in a stage, or -1 if the load
// must wait.
func (p *space) bestContainer(loads []load, cells []cell, here, left []int, k, stage int, room []int) int {
	t := loads[left[k]].table
	if !p.ready(loads, cells, left, k, stage) {
		return -1
	}
	best := -1
	for c, r := range room {
		l := loads[left[k]]
		if r < l.bits || l.container != free && l.container != c || best >= 0 && r <= room[best] {
			continue
		}
		if !slices.ContainsFunc(here, func(i int) bool { return cells[i].container == c && p.competes(loads[i].table, t) }) {
			best = c
		}
	}
	return best
}

// ready reports whether the table of load left[k] may be in a stage: its predecessors are already placed at a
// sufficient distance.
func (p *space) ready(loads []load, cells []cell, left []int, k, stage int) bool {
	t := loads[left[k]].table
	if p.first[t] > stage {
		return false
	}
	for j, i := range left {
		if j != k && p.gap(loads[i].table, t) >= 0 {
			return false
		}
	}
	for i, l := range loads {
		if g := p.gap(l.table, t); g > 0 && i != left[k] && cells[i].stage+g > stage {
			return false
		}
	}
	return true
}

// maxCrowd is the maximum number of loads for the check of all ranges of stages.
const maxCrowd = 128

// crowded reports whether a range of stages is too small for the tables that must be in it. In each stage, a container
// holds only one of the tables that one packet can run.
func (p *space) crowded(loads []load) bool {
	if p.exempt || len(loads) > maxCrowd {
		return false // left to the solver
	}
	sorted := slices.Clone(loads)
	slices.SortFunc(sorted, func(a, b load) int { return p.rank[a.table] - p.rank[b.table] })
	chain := make([]int, len(loads))
	// The tightest range begins with the first stage of a table and ends with the last stage of a table.
	var from, to []int
	for _, l := range loads {
		from, to = append(from, p.first[l.table]), append(to, p.last[l.table])
	}
	slices.Sort(from)
	slices.Sort(to)
	for _, a := range slices.Compact(from) {
		for _, b := range slices.Compact(to) {
			if a <= b && p.chain(sorted, a, b, chain) > len(p.widths)*(b-a+1) {
				return true
			}
		}
	}
	return false
}

// chain returns the maximum number of tables that one packet can run, among those that must be in stages a to b. Being
// on one path is transitive in program order.
func (p *space) chain(sorted []load, a, b int, chain []int) int {
	longest := 0
	for i, l := range sorted {
		chain[i] = 0
		if p.first[l.table] < a || p.last[l.table] > b {
			continue
		}
		for j := range i {
			if chain[j] > chain[i] && p.competes(sorted[j].table, l.table) {
				chain[i] = chain[j]
			}
		}
		chain[i]++
		longest = max(longest, chain[i])
	}
	return longest
}
