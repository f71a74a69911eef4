package set

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/rights"
	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// putThrough executes an assignment at the path where the data is configured. It returns false if the assignment
// already has that path. The error is an error of a database. If an enclosing list is read-only, the path must name an
// entry of that list.
func (t *Tx) putThrough(ctx context.Context, a assignment, update bool) (bool, error) {
	n, leaf := a.group.Node, ""
	if a.group.ReadOnly() {
		t.repeated = append(t.repeated, repeated{a, t.step})
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
	id := tree.EntryID(a.group, a.keys)
	if t.refused[id] {
		return true, nil // the fault was reported already
	}
	t.putting = given{node: n, keys: a.keys, step: t.step, adds: update && n.LeafList}
	err := by.Put(ctx, t, a.keys, leaf, a.value)
	t.putting = given{}
	if tree.IsUnavailable(err) {
		return true, err
	}
	if err != nil {
		t.faults.add(t.step, at(n, a.keys, err))
		t.faults.made.add(n, a.keys, true)
		if a.leaf == nil {
			if t.refused == nil {
				t.refused = map[string]bool{}
			}
			t.refused[id] = true
		}
	}
	return true, nil
}

// removeThrough removes the nodes of a target, and the lists below it, at the path where the data is configured.
func (t *Tx) removeThrough(ctx context.Context, x tree.Target, replace bool) error {
	whole := x.Node == x.Node.List.Node && (x.Wild() || !replace) || x.Node.Through != nil
	if by := x.Node.ThroughOf(); by != nil {
		maps.DeleteFunc(t.given, func(_ string, g given) bool {
			return g.node.Within(x.Node) && tree.Matches(g.keys, x.Keys)
		})
		t.item = x.Item
		err := by.Remove(ctx, t, x.Keys, x.Node, whole)
		t.item = ""
		if tree.IsUnavailable(err) {
			return err
		}
		if err != nil {
			t.faults.add(t.step, at(x.Node, x.Keys, err))
		}
	}
	for _, k := range x.Node.List.Kids {
		if (!whole || t.replacing) && k.Through != nil && k.Node.Within(x.Node) {
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

// removeNamed removes the Second lists that the value of a replace names.
func (t *Tx) removeNamed(ctx context.Context, st Step) error {
	done := map[string]bool{}
	for _, a := range st.values {
		keys := tree.Extend(a.keys[:len(a.group.OuterKeys())], a.group)
		id := tree.EntryID(a.group, keys)
		if a.leaf != nil || !a.group.Second || done[id] || st.target[0].Node.Within(a.group.Node.Parent) {
			continue
		}
		done[id] = true
		if err := t.remove(ctx, tree.Target{Node: a.group.Node, Keys: keys}, true); err != nil {
			return err
		}
	}
	return nil
}

// Sides are the paths at which a Set makes an entry that has two: ours, and OpenConfig's.
type sides uint8

const (
	ours sides = 1 << iota
	theirs
)

// leave records that a path gives an entry up. If the Set has made it at the other path, and does not make it again,
// this is a fault: it has two contradicting values for the same data.
func (t *Tx) leave(e *txEntry, by sides) {
	if e.by&^by != 0 {
		e.contradicted = &t.steps[t.step]
	}
	e.by = 0
}

// checkContradictions checks that no entry was given at one path and left out at another.
func (t *Tx) checkContradictions(context.Context) error {
	for _, e := range t.order {
		if st := e.contradicted; st != nil && !e.present {
			t.faults.add(e.step, fmt.Errorf("%s: this Set gives it, and leaves it out at %s, which has the same data", e.text(),
				tree.PathText(st.Path)))
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
	err = t.assign(ctx, e, assignment{group: g, keys: keys}, true)
	e.by |= theirs
	t.did(e, g.Node, nil, &t.faults.made)
	return err
}

// Made implements [tree.Setting].
func (t *Tx) Made(ctx context.Context, list string, keys ...string) (bool, error) {
	e, err := t.get(ctx, t.Model.Find(list).List, keys)
	return err == nil && e.by&theirs != 0, err
}

// Erase implements [tree.Setting].
func (t *Tx) Erase(ctx context.Context, list string, keys ...string) error {
	g := t.Model.Find(list).List
	e, err := t.get(ctx, g, keys)
	if err != nil {
		return err
	}
	t.must(e)
	t.leave(e, theirs)
	if t.replacing {
		e.touched, e.lapsed, e.step = true, e.present, t.step
		return nil
	}
	return t.remove(ctx, tree.Target{Node: g.Node, Keys: e.Keys}, false)
}

// Match implements [tree.Setting].
func (t *Tx) Match(ctx context.Context, list string, pattern ...string) ([][]string, error) {
	es, err := t.match(ctx, t.Model.Find(list).List, pattern)
	var keys [][]string
	for _, e := range es {
		if !e.lapsed {
			keys = append(keys, e.Keys)
		}
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
			e.touched, e.step, e.replaced = true, t.step, e.replaced || t.replacing
			return t.give(e, i, c, v)
		}
	}
	return nil
}

// give writes fields of a row of an entry for [Tx.Write].
func (t *Tx) give(e *txEntry, row int, c tree.Codec, v []string) error {
	var had []overridden
	for _, n := range e.List.Leaves {
		if e.writes(n) && slices.ContainsFunc(n.Binds, func(b tree.Bind) bool { return b.Row == row }) {
			had = append(had, overridden{e, n, e.wrote[n], e.Value(n)})
		}
	}
	rec, b := tree.Record{Keys: e.Keys, Fields: e.Rows[row]}, e.before[row]
	err := error(nil)
	switch {
	case len(had) > 0 && len(v) > 0 && slices.Equal(c.Get(rec), v): // keep the form of our path
	case b != nil && len(v) > 0 && !c.Shared && slices.Equal(c.Get(tree.Record{Keys: e.Keys, Fields: b}), v):
		err = restore(c, rec, b)
	default:
		err = c.Put(rec, v)
	}
	for _, o := range had {
		if !slices.Equal(e.Value(o.leaf), o.value) {
			t.overridden = append(t.overridden, o)
		}
	}
	if g := t.putting; g.node != nil && err == nil {
		g.e, g.row, g.codec, g.value = e, row, c, v
		if g.node.LeafList { // in the order in which it is read
			g.value = c.Get(rec)
		}
		if t.given == nil {
			t.given = map[string]given{}
		}
		t.given[tree.EntryID(g.node.List, g.keys)+"\x00"+g.node.Path] = g
	}
	return err
}

// A given is a value of a leaf of OpenConfig's, and where it is written.
type given struct {
	node  *tree.Node
	keys  []string
	step  int
	adds  bool // see [tree.Setting.Adds]
	e     *txEntry
	row   int
	codec tree.Codec
	value []string
}

// An overridden is a value that a step has given a leaf of ours, and that a value at OpenConfig's path has replaced.
type overridden struct {
	e     *txEntry
	leaf  *tree.Node
	step  int
	value []string
}

// checkGiven checks that no data was given two values, at our path and at OpenConfig's.
func (t *Tx) checkGiven(context.Context) error {
	check := func(n *tree.Node, keys []string, step int, want, is []string) {
		if !slices.Equal(want, is) && !t.faults.made.leafUnknown(n, keys) {
			t.faults.add(step, at(n, keys, fmt.Errorf("%s: this Set has another value for the same data: %s",
				valueWords(want), valueWords(is))))
		}
	}
	for _, id := range tree.SortedKeys(t.given) {
		if g := t.given[id]; g.e.present {
			row := g.row
			if g.e.List.Rows[row].Former && g.e.Rows[row] == nil { // the row was moved
				row--
			}
			check(g.node, g.keys, g.step, g.value, g.codec.Get(tree.Record{Keys: g.e.Keys, Fields: g.e.Rows[row]}))
		}
	}
	for _, o := range t.overridden {
		if o.e.present && o.e.wrote[o.leaf] == o.step { // nothing has written it since
			check(o.leaf, o.e.Keys, o.step, o.value, o.e.Value(o.leaf))
		}
	}
	return nil
}

// Adds implements [tree.Setting].
func (t *Tx) Adds() bool { return t.putting.adds }

// Item implements [tree.Setting].
func (t *Tx) Item() string { return t.item }

// Row implements [tree.Setting].
func (t *Tx) Row(ctx context.Context, list string, keys []string, table string) (map[string]string, error) {
	e, err := t.get(ctx, t.Model.Find(list).List, keys)
	if err != nil || !e.present || e.lapsed {
		return nil, err
	}
	for i, r := range e.List.Rows {
		if r.DB == swss.ConfigDB && r.Table == table && e.Rows[i] != nil {
			return e.Rows[i], nil
		}
	}
	return nil, nil
}

// A delayed is a function that is called after all steps, with its items and the last step that asked for it.
type delayed struct {
	do    func(context.Context, []string) error
	items []string
	step  int
}

// Later implements [tree.Setting].
func (t *Tx) Later(name, item string, do func(context.Context, []string) error) {
	if do == nil {
		delete(t.delayed, name)
		return
	}
	if t.delayed == nil {
		t.delayed = map[string]delayed{}
	}
	items := t.delayed[name].items
	if !slices.Contains(items, item) {
		items = append(items, item)
	}
	t.delayed[name] = delayed{do, items, t.step}
}

// doLater calls the delayed functions. What follows from an earlier fault is no fault of its own.
func (t *Tx) doLater(ctx context.Context) error {
	failed := t.faults.count > 0
	for _, name := range tree.SortedKeys(t.delayed) {
		d := t.delayed[name]
		t.step = d.step
		err := d.do(ctx, d.items)
		if tree.IsUnavailable(err) {
			return err
		}
		if err != nil && !failed {
			t.faults.add(t.step, err)
		}
	}
	if rows := t.Model.Find(rights.RowsPath); t.faults.count > 0 && len(t.delayed) > 0 {
		t.faults.made.add(rows, tree.Extend(nil, rows.List), true) // their errors follow from these
	}
	return nil
}

// A need is an entry that a Set names and that cannot exist without one of its leaves.
type need struct {
	leaf *tree.Node
	keys []string
	step int
	of   tree.Finder // finds the entries that exist once the entry has the leaf
	only []string    // keys of the only entry that it must find; nil if any will do
}

// Needs implements [tree.Setting].
func (t *Tx) Needs(list, leaf string, keys []string, there tree.Finder, only []string) {
	if t.needed == nil {
		t.needed = map[string]need{}
	}
	n := t.Model.Find(list + "/" + leaf)
	t.needed[tree.EntryID(n.List, keys)] = need{n, keys, t.step, there, only}
}

// Forgo implements [tree.Setting].
func (t *Tx) Forgo(list string, pattern []string) {
	g := t.Model.Find(list).List
	maps.DeleteFunc(t.needed, func(_ string, n need) bool { return n.leaf.List == g && tree.Matches(n.keys, pattern) })
}

// checkNeeds checks that the entries recorded by Needs have their leaf.
func (t *Tx) checkNeeds(ctx context.Context) error {
	for _, id := range tree.SortedKeys(t.needed) {
		n := t.needed[id]
		there, err := n.of(ctx, t, n.keys)
		if err != nil {
			return err
		}
		if t.faults.made.leafUnknown(n.leaf, n.keys) {
			continue
		}
		switch {
		case len(there) == 0:
			t.faults.add(n.step, at(n.leaf, n.keys, errors.New("is missing")))
		case n.only != nil && !slices.EqualFunc(there, [][]string{n.only}, slices.Equal):
			t.faults.add(n.step, at(n.leaf, n.keys, fmt.Errorf("this Set has another value for the same data: %s",
				some(joined(there)))))
		}
	}
	return nil
}

// joined returns the keys of entries as texts.
func joined(entries [][]string) (texts []string) {
	for _, keys := range entries {
		texts = append(texts, strings.Join(keys, " "))
	}
	return texts
}

// restore gives a leaf the fields that it had before the Set.
func restore(c tree.Codec, rec tree.Record, before map[string]string) error {
	without := maps.Clone(before)
	for _, fields := range []map[string]string{rec.Fields, without} {
		if err := c.Put(tree.Record{Keys: rec.Keys, Fields: fields}, nil); err != nil {
			return err
		}
	}
	for f, v := range before {
		if w, ok := without[f]; !ok || w != v {
			rec.Fields[f] = v
		}
	}
	return nil
}
