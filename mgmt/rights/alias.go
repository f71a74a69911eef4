package rights

import (
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// most returns the highest level that the lines about entries allow for a raw row of these entries.
func (v *View) most(db swss.DBName, table, key string) access.Level {
	least := access.Write
	if !v.lines {
		return least
	}
	for _, a := range v.model.Everywhere(db, table, key) {
		least = min(least, v.limit(a.List.Node, a.Keys))
		for _, n := range a.List.Leaves {
			if n.IsOf(a.Row.Index) {
				least = min(least, v.limit(n, a.Keys))
			}
		}
	}
	return least
}

// limit returns the lowest level that lines of the file grant for a node in any of the entries that a pattern matches.
// The line for all paths, "/", does not count.
func (v *View) limit(n *tree.Node, keys []string) access.Level {
	least := access.Write
	for _, g := range v.grants[n] {
		some, all := g.fits(keys)
		if some && !g.implied {
			least = min(least, g.level)
		}
		if all {
			break
		}
	}
	return least
}

// Paths of raw rows of CONFIG_DB.
const (
	RowsPath    = "/config-rows/row"
	changesPath = "/configurations/configuration/change"
)

// MayWriteRow reports whether the role may write a raw row of CONFIG_DB.
func (v *View) MayWriteRow(table, key string) bool {
	return v.Wholly(v.RowsAsTheyAre(), []string{table, key}) && v.most(swss.ConfigDB, table, key) >= access.Write
}

// MayReadRow reports whether no line hides a raw row of a database from the role. The row is hidden if a line hides it
// at a path of raw rows other than that of the list in, which may be nil. It is also hidden if the role may not read
// all that other lists show of it.
func (v *View) MayReadRow(in *tree.List, db swss.DBName, table, key string) bool {
	if v == nil {
		return true
	}
	if schema.SecretKey(table) || v.Blind && (db == swss.ASICDB || db == swss.FlexCounterDB) {
		return false
	}
	if db == swss.StateDB && table == schema.StateUnapplied {
		table, key, row := strings.Cut(key, "|")
		if !row {
			key = AllRows
		}
		return v.MayReadRow(in, swss.ConfigDB, table, key)
	}
	if db == swss.ConfigDB && v.hiddenAsIs(in, table, key) {
		return false
	}
	for _, r := range v.raw {
		at := r.Path.Elems
		about := len(at) == 1 && at[0].Name == string(db) || len(at) == 2 && at[0].Name == string(db) && at[1].Name == table
		if about && r.Line > 0 && r.Level < access.Read {
			return false
		}
	}
	return v.most(db, table, key) >= access.Read
}

// hiddenAsIs reports whether a line hides a raw row of CONFIG_DB, at a path other than that of the list in.
func (v *View) hiddenAsIs(in *tree.List, table, key string) bool {
	row, change := v.model.Find(RowsPath+"/config/field"), v.model.Find(changesPath+"/state/is")
	return in != row.List && v.limit(row, []string{table, key}) < access.Read ||
		in != change.List && v.limit(change, []string{tree.Wildcard, table, key}) < access.Read
}

// MayChangeRow reports whether a Set of the tree could change a row from one content to another. The role must be
// allowed to write either the entry that the row makes up, or each leaf that differs. These leaves must cover all
// differences of the rows.
func (v *View) MayChangeRow(table, key string, was, is map[string]string) bool {
	for _, a := range v.model.Aliases(swss.ConfigDB, table, key) {
		if a.List.ReadOnly() || !a.Row.Written() || slices.Contains(a.Keys, tree.Wildcard) {
			continue
		}
		if a.List.Parent != nil && v.Wholly(a.List.Node, a.Keys) {
			return true
		}
		if was != nil && is != nil && v.mayTurn(a, was, is) {
			return true
		}
	}
	return false
}

// mayTurn reports whether the leaves of an entry that the role may write cover all differences between two contents of
// a row.
func (v *View) mayTurn(a tree.Alias, was, is map[string]string) bool {
	turned := maps.Clone(was)
	for _, n := range a.List.Leaves {
		for _, b := range n.Binds {
			if b.Row != a.Row.Index || b.Codec.Put == nil || !n.Config {
				continue
			}
			before := b.Codec.Get(tree.Record{Keys: a.Keys, Fields: was, Own: was})
			after := b.Codec.Get(tree.Record{Keys: a.Keys, Fields: is, Own: is})
			if slices.Equal(before, after) {
				continue
			}
			if v.level(n, a.Keys) < access.Write ||
				b.Codec.Put(tree.Record{Keys: a.Keys, Fields: turned, Own: turned}, after) != nil {
				return false
			}
		}
	}
	return maps.Equal(turned, is)
}

// RowsAsTheyAre returns the list of the raw rows of CONFIG_DB.
func (v *View) RowsAsTheyAre() *tree.Node { return v.model.Find(RowsPath) }
