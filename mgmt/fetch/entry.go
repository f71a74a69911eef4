package fetch

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	"github.com/redis/go-redis/v9"
)

// A Reader reads entries from the databases.
type Reader struct {
	Redis *swss.Redis
	Hub   *Hub         // the cache of rows; nil means that all rows are read from the databases
	Left  bool         // true to include deleted entries that may still be in force
	view  *rights.View // what the caller may read; nil means everything

	Sources map[string]Source
	made    map[[2]string]map[string]map[string]string // by source and first key, during one request
	texts   *rights.Censor                             // during one request
}

// SeenBy returns the reader restricted to a view.
func (r Reader) SeenBy(v *rights.View) Reader {
	r.view = v
	return r
}

// With returns the reader for a selection. A request for config alone gets only configured entries.
func (r Reader) With(s *tree.Selected) Reader {
	r.Left = s.State
	if r.made == nil {
		r.made, r.texts = map[[2]string]map[string]map[string]string{}, &rights.Censor{}
	}
	return r
}

// Chunk bounds the entries that are read together. Each of many subscribers may hold this many.
const Chunk = 500

// Read passes the entries of a group whose keys match the pattern to visit, in order of their keys, a chunk at a time.
// It reads only the rows that make up entries, and the rows set in need.
func (r Reader) Read(
	ctx context.Context, g *tree.List, pattern []string, need []bool, visit func([]*tree.Entry) error,
) error {
	found, err := r.candidates(ctx, g, pattern)
	if err != nil {
		return err
	}
	return r.ReadKeys(ctx, g, found, need, func(es []*tree.Entry) error {
		return visit(slices.DeleteFunc(es, func(e *tree.Entry) bool {
			return !e.Derive() || !tree.Matches(e.Keys, pattern) || !r.Shows(ctx, e)
		}))
	})
}

// Shows reports whether any part of an entry may be read, and hides the other parts.
func (r Reader) Shows(ctx context.Context, e *tree.Entry) bool {
	if r.view == nil {
		return true
	}
	if table, key, ok := e.List.AsIs(e.Keys); ok {
		if !r.view.MayReadRow(e.List, swss.ConfigDB, table, key) {
			return false
		}
		e.Mask(table)
	}
	r.censored(ctx, e)
	if !r.view.Shade(e) {
		return false
	}
	if !r.view.Keyed[e.List] { // otherwise the selection already contains only readable leaves
		return true
	}
	e.Limits = r.view
	return r.view.Some(e.List.Node, e.Keys, access.Read)
}

// censored hides texts of an entry. Rows with a hidden text lose their version, so that remembered values are not used.
func (r Reader) censored(ctx context.Context, e *tree.Entry) {
	for i, row := range e.List.Rows {
		if row.DB != swss.StateDB || e.Rows[i] == nil {
			continue
		}
		if shown := r.texts.Fields(ctx, r.view, r.Redis, e.Rows[i]); !maps.Equal(shown, e.Rows[i]) {
			e.Rows[i], e.Versions[i] = shown, 0
		}
	}
}

// ReadKeys passes the existing ones of the entries to visit, a chunk at a time. It keeps no reference to them.
func (r Reader) ReadKeys(
	ctx context.Context, g *tree.List, keys [][]string, need []bool, visit func([]*tree.Entry) error,
) error {
	for c := range slices.Chunk(keys, Chunk) {
		es := tree.NewEntries(g, c)
		if err := r.fetch(ctx, g, es, need); err != nil {
			return err
		}
		if err := visit(slices.DeleteFunc(es, func(e *tree.Entry) bool { return !e.Exists() })); err != nil {
			return err
		}
	}
	return nil
}

// candidates returns the keys of the entries that may exist.
func (r Reader) candidates(ctx context.Context, g *tree.List, pattern []string) ([][]string, error) {
	if g.Parent == nil {
		return [][]string{nil}, nil
	}
	var found [][]string
	for _, row := range g.Rows {
		if !row.Entry || pattern[0] != tree.Wildcard && !strings.HasPrefix(pattern[0], row.Only) ||
			!slices.Contains(pattern, tree.Wildcard) && !row.Serves(pattern) {
			continue
		}
		keys, err := r.rowEntries(ctx, g, row, pattern)
		if err != nil {
			return nil, err
		}
		found = tree.Union(found, keys)
	}
	left, err := r.tracedKeys(ctx, g, pattern)
	if err != nil {
		return nil, err
	}
	return tree.Union(found, left), nil
}

// rowEntries returns the keys of the entries to which a row may belong.
func (r Reader) rowEntries(
	ctx context.Context, g *tree.List, row *tree.ListRow, pattern []string,
) (keys [][]string, err error) {
	if row.At != "" {
		if !tree.Matches([]string{row.At}, pattern[:1]) {
			return nil, nil
		}
		pattern = slices.Clone(pattern)
		pattern[0] = row.At
	}
	keys = [][]string{slices.Clone(pattern)}
	switch {
	case row.Template.Gather >= 0 && len(row.EachKeys) > 0: // there is one row
	case !row.Template.Complete(pattern):
		if keys, err = r.rowKeys(ctx, g, row, pattern); err != nil {
			return nil, err
		}
	}
	if len(row.EachKeys) > 0 && strings.Contains(row.EachField(pattern), tree.Wildcard) {
		return r.fieldKeys(ctx, g, row, keys)
	}
	return keys, nil
}

// rowKeys returns the keys of a row's table that match the pattern.
func (r Reader) rowKeys(ctx context.Context, g *tree.List, row *tree.ListRow, pattern []string) ([][]string, error) {
	if found, ok := r.keptKeys(g, matching{row, false}, pattern); ok {
		for _, m := range found {
			for _, i := range row.EachKeys {
				m[i] = pattern[i]
			}
		}
		return found, nil
	}
	var keys []string
	var err error
	if row.Source != "" {
		var rows map[string]map[string]string
		if rows, err = r.from(ctx, row.Source, pattern[0]); err != nil {
			return nil, tree.Unavailable(err)
		}
		keys = tree.SortedKeys(rows)
	} else if keys, err = r.keysOf(ctx, row, row.Template.Glob(pattern)); err != nil {
		return nil, err
	}
	var found [][]string
	for _, k := range keys {
		m, ok := row.Match(k, len(g.Keys))
		if !ok || !tree.Matches(m, pattern) || !g.CanHave(m) || row.Fits != nil && !row.Fits(m) {
			continue
		}
		for _, i := range row.EachKeys {
			m[i] = pattern[i]
		}
		found = append(found, m)
	}
	return found, nil
}

// keysOf returns the keys in a row's table that match a Redis pattern. For a row with a map, it returns the map's
// names.
func (r Reader) keysOf(ctx context.Context, row *tree.ListRow, glob string) (keys []string, err error) {
	db := r.Redis.DB(row.DB)
	if row.Map != "" {
		if keys, err = db.Client().HKeys(ctx, row.Map).Result(); err != nil {
			return nil, tree.Unavailable(err)
		}
		return keys, nil
	}
	return tableKeys(ctx, db, row.Hash(db.Separator(), ""), glob)
}

// tableKeys finds the keys of a database that match a Redis pattern, and returns them without the prefix.
func tableKeys(ctx context.Context, db *swss.DB, prefix, glob string) ([]string, error) {
	keys, err := db.Client().Keys(ctx, tree.GlobEscape(prefix)+glob).Result()
	if err != nil {
		return nil, tree.Unavailable(err)
	}
	for i, k := range keys {
		keys[i] = strings.TrimPrefix(k, prefix)
	}
	return keys, nil
}

// Hashes reads rows by their keys, in order. A missing row has no fields.
func Hashes(ctx context.Context, db *swss.DB, keys []string) ([]map[string]string, error) {
	rows := make([]map[string]string, 0, len(keys))
	for c := range slices.Chunk(keys, Chunk) {
		read := make([]*redis.MapStringStringCmd, len(c))
		err := Pipelined(ctx, db, func(p redis.Pipeliner) error {
			for i, k := range c {
				read[i] = p.HGetAll(ctx, k)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, cmd := range read {
			rows = append(rows, cmd.Val())
		}
	}
	return rows, nil
}

// fieldKeys returns the keys of the entries that are fields of rows. Fields that the key's type does not allow are
// omitted.
func (r Reader) fieldKeys(ctx context.Context, g *tree.List, row *tree.ListRow, keys [][]string) ([][]string, error) {
	var found [][]string
	for c := range slices.Chunk(keys, Chunk) {
		es := tree.NewEntries(g, c)
		fields, err := r.fields(ctx, row, es)
		if err != nil {
			return nil, err
		}
		for i, k := range c {
			for _, f := range fields[i] {
				if e := g.FieldEntry(row, k, f); e != nil {
					found = append(found, e)
				}
			}
		}
	}
	return found, nil
}

// fields returns the names of the fields of each entry's row.
func (r Reader) fields(ctx context.Context, row *tree.ListRow, entries []*tree.Entry) ([][]string, error) {
	names := make([][]string, len(entries))
	if row.Template.Gather >= 0 {
		of, pattern := row.Sharers(entries)
		found, err := r.gather(ctx, row, of, pattern)
		for i, e := range entries {
			names[i] = tree.SortedKeys(found[row.Template.Shared(e.Keys)])
		}
		return names, err
	}
	if r.keptFields(row, entries, names) {
		return names, nil
	}
	db, keys := r.Redis.DB(row.DB), make([]string, len(entries))
	for i, e := range entries {
		keys[i] = row.Table + db.Separator() + row.Template.Expand(e.Keys, nil)
	}
	rows, err := Hashes(ctx, db, keys)
	for i := range rows {
		names[i] = tree.SortedKeys(row.Folded(rows[i]))
	}
	return names, err
}

// Collect reads all that a selection asks for below a pattern. If an enclosing entry does not exist, it is added with
// keys only.
func (r Reader) Collect(
	ctx context.Context, m *tree.Model, sel tree.Selection, pattern []string,
) (tree.Entries, error) {
	t := tree.Entries{}
	r.made, r.texts = map[[2]string]map[string]map[string]string{}, &rights.Censor{}
	for _, g := range m.Lists {
		s := sel[g]
		if s == nil {
			continue
		}
		err := r.With(s).Read(ctx, g, tree.Extend(pattern, g), s.Rows, func(es []*tree.Entry) error {
			if len(t[g]) < maxMemos {
				r.recall(es)
			}
			t[g] = append(t[g], es...)
			return nil
		})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(t[g], func(a, b *tree.Entry) int { return tree.CompareKeys(a.Keys, b.Keys) })
	}
	for _, g := range slices.Backward(m.Lists) {
		if g.Parent == nil || g.Parent.Parent == nil || len(t[g]) == 0 {
			continue
		}
		p := g.Parent
		have := t[p]
		for _, e := range t[g] {
			keys := e.Keys[:len(p.Keys)]
			if n := len(t[p]); n > len(have) && slices.Equal(t[p][n-1].Keys, keys) {
				continue
			}
			compare := func(x *tree.Entry, k []string) int { return tree.CompareKeys(x.Keys, k) }
			if _, ok := slices.BinarySearchFunc(have, keys, compare); !ok {
				outer := tree.NewEntry(p, keys)
				if r.view != nil {
					outer.Limits = r.view
				}
				t[p] = append(t[p], outer)
			}
		}
		slices.SortFunc(t[p], func(a, b *tree.Entry) int { return tree.CompareKeys(a.Keys, b.Keys) })
	}
	return t, nil
}
