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
	"tamtam/swss/schema"
)

// finish completes and checks the entries that a Set touched, unless they are uncertain. The error is that of a
// database.
func (t *Tx) finish(ctx context.Context) error {
	if err := t.endLapsed(ctx); err != nil {
		return err
	}
	if err := t.doLater(ctx); err != nil {
		return err
	}
	for _, e := range t.touched() {
		e.fill()
		if err := t.finishEntry(ctx, e); err != nil {
			return err
		}
		if e.present && !t.entryUnknown(e) {
			e.settle()
		}
		e.renew()
	}
	unwritten := func(e *txEntry) bool { return !e.touched }
	if err := t.removeOwned(ctx, t.touched(), unwritten); err != nil { // after a replace, or a removal by finishing
		return err
	}
	for _, check := range []func(context.Context) error{
		t.follow, t.checkContradictions, t.checkGiven, t.checkNeeds, t.checkRepeated,
	} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	touched := t.touched() // finishing may have touched more
	for _, e := range touched {
		if !e.present {
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

// endLapsed removes the entries that a replace has removed and nothing has made again.
func (t *Tx) endLapsed(ctx context.Context) error {
	for i := 0; i < len(t.order); i++ { // a removal may append
		e := t.order[i]
		if !e.lapsed {
			continue
		}
		t.step = e.step
		if err := t.remove(ctx, tree.Target{Node: e.List.Node, Keys: e.Keys}, false); err != nil {
			return err
		}
	}
	return nil
}

// follow gives entries that another list creates and deletes the rows that they have there.
func (t *Tx) follow(ctx context.Context) error {
	for i := 0; i < len(t.order); i++ { // a read may append
		e := t.order[i]
		r := e.elsewhere()
		if r == nil {
			continue
		}
		o, err := t.get(ctx, t.Model.Find(r.Elsewhere).List, e.Keys)
		if err != nil {
			return err
		}
		e.present = o.present
		e.Rows[r.Index] = (&finishing{e: o}).Fields(r.Table)
	}
	return nil
}

// finishEntry calls the functions that complete an entry. If they cannot be called, the entries that they would create
// become uncertain.
func (t *Tx) finishEntry(ctx context.Context, e *txEntry) error {
	if len(e.List.Finish) == 0 {
		return nil
	}
	c := &finishing{ctx: ctx, tx: t, e: e}
	ok := !t.entryUnknown(e)
	for _, f := range e.List.Finish {
		if !ok {
			break
		}
		if err := f(c); tree.IsUnavailable(err) {
			return err
		} else if err != nil {
			ok = false
			e.problems = append(e.problems, at(e.List.Node, e.Keys, err).Error())
			t.faults.add(e.step, at(e.List.Node, e.Keys, err))
		}
	}
	for _, makes := range e.List.Makes {
		if ok {
			break
		}
		path, keys := makes(c)
		for _, k := range keys {
			t.faults.made.add(t.Model.Find(path), []string{k}, false)
		}
	}
	return nil
}

// entryUnknown reports whether the result for an entry is uncertain.
func (t *Tx) entryUnknown(e *txEntry) bool {
	if t.faults.made.entryUnknown(e.List, e.Keys) {
		return true
	}
	return (&tree.Entry{List: e.List, Rows: e.before}).Own() != nil && t.faults.gone.entryUnknown(e.List, e.Keys)
}

// rowUnknown reports whether the result for a row is uncertain. The entry outside of lists has many independent rows.
func (t *Tx) rowUnknown(e *txEntry, row int) bool {
	if e.List.Parent != nil {
		return t.entryUnknown(e)
	}
	return slices.ContainsFunc(e.List.Leaves, func(n *tree.Node) bool {
		in := slices.ContainsFunc(n.Binds, func(b tree.Bind) bool { return b.Row == row })
		return in && n.Config && (t.faults.made.leafUnknown(n, nil) || t.faults.gone.leafUnknown(n, nil))
	})
}

func (t *Tx) touched() []*txEntry {
	var out []*txEntry
	for _, e := range t.order {
		if e.touched {
			out = append(out, e)
		}
	}
	return out
}

// at prefixes each of the joined errors with the path of a node.
func at(n *tree.Node, keys []string, err error) error {
	if err == nil {
		return nil
	}
	var errs []error
	for _, e := range tree.Split(err) {
		errs = append(errs, fmt.Errorf("%s: %w", tree.PathText(tree.PathTo(n, keys)), e))
	}
	return errors.Join(errs...)
}

// writes reports whether the Set writes a value of the leaf.
func (e *txEntry) writes(n *tree.Node) bool {
	_, ok := e.wrote[n]
	return ok
}

// stepOf returns the step that a fault of a leaf belongs to.
func (e *txEntry) stepOf(n *tree.Node) int {
	if step, ok := e.wrote[n]; ok {
		return step
	}
	return e.step
}

// was returns the value of a leaf before the Set. A key has no value if its entry did not exist.
func (e *txEntry) was(n *tree.Node) []string {
	x := tree.Entry{List: e.List, Keys: e.Keys, Rows: e.before}
	if n.KeyIndex >= 0 && !x.Exists() {
		return nil
	}
	return x.Value(n)
}

// checkEntry checks an entry by itself: mandatory leaves, the enclosing entry, and its rows as a whole.
func (t *Tx) checkEntry(ctx context.Context, e *txEntry) error {
	whole := t.checkMandatory(e)
	enclosed, err := t.checkEnclosed(ctx, e)
	if err != nil || !whole || !enclosed {
		return err
	}
	for i, r := range e.List.Rows {
		if r.Check == nil || e.Rows[i] == nil || !e.changed(i) || t.rowUnknown(e, i) {
			continue
		}
		fields := maps.Clone(e.Rows[i])
		delete(fields, tree.NullField)
		err := at(e.List.Node, e.Keys, r.Check(r.Template.Expand(e.Keys, e.Own()), fields))
		if err != nil && !slices.Contains(e.problems, err.Error()) {
			t.faults.add(e.step, err)
		}
	}
	return nil
}

// checkMandatory reports whether an entry has all mandatory leaves. It records a fault for each missing one.
func (t *Tx) checkMandatory(e *txEntry) bool {
	whole := true
	for _, n := range e.List.Leaves {
		if !n.Config || !n.Mandatory || e.Value(n) != nil {
			continue
		}
		whole = false
		if !t.faults.made.leafUnknown(n, e.Keys) {
			t.faults.add(e.stepOf(n), at(n, e.Keys, errors.New("is missing")))
		}
	}
	return whole
}

// checkEnclosed reports whether the enclosing entry exists. If not, it records a fault.
func (t *Tx) checkEnclosed(ctx context.Context, e *txEntry) (bool, error) {
	p := e.List.Parent
	if p == nil || p.Parent == nil {
		return true, nil
	}
	outer, err := t.get(ctx, p, e.Keys[:len(p.Keys)])
	if err != nil || outer.present {
		return true, err
	}
	if !t.faults.made.entryUnknown(p, outer.Keys) {
		name := strings.Join(outer.Keys, " ")
		t.faults.add(e.step, at(e.List.Node, e.Keys, fmt.Errorf("there is no %s %s", p.Node.Name, name)))
	}
	return false, nil
}

// checkRefs checks that new references of changed entries exist. It does not check references that other programs have
// written, which may be missing or name an alias.
func (t *Tx) checkRefs(ctx context.Context, touched []*txEntry) error {
	type use struct {
		e    *txEntry
		n    *tree.Node
		name string
	}
	var uses []use
	wanted := map[*tree.List][][]string{}
	for _, e := range touched {
		if !e.present {
			continue
		}
		for _, n := range e.List.Leaves {
			if !n.Refers() {
				continue
			}
			was := e.was(n)
			for _, v := range e.Value(n) {
				if slices.Contains(was, v) || t.faults.made.leafUnknown(n, e.Keys) {
					continue
				}
				uses = append(uses, use{e, n, v})
				for _, g := range n.Targets {
					wanted[g] = append(wanted[g], []string{v})
				}
			}
		}
	}
	for _, g := range t.Model.Lists {
		if err := t.load(ctx, g, wanted[g]); err != nil {
			return err
		}
	}
	for _, u := range uses {
		keys := []string{u.name}
		there := func(g *tree.List) bool {
			return t.entries[tree.EntryID(g, keys)].present || t.faults.made.entryUnknown(g, keys)
		}
		if !slices.ContainsFunc(u.n.Targets, there) {
			t.faults.add(u.e.stepOf(u.n), at(u.n, u.e.Keys, fmt.Errorf("there is no %s %s", u.n.TargetName(), u.name)))
		}
	}
	return nil
}

// checkInUse checks that no entry refers to a deleted one. Its error names the referring entry. If the Set itself adds
// the reference, the error is that the deleted entry does not exist.
func (t *Tx) checkInUse(ctx context.Context, touched []*txEntry) error {
	gone := map[*tree.List]map[string]*txEntry{}
	for _, e := range touched {
		was := (&tree.Entry{List: e.List, Rows: e.before}).Own() != nil
		if e.present || !was || len(e.List.Refs)+len(e.List.RowRefs) == 0 || t.faults.made.entryUnknown(e.List, e.Keys) {
			continue
		}
		if gone[e.List] == nil {
			gone[e.List] = map[string]*txEntry{}
		}
		gone[e.List][e.Keys[0]] = e
	}
	for _, g := range t.Model.Lists {
		if gone[g] == nil {
			continue
		}
		users := map[string][]string{}
		for _, ref := range g.Refs {
			err := t.withLeaf(ctx, ref, tree.SortedKeys(gone[g]), func(e *tree.Entry) {
				for _, v := range e.Value(ref) {
					if gone[g][v] != nil && t.stays(e, ref, v) {
						users[v] = append(users[v], t.userName(e, ref))
					}
				}
			})
			if err != nil {
				return err
			}
		}
		if err := t.rowUsers(ctx, g, gone[g], users); err != nil {
			return err
		}
		for _, name := range tree.SortedKeys(users) {
			e := gone[g][name]
			t.faults.add(e.step, tree.Refused(at(g.Node, e.Keys, fmt.Errorf("in use by %s", some(users[name])))))
		}
	}
	return nil
}

// rowUsers adds the rows without leaves that name deleted entries of a list to the users of these entries.
func (t *Tx) rowUsers(ctx context.Context, g *tree.List, gone map[string]*txEntry, users map[string][]string) error {
	rows := t.Model.Find(rights.RowsPath)
	for _, ref := range g.RowRefs {
		es, err := t.match(ctx, rows.List, []string{ref.Table, tree.Wildcard})
		if err != nil {
			return err
		}
		for _, e := range es {
			name := schema.Referred(ref.To, (&tree.Record{Fields: e.Rows[0]}).Field(ref.Field))
			switch {
			case gone[name] == nil:
			case t.sees(e.Entry, rows):
				users[name] = append(users[name], fmt.Sprintf("%s of %s|%s", ref.Field, ref.Table, e.Keys[1]))
			default:
				users[name] = append(users[name], tree.Hidden)
			}
		}
	}
	return nil
}

// stays reports whether an entry had this value before the Set, and certainly keeps it.
func (t *Tx) stays(e *tree.Entry, n *tree.Node, v string) bool {
	if t.faults.made.leafUnknown(n, e.Keys) || t.faults.gone.leafUnknown(n, e.Keys) {
		return false
	}
	x := t.entries[tree.EntryID(e.List, e.Keys)]
	return x == nil || slices.Contains(x.was(n), v)
}

// userName returns the name of an entry with a reference, if the caller may see it.
func (t *Tx) userName(e *tree.Entry, ref *tree.Node) string {
	if !t.sees(e, ref) {
		return tree.Hidden
	}
	name := e.List.Node.Name + " " + e.Keys[len(e.Keys)-1]
	if len(e.List.Parent.Keys) > 0 {
		name = e.List.Parent.Node.Name + " " + strings.Join(e.Keys[:len(e.List.Parent.Keys)], " ") + " " + name
	}
	return name
}

// some lists the first of many names, and reports how many more there are.
func some(names []string) string {
	const few = 5
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}

// checkUnique checks the leaves that no two entries of a list may share.
func (t *Tx) checkUnique(ctx context.Context, touched []*txEntry) error {
	for _, g := range t.Model.Lists {
		for _, n := range g.Unique {
			if err := t.checkShared(ctx, touched, n); err != nil {
				return err
			}
		}
	}
	return t.checkOnly(ctx, touched)
}

// checkOnly checks that no created entry stands for what another entry beside it stands for: see [tree.Group.Only].
func (t *Tx) checkOnly(ctx context.Context, touched []*txEntry) error {
	beside := map[string]map[string][]*txEntry{} // entries by value, by the id of the enclosing entry
	for _, e := range touched {
		if e.List.Only == nil || !e.present || !(&finishing{e: e}).Created() || t.entryUnknown(e) {
			continue
		}
		outer := e.Keys[:len(e.List.OuterKeys())]
		id := tree.EntryID(e.List, outer)
		if beside[id] == nil {
			es, err := t.match(ctx, e.List, tree.Extend(outer, e.List))
			if err != nil {
				return err
			}
			beside[id] = map[string][]*txEntry{}
			for _, o := range es {
				if _, v := e.List.Only(o.Keys); !t.entryUnknown(o) {
					beside[id][v] = append(beside[id][v], o)
				}
			}
		}
		name, v := e.List.Only(e.Keys)
		others := slices.DeleteFunc(beside[id][v], func(o *txEntry) bool { return o == e })
		if len(others) > 0 {
			t.faults.add(e.step, at(e.List.Node, e.Keys, fmt.Errorf("%s %s is there already, as %s: want only one of them",
				name, v, others[0].Keys[len(outer)])))
		}
		beside[id][v] = nil // one error reports both
	}
	return nil
}

// A claim is an entry's claim to a value of a leaf that must be unique.
type claim struct {
	by   string // the first entry that has the value
	step int    // the step of the last entry that was given it
}

// claims returns the values of a leaf in changed entries.
func (t *Tx) claims(touched []*txEntry, n *tree.Node) map[string]*claim {
	mine := map[string]*claim{}
	for _, e := range touched {
		change := &finishing{tx: t, e: e}
		if e.List != n.List || !e.present || n.KeyIndex >= 0 && !change.Created() ||
			n.KeyIndex < 0 && !change.Changed(strings.TrimPrefix(n.Path, n.List.Node.Path+"/")) {
			continue
		}
		for _, v := range e.Value(n) {
			mine[v] = &claim{step: e.stepOf(n)}
		}
	}
	return mine
}

// checkShared checks that no two entries share a value of leaf n, which must be unique.
func (t *Tx) checkShared(ctx context.Context, touched []*txEntry, n *tree.Node) error {
	g := n.List
	mine := t.claims(touched, n)
	if len(mine) == 0 {
		return nil
	}
	return t.withLeaf(ctx, n, tree.SortedKeys(mine), func(e *tree.Entry) {
		x := t.entries[tree.EntryID(g, e.Keys)]
		if t.faults.made.leafUnknown(n, e.Keys) || t.faults.gone.leafUnknown(n, e.Keys) && (x == nil || !x.writes(n)) {
			return
		}
		for _, v := range e.Value(n) {
			c := mine[v]
			if c == nil {
				continue
			}
			if c.by == "" {
				if c.by = strings.Join(e.Keys, " "); !t.sees(e, n) {
					c.by = "(" + tree.Hidden + ")"
				}
				continue
			}
			step := c.step
			if x != nil && x.touched {
				step = x.stepOf(n)
			}
			t.faults.add(step, at(n, e.Keys, fmt.Errorf("%s is that of %s %s already", v, g.Node.Name, c.by)))
		}
	})
}
