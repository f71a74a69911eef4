package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Node is a node of RFC 7951 data as encoding/json decodes it. Names are asked
// for without module prefix and found with or without. The zero tree is absent
// data, and so is everything below it.
type Node struct{ Value any }

// Exists reports whether there is data; an object without members does not count.
func (t Node) Exists() bool {
	m, isObject := t.Value.(map[string]any)
	return t.Value != nil && !(isObject && len(m) == 0)
}

// At returns the node below t that the names lead to.
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

// Text returns a scalar as RFC 7951 writes it, a leaf-list as its values with commas, and "" for
// anything else. Control characters are replaced: what a server says must neither steer a terminal
// nor add a line to a configuration.
func (t Node) Text(names ...string) string {
	switch v := t.At(names...).Value.(type) {
	case string:
		return Printable(v)
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

// Printable is s with U+FFFD for each control character.
func Printable(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Plain is a text as it is, control characters included: not to be printed.
func (t Node) Plain(names ...string) string {
	text, _ := t.At(names...).Value.(string)
	return text
}

// Word is an enumeration's or identity's name without prefix.
func (t Node) Word(names ...string) string {
	text := t.Text(names...)
	if _, local, ok := strings.Cut(text, ":"); ok {
		return local
	}
	return text
}

// Texts are the values of a leaf-list.
func (t Node) Texts(names ...string) []string {
	var out []string
	for _, e := range t.Items(names...) {
		out = append(out, e.Text())
	}
	return out
}

// Count is an unsigned number; ok is false when there is none.
func (t Node) Count(names ...string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(t.Text(names...), 10, 64)
	return n, err == nil
}

// Items are the entries of a list or leaf-list; a single object counts as one.
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

// Sorted are the entries of a list, in the natural order of their name.
func (t Node) Sorted(names ...string) []Node {
	return SortNodes(t.Items(names...), Node.Name)
}

// SortNodes sorts entries in the natural order of a text of each.
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

// SortedBy are the entries of a list, in the natural order of a leaf.
func (t Node) SortedBy(leaf string, names ...string) []Node {
	return SortNodes(t.Items(names...), func(e Node) string { return e.Text(leaf) })
}

// SortNaturally sorts names.
func SortNaturally(names []string) []string {
	slices.SortFunc(names, Natural)
	return names
}

// Name is the key of a list entry.
func (t Node) Name() string {
	for _, key := range []string{"name", "feature-ref"} {
		if s := t.Text(key); s != "" {
			return s
		}
	}
	return ""
}

// Natural compares names so that Ethernet4 comes before Ethernet12.
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

// digits is the length of the number that s begins with.
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

// Below appends names to a path.
func Below(p *gpb.Path, names ...string) *gpb.Path {
	for _, name := range names {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: name})
	}
	return p
}

// ListEntry returns an entry of a list in the form of a Set: its keys, both outside and inside config,
// and what else is configured.
func ListEntry(module string, keys, config map[string]any) map[string]any {
	out, all := map[string]any{}, map[string]any{}
	for k, v := range keys {
		out[module+":"+k], all[k] = v, v
	}
	maps.Copy(all, config)
	out[module+":config"] = all
	return out
}

// PathText writes a path for people.
func PathText(p *gpb.Path) string {
	return ElemsText(p.GetElem())
}

// HasWildcard reports whether a key of a path is any.
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

// ElemsText is a path as parsePath reads it.
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

// Of is a node with RFC 7951 data, as encoding/json decodes it.
func Of(v any) Node { return Node{v} }

// In is an entry of a list in a path.
func In(list, key, value string) Entry { return Entry{list, key, value} }

// In2 is an entry of a list with two keys in a path.
func In2(list, key, value, key2, value2 string) Entry2 { return Entry2{list, key, value, key2, value2} }
