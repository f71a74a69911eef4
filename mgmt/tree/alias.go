package tree

import (
	"maps"
	"slices"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A row of a database is often in several places: what OpenConfig's list says of it, a list of our own, the row as it
// is (config-rows, differences of configurations, origin sonic-db). A line of a role is about what is there, by any
// path: what it takes away at one path is taken away at the others, too. The line for all, "/", and what is built in
// take nothing away that another line gives.

// An Alias is an entry of a list that has a row.
type Alias struct {
	List *List
	Row  *ListRow
	Keys []string // wildcard: any entry may be meant
}

// A Bound is a row of a group.
type Bound struct {
	List *List
	Row  *ListRow
}

// findAliases notes which groups have rows of a table.
func (m *Model) findAliases() {
	m.Bound, m.maps = map[TableID][]Bound{}, map[string][]Bound{}
	for _, g := range m.Lists {
		for _, r := range g.Rows {
			if r.Source == "" && r.Table != AnyTable {
				m.Bound[r.TableID()] = append(m.Bound[r.TableID()], Bound{g, r})
				if r.Map != "" {
					m.maps[r.Map] = append(m.maps[r.Map], Bound{g, r})
				}
			}
		}
	}
}

// Aliases returns the entries that may have a row.
func (m *Model) Aliases(db swss.DBName, table, key string) (out []Alias) {
	for _, b := range m.Bound[TableID{db, table}] {
		if keys, ok := b.entries(key); ok {
			out = append(out, Alias{b.List, b.Row, keys})
		}
	}
	return out
}

// entries returns a pattern of the entries that have a row with a key.
func (b Bound) entries(key string) (keys []string, ok bool) {
	keys = Extend(nil, b.List)
	if b.Row.Map == "" { // else the key is a number of the chip's
		if keys, ok = b.Row.Template.Match(key, len(b.List.Keys)); !ok {
			return nil, false
		}
	}
	if len(keys) > 0 && b.Row.At != "" {
		keys[0] = b.Row.At
	}
	if !slices.Contains(keys, Wildcard) && !b.Row.Serves(keys) {
		return nil, false
	}
	return keys, true
}

// Everywhere returns the entries that may have a row of a database, or the row of CONFIG_DB that it was made of.
func (m *Model) Everywhere(db swss.DBName, table, key string) []Alias {
	out := m.Aliases(db, table, key)
	for _, b := range m.maps[table] {
		out = append(out, Alias{b.List, b.Row, Extend(nil, b.List)})
	}
	if db == swss.ConfigDB {
		if len(out) == 0 { // what is not in force may be of another database
			out = m.Aliases(swss.StateDB, table, key)
			out = append(out, m.Aliases(swss.ApplDB, table, strings.ReplaceAll(key, "|", ":"))...)
		}
		return out
	}
	for _, t := range schema.Tables() {
		if t.Config == "" || table != t.Appl && table != t.State && table != t.Counters {
			continue
		}
		for _, k := range []string{key, strings.Replace(key, ":", "|", 1), strings.ReplaceAll(key, ":", "|")} {
			out = append(out, m.Aliases(swss.ConfigDB, t.Config, k)...)
		}
	}
	return out
}

// AsIs returns the row of CONFIG_DB that an entry is; false: it is of another list.
func (g *List) AsIs(keys []string) (table, key string, ok bool) {
	if !slices.ContainsFunc(g.Rows, func(r *ListRow) bool { return r.Table == AnyTable }) {
		return "", "", false
	}
	n := len(keys)
	return keys[n-2], keys[n-1], true
}

// Masked is a row without its secrets.
func Masked(table string, fields map[string]string) map[string]string {
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

// Mask takes the secrets out of what was read of an entry that is a row of a table as it is.
func (e *Entry) Mask(table string) {
	var secrets []string
	for i, r := range e.List.Rows {
		if r.Table == AnyTable && r.DB == swss.ConfigDB && e.Rows[i] != nil {
			for f, v := range e.Rows[i] {
				if schema.SecretField(table, f) && v != "" {
					secrets = append(secrets, v)
				}
			}
			e.Rows[i] = Masked(table, e.Rows[i])
		}
	}
	for i, r := range e.List.Rows {
		if r.Source == "" || e.Rows[i] == nil {
			continue
		}
		made := maps.Clone(e.Rows[i])
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
		e.Rows[i] = made
	}
}
