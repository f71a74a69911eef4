package set

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tamtam/mgmt/tree"
)

// putThrough executes an assignment at the path where the data is configured. It returns false if the assignment
// already has that path. The error is an error of a database. If an enclosing list is read-only, the path must name an
// entry of that list.
func (t *Tx) putThrough(ctx context.Context, a assignment) (bool, error) {
	n, leaf := a.group.Node, ""
	if a.leaf == nil && a.group.ReadOnly() {
		for i, c := range a.group.Derive {
			if v := tree.First(c.Get(tree.Record{Keys: a.keys})); v != a.keys[i] {
				t.faults.add(t.step, at(n, a.keys, fmt.Errorf("is not there: %s, %s", a.group.View, v)))
				t.faults.made.add(n, a.keys, true)
			}
		}
		return true, nil
	}
	if a.leaf != nil {
		n = a.leaf
		leaf = strings.TrimPrefix(n.Path, a.group.Node.Path+"/")
	}
	by := n.ThroughOf()
	if by == nil {
		return false, nil
	}
	err := by.Put(ctx, t, a.keys, leaf, a.value)
	if tree.IsUnavailable(err) {
		return true, err
	}
	if err != nil {
		t.faults.add(t.step, at(n, a.keys, err))
		t.faults.made.add(n, a.keys, true)
	}
	return true, nil
}

// removeThrough removes the nodes of a target, and the lists below it, at the path where the data is configured.
func (t *Tx) removeThrough(ctx context.Context, x tree.Target, replace bool) error {
	whole := x.Node == x.Node.List.Node && (x.Wild() || !replace) || x.Node.Through != nil
	if by := x.Node.ThroughOf(); by != nil {
		err := by.Remove(ctx, t, x.Keys, x.Node, whole)
		if tree.IsUnavailable(err) {
			return err
		}
		if err != nil {
			t.faults.add(t.step, at(x.Node, x.Keys, err))
		}
	}
	for _, k := range x.Node.List.Kids {
		if !whole && k.Through != nil && k.Node.Within(x.Node) {
			if err := t.removeThrough(ctx, tree.Target{Node: k.Node, Keys: tree.Extend(x.Keys, k)}, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeLeavesThrough removes the leaves below a target that are written elsewhere.
func (t *Tx) removeLeavesThrough(ctx context.Context, x tree.Target) error {
	for _, l := range x.Node.List.Leaves {
		if l.Through != nil && l.Within(x.Node) {
			if err := t.removeThrough(ctx, tree.Target{Node: l, Keys: x.Keys}, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeNamed removes the lists that the value of a replace names and that are written elsewhere, because the value
// replaces them.
func (t *Tx) removeNamed(ctx context.Context, st Step) error {
	done := map[string]bool{}
	for _, a := range st.values {
		keys := tree.Extend(a.keys[:len(a.group.OuterKeys())], a.group)
		id := tree.EntryID(a.group, keys)
		if a.leaf != nil || a.group.Through == nil || done[id] || !st.target[0].Node.Plain {
			continue
		}
		done[id] = true
		if err := t.removeThrough(ctx, tree.Target{Node: a.group.Node, Keys: keys}, false); err != nil {
			return err
		}
	}
	return nil
}

// Make implements [tree.Setting].
func (t *Tx) Make(ctx context.Context, list string, keys ...string) error {
	g := t.Model.Find(list).List
	e, err := t.get(ctx, g, keys)
	if err != nil {
		return err
	}
	err = t.assign(e, assignment{group: g, keys: keys}, true)
	t.did(e, g.Node, nil, &t.faults.made)
	return err
}

// Erase implements [tree.Setting].
func (t *Tx) Erase(ctx context.Context, list string, keys ...string) error {
	g := t.Model.Find(list).List
	e, err := t.get(ctx, g, keys)
	if err != nil {
		return err
	}
	t.must(e)
	return t.remove(ctx, tree.Target{Node: g.Node, Keys: e.Keys}, false)
}

// Match implements [tree.Setting].
func (t *Tx) Match(ctx context.Context, list string, pattern ...string) ([][]string, error) {
	es, err := t.match(ctx, t.Model.Find(list).List, pattern)
	keys := make([][]string, len(es))
	for i, e := range es {
		keys[i] = e.Keys
	}
	return keys, err
}

// Write implements [tree.Setting].
func (t *Tx) Write(ctx context.Context, list string, keys []string, table string, c tree.Codec, v []string) error {
	e, err := t.get(ctx, t.Model.Find(list).List, keys)
	if err != nil {
		return err
	}
	t.must(e)
	for i, r := range e.List.Rows {
		if r.Table == table && r.Written() && e.Rows[i] != nil {
			e.touched, e.step = true, t.step
			return c.Put(tree.Record{Keys: e.Keys, Fields: e.Rows[i]}, v)
		}
	}
	return nil
}

// A need is an entry that a Set names and that cannot exist without one of its leaves.
type need struct {
	leaf *tree.Node
	keys []string
	step int
	of   tree.Finder // finds the entries that exist once the entry has the leaf
}

// Needs implements [tree.Setting].
func (t *Tx) Needs(list, leaf string, keys []string, there tree.Finder) {
	if t.needed == nil {
		t.needed = map[string]need{}
	}
	n := t.Model.Find(list + "/" + leaf)
	t.needed[tree.EntryID(n.List, keys)] = need{n, keys, t.step, there}
}

// Forgo implements [tree.Setting].
func (t *Tx) Forgo(list string, keys []string) {
	delete(t.needed, tree.EntryID(t.Model.Find(list).List, keys))
}

// checkNeeds checks that the entries recorded by Needs have their leaf.
func (t *Tx) checkNeeds(ctx context.Context) error {
	for _, id := range tree.SortedKeys(t.needed) {
		n := t.needed[id]
		there, err := n.of(ctx, t, n.keys)
		if err != nil {
			return err
		}
		if len(there) == 0 && !t.faults.made.leafUnknown(n.leaf, n.keys) {
			t.faults.add(n.step, at(n.leaf, n.keys, errors.New("is missing")))
		}
	}
	return nil
}
