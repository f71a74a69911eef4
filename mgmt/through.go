package mgmt

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// OpenConfig has places of its own for some of what is configured in ours. A Set may name these as well: what it says
// is done to the entries of our list, in the same transaction, so that checks, rows and references are those of ours.
//
// A Get of type CONFIG of what contains both has ours alone, so that a document says everything once, and a Set that
// replaces or deletes what contains both means ours: OpenConfig's place is replaced with it if the value names it.

// throughOf is what writes a node in another place; nil: it is written here.
func (n *node) throughOf() *Through {
	if n.through != nil {
		return n.through
	}
	return n.group.through
}

// putThrough does an assignment where it is configured; false: here. An error comes from the database. What contains
// such a list may be one that no Set writes: then its entry is only named.
func (t *tx) putThrough(ctx context.Context, a assignment) (bool, error) {
	n, leaf := a.group.node, ""
	if a.leaf == nil && a.group.readOnly() {
		for i, c := range a.group.derive {
			if v := first(c.Get(Record{Keys: a.keys})); v != a.keys[i] {
				t.faults.add(t.step, at(n, a.keys, fmt.Errorf("is not there: %s, %s", a.group.view, v)))
				t.faults.made.doubt(n, a.keys, true)
			}
		}
		return true, nil
	}
	if a.leaf != nil {
		n = a.leaf
		leaf = strings.TrimPrefix(n.path, a.group.node.path+"/")
	}
	by := n.throughOf()
	if by == nil {
		return false, nil
	}
	err := by.Put(ctx, t, a.keys, leaf, a.value)
	if isUnavailable(err) {
		return true, err
	}
	if err != nil {
		t.faults.add(t.step, at(n, a.keys, err))
		t.faults.made.doubt(n, a.keys, true)
	}
	return true, nil
}

// removeThrough removes what a target means, and the lists below it, where that is configured.
func (t *tx) removeThrough(ctx context.Context, x target, replace bool) error {
	whole := x.node == x.node.group.node && (x.wild() || !replace) || x.node.through != nil
	if by := x.node.throughOf(); by != nil {
		err := by.Remove(ctx, t, x.keys, x.node, whole)
		if isUnavailable(err) {
			return err
		}
		if err != nil {
			t.faults.add(t.step, at(x.node, x.keys, err))
		}
	}
	for _, k := range x.node.group.kids {
		if !whole && k.through != nil && k.node.within(x.node) {
			if err := t.removeThrough(ctx, target{node: k.node, keys: extend(x.keys, k)}, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeLeavesThrough removes the leaves below a target that are written elsewhere.
func (t *tx) removeLeavesThrough(ctx context.Context, x target) error {
	for _, l := range x.node.group.leaves {
		if l.through != nil && l.within(x.node) {
			if err := t.removeThrough(ctx, target{node: l, keys: x.keys}, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeNamed removes what the value of a replace names of the lists that are written elsewhere: of them it says all.
func (t *tx) removeNamed(ctx context.Context, st step) error {
	done := map[string]bool{}
	for _, a := range st.values {
		keys := extend(a.keys[:len(a.group.outerKeys())], a.group)
		id := entryID(a.group, keys)
		if a.leaf != nil || a.group.through == nil || done[id] || !st.target[0].node.plain {
			continue
		}
		done[id] = true
		if err := t.removeThrough(ctx, target{node: a.group.node, keys: keys}, false); err != nil {
			return err
		}
	}
	return nil
}

// Make implements [Setting].
func (t *tx) Make(ctx context.Context, list string, keys ...string) error {
	g := t.model.find(list).group
	e, err := t.get(ctx, g, keys)
	if err != nil {
		return err
	}
	err = t.assign(e, assignment{group: g, keys: keys}, true)
	t.did(e, g.node, nil, &t.faults.made)
	return err
}

// Erase implements [Setting].
func (t *tx) Erase(ctx context.Context, list string, keys ...string) error {
	g := t.model.find(list).group
	e, err := t.get(ctx, g, keys)
	if err != nil {
		return err
	}
	t.must(e)
	return t.remove(ctx, target{node: g.node, keys: e.keys}, false)
}

// Match implements [Setting].
func (t *tx) Match(ctx context.Context, list string, pattern ...string) ([][]string, error) {
	es, err := t.match(ctx, t.model.find(list).group, pattern)
	keys := make([][]string, len(es))
	for i, e := range es {
		keys[i] = e.keys
	}
	return keys, err
}

// Write implements [Setting].
func (t *tx) Write(ctx context.Context, list string, keys []string, table string, c Codec, v []string) error {
	e, err := t.get(ctx, t.model.find(list).group, keys)
	if err != nil {
		return err
	}
	t.must(e)
	for i, r := range e.group.rows {
		if r.Table == table && r.written() && e.recs[i] != nil {
			e.touched, e.step = true, t.step
			return c.Put(Record{Keys: e.keys, Fields: e.recs[i]}, v)
		}
	}
	return nil
}

// A need is an entry that a Set names and that is nothing without one of its leaves.
type need struct {
	leaf *node
	keys []string
	step int
	of   Finder // what there is once it has it
}

// Needs implements [Setting].
func (t *tx) Needs(list, leaf string, keys []string, there Finder) {
	if t.needed == nil {
		t.needed = map[string]need{}
	}
	n := t.model.find(list + "/" + leaf)
	t.needed[entryID(n.group, keys)] = need{n, keys, t.step, there}
}

// Forgo implements [Setting].
func (t *tx) Forgo(list string, keys []string) {
	delete(t.needed, entryID(t.model.find(list).group, keys))
}

// checkNeeds checks that they have it.
func (t *tx) checkNeeds(ctx context.Context) error {
	for _, id := range sortedKeys(t.needed) {
		n := t.needed[id]
		there, err := n.of(ctx, t, n.keys)
		if err != nil {
			return err
		}
		if len(there) == 0 && !t.faults.made.inDoubt(n.leaf, n.keys) {
			t.faults.add(n.step, at(n.leaf, n.keys, errors.New("is missing")))
		}
	}
	return nil
}
