package recordplan

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"tamtam/tam/record"
)

// Settings control the search for a plan.
type Settings struct {
	Containers record.Containers
	// Bits is the maximum number of used bits of the containers. Zero means all.
	Bits int
	// Stages is the number of stages of the pipeline. Zero means as many as the program's dependencies require, or
	// those of a graph that is Placed.
	Stages    int
	Hits      bool     // true if hits are also recorded (section V)
	Actions   bool     // true if the actions of hits are also recorded; for greedy algorithms only
	Algorithm string   // record.BranchAndBound and so on; "" means record.Greedy
	Must      []string // names of the must-record tables
	Starts    int      // number of first tables for record.GreedyRestarts; zero means all
	// Budget is the number of sets that a search may evaluate. Zero means [DefaultBudget]. A search that has spent its
	// budget returns its best set and a bound. It is not a time limit: the same input gives the same plan.
	Budget uint64
	// Paper restricts record.BranchAndBound to the paper's bound: Algorithm 2 as printed, plus the check for the end of
	// the array that the paper omits.
	Paper bool
}

// DefaultBudget is the default budget of a search.
const DefaultBudget = 400_000

// alike is the difference below which entropies count as equal.
const alike = 1e-9

// A bit is a bit of a record: a table's execution, or its hit.
type bit struct {
	table int
	hit   bool
}

// A search looks for the best set of bits. The order of a set is the order of selection.
type search struct {
	ctx        context.Context
	m          *Model
	settings   Settings
	space      *space
	limit      int   // maximum number of bits
	must       []bit // minimum set of bits of the must-record tables
	candidates []bit
	best       found
	sets       uint64
	arcs       uint64 // number of arcs visited in evaluations, and of similar steps
	fitted     uint64 // number of sets checked against the constraints
	listed     int    // maximum number of bits of a piece whose sets are listed
	banned     int    // index of a table that greedy leaves out, or -1
}

// found is a set with its placement.
type found struct {
	set     []bit
	loads   []load
	cells   []cell
	entropy float64
	bound   float64
}

// Plan finds a record plan and fills in everything that follows from the graph. An error names the setting that is out
// of range, or the must-record tables that cannot all be recorded. When ctx ends, the search returns ctx's error.
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

// check checks the limits of settings.
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

// recordable returns the bits that carry information: the execution of tables that not every packet runs, and the hits
// of tables with a key.
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

// whyNot returns an error with a minimal set of must-record tables that do not fit together.
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

// names returns the tables of loads with their possible stages.
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

// loads returns the tables of a set as loads.
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

// choices converts a set for [Model.Entropy].
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

// bound sets an upper bound of the entropy of all plans. With actions the only known bound is the entropy of everything
// that can be recorded.
func (x *search) bound() {
	if x.settings.Actions {
		x.best.bound = x.m.Full(true)
		return
	}
	x.relax()
}

// offer stores a set as the best one if it is better than the best so far.
func (x *search) offer(f found) {
	if f.entropy > x.best.entropy+alike {
		bound := x.best.bound
		x.best = f
		x.best.bound = bound
	}
}

// allowed reports whether a bit may join a set. A hit requires the execution bit of its table. A digit of an action's
// number requires the digits below it.
func (x *search) allowed(set []bit, b bit) bool {
	if l := x.m.tables[b.table].layer; l != nil && l.prior >= 0 && !slices.Contains(set, bit{l.prior, false}) {
		return false
	}
	return b.table != x.banned && !slices.Contains(set, b) &&
		(!b.hit || x.m.tables[b.table].cut || slices.Contains(set, bit{b.table, false}))
}
