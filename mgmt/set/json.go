package set

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
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An assignment is a leaf of an entry with its new value. Without a leaf it means that the entry itself must exist.
type assignment struct {
	group *tree.List
	keys  []string
	leaf  *tree.Node
	value []string
}

func (a assignment) path() string {
	n := a.group.Node
	if a.leaf != nil {
		n = a.leaf
	}
	return tree.PathText(tree.PathTo(n, a.keys))
}

// A flattener splits a value into assignments. Unusable parts are faults of the step, and uncertain.
type flattener struct {
	out    []assignment
	faults *Faults
	step   int
}

// fail records an error, and that a node is uncertain.
func (f *flattener) fail(n *tree.Node, keys []string, format string, args ...any) {
	f.report(n, keys, format, args...)
	f.faults.made.add(n, keys, true)
}

// report records only an error.
func (f *flattener) report(n *tree.Node, keys []string, format string, args ...any) {
	f.faults.add(f.step, fmt.Errorf("%s: %w", tree.PathText(tree.PathTo(n, keys)), fmt.Errorf(format, args...)))
}

// readOnly records that a Set cannot write a node.
func (f *flattener) readOnly(n *tree.Node, keys []string) {
	f.report(n, keys, "%w", n.WhyNot())
	f.faults.made.add(n.Meant(), keys, true)
}

// value splits the value of an update. It returns false if nothing of it can be read.
func (f *flattener) value(t tree.Target, tv *gpb.TypedValue) bool {
	f.touch(t.Node, t.Keys)
	var raw []byte
	switch v := tv.GetValue().(type) {
	case *gpb.TypedValue_JsonVal:
		raw = v.JsonVal
	case *gpb.TypedValue_JsonIetfVal:
		raw = v.JsonIetfVal
	default:
		if err := knownValue(tv); err != nil {
			f.fail(t.Node, t.Keys, "%w", err)
			return false
		}
		if t.Node.Type == nil {
			f.fail(t.Node, t.Keys, "a container takes JSON, not a scalar")
			return false
		}
		text, err := t.Node.FromScalar(tv)
		if err != nil {
			f.fail(t.Node, t.Keys, "%w", err)
			return false
		}
		f.leaf(t.Node, t.Keys, text)
		return true
	}
	v, err := decodeJSON(raw)
	if err != nil {
		f.fail(t.Node, t.Keys, "%w", err)
		return false
	}
	f.node(t.Node, t.Keys, v)
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

// membersOf counts the members of all objects in a decoded value. There are fewer if an object had a name twice.
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

// touch adds assignments that create the entries along the path.
func (f *flattener) touch(n *tree.Node, keys []string) {
	g := n.List
	if n.IsList && len(keys) > 0 && slices.Contains(keys[len(keys)-len(g.OwnKeys()):], tree.Wildcard) {
		g = g.Parent // the node is a whole list
	}
	var chain []*tree.List
	for ; g.Parent != nil; g = g.Parent {
		chain = append(chain, g)
	}
	for _, g := range slices.Backward(chain) {
		f.out = append(f.out, assignment{group: g, keys: keys[:len(g.Keys)]})
	}
}

func (f *flattener) node(n *tree.Node, keys []string, v any) {
	switch {
	case n.Type != nil:
		text, err := n.FromJSON(v)
		if err != nil {
			f.fail(n, keys, "%w", err)
			return
		}
		f.leaf(n, keys, text)
	case n.IsList && slices.Contains(keys, tree.Wildcard):
		f.list(n, keys[:len(n.List.Parent.Keys)], v)
	default:
		f.object(n, keys, v)
	}
}

// leaf records a leaf's value. Key leaves only repeat the key.
func (f *flattener) leaf(n *tree.Node, keys []string, v []string) {
	switch {
	case n.KeyIndex >= 0 && (n.Config || n.IsListKey()):
		if tree.First(v) != keys[n.KeyIndex] {
			f.report(n, keys, "%s is not the key %s of the path", tree.Quoted(tree.First(v)), tree.Quoted(keys[n.KeyIndex]))
			f.faults.made.add(n.List.Node, keys, true)
			f.faults.made.addName(tree.First(v))
		}
	case !n.Config:
		f.readOnly(n, keys)
	default:
		f.out = append(f.out, assignment{group: n.List, keys: keys, leaf: n, value: v})
	}
}

func (f *flattener) object(n *tree.Node, keys []string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		f.fail(n, keys, "%s is no JSON object", tree.JSONWords(v))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		mod, local, prefixed := strings.Cut(name, ":")
		if !prefixed {
			local = name
		}
		k := n.Kid[local]
		_, again := m[local]
		switch {
		case k != nil && prefixed && k.Module == mod && again:
			f.fail(k, tree.Extend(keys, k.List), "is there twice, as %s and %s", tree.Quoted(name), tree.Quoted(local))
		case k == nil || prefixed && k.Module != mod:
			f.report(n, keys, "has no member %s; it has %s", tree.Quoted(name),
				strings.Join(slices.Sorted(maps.Keys(n.Kid)), ", "))
			f.faults.made.add(n, keys, false)
			f.faults.made.addJSON(m[name])
		case !k.Config:
			f.readOnly(k, tree.Extend(keys, k.List))
		case k.IsList:
			f.list(k, keys, m[name])
		default:
			f.node(k, keys, m[name])
		}
	}
}

// list splits the entries of a list, given the keys of the enclosing entry.
func (f *flattener) list(n *tree.Node, keys []string, v any) {
	entries, ok := v.([]any)
	if !ok {
		f.fail(n, tree.Extend(keys, n.List), "%s is no JSON array", tree.JSONWords(v))
		return
	}
	seen := map[string]bool{}
	for _, e := range entries {
		m, ok := e.(map[string]any)
		if !ok {
			f.fail(n, tree.Extend(keys, n.List), "%s is no JSON object", tree.JSONWords(e))
			continue
		}
		all := slices.Clone(keys)
		for _, k := range n.List.OwnKeys() {
			text, err := entryKey(n, m, k)
			if err != nil {
				f.fail(n, tree.Extend(keys, n.List), "key %s: %w", k, err)
				break
			}
			all = append(all, text)
		}
		if len(all) < len(n.List.Keys) {
			continue
		}
		if id := strings.Join(all[len(keys):], "\x00"); seen[id] {
			f.fail(n, all, "is there twice")
			continue
		} else {
			seen[id] = true
		}
		f.out = append(f.out, assignment{group: n.List, keys: all})
		f.object(n, all, e)
	}
}

// entryKey returns a key of a list entry from its JSON.
func entryKey(n *tree.Node, m map[string]any, key string) (string, error) {
	leaf := n.Kid[key]
	config, _ := member(m, n.Kid["config"]).(map[string]any)
	v := member(m, leaf)
	if v == nil && n.Kid["config"] != nil {
		v = member(config, n.Kid["config"].Kid[key])
	}
	if v == nil {
		return "", fmt.Errorf("is missing")
	}
	text, err := leaf.FromJSON(v)
	if err != nil {
		return "", err
	}
	return text[0], nil
}

func member(m map[string]any, n *tree.Node) any {
	if n == nil {
		return nil
	}
	if v, ok := m[n.Name]; ok {
		return v
	}
	return m[n.Module+":"+n.Name]
}
