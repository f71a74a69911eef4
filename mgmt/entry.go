package mgmt

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"tamtam/mgmt/access"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/redis/go-redis/v9"
)

// An entry is one entry of a list, with those of its rows that were read.
type entry struct {
	group  *group
	keys   []string
	recs   []map[string]string // by row; nil: absent, or not asked for
	vers   []uint64            // by row: which version it is, of the table where it is absent; 0: not known
	at     time.Time           // the newest of its rows that are kept was read
	elems  []*gpb.PathElem     // of its path, once asked for
	coded  []byte              // of its path, as they travel, once asked for
	ports  map[string]string   // by alias, where a rule names ports by it
	left   bool                // it is deleted, but may still be in force
	limits Limits              // what of it is read; nil: everything
	shaded map[*node]bool      // leaves that are not read, because of what the view takes away elsewhere
	other  bool                // its row is an entry of another list

	recalled *recall // what its leaves were
	same     uint64  // rows that are what they were then, a bit for each
}

// Limits are what of entries may be read.
type Limits interface {
	// Reads reports whether a leaf of an entry with these keys may be read.
	Reads(leaf *node, keys []string) bool
}

func newEntry(g *group, keys []string) *entry {
	return newEntries(g, [][]string{keys})[0]
}

// newEntries makes many at once.
func newEntries(g *group, keys [][]string) []*entry {
	n := len(g.rows)
	all, recs, vers := make([]entry, len(keys)), make([]map[string]string, len(keys)*n), make([]uint64, len(keys)*n)
	es := make([]*entry, len(keys))
	for i, k := range keys {
		all[i] = entry{group: g, keys: k, recs: recs[i*n : (i+1)*n : (i+1)*n], vers: vers[i*n : (i+1)*n : (i+1)*n]}
		es[i] = &all[i]
	}
	return es
}

// exists reports whether one of the rows that make up the entry exists.
func (e *entry) exists() bool {
	return e.group.parent == nil || e.left || e.own() != nil
}

// its reports whether a row that was read is the entry's, and not of another list.
func (r *row) its(e *entry, fields map[string]string) bool {
	if is := e.group.is; !r.Entry || is == nil || is(fields) {
		return true
	}
	e.other = true
	return false
}

// own is the entry's own row.
func (e *entry) own() map[string]string {
	for i, r := range e.group.rows {
		if r.Entry && e.recs[i] != nil {
			return e.recs[i]
		}
	}
	return nil
}

// value returns the value of a leaf; nil: it has none. What a row says but
// the leaf's type does not allow is left out.
func (e *entry) value(n *node) []string {
	if e.hides(n) {
		return nil
	}
	if e.recalled != nil && n.follows&^e.same == 0 {
		return e.recalled.value(n)
	}
	return e.workOut(n)
}

// workOut makes the value of a leaf from the rows.
func (e *entry) workOut(n *node) []string {
	if n.keyIndex >= 0 {
		if n.config && !n.isListKey() && len(e.group.traces) > 0 && e.own() == nil {
			return nil // there is nothing but state
		}
		return e.keys[n.keyIndex : n.keyIndex+1]
	}
	if n.behind {
		return n.allowed(e.behind(n))
	}
	there := false
	for _, b := range n.binds {
		rec, ok := e.record(b.row)
		if !ok {
			continue
		}
		there = true
		said := b.codec.Get(rec)
		if v := n.allowed(said); len(v) > 0 {
			return v
		}
		there = there && len(said) == 0 // what the row says is not the default, even if invalid
	}
	if there && n.config && len(n.def) > 0 {
		return n.def
	}
	return nil
}

// record is what codecs get of a row; false: it says nothing.
func (e *entry) record(i int) (Record, bool) {
	rec, r := Record{Keys: e.keys, Fields: e.recs[i], Own: e.own()}, e.group.rows[i]
	if r.repeats == "" {
		return rec, rec.Fields != nil
	}
	if is := e.recs[r.repeated][r.repeats]; is != rec.Fields[r.repeats] {
		rec.Fields, rec.Outdated = nil, true
		return rec, is != ""
	}
	return rec, rec.Fields != nil
}

// hides reports whether whoever asks may not read a leaf of the entry.
func (e *entry) hides(n *node) bool {
	return e.shaded[n] || e.limits != nil && !e.limits.Reads(n, e.keys)
}

// allowed returns those values that the leaf's type allows, in canonical form.
func (n *node) allowed(v []string) []string {
	if len(v) == 0 {
		return nil
	}
	out := make([]string, 0, len(v))
	for _, text := range v {
		if c, err := n.check(text); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// matches reports whether keys fit a pattern.
func matches(keys, pattern []string) bool {
	for i, p := range pattern {
		if p != wildcard && keys[i] != wildcard && keys[i] != p {
			return false
		}
	}
	return true
}

func compareKeys(a, b []string) int { return slices.Compare(a, b) }

// A reader reads entries from the databases.
type reader struct {
	redis *swss.Redis
	hub   *hub  // that keeps rows; nil: all are read from the databases
	left  bool  // also those that are deleted, but may still be in force
	view  *view // of whoever asks; nil: everything

	sources map[string]source
	made    map[[2]string]map[string]map[string]string // by source and first key, during one request
	texts   *censor                                    // during one request
}

// seenBy returns the reader for what a view shows.
func (r reader) seenBy(v *view) reader {
	r.view = v
	return r
}

// with returns the reader for a selection: a request for config alone gets what is configured.
func (r reader) with(s *selected) reader {
	r.left = s.state
	if r.made == nil {
		r.made, r.texts = map[[2]string]map[string]map[string]string{}, &censor{}
	}
	return r
}

// chunk bounds the entries that are read at once: each of many subscribers may hold this many.
const chunk = 500

// read passes the entries of a group whose keys fit the pattern to visit, in
// order of their keys, a chunk at a time. Only the rows that need names are
// read, besides those that are the entries.
func (r reader) read(ctx context.Context, g *group, pattern []string, need []bool, visit func([]*entry) error) error {
	found, err := r.candidates(ctx, g, pattern)
	if err != nil {
		return err
	}
	return r.readKeys(ctx, g, found, need, func(es []*entry) error {
		return visit(slices.DeleteFunc(es, func(e *entry) bool {
			return !e.derive() || !matches(e.keys, pattern) || !r.shows(ctx, e)
		}))
	})
}

// shows reports whether something of an entry may be read, and lets only that be read.
func (r reader) shows(ctx context.Context, e *entry) bool {
	if r.view == nil {
		return true
	}
	if table, key, ok := e.group.asIs(e.keys); ok {
		if !r.view.mayReadRow(e.group, swss.ConfigDB, table, key) {
			return false
		}
		e.mask(table)
	}
	r.censored(ctx, e)
	if !r.view.shade(e) {
		return false
	}
	if !r.view.keyed[e.group] { // then it was decided by the selection of leaves
		return true
	}
	e.limits = r.view
	return r.view.some(e.group.node, e.keys, access.Read)
}

// readKeys passes those of the entries that exist to visit, a chunk at a time.
// It keeps none of them.
func (r reader) readKeys(
	ctx context.Context, g *group, keys [][]string, need []bool, visit func([]*entry) error,
) error {
	for c := range slices.Chunk(keys, chunk) {
		es := newEntries(g, c)
		if err := r.fetch(ctx, g, es, need); err != nil {
			return err
		}
		if err := visit(slices.DeleteFunc(es, func(e *entry) bool { return !e.exists() })); err != nil {
			return err
		}
	}
	return nil
}

// candidates finds the keys of the entries that may exist.
func (r reader) candidates(ctx context.Context, g *group, pattern []string) ([][]string, error) {
	if g.parent == nil {
		return [][]string{nil}, nil
	}
	var found [][]string
	for _, row := range g.rows {
		if !row.Entry || pattern[0] != wildcard && !strings.HasPrefix(pattern[0], row.Only) ||
			!slices.Contains(pattern, wildcard) && !row.serves(pattern) {
			continue
		}
		keys, err := r.rowEntries(ctx, g, row, pattern)
		if err != nil {
			return nil, err
		}
		found = union(found, keys)
	}
	left, err := r.tracedKeys(ctx, g, pattern)
	if err != nil {
		return nil, err
	}
	return union(found, left), nil
}

// union is the keys of two sets, each once, in order. Both are usually in order already.
func union(a, b [][]string) [][]string {
	for _, x := range [][][]string{a, b} {
		if !slices.IsSortedFunc(x, compareKeys) {
			slices.SortFunc(x, compareKeys)
		}
	}
	out := make([][]string, 0, max(len(a), len(b)))
	for len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && compareKeys(a[0], b[0]) <= 0 {
			a, b = b, a
		}
		if n := len(out); n == 0 || compareKeys(out[n-1], b[0]) != 0 {
			out = append(out, b[0])
		}
		b = b[1:]
	}
	return out
}

// rowEntries finds the keys of the entries that a row may make up.
func (r reader) rowEntries(ctx context.Context, g *group, row *row, pattern []string) (keys [][]string, err error) {
	keys = [][]string{slices.Clone(pattern)}
	switch {
	case row.At != "" && !matches([]string{row.At}, pattern[:1]):
		return nil, nil
	case row.At != "":
		keys[0][0] = row.At
	case row.key.gather >= 0 && len(row.each) > 0: // there is one row
	case !row.key.complete(pattern):
		if keys, err = r.rowKeys(ctx, g, row, pattern); err != nil {
			return nil, err
		}
	}
	if len(row.each) > 0 && strings.Contains(row.eachField(pattern), wildcard) {
		return r.fieldKeys(ctx, g, row, keys)
	}
	return keys, nil
}

// rowKeys finds the keys of a row that fit the pattern among those of its table.
func (r reader) rowKeys(ctx context.Context, g *group, row *row, pattern []string) ([][]string, error) {
	if found, ok := r.keptKeys(g, matching{row, false}, pattern); ok {
		for _, m := range found {
			for _, i := range row.each {
				m[i] = pattern[i]
			}
		}
		return found, nil
	}
	db := r.redis.DB(row.DB)
	prefix := row.hash(db.Separator(), "")
	var keys []string
	var err error
	switch {
	case row.Source != "":
		prefix = ""
		var rows map[string]map[string]string
		rows, err = r.from(ctx, row.Source, pattern[0])
		keys = sortedKeys(rows)
	case row.Map != "": // the names are the fields of the hash
		prefix = ""
		keys, err = db.Client().HKeys(ctx, row.Map).Result()
	default:
		keys, err = db.Client().Keys(ctx, globEscape(prefix)+row.key.glob(pattern)).Result()
	}
	if err != nil {
		return nil, unavailable(err)
	}
	var found [][]string
	for _, k := range keys {
		m, ok := row.key.match(strings.TrimPrefix(k, prefix), len(g.keys))
		if !ok || !matches(m, pattern) || !g.canHave(m) || row.Fits != nil && !row.Fits(m) {
			continue
		}
		for _, i := range row.each {
			m[i] = pattern[i]
		}
		found = append(found, m)
	}
	return found, nil
}

// canHave reports whether numbers among the list's own keys are such numbers: a row "RULE_01" is not rule 1.
func (g *group) canHave(keys []string) bool {
	from := len(g.keys) - len(g.ownKeys())
	for i, name := range g.ownKeys() {
		n, v := g.node.kid[name], keys[from+i]
		if v == wildcard || !unsigned(n.typ) {
			continue
		}
		if c, err := n.check(v); err != nil || c != v {
			return false
		}
	}
	return true
}

// fieldKeys finds the entries that are the fields of rows. Fields that the
// key's type does not allow are left out.
func (r reader) fieldKeys(ctx context.Context, g *group, row *row, keys [][]string) ([][]string, error) {
	var found [][]string
	for c := range slices.Chunk(keys, chunk) {
		es := newEntries(g, c)
		fields, err := r.fields(ctx, row, es)
		if err != nil {
			return nil, err
		}
		for i, k := range c {
			for _, f := range fields[i] {
				if e := g.fieldEntry(row, k, f); e != nil {
					found = append(found, e)
				}
			}
		}
	}
	return found, nil
}

// fieldEntry returns the keys of the entry that a field is; nil: it is none.
func (g *group) fieldEntry(row *row, keys []string, field string) []string {
	values := []string{field}
	if len(row.each) > 1 {
		values = strings.Split(field, " ")
	}
	if len(values) != len(row.each) {
		return nil
	}
	e := slices.Clone(keys)
	for j, i := range row.each {
		own := g
		for i < len(own.keys)-len(own.ownKeys()) {
			own = own.parent
		}
		v, err := own.node.kid[g.keys[i]].check(values[j])
		if err != nil || v != values[j] || !matches([]string{v}, keys[i:i+1]) {
			return nil
		}
		e[i] = values[j]
	}
	return e
}

// fields returns the names of the fields of each entry's row.
func (r reader) fields(ctx context.Context, row *row, entries []*entry) ([][]string, error) {
	names := make([][]string, len(entries))
	if row.key.gather >= 0 {
		of, pattern := row.sharers(entries)
		found, err := r.gather(ctx, row, of, pattern)
		for i, e := range entries {
			names[i] = sortedKeys(found[row.key.shared(e.keys)])
		}
		return names, err
	}
	if r.keptFields(row, entries, names) {
		return names, nil
	}
	db := r.redis.DB(row.DB)
	read := make([]*redis.MapStringStringCmd, len(entries))
	err := pipelined(ctx, db, func(p redis.Pipeliner) error {
		for i, e := range entries {
			read[i] = p.HGetAll(ctx, row.Table+db.Separator()+row.key.expand(e.keys, nil))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range entries {
		names[i] = sortedKeys(row.folded(read[i].Val()))
	}
	return names, nil
}

// glob is Redis' pattern for the keys that fit.
func (t template) glob(pattern []string) string {
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.key == partText:
			b.WriteString(globEscape(p.text))
		case p.key >= 0 && pattern[p.key] != wildcard:
			b.WriteString(globEscape(p.inRow(pattern[p.key])))
		default:
			b.WriteString("*")
		}
	}
	return b.String()
}

func globEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// derive fills in the keys that follow from fields; false: they do not.
func (e *entry) derive() bool {
	known, own := slices.Clone(e.keys), e.own()
	for _, i := range slices.Sorted(maps.Keys(e.group.derive)) {
		e.keys[i] = wildcard
		for j := range e.group.rows {
			if e.recs[j] == nil {
				continue
			}
			if v := e.group.derive[i].Get(Record{Keys: known, Fields: e.recs[j], Own: own}); len(v) > 0 {
				e.keys[i] = v[0]
				break
			}
		}
		if known[i] = e.keys[i]; e.keys[i] == wildcard {
			return false
		}
	}
	return true
}

// A selection is the leaves that a request asks for, by group.
type selection map[*group]*selected

type selected struct {
	leaves []*node
	rows   []bool
	state  bool // some of the leaves are of state
}

// selectLeaves returns the leaves at and below n that pass the filter.
func (m *model) selectLeaves(n *node, filter func(*node) bool) selection {
	sel := selection{}
	var walk func(*node)
	walk = func(n *node) {
		for _, k := range n.kids {
			if !k.apart {
				walk(k)
			}
		}
		if n.typ == nil || !filter(n) {
			return
		}
		s := sel[n.group]
		if s == nil {
			s = &selected{rows: make([]bool, len(n.group.rows))}
			sel[n.group] = s
		}
		s.leaves = append(s.leaves, n)
		s.state = s.state || !n.config
		for _, b := range n.binds {
			s.rows[b.row] = true
		}
	}
	walk(n)
	return sel
}

// extend fits a pattern of keys to a group further down.
func extend(pattern []string, g *group) []string {
	out := slices.Clone(pattern)
	for len(out) < len(g.keys) {
		out = append(out, wildcard)
	}
	return out
}

// A tree is entries in order of their keys, by group.
type tree map[*group][]*entry

// below returns the entries of g whose keys begin with keys.
func (t tree) below(g *group, keys []string) []*entry {
	all := t[g]
	prefix := func(e *entry) []string { return e.keys[:min(len(keys), len(e.keys))] }
	from := sort.Search(len(all), func(i int) bool { return compareKeys(prefix(all[i]), keys) >= 0 })
	to := from + sort.Search(len(all)-from, func(i int) bool { return compareKeys(prefix(all[from+i]), keys) > 0 })
	return all[from:to]
}

// collect reads all that a selection asks for below a pattern. An entry whose enclosing entry does
// not exist gets one with keys only.
func (r reader) collect(ctx context.Context, m *model, sel selection, pattern []string) (tree, error) {
	t := tree{}
	r.made, r.texts = map[[2]string]map[string]map[string]string{}, &censor{}
	for _, g := range m.groups {
		s := sel[g]
		if s == nil {
			continue
		}
		err := r.with(s).read(ctx, g, extend(pattern, g), s.rows, func(es []*entry) error {
			if len(t[g]) < maxMemos {
				r.recall(es)
			}
			t[g] = append(t[g], es...)
			return nil
		})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(t[g], func(a, b *entry) int { return compareKeys(a.keys, b.keys) })
	}
	for _, g := range slices.Backward(m.groups) {
		if g.parent == nil || g.parent.parent == nil || len(t[g]) == 0 {
			continue
		}
		p := g.parent
		have := t[p]
		for _, e := range t[g] {
			keys := e.keys[:len(p.keys)]
			if n := len(t[p]); n > len(have) && slices.Equal(t[p][n-1].keys, keys) {
				continue
			}
			compare := func(x *entry, k []string) int { return compareKeys(x.keys, k) }
			if _, ok := slices.BinarySearchFunc(have, keys, compare); !ok {
				outer := newEntry(p, keys)
				if r.view != nil {
					outer.limits = r.view
				}
				t[p] = append(t[p], outer)
			}
		}
		slices.SortFunc(t[p], func(a, b *entry) int { return compareKeys(a.keys, b.keys) })
	}
	return t, nil
}

// A databaseError is not the fault of the request.
type databaseError struct{ error }

func (e databaseError) Error() string { return "database: " + e.error.Error() }
func (e databaseError) Unwrap() error { return e.error }

func unavailable(err error) error { return databaseError{err} }

func isUnavailable(err error) bool {
	var e databaseError
	return errors.As(err, &e)
}
