package fetch

import (
	"context"
	"slices"

	"tamtam/mgmt/tree"
)

// An index finds rows of a cached table by the value that a leaf has in them.
type index struct {
	leaf   *tree.Node
	row    *tree.ListRow
	known  map[string]indexed // by the row's key
	values map[string]map[string]bool
	large  map[string][]string // keys of the entries whose rows are too large to be cached; they may have any value
}

// An indexed row holds the keys of its entry, and the values of the leaf.
type indexed struct{ keys, values []string }

// Find returns the sorted keys of the entries whose leaf has one of the values. It may return further entries. The
// result includes all earlier writes. ok is false if the leaf has no index, because its value depends on several rows
// or the table is too large to be cached.
func (h *Hub) Find(ctx context.Context, leaf *tree.Node, values []string) (found [][]string, ok bool, err error) {
	if !leaf.Indexable() {
		return nil, false, nil
	}
	var rows []*tree.ListRow
	var ids []tree.TableID
	for _, b := range leaf.Binds {
		row := leaf.List.Rows[b.Row]
		if !row.Cacheable() {
			return nil, false, nil
		}
		rows, ids = append(rows, row), append(ids, row.TableID())
	}
	if err := h.Fresh(ctx, ids, true); err != nil {
		return nil, true, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, row := range rows {
		t := h.tables[ids[i]].kept
		if t == nil {
			return nil, false, nil
		}
		found = t.index(leaf, row).find(found, values)
	}
	slices.SortFunc(found, tree.CompareKeys)
	return slices.CompactFunc(found, slices.Equal), true, nil
}

// index returns the index of a leaf, and creates it if needed.
func (t *keptTable) index(leaf *tree.Node, row *tree.ListRow) *index {
	for _, x := range t.indexes {
		if x.leaf == leaf && x.row == row {
			return x
		}
	}
	x := &index{leaf: leaf, row: row, known: map[string]indexed{}, values: map[string]map[string]bool{},
		large: map[string][]string{}}
	for key, r := range t.rows {
		x.put(key, r)
	}
	t.indexes = append(t.indexes, x)
	return x
}

// find appends the keys of entries with one of the values.
func (x *index) find(found [][]string, values []string) [][]string {
	for _, v := range values {
		for key := range x.values[v] {
			found = append(found, x.known[key].keys)
		}
	}
	for _, keys := range x.large {
		found = append(found, keys)
	}
	return found
}

// put enters a row in the index, or removes it if r is nil.
func (x *index) put(key string, r *keptRow) {
	for _, v := range x.known[key].values {
		if delete(x.values[v], key); len(x.values[v]) == 0 {
			delete(x.values, v)
		}
	}
	delete(x.known, key)
	delete(x.large, key)
	g := x.leaf.List
	keys, ok := x.row.Match(key, len(g.Keys))
	switch {
	case r == nil || !ok:
		return
	case r.fields == nil:
		x.large[key] = keys
		return
	}
	e := tree.NewEntry(g, keys)
	if !x.row.Its(e, r.fields) {
		return
	}
	e.Rows[x.row.Index] = x.row.Decoded(r.fields, keys)
	values := slices.Clone(e.Value(x.leaf))
	if len(values) == 0 {
		return
	}
	x.known[key] = indexed{keys, values}
	for _, v := range values {
		if x.values[v] == nil {
			x.values[v] = map[string]bool{}
		}
		x.values[v][key] = true
	}
}
