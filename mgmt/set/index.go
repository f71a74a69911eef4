package set

import (
	"context"

	"tamtam/mgmt/tree"
)

// withLeaf visits the entries whose leaf will have one of the values after the Set. At least the row that holds the
// leaf is read. It may visit other entries too.
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
	keys, ok, err := t.Hub.Find(ctx, leaf, values)
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
