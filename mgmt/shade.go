package mgmt

import (
	"slices"
	"strings"

	"tamtam/mgmt/access"
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
	of   bound
	made bool // it is the row of APPL_DB that is made of the other's row of CONFIG_DB
}

// findShadows notes the groups with rows of which lines take something away elsewhere.
func (v *view) findShadows() {
	v.shadows = map[*group][]shadow{}
	if !v.blind {
		return
	}
	for _, g := range v.model.groups {
		for i, r := range g.rows {
			if r.Source != "" || r.Table == anyTable {
				continue
			}
			for _, b := range v.model.bound[r.id()] {
				if (b.group != g || g.parent == nil) && b.row.Map == r.Map && v.takes(b) {
					v.shadows[g] = append(v.shadows[g], shadow{row: i, of: b})
				}
			}
			for _, id := range madeOf(r) {
				for _, b := range v.model.bound[id] {
					if b.group != g && v.takes(b) {
						v.shadows[g] = append(v.shadows[g], shadow{i, b, true})
					}
				}
			}
		}
	}
}

// madeOf returns the tables of CONFIG_DB of which rows of APPL_DB are made.
func madeOf(r *row) (ids []tableID) {
	for _, t := range schema.Tables() {
		if r.DB == swss.ApplDB && t.Appl == r.Table && t.Config != "" {
			ids = append(ids, tableID{swss.ConfigDB, t.Config})
		}
	}
	return ids
}

// takes reports whether lines take away something of the entries that have a row.
func (v *view) takes(b bound) bool {
	taken := func(n *node) bool {
		return slices.ContainsFunc(v.grants[n], func(g grant) bool { return !g.implied && g.level < access.Read })
	}
	return taken(b.group.node) || slices.ContainsFunc(b.group.leaves, func(n *node) bool {
		return taken(n) && n.isOf(b.row.index)
	})
}

// isOf reports whether a leaf is what a row of its group holds. What says how rows differ is not.
func (n *node) isOf(row int) bool {
	return !n.behind && slices.ContainsFunc(n.binds, func(b bind) bool { return b.row == row })
}

// shade notes which leaves of an entry are not shown because of what lines take away elsewhere; false: the whole entry.
func (v *view) shade(e *entry) bool {
	for _, s := range v.shadows[e.group] {
		if s.of.group == e.group {
			v.shadeTops(e, s.row)
			continue
		}
		r := e.group.rows[s.row]
		keys, ok := s.entries(e)
		if !ok {
			continue
		}
		if s.made {
			if v.limit(s.of.group.node, keys) >= access.Read || !s.of.row.written() || len(s.of.row.key.keys) == 0 {
				continue
			}
			if r.Entry {
				return false
			}
			e.shadeLeaves(s.row, nil, true)
			continue
		}
		fields, all := v.taken(s.of, keys, r, e.recs[s.row])
		// The entry is the same as one that the role may not read, unless the row only says that there is that one.
		same := s.of.row.written() || s.of.row.key.gather >= 0 || all || len(fields) > 0
		whole := same && v.limit(s.of.group.node, keys) < access.Read && len(s.of.row.key.keys) > 0
		if whole && r.Entry {
			return false
		}
		all = all || whole
		switch {
		case !all && len(fields) == 0:
		case r.Entry && r.key.gather >= 0: // its keys are made of them
			return false
		default:
			e.shadeLeaves(s.row, fields, all)
		}
	}
	return true
}

// shadeTops hides leaves that are in no list and follow from the same fields of a row as a leaf that the role may not
// read and that is below another node at the top.
func (v *view) shadeTops(e *entry, row int) {
	rec := e.recs[row]
	for _, n := range e.group.leaves {
		if !n.isOf(row) || v.limit(n, e.keys) >= access.Read {
			continue
		}
		fields := map[string]bool{}
		for _, b := range n.binds {
			for f := range rec {
				if b.row == row && b.codec.depends(f, e.keys, rec) {
					fields[f] = true
				}
			}
		}
		for _, other := range e.group.leaves {
			if other.top() != n.top() && other.dependsOn(e, row, fields) {
				e.shadeLeaf(other)
			}
		}
	}
}

// top is the node at the top that a node is below.
func (n *node) top() *node {
	for n.parent != nil && n.parent.parent != nil {
		n = n.parent
	}
	return n
}

// dependsOn reports whether a leaf of an entry follows from one of some fields of a row.
func (n *node) dependsOn(e *entry, row int, fields map[string]bool) bool {
	return slices.ContainsFunc(n.binds, func(b bind) bool {
		return b.row == row && b.codec.dependsOn(e.keys, e.recs[row], fields)
	})
}

func (e *entry) shadeLeaf(n *node) {
	if e.shaded == nil {
		e.shaded = map[*node]bool{}
	}
	e.shaded[n] = true
}

// entries returns a pattern of the other group's entries that have the row of an entry; false: there is none.
func (s shadow) entries(e *entry) (keys []string, ok bool) {
	r := e.group.rows[s.row]
	if e.recs[s.row] == nil {
		return nil, false
	}
	if r.key.gather >= 0 { // any of several rows
		keys = extend(nil, s.of.group)
	} else {
		key := r.key.expand(e.keys, e.own())
		if s.made { // with a bar for the first colon, since an address may have others
			key = strings.Replace(key, ":", "|", 1)
		}
		if keys, ok = s.of.row.key.match(key, len(s.of.group.keys)); !ok {
			return nil, false
		}
	}
	if s.of.row.At != "" && len(keys) > 0 {
		keys[0] = s.of.row.At
	}
	return keys, true
}

// shadeLeaves has leaves of an entry not shown that follow from fields of a row, or from any of them.
func (e *entry) shadeLeaves(row int, fields map[string]bool, all bool) {
	all = all || e.group.rows[row].key.gather >= 0
	for _, n := range e.group.leaves {
		if all && slices.ContainsFunc(n.binds, func(b bind) bool { return b.row == row }) || n.dependsOn(e, row, fields) {
			e.shadeLeaf(n)
		}
	}
}

// taken returns the fields of a row on which leaves depend that the role may not read; all: it may be any.
func (v *view) taken(b bound, keys []string, r *row, rec map[string]string) (fields map[string]bool, all bool) {
	fields = map[string]bool{}
	rec = r.known(rec)
	gathers := b.row.key.gather >= 0
	note := func(n *node, codec *Codec) {
		switch {
		case v.limit(n, keys) >= access.Read:
		case gathers && b.row.Of != "":
			for _, f := range strings.Fields(b.row.Of) {
				fields[f] = true
			}
		case gathers, len(b.row.each) > 0 && !slices.Equal(b.row.each, r.each):
			all = true
		case codec != nil:
			for f := range rec {
				if codec.depends(f, keys, rec) {
					fields[f] = true
				}
			}
		}
	}
	if gathers {
		note(b.group.node, nil)
	}
	for _, n := range b.group.leaves {
		for i := range n.binds {
			if n.binds[i].row == b.row.index {
				note(n, &n.binds[i].codec)
			}
		}
	}
	return fields, all
}

// known is a row, or of several as one the fields that are known of each.
func (r *row) known(rec map[string]string) map[string]string {
	if r.key.gather < 0 {
		return rec
	}
	rec = map[string]string{}
	for _, f := range strings.Fields(r.Of) {
		rec[f] = "2"
	}
	return rec
}

// dependsOn reports whether what a codec makes of a row follows from one of some fields of it.
func (c *Codec) dependsOn(keys []string, rec map[string]string, fields map[string]bool) bool {
	for f := range fields {
		if _, there := rec[f]; there && c.depends(f, keys, rec) {
			return true
		}
	}
	return false
}

// depends reports whether what a codec makes of a row follows from a field of it.
func (c *Codec) depends(field string, keys []string, rec map[string]string) bool {
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
