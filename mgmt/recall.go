package mgmt

import (
	"math"
	"slices"

	"tamtam/swss"
)

// What leaves are follows from rows. To work it out is most of what a Get of many entries costs: so as long as the rows
// of an entry are those that they were at the last Get, by their versions, its values are taken from there.

// A recall is the values of an entry's leaves, when its rows had these versions. Nobody changes it.
type recall struct {
	vers   []uint64 // by row; 0: it was not known
	values []string // of all leaves whose rows were known, in order
	ends   []uint16 // by leaf, where its values end
}

// maxRecalled is how many values of an entry are remembered.
const maxRecalled = math.MaxUint16

// maxFollowed is of how many rows a group can be: a leaf has a bit for each that it follows from.
const maxFollowed = 64

// value returns a leaf's value. Who gets it does not change it.
func (c *recall) value(n *node) []string {
	from, to := uint16(0), c.ends[n.index]
	if n.index > 0 {
		from = c.ends[n.index-1]
	}
	if from == to {
		return nil
	}
	return c.values[from:to:to]
}

// recallable reports whether something of a group's entries may be remembered: that they are there is known by rows
// that are kept.
func (g *group) recallable() bool {
	return g.parent != nil &&
		!slices.ContainsFunc(g.rows, func(r *row) bool { return r.Entry && !r.versioned() })
}

// versioned reports whether the version of the row is known where its table is kept.
func (r *row) versioned() bool { return r.cacheable() && r.key.gather < 0 }

// followed are the rows of the group that a leaf's value follows from, a bit for each.
func (g *group) followed(n *node) (rows uint64) {
	for i, r := range g.rows {
		if r.Entry || n.behind && r.DB != swss.CountersDB { // see entry.behind
			rows |= 1 << i
		}
	}
	for _, b := range n.binds {
		rows |= 1 << b.row
	}
	return rows
}

// version is that of a row; 0: it is not known.
func (e *entry) version(row int) uint64 {
	if v := e.vers[row]; v != 0 || e.group.rows[row].serves(e.keys) {
		return v
	}
	return absent
}

// recall gives entries what is remembered of them, and remembers those of which all rows that can be were read.
func (r reader) recall(es []*entry) {
	if r.hub == nil || len(es) == 0 || !es[0].group.recallable() {
		return
	}
	var scratch []string
	for _, e := range es {
		if e.ports != nil {
			continue
		}
		id := entryKeys(e.keys)
		c := r.hub.memos.recalled(e.group, id)
		same, stale := e.follows(c)
		if stale && e.whole() {
			if c, scratch = e.remembered(scratch[:0]); c == nil {
				continue
			}
			r.hub.memos.of(e.group, id).recall.Store(c)
			same, _ = e.follows(c)
		}
		e.recalled, e.same = c, same
	}
}

// follows returns the rows whose versions are those of a recall, a bit for each; stale: some are known that are not.
func (e *entry) follows(c *recall) (same uint64, stale bool) {
	if c == nil {
		return 0, true
	}
	for i := range e.group.rows {
		switch v := e.version(i); {
		case v == 0:
		case v == c.vers[i]:
			same |= 1 << i
		default:
			stale = true
		}
	}
	return same, stale
}

// whole reports whether all rows of the entry that can have a version have one.
func (e *entry) whole() bool {
	for i, r := range e.group.rows {
		if r.versioned() && e.version(i) == 0 {
			return false
		}
	}
	return true
}

// remembered makes the recall of an entry, with a buffer that it returns; nil: it has too many values. What a caller
// may not see of it makes no difference.
func (e *entry) remembered(buf []string) (*recall, []string) {
	c := &recall{vers: make([]uint64, len(e.vers)), ends: make([]uint16, len(e.group.leaves))}
	known := uint64(0)
	for i := range c.vers {
		if c.vers[i] = e.version(i); c.vers[i] != 0 {
			known |= 1 << i
		}
	}
	for i, n := range e.group.leaves {
		if n.follows&^known == 0 {
			buf = append(buf, e.workOut(n)...)
		}
		if len(buf) > maxRecalled {
			return nil, buf
		}
		c.ends[i] = uint16(len(buf))
	}
	c.values = slices.Clone(buf)
	return c, buf
}
