package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// tree is a node of RFC 7951 data as encoding/json decodes it. Names are asked
// for without module prefix and found with or without. The zero tree is absent
// data, and so is everything below it.
type tree struct{ v any }

// exists reports whether there is data; an object without members does not count.
func (t tree) exists() bool {
	m, isObject := t.v.(map[string]any)
	return t.v != nil && !(isObject && len(m) == 0)
}

// at returns the node below t that the names lead to.
func (t tree) at(names ...string) tree {
	for _, name := range names {
		m, _ := t.v.(map[string]any)
		t = tree{m[name]}
		if t.v != nil {
			continue
		}
		for k, v := range m {
			if i := len(k) - len(name) - 1; i >= 0 && k[i] == ':' && k[i+1:] == name && strings.IndexByte(k, ':') == i {
				t.v = v
				break
			}
		}
	}
	return t
}

// text returns a scalar as RFC 7951 writes it, a leaf-list as its values with commas, and "" for
// anything else. Control characters are replaced: what a server says must neither steer a terminal
// nor add a line to a configuration.
func (t tree) text(names ...string) string {
	switch v := t.at(names...).v.(type) {
	case string:
		return printable(v)
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = tree{v[i]}.text()
		}
		return strings.Join(parts, ",")
	}
	return ""
}

// printable is s with U+FFFD for each control character.
func printable(s string) string {
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

// plain is a text as it is, control characters included: not to be printed.
func (t tree) plain(names ...string) string {
	text, _ := t.at(names...).v.(string)
	return text
}

// word is an enumeration's or identity's name without prefix.
func (t tree) word(names ...string) string {
	text := t.text(names...)
	if _, local, ok := strings.Cut(text, ":"); ok {
		return local
	}
	return text
}

// texts are the values of a leaf-list.
func (t tree) texts(names ...string) []string {
	var out []string
	for _, e := range t.items(names...) {
		out = append(out, e.text())
	}
	return out
}

// count is an unsigned number; ok is false when there is none.
func (t tree) count(names ...string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(t.text(names...), 10, 64)
	return n, err == nil
}

// items are the entries of a list or leaf-list; a single object counts as one.
func (t tree) items(names ...string) []tree {
	switch v := t.at(names...).v.(type) {
	case []any:
		out := make([]tree, len(v))
		for i := range v {
			out[i] = tree{v[i]}
		}
		return out
	case map[string]any:
		return []tree{{v}}
	}
	return nil
}

// sorted are the entries of a list, in the natural order of their name.
func (t tree) sorted(names ...string) []tree {
	return sortedTrees(t.items(names...), tree.name)
}

// sortedTrees sorts entries in the natural order of a text of each.
func sortedTrees(entries []tree, text func(tree) string) []tree {
	type named struct {
		tree
		text string
	}
	all := make([]named, len(entries))
	for i, e := range entries {
		all[i] = named{e, text(e)}
	}
	slices.SortStableFunc(all, func(a, b named) int { return natural(a.text, b.text) })
	for i, e := range all {
		entries[i] = e.tree
	}
	return entries
}

// sortedBy are the entries of a list, in the natural order of a leaf.
func (t tree) sortedBy(leaf string, names ...string) []tree {
	return sortedTrees(t.items(names...), func(e tree) string { return e.text(leaf) })
}

// naturally sorts names.
func naturally(names []string) []string {
	slices.SortFunc(names, natural)
	return names
}

// name is the key of a list entry.
func (t tree) name() string {
	for _, key := range []string{"name", "feature-ref"} {
		if s := t.text(key); s != "" {
			return s
		}
	}
	return ""
}

// natural compares names so that Ethernet4 comes before Ethernet12.
func natural(a, b string) int {
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

// keyed is a list entry in a path.
type keyed struct{ list, key, value string }

// keyed2 is a list entry with two keys in a path.
type keyed2 struct{ list, key, value, key2, value2 string }

// gpath builds a path of element names and keyed list entries.
func gpath(elems ...any) *gpb.Path {
	p := &gpb.Path{}
	for _, e := range elems {
		switch e := e.(type) {
		case string:
			p.Elem = append(p.Elem, &gpb.PathElem{Name: e})
		case keyed:
			p.Elem = append(p.Elem, &gpb.PathElem{Name: e.list, Key: map[string]string{e.key: e.value}})
		case keyed2:
			p.Elem = append(p.Elem, &gpb.PathElem{Name: e.list, Key: map[string]string{e.key: e.value, e.key2: e.value2}})
		}
	}
	return p
}

// below appends names to a path.
func below(p *gpb.Path, names ...string) *gpb.Path {
	for _, name := range names {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: name})
	}
	return p
}

// listed returns an entry of a list in the form of a Set: its keys, both outside and inside config,
// and what else is configured.
func listed(module string, keys, config map[string]any) map[string]any {
	out, all := map[string]any{}, map[string]any{}
	for k, v := range keys {
		out[module+":"+k], all[k] = v, v
	}
	maps.Copy(all, config)
	out[module+":config"] = all
	return out
}

// pathText writes a path for people.
func pathText(p *gpb.Path) string {
	return keyedText(p.GetElem())
}

func hasWildcard(p *gpb.Path) bool {
	return slices.ContainsFunc(p.GetElem(), func(e *gpb.PathElem) bool {
		for _, v := range e.GetKey() {
			if v == "*" {
				return true
			}
		}
		return false
	})
}
