package check

import (
	"math"
	"slices"
	"strings"

	"tamtam/tam/libm"
	"tamtam/tam/record"
)

// maxPaths is the maximum number of paths for enumeration.
const maxPaths = 20_000

// near is the tolerance for figures.
const near = 1e-6

// figures checks the plan's own figures if the graph has at most maxPaths paths.
func (c *checker) figures() {
	p := c.plan
	if p.Probabilities == nil || len(c.wrong) > 0 {
		return
	}
	w := &weigher{
		checker: c, records: map[string]float64{}, everything: map[string]float64{}, paths: map[string]map[string]bool{},
	}
	for _, r := range p.Recorded {
		w.recorded(r)
	}
	if p.Mode == record.ModeAction {
		w.acts = p.Graph.Acts()
	}
	w.shares()
	w.walk(p.Graph.Init, 1, nil, nil, nil)
	if w.pathCount > maxPaths {
		return
	}
	alone := 0.0
	for r, of := range w.paths {
		if len(of) == 1 {
			alone += w.records[r]
		}
	}
	for _, f := range []struct {
		name           string
		reported, want float64
	}{
		{"entropy", p.Entropy, bits(w.records)}, {"full entropy", p.Full, bits(w.everything)},
		{"recovery", p.Recovery, alone},
	} {
		if math.Abs(f.reported-f.want) > near {
			c.say("%s %.9g, want %.9g", f.name, f.reported, f.want)
		}
	}
	if p.Entropy > p.Bound+near {
		c.say("entropy %.9g above its bound %.9g", p.Entropy, p.Bound)
	}
}

// bits returns the entropy of a distribution.
func bits(of map[string]float64) float64 {
	h := 0.0
	for _, p := range of {
		if p > 0 {
			h -= float64(p * libm.Log2(p))
		}
	}
	return h
}

// A weigher walks all paths of a graph.
type weigher struct {
	*checker
	ran, hit   map[string]bool // tables that record their execution, and tables that record their hit
	bits       map[string][]record.ActionBit
	acts       map[string][]string            // actions of tables whose actions are distinguished
	share      map[string]map[edgeKey]float64 // share of each edge among the node's packets
	hits       map[string]float64             // hit rate of each table
	branches   map[string]bool                // tables that branch by their hit
	records    map[string]float64             // probability of each record
	everything map[string]float64             // probability of each complete record
	paths      map[string]map[string]bool     // sequences of tables of each record
	pathCount  int
}

// An edgeKey is an edge, with the outcome for tables that branch by their hit.
type edgeKey struct{ to, outcome string }

func (w *weigher) recorded(r record.Recorded) {
	if w.ran == nil {
		w.ran, w.hit, w.bits = map[string]bool{}, map[string]bool{}, map[string][]record.ActionBit{}
	}
	w.ran[r.Table] = r.Ran != nil
	w.hit[r.Table] = r.Hit != nil
	w.bits[r.Table] = r.Actions
}

// shares reads the probabilities.
func (w *weigher) shares() {
	w.share, w.hits, w.branches = map[string]map[edgeKey]float64{}, map[string]float64{}, map[string]bool{}
	for id, n := range w.nodes {
		w.share[id] = map[edgeKey]float64{}
		w.branches[id] = n.Kind == record.Table && !slices.ContainsFunc(w.next[id], func(e record.Edge) bool {
			return e.Label != record.Hit && e.Label != record.Miss
		})
		w.hits[id] = 0.5
		if h, ok := w.plan.Probabilities.Hits[id]; ok {
			w.hits[id] = h
		}
		if n.Keyless && !w.branches[id] {
			w.hits[id] = 0
		}
		for _, e := range w.next[id] {
			w.share[id][w.edgeKeyOf(e)] += 0
		}
	}
	loose := w.edgeShares()
	for id := range w.nodes {
		if w.branches[id] {
			w.part(id, loose[id])
		}
	}
}

// edgeShares adds up the probabilities of edges. It returns the unlabelled probabilities of successors to which both
// hit and miss lead, by node and successor.
func (w *weigher) edgeShares() map[string]map[string]float64 {
	loose := map[string]map[string]float64{}
	for _, e := range w.plan.Probabilities.Edges {
		to := record.Exit
		if e.To != nil {
			to = *e.To
		}
		var fits []edgeKey
		for v := range w.share[e.From] {
			if v.to == to && (e.Label == "" || v.outcome == "" || v.outcome == e.Label) {
				fits = append(fits, v)
			}
		}
		switch len(fits) {
		case 1:
			w.share[e.From][fits[0]] += e.P
		case 2:
			if loose[e.From] == nil {
				loose[e.From] = map[string]float64{}
			}
			loose[e.From][to] += e.P
		}
	}
	return loose
}

func (w *weigher) edgeKeyOf(e record.Edge) edgeKey {
	if w.branches[e.From] {
		return edgeKey{e.To, e.Label}
	}
	return edgeKey{to: e.To}
}

// part splits unlabelled probabilities between hit and miss so that the table has its hit rate.
func (w *weigher) part(id string, loose map[string]float64) {
	hit, open := 0.0, 0.0
	for v, p := range w.share[id] {
		if v.outcome == record.Hit {
			hit += p
		}
	}
	for _, p := range loose {
		open += p
	}
	part := 0.5
	if h, ok := w.plan.Probabilities.Hits[id]; ok && open > 0 {
		part = math.Min(math.Max((h-hit)/open, 0), 1)
	}
	for to, p := range loose {
		w.share[id][edgeKey{to, record.Hit}] += float64(p * part)
		w.share[id][edgeKey{to, record.Miss}] += float64(p * (1 - part))
	}
}

// arrive adds a path that has reached the end.
func (w *weigher) arrive(p float64, rec, all, path []string) {
	w.pathCount++
	r := strings.Join(rec, "\x00")
	w.records[r] += p
	w.everything[strings.Join(all, "\x00")] += p
	if w.paths[r] == nil {
		w.paths[r] = map[string]bool{}
	}
	w.paths[r][strings.Join(path, "\x00")] = true
}

// chance returns the probability of a lookup's outcome, or 1 if the shares of the following edges contain it.
func (w *weigher) chance(table, outcome string) float64 {
	switch {
	case w.branches[table]:
		return 1
	case outcome == record.Hit:
		return w.hits[table]
	}
	return 1 - w.hits[table]
}

// walk follows every path, with its record so far, its complete record, and its tables.
func (w *weigher) walk(at string, p float64, rec, all, path []string) {
	if w.pathCount > maxPaths {
		return
	}
	if at == record.Exit {
		w.arrive(p, rec, all, path)
		return
	}
	if w.nodes[at].Kind != record.Table {
		for v, q := range w.share[at] {
			w.walk(v.to, p*q, rec, all, path)
		}
		return
	}
	path = append(path[:len(path):len(path)], at)
	if acts := w.acts[at]; acts != nil {
		w.walkActed(at, acts, p, rec, all, path)
		return
	}
	for _, outcome := range []string{record.Hit, record.Miss} {
		o := w.chance(at, outcome)
		if o == 0 {
			continue
		}
		rec, all := rec[:len(rec):len(rec)], append(all[:len(all):len(all)], at)
		if w.ran[at] {
			rec = append(rec, "ran "+at)
		}
		if w.hit[at] && outcome == record.Hit {
			rec = append(rec, "hit "+at)
		}
		if w.plan.Mode != record.ModeExecution && !w.nodes[at].Keyless {
			all = append(all, outcome)
		}
		for v, q := range w.share[at] {
			if v.outcome == "" || v.outcome == outcome {
				w.walk(v.to, p*q*o, rec, all, path)
			}
		}
	}
}
