package mgmt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// finish completes and checks the entries that a Set touched. It returns all
// that is wrong at once.
func (t *tx) finish(ctx context.Context) error {
	var errs []error
	touched := t.touched()
	for _, e := range touched {
		e.fill()
		for _, f := range e.group.finish {
			if err := f(&Change{ctx: ctx, tx: t, e: e}); err != nil {
				errs = append(errs, at(e, err))
			}
		}
	}
	touched = t.touched() // finishing may have touched more
	for _, e := range touched {
		if e.present {
			errs = append(errs, t.checkEntry(ctx, e)...)
		}
	}
	errs = append(errs, t.checkRefs(ctx, touched)...)
	errs = append(errs, t.checkInUse(ctx, touched)...)
	errs = append(errs, t.checkUnique(ctx, touched)...)
	return setError(errs...)
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

// at puts the path of an entry before each of the joined errors.
func at(e *txEntry, err error) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) && !isRefusal(err) {
		var errs []error
		for _, x := range joined.Unwrap() {
			errs = append(errs, at(e, x))
		}
		return errors.Join(errs...)
	}
	return fmt.Errorf("%s: %w", pathText(toPath(e.group.node, e.keys)), err)
}

// checkEntry checks an entry by itself: what is mandatory, what encloses it,
// and its rows as a whole.
func (t *tx) checkEntry(ctx context.Context, e *txEntry) []error {
	var errs []error
	for _, n := range e.group.leaves {
		if n.config && n.mandatory && e.value(n) == nil {
			errs = append(errs, fmt.Errorf("%s: is missing", pathText(toPath(n, e.keys))))
		}
	}
	if p := e.group.parent; p != nil && p.parent != nil {
		outer, err := t.get(ctx, p, e.keys[:len(p.keys)])
		if err != nil {
			return []error{err}
		}
		if !outer.present {
			errs = append(errs, at(e, fmt.Errorf("there is no %s %s", p.node.name, strings.Join(outer.keys, " "))))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	for i, r := range e.group.rows {
		if r.Check == nil || e.recs[i] == nil || !e.changed(i) {
			continue
		}
		fields := maps.Clone(e.recs[i])
		delete(fields, nullField)
		if err := r.Check(r.key.expand(e.keys, e.own()), fields); err != nil {
			errs = append(errs, at(e, err))
		}
	}
	return errs
}

// checkRefs checks that what changed entries newly refer to exists. What they
// referred to before may be missing, or be named by an alias, through others.
func (t *tx) checkRefs(ctx context.Context, touched []*txEntry) []error {
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
			if n.target == nil || !n.config || len(n.target.keys) != 1 {
				continue
			}
			was := (&entry{group: e.group, keys: e.keys, recs: e.before}).value(n)
			for _, v := range e.value(n) {
				if slices.Contains(was, v) {
					continue
				}
				uses = append(uses, use{e, n, v})
				wanted[n.target] = append(wanted[n.target], []string{v})
			}
		}
	}
	for g, keys := range wanted {
		if err := t.load(ctx, g, keys); err != nil {
			return []error{err}
		}
	}
	var errs []error
	for _, u := range uses {
		if !t.entries[entryID(u.n.target, []string{u.name})].present {
			errs = append(errs, fmt.Errorf("%s: there is no %s %s", pathText(toPath(u.n, u.e.keys)), u.n.target.node.name, u.name))
		}
	}
	return errs
}

// checkInUse checks that nothing refers to what goes away, and names the user.
func (t *tx) checkInUse(ctx context.Context, touched []*txEntry) []error {
	gone := map[*group]map[string]*txEntry{}
	for _, e := range touched {
		if e.present || len(e.group.refs) == 0 || (&entry{group: e.group, recs: e.before}).own() == nil {
			continue
		}
		if gone[e.group] == nil {
			gone[e.group] = map[string]*txEntry{}
		}
		gone[e.group][e.keys[0]] = e
	}
	var errs []error
	for _, g := range t.model.groups {
		if gone[g] == nil {
			continue
		}
		users := map[string][]string{}
		for _, ref := range g.refs {
			err := t.withLeaf(ctx, ref, sortedKeys(gone[g]), func(e *entry) {
				for _, v := range e.value(ref) {
					if gone[g][v] != nil {
						users[v] = append(users[v], userName(e))
					}
				}
			})
			if err != nil {
				return []error{err}
			}
		}
		for _, name := range sortedKeys(users) {
			errs = append(errs, Refused(at(gone[g][name], fmt.Errorf("in use by %s", some(users[name])))))
		}
	}
	return errs
}

// userName says which entry refers to something.
func userName(e *entry) string {
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
func (t *tx) checkUnique(ctx context.Context, touched []*txEntry) []error {
	var errs []error
	for _, g := range t.model.groups {
		for _, n := range g.unique {
			mine := map[string]string{}
			for _, e := range touched {
				if e.group == g && e.present && (&Change{tx: t, e: e}).Changed(strings.TrimPrefix(n.path, g.node.path+"/")) {
					for _, v := range e.value(n) {
						mine[v] = ""
					}
				}
			}
			if len(mine) == 0 {
				continue
			}
			err := t.withLeaf(ctx, n, sortedKeys(mine), func(e *entry) {
				for _, v := range e.value(n) {
					other, ok := mine[v]
					name := strings.Join(e.keys, " ")
					switch {
					case !ok:
					case other == "":
						mine[v] = name
					default:
						errs = append(errs, fmt.Errorf("%s: %s is that of %s %s already", pathText(toPath(n, e.keys)), v, g.node.name, other))
					}
				}
			})
			if err != nil {
				return []error{err}
			}
		}
	}
	return errs
}
