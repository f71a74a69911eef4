package mgmt

import (
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A row of a database is often in several places: what OpenConfig's list says of it, a list of our own, the row as it
// is (config-rows, differences of configurations, origin sonic-db). A line of a role is about what is there, by any
// path: what it takes away at one path is taken away at the others, too. The line for all, "/", and what is built in
// take nothing away that another line gives.

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
	m.bound, m.maps = map[tableID][]bound{}, map[string][]bound{}
	for _, g := range m.groups {
		for _, r := range g.rows {
			if r.Source == "" && r.Table != anyTable {
				m.bound[r.id()] = append(m.bound[r.id()], bound{g, r})
				if r.Map != "" {
					m.maps[r.Map] = append(m.maps[r.Map], bound{g, r})
				}
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

// everywhere returns the entries that may have a row of a database, or the row of CONFIG_DB that it was made of.
func (m *model) everywhere(db swss.DBName, table, key string) []alias {
	out := m.aliases(db, table, key)
	for _, b := range m.maps[table] {
		out = append(out, alias{b.group, b.row, extend(nil, b.group)})
	}
	if db == swss.ConfigDB {
		return out
	}
	for _, t := range schema.Tables() {
		if t.Config == "" || table != t.Appl && table != t.State && table != t.Counters {
			continue
		}
		for _, k := range []string{key, strings.Replace(key, ":", "|", 1), strings.ReplaceAll(key, ":", "|")} {
			out = append(out, m.aliases(swss.ConfigDB, t.Config, k)...)
		}
	}
	return out
}

// most returns the most that may be done with a row as it is, by the lines about entries that have it.
func (v *view) most(db swss.DBName, table, key string) access.Level {
	least := access.Write
	if !v.lines {
		return least
	}
	for _, a := range v.model.everywhere(db, table, key) {
		least = min(least, v.limit(a.group.node, a.keys))
		for _, n := range a.group.leaves {
			if n.isOf(a.row.index) {
				least = min(least, v.limit(n, a.keys))
			}
		}
	}
	return least
}

// limit is the least that lines of the file, but that for all, leave of a node: of any of the entries that a pattern
// means.
func (v *view) limit(n *node, keys []string) access.Level {
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

// Paths of what shows rows of CONFIG_DB as they are.
const (
	rowsPath    = "/config-rows/row"
	changesPath = "/configurations/configuration/change"
)

// asIs returns the row of CONFIG_DB that an entry is; false: it is of another list.
func (g *group) asIs(keys []string) (table, key string, ok bool) {
	if !slices.ContainsFunc(g.rows, func(r *row) bool { return r.Table == anyTable }) {
		return "", "", false
	}
	n := len(keys)
	return keys[n-2], keys[n-1], true
}

// mayWriteRow reports whether the role may write a row of CONFIG_DB as it is.
func (v *view) mayWriteRow(table, key string) bool {
	return v.wholly(v.rowsAsTheyAre(), []string{table, key}) && v.most(swss.ConfigDB, table, key) >= access.Write
}

// mayReadRow reports whether no line takes away from the role the reading of a row of a database as it is: by another
// of the paths where it is as it is than the list it is in, if any, or because the role may not read all that other
// lists make of it.
func (v *view) mayReadRow(in *group, db swss.DBName, table, key string) bool {
	if v == nil {
		return true
	}
	if schema.SecretKey(table) || v.blind && (db == swss.ASICDB || db == swss.FlexCounterDB) {
		return false
	}
	if db == swss.StateDB && table == schema.StateUnapplied {
		table, key, row := strings.Cut(key, "|")
		if !row {
			key = allRows
		}
		return v.mayReadRow(in, swss.ConfigDB, table, key)
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

// hiddenAsIs reports whether a line takes away a row of CONFIG_DB as it is, by another list than the one it is in.
func (v *view) hiddenAsIs(in *group, table, key string) bool {
	row, change := v.model.find(rowsPath+"/config/field"), v.model.find(changesPath+"/state/is")
	return in != row.group && v.limit(row, []string{table, key}) < access.Read ||
		in != change.group && v.limit(change, []string{wildcard, table, key}) < access.Read
}

// masked is a row without its secrets.
func masked(table string, fields map[string]string) map[string]string {
	out := maps.Clone(fields)
	for f := range out {
		if schema.SecretField(table, f) {
			out[f] = schema.SecretMask
		}
	}
	return out
}

// maskedTexts are fields as NAME=VALUE, a zero byte between, without secrets.
func maskedTexts(table, texts string) string {
	list := strings.Split(texts, "\x00")
	for i, text := range list {
		if f, _, ok := strings.Cut(text, "="); ok && schema.SecretField(table, f) {
			list[i] = f + "=" + schema.SecretMask
		}
	}
	return strings.Join(list, "\x00")
}

// mask takes the secrets out of what was read of an entry that is a row of a table as it is.
func (e *entry) mask(table string) {
	var secrets []string
	for i, r := range e.group.rows {
		if r.Table == anyTable && r.DB == swss.ConfigDB && e.recs[i] != nil {
			for f, v := range e.recs[i] {
				if schema.SecretField(table, f) && v != "" {
					secrets = append(secrets, v)
				}
			}
			e.recs[i] = masked(table, e.recs[i])
		}
	}
	for i, r := range e.group.rows {
		if r.Source == "" || e.recs[i] == nil {
			continue
		}
		made := maps.Clone(e.recs[i])
		for _, f := range []string{"rest", "was", "is"} {
			if made[f] != "" {
				made[f] = maskedTexts(table, made[f])
			}
		}
		for _, secret := range secrets { // what is wrong with a row quotes it
			made["invalid"] = strings.ReplaceAll(made["invalid"], secret, schema.SecretMask)
		}
		if made["invalid"] == "" {
			delete(made, "invalid")
		}
		e.recs[i] = made
	}
}

// mayChangeRow reports whether a Set of the tree could turn one content of a row into another: the entry that the row
// makes up is the role's to write, or each leaf in which the two differ, and these say all in which the rows differ.
func (v *view) mayChangeRow(table, key string, was, is map[string]string) bool {
	for _, a := range v.model.aliases(swss.ConfigDB, table, key) {
		if !a.group.node.writable() || !a.row.written() || slices.Contains(a.keys, wildcard) {
			continue
		}
		if a.group.parent != nil && v.wholly(a.group.node, a.keys) {
			return true
		}
		if was != nil && is != nil && v.mayTurn(a, was, is) {
			return true
		}
	}
	return false
}

// mayTurn reports whether the leaves of an entry that the role may write say all in which two contents of a row differ.
func (v *view) mayTurn(a alias, was, is map[string]string) bool {
	turned := maps.Clone(was)
	for _, n := range a.group.leaves {
		for _, b := range n.binds {
			if b.row != a.row.index || b.codec.Put == nil || !n.config {
				continue
			}
			before := b.codec.Get(Record{Keys: a.keys, Fields: was, Own: was})
			after := b.codec.Get(Record{Keys: a.keys, Fields: is, Own: is})
			if slices.Equal(before, after) {
				continue
			}
			if v.level(n, a.keys) < access.Write ||
				b.codec.Put(Record{Keys: a.keys, Fields: turned, Own: turned}, after) != nil {
				return false
			}
		}
	}
	return maps.Equal(turned, is)
}

// rowsAsTheyAre is the list of the rows of CONFIG_DB as they are.
func (v *view) rowsAsTheyAre() *node { return v.model.find(rowsPath) }
