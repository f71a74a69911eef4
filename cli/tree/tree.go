package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/internal/printable"
)

// Node is a node of RFC 7951 data as decoded by encoding/json. Names are given without module prefix, and match with or
// without one. The zero node stands for absent data, and so does everything below it.
type Node struct{ Value any }

// Exists reports whether there is data. An object without members counts as absent.
func (t Node) Exists() bool {
	m, isObject := t.Value.(map[string]any)
	return t.Value != nil && !(isObject && len(m) == 0)
}

// At returns the node below t at the names.
func (t Node) At(names ...string) Node {
	for _, name := range names {
		m, _ := t.Value.(map[string]any)
		t = Of(m[name])
		if t.Value != nil {
			continue
		}
		for k, v := range m {
			if i := len(k) - len(name) - 1; i >= 0 && k[i] == ':' && k[i+1:] == name && strings.IndexByte(k, ':') == i {
				t.Value = v
				break
			}
		}
	}
	return t
}

// Text returns a scalar in the form of RFC 7951, a leaf-list as its values with commas, and "" for anything else.
// Characters without a visible form are escaped.
// So text from a server can neither control a terminal nor add a line to a
// configuration.
func (t Node) Text(names ...string) string {
	switch v := t.At(names...).Value.(type) {
	case string:
		return printable.Line(v)
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = Of(v[i]).Text()
		}
		return strings.Join(parts, ",")
	}
	return ""
}

// Plain returns a text including control characters. It must not be printed.
func (t Node) Plain(names ...string) string {
	text, _ := t.At(names...).Value.(string)
	return text
}

// Word returns the name of an enumeration or identity without prefix.
func (t Node) Word(names ...string) string {
	text := t.Text(names...)
	if _, local, ok := strings.Cut(text, ":"); ok {
		return local
	}
	return text
}

// Texts returns the values of a leaf-list.
func (t Node) Texts(names ...string) []string {
	var out []string
	for _, e := range t.Items(names...) {
		out = append(out, e.Text())
	}
	return out
}

// Count returns an unsigned number. ok is false if there is none.
func (t Node) Count(names ...string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(t.Text(names...), 10, 64)
	return n, err == nil
}

// Items returns the entries of a list or leaf-list. A single object counts as one entry.
func (t Node) Items(names ...string) []Node {
	switch v := t.At(names...).Value.(type) {
	case []any:
		out := make([]Node, len(v))
		for i := range v {
			out[i] = Of(v[i])
		}
		return out
	case map[string]any:
		return []Node{Of(v)}
	}
	return nil
}

// A Part selects a part of data: the container or the list at a path. If Of is set, it selects the container, or the
// entries of the list, for which Of returns true.
type Part struct {
	Path []string
	Of   func(Node) bool
}

// Keep returns the parts of a container, with the leaves beside their paths, which may be keys. It omits containers and
// entries of which no part is left.
func (t Node) Keep(parts ...Part) Node {
	kept := map[string]any{}
	some := false
	v, _ := t.Value.(map[string]any)
	for name, below := range v {
		switch below.(type) {
		case []any, map[string]any:
			if below = keptBelow(name, below, parts); below != nil {
				kept[name], some = below, true
			}
		default:
			kept[name] = below
		}
	}
	if !some {
		return Node{}
	}
	return Of(kept)
}

// keptBelow returns what parts select of a member of a container, nil if that is nothing.
func keptBelow(name string, below any, parts []Part) any {
	if _, local, prefixed := strings.Cut(name, ":"); prefixed {
		name = local
	}
	var deeper []Part
	keep := func(n Node) Node { return n.Keep(deeper...) }
	for _, p := range parts {
		switch {
		case p.Path[0] != name:
		case len(p.Path) > 1:
			deeper = append(deeper, Part{p.Path[1:], p.Of})
		case p.Of == nil:
			return below
		default:
			keep = func(n Node) Node {
				if p.Of(n) {
					return n
				}
				return Node{}
			}
		}
	}
	list, is := below.([]any)
	if !is {
		return keep(Of(below)).Value
	}
	var kept []any
	for _, e := range list {
		if n := keep(Of(e)); n.Value != nil {
			kept = append(kept, n.Value)
		}
	}
	if kept == nil {
		return nil
	}
	return kept
}

// Sorted returns the entries of a list, in the natural order of their names.
func (t Node) Sorted(names ...string) []Node {
	return SortNodes(t.Items(names...), Node.Name)
}

// SortNodes sorts entries by the natural order of the text that the function returns for each.
func SortNodes(entries []Node, text func(Node) string) []Node {
	type named struct {
		Node
		text string
	}
	all := make([]named, len(entries))
	for i, e := range entries {
		all[i] = named{e, text(e)}
	}
	slices.SortStableFunc(all, func(a, b named) int { return Natural(a.text, b.text) })
	for i, e := range all {
		entries[i] = e.Node
	}
	return entries
}

// SortedBy returns the entries of a list, in the natural order of a leaf.
func (t Node) SortedBy(leaf string, names ...string) []Node {
	return SortNodes(t.Items(names...), func(e Node) string { return e.Text(leaf) })
}

// SortNaturally sorts names in natural order, and returns them.
func SortNaturally(names []string) []string {
	slices.SortFunc(names, Natural)
	return names
}

// Name returns the key of a list entry.
func (t Node) Name() string {
	for _, key := range []string{"name", "feature-ref"} {
		if s := t.Text(key); s != "" {
			return s
		}
	}
	return ""
}

// Natural compares names in natural order, with Ethernet4 before Ethernet12.
func Natural(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da == 0 || db == 0 {
			if a[0] != b[0] {
				return int(a[0]) - int(b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		na, nb := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
		if len(na) != len(nb) {
			return len(na) - len(nb)
		}
		if c := strings.Compare(na, nb); c != 0 {
			return c
		}
		a, b = a[da:], b[db:]
	}
	return len(a) - len(b)
}

// digits returns the length of the number at the start of s.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// Entry is a list entry in a path.
type Entry struct{ list, key, value string }

// Entry2 is a list entry with two keys in a path.
type Entry2 struct{ list, key, value, key2, value2 string }

// Path builds a path of element names and keyed list entries.
func Path(elems ...any) *gpb.Path {
	p := &gpb.Path{}
	for _, e := range elems {
		switch e := e.(type) {
		case string:
			p.Elem = append(p.Elem, &gpb.PathElem{Name: e})
		case Entry:
			p.Elem = append(p.Elem, &gpb.PathElem{Name: e.list, Key: map[string]string{e.key: e.value}})
		case Entry2:
			p.Elem = append(p.Elem, &gpb.PathElem{Name: e.list, Key: map[string]string{e.key: e.value, e.key2: e.value2}})
		}
	}
	return p
}

// Below appends names to a path, and returns it.
func Below(p *gpb.Path, names ...string) *gpb.Path {
	for _, name := range names {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: name})
	}
	return p
}

// ListEntry returns an entry of a list in the form of a Set: its keys, both outside and inside config, and the other
// configured leaves.
func ListEntry(module string, keys, config map[string]any) map[string]any {
	out, all := map[string]any{}, map[string]any{}
	for k, v := range keys {
		out[module+":"+k], all[k] = v, v
	}
	maps.Copy(all, config)
	out[module+":config"] = all
	return out
}

// PathText returns a path as text for users.
func PathText(p *gpb.Path) string {
	return ElemsText(p.GetElem())
}

// HasWildcard reports whether a key of a path is a wildcard.
func HasWildcard(p *gpb.Path) bool {
	return slices.ContainsFunc(p.GetElem(), func(e *gpb.PathElem) bool {
		for _, v := range e.GetKey() {
			if v == "*" {
				return true
			}
		}
		return false
	})
}

// ElemsText returns path elements in the format that parsePath reads.
func ElemsText(elems []*gpb.PathElem) string {
	var b strings.Builder
	escaped := strings.NewReplacer(`\`, `\\`, `]`, `\]`)
	for _, e := range elems {
		b.WriteString("/" + e.GetName())
		for _, k := range slices.Sorted(maps.Keys(e.GetKey())) {
			fmt.Fprintf(&b, "[%s=%s]", k, escaped.Replace(e.GetKey()[k]))
		}
	}
	return b.String()
}

// Of returns a node that holds v, which is RFC 7951 data as decoded by encoding/json.
func Of(v any) Node { return Node{v} }

// In returns the path element of an entry in a list.
func In(list, key, value string) Entry { return Entry{list, key, value} }

// In2 returns the path element of an entry in a list with two keys.
func In2(list, key, value, key2, value2 string) Entry2 { return Entry2{list, key, value, key2, value2} }
