package mgmt

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/swss"
	"tamtam/swss/schema"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
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
		if len(out) == 0 { // what is not in force may be of another database
			out = m.aliases(swss.StateDB, table, key)
			out = append(out, m.aliases(swss.ApplDB, table, strings.ReplaceAll(key, "|", ":"))...)
		}
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
	return v.wholly(v.model.find(rowsPath), []string{table, key}) && v.most(swss.ConfigDB, table, key) >= access.Write
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

// rawRows are those of the rows that a path of origin sonic-db means which the role may read, without secrets. An error
// says that it may read none of them.
func (v *view) rawRows(
	ctx context.Context, r *swss.Redis, p rawPath, rows map[string]map[string]string,
) (map[string]map[string]string, error) {
	if v == nil || len(rows) == 0 {
		return rows, nil
	}
	var texts censor
	out := map[string]map[string]string{}
	for k, fields := range rows {
		name := p.table
		if !p.hash {
			name += p.db.Separator() + k
		}
		table, key := name, ""
		if i := strings.IndexAny(name, ":|"); i >= 0 {
			table, key = name[:i], name[i+1:]
		}
		if v.mayReadRow(nil, p.db.Name(), table, key) {
			if out[k] = masked(table, fields); p.db.Name() == swss.StateDB {
				out[k] = texts.fields(ctx, v, r, out[k])
			}
			if key == "" && p.db.Name() == swss.StateDB {
				texts.names(ctx, v, r, out[k])
			}
		}
	}
	if len(out) == 0 {
		return nil, v.refusal(access.SonicDB+": "+pathText(&gpb.Path{Elem: p.elems}), "read")
	}
	return out, nil
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

// checkRows notes rows that a Set would change as they are and the caller may not write.
func (t *tx) checkRows() {
	for _, e := range t.order {
		table, key, ok := e.group.asIs(e.keys)
		if ok && t.view != nil && e.touched && e.changed(0) && !t.view.mayWriteRow(table, key) {
			t.denied.add(t.view, e.group.node, e.keys)
		}
	}
}
