package mgmt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"tamtam/mgmt/configfile"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A jsonWriter writes nodes as JSON, by RFC 7951 where ietf says so: then
// members have the name of their module where it differs from the parent's.
type jsonWriter struct {
	buf  []byte
	tree tree
	want map[*node][]*node // the members of each node that are leaves of the selection, above these, or keys of a list
	ietf bool
}

func newJSONWriter(t tree, sel selection, ietf bool) *jsonWriter {
	w := &jsonWriter{tree: t, ietf: ietf, want: map[*node][]*node{}}
	wanted := map[*node]bool{}
	for _, s := range sel {
		for _, n := range s.leaves {
			for ; n != nil && !wanted[n]; n = n.parent {
				wanted[n] = true
			}
		}
	}
	for n := range wanted {
		for _, k := range n.kids {
			if wanted[k] || k.isListKey() {
				w.want[n] = append(w.want[n], k)
			}
		}
	}
	return w
}

// value returns a node of an entry as JSON; nil: it has no data.
func (w *jsonWriter) value(n *node, e *entry) []byte {
	w.buf = w.buf[:0]
	if n.typ != nil {
		if v := e.value(n); len(v) > 0 {
			return n.appendJSON(nil, v, w.ietf)
		}
		return nil
	}
	if !w.object(n, e, "") {
		return nil
	}
	return bytes.Clone(w.buf)
}

// object writes the members of a container or list entry; false: it has none,
// and nothing was written. module is that of the enclosing member.
func (w *jsonWriter) object(n *node, e *entry, module string) bool {
	start := len(w.buf)
	w.buf = append(w.buf, '{')
	any := false
	for _, k := range w.want[n] {
		before := len(w.buf)
		if any {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(w.buf, '"')
		if w.ietf && k.module != module {
			w.buf = append(append(w.buf, k.module...), ':')
		}
		w.buf = append(append(w.buf, k.name...), '"', ':')
		if w.member(k, e) {
			any = true
		} else {
			w.buf = w.buf[:before]
		}
	}
	if !any {
		w.buf = w.buf[:start]
		return false
	}
	w.buf = append(w.buf, '}')
	return true
}

func (w *jsonWriter) member(n *node, e *entry) bool {
	switch {
	case n.typ != nil:
		v := e.value(n)
		if len(v) == 0 {
			return false
		}
		w.buf = n.appendJSON(w.buf, v, w.ietf)
		return true
	case n.list:
		w.buf = append(w.buf, '[')
		any := false
		for _, k := range w.tree.below(n.group, e.keys) {
			if any {
				w.buf = append(w.buf, ',')
			}
			if w.object(n, k, n.module) {
				any = true
			} else if any {
				w.buf = w.buf[:len(w.buf)-1]
			}
		}
		w.buf = append(w.buf, ']')
		return any
	}
	return w.object(n, e, n.module)
}

// An assignment is a leaf of an entry with its new value; without a leaf it means that the entry
// itself must exist.
type assignment struct {
	group *group
	keys  []string
	leaf  *node
	value []string
}

func (a assignment) path() string {
	n := a.group.node
	if a.leaf != nil {
		n = a.leaf
	}
	return pathText(toPath(n, a.keys))
}

// A flattener splits a value into assignments. What it cannot use is a fault of the step, and in
// doubt.
type flattener struct {
	out    []assignment
	faults *faults
	step   int
}

// fail records that nothing can be known about a node, and why.
func (f *flattener) fail(n *node, keys []string, format string, args ...any) {
	f.tell(n, keys, format, args...)
	f.faults.made.doubt(n, keys, true)
}

// tell records just an error.
func (f *flattener) tell(n *node, keys []string, format string, args ...any) {
	f.faults.add(f.step, fmt.Errorf("%s: %w", pathText(toPath(n, keys)), fmt.Errorf(format, args...)))
}

// readOnly refuses a node.
func (f *flattener) readOnly(n *node, keys []string) {
	f.tell(n, keys, "%w", n.whyNot())
	f.faults.made.doubt(n.meant(), keys, true)
}

// value splits the value of an update; false if nothing of it can be read.
func (f *flattener) value(t target, tv *gpb.TypedValue) bool {
	f.touch(t.node, t.keys)
	var raw []byte
	switch v := tv.GetValue().(type) {
	case *gpb.TypedValue_JsonVal:
		raw = v.JsonVal
	case *gpb.TypedValue_JsonIetfVal:
		raw = v.JsonIetfVal
	default:
		if err := knownValue(tv); err != nil {
			f.fail(t.node, t.keys, "%w", err)
			return false
		}
		if t.node.typ == nil {
			f.fail(t.node, t.keys, "a container takes JSON, not a scalar")
			return false
		}
		text, err := t.node.fromScalar(tv)
		if err != nil {
			f.fail(t.node, t.keys, "%w", err)
			return false
		}
		f.leaf(t.node, t.keys, text)
		return true
	}
	v, err := decodeJSON(raw)
	if err != nil {
		f.fail(t.node, t.keys, "%w", err)
		return false
	}
	f.node(t.node, t.keys, v)
	return true
}

// knownValue refuses kinds of values that the server does not accept.
func knownValue(tv *gpb.TypedValue) error {
	switch tv.GetValue().(type) {
	case *gpb.TypedValue_AnyVal, *gpb.TypedValue_AsciiVal, *gpb.TypedValue_ProtoBytes:
		return status.Error(codes.Unimplemented, "values are JSON, JSON_IETF or scalars")
	case nil:
		return status.Error(codes.InvalidArgument, "the value is missing")
	}
	return nil
}

func decodeJSON(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("bad JSON: not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("bad JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("bad JSON: more than one value")
	}
	if membersIn(raw) != membersOf(v) {
		return nil, fmt.Errorf("bad JSON: %w", errors.Join(configfile.Doubled(raw)...))
	}
	return v, nil
}

// membersIn counts the members of all objects in a JSON text: the colons outside of strings.
func membersIn(text []byte) (n int) {
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inside = !inside
		case inside && c == '\\':
			i++
		case !inside && c == ':':
			n++
		}
	}
	return n
}

// membersOf counts those of a decoded value: fewer, where an object had a name twice.
func membersOf(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, below := range v {
			n += membersOf(below)
		}
	case []any:
		for _, below := range v {
			n += membersOf(below)
		}
	}
	return n
}

// touch makes the entries along the path exist.
func (f *flattener) touch(n *node, keys []string) {
	g := n.group
	if n.list && len(keys) > 0 && slices.Contains(keys[len(keys)-len(g.ownKeys()):], wildcard) {
		g = g.parent // a whole list
	}
	var chain []*group
	for ; g.parent != nil; g = g.parent {
		chain = append(chain, g)
	}
	for _, g := range slices.Backward(chain) {
		f.out = append(f.out, assignment{group: g, keys: keys[:len(g.keys)]})
	}
}

func (f *flattener) node(n *node, keys []string, v any) {
	switch {
	case n.typ != nil:
		text, err := n.fromJSON(v)
		if err != nil {
			f.fail(n, keys, "%w", err)
			return
		}
		f.leaf(n, keys, text)
	case n.list && slices.Contains(keys, wildcard):
		f.list(n, keys[:len(n.group.parent.keys)], v)
	default:
		f.object(n, keys, v)
	}
}

// leaf records a leaf's value. Key leaves only repeat the key.
func (f *flattener) leaf(n *node, keys []string, v []string) {
	switch {
	case n.keyIndex >= 0 && (n.config || n.isListKey()):
		if first(v) != keys[n.keyIndex] {
			f.tell(n, keys, "%s is not the key %s of the path", quoted(first(v)), quoted(keys[n.keyIndex]))
			f.faults.made.doubt(n.group.node, keys, true)
			f.faults.made.doubtName(first(v))
		}
	case !n.config:
		f.readOnly(n, keys)
	default:
		f.out = append(f.out, assignment{group: n.group, keys: keys, leaf: n, value: v})
	}
}

func (f *flattener) object(n *node, keys []string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		f.fail(n, keys, "%s is no JSON object", jsonWords(v))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		mod, local, prefixed := strings.Cut(name, ":")
		if !prefixed {
			local = name
		}
		k := n.kid[local]
		_, again := m[local]
		switch {
		case k != nil && prefixed && k.module == mod && again:
			f.fail(k, extend(keys, k.group), "is there twice, as %s and %s", quoted(name), quoted(local))
		case k == nil || prefixed && k.module != mod:
			f.tell(n, keys, "has no member %s; it has %s", quoted(name), strings.Join(slices.Sorted(maps.Keys(n.kid)), ", "))
			f.faults.made.doubt(n, keys, false)
			f.faults.made.doubtJSON(m[name])
		case !k.writable():
			f.readOnly(k, extend(keys, k.group))
		case k.list:
			f.list(k, keys, m[name])
		default:
			f.node(k, keys, m[name])
		}
	}
}

// list splits the entries of a list, given the keys of what encloses it.
func (f *flattener) list(n *node, keys []string, v any) {
	entries, ok := v.([]any)
	if !ok {
		f.fail(n, extend(keys, n.group), "%s is no JSON array", jsonWords(v))
		return
	}
	seen := map[string]bool{}
	for _, e := range entries {
		m, ok := e.(map[string]any)
		if !ok {
			f.fail(n, extend(keys, n.group), "%s is no JSON object", jsonWords(e))
			continue
		}
		all := slices.Clone(keys)
		for _, k := range n.group.ownKeys() {
			text, err := entryKey(n, m, k)
			if err != nil {
				f.fail(n, extend(keys, n.group), "key %s: %w", k, err)
				break
			}
			all = append(all, text)
		}
		if len(all) < len(n.group.keys) {
			continue
		}
		if id := strings.Join(all[len(keys):], "\x00"); seen[id] {
			f.fail(n, all, "is there twice")
			continue
		} else {
			seen[id] = true
		}
		f.out = append(f.out, assignment{group: n.group, keys: all})
		f.object(n, all, e)
	}
}

// entryKey finds a key of a list entry in its JSON.
func entryKey(n *node, m map[string]any, key string) (string, error) {
	leaf := n.kid[key]
	config, _ := member(m, n.kid["config"]).(map[string]any)
	v := member(m, leaf)
	if v == nil && n.kid["config"] != nil {
		v = member(config, n.kid["config"].kid[key])
	}
	if v == nil {
		return "", fmt.Errorf("is missing")
	}
	text, err := leaf.fromJSON(v)
	if err != nil {
		return "", err
	}
	return text[0], nil
}

func member(m map[string]any, n *node) any {
	if n == nil {
		return nil
	}
	if v, ok := m[n.name]; ok {
		return v
	}
	return m[n.module+":"+n.name]
}
