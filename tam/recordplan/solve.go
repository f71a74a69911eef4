package recordplan

import "github.com/crillab/gophersat/solver"

// maxConflicts is the number of conflicts after which the solver is stopped, so that every call ends.
const maxConflicts = 4000

// maxClauses limits the size of a problem. Larger problems are not decided.
const maxClauses = 500_000

// solve calls the SAT solver. It is the only function that uses it. The solution is checked against the constraints
// again before it is used.
//
// The stage of a load is a row of variables "not before stage s", and its container another row. A third kind of
// variable means that a load is in a container in a stage, where competing loads exclude each other.
func (p *space) solve(loads []load) ([]cell, verdict) {
	if len(loads)*len(loads)*p.stages*len(p.widths) > maxClauses {
		return nil, unknown
	}
	p.solves++
	e := encoder{space: p, loads: loads}
	e.encode()
	if e.never {
		return nil, fitsNot
	}
	problem := solver.ParsePBConstrs(e.constraints)
	status, model := runSolver(problem, maxConflicts)
	switch status {
	case solver.Unsat:
		return nil, fitsNot
	case solver.Sat:
		if cells := e.read(model); p.holds(loads, cells) {
			return cells, fits
		}
	}
	return nil, unknown
}

// runSolver limits the solver by its number of conflicts. The library has no such limit, but writes the proof of each
// conflict to a channel. runSolver closes this channel after maxConflicts proofs. The race detector reports that as an
// error, so there is no limit in race builds.
func runSolver(problem *solver.Problem, conflicts int) (status solver.Status, model []bool) {
	if problem.Status == solver.Unsat {
		return solver.Unsat, nil
	}
	if !bounded {
		s := solver.New(problem)
		if status = s.Solve(); status == solver.Sat {
			model = s.Model()
		}
		return status, model
	}
	proof, done, stopped := make(chan string), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for range conflicts {
			select {
			case <-proof:
			case <-done:
				return
			}
		}
		close(proof)
	}()
	defer func() {
		close(done)
		<-stopped
		if recover() != nil { // the solver panicked because it wrote to the closed channel
			status, model = solver.Indet, nil
		}
	}()
	s := solver.New(problem)
	s.Certified, s.CertChan = true, proof
	if status = s.Solve(); status == solver.Sat {
		model = s.Model()
	}
	return status, model
}

// An encoder converts loads to constraints.
type encoder struct {
	*space
	loads       []load
	vars        int
	from        []int // first stage variable of each load
	in          []int // first container variable of each load
	constraints []solver.PBConstr
	never       bool
}

func (e *encoder) clause(lits ...int) {
	e.constraints = append(e.constraints, solver.PropClause(lits...))
}

func (e *encoder) encode() {
	for _, l := range e.loads {
		lo, hi := e.first[l.table], e.last[l.table]
		if lo > hi {
			e.never = true
			return
		}
		e.from = append(e.from, e.vars+1)
		e.vars += hi - lo
		e.in = append(e.in, e.vars+1)
		e.vars += len(e.widths)
	}
	for i, l := range e.loads {
		for s := e.first[l.table] + 2; s <= e.last[l.table]; s++ {
			e.clause(-e.notBefore(i, s), e.notBefore(i, s-1))
		}
		e.container(i, l)
	}
	e.capacity()
	e.order()
	e.exclusion()
}

// always and nothing represent literals that are true and false.
const (
	always  = 1 << 30
	nothing = -always
)

// notBefore returns the literal for a load in stage s or later.
func (e *encoder) notBefore(i, s int) int {
	t := e.loads[i].table
	switch {
	case s <= e.first[t]:
		return always
	case s > e.last[t]:
		return nothing
	}
	return e.from[i] + s - e.first[t] - 1
}

// container requires exactly one container for a load.
func (e *encoder) container(i int, l load) {
	var any []int
	for c := range e.widths {
		any = append(any, e.in[i]+c)
		if l.container != free && l.container != c {
			e.clause(-(e.in[i] + c))
		}
		for d := range c {
			e.clause(-(e.in[i] + c), -(e.in[i] + d))
		}
	}
	e.clause(any...)
}

// capacity encodes C3.
func (e *encoder) capacity() {
	for c, w := range e.widths {
		var lits, bits []int
		sum := 0
		for i, l := range e.loads {
			lits, bits = append(lits, e.in[i]+c), append(bits, l.bits)
			sum += l.bits
		}
		if sum > w {
			e.constraints = append(e.constraints, solver.LtEq(lits, bits, w))
		}
	}
}

// order encodes C4 for pairs of loads.
func (e *encoder) order() {
	for i, a := range e.loads {
		for j, b := range e.loads {
			g := e.gap(a.table, b.table)
			if i == j || g < 0 {
				continue
			}
			for s := e.first[a.table]; s <= e.last[a.table]; s++ {
				e.imply(e.notBefore(i, s), e.notBefore(j, s+g))
			}
		}
	}
}

func (e *encoder) imply(a, b int) {
	switch {
	case a == nothing || b == always:
	case a == always && b == nothing:
		e.never = true
	case a == always:
		e.clause(b)
	case b == nothing:
		e.clause(-a)
	default:
		e.clause(-a, b)
	}
}

// exclusion encodes C5.
func (e *encoder) exclusion() {
	use := map[[3]int]int{} // variables for the cell of a load
	where := func(i, c, s int) int {
		k := [3]int{i, c, s}
		if v, ok := use[k]; ok {
			return v
		}
		e.vars++
		use[k] = e.vars
		lits := []int{e.vars, -(e.in[i] + c)}
		if l := e.notBefore(i, s); l != always {
			lits = append(lits, -l)
		}
		if l := e.notBefore(i, s+1); l != nothing {
			lits = append(lits, l)
		}
		e.clause(lits...)
		return e.vars
	}
	for i, a := range e.loads {
		for j, b := range e.loads[:i] {
			if !e.competes(a.table, b.table) {
				continue
			}
			lo := max(e.first[a.table], e.first[b.table])
			hi := min(e.last[a.table], e.last[b.table])
			for s := lo; s <= hi; s++ {
				for c := range e.widths {
					e.clause(-where(i, c, s), -where(j, c, s))
				}
			}
		}
	}
}

// read converts a solution to cells.
func (e *encoder) read(model []bool) []cell {
	truth := func(v int) bool { return v <= len(model) && model[v-1] }
	cells := make([]cell, len(e.loads))
	for i, l := range e.loads {
		s := e.first[l.table]
		for s < e.last[l.table] && truth(e.notBefore(i, s+1)) {
			s++
		}
		cells[i].stage = s
		for c := range e.widths {
			if truth(e.in[i] + c) {
				cells[i].container = c
			}
		}
	}
	return cells
}

// holds reports whether cells satisfy the constraints.
func (p *space) holds(loads []load, cells []cell) bool {
	room := make([]int, len(p.widths))
	for i, a := range loads {
		sa := cells[i]
		room[sa.container] += a.bits
		if room[sa.container] > p.widths[sa.container] || sa.stage < p.first[a.table] || sa.stage > p.last[a.table] {
			return false
		}
		for j, b := range loads {
			sb := cells[j]
			if g := p.gap(a.table, b.table); i != j && g >= 0 && sb.stage-sa.stage < g {
				return false
			}
			if i != j && sa == sb && p.competes(a.table, b.table) {
				return false
			}
		}
	}
	return true
}
