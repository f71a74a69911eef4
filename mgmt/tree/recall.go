package tree

import (
	"math"
	"slices"

	"tamtam/swss"
)

// The values of leaves follow from rows. Computing them is most of the cost of a Get of many entries. So as long as the
// rows of an entry have the same versions as at the last Get, the values of that Get are reused.

// A Recall holds the values of an entry's leaves, computed from rows of these versions. It is immutable.
type Recall struct {
	vers   []uint64 // by row; 0 if the version was unknown
	values []string // of all leaves whose rows were known, in order
	ends   []uint16 // by leaf, where its values end
}

// maxRecalled bounds the number of values that are remembered for an entry.
const maxRecalled = math.MaxUint16

// maxFollowed bounds the number of rows of a group: a leaf has a bit for each row that it depends on.
const maxFollowed = 64

// value returns a leaf's value. Callers must not change it.
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

// Recallable reports whether values of a group's entries may be remembered: the rows that make up the entries must be
// cached.
func (g *List) Recallable() bool {
	return g.Parent != nil &&
		!slices.ContainsFunc(g.Rows, func(r *ListRow) bool { return r.Entry && !r.versioned() })
}

// versioned reports whether the version of the row is known if its table is cached.
func (r *ListRow) versioned() bool { return r.Cacheable() && r.Template.Gather < 0 }

// followed returns the rows of the group on which a leaf's value depends, as a bit set.
func (g *List) followed(n *Node) (rows uint64) {
	for i, r := range g.Rows {
		if r.Entry || n.behind && r.DB != swss.CountersDB { // see Entry.behind
			rows |= 1 << i
		}
	}
	for _, b := range n.Binds {
		rows |= 1 << b.Row
	}
	return rows
}

// version returns the version of a row, or 0 if it is unknown.
func (e *Entry) version(row int) uint64 {
	if v := e.Versions[row]; v != 0 || e.List.Rows[row].Serves(e.Keys) {
		return v
	}
	return Absent
}

// Follows returns, as a bit set, the rows that have the same versions as in a recall. stale reports whether some known
// versions differ.
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

// Remembered returns the recall of an entry, or nil if it has too many values. It uses buf, and returns it for the next
// call. The recall does not depend on the caller's rights.
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

// Stamp returns a hash of the versions of the rows that a leaf depends on. ok is false unless all are known.
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

// mixed returns SplitMix64's mix of x. Each bit of x changes half of all bits on average, and different x have
// different results.
func mixed(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
