package mgmt

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// What a reader does with tables that are kept, in place of asking the database.

// fetchKept puts a row of the entries as far as it is kept, and returns the entries of which it is not.
func (r reader) fetchKept(row *row, entries []*entry) []*entry {
	defer r.lock()()
	t := r.kept(row)
	if t == nil {
		return entries
	}
	var large []*entry
	for _, e := range entries {
		if !row.serves(e.keys) {
			continue
		}
		rec := t.rows[row.key.expand(e.keys, e.own())]
		switch {
		case rec == nil:
			e.recs[row.index] = nil
			e.known(row, absent, time.Time{})
		case rec.fields == nil:
			large = append(large, e)
		default:
			e.recs[row.index] = nil
			if row.its(e, rec.fields) {
				e.recs[row.index] = row.decoded(rec.fields, e.keys)
			}
			e.known(row, rec.version, rec.at)
		}
	}
	return large
}

// known notes which version of a row the entry has, and since when.
func (e *entry) known(r *row, version uint64, at time.Time) {
	if at.After(e.at) {
		e.at = at
	}
	e.vers[r.index] = version
}

// decoded is what codecs get of a row that is kept. Who gets it does not change it.
func (r *row) decoded(fields map[string]string, keys []string) map[string]string {
	if len(r.each) > 0 {
		return jsonFields(r.folded(fields)[r.eachField(keys)])
	}
	if inner := fields[r.JSON]; r.JSON != "" && inner != "" {
		fields = maps.Clone(fields)
		maps.Copy(fields, jsonFields(inner))
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// keptKeys are the keys of the entries that a row may make up, or be a trace of, in order; false: its table is not
// kept.
func (r reader) keptKeys(g *group, of matching, pattern []string) ([][]string, bool) {
	defer r.lock()()
	t := r.kept(of.row)
	if t == nil {
		return nil, false
	}
	all := t.keys(g, of)
	found := make([][]string, 0, len(all))
	for _, m := range all {
		if !matches(m, pattern) {
			continue
		}
		if len(g.derive)+len(of.row.each) > 0 { // they are changed then
			m = slices.Clone(m)
		}
		found = append(found, m)
	}
	return found, true
}

// keptFields puts the names of the fields of each entry's row; false: its table is not kept.
func (r reader) keptFields(row *row, entries []*entry, names [][]string) bool {
	defer r.lock()()
	t := r.kept(row)
	if t == nil {
		return false
	}
	for i, e := range entries {
		rec := t.rows[row.key.expand(e.keys, nil)]
		if rec == nil {
			continue
		}
		if rec.fields == nil {
			return false
		}
		names[i] = sortedKeys(row.folded(rec.fields))
	}
	return true
}

// keptParts are the rows that are as one; false: their table is not kept.
func (r reader) keptParts(row *row, of map[string][]*entry, keys int) (parts []*gathered, kept bool) {
	defer r.lock()()
	t := r.kept(row)
	if t == nil {
		return nil, false
	}
	for k, rec := range t.rows {
		m, part, ok := row.key.parse(k, keys)
		if !ok {
			continue
		}
		id := row.key.shared(m)
		if of[id] == nil {
			continue
		}
		if rec.fields == nil {
			return nil, false
		}
		g := &gathered{key: k, id: id, part: part, text: nullField}
		if row.Of != "" {
			g.text = rec.texts(strings.Fields(row.Of))
		}
		parts = append(parts, g)
	}
	return parts, true
}

// texts are some fields, with a bar between.
func (r *keptRow) texts(fields []string) string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = r.fields[f]
	}
	return strings.Join(texts, "|")
}
