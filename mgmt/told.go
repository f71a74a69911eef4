package mgmt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/configfile"
	"tamtam/swss/schema"
)

// Whoever shows a configuration as what makes it, in the words of this tree, has to know which rows of CONFIG_DB the
// tree tells whole: a row may have fields that no leaf is, or say something in other words than a Set would write.
// Nobody keeps a list of that. It is tried: each entry is written anew in memory with what its leaves show, the way a
// Set writes it, and what comes out is compared with the rows that are there.

// Whether a row is told by other nodes of the tree.
const (
	toldAll  = "ALL"
	toldRest = "REST"
	toldNone = "NONE"
)

// toldRows says of all rows of CONFIG_DB whether other nodes tell them.
func toldRows(ctx context.Context, m *model, r reader, rows configfile.Rows) (map[string]map[string]string, error) {
	t := &teller{model: m, reader: r, ctx: ctx, rows: rows, out: map[string]map[string]string{}, there: map[string]bool{}}
	for table, keys := range rows {
		for key, fields := range keys {
			told := map[string]string{"told": toldNone}
			if err := checkRow(table, key, fields, t.read); err != nil {
				told["invalid"] = schema.Reason(err)
			}
			if texts := unappliedOf(table, key, fields); len(texts) > 0 {
				told["unapplied"] = strings.Join(texts, "\x00")
			}
			t.out[table+"|"+key] = told
		}
	}
	var lists [][]*txEntry
	for _, g := range m.groups {
		es, err := t.entries(g)
		if err != nil {
			return nil, err
		}
		lists = append(lists, es)
	}
	for _, es := range lists {
		if len(es) > 0 && (!es[0].group.node.writable() || es[0].group.through != nil) {
			continue // its rows are those of other lists, which tell them, or nobody can write them
		}
		if err := t.tell(es); err != nil {
			return nil, err
		}
	}
	t.tellUnnamed()
	return t.out, nil
}

// unappliedOf returns the parts of a row that no daemon applies, as KIND: REASON.
func unappliedOf(table, key string, fields map[string]string) (texts []string) {
	parts := schema.UnappliedParts(table, key, fields)
	if why, missing := schema.UnappliedTable(table); missing {
		parts = []schema.Unapplied{why}
	}
	for _, p := range parts {
		if p.Kind != schema.UnappliedInvalid { // the leaf invalid has that
			texts = append(texts, p.Kind+": "+p.Reason)
		}
	}
	return texts
}

// tellUnnamed says of rows with a field that NAME=VALUE cannot name that they are not all told.
func (t *teller) tellUnnamed() {
	for table, keys := range t.rows {
		for key, fields := range keys {
			for f := range fields {
				if told := t.out[table+"|"+key]; !nameable(f) && told["invalid"] == "" {
					told["invalid"] = fmt.Sprintf("a field is named %q, which cannot be told", f)
				}
			}
		}
	}
}

// A teller finds that out.
type teller struct {
	model  *model
	reader reader
	ctx    context.Context
	rows   configfile.Rows
	out    map[string]map[string]string
	there  map[string]bool // entries whose rows are valid, by id
}

func (t *teller) read(table, key string) (map[string]string, error) { return t.rows[table][key], nil }

// entries returns those of a list that have a row in CONFIG_DB, with these rows.
func (t *teller) entries(g *group) (out []*txEntry, err error) {
	need := g.configRows()
	if !slices.Contains(need, true) || g.node.parent != nil && g.node.parent.apart {
		return nil, nil
	}
	err = t.reader.read(t.ctx, g, extend(nil, g), need, func(es []*entry) error {
		for _, e := range es {
			x := &txEntry{entry: e, present: true, before: make([]map[string]string, len(g.rows))}
			valid := true
			for i, r := range g.rows {
				if !r.written() || !r.serves(e.keys) {
					e.recs[i] = nil
					continue
				}
				table, key := r.place(e.keys, e.own())
				if e.recs[i] = t.rows[table][key]; !r.its(e, e.recs[i]) {
					e.recs[i] = nil
				}
				valid = valid && t.out[table+"|"+key]["invalid"] == ""
			}
			t.there[entryID(g, e.keys)] = valid
			out = append(out, x)
		}
		return nil
	})
	return out, err
}

// tell tries the entries of a list.
func (t *teller) tell(es []*txEntry) error {
	claims := map[string]int{} // of values that only one entry may have
	for _, e := range es {
		for _, n := range e.group.unique {
			for _, v := range e.value(n) {
				claims[n.path+"="+v]++
			}
		}
	}
	tx := &tx{model: t.model, reader: t.reader, entries: map[string]*txEntry{}, faults: &faults{}}
	for _, e := range es {
		values := e.configured()
		if e.madeElsewhere() || !t.allowed(e, values, claims) {
			continue
		}
		anew, err := t.write(tx, e, values, nil)
		if err != nil {
			return err
		}
		if e.group.parent != nil && t.whole(e, anew) { // the root has rows that are told each by itself
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

// madeElsewhere reports whether another list has the row that is the entry, and tells it.
func (e *txEntry) madeElsewhere() bool {
	return slices.ContainsFunc(e.group.rows, func(r *row) bool {
		return r.Entry && r.Elsewhere != "" && e.recs[r.index] != nil
	})
}

// configured returns the values of the entry's leaves of config, by their index.
func (e *txEntry) configured() [][]string {
	values := make([][]string, len(e.group.leaves))
	for i, n := range e.group.leaves {
		if n.config {
			values[i] = e.value(n)
		}
	}
	return values
}

// allowed reports whether a Set would take the entry, but for what Finish says: the rows are valid, what is mandatory
// and what it refers to is there.
func (t *teller) allowed(e *txEntry, values [][]string, claims map[string]int) bool {
	g := e.group
	if !t.there[entryID(g, e.keys)] && g.parent != nil || len(g.makes) > 0 {
		return false // what makes other rows cannot be repeated once they are there
	}
	if p := g.parent; p != nil && p.parent != nil && !t.there[entryID(p, e.keys[:len(p.keys)])] {
		return false
	}
	for _, n := range g.leaves {
		v := values[n.index]
		if n.config && n.mandatory && v == nil {
			return false
		}
		if !n.refers() {
			continue
		}
		for _, name := range v {
			there := func(g *group) bool { return t.there[entryID(g, []string{name})] }
			if !slices.ContainsFunc(n.targets, there) {
				return false
			}
		}
	}
	for _, n := range g.unique {
		for _, v := range values[n.index] {
			if claims[n.path+"="+v] > 1 { // a row that comes before the commands may have it
				return false
			}
		}
	}
	return true
}

// withoutLeaves is the entry's rows without what its leaves are; nil: they cannot be taken out.
func (t *teller) withoutLeaves(e *txEntry) []map[string]string {
	x := t.copyOf(e, e.recs)
	if x.clear(e.group.node) != nil {
		return nil
	}
	return x.recs
}

// copyOf is the entry with copies of other rows.
func (t *teller) copyOf(e *txEntry, recs []map[string]string) *txEntry {
	x := &txEntry{entry: newEntry(e.group, e.keys), present: true, touched: true}
	x.before = make([]map[string]string, len(recs))
	for i, r := range recs {
		x.recs[i], x.before[i] = maps.Clone(r), maps.Clone(r)
	}
	return x
}

// write writes the entry, with the values that its leaves have, onto rows that are there, or onto none, and returns
// what its rows are then; nil: that is refused.
func (t *teller) write(tx *tx, e *txEntry, values [][]string, onto []map[string]string) ([]map[string]string, error) {
	g := e.group
	x := t.copyOf(e, onto)
	if onto == nil {
		x.recs, x.before, x.present = make([]map[string]string, len(g.rows)), make([]map[string]string, len(g.rows)), false
		if g.parent == nil {
			x.present = true
		} else if x.create() != nil {
			return nil, nil
		}
	}
	for _, n := range g.leaves {
		if !n.config || n.keyIndex >= 0 || !slices.ContainsFunc(n.binds, func(b bind) bool { return b.codec.Put != nil }) {
			continue
		}
		if v := values[n.index]; v != nil && !slices.Equal(v, n.def) && x.put(n, v) != nil {
			return nil, nil
		}
	}
	x.fill()
	id := entryID(g, e.keys)
	tx.entries[id] = x
	defer delete(tx.entries, id)
	for _, f := range g.finish {
		if err := f(&finishing{ctx: t.ctx, tx: tx, e: x}); isUnavailable(err) {
			return nil, err
		} else if err != nil {
			return nil, nil
		}
	}
	return x.recs, nil
}

// sameAt reports whether a row came out as it is.
func (t *teller) sameAt(e *txEntry, recs []map[string]string, i int) bool {
	if recs == nil {
		return false
	}
	table, key := e.group.rows[i].place(e.keys, e.own())
	return t.same(table, key, recs[i], e.recs[i])
}

// whole reports whether all rows did, and no others.
func (t *teller) whole(e *txEntry, recs []map[string]string) bool {
	for i := range e.recs {
		if e.recs[i] != nil && !t.sameAt(e, recs, i) || e.recs[i] == nil && recs != nil && recs[i] != nil {
			return false
		}
	}
	return recs != nil
}

// note writes down what came of an entry. Rows of a list's entry are told together.
func (t *teller) note(e *txEntry, anew, again, rest []map[string]string) {
	list := e.group.parent != nil
	all := list && t.whole(e, anew)
	if list && !all && !t.whole(e, again) {
		return
	}
	for i, r := range e.group.rows {
		if e.recs[i] == nil {
			continue
		}
		table, key := r.place(e.keys, e.own())
		told := t.out[table+"|"+key]
		switch {
		case told["invalid"] != "":
		case all, !list && t.sameAt(e, anew, i):
			told["told"] = toldAll
		case t.sameAt(e, again, i) && checkRow(table, key, rest[i], t.read) == nil:
			told["told"] = toldRest
			if fields := rowFields().Get(Record{Fields: rest[i]}); len(fields) > 0 {
				told["rest"] = strings.Join(fields, "\x00")
			}
		}
	}
}

// same reports whether one row says all that another does, and the same: up to how numbers and words are written, and
// to fields that have their default.
func (t *teller) same(table, key string, anew, is map[string]string) bool {
	if (anew == nil) != (is == nil) {
		return false
	}
	there := Record{Fields: anew}
	exact := true
	for f, v := range is {
		if f == nullField {
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

// fieldCount is how many fields a row has.
func fieldCount(row map[string]string) int {
	if row[nullField] != "" {
		return len(row) - 1
	}
	return len(row)
}

// knownField reports whether a field has a meaning, which is compared.
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

// meaning is a row in the one form that schema writes it in; false: it has none.
func (t *teller) meaning(table, key string, fields map[string]string) (map[string]string, bool) {
	bare := maps.Clone(fields)
	delete(bare, nullField)
	if table == schema.CfgACLRule { // of a flow group
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
