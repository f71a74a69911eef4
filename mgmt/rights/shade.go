package rights

import (
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Data that a line hides in one list often appears in another, too. For example, a rule is an entry of OpenConfig's ACL
// and of the raw tables. These correspondences are not declared, but found by trial. If the role may not read a leaf,
// all fields that can change the leaf's value are hidden. Leaves of other lists that depend on these fields are hidden,
// too.

// A shadow is a row of one group that another group also has. In the other group, lines hide something.
type shadow struct {
	row  int // index in the group
	of   tree.Bound
	made bool // true if the row is the row of APPL_DB that is made from the other group's row of CONFIG_DB
}

// findShadows finds the groups with rows that other groups also have, if lines hide something in the other groups.
func (v *View) findShadows() {
	v.shadows = map[*tree.List][]shadow{}
	if !v.Blind {
		return
	}
	for _, g := range v.model.Lists {
		for i, r := range g.Rows {
			if r.Source != "" || r.Table == tree.AnyTable {
				continue
			}
			for _, b := range v.model.Bound[r.TableID()] {
				if (b.List != g || g.Parent == nil) && b.Row.Map == r.Map && v.hides(b) {
					v.shadows[g] = append(v.shadows[g], shadow{row: i, of: b})
				}
			}
			for _, id := range madeOf(r) {
				for _, b := range v.model.Bound[id] {
					if b.List != g && v.hides(b) {
						v.shadows[g] = append(v.shadows[g], shadow{i, b, true})
					}
				}
			}
		}
	}
}

// madeOf returns the tables of CONFIG_DB from which rows of APPL_DB are made.
func madeOf(r *tree.ListRow) (ids []tree.TableID) {
	for _, t := range schema.Tables() {
		if r.DB == swss.ApplDB && t.Appl == r.Table && t.Config != "" {
			ids = append(ids, tree.TableID{DB: swss.ConfigDB, Table: t.Config})
		}
	}
	return ids
}

// hides reports whether lines hide a part of the entries that have a row.
func (v *View) hides(b tree.Bound) bool {
	taken := func(n *tree.Node) bool {
		return slices.ContainsFunc(v.grants[n], func(g grant) bool { return !g.implied && g.level < access.Read })
	}
	return taken(b.List.Node) || slices.ContainsFunc(b.List.Leaves, func(n *tree.Node) bool {
		return taken(n) && n.IsOf(b.Row.Index)
	})
}

// Shade hides the leaves of an entry whose data lines hide at other paths. It returns false if the whole entry is
// hidden.
func (v *View) Shade(e *tree.Entry) bool {
	for _, s := range v.shadows[e.List] {
		if s.of.List == e.List {
			v.shadeTops(e, s.row)
			continue
		}
		r := e.List.Rows[s.row]
		keys, ok := s.entries(e)
		if !ok {
			continue
		}
		if s.made {
			if v.limit(s.of.List.Node, keys) >= access.Read || !s.of.Row.Written() || len(s.of.Row.Template.Keys) == 0 {
				continue
			}
			if r.Entry {
				return false
			}
			e.ShadeLeaves(s.row, nil, true)
			continue
		}
		fields, all := v.hiddenFields(s.of, keys, r, e.Rows[s.row])
		// If the row does more than show that an entry exists, its entry has the data of an entry that the role may not
		// read.
		same := s.of.Row.Written() || s.of.Row.Template.Gather >= 0 || all || len(fields) > 0
		whole := same && v.limit(s.of.List.Node, keys) < access.Read && len(s.of.Row.Template.Keys) > 0
		if whole && r.Entry {
			return false
		}
		all = all || whole
		switch {
		case !all && len(fields) == 0:
		case r.Entry && r.Template.Gather >= 0: // its keys are made from these fields
			return false
		default:
			e.ShadeLeaves(s.row, fields, all)
		}
	}
	return true
}

// shadeTops hides leaves outside of lists that depend on the same fields of a row as an unreadable leaf below another
// top node.
func (v *View) shadeTops(e *tree.Entry, row int) {
	rec := e.Rows[row]
	for _, n := range e.List.Leaves {
		if !n.IsOf(row) || v.limit(n, e.Keys) >= access.Read {
			continue
		}
		fields := map[string]bool{}
		for _, b := range n.Binds {
			for f := range rec {
				if b.Row == row && b.Codec.Depends(f, e.Keys, rec) {
					fields[f] = true
				}
			}
		}
		for _, other := range e.List.Leaves {
			if top(other) != top(n) && other.DependsOn(e, row, fields) {
				e.ShadeLeaf(other)
			}
		}
	}
}

// top returns the top-level node above a node.
func top(n *tree.Node) *tree.Node {
	for n.Parent != nil && n.Parent.Parent != nil {
		n = n.Parent
	}
	return n
}

// entries returns a pattern of the other group's entries that have the row of an entry. ok is false if there is none.
func (s shadow) entries(e *tree.Entry) (keys []string, ok bool) {
	r := e.List.Rows[s.row]
	if e.Rows[s.row] == nil {
		return nil, false
	}
	if r.Template.Gather >= 0 { // one of several rows that are combined
		keys = tree.Extend(nil, s.of.List)
	} else {
		key := r.Template.Expand(e.Keys, e.Own())
		if s.made { // with a bar for the first colon only, since an address may contain others
			key = strings.Replace(key, ":", "|", 1)
		}
		if keys, ok = s.of.Row.Match(key, len(s.of.List.Keys)); !ok {
			return nil, false
		}
	}
	if s.of.Row.At != "" && len(keys) > 0 {
		keys[0] = s.of.Row.At
	}
	return keys, true
}

// hiddenFields returns the fields of a row on which unreadable leaves depend. all means that it may be any field.
func (v *View) hiddenFields(
	b tree.Bound, keys []string, r *tree.ListRow, rec map[string]string,
) (fields map[string]bool, all bool) {
	fields = map[string]bool{}
	rec = r.Known(rec)
	gathers := b.Row.Template.Gather >= 0
	note := func(n *tree.Node, codec *tree.Codec) {
		switch {
		case v.limit(n, keys) >= access.Read:
		case gathers && b.Row.Of != "":
			for _, f := range strings.Fields(b.Row.Of) {
				fields[f] = true
			}
		case gathers, len(b.Row.EachKeys) > 0 && !slices.Equal(b.Row.EachKeys, r.EachKeys):
			all = true
		case codec != nil:
			for f := range rec {
				if codec.Depends(f, keys, rec) {
					fields[f] = true
				}
			}
		}
	}
	if gathers {
		note(b.List.Node, nil)
	}
	for _, n := range b.List.Leaves {
		for i := range n.Binds {
			if n.Binds[i].Row == b.Row.Index {
				note(n, &n.Binds[i].Codec)
			}
		}
	}
	return fields, all
}
