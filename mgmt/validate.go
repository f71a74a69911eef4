package mgmt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// finish completes and checks the entries that a Set touched, as far as they are not in doubt. An
// error comes from the database.
func (t *tx) finish(ctx context.Context) error {
	for _, e := range t.touched() {
		e.fill()
		if err := t.finishEntry(ctx, e); err != nil {
			return err
		}
	}
	unwritten := func(e *txEntry) bool { return !e.touched }
	if err := t.removeOwned(ctx, t.touched(), unwritten); err != nil { // behind a replace, or what finishing removed
		return err
	}
	if err := t.checkNeeds(ctx); err != nil {
		return err
	}
	touched := t.touched() // finishing may have touched more
	for _, e := range touched {
		if !e.present {
			continue
		}
		if e.promised != nil {
			t.checkPromise(e)
			continue
		}
		if err := t.checkEntry(ctx, e); err != nil {
			return err
		}
	}
	for _, check := range []func(context.Context, []*txEntry) error{
		t.checkRefs, t.checkInUse, t.checkUnique, t.checkSizes,
	} {
		if err := check(ctx, touched); err != nil {
			return err
		}
	}
	return nil
}

// checkPromise checks that the Set makes an entry that it names, in the list where such are made.
func (t *tx) checkPromise(e *txEntry) {
	g := t.model.find(e.promised.Elsewhere).group
	if made := t.entries[entryID(g, e.keys)]; made != nil && made.present || t.faults.made.entryInDoubt(g, e.keys) {
		return
	}
	t.faults.add(e.step, at(e.group.node, e.keys, fmt.Errorf("cannot be created: %s", e.promised.Fixed)))
}

// finishEntry calls what completes an entry. If it cannot be called, what it would create is in
// doubt.
func (t *tx) finishEntry(ctx context.Context, e *txEntry) error {
	if len(e.group.finish) == 0 {
		return nil
	}
	c := &finishing{ctx: ctx, tx: t, e: e}
	ok := !t.inDoubt(e)
	for _, f := range e.group.finish {
		if !ok {
			break
		}
		if err := f(c); isUnavailable(err) {
			return err
		} else if err != nil {
			ok = false
			e.problems = append(e.problems, at(e.group.node, e.keys, err).Error())
			t.faults.add(e.step, at(e.group.node, e.keys, err))
		}
	}
	for _, makes := range e.group.makes {
		if ok {
			break
		}
		path, keys := makes(c)
		for _, k := range keys {
			t.faults.made.doubt(t.model.find(path), []string{k}, false)
		}
	}
	return nil
}

// inDoubt reports whether what an entry is to become is in doubt.
func (t *tx) inDoubt(e *txEntry) bool {
	if t.faults.made.entryInDoubt(e.group, e.keys) {
		return true
	}
	return (&entry{group: e.group, recs: e.before}).own() != nil && t.faults.gone.entryInDoubt(e.group, e.keys)
}

// rowInDoubt is inDoubt for a row of an entry. The entry outside of lists has many rows, each
// independent.
func (t *tx) rowInDoubt(e *txEntry, row int) bool {
	if e.group.parent != nil {
		return t.inDoubt(e)
	}
	return slices.ContainsFunc(e.group.leaves, func(n *node) bool {
		in := slices.ContainsFunc(n.binds, func(b bind) bool { return b.row == row })
		return in && n.config && (t.faults.made.inDoubt(n, nil) || t.faults.gone.inDoubt(n, nil))
	})
}

func (t *tx) touched() []*txEntry {
	var out []*txEntry
	for _, e := range t.order {
		if e.touched {
			out = append(out, e)
		}
	}
	return out
}

// at prefixes each of the joined errors with the path of a node.
func at(n *node, keys []string, err error) error {
	if err == nil {
		return nil
	}
	var errs []error
	for _, e := range split(err) {
		errs = append(errs, fmt.Errorf("%s: %w", pathText(toPath(n, keys)), e))
	}
	return errors.Join(errs...)
}

// writes reports whether the Set gives the leaf a value.
func (e *txEntry) writes(n *node) bool {
	_, ok := e.wrote[n]
	return ok
}

// stepOf returns the step that a fault of a leaf belongs to.
func (e *txEntry) stepOf(n *node) int {
	if step, ok := e.wrote[n]; ok {
		return step
	}
	return e.step
}

// was returns the value of a leaf before the Set. A key has none if its entry did not exist.
func (e *txEntry) was(n *node) []string {
	x := entry{group: e.group, keys: e.keys, recs: e.before}
	if n.keyIndex >= 0 && !x.exists() {
		return nil
	}
	return x.value(n)
}

// checkEntry checks an entry by itself: what is mandatory, what encloses it,
// and its rows as a whole.
func (t *tx) checkEntry(ctx context.Context, e *txEntry) error {
	whole := t.checkMandatory(e)
	enclosed, err := t.checkEnclosed(ctx, e)
	if err != nil || !whole || !enclosed {
		return err
	}
	for i, r := range e.group.rows {
		if r.check == nil || e.recs[i] == nil || !e.changed(i) || t.rowInDoubt(e, i) {
			continue
		}
		fields := maps.Clone(e.recs[i])
		delete(fields, nullField)
		err := at(e.group.node, e.keys, r.check(r.key.expand(e.keys, e.own()), fields))
		if err != nil && !slices.Contains(e.problems, err.Error()) {
			t.faults.add(e.step, err)
		}
	}
	return nil
}

// checkMandatory reports whether an entry has all that is mandatory.
func (t *tx) checkMandatory(e *txEntry) bool {
	whole := true
	for _, n := range e.group.leaves {
		if !n.config || !n.mandatory || e.value(n) != nil {
			continue
		}
		whole = false
		if !t.faults.made.inDoubt(n, e.keys) {
			t.faults.add(e.stepOf(n), at(n, e.keys, errors.New("is missing")))
		}
	}
	return whole
}

// checkEnclosed reports whether the enclosing entry exists.
func (t *tx) checkEnclosed(ctx context.Context, e *txEntry) (bool, error) {
	p := e.group.parent
	if p == nil || p.parent == nil {
		return true, nil
	}
	outer, err := t.get(ctx, p, e.keys[:len(p.keys)])
	if err != nil || outer.present {
		return true, err
	}
	if !t.faults.made.entryInDoubt(p, outer.keys) {
		name := strings.Join(outer.keys, " ")
		t.faults.add(e.step, at(e.group.node, e.keys, fmt.Errorf("there is no %s %s", p.node.name, name)))
	}
	return false, nil
}

// checkRefs checks that what changed entries newly refer to exists. What they
// referred to before may be missing, or be named by an alias, through others.
func (t *tx) checkRefs(ctx context.Context, touched []*txEntry) error {
	type use struct {
		e    *txEntry
		n    *node
		name string
	}
	var uses []use
	wanted := map[*group][][]string{}
	for _, e := range touched {
		if !e.present {
			continue
		}
		for _, n := range e.group.leaves {
			if !n.refers() {
				continue
			}
			was := e.was(n)
			for _, v := range e.value(n) {
				if slices.Contains(was, v) || t.faults.made.inDoubt(n, e.keys) {
					continue
				}
				uses = append(uses, use{e, n, v})
				for _, g := range n.targets {
					wanted[g] = append(wanted[g], []string{v})
				}
			}
		}
	}
	for _, g := range t.model.groups {
		if err := t.load(ctx, g, wanted[g]); err != nil {
			return err
		}
	}
	for _, u := range uses {
		keys := []string{u.name}
		there := func(g *group) bool {
			return t.entries[entryID(g, keys)].present || t.faults.made.entryInDoubt(g, keys)
		}
		if !slices.ContainsFunc(u.n.targets, there) {
			t.faults.add(u.e.stepOf(u.n), at(u.n, u.e.keys, fmt.Errorf("there is no %s %s", u.n.targetName(), u.name)))
		}
	}
	return nil
}

// refers reports whether a leaf names entries of other lists.
func (n *node) refers() bool {
	nested := func(g *group) bool { return len(g.keys) != 1 }
	return n.config && len(n.targets) > 0 && !slices.ContainsFunc(n.targets, nested)
}

// targetName is what a leaf names, in words.
func (n *node) targetName() string {
	names := make([]string, len(n.targets))
	for i, g := range n.targets {
		names[i] = g.node.name
	}
	return strings.Join(names, " or ")
}

// checkInUse checks that nothing refers to what goes away, and names the user. An entry that only
// now refers to it gets the error that it does not exist.
func (t *tx) checkInUse(ctx context.Context, touched []*txEntry) error {
	gone := map[*group]map[string]*txEntry{}
	for _, e := range touched {
		was := (&entry{group: e.group, recs: e.before}).own() != nil
		if e.present || !was || len(e.group.refs) == 0 || t.faults.made.entryInDoubt(e.group, e.keys) {
			continue
		}
		if gone[e.group] == nil {
			gone[e.group] = map[string]*txEntry{}
		}
		gone[e.group][e.keys[0]] = e
	}
	for _, g := range t.model.groups {
		if gone[g] == nil {
			continue
		}
		users := map[string][]string{}
		for _, ref := range g.refs {
			err := t.withLeaf(ctx, ref, sortedKeys(gone[g]), func(e *entry) {
				for _, v := range e.value(ref) {
					if gone[g][v] != nil && t.stays(e, ref, v) {
						users[v] = append(users[v], t.userName(e, ref))
					}
				}
			})
			if err != nil {
				return err
			}
		}
		for _, name := range sortedKeys(users) {
			e := gone[g][name]
			t.faults.add(e.step, Refused(at(g.node, e.keys, fmt.Errorf("in use by %s", some(users[name])))))
		}
	}
	return nil
}

// stays reports whether an entry had this value before, and is sure to keep it.
func (t *tx) stays(e *entry, n *node, v string) bool {
	if t.faults.made.inDoubt(n, e.keys) || t.faults.gone.inDoubt(n, e.keys) {
		return false
	}
	x := t.entries[entryID(e.group, e.keys)]
	return x == nil || slices.Contains(x.was(n), v)
}

// userName says which entry refers to something, if the caller may see that.
func (t *tx) userName(e *entry, ref *node) string {
	if !t.sees(e, ref) {
		return hidden
	}
	name := e.group.node.name + " " + e.keys[len(e.keys)-1]
	if len(e.group.parent.keys) > 0 {
		name = e.group.parent.node.name + " " + strings.Join(e.keys[:len(e.group.parent.keys)], " ") + " " + name
	}
	return name
}

// some lists a few of many.
func some(names []string) string {
	const few = 5
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}

// checkUnique checks the leaves that no two entries of a list may share.
func (t *tx) checkUnique(ctx context.Context, touched []*txEntry) error {
	for _, g := range t.model.groups {
		for _, n := range g.unique {
			if err := t.checkShared(ctx, touched, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// A claim is an entry's claim to a value of such a leaf.
type claim struct {
	by   string // the first entry that has the value
	step int    // of the last that was given it
}

// claims returns the values of a leaf that changed entries take.
func (t *tx) claims(touched []*txEntry, n *node) map[string]*claim {
	mine := map[string]*claim{}
	for _, e := range touched {
		change := &finishing{tx: t, e: e}
		if e.group != n.group || !e.present || !change.Changed(strings.TrimPrefix(n.path, n.group.node.path+"/")) {
			continue
		}
		for _, v := range e.value(n) {
			mine[v] = &claim{step: e.stepOf(n)}
		}
	}
	return mine
}

// checkShared checks one of these leaves.
func (t *tx) checkShared(ctx context.Context, touched []*txEntry, n *node) error {
	g := n.group
	mine := t.claims(touched, n)
	if len(mine) == 0 {
		return nil
	}
	return t.withLeaf(ctx, n, sortedKeys(mine), func(e *entry) {
		x := t.entries[entryID(g, e.keys)]
		if t.faults.made.inDoubt(n, e.keys) || t.faults.gone.inDoubt(n, e.keys) && (x == nil || !x.writes(n)) {
			return
		}
		for _, v := range e.value(n) {
			c := mine[v]
			if c == nil {
				continue
			}
			if c.by == "" {
				if c.by = strings.Join(e.keys, " "); !t.sees(e, n) {
					c.by = "(" + hidden + ")"
				}
				continue
			}
			step := c.step
			if x != nil && x.touched {
				step = x.stepOf(n)
			}
			t.faults.add(step, at(n, e.keys, fmt.Errorf("%s is that of %s %s already", v, g.node.name, c.by)))
		}
	})
}
