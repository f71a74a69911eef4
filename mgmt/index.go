package mgmt

import (
	"context"
	"slices"
	"sync/atomic"

	"tamtam/swss"
)

// An indexer finds the entries of lists by the value of a leaf without reading all their rows: it
// keeps the values in CONFIG_DB of the leaves it was asked for, and catches up with writes before
// each answer. Only the goroutine of a Set uses it.
type indexer struct {
	redis    *swss.Redis
	listener *swss.Listener // nil until first used
	doubtful atomic.Bool    // everything is to be read again
	leaves   map[*node]*index
}

// An index is that of one leaf.
type index struct {
	leaf    *node
	sources []*swss.Subscriber
	binds   []bind // as sources

	rows   map[rowID]indexed
	values map[string]map[rowID]bool
}

type rowID struct {
	source int
	key    string
}

type indexed struct {
	keys, values []string
}

func newIndexer(r *swss.Redis) *indexer { return &indexer{redis: r, leaves: map[*node]*index{}} }

// find returns the keys of the entries whose leaf has one of the values, in order; some entries may
// no longer have it. False: the leaf cannot be indexed.
func (x *indexer) find(ctx context.Context, leaf *node, values []string) ([][]string, bool, error) {
	if !leaf.indexable() {
		return nil, false, nil
	}
	if x.listener == nil {
		x.listener = swss.NewListener(x.redis)
	}
	if x.doubtful.Swap(false) {
		x.listener.Distrust()
	}
	ix := x.leaves[leaf]
	if ix == nil {
		ix = x.add(leaf)
	}
	if err := x.listener.Sync(ctx); err != nil {
		return nil, true, unavailable(err)
	}
	if err := ix.update(ctx); err != nil {
		return nil, true, unavailable(err)
	}
	var out [][]string
	for _, v := range values {
		for id := range ix.values[v] {
			out = append(out, ix.rows[id].keys)
		}
	}
	slices.SortFunc(out, compareKeys)
	return slices.CompactFunc(out, slices.Equal), true, nil
}

func (x *indexer) add(leaf *node) *index {
	ix := &index{leaf: leaf, binds: leaf.binds, rows: map[rowID]indexed{}, values: map[string]map[rowID]bool{}}
	for _, b := range leaf.binds {
		r := leaf.group.rows[b.row]
		ix.sources = append(ix.sources, swss.NewSubscriber(x.listener, x.redis.DB(r.DB), r.Table))
	}
	x.leaves[leaf] = ix
	return ix
}

// indexable reports whether the rows that hold the leaf tell its value and the
// keys of its entry.
func (n *node) indexable() bool {
	if !n.config || n.keyIndex >= 0 || len(n.def) > 0 || len(n.group.derive) > 0 {
		return false
	}
	for _, b := range n.binds {
		r := n.group.rows[b.row]
		named := 0
		for _, k := range r.key.keys {
			if k >= 0 {
				named++
			}
		}
		if r.DB != swss.ConfigDB || r.Map != "" || named != len(n.group.keys) {
			return false
		}
	}
	return true
}

// update catches up with what was written since the last call.
func (ix *index) update(ctx context.Context) error {
	for i, s := range ix.sources {
		changed, err := s.Pops(ctx)
		if err != nil {
			return err
		}
		for _, c := range changed {
			ix.put(rowID{i, c.Key}, c)
		}
	}
	return nil
}

// put replaces what is known of a row.
func (ix *index) put(id rowID, c swss.KeyOpFieldsValues) {
	for _, v := range ix.rows[id].values {
		delete(ix.values[v], id)
		if len(ix.values[v]) == 0 {
			delete(ix.values, v)
		}
	}
	delete(ix.rows, id)
	if c.Op != swss.OpSet {
		return
	}
	b, g := ix.binds[id.source], ix.leaf.group
	keys, ok := g.rows[b.row].key.match(id.key, len(g.keys))
	if !ok {
		return
	}
	fields := map[string]string{}
	for _, p := range c.Fields {
		fields[p.Field] = p.Value
	}
	e := newEntry(g, keys)
	if !g.rows[b.row].its(e, fields) {
		return
	}
	e.recs[b.row] = fields
	values := slices.Clone(e.value(ix.leaf))
	if len(values) == 0 {
		return
	}
	ix.rows[id] = indexed{keys, values}
	for _, v := range values {
		if ix.values[v] == nil {
			ix.values[v] = map[rowID]bool{}
		}
		ix.values[v][id] = true
	}
}

func (x *indexer) close() {
	if x.listener != nil {
		x.listener.Close()
	}
}

// withLeaf visits the entries whose leaf has one of the values, as they will be, with at least the
// row that holds the leaf. It may visit others too.
func (t *tx) withLeaf(ctx context.Context, leaf *node, values []string, visit func(*entry)) error {
	g := leaf.group
	need := make([]bool, len(g.rows))
	for _, b := range leaf.binds {
		need[b.row] = true
	}
	stored := func(es []*entry) error {
		for _, e := range es {
			if t.entries[entryID(g, e.keys)] == nil {
				visit(e)
			}
		}
		return nil
	}
	keys, ok, err := t.indexer.find(ctx, leaf, values)
	switch {
	case err != nil:
		return err
	case !ok:
		err = t.reader.read(ctx, g, extend(nil, g), need, stored)
	default:
		err = t.reader.readKeys(ctx, g, keys, need, stored)
	}
	if err != nil {
		return err
	}
	for _, e := range t.order {
		if e.group == g && e.present {
			visit(e.entry)
		}
	}
	return nil
}
