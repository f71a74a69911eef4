package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// fakeServer is a gNMI server that stores a JSON tree. It has no schema, except for the keys of lists. Names are stored
// without module prefix.
type fakeServer struct {
	gpb.UnimplementedGNMIServer

	mu       sync.Mutex
	tree     map[string]any
	sets     []*gpb.SetRequest
	user     string                      // user of the latest request
	onSet    func(*gpb.SetRequest) error // called before a Set; an error refuses the Set
	password string                      // password that requests must have; empty means none
	frozen   bool                        // true if a Set is recorded without changing anything
}

// listKeys contains the names of list keys, for lists whose key is not "name".
var listKeys = map[string]string{
	"period": "number", "alt-mark-result": "path", "feature": "feature-ref", "flymon-group": "number",
	"metric": "quantity", "capability": "type",
	"flow": "flow", "bin": "size", "group": "index", "member": "interface", "vlan": "vlan-id", "rule": "rule-name",
	"neighbor": "id", "alarm": "id", "tally": "list", "object": "key",
}

// bare removes module prefixes from all names below v.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[bareName(k)] = bare(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = bare(v[i])
		}
		return out
	}
	return v
}

func (f *fakeServer) auth(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	f.user = strings.Join(md.Get("username"), "")
	if f.password != "" && strings.Join(md.Get("password"), "") != f.password {
		return status.Error(codes.Unauthenticated, "wrong password")
	}
	return nil
}

func (f *fakeServer) Capabilities(context.Context, *gpb.CapabilityRequest) (*gpb.CapabilityResponse, error) {
	return &gpb.CapabilityResponse{
		SupportedModels: []*gpb.ModelData{{Name: "openconfig-tam", Organization: "tamtam", Version: "2026-01-15"}},
		GNMIVersion:     "0.10.0",
	}, nil
}

func (f *fakeServer) Get(ctx context.Context, req *gpb.GetRequest) (*gpb.GetResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.auth(ctx); err != nil {
		return nil, err
	}
	reply := &gpb.GetResponse{}
	for _, p := range req.Path {
		n := &gpb.Notification{Timestamp: 1}
		for _, v := range find(f.tree, p.Elem) {
			if req.Type == gpb.GetRequest_CONFIG {
				v = configOnly(v)
			}
			if m, ok := v.(map[string]any); ok {
				q := map[string]any{}
				for k, e := range m {
					q["module:"+k] = e
				}
				v = q
			}
			raw, _ := json.Marshal(v)
			n.Update = append(n.Update, &gpb.Update{Path: p, Val: &gpb.TypedValue{
				Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: raw}}})
		}
		if len(n.Update) == 0 && !tree.HasWildcard(p) {
			return nil, status.Errorf(codes.NotFound, "no data at %s", tree.PathText(p))
		}
		reply.Notification = append(reply.Notification, n)
	}
	return reply, nil
}

func configOnly(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for k, e := range m {
		if k == "state" || k == "features-state" {
			continue
		}
		if l, ok := e.([]any); ok {
			l = slices.Clone(l)
			for i := range l {
				l[i] = configOnly(l[i])
			}
			e = l
		} else {
			e = configOnly(e)
		}
		out[k] = e
	}
	return out
}

func find(v any, elems []*gpb.PathElem) []any {
	if v == nil {
		return nil
	}
	if len(elems) == 0 {
		return []any{v}
	}
	m, _ := v.(map[string]any)
	e := elems[0]
	below := m[bareName(e.Name)]
	if len(e.Key) == 0 {
		return find(below, elems[1:])
	}
	var out []any
	l, _ := below.([]any)
	for _, entry := range l {
		if matchesKeys(entry, e.Key) {
			out = append(out, find(entry, elems[1:])...)
		}
	}
	return out
}

func matchesKeys(e any, keys map[string]string) bool {
	if value, one := keys["."]; one {
		return e == any(value)
	}
	entry := e.(map[string]any)
	for k, v := range keys {
		if v != "*" && (tree.Of(entry)).Text(k) != v {
			return false
		}
	}
	return true
}

func (f *fakeServer) Set(ctx context.Context, req *gpb.SetRequest) (*gpb.SetResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.auth(ctx); err != nil {
		return nil, err
	}
	if f.onSet != nil {
		if err := f.onSet(req); err != nil {
			return nil, err
		}
	}
	f.sets = append(f.sets, req)
	if f.frozen {
		return &gpb.SetResponse{Timestamp: 1}, nil
	}
	for _, p := range req.Delete {
		remove(f.tree, p.Elem)
	}
	for _, u := range req.Replace {
		remove(f.tree, u.Path.Elem)
		f.update(u)
	}
	for _, u := range req.Update {
		f.update(u)
	}
	return &gpb.SetResponse{Timestamp: 1}, nil
}

func remove(m map[string]any, elems []*gpb.PathElem) {
	e := elems[0]
	name := bareName(e.Name)
	if len(e.Key) == 0 {
		if len(elems) == 1 {
			delete(m, name)
		} else if below, ok := m[name].(map[string]any); ok {
			remove(below, elems[1:])
		}
		return
	}
	l, _ := m[name].([]any)
	m[name] = slices.DeleteFunc(l, func(entry any) bool {
		hit := matchesKeys(entry, e.Key)
		if hit && len(elems) > 1 {
			remove(entry.(map[string]any), elems[1:])
			return false
		}
		return hit
	})
}

// update merges a value into the tree, and creates missing nodes above the value.
func (f *fakeServer) update(u *gpb.Update) {
	dec := json.NewDecoder(bytes.NewReader(u.Val.GetJsonIetfVal()))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	v = bare(v)
	for _, e := range slices.Backward(u.Path.Elem) {
		if len(e.Key) > 0 {
			entry := v.(map[string]any)
			for k, key := range e.Key {
				entry[k] = key
			}
			v = []any{entry}
		}
		v = map[string]any{bareName(e.Name): v}
	}
	f.tree = merge("", f.tree, v).(map[string]any)
}

func merge(name string, old, v any) any {
	switch v := v.(type) {
	case map[string]any:
		m, ok := old.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		for k, e := range v {
			m[k] = merge(k, m[k], e)
		}
		return m
	case []any:
		l, _ := old.([]any)
		for _, e := range v {
			l = mergeEntry(cmp.Or(listKeys[name], "name"), l, e)
		}
		return l
	}
	return v
}

func mergeEntry(key string, l []any, e any) []any {
	entry, isObject := e.(map[string]any)
	for i, old := range l {
		if !isObject && old == e {
			return l
		}
		if isObject && (tree.Of(old)).Text(key) == (tree.Of(entry)).Text(key) {
			l[i] = merge("", old, entry)
			return l
		}
	}
	return append(l, e)
}

// load merges JSON text into the tree.
func (f *fakeServer) load(t *testing.T, text string) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	f.tree = merge("", f.tree, bare(v)).(map[string]any)
}

// session is a Shell with its server and its output.
type session struct {
	*Shell
	server   *fakeServer
	out, err *bytes.Buffer
}

func serve(t *testing.T, f *fakeServer, l net.Listener, opts ...grpc.ServerOption) {
	t.Helper()
	srv := grpc.NewServer(opts...)
	gpb.RegisterGNMIServer(srv, f)
	go srv.Serve(l)
	t.Cleanup(srv.Stop)
}

func newSession(t *testing.T) *session {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "gnmi")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{server: &fakeServer{tree: map[string]any{}}, out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	serve(t, s.server, l)
	s.Shell, err = New(kit.Config{Target: "unix:" + socket, Out: s.out, Err: s.err, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// do runs lines that must succeed, and returns their output.
func (s *session) do(t *testing.T, lines ...string) string {
	t.Helper()
	s.out.Reset()
	for _, l := range lines {
		if err := s.Exec(t.Context(), l); err != nil {
			t.Fatalf("%s\n%v", l, err)
		}
	}
	return s.out.String()
}

// fails runs a line that must fail, and returns the error's text.
func (s *session) fails(t *testing.T, line string) string {
	t.Helper()
	err := s.Exec(t.Context(), line)
	if err == nil {
		t.Fatalf("%s: succeeded, want an error", line)
	}
	return err.Error()
}

// snapshot returns the server's tree as text, which is the same for equal trees.
func (f *fakeServer) snapshot(t *testing.T) string {
	t.Helper()
	raw, err := json.MarshalIndent(canonical(f.tree), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// canonical sorts lists by content and omits empty ones.
func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			e = canonical(e)
			if l, ok := e.([]any); ok && len(l) == 0 {
				continue
			}
			if m, ok := e.(map[string]any); ok && len(m) == 0 {
				continue
			}
			out[k] = e
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		byText := map[string]any{}
		for _, e := range v {
			e = canonical(e)
			raw, _ := json.Marshal(e)
			byText[string(raw)] = e
		}
		for _, k := range slices.Sorted(maps.Keys(byText)) {
			out = append(out, byText[k])
		}
		return out
	}
	return v
}

// bareName returns a name without its module.
func bareName(name string) string { return name[strings.LastIndex(name, ":")+1:] }
