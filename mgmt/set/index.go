package set

import (
	"context"
	"slices"
	"sync/atomic"

	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// An Indexer finds the entries of lists by the value of a leaf without reading all their rows: it
// keeps the values in CONFIG_DB of the leaves it was asked for, and catches up with writes before
// each answer. Only the goroutine of a Set uses it.
type Indexer struct {
	redis    *swss.Redis
	listener *swss.Listener // nil until first used
	Doubtful atomic.Bool    // everything is to be read again
	leaves   map[*tree.Node]*index
}

// An index is that of one leaf.
type index struct {
	leaf    *tree.Node
	sources []*swss.Subscriber
	binds   []tree.Bind // as sources

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

// NewIndexer returns an indexer that knows nothing yet.
func NewIndexer(r *swss.Redis) *Indexer { return &Indexer{redis: r, leaves: map[*tree.Node]*index{}} }

// Find returns the keys of the entries whose leaf has one of the values, in order; some entries may
// no longer have it. False: the leaf cannot be indexed.
func (x *Indexer) Find(ctx context.Context, leaf *tree.Node, values []string) ([][]string, bool, error) {
	if !leaf.Indexable() {
		return nil, false, nil
	}
	if x.listener == nil {
		x.listener = swss.NewListener(x.redis)
	}
	if x.Doubtful.Swap(false) {
		x.listener.Distrust()
	}
	ix := x.leaves[leaf]
	if ix == nil {
		ix = x.add(leaf)
	}
	if err := x.listener.Sync(ctx); err != nil {
		return nil, true, tree.Unavailable(err)
	}
	if err := ix.update(ctx); err != nil {
		return nil, true, tree.Unavailable(err)
	}
	var out [][]string
	for _, v := range values {
		for id := range ix.values[v] {
			out = append(out, ix.rows[id].keys)
		}
	}
	slices.SortFunc(out, tree.CompareKeys)
	return slices.CompactFunc(out, slices.Equal), true, nil
}

func (x *Indexer) add(leaf *tree.Node) *index {
	ix := &index{leaf: leaf, binds: leaf.Binds, rows: map[rowID]indexed{}, values: map[string]map[rowID]bool{}}
	for _, b := range leaf.Binds {
		r := leaf.List.Rows[b.Row]
		ix.sources = append(ix.sources, swss.NewSubscriber(x.listener, x.redis.DB(r.DB), r.Table))
	}
	x.leaves[leaf] = ix
	return ix
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
	b, g := ix.binds[id.source], ix.leaf.List
	keys, ok := g.Rows[b.Row].Template.Match(id.key, len(g.Keys))
	if !ok {
		return
	}
	fields := map[string]string{}
	for _, p := range c.Fields {
		fields[p.Field] = p.Value
	}
	e := tree.NewEntry(g, keys)
	if !g.Rows[b.Row].Its(e, fields) {
		return
	}
	e.Rows[b.Row] = fields
	values := slices.Clone(e.Value(ix.leaf))
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

func (x *Indexer) Close() {
	if x.listener != nil {
		x.listener.Close()
	}
}

// withLeaf visits the entries whose leaf has one of the values, as they will be, with at least the
// row that holds the leaf. It may visit others too.
func (t *Tx) withLeaf(ctx context.Context, leaf *tree.Node, values []string, visit func(*tree.Entry)) error {
	g := leaf.List
	need := make([]bool, len(g.Rows))
	for _, b := range leaf.Binds {
		need[b.Row] = true
	}
	stored := func(es []*tree.Entry) error {
		for _, e := range es {
			if t.entries[tree.EntryID(g, e.Keys)] == nil {
				visit(e)
			}
		}
		return nil
	}
	keys, ok, err := t.Indexer.Find(ctx, leaf, values)
	switch {
	case err != nil:
		return err
	case !ok:
		err = t.Reader.Read(ctx, g, tree.Extend(nil, g), need, stored)
	default:
		err = t.Reader.ReadKeys(ctx, g, keys, need, stored)
	}
	if err != nil {
		return err
	}
	for _, e := range t.order {
		if e.List == g && e.present {
			visit(e.Entry)
		}
	}
	return nil
}
