package fetch

import (
	"slices"
	"strings"
	"time"

	"tamtam/mgmt/tree"
)

// These methods read from cached tables, in place of reads from the database.

// fetchKept sets a row of the entries if the row is cached, and returns the entries for which it is not cached.
func (r Reader) fetchKept(row *tree.ListRow, entries []*tree.Entry) []*tree.Entry {
	defer r.lock()()
	t := r.kept(row)
	if t == nil {
		return entries
	}
	var large []*tree.Entry
	for _, e := range entries {
		if !row.Serves(e.Keys) {
			continue
		}
		rec := t.rows[row.Template.Expand(e.Keys, e.Own())]
		switch {
		case rec == nil:
			e.Rows[row.Index] = nil
			e.Known(row, tree.Absent, time.Time{})
		case rec.fields == nil:
			large = append(large, e)
		default:
			e.Rows[row.Index] = nil
			if row.Its(e, rec.fields) {
				e.Rows[row.Index] = row.Decoded(rec.fields, e.Keys)
			}
			e.Known(row, rec.version, rec.at)
		}
	}
	return large
}

// keptKeys returns the sorted keys of the entries to which a row may belong, or whose trace it may be. It returns false
// if the table is not cached.
func (r Reader) keptKeys(g *tree.List, of matching, pattern []string) ([][]string, bool) {
	defer r.lock()()
	t := r.kept(of.row)
	if t == nil {
		return nil, false
	}
	all := t.keys(g, of)
	found := make([][]string, 0, len(all))
	for _, m := range all {
		if !tree.Matches(m, pattern) {
			continue
		}
		if len(g.Derive)+len(of.row.EachKeys) > 0 { // the caller changes them
			m = slices.Clone(m)
		}
		found = append(found, m)
	}
	return found, true
}

// keptFields sets the names of the fields of each entry's row. It returns false if the table is not cached.
func (r Reader) keptFields(row *tree.ListRow, entries []*tree.Entry, names [][]string) bool {
	defer r.lock()()
	t := r.kept(row)
	if t == nil {
		return false
	}
	for i, e := range entries {
		rec := t.rows[row.Template.Expand(e.Keys, nil)]
		if rec == nil {
			continue
		}
		if rec.fields == nil {
			return false
		}
		names[i] = tree.SortedKeys(row.Folded(rec.fields))
	}
	return true
}

// keptParts returns the cached rows that are combined into the rows of the entries. kept is false if the table, or the
// fields of one of these rows, are not cached.
func (r Reader) keptParts(row *tree.ListRow, of map[string][]*tree.Entry, keys int) (parts []*gathered, kept bool) {
	defer r.lock()()
	t := r.kept(row)
	if t == nil {
		return nil, false
	}
	for k, rec := range t.rows {
		m, part, ok := row.Template.Parse(k, keys)
		if !ok {
			continue
		}
		id := row.Template.Shared(m)
		if of[id] == nil {
			continue
		}
		if rec.fields == nil {
			return nil, false
		}
		g := &gathered{key: k, id: id, part: part, text: tree.NullField}
		if row.Of == tree.AllFields {
			g.text = allFields(rec.fields)
		} else if row.Of != "" {
			g.text = rec.texts(strings.Fields(row.Of))
		}
		parts = append(parts, g)
	}
	return parts, true
}

// texts returns the values of some fields, separated by bars.
func (r *keptRow) texts(fields []string) string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = r.fields[f]
	}
	return strings.Join(texts, "|")
}
