package check

import (
	"math"
	"slices"

	"tamtam/tam/record"
)

// actions checks the action bits of a table.
func (c *checker) actions(r record.Recorded) {
	if len(r.Actions) == 0 {
		return
	}
	if c.plan.Mode != record.ModeAction {
		c.say("table %q records actions in mode %s", r.Table, c.plan.Mode)
	}
	acts := c.plan.Graph.Acts()[r.Table]
	if len(acts) == 0 {
		c.say("table %q records actions, and a hit has but one", r.Table)
		return
	}
	for _, b := range r.Actions {
		seen := map[string]bool{}
		for _, a := range b.Of {
			if !slices.Contains(acts, a) || seen[a] {
				c.say("table %q: bit %d is of action %q, want actions of the table, each once", r.Table, b.Bit, a)
			}
			seen[a] = true
		}
		if len(seen) == 0 || len(seen) == len(acts) {
			c.say("table %q: bit %d is of %d of %d actions, which says nothing of them", r.Table, b.Bit, len(seen), len(acts))
		}
	}
}

// An outcome is a possible result of a packet's lookup in a table.
type outcome struct {
	hit bool
	act string // action of the entry, after a hit
	to  string
	p   float64
}

// acted returns the outcomes at a table whose entries have some actions. If the table branches by its hit, all actions
// have equal shares. Otherwise an edge belongs to the action of its label, or to all actions. Packets on such an edge
// hit at the table's rate, unless the label is a miss.
func (w *weigher) acted(at string, acts []string) (list []outcome) {
	var edges []record.Edge
	labels := map[string]int{}
	missed := 0.0
	for _, e := range w.next[at] {
		if !slices.Contains(edges, e) {
			edges = append(edges, e)
			labels[e.To]++
		}
	}
	of := func(e record.Edge) float64 {
		if w.branches[at] {
			return w.share[at][edgeKey{e.To, e.Label}]
		}
		return w.share[at][edgeKey{to: e.To}] / float64(labels[e.To])
	}
	for _, e := range edges {
		if e.Label == record.Miss {
			missed += of(e)
		}
	}
	hits := 1.0 // hit rate of packets on edges that are not labelled as misses
	if left := 1 - missed; !w.branches[at] {
		if hits = 0; left > 0 {
			hits = math.Min(w.hits[at], left) / left
		}
	}
	for _, e := range edges {
		p := of(e)
		if e.Label == record.Miss {
			list = append(list, outcome{to: e.To, p: p})
			continue
		}
		if !w.branches[at] {
			list = append(list, outcome{to: e.To, p: p * (1 - hits)})
		}
		its := acts
		if !w.branches[at] && e.Label != "" && slices.Contains(acts, e.Label) {
			its = []string{e.Label}
		}
		for _, a := range its {
			list = append(list, outcome{true, a, e.To, p * hits / float64(len(its))})
		}
	}
	return list
}

// walkActed follows the outcomes of a table whose entries have some actions.
func (w *weigher) walkActed(at string, acts []string, p float64, rec, all, path []string) {
	for _, o := range w.acted(at, acts) {
		rec, all := rec[:len(rec):len(rec)], append(all[:len(all):len(all)], at)
		if w.ran[at] {
			rec = append(rec, "ran "+at)
		}
		if o.hit {
			if w.hit[at] {
				rec = append(rec, "hit "+at)
			}
			for i, b := range w.bits[at] {
				if slices.Contains(b.Of, o.act) {
					rec = append(rec, at+" "+string(rune('0'+i)))
				}
			}
			all = append(all, "hit", o.act)
		}
		w.walk(o.to, p*o.p, rec, all, path)
	}
}
