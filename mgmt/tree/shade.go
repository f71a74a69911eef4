package tree

import (
	"slices"
	"strings"
)

// IsOf reports whether a leaf represents data of a row of its group. It is false for the leaf that lists differences of
// rows.
func (n *Node) IsOf(row int) bool {
	return !n.behind && slices.ContainsFunc(n.Binds, func(b Bind) bool { return b.Row == row })
}

// ShadeLeaves hides the leaves of an entry that depend on some fields of a row, or on any field if all is set.
func (e *Entry) ShadeLeaves(row int, fields map[string]bool, all bool) {
	all = all || e.List.Rows[row].Template.Gather >= 0
	for _, n := range e.List.Leaves {
		if all && slices.ContainsFunc(n.Binds, func(b Bind) bool { return b.Row == row }) || n.DependsOn(e, row, fields) {
			e.ShadeLeaf(n)
		}
	}
}

// Known returns a row. For a row with {*} it returns the fields known of each of the rows.
func (r *ListRow) Known(rec map[string]string) map[string]string {
	if r.Template.Gather < 0 {
		return rec
	}
	rec = map[string]string{}
	for _, f := range strings.Fields(r.Of) {
		rec[f] = "2"
	}
	return rec
}

// dependsOn reports whether a codec's value depends on one of the given fields of a row.
func (c *Codec) dependsOn(keys []string, rec map[string]string, fields map[string]bool) bool {
	for f := range fields {
		if _, there := rec[f]; there && c.Depends(f, keys, rec) {
			return true
		}
	}
	return false
}

// Depends reports whether a codec's value depends on a field of a row.
func (c *Codec) Depends(field string, keys []string, rec map[string]string) bool {
	if c.Get == nil {
		return false
	}
	is := c.Get(Record{Keys: keys, Fields: rec, Own: rec})
	for _, other := range []string{"", "1", "another value"} {
		changed := make(map[string]string, len(rec))
		for f, v := range rec {
			if f != field {
				changed[f] = v
			} else if other != "" {
				changed[f] = other
			}
		}
		if !slices.Equal(is, c.Get(Record{Keys: keys, Fields: changed, Own: changed})) {
			return true
		}
	}
	return false
}

// DependsOn reports whether a leaf of an entry depends on one of the given fields of a row.
func (n *Node) DependsOn(e *Entry, row int, fields map[string]bool) bool {
	return slices.ContainsFunc(n.Binds, func(b Bind) bool {
		return b.Row == row && b.Codec.dependsOn(e.Keys, e.Rows[row], fields)
	})
}

// ShadeLeaf hides a leaf of the entry.
func (e *Entry) ShadeLeaf(n *Node) {
	if e.shaded == nil {
		e.shaded = map[*Node]bool{}
	}
	e.shaded[n] = true
}
