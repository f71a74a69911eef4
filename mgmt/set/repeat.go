package set

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// A value may contain configuration that no Set can write, for example because a client has read it. It is accepted if
// the switch has the same value when the Set is done. So a document that was read can be written back, and one Set may
// write data at one path and repeat it at another.

// A repeated is an assignment to a read-only list, and its step.
type repeated struct {
	assignment
	step int
}

// checkRepeated checks that the assignments to read-only lists change nothing.
func (t *Tx) checkRepeated(ctx context.Context) error {
	if len(t.repeated) == 0 {
		return nil
	}
	changed := t.changedRows()
	found := map[string]*tree.Entry{} // nil if the entry does not exist
	for _, a := range t.repeated {
		id := tree.EntryID(a.group, a.keys)
		e, known := found[id]
		if !known {
			var err error
			if e, err = t.afterwards(ctx, a.group, a.keys, changed); err != nil {
				return err
			}
			found[id] = e
		}
		n := a.leaf
		switch {
		case n == nil && (e != nil || t.enclosedMissing(a, found)):
			continue
		case n == nil:
			n = a.group.Node
			t.faults.add(a.step, at(n, a.keys, notThere(a.group, a.keys)))
		case e == nil || slices.Equal(e.Value(n), a.value):
			continue // that the entry does not exist is another fault
		case len(e.Value(n)) == 0:
			t.faults.add(a.step, at(n, a.keys, n.WhyNot()))
		default:
			t.faults.add(a.step, at(n, a.keys, fmt.Errorf("%w; it is %s", n.WhyNot(), strings.Join(e.Value(n), ", "))))
		}
		t.faults.made.add(n, a.keys, true)
	}
	return nil
}

// notThere returns the error that a read-only list has no entry with these keys. If there can only be one, it has its
// keys.
func notThere(g *tree.List, keys []string) error {
	for i, c := range g.Derive {
		if v := tree.First(c.Get(tree.Record{Keys: keys})); v != "" && v != keys[i] {
			return fmt.Errorf("is not there: %s, %s", g.View, v)
		}
	}
	return fmt.Errorf("is not there, and %w", g.Node.WhyNot())
}

// enclosedMissing reports whether an enclosing read-only entry does not exist, which is reported for that entry.
func (t *Tx) enclosedMissing(a repeated, found map[string]*tree.Entry) bool {
	for p := a.group.Parent; p.Parent != nil; p = p.Parent {
		if e, known := found[tree.EntryID(p, a.keys[:len(p.Keys)])]; known && e == nil {
			return true
		}
	}
	return false
}

// changedRows returns the rows of CONFIG_DB that the Set changes, by TABLE|key. Nil stands for a deleted row.
func (t *Tx) changedRows() map[string]map[string]string {
	rows := map[string]map[string]string{}
	for _, e := range t.touched() {
		for i, r := range e.List.Rows {
			if r.Written() && r.Serves(e.Keys) && r.Elsewhere == "" && e.changed(i) {
				rows[r.Hash("|", r.Template.Expand(e.Keys, e.Own()))] = e.Rows[i]
			}
		}
	}
	return rows
}

// afterwards returns an entry of a read-only list as it is when the Set is done, or nil if it does not exist.
func (t *Tx) afterwards(
	ctx context.Context, g *tree.List, keys []string, changed map[string]map[string]string,
) (*tree.Entry, error) {
	e := tree.NewEntry(g, slices.Clone(keys))
	for _, own := range []bool{true, false} {
		which := make([]bool, len(g.Rows))
		for i, r := range g.Rows {
			which[i] = r.Entry == own
		}
		if err := t.Reader.FetchRows(ctx, g, []*tree.Entry{e}, which); err != nil {
			return nil, err
		}
	}
	for i, r := range g.Rows {
		if r.DB != swss.ConfigDB || r.Template.Gather >= 0 || !r.Serves(keys) {
			continue
		}
		if row, is := changed[r.Hash("|", r.Template.Expand(keys, nil))]; is {
			if e.Rows[i] = nil; row != nil {
				e.Rows[i] = r.Decoded(maps.Clone(row), keys)
			}
		}
	}
	if !e.Exists() || !e.Derive() || !slices.Equal(e.Keys, keys) {
		return nil, nil
	}
	return e, nil
}

// errFound ends a read early.
var errFound = errors.New("found")

// checkGone records a fault if a deleted node that no Set can write has configuration.
func (t *Tx) checkGone(ctx context.Context, x tree.Target) error {
	sel := t.Model.SelectLeaves(x.Node, func(n *tree.Node) bool { return n.Config })
	for _, g := range t.Model.Lists {
		s := sel[g]
		if s == nil {
			continue
		}
		err := t.Reader.Read(ctx, g, tree.Extend(x.Keys, g), s.Rows, func(es []*tree.Entry) error {
			for _, e := range es {
				if slices.ContainsFunc(s.Leaves, func(n *tree.Node) bool { return len(e.Value(n)) > 0 }) {
					return errFound
				}
			}
			return nil
		})
		if errors.Is(err, errFound) {
			t.faults.add(t.step, at(x.Node, x.Keys, x.Node.WhyNot()))
			t.faults.gone.add(x.Node.Meant(), x.Keys, true)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
