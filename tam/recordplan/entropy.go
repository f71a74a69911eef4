package recordplan

// A Choice is a table that records its execution, its hit, or both. For a table that every packet runs, execution
// carries no information.
type Choice struct {
	Table    int
	Ran, Hit bool
}

// Bits that a table can have in a record.
const (
	showsRan = 1 << iota
	showsHit
)

// shown holds the recorded bits of each table of a segment, by node.
type shown []uint8

// shownBy sorts choices by segment. It omits the execution of tables that every packet runs, which is always known.
func (m *Model) shownBy(set []Choice) []shown {
	all := make([]shown, len(m.segments))
	for i := range all {
		all[i] = make(shown, len(m.segments[i].nodes))
	}
	for _, c := range set {
		t := &m.tables[c.Table]
		if t.seg < 0 {
			continue // no packet reaches the table
		}
		if c.Ran && !t.cut {
			m.nodesOf(c.Table, func(at int) { all[t.seg][at] |= showsRan })
		}
		if c.Hit {
			all[t.seg][t.at] |= showsHit
		}
	}
	return all
}

// Entropy returns the exact joint entropy, in bits, of what a set of choices records.
//
// A record corresponds to the sequence of its events: recorded tables that ran or hit. The events after an event do not
// depend on those before it, so they form a Markov chain. The entropy of the record is the sum over all events: the
// event's probability times the entropy of the next event. No path is enumerated: the work is one walk through the
// segment per event.
func (m *Model) Entropy(set []Choice) float64 {
	var w walker
	h := 0.0
	for i, v := range m.shownBy(set) {
		h += w.entropy(&m.segments[i], v)
	}
	return h
}

// Equation2 returns the result of the paper's equation 2. It is the entropy of the executions, plus the entropy of each
// recorded hit, as if no other event depended on the hit.
func (m *Model) Equation2(set []Choice) float64 {
	h := 0.0
	ran := make([]Choice, len(set))
	for i, c := range set {
		t := &m.tables[c.Table]
		ran[i] = Choice{Table: c.Table, Ran: true}
		if c.Hit {
			h += float64(t.ran * (surprise(t.hit) + surprise(1-t.hit)))
		}
	}
	return h + m.Entropy(ran)
}

// Full returns the entropy in bits of a record that contains every choice of the mode.
func (m *Model) Full(hits bool) float64 { return m.Entropy(m.Everything(hits)) }

// Everything returns all choices of the mode.
func (m *Model) Everything(hits bool) []Choice {
	var set []Choice
	for i, t := range m.tables {
		c := Choice{Table: i, Ran: !t.cut, Hit: hits && !t.keyless}
		if c.Ran || c.Hit {
			set = append(set, c)
		}
	}
	return set
}

// Outcomes of an event at a table.
const (
	missed = iota
	didHit
	either // the outcome is not recorded
)

// An event is a possible next event of a record, with its probability. At the segment's end node is len(nodes).
type event struct {
	node, outcome int
	p             float64
}

// A walker has the memory for walks through segments.
type walker struct {
	mass  []float64
	found []event
	arcs  uint64 // number of arcs followed so far
}

func (w *walker) clear(n int) {
	if cap(w.mass) < n {
		w.mass = make([]float64, n)
	}
	w.mass = w.mass[:n]
	w.found = w.found[:0]
}

// entropy returns the entropy of a segment's part of the record.
func (w *walker) entropy(s *segment, v shown) float64 {
	h := 0.0
	for i := range s.nodes {
		n := &s.nodes[i]
		show := v[i]
		if i > 0 && (show == 0 || n.ran == 0) {
			continue
		}
		if show&showsHit == 0 {
			h += float64(n.ran * w.branching(s, v, i, either))
			continue
		}
		if i == 0 {
			h += surprise(n.hit) + surprise(1-n.hit)
		}
		if n.hit > 0 {
			h += float64(n.ran * n.hit * w.branching(s, v, i, didHit))
		}
		if n.hit < 1 && (show&showsRan != 0 || i == 0) {
			h += float64(n.ran * (1 - n.hit) * w.branching(s, v, i, missed))
		}
	}
	return h
}

// branching returns the entropy of the event that follows this one.
func (w *walker) branching(s *segment, v shown, from, outcome int) float64 {
	h := 0.0
	for _, e := range w.after(s, v, from, outcome) {
		h += surprise(e.p)
	}
	return h
}

// after returns the events that can follow an event.
func (w *walker) after(s *segment, v shown, from, outcome int) []event {
	end := len(s.nodes)
	w.clear(end + 1)
	clear(w.mass[from:])
	w.leave(&s.nodes[from], outcome, 1)
	for i := from + 1; i < end; i++ {
		p := w.mass[i]
		if p == 0 {
			continue
		}
		n := &s.nodes[i]
		switch v[i] {
		case 0:
			w.leave(n, either, p)
		case showsRan:
			w.found = append(w.found, event{i, either, p})
		case showsHit:
			w.found = append(w.found, event{i, didHit, p * n.hit})
			w.leave(n, missed, p*(1-n.hit))
		default:
			w.found = append(w.found, event{i, didHit, p * n.hit}, event{i, missed, p * (1 - n.hit)})
		}
	}
	w.found = append(w.found, event{end, either, w.mass[end]})
	return w.found
}

// leave distributes the probability at a node over its arcs.
func (w *walker) leave(n *node, outcome int, p float64) {
	if outcome == either && n.decide {
		w.leave(n, missed, p*(1-n.hit))
		w.leave(n, didHit, p*n.hit)
		return
	}
	w.arcs += uint64(len(n.next[outcome&1]))
	for _, a := range n.next[outcome&1] {
		w.mass[a.to] += float64(p * a.p)
	}
}
