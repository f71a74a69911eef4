package recordplan

// Certainty is what the paths that have a record say of a table.
type Certainty uint8

// The certainties.
const (
	Never  Certainty = iota // on none of them
	Maybe                   // on some
	Always                  // on all
)

// A TableSays is what a record says of one table.
type TableSays struct {
	Ran, Hit Certainty
	// How likely it ran, and hit, by the plan's probabilities.
	RanP, HitP float64
}

// Tell says of each table, in the order of [Decoder.Tables], whether the paths that
// have a record run it. Of an impossible record there are none: what it says counts for
// the tables that set its bits, and nothing is known of the others. Of bytes that are
// no record of the plan it is nil. How the packet ended is as for [Decoder.Decode].
func (d *Decoder) Tell(b []byte, end string) []TableSays {
	r, err := d.reader(end)
	if err != nil || d.check(b) != nil || r.stray(b) >= 0 {
		return nil
	}
	var all []TableSays
	if r.observe(b) {
		all = r.tell()
	}
	if all == nil {
		all = r.literally()
	}
	var tables []TableSays
	for _, t := range d.all.chain.tables {
		if t.id != "" {
			tables = append(tables, all[r.chain.index[t.id]])
		}
	}
	return tables
}

// literally takes a record at its word, by places in the chain.
func (r *reader) literally() []TableSays {
	list := make([]TableSays, len(r.chain.tables))
	certain := func(s seen) (Certainty, float64) {
		switch s {
		case yes:
			return Always, 1
		case no:
			return Never, 0
		}
		return Maybe, 0
	}
	for i, s := range r.w.says {
		t := &list[i]
		t.Ran, t.RanP = certain(s.ran)
		t.Hit, t.HitP = certain(s.hit)
	}
	return list
}

// tell says it of what was observed, by places in the chain.
func (r *reader) tell() []TableSays {
	c, w := r.chain, &r.w
	w.count(c)
	if !w.some {
		return nil
	}
	n := len(c.tables)
	all := w.sums[n+1]
	list := make([]TableSays, n)
	reach := make([]bool, n+2) // from the start; the start is at n+1
	before := make([]float64, n+2)
	canHit, canMiss := make([]bool, n), make([]bool, n)
	// passed: what of the steps that pass over a table begins at each, less what ends.
	passed := make([]int32, n+2)
	reach[n+1], before[n+1] = true, 1
	for from := -1; from < n; from++ {
		at := w.place(from)
		if !reach[at] || w.paths[at] == 0 {
			continue
		}
		edges := c.edges(from)
		for i := range edges {
			e := &edges[i]
			p, ok := w.step(from, e)
			if !ok || w.paths[e.to] == 0 {
				continue
			}
			reach[e.to] = true
			before[e.to] += before[at] * p
			passed[from+1]++
			passed[e.to]--
			if from >= 0 {
				said := w.says[from].hit
				canHit[from] = canHit[from] || e.canHit && said != no
				canMiss[from] = canMiss[from] || e.canMiss && said != yes
				if said != no && all > 0 {
					list[from].HitP += before[from] * e.hit * w.sums[e.to] / all
				}
			}
		}
	}
	over := int32(0)
	for i := range list {
		over += passed[i]
		t := &list[i]
		if !reach[i] || w.paths[i] == 0 {
			continue
		}
		t.Ran = Maybe
		if over == 0 {
			t.Ran = Always
		}
		if all > 0 {
			t.RanP = min(1, before[i]*w.sums[i]/all)
		}
		if canHit[i] {
			t.Hit = Maybe
			if !canMiss[i] && t.Ran == Always {
				t.Hit = Always
			}
		}
	}
	return list
}
