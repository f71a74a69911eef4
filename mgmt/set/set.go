package set

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Step is one operation of a Set.
type Step struct {
	Op     gpb.UpdateResult_Operation
	Path   *gpb.Path // as in the request
	target []tree.Target
	values []assignment
}

// Parse resolves paths and values, which needs no database. The other steps are parsed even if one is wrong.
func Parse(ctx context.Context, m *tree.Model, req *gpb.SetRequest) ([]Step, *Faults) {
	p := &setParser{model: m, prefix: req.GetPrefix(), faults: &Faults{}, wildcards: tree.MaxSetSteps}
	for _, d := range req.GetDelete() {
		if ctx.Err() != nil {
			return nil, p.faults
		}
		p.steps = append(p.steps, Step{Op: gpb.UpdateResult_DELETE, Path: d, target: p.deletion(d)})
	}
	for op, updates := range [][]*gpb.Update{req.GetReplace(), req.GetUpdate()} {
		for _, u := range updates {
			if ctx.Err() != nil {
				return nil, p.faults
			}
			st := Step{Op: gpb.UpdateResult_UPDATE, Path: u.GetPath()}
			if op == 0 {
				st.Op = gpb.UpdateResult_REPLACE
			}
			st.target, st.values = p.update(st.Op, u)
			p.steps = append(p.steps, st)
		}
	}
	seen := map[string]wording{}
	for _, u := range req.GetUnionReplace() {
		if ctx.Err() != nil {
			return nil, p.faults
		}
		st := Step{Op: unionReplace, Path: u.GetPath()}
		st.target, st.values = p.update(unionReplace, u)
		st.values = p.agree(st.values, seen)
		p.steps = append(p.steps, st)
	}
	return p.steps, p.faults
}

// A setParser parses a request.
type setParser struct {
	model     *tree.Model
	prefix    *gpb.Path
	steps     []Step
	faults    *Faults
	wildcards int // the number of steps that paths with wildcards may still cost
}

// fail records an error of the step that is being parsed.
func (p *setParser) fail(err error) { p.faults.add(len(p.steps), err) }

// resolve returns the targets of a step's path, or none after recording a fault.
func (p *setParser) resolve(op gpb.UpdateResult_Operation, path *gpb.Path, val *gpb.TypedValue) []tree.Target {
	w := tree.Resolver{Unknown: codes.NotFound, Most: min(p.wildcards, tree.MaxSteps)}
	ts, err := w.Resolve(p.model, p.prefix, path)
	if p.wildcards -= w.Beyond(); err == nil {
		return ts
	}
	p.fail(err)
	at, from := w.Lost, w.LostAt
	wild := func(el *gpb.PathElem) bool { return el.GetName() == "*" || el.GetName() == "..." }
	if at.Node == nil || slices.ContainsFunc(w.Elems, wild) {
		at, from = tree.Target{Node: p.model.Root}, 0
	}
	readable := true
	if op != gpb.UpdateResult_DELETE {
		for _, el := range w.Elems[from:] {
			for _, k := range el.GetKey() {
				p.faults.made.addName(k)
			}
		}
		if err := p.faults.made.addValue(val); err != nil {
			p.fail(fmt.Errorf("%s: %w", tree.PathText(&gpb.Path{Elem: w.Elems}), err))
			readable = false
		}
		p.faults.made.add(at.Node, at.Keys, !readable)
	}
	if op != gpb.UpdateResult_UPDATE {
		for _, x := range p.candidates(w, at) {
			p.faults.gone.add(x.Node, x.Keys, true)
		}
	}
	return nil
}

// candidates returns the targets that the client may have meant by a refused path. Any name may replace the name that
// does not exist.
func (p *setParser) candidates(w tree.Resolver, reached tree.Target) []tree.Target {
	if w.Lost.Node == nil || reached.Node != w.Lost.Node || w.LostAt >= len(w.Elems) {
		return []tree.Target{reached}
	}
	elems := slices.Clone(w.Elems)
	elems[w.LostAt] = &gpb.PathElem{Name: "*"}
	x := tree.Resolver{Unknown: codes.NotFound, Most: min(p.wildcards, tree.MaxSteps)}
	ts, err := x.Resolve(p.model, nil, &gpb.Path{Elem: elems})
	if p.wildcards -= x.Beyond(); err != nil {
		return []tree.Target{reached}
	}
	return ts
}

func (p *setParser) deletion(path *gpb.Path) []tree.Target {
	ts := p.resolve(gpb.UpdateResult_DELETE, path, nil)
	if err := deletable(ts); err != nil {
		p.fail(err)
		for _, t := range ts {
			p.faults.gone.add(t.Node.Meant(), t.Keys, true)
		}
		return nil
	}
	return ts
}

func deletable(ts []tree.Target) error {
	for _, t := range ts {
		switch {
		case !t.Node.Config:
			return status.Errorf(codes.InvalidArgument, "%s: %v", t.Text(), t.Node.WhyNot())
		case t.Node.KeyIndex >= 0:
			return status.Errorf(codes.InvalidArgument, "%s: is the key; delete the entry", t.Text())
		}
	}
	return nil
}

// update parses an update or replace. If part of a value is wrong, the rest is returned.
func (p *setParser) update(op gpb.UpdateResult_Operation, u *gpb.Update) ([]tree.Target, []assignment) {
	ts := p.resolve(op, u.GetPath(), u.GetVal())
	if ts == nil {
		return nil, nil
	}
	err := settable(ts, u)
	if err == nil && op != gpb.UpdateResult_UPDATE && keyless(ts[0], u.GetVal()) {
		err = status.Errorf(codes.InvalidArgument, "%s: {} has no key: want a value with the entry's content, or a delete",
			ts[0].Text())
	}
	if err != nil {
		p.fail(err)
		for _, t := range ts {
			p.faults.made.add(t.Node.Meant(), t.Keys, true)
		}
		return nil, nil
	}
	f := flattener{faults: p.faults, step: len(p.steps)}
	readable := f.value(ts[0], u.GetVal())
	good, bad := p.keysAllowed(f.out)
	if !readable || bad.has(ts[0].Node.List, ts[0].Keys) {
		ts = nil // there is nothing that could replace the removed content
	}
	return ts, good
}

// settable refuses paths that accept no value.
func settable(ts []tree.Target, u *gpb.Update) error {
	t := ts[0]
	whole := t.Node.IsList && !slices.Contains(t.Keys[:len(t.Node.List.Parent.Keys)], tree.Wildcard) &&
		!slices.ContainsFunc(t.Keys[len(t.Node.List.Parent.Keys):], func(k string) bool { return k != tree.Wildcard })
	switch {
	case len(ts) > 1 || t.Item != "" || t.Wild() && !whole:
		return status.Errorf(codes.InvalidArgument, "%s: a value goes to one node, every key given", t.Text())
	case !t.Node.Config:
		return status.Errorf(codes.InvalidArgument, "%s: %v", t.Text(), t.Node.WhyNot())
	case u.GetVal() == nil && u.GetValue() != nil: //nolint:staticcheck // refused, not used
		return status.Errorf(codes.Unimplemented, "%s: Update.value is long deprecated: use val", t.Text())
	}
	return nil
}

// keyless reports whether the value of a list entry is an empty object. A replace by it would remove the entry's keys.
func keyless(t tree.Target, v *gpb.TypedValue) bool {
	if !t.Node.IsList || t.Wild() {
		return false
	}
	raw := []byte(cmp.Or(string(v.GetJsonIetfVal()), string(v.GetJsonVal())))
	members := map[string]json.RawMessage{}
	return json.Unmarshal(raw, &members) == nil && members != nil && len(members) == 0
}

// badKeys holds entries whose keys are invalid.
type badKeys map[string]bool

// has reports whether the entry, or an entry that encloses it, has invalid keys.
func (b badKeys) has(g *tree.List, keys []string) bool {
	for ; len(b) > 0 && g.Parent != nil; g = g.Parent {
		if b[tree.EntryID(g, keys[:len(g.Keys)])] {
			return true
		}
	}
	return false
}

// keysAllowed returns the assignments to entries with valid keys. An invalid key may have been meant as any other key
// of its list.
func (p *setParser) keysAllowed(as []assignment) ([]assignment, badKeys) {
	bad := badKeys{}
	for _, a := range as {
		id := tree.EntryID(a.group, a.keys)
		if a.leaf != nil || bad[id] {
			continue
		}
		outer := a.keys[:len(a.group.Parent.Keys)]
		for i, k := range a.group.OwnKeys() {
			if _, err := a.group.Node.Kid[k].Check(a.keys[len(outer)+i]); err != nil {
				p.fail(fmt.Errorf("%s: key %s: %w", a.path(), k, err))
				p.faults.made.add(a.group.Node, tree.Extend(outer, a.group), true)
				bad[id] = true
			}
		}
	}
	if len(bad) == 0 {
		return as, nil
	}
	return slices.DeleteFunc(as, func(a assignment) bool { return bad.has(a.group, a.keys) }), bad
}

// prefetch reads the entries that the steps name in a small number of round trips.
func (t *Tx) prefetch(ctx context.Context, steps []Step) error {
	want := map[*tree.List][][]string{}
	for _, st := range steps {
		for _, a := range st.values {
			if a.group.Through != nil {
				continue
			}
			want[a.group] = append(want[a.group], a.keys)
		}
		for _, x := range st.target {
			if !x.Wild() && x.Node.List.Through == nil {
				want[x.Node.List] = append(want[x.Node.List], x.Keys)
			}
		}
	}
	for _, g := range t.Model.Lists {
		if err := t.load(ctx, g, want[g]); err != nil {
			return err
		}
	}
	return nil
}

// Do executes steps in memory, and checks the result. parsed holds the faults found so far. The error holds all faults,
// or the missing permissions.
func (t *Tx) Do(ctx context.Context, steps []Step, parsed *Faults) error {
	t.entries, t.faults, t.steps = map[string]*txEntry{}, parsed, steps
	if err := t.prefetch(ctx, steps); err != nil {
		return err
	}
	if err := t.clearUnion(ctx, steps); err != nil {
		return err
	}
	for i, st := range steps {
		t.step = i
		if err := t.execute(ctx, st); err != nil {
			return err
		}
	}
	if err := t.finish(ctx); err != nil {
		return err
	}
	t.checkRows()
	if err := t.denied.err(); err != nil { // other errors may reveal what the caller may not see
		return err
	}
	return t.faults.err()
}

// execute executes a step. Failed parts are recorded as faults and as uncertain. The error is that of a database.
func (t *Tx) execute(ctx context.Context, st Step) error {
	if st.Op == gpb.UpdateResult_DELETE || st.Op == gpb.UpdateResult_REPLACE {
		for _, x := range st.target {
			if err := t.remove(ctx, x, st.Op == gpb.UpdateResult_REPLACE); err != nil {
				return err
			}
		}
	}
	if st.Op == gpb.UpdateResult_REPLACE && len(st.target) > 0 {
		if err := t.removeNamed(ctx, st); err != nil {
			return err
		}
	}
	for _, a := range st.values {
		if done, err := t.putThrough(ctx, a, st.Op == gpb.UpdateResult_UPDATE); err != nil {
			return err
		} else if done {
			continue
		}
		e, err := t.get(ctx, a.group, a.keys)
		if err != nil {
			return err
		}
		n := a.group.Node
		if a.leaf != nil {
			n = a.leaf
		}
		err = t.assign(ctx, e, a, st.Op == gpb.UpdateResult_UPDATE)
		if tree.IsUnavailable(err) {
			return err
		}
		if a.leaf == nil {
			e.by |= ours
		}
		t.did(e, n, err, &t.faults.made)
	}
	return nil
}

// did records which step changed a node of an entry. If the change failed, the node becomes uncertain.
func (t *Tx) did(e *txEntry, n *tree.Node, err error, d *unknowns) {
	e.step = t.step
	if n.Type != nil {
		if e.wrote == nil {
			e.wrote = map[*tree.Node]int{}
		}
		e.wrote[n] = t.step
	}
	if err != nil {
		t.faults.add(t.step, at(n, e.Keys, err))
		d.add(n, e.Keys, true)
	}
}

// assign executes one assignment. An update of a leaf-list adds items.
func (t *Tx) assign(ctx context.Context, e *txEntry, a assignment, update bool) error {
	if e.refused {
		return nil // the fault was reported already
	}
	if a.leaf == nil {
		if !e.present && t.View != nil && !t.View.Everywhere(e.List.Node, e.Keys) {
			t.denied.add(t.View, e.List.Node, e.Keys)
		}
		if r := e.elsewhere(); r != nil {
			e.touched, e.present = true, true
			return t.Make(ctx, r.Elsewhere, e.Keys...)
		}
		err := e.create()
		e.refused = err != nil
		return err
	}
	v := a.value
	if a.leaf.LeafList && update {
		v = union(e.Value(a.leaf), v)
	}
	return e.put(a.leaf, v)
}

// union returns the items of a leaf-list with further items.
func union(items, more []string) []string {
	all := slices.Clone(items)
	for _, v := range more {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// remove deletes the nodes of a target. Replacing an entry removes only its content, so that Fixed entries can be
// replaced too.
func (t *Tx) remove(ctx context.Context, x tree.Target, replace bool) error {
	defer func(was bool) { t.replacing = was }(t.replacing)
	t.replacing = replace
	if x.Node.ThroughOf() != nil {
		return t.removeThrough(ctx, x, replace)
	}
	g := x.Node.List
	if !g.ReadOnly() {
		if err := t.removeEntries(ctx, x, replace); err != nil {
			return err
		}
	}
	if x.Node.Type == nil {
		if err := t.removeBelow(ctx, x, g, replace); err != nil {
			return err
		}
	}
	if !replace && (g.ReadOnly() || !x.Node.Writable()) {
		return t.checkGone(ctx, x)
	}
	return nil
}

// removeEntries deletes the nodes of a target in its list's entries, but not in the lists below.
func (t *Tx) removeEntries(ctx context.Context, x tree.Target, replace bool) error {
	g, d := x.Node.List, &t.faults.gone
	if replace {
		d = &t.faults.made
	}
	es, err := t.match(ctx, g, x.Keys)
	if err != nil {
		return err
	}
	for _, e := range es {
		e.replaced = e.replaced || replace
		switch {
		case x.Item != "":
			rest := slices.DeleteFunc(slices.Clone(e.Value(x.Node)), func(v string) bool { return v == x.Item })
			err = e.put(x.Node, rest)
		case x.Node == g.Node && g.Parent != nil && (x.Wild() || !replace):
			t.leave(e, ours)
			err = t.removeOrReset(ctx, e)
		default:
			err = e.clear(x.Node)
		}
		if tree.IsUnavailable(err) {
			return err
		}
		t.did(e, x.Node, err, d)
	}
	if !replace {
		if err := t.removeOwned(ctx, es, func(*txEntry) bool { return true }); err != nil {
			return err
		}
	}
	return t.removeLeavesThrough(ctx, x)
}

// removeBelow deletes the entries of the lists below a target.
func (t *Tx) removeBelow(ctx context.Context, x tree.Target, g *tree.List, replace bool) error {
	for _, k := range g.Kids {
		second := k.Node.Parent.Apart || replace && k.Second
		if !k.Node.Writable() || !k.Node.Within(x.Node) || second && !x.Node.Within(k.Node.Parent) {
			continue
		}
		all := tree.Target{Node: k.Node, Keys: tree.Extend(x.Keys, k)}
		switch {
		case k.Through != nil:
			if err := t.removeThrough(ctx, all, false); err != nil {
				return err
			}
			continue
		case !k.ReadOnly():
			if err := t.removeEntries(ctx, all, replace); err != nil {
				return err
			}
		}
		if err := t.removeBelow(ctx, x, k, replace); err != nil {
			return err
		}
	}
	return nil
}

// removeOwned deletes the entries owned by deleted entries, if goes accepts them. For example, addresses of a deleted
// interface would otherwise be in force again for the next interface of that name.
func (t *Tx) removeOwned(ctx context.Context, es []*txEntry, goes func(*txEntry) bool) error {
	var lists []tree.Owned
	gone := map[tree.Owned]map[string]*txEntry{}
	for _, e := range es {
		for _, o := range e.List.Owns {
			if e.present {
				continue
			}
			if gone[o] == nil {
				gone[o], lists = map[string]*txEntry{}, append(lists, o)
			}
			gone[o][o.Prefix+e.Keys[0]] = e
		}
	}
	for _, o := range lists {
		g, owners := t.Model.Find(o.Path).List, gone[o]
		var keys [][]string
		err := t.Reader.Read(ctx, g, tree.Extend(nil, g), make([]bool, len(g.Rows)), func(es []*tree.Entry) error {
			for _, e := range es {
				if owners[e.Keys[0]] != nil {
					keys = append(keys, e.Keys)
				}
			}
			return nil
		})
		if err == nil {
			err = t.load(ctx, g, keys)
		}
		if err != nil {
			return err
		}
		for _, e := range t.order {
			if e.List == g && e.present && owners[e.Keys[0]] != nil && goes(e) {
				t.must(e)
				e.drop()
				e.step = owners[e.Keys[0]].step
			}
		}
	}
	return nil
}
