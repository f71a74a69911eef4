package recordplan

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"tamtam/tam/record"
)

// Settings say what plan to find.
type Settings struct {
	Containers record.Containers
	// Bits bounds how many bits of the containers are used. 0: all.
	Bits int
	// Stages that the pipeline has. 0: as few as the program's dependencies take; of a
	// graph that is Placed, its own.
	Stages    int
	Hits      bool     // hits too, section V
	Actions   bool     // and of hits the actions; greedy algorithms only
	Algorithm string   // record.BranchAndBound and so on; empty: record.Greedy
	Must      []string // tables that must be recorded
	Starts    int      // of record.GreedyRestarts: tables it begins with; 0: all
	// Budget is how many sets a search may evaluate; 0: [DefaultBudget]. A search that has used it
	// up returns the best that it has found, and a bound. It is not a time limit: the same input
	// gives the same plan.
	Budget uint64
	// Paper lets record.BranchAndBound use the paper's bound only: Algorithm 2 as it is
	// printed, with the check for the end of the array that is missing there.
	Paper bool
}

// DefaultBudget is the budget of a search.
const DefaultBudget = 400_000

// alike is the difference below which entropies are equal.
const alike = 1e-9

// A bit is one of a record: that a table ran, or that it hit.
type bit struct {
	table int
	hit   bool
}

// A search looks for the best set of bits. The order of a set is that of picking.
type search struct {
	ctx        context.Context
	m          *Model
	settings   Settings
	space      *space
	limit      int   // bits
	must       []bit // the least that must-record tables record
	candidates []bit
	best       found
	sets       uint64
	arcs       uint64 // visited to evaluate them, and similar work
	fitted     uint64 // sets checked against the constraints
	listed     int    // up to how many bits a piece of the relaxation is listed
	banned     int    // a table that greedy leaves out; -1: none
}

// found is a set with its placement.
type found struct {
	set     []bit
	loads   []load
	cells   []cell
	entropy float64
	bound   float64
}

// Plan finds a record plan, and fills in everything that follows from the graph. An error names the
// setting that is out of range, or the must-record tables that cannot all be recorded; the end of ctx ends
// the search with ctx's error.
func (m *Model) Plan(ctx context.Context, s Settings) (*record.Plan, error) {
	x, err := m.newSearch(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := x.run(); err != nil {
		return nil, err
	}
	return x.plan()
}

func (m *Model) newSearch(ctx context.Context, s Settings) (*search, error) {
	if s.Algorithm == "" {
		s.Algorithm = record.Greedy
	}
	if s.Budget == 0 {
		s.Budget = DefaultBudget
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Actions {
		s.Hits = true
		if s.Algorithm != record.Greedy && s.Algorithm != record.GreedyRestarts {
			return nil, fmt.Errorf("algorithm %q, want %s or %s where actions are recorded, whose bits no search can bound",
				s.Algorithm, record.Greedy, record.GreedyRestarts)
		}
		var err error
		if m, err = m.withActions(); err != nil {
			return nil, err
		}
	}
	space, err := m.own().newSpace(s.Containers, s.Stages)
	if err != nil {
		return nil, err
	}
	if len(m.tables) == 0 {
		return nil, errNoTables
	}
	x := &search{ctx: ctx, m: m, settings: s, space: space, limit: s.Containers.Bits(), listed: maxListed, banned: -1}
	if s.Bits > 0 {
		x.limit = s.Bits
	}
	x.candidates = m.recordable(s.Hits)
	return x, x.setMust()
}

// check checks the numbers of settings against their bounds.
func (s Settings) check() error {
	total := s.Containers.Bits()
	if total == 0 || total > record.MaxBits {
		return fmt.Errorf("containers of %d bits, want %s", total, record.ContainerWords)
	}
	for _, w := range s.Containers {
		if w != 8 && w != 16 && w != 32 {
			return fmt.Errorf("container of %d bits, want %s", w, record.ContainerWords)
		}
	}
	if s.Bits < 0 || s.Bits > total {
		return fmt.Errorf("%d bits of containers that have %d, want 1 to %d, or 0 for all", s.Bits, total, total)
	}
	if s.Stages < 0 || s.Stages > MaxTables {
		return fmt.Errorf("%d stages, want 1 to %d, or 0 for as few as the program takes", s.Stages, MaxTables)
	}
	return nil
}

// recordable are the bits that carry information: that a table ran which not every packet runs, and
// that one with a key hit.
func (m *Model) recordable(hits bool) (list []bit) {
	for i, t := range m.tables {
		if t.seg < 0 || m.aside(i) && t.layer == nil {
			continue
		}
		if !t.cut {
			list = append(list, bit{i, false})
		}
		if hits && !t.keyless {
			list = append(list, bit{i, true})
		}
	}
	return list
}

// setMust checks the must-record tables.
func (x *search) setMust() error {
	for i, id := range x.settings.Must {
		t, ok := x.m.index[id]
		switch {
		case !ok:
			return fmt.Errorf("must-record %q is no table of the program: want one of its %d, such as %q",
				id, len(x.m.own().tables), x.m.own().nearest(id))
		case slices.Contains(x.settings.Must[:i], id):
			return fmt.Errorf("must-record names %q twice", id)
		case x.m.tables[t].seg < 0:
			return fmt.Errorf("must-record %q: no packet comes to it", id)
		case !x.m.tables[t].cut:
			x.must = append(x.must, bit{t, false})
		case !x.settings.Hits:
			return fmt.Errorf("must-record %q: every packet runs it, so that there is nothing to record of it in mode %s",
				id, record.ModeExecution)
		case x.m.tables[t].keyless:
			return fmt.Errorf("must-record %q: every packet runs it, and it has no key to hit, "+
				"so that there is nothing to record of it", id)
		default:
			x.must = append(x.must, bit{t, true})
		}
	}
	if len(x.must) > x.limit {
		return fmt.Errorf("must-record asks for %d bits, want at most %d", len(x.must), x.limit)
	}
	loads := x.loads(x.must)
	cells, v := x.fit(loads)
	if v != fits {
		return x.whyNot(loads, v)
	}
	x.best = found{set: x.must, loads: loads, cells: cells, entropy: x.m.Entropy(choices(x.must)), bound: math.Inf(1)}
	return nil
}

// whyNot names a smallest set of must-record tables that do not fit together.
func (x *search) whyNot(loads []load, v verdict) error {
	if v == unknown {
		return fmt.Errorf("must-record: no place was found for %s within %d stages and containers %s",
			x.names(loads), x.space.stages, x.settings.Containers)
	}
	for i := 0; i < len(loads); {
		fewer := slices.Delete(slices.Clone(loads), i, i+1)
		if _, v := x.space.fit(fewer); v == fitsNot {
			loads = fewer
		} else {
			i++
		}
	}
	return fmt.Errorf("must-record: %s cannot all be recorded: packets can run them together, "+
		"and the stages they may be in are too few for containers %s, into each of which one table writes in a stage",
		x.names(loads), x.settings.Containers)
}

// names are tables with the stages that they may be in.
func (x *search) names(loads []load) string {
	var b strings.Builder
	for i, l := range loads {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q (stages %d to %d)", x.m.tables[l.table].id, x.space.first[l.table], x.space.last[l.table])
	}
	return b.String()
}

// loads are the tables of a set.
func (x *search) loads(set []bit) []load {
	var loads []load
	for _, b := range set {
		t := x.m.writer(b.table)
		i := slices.IndexFunc(loads, func(l load) bool { return l.table == t })
		if i < 0 {
			i = len(loads)
			loads = append(loads, load{table: t, container: free})
		}
		loads[i].bits++
	}
	return loads
}

// choices turn a set into what [Model.Entropy] takes.
func choices(set []bit) []Choice {
	var list []Choice
	for _, b := range set {
		list = append(list, Choice{Table: b.table, Ran: !b.hit, Hit: b.hit})
	}
	return list
}

func (x *search) run() error {
	switch x.settings.Algorithm {
	case record.Greedy:
		x.offer(x.greedy(x.must))
		x.bound()
	case record.GreedyRestarts:
		x.restarts()
		x.bound()
	case record.BranchAndBound:
		x.branchAndBound()
	case record.BruteForce:
		return x.brute()
	default:
		return fmt.Errorf("algorithm %q, want %s, %s, %s or %s", x.settings.Algorithm,
			record.BranchAndBound, record.Greedy, record.GreedyRestarts, record.BruteForce)
	}
	return x.ctx.Err()
}

// bound bounds the entropy of any plan. With actions nothing better is known than that of all that there is to record.
func (x *search) bound() {
	if x.settings.Actions {
		x.best.bound = x.m.Full(true)
		return
	}
	x.relax()
}

// offer keeps a set that is better than the best so far.
func (x *search) offer(f found) {
	if f.entropy > x.best.entropy+alike {
		bound := x.best.bound
		x.best = f
		x.best.bound = bound
	}
}

// allowed reports whether a bit may join a set: a hit is recorded beside the running
// that it needs, a digit of an action's number beside those below it.
func (x *search) allowed(set []bit, b bit) bool {
	if l := x.m.tables[b.table].layer; l != nil && l.prior >= 0 && !slices.Contains(set, bit{l.prior, false}) {
		return false
	}
	return b.table != x.banned && !slices.Contains(set, b) &&
		(!b.hit || x.m.tables[b.table].cut || slices.Contains(set, bit{b.table, false}))
}
