package rights

import (
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// What a line takes away of one list is often in another, too: a rule is an entry of OpenConfig's ACL and of the tables
// as SONiC has them. There is no list of that. It is tried: fields of a row on which a leaf depends that the role may
// not read are those without which, or with another value of which, the leaf would be another. What depends on these in
// the other list is not shown either.

// A shadow is a row of a group that another group has too, of which lines take something away.
type shadow struct {
	row  int // of the group
	of   tree.Bound
	made bool // it is the row of APPL_DB that is made of the other's row of CONFIG_DB
}

// findShadows notes the groups with rows of which lines take something away elsewhere.
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
				if (b.List != g || g.Parent == nil) && b.Row.Map == r.Map && v.takes(b) {
					v.shadows[g] = append(v.shadows[g], shadow{row: i, of: b})
				}
			}
			for _, id := range madeOf(r) {
				for _, b := range v.model.Bound[id] {
					if b.List != g && v.takes(b) {
						v.shadows[g] = append(v.shadows[g], shadow{i, b, true})
					}
				}
			}
		}
	}
}

// madeOf returns the tables of CONFIG_DB of which rows of APPL_DB are made.
func madeOf(r *tree.ListRow) (ids []tree.TableID) {
	for _, t := range schema.Tables() {
		if r.DB == swss.ApplDB && t.Appl == r.Table && t.Config != "" {
			ids = append(ids, tree.TableID{DB: swss.ConfigDB, Table: t.Config})
		}
	}
	return ids
}

// takes reports whether lines take away something of the entries that have a row.
func (v *View) takes(b tree.Bound) bool {
	taken := func(n *tree.Node) bool {
		return slices.ContainsFunc(v.grants[n], func(g grant) bool { return !g.implied && g.level < access.Read })
	}
	return taken(b.List.Node) || slices.ContainsFunc(b.List.Leaves, func(n *tree.Node) bool {
		return taken(n) && n.IsOf(b.Row.Index)
	})
}

// Shade notes which leaves of an entry are not shown because of what lines take away elsewhere; false: the whole entry.
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
		fields, all := v.taken(s.of, keys, r, e.Rows[s.row])
		// The entry is the same as one that the role may not read, unless the row only says that there is that one.
		same := s.of.Row.Written() || s.of.Row.Template.Gather >= 0 || all || len(fields) > 0
		whole := same && v.limit(s.of.List.Node, keys) < access.Read && len(s.of.Row.Template.Keys) > 0
		if whole && r.Entry {
			return false
		}
		all = all || whole
		switch {
		case !all && len(fields) == 0:
		case r.Entry && r.Template.Gather >= 0: // its keys are made of them
			return false
		default:
			e.ShadeLeaves(s.row, fields, all)
		}
	}
	return true
}

// shadeTops hides leaves that are in no list and follow from the same fields of a row as a leaf that the role may not
// read and that is below another node at the top.
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

// top is the node at the top that a node is below.
func top(n *tree.Node) *tree.Node {
	for n.Parent != nil && n.Parent.Parent != nil {
		n = n.Parent
	}
	return n
}

// entries returns a pattern of the other group's entries that have the row of an entry; false: there is none.
func (s shadow) entries(e *tree.Entry) (keys []string, ok bool) {
	r := e.List.Rows[s.row]
	if e.Rows[s.row] == nil {
		return nil, false
	}
	if r.Template.Gather >= 0 { // any of several rows
		keys = tree.Extend(nil, s.of.List)
	} else {
		key := r.Template.Expand(e.Keys, e.Own())
		if s.made { // with a bar for the first colon, since an address may have others
			key = strings.Replace(key, ":", "|", 1)
		}
		if keys, ok = s.of.Row.Template.Match(key, len(s.of.List.Keys)); !ok {
			return nil, false
		}
	}
	if s.of.Row.At != "" && len(keys) > 0 {
		keys[0] = s.of.Row.At
	}
	return keys, true
}

// taken returns the fields of a row on which leaves depend that the role may not read; all: it may be any.
func (v *View) taken(
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
