package mgmt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// commitTries bounds how often a Set starts anew because somebody else wrote
// a row that it read.
const commitTries = 10

// A step is one operation of a Set.
type step struct {
	op     gpb.UpdateResult_Operation
	path   *gpb.Path // as in the request
	target []target
	values []assignment
}

// Set does a SetRequest: all of it, or nothing.
func (s *Server) Set(ctx context.Context, req *gpb.SetRequest) (*gpb.SetResponse, error) {
	if err := checkExtensions(req.GetExtension()); err != nil {
		return nil, err
	}
	if len(req.GetUnionReplace()) > 0 {
		return nil, status.Error(codes.Unimplemented, "union_replace is not served; use replace")
	}
	steps, err := s.model.parseSet(req)
	if err != nil {
		return nil, err
	}
	s.setting.Lock()
	defer s.setting.Unlock()
	for range commitTries {
		err = s.trySet(ctx, steps)
		if !errors.Is(err, errConflict) {
			break
		}
	}
	if errors.Is(err, errConflict) {
		return nil, status.Error(codes.Aborted, "others kept writing the same rows; nothing was changed")
	}
	if err != nil {
		return nil, s.dbError(err)
	}
	resp := &gpb.SetResponse{Prefix: replyPrefix(req.GetPrefix(), nil), Timestamp: s.now().UnixNano()}
	if p := req.GetPrefix(); len(p.GetElem()) > 0 {
		resp.Prefix = &gpb.Path{Target: p.GetTarget(), Origin: p.GetOrigin(), Elem: p.GetElem()}
	}
	for _, st := range steps {
		resp.Response = append(resp.Response, &gpb.UpdateResult{Path: st.path, Op: st.op})
	}
	return resp, nil
}

// parseSet resolves paths and values, which needs no database. It returns all
// that is wrong at once.
func (m *model) parseSet(req *gpb.SetRequest) ([]step, error) {
	var steps []step
	var errs []error
	for _, p := range req.GetDelete() {
		ts, err := m.resolve(req.GetPrefix(), p, codes.NotFound)
		if err == nil {
			err = deletable(ts)
		}
		errs = append(errs, err)
		steps = append(steps, step{op: gpb.UpdateResult_DELETE, path: p, target: ts})
	}
	for op, updates := range [][]*gpb.Update{req.GetReplace(), req.GetUpdate()} {
		for _, u := range updates {
			st, err := m.parseUpdate(req.GetPrefix(), u)
			st.op = gpb.UpdateResult_UPDATE
			if op == 0 {
				st.op = gpb.UpdateResult_REPLACE
			}
			errs = append(errs, err)
			steps = append(steps, st)
		}
	}
	return steps, setError(errs...)
}

func deletable(ts []target) error {
	for _, t := range ts {
		switch {
		case !t.node.config:
			return status.Errorf(codes.InvalidArgument, "%s: %v", t.text(), errReadOnly)
		case t.node.keyIndex >= 0:
			return status.Errorf(codes.InvalidArgument, "%s: is the key; delete the entry", t.text())
		}
	}
	return nil
}

func (m *model) parseUpdate(prefix *gpb.Path, u *gpb.Update) (step, error) {
	st := step{path: u.GetPath()}
	ts, err := m.resolve(prefix, u.GetPath(), codes.NotFound)
	if err != nil {
		return st, err
	}
	t := ts[0]
	whole := t.node.list && !slices.Contains(t.keys[:len(t.node.group.parent.keys)], wildcard) &&
		!slices.ContainsFunc(t.keys[len(t.node.group.parent.keys):], func(k string) bool { return k != wildcard })
	switch {
	case len(ts) > 1 || t.item != "" || t.wild() && !whole:
		return st, status.Errorf(codes.InvalidArgument, "%s: a value goes to one node, every key given", t.text())
	case !t.node.config:
		return st, status.Errorf(codes.InvalidArgument, "%s: %v", t.text(), errReadOnly)
	}
	st.target = ts
	var f flattener
	val := u.GetVal()
	if val == nil && u.GetValue() != nil { //nolint:staticcheck // refused, not used
		return st, status.Errorf(codes.Unimplemented, "%s: Update.value is long deprecated: use val", t.text())
	}
	f.value(t, val)
	st.values = f.out
	return st, setError(append(f.errs, checkKeys(f.out)...)...)
}

// checkKeys checks the keys of entries that a value names.
func checkKeys(as []assignment) []error {
	var errs []error
	for _, a := range as {
		if a.leaf != nil {
			continue
		}
		own := a.group.ownKeys()
		for i, k := range own {
			v := a.keys[len(a.keys)-len(own)+i]
			if _, err := a.group.node.kid[k].check(v); err != nil {
				errs = append(errs, fmt.Errorf("%s: key %s: %w", a.path(), k, err))
			}
		}
	}
	return errs
}

// setError joins what is wrong with a Set into one status. Its code is that of
// the first error that has one.
func setError(errs ...error) error {
	code := codes.OK
	var texts []string
	for _, err := range errs {
		if err == nil {
			continue
		}
		text := err.Error()
		c := codes.InvalidArgument
		if isRefusal(err) {
			c = codes.FailedPrecondition
		}
		var st interface{ GRPCStatus() *status.Status }
		if errors.As(err, &st) {
			c = st.GRPCStatus().Code()
			text = strings.Replace(text, st.(error).Error(), st.GRPCStatus().Message(), 1)
		}
		if code == codes.OK {
			code = c
		}
		texts = append(texts, text)
	}
	if more := len(texts) - maxErrors; more > 0 {
		texts = append(texts[:maxErrors], fmt.Sprintf("and %d more", more))
	}
	if code == codes.OK {
		return nil
	}
	return status.Error(code, strings.Join(texts, "\n"))
}

// maxErrors bounds the errors that one answer names.
const maxErrors = 20

// trySet does the steps on the rows as they are now.
func (s *Server) trySet(ctx context.Context, steps []step) error {
	t := &tx{model: s.model, reader: s.reader, indexer: s.indexer, entries: map[string]*txEntry{}}
	if err := t.prefetch(ctx, steps); err != nil {
		return err
	}
	for _, st := range steps {
		if err := t.do(ctx, st); err != nil {
			return err
		}
	}
	if err := t.finish(ctx); err != nil {
		return err
	}
	s.snapshot.Lock()
	defer s.snapshot.Unlock()
	return t.commit(ctx)
}

// prefetch reads the entries that the steps name in few round trips.
func (t *tx) prefetch(ctx context.Context, steps []step) error {
	want := map[*group][][]string{}
	for _, st := range steps {
		for _, a := range st.values {
			want[a.group] = append(want[a.group], a.keys)
		}
		for _, x := range st.target {
			if !x.wild() {
				want[x.node.group] = append(want[x.node.group], x.keys)
			}
		}
	}
	for _, g := range t.model.groups {
		if err := t.load(ctx, g, want[g]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) do(ctx context.Context, st step) error {
	if st.op != gpb.UpdateResult_UPDATE {
		for _, x := range st.target {
			if err := t.remove(ctx, x, st.op == gpb.UpdateResult_REPLACE); err != nil {
				return err
			}
		}
	}
	var errs []error
	for _, a := range st.values {
		e, err := t.get(ctx, a.group, a.keys)
		if err != nil {
			return err
		}
		if err := t.assign(e, a, st.op == gpb.UpdateResult_UPDATE); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", a.path(), err))
		}
	}
	return setError(errs...)
}

// assign does one assignment. An update of a leaf-list adds to it.
func (t *tx) assign(e *txEntry, a assignment, update bool) error {
	if a.leaf == nil {
		return e.create()
	}
	if !e.present && e.group.parent != nil {
		return nil // its creation was refused
	}
	v := a.value
	if a.leaf.leafList && update {
		v = slices.Clone(e.value(a.leaf))
		for _, x := range a.value {
			if !slices.Contains(v, x) {
				v = append(v, x)
			}
		}
	}
	return e.put(a.leaf, v)
}

// remove deletes what a target means. Of an entry that is to be replaced only
// the content goes, so that Fixed ones can be replaced too.
func (t *tx) remove(ctx context.Context, x target, replace bool) error {
	g := x.node.group
	es, err := t.match(ctx, g, x.keys)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range es {
		switch {
		case x.item != "":
			rest := slices.DeleteFunc(slices.Clone(e.value(x.node)), func(v string) bool { return v == x.item })
			err = e.put(x.node, rest)
		case x.node == g.node && g.parent != nil && (x.wild() || !replace):
			err = e.removeOr(replace)
		default:
			err = e.clear(x.node)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", pathText(toPath(x.node, e.keys)), err))
		}
	}
	if x.node.typ == nil {
		errs = append(errs, t.removeBelow(ctx, x, g, replace))
	}
	return setError(errs...)
}

// removeBelow deletes the entries of the lists below a target.
func (t *tx) removeBelow(ctx context.Context, x target, g *group, replace bool) error {
	var errs []error
	for _, k := range g.kids {
		if !k.node.config || !k.node.within(x.node) {
			continue
		}
		es, err := t.match(ctx, k, extend(x.keys, k))
		if err != nil {
			return err
		}
		for _, e := range es {
			if err := e.removeOr(replace); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", pathText(toPath(k.node, e.keys)), err))
			}
		}
		errs = append(errs, t.removeBelow(ctx, x, k, replace))
	}
	return setError(errs...)
}
