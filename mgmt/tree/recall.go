package tree

import (
	"math"
	"slices"

	"tamtam/swss"
)

// What leaves are follows from rows. To work it out is most of what a Get of many entries costs: so as long as the rows
// of an entry are those that they were at the last Get, by their versions, its values are taken from there.

// A Recall is the values of an entry's leaves, when its rows had these versions. Nobody changes it.
type Recall struct {
	vers   []uint64 // by row; 0: it was not known
	values []string // of all leaves whose rows were known, in order
	ends   []uint16 // by leaf, where its values end
}

// maxRecalled is how many values of an entry are remembered.
const maxRecalled = math.MaxUint16

// maxFollowed is of how many rows a group can be: a leaf has a bit for each that it follows from.
const maxFollowed = 64

// value returns a leaf's value. Who gets it does not change it.
func (c *Recall) value(n *Node) []string {
	from, to := uint16(0), c.ends[n.Index]
	if n.Index > 0 {
		from = c.ends[n.Index-1]
	}
	if from == to {
		return nil
	}
	return c.values[from:to:to]
}

// Recallable reports whether something of a group's entries may be remembered: that they are there is known by rows
// that are kept.
func (g *List) Recallable() bool {
	return g.Parent != nil &&
		!slices.ContainsFunc(g.Rows, func(r *ListRow) bool { return r.Entry && !r.versioned() })
}

// versioned reports whether the version of the row is known where its table is kept.
func (r *ListRow) versioned() bool { return r.Cacheable() && r.Template.Gather < 0 }

// followed are the rows of the group that a leaf's value follows from, a bit for each.
func (g *List) followed(n *Node) (rows uint64) {
	for i, r := range g.Rows {
		if r.Entry || n.behind && r.DB != swss.CountersDB { // see entry.behind
			rows |= 1 << i
		}
	}
	for _, b := range n.Binds {
		rows |= 1 << b.Row
	}
	return rows
}

// version is that of a row; 0: it is not known.
func (e *Entry) version(row int) uint64 {
	if v := e.Versions[row]; v != 0 || e.List.Rows[row].Serves(e.Keys) {
		return v
	}
	return Absent
}

// Follows returns the rows whose versions are those of a recall, a bit for each; stale: some are known that are not.
func (e *Entry) Follows(c *Recall) (same uint64, stale bool) {
	if c == nil {
		return 0, true
	}
	for i := range e.List.Rows {
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

// Whole reports whether all rows of the entry that can have a version have one.
func (e *Entry) Whole() bool {
	for i, r := range e.List.Rows {
		if r.versioned() && e.version(i) == 0 {
			return false
		}
	}
	return true
}

// Remembered makes the recall of an entry, with a buffer that it returns; nil: it has too many values. What a caller
// may not see of it makes no difference.
func (e *Entry) Remembered(buf []string) (*Recall, []string) {
	c := &Recall{vers: make([]uint64, len(e.Versions)), ends: make([]uint16, len(e.List.Leaves))}
	known := uint64(0)
	for i := range c.vers {
		if c.vers[i] = e.version(i); c.vers[i] != 0 {
			known |= 1 << i
		}
	}
	for i, n := range e.List.Leaves {
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

// Stamp stands for the versions of the rows that a leaf follows from; false: they are not all known.
func (e *Entry) Stamp(n *Node) (uint64, bool) {
	if e.Ports != nil {
		return 0, false
	}
	stamp := uint64(1)
	if e.Left {
		stamp = 2
	}
	for i := range e.Versions {
		if n.follows>>i&1 == 0 {
			continue
		}
		v := e.version(i)
		if v == 0 {
			return 0, false
		}
		stamp = mixed(stamp) + v
	}
	return mixed(stamp), true
}

// mixed is SplitMix64's: each bit of x makes half of all bits differ, and different x are different then.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
