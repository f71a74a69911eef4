package set

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/configfile"
	"tamtam/mgmt/fetch"
	"tamtam/mgmt/models"
	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// A program that shows a configuration as commands needs the rows of CONFIG_DB that the tree represents completely. A
// row may have fields without a leaf, or values in another form than a Set would write. These cases are not declared,
// but found by trial. Each entry is written again in memory with the values of its leaves, as a Set would. The result
// is compared with the present rows.

// These constants state whether other nodes of the tree represent a row.
const (
	representedAll  = "ALL"
	representedRest = "REST"
	representedNone = "NONE"
)

// Reported returns, for all rows of CONFIG_DB, whether other nodes represent them.
func Reported(
	ctx context.Context, m *tree.Model, r fetch.Reader, rows configfile.Rows,
) (map[string]map[string]string, error) {
	t := &coverage{
		model: m, reader: r, ctx: ctx, rows: rows, out: map[string]map[string]string{}, there: map[string]bool{},
	}
	for table, keys := range rows {
		for key, fields := range keys {
			reported := map[string]string{"told": representedNone}
			if err := models.CheckRow(table, key, fields, t.read); err != nil {
				reported["invalid"] = schema.Reason(err)
			}
			if texts := unappliedOf(table, key, fields); len(texts) > 0 {
				reported["unapplied"] = strings.Join(texts, "\x00")
			}
			t.out[table+"|"+key] = reported
		}
	}
	var lists [][]*txEntry
	for _, g := range m.Lists {
		es, err := t.entries(g)
		if err != nil {
			return nil, err
		}
		lists = append(lists, es)
	}
	for _, es := range lists {
		if len(es) > 0 && (es[0].List.ReadOnly() || es[0].List.Through != nil) {
			continue // its rows belong to other lists, which represent them, or cannot be written
		}
		if err := t.report(es); err != nil {
			return nil, err
		}
	}
	t.rejectUnnamed()
	return t.out, nil
}

// unappliedOf returns the parts of a row that no daemon applies, as KIND: REASON.
func unappliedOf(table, key string, fields map[string]string) (texts []string) {
	parts := schema.UnappliedParts(table, key, fields)
	if why, missing := schema.UnappliedTable(table); missing {
		parts = []schema.Unapplied{why}
	}
	for _, p := range parts {
		if p.Kind != schema.UnappliedInvalid { // those are in the leaf invalid
			texts = append(texts, p.Kind+": "+p.Reason)
		}
	}
	return texts
}

// rejectUnnamed marks rows invalid that have a field which NAME=VALUE cannot name.
func (t *coverage) rejectUnnamed() {
	for table, keys := range t.rows {
		for key, fields := range keys {
			for f := range fields {
				if reported := t.out[table+"|"+key]; !models.Nameable(f) && reported["invalid"] == "" {
					reported["invalid"] = fmt.Sprintf("a field is named %q, which no leaf can show", f)
				}
			}
		}
	}
}

// A coverage finds which rows are represented.
type coverage struct {
	model  *tree.Model
	reader fetch.Reader
	ctx    context.Context
	rows   configfile.Rows
	out    map[string]map[string]string
	there  map[string]bool // entries whose rows are valid, by id
}

func (t *coverage) read(table, key string) (map[string]string, error) { return t.rows[table][key], nil }

// entries returns the entries of a list that have a row in CONFIG_DB, with these rows. It records which of the entries
// have only valid rows.
func (t *coverage) entries(g *tree.List) (out []*txEntry, err error) {
	need := g.ConfigRows()
	if !slices.Contains(need, true) || g.Node.Parent != nil && g.Node.Parent.Apart {
		return nil, nil
	}
	err = t.reader.Read(t.ctx, g, tree.Extend(nil, g), need, func(es []*tree.Entry) error {
		for _, e := range es {
			x := &txEntry{Entry: e, present: true, before: make([]map[string]string, len(g.Rows))}
			valid := true
			for i, r := range g.Rows {
				if !r.Written() || !r.Serves(e.Keys) {
					e.Rows[i] = nil
					continue
				}
				table, key := r.Place(e.Keys, e.Own())
				if e.Rows[i] = t.rows[table][key]; !r.Its(e, e.Rows[i]) {
					e.Rows[i] = nil
				}
				valid = valid && t.out[table+"|"+key]["invalid"] == ""
			}
			t.there[tree.EntryID(g, e.Keys)] = valid
			out = append(out, x)
		}
		return nil
	})
	return out, err
}

// report tries the entries of a list, and records whether their rows are represented.
func (t *coverage) report(es []*txEntry) error {
	claims := map[string]int{} // number of entries that have a value which only one entry may have
	for _, e := range es {
		for _, n := range e.List.Unique {
			for _, v := range e.Value(n) {
				claims[n.Path+"="+v]++
			}
		}
	}
	tx := &Tx{Model: t.model, Reader: t.reader, entries: map[string]*txEntry{}, faults: &Faults{}}
	for _, e := range es {
		values := e.configured()
		if e.madeElsewhere() || !t.allowed(e, values, claims) {
			continue
		}
		anew, err := t.write(tx, e, values, nil)
		if err != nil {
			return err
		}
		if e.List.Parent != nil && t.whole(e, anew) { // rows of the root group are compared one by one
			t.note(e, anew, nil, nil)
			continue
		}
		again, rest := []map[string]string(nil), t.withoutLeaves(e)
		if rest != nil {
			if again, err = t.write(tx, e, values, rest); err != nil {
				return err
			}
		}
		t.note(e, anew, again, rest)
	}
	return nil
}

// madeElsewhere reports whether the row that makes up the entry belongs to another list, which represents it.
func (e *txEntry) madeElsewhere() bool {
	return slices.ContainsFunc(e.List.Rows, func(r *tree.ListRow) bool {
		return r.Entry && r.Elsewhere != "" && e.Rows[r.Index] != nil
	})
}

// configured returns the values of the entry's leaves of config, by their index.
func (e *txEntry) configured() [][]string {
	values := make([][]string, len(e.List.Leaves))
	for i, n := range e.List.Leaves {
		if n.Config {
			values[i] = e.Value(n)
		}
	}
	return values
}

// allowed reports whether a Set would accept the entry, apart from Finish. Its rows must be valid, mandatory leaves
// present, and references resolved.
func (t *coverage) allowed(e *txEntry, values [][]string, claims map[string]int) bool {
	g := e.List
	if !t.there[tree.EntryID(g, e.Keys)] && g.Parent != nil || len(g.Makes) > 0 {
		return false // an entry that creates other rows cannot be repeated once these rows exist
	}
	if p := g.Parent; p != nil && p.Parent != nil && !t.there[tree.EntryID(p, e.Keys[:len(p.Keys)])] {
		return false
	}
	for _, n := range g.Leaves {
		v := values[n.Index]
		if n.Config && n.Mandatory && v == nil {
			return false
		}
		if !n.Refers() {
			continue
		}
		for _, name := range v {
			there := func(g *tree.List) bool { return t.there[tree.EntryID(g, []string{name})] }
			if !slices.ContainsFunc(n.Targets, there) {
				return false
			}
		}
	}
	for _, n := range g.Unique {
		for _, v := range values[n.Index] {
			if claims[n.Path+"="+v] > 1 { // an earlier row may have the value
				return false
			}
		}
	}
	return true
}

// withoutLeaves returns the entry's rows without the values of its leaves, or nil if they cannot be removed.
func (t *coverage) withoutLeaves(e *txEntry) []map[string]string {
	x := t.copyOf(e, e.Rows)
	x.bare = true
	if x.clear(e.List.Node) != nil {
		return nil
	}
	return x.Rows
}

// copyOf returns the entry with copies of other rows.
func (t *coverage) copyOf(e *txEntry, recs []map[string]string) *txEntry {
	x := &txEntry{Entry: tree.NewEntry(e.List, e.Keys), present: true, touched: true}
	x.before = make([]map[string]string, len(recs))
	for i, r := range recs {
		x.Rows[i], x.before[i] = maps.Clone(r), maps.Clone(r)
	}
	return x
}

// write writes the values of the entry's leaves onto given rows, or onto no rows. It returns the resulting rows, or nil
// if a value is refused.
func (t *coverage) write(tx *Tx, e *txEntry, values [][]string, onto []map[string]string) ([]map[string]string, error) {
	g := e.List
	x := t.copyOf(e, onto)
	if onto == nil {
		x.Rows, x.before, x.present = make([]map[string]string, len(g.Rows)), make([]map[string]string, len(g.Rows)), false
		if g.Parent == nil {
			x.present = true
		} else if x.create() != nil {
			return nil, nil
		}
	}
	for _, n := range g.Leaves {
		puts := func(b tree.Bind) bool { return b.Codec.Put != nil }
		written := func(b tree.Bind) bool { return b.Codec.Default != nil }
		if !n.Config || n.KeyIndex >= 0 || !slices.ContainsFunc(n.Binds, puts) {
			continue
		}
		v := values[n.Index]
		if v != nil && (!slices.Equal(v, n.Default) || slices.ContainsFunc(n.Binds, written)) && x.put(n, v) != nil {
			return nil, nil
		}
	}
	x.fill()
	id := tree.EntryID(g, e.Keys)
	tx.entries[id] = x
	defer delete(tx.entries, id)
	for _, f := range g.Finish {
		if err := f(&finishing{ctx: t.ctx, tx: tx, e: x}); tree.IsUnavailable(err) {
			return nil, err
		} else if err != nil {
			return nil, nil
		}
	}
	return x.Rows, nil
}

// sameAt reports whether a resulting row equals the present one.
func (t *coverage) sameAt(e *txEntry, recs []map[string]string, i int) bool {
	if recs == nil {
		return false
	}
	table, key := e.List.Rows[i].Place(e.Keys, e.Own())
	return t.same(table, key, recs[i], e.Rows[i])
}

// whole reports whether all resulting rows equal the present ones, without additional rows.
func (t *coverage) whole(e *txEntry, recs []map[string]string) bool {
	for i := range e.Rows {
		if e.Rows[i] != nil && !t.sameAt(e, recs, i) || e.Rows[i] == nil && recs != nil && recs[i] != nil {
			return false
		}
	}
	return recs != nil
}

// note records the result for an entry. The rows of a list's entry are judged together.
func (t *coverage) note(e *txEntry, anew, again, rest []map[string]string) {
	list := e.List.Parent != nil
	all := list && t.whole(e, anew)
	if list && !all && !t.whole(e, again) {
		return
	}
	for i, r := range e.List.Rows {
		if e.Rows[i] == nil {
			continue
		}
		table, key := r.Place(e.Keys, e.Own())
		reported := t.out[table+"|"+key]
		switch {
		case reported["invalid"] != "":
		case all, !list && t.sameAt(e, anew, i):
			reported["told"] = representedAll
		case t.sameAt(e, again, i) && models.CheckRow(table, key, rest[i], t.read) == nil:
			reported["told"] = representedRest
			if fields := models.RowFields().Get(tree.Record{Fields: rest[i]}); len(fields) > 0 {
				reported["rest"] = strings.Join(fields, "\x00")
			}
		}
	}
}

// same reports whether two rows have the same meaning. Numbers and words may be written differently, and fields with
// their default may be missing.
func (t *coverage) same(table, key string, anew, is map[string]string) bool {
	if (anew == nil) != (is == nil) {
		return false
	}
	there := tree.Record{Fields: anew}
	exact := true
	for f, v := range is {
		if f == tree.NullField {
			continue
		}
		now := there.Field(strings.TrimSuffix(f, "@"))
		if now == "" && v != "" && !knownField(table, f) {
			return false
		}
		exact = exact && anew[f] == v
	}
	if exact && fieldCount(anew) == fieldCount(is) {
		return true
	}
	a, okA := t.meaning(table, key, anew)
	b, okB := t.meaning(table, key, is)
	return okA && okB && maps.Equal(a, b)
}

// fieldCount returns how many fields a row has.
func fieldCount(row map[string]string) int {
	if row[tree.NullField] != "" {
		return len(row) - 1
	}
	return len(row)
}

// knownField reports whether a field has a known meaning, which is compared.
func knownField(table, field string) bool {
	field = strings.TrimSuffix(field, "@")
	if table == schema.CfgACLRule {
		field = strings.TrimSuffix(strings.ToUpper(field), "_MASK")
		if field == "HOP_LIMIT" {
			return true
		}
	}
	return slices.ContainsFunc(schema.TableOf(table).Fields, func(f schema.Field) bool {
		return strings.EqualFold(f.Name, field)
	})
}

// meaning returns a row in the canonical form of package schema. It returns false if there is none.
func (t *coverage) meaning(table, key string, fields map[string]string) (map[string]string, bool) {
	bare := maps.Clone(fields)
	delete(bare, tree.NullField)
	if table == schema.CfgACLRule { // a rule of a flow group
		tam, _ := schema.BuiltinACLType(schema.ACLTypeTAM)
		row, err := schema.ParseACLRule(tam, key, bare)
		return row.Fields(), err == nil
	}
	parse := schema.RowOf(table, key)
	if parse == nil {
		return nil, false
	}
	row, err := parse(key, bare)
	if err != nil {
		return nil, false
	}
	return row.Fields(), true
}
