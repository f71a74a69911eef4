package tree

import (
	"maps"
	"slices"
	"sort"
)

// TablesOf returns the cacheable tables that a selection reads.
func (m *Model) TablesOf(sel Selection) []TableID {
	seen := map[TableID]bool{}
	for _, g := range m.Lists {
		if sel[g] != nil {
			g.AddTables(seen)
		}
	}
	return slices.Collect(maps.Keys(seen))
}

// AddTables adds the cacheable tables of the list.
func (g *List) AddTables(seen map[TableID]bool) {
	for _, r := range g.Rows {
		if r.Cacheable() {
			seen[r.TableID()] = true
		}
	}
}

// A Selection is the leaves that a request asks for, by group.
type Selection map[*List]*Selected

// A Selected is the part of a selection in one list.
type Selected struct {
	Leaves []*Node
	Rows   []bool
	State  bool // true if some of the leaves are state
}

// SelectLeaves returns the leaves at and below n that pass the filter.
func (m *Model) SelectLeaves(n *Node, filter func(*Node) bool) Selection {
	sel := Selection{}
	var walk func(*Node)
	walk = func(n *Node) {
		for _, k := range n.Kids {
			if !k.Apart {
				walk(k)
			}
		}
		if n.Type == nil || !filter(n) {
			return
		}
		s := sel[n.List]
		if s == nil {
			s = &Selected{Rows: make([]bool, len(n.List.Rows))}
			sel[n.List] = s
		}
		s.Leaves = append(s.Leaves, n)
		s.State = s.State || !n.Config
		for _, b := range n.Binds {
			s.Rows[b.Row] = true
		}
	}
	walk(n)
	return sel
}

// An Entries holds entries sorted by their keys, by group.
type Entries map[*List][]*Entry

// below returns the entries of g whose keys begin with keys.
func (t Entries) below(g *List, keys []string) []*Entry {
	all := t[g]
	prefix := func(e *Entry) []string { return e.Keys[:min(len(keys), len(e.Keys))] }
	from := sort.Search(len(all), func(i int) bool { return CompareKeys(prefix(all[i]), keys) >= 0 })
	to := from + sort.Search(len(all)-from, func(i int) bool { return CompareKeys(prefix(all[from+i]), keys) > 0 })
	return all[from:to]
}
