package recordplan

// Certainty describes how many of the paths with a record contain a table.
type Certainty uint8

// The certainties.
const (
	Never  Certainty = iota // no path contains the table
	Maybe                   // some paths contain the table
	Always                  // all paths contain the table
)

// A TableSays is the conclusion from a record about one table.
type TableSays struct {
	Ran, Hit Certainty
	// RanP and HitP are the probabilities that the table ran and that it hit, by the plan's probabilities.
	RanP, HitP float64
}

// TableResults returns for each table, in the order of [Decoder.Tables], whether the paths with a record run it. For an
// impossible record, which has no paths, the set bits count for their tables, and nothing is known about others.
// TableResults returns nil if b is not a record of the plan. known has the same meaning as for [Decoder.Decode].
func (d *Decoder) TableResults(b []byte, known Knowledge) []TableSays {
	r, err := d.reader(known)
	if err != nil || d.check(b) != nil || r.stray(b) >= 0 {
		return nil
	}
	var all []TableSays
	if r.observe(b) {
		all = r.tableResults()
	}
	if all == nil {
		all = r.literally()
	}
	var tables []TableSays
	for _, t := range d.all.chain.tables {
		if t.id == "" {
			continue
		}
		says := TableSays{} // Never, because the knowledge about the packet leaves no path to this table
		if i, ok := r.chain.index[t.id]; ok {
			says = all[i]
		}
		tables = append(tables, says)
	}
	return tables
}

// literally returns the literal meaning of a record's bits, by index in the chain.
func (r *reader) literally() []TableSays {
	list := make([]TableSays, len(r.chain.tables))
	certain := func(s fact) (Certainty, float64) {
		switch s {
		case yes:
			return Always, 1
		case no:
			return Never, 0
		}
		return Maybe, 0
	}
	for i, s := range r.w.evidence {
		t := &list[i]
		t.Ran, t.RanP = certain(s.ran)
		t.Hit, t.HitP = certain(s.hit)
	}
	return list
}

// tableResults returns the result for the observed record, by index in the chain.
func (r *reader) tableResults() []TableSays {
	c, w := r.chain, &r.w
	w.count(c)
	if !w.some {
		return nil
	}
	all := w.sums[len(c.tables)+1]
	f := r.follow(all)
	list := make([]TableSays, len(c.tables))
	over := int32(0)
	for i := range list {
		over += f.passed[i]
		t := &list[i]
		t.HitP = f.hits[i]
		if !f.reach[i] || w.paths[i] == 0 {
			continue
		}
		t.Ran = Maybe
		if over == 0 {
			t.Ran = Always
		}
		if all > 0 {
			t.RanP = min(1, f.before[i]*w.sums[i]/all)
		}
		if f.canHit[i] {
			t.Hit = Maybe
			if !f.canMiss[i] && t.Ran == Always {
				t.Hit = Always
			}
		}
	}
	return list
}

// A course is the result of following packets from the start over the edges that the evidence allows. The start has
// index len(tables)+1, after the end.
type course struct {
	reach  []bool
	before []float64 // probability that a packet reaches the table
	passed []int32   // difference of the number of edges that skip a table, between this table and the previous one
	// For each table, whether its lookup can have hit or missed, and the probability of a hit.
	canHit, canMiss []bool
	hits            []float64
}

// follow follows all edges. all is the probability of the observed record.
func (r *reader) follow(all float64) course {
	c, w := r.chain, &r.w
	n := len(c.tables)
	f := course{
		reach: make([]bool, n+2), before: make([]float64, n+2), passed: make([]int32, n+2),
		canHit: make([]bool, n), canMiss: make([]bool, n), hits: make([]float64, n),
	}
	f.reach[n+1], f.before[n+1] = true, 1
	for from := -1; from < n; from++ {
		at := w.place(from)
		if !f.reach[at] || w.paths[at] == 0 {
			continue
		}
		edges := c.edges(from)
		for i := range edges {
			e := &edges[i]
			p, ok := w.step(from, e)
			if !ok || w.paths[e.to] == 0 {
				continue
			}
			f.reach[e.to] = true
			f.before[e.to] += float64(f.before[at] * p)
			f.passed[from+1]++
			f.passed[e.to]--
			if from >= 0 {
				f.lookUp(w, from, e, all)
			}
		}
	}
	return f
}

// lookUp adds the contribution of an edge to the outcome of its table's lookup.
func (f *course) lookUp(w *weigher, from int, e *chainEdge, all float64) {
	hit := w.evidence[from].hit
	f.canHit[from] = f.canHit[from] || e.canHit && hit != no
	f.canMiss[from] = f.canMiss[from] || e.canMiss && hit != yes
	if hit != no && all > 0 {
		f.hits[from] += f.before[from] * e.hit * w.sums[e.to] / all
	}
}
