package mgmt

import (
	"slices"

	"tamtam/mgmt/access"
	"tamtam/swss"
)

// A row of a database is often in several places: what OpenConfig's list says of it, a list of our own, the row as it is
// (config-rows, differences of configurations, origin sonic-db). A line of a role is about what is there, by whatever
// path: what it takes away at one path is taken away at the others, too. The line for all, "/", takes nothing away that
// another line gives.

// An alias is an entry of a list that has a row.
type alias struct {
	group *group
	row   *row
	keys  []string // wildcard: any entry may be meant
}

// A bound is a row of a group.
type bound struct {
	group *group
	row   *row
}

// findAliases notes which groups have rows of a table.
func (m *model) findAliases() {
	m.bound = map[tableID][]bound{}
	for _, g := range m.groups {
		for _, r := range g.rows {
			if r.Source == "" && r.Table != anyTable {
				m.bound[r.id()] = append(m.bound[r.id()], bound{g, r})
			}
		}
	}
}

// aliases returns the entries that may have a row.
func (m *model) aliases(db swss.DBName, table, key string) (out []alias) {
	for _, b := range m.bound[tableID{db, table}] {
		if keys, ok := b.entries(key); ok {
			out = append(out, alias{b.group, b.row, keys})
		}
	}
	return out
}

// entries returns a pattern of the entries that have a row with a key.
func (b bound) entries(key string) (keys []string, ok bool) {
	keys = extend(nil, b.group)
	if b.row.Map == "" { // else the key is a number of the chip's
		if keys, ok = b.row.key.match(key, len(b.group.keys)); !ok {
			return nil, false
		}
	}
	if len(keys) > 0 && b.row.At != "" {
		keys[0] = b.row.At
	}
	if !slices.Contains(keys, wildcard) && !b.row.serves(keys) {
		return nil, false
	}
	return keys, true
}

// most returns the most that may be done with a row as it is, by the lines about entries that have it.
func (v *view) most(m *model, db swss.DBName, table, key string) access.Level {
	least := access.Write
	for _, a := range m.aliases(db, table, key) {
		least = min(least, v.limit(a.group.node, a.keys))
		for _, n := range a.group.leaves {
			if slices.ContainsFunc(n.binds, func(b bind) bool { return b.row == a.row.index }) {
				least = min(least, v.limit(n, a.keys))
			}
		}
	}
	return least
}

// limit is the least that lines other than that for all leave of a node, of any of the entries that a pattern means.
func (v *view) limit(n *node, keys []string) access.Level {
	least := access.Write
	for _, g := range v.grants[n] {
		some, all := g.fits(keys)
		if some && !g.forAll {
			least = min(least, g.level)
		}
		if all {
			break
		}
	}
	return least
}

// Paths of what shows rows as they are.
const rowsPath = "/config-rows/row"

// mayWriteRow reports whether the role may write a row of CONFIG_DB as it is.
func (v *view) mayWriteRow(m *model, table, key string) bool {
	return v.wholly(m.find(rowsPath), []string{table, key}) && v.most(m, swss.ConfigDB, table, key) >= access.Write
}

// mayReadRow reports whether the role may read a row of CONFIG_DB as it is.
func (v *view) mayReadRow(m *model, db swss.DBName, table, key string) bool {
	return v.some(m.find(rowsPath), []string{table, key}, access.Read) && v.most(m, db, table, key) >= access.Read
}
