package tree

import (
	"maps"
	"slices"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A row of a database often appears at several paths. It may be in OpenConfig's list, in a list of ours, and among raw
// rows (config-rows, differences of configurations, origin sonic-db). A line of a role applies to the data, whatever
// its path: data hidden at one path is hidden at all its paths. There is an exception: the line for all paths, "/", and
// built-in lines hide no data that another line permits.

// An Alias is an entry of a list that has a row.
type Alias struct {
	List *List
	Row  *ListRow
	Keys []string // a wildcard stands for any entry
}

// A Bound is a row of a group.
type Bound struct {
	List *List
	Row  *ListRow
}

// findAliases records, per table, which groups have its rows.
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
	if b.Row.Map == "" { // otherwise the key is an object id of the chip
		if keys, ok = b.Row.Match(key, len(b.List.Keys)); !ok {
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

// Everywhere returns the entries that may have a row of a database, or the row of CONFIG_DB that it was made from.
func (m *Model) Everywhere(db swss.DBName, table, key string) []Alias {
	out := m.Aliases(db, table, key)
	for _, b := range m.maps[table] {
		out = append(out, Alias{b.List, b.Row, Extend(nil, b.List)})
	}
	if db == swss.ConfigDB {
		if len(out) == 0 { // the row of an object that is not in force may be in another database
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

// AsIs returns the row of CONFIG_DB that a raw entry represents. ok is false for entries of other lists.
func (g *List) AsIs(keys []string) (table, key string, ok bool) {
	if !slices.ContainsFunc(g.Rows, func(r *ListRow) bool { return r.Table == AnyTable }) {
		return "", "", false
	}
	n := len(keys)
	return keys[n-2], keys[n-1], true
}

// Masked returns a row without its secrets.
func Masked(table string, fields map[string]string) map[string]string {
	out := maps.Clone(fields)
	for f := range out {
		if schema.SecretField(table, f) {
			out[f] = schema.SecretMask
		}
	}
	return out
}

// maskedTexts returns fields without secrets. texts holds them as NAME=VALUE, separated by zero bytes.
func maskedTexts(table, texts string) string {
	list := strings.Split(texts, "\x00")
	for i, text := range list {
		if f, _, ok := strings.Cut(text, "="); ok && schema.SecretField(table, f) {
			list[i] = f + "=" + schema.SecretMask
		}
	}
	return strings.Join(list, "\x00")
}

// Mask removes the secrets from the rows of an entry that is a raw row of a table.
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
		for _, secret := range secrets { // the error of an invalid row may quote the secret
			made["invalid"] = strings.ReplaceAll(made["invalid"], secret, schema.SecretMask)
		}
		if made["invalid"] == "" {
			delete(made, "invalid")
		}
		e.Rows[i] = made
	}
}
