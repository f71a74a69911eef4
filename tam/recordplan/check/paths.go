package check

import (
	"slices"

	"tamtam/tam/record"
)

// Paths returns the paths that have a record. b holds the bytes of its containers, and known the other knowledge about
// the packet. Paths walks the plan's graph, which must be present, and shares no code with the decoders of records. It
// returns false if the walk needs more than steps steps.
func Paths(p *record.Plan, b []byte, known Known, steps int) (paths [][]string, ok bool) {
	w := &pathWalker{
		edges: map[string][]record.Edge{}, nodes: map[string]*record.Node{}, marks: map[string]marked{},
		left: steps, known: known, graph: p.Graph,
		acted: p.Graph.Acts(),
	}
	for i := range p.Graph.Nodes {
		w.nodes[p.Graph.Nodes[i].ID] = &p.Graph.Nodes[i]
	}
	for _, e := range p.Graph.Edges {
		w.edges[e.From] = append(w.edges[e.From], e)
	}
	demanded := w.read(p, b)
	if demanded < 0 {
		return nil, true
	}
	w.walk(w.after(p.Graph.Init), nil, demanded)
	return w.paths, w.left >= 0
}

// Known is the knowledge about a packet in addition to the bits of its record.
type Known struct {
	End    string            // end of the packet by [record.Graph.End]; "" if unknown
	Not    record.Classes    // classes that the packet does not have
	Met    []record.Trap     // tables that the packet ran, with outcomes, implied by its trap or its identities
	Labels map[string]string // label of the edge that the packet takes at each condition, if it gets there
}

// A fact is the value of a bit for one outcome at a table.
type fact uint8

const (
	open fact = iota
	denied
	demandedBit
)

type marked struct {
	ran, hit fact
	coded    bool     // true if the table records actions
	acts     []string // actions that match the set bits
}

type pathWalker struct {
	graph *record.Graph
	edges map[string][]record.Edge
	nodes map[string]*record.Node
	marks map[string]marked
	known Known
	left  int // remaining number of steps
	paths [][]string
	acted map[string][]string // actions of each table
}

// bitsSet returns the set bits of a record, by container and bit.
func bitsSet(containers record.Containers, b []byte) map[[2]int]bool {
	set := map[[2]int]bool{}
	at := 0
	for i, width := range containers {
		n := int(width) / 8
		for bit := range int(width) {
			if b[at+n-1-bit/8]>>(bit%8)&1 != 0 {
				set[[2]int{i, bit}] = true
			}
		}
		at += n
	}
	return set
}

// read evaluates the bits of a record, and returns the number of tables that must have run. It returns a negative
// number if a set bit has no table, or if a table hit without having run.
func (w *pathWalker) read(p *record.Plan, b []byte) int {
	containers, err := p.Containers()
	if err != nil || len(b) != containers.Bytes() {
		return -1
	}
	set := bitsSet(containers, b)
	demanded := 0
	for _, r := range p.Recorded {
		var m marked
		for _, x := range []struct {
			bit *int
			to  *fact
		}{{r.Ran, &m.ran}, {r.Hit, &m.hit}} {
			if x.bit == nil {
				continue
			}
			k := [2]int{r.Container, *x.bit}
			if *x.to = denied; set[k] {
				*x.to = demandedBit
				delete(set, k)
			}
		}
		if m.ran == denied && m.hit == demandedBit || !w.readActions(&r, &m, set) {
			return -1
		}
		if m.ran == demandedBit || m.hit == demandedBit {
			demanded++
		}
		w.marks[r.Table] = m
	}
	if len(set) > 0 {
		return -1
	}
	for _, t := range w.known.Met {
		if demanded = w.met(t, demanded); demanded < 0 {
			break
		}
	}
	return demanded
}

// met applies a known execution of a table.
func (w *pathWalker) met(t record.Trap, demanded int) int {
	if t.Table == "" {
		return demanded
	}
	m := w.marks[t.Table]
	if m.ran != demandedBit && m.hit != demandedBit {
		demanded++
	}
	hit := map[string]fact{record.Hit: demandedBit, record.Miss: denied}[t.Outcome]
	if m.ran == denied || hit != open && m.hit != open && m.hit != hit {
		return -1
	}
	if m.ran = demandedBit; hit != open {
		m.hit = hit
	}
	w.marks[t.Table] = m
	return demanded
}

// after returns the tables that a packet at a node can reach next, through conditions, and the end.
func (w *pathWalker) after(node string) []string {
	if node == record.Exit || w.nodes[node].Kind == record.Table {
		return []string{node}
	}
	var next []string
	for _, e := range w.edges[node] {
		next = append(next, w.follow(e)...)
	}
	slices.Sort(next)
	return slices.Compact(next)
}

// follow returns the targets of an edge. It returns none if the knowledge about the packet excludes the edge, or if no
// steps are left.
func (w *pathWalker) follow(e record.Edge) []string {
	w.left--
	if w.left < 0 {
		return nil
	}
	if e.To != record.Exit && w.nodes[e.From].Kind == record.Condition {
		if label, known := w.known.Labels[e.From]; w.ofOthers(e) || known && label != e.Label {
			return nil
		}
	}
	if e.To == record.Exit && w.known.End != "" {
		named := false
		for _, x := range w.graph.Ends {
			if x.From == e.From && x.Label == e.Label {
				if named = true; slices.Contains(x.How, w.known.End) {
					return []string{record.Exit}
				}
			}
		}
		if named {
			return nil
		}
	}
	return w.after(e.To)
}

// ofOthers reports whether an edge is restricted to a class that the packet does not have.
func (w *pathWalker) ofOthers(e record.Edge) bool {
	return slices.ContainsFunc(w.graph.Only, func(x record.Only) bool {
		for c := record.ClassIPv4; c <= record.ClassGroup; c <<= 1 {
			if w.known.Not&c != 0 && record.ClassName(c) == x.Class {
				return x.From == e.From && x.Label == e.Label
			}
		}
		return false
	})
}

// walk extends a path by each of its next tables. demanded is the number of tables that must still run.
func (w *pathWalker) walk(next, path []string, demanded int) {
	for _, t := range next {
		if w.left--; w.left < 0 {
			return
		}
		if t == record.Exit {
			if demanded == 0 {
				w.paths = append(w.paths, slices.Clone(path))
			}
			continue
		}
		m := w.marks[t]
		if m.ran == denied {
			continue
		}
		rest := demanded
		if m.ran == demandedBit || m.hit == demandedBit {
			rest--
		}
		var on []string
		for _, e := range w.edges[t] {
			if w.may(t, e, m.hit) {
				on = append(on, w.follow(e)...)
			}
		}
		slices.Sort(on)
		w.walk(slices.Compact(on), append(path, t), rest)
	}
}

// may reports whether a packet can take an edge from a table, given the fact about its hit.
func (w *pathWalker) may(table string, e record.Edge, hit fact) bool {
	other := func(e record.Edge) bool { return e.Label != record.Hit && e.Label != record.Miss }
	if !slices.ContainsFunc(w.edges[table], other) {
		return (hit == open || (e.Label == record.Hit) == (hit == demandedBit)) &&
			(e.Label == record.Miss || !w.marks[table].coded || len(w.marks[table].acts) > 0)
	}
	if w.marks[table].coded {
		return hit != demandedBit || w.acts(table, e)
	}
	return hit != demandedBit || !w.nodes[table].Keyless
}

// readActions evaluates the action bits of a table. It returns false if no packet can set this combination of bits.
func (w *pathWalker) readActions(r *record.Recorded, m *marked, set map[[2]int]bool) bool {
	if len(r.Actions) == 0 {
		return true
	}
	m.coded, m.acts = true, slices.Clone(w.acted[r.Table])
	hit := false
	for _, b := range r.Actions {
		k := [2]int{r.Container, b.Bit}
		is := set[k]
		delete(set, k)
		hit = hit || is
		m.acts = slices.DeleteFunc(m.acts, func(a string) bool { return slices.Contains(b.Of, a) != is })
	}
	if !hit {
		return true
	}
	if m.ran == denied || m.hit == denied || len(m.acts) == 0 {
		return false
	}
	m.hit = demandedBit
	return true
}

// acts reports whether a hit with the remaining actions can take an edge.
func (w *pathWalker) acts(table string, e record.Edge) bool {
	switch {
	case e.Label == record.Miss:
		return false
	case e.Label == "" || !slices.Contains(w.acted[table], e.Label):
		return len(w.marks[table].acts) > 0
	}
	return slices.Contains(w.marks[table].acts, e.Label)
}
