package restconf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt"
)

// show cuts a value of a node to what is to be seen of it.
func (v view) show(n mgmt.Node, raw []byte) ([]byte, error) {
	if v.depth == 0 && v.fields == nil {
		return raw, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("what is stored: %w", err)
	}
	value, _ = v.fields.choose(n, value)
	if v.depth > 0 {
		value = cut(n, value, v.depth)
	}
	return json.Marshal(value)
}

// known refuses fields that a node of a target does not have.
func (f *fields) known(t target, n mgmt.Node) *problem {
	if f == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(f.kids)) {
		k, ok := child(n, name)
		if module, _, prefixed := strings.Cut(name, ":"); !ok || prefixed && k.Module() != module {
			return invalid("fields: %s has no %q; it has %s", cmp.Or(n.Name(), "the root"), shown(name),
				cmp.Or(strings.Join(names(n), ", "), "nothing below it")).at(t)
		}
		if p := f.kids[name].known(t, k); p != nil {
			return p
		}
	}
	return nil
}

// choose takes the fields of a value, and of a list's entry the keys; false: it has none of them.
func (f *fields) choose(n mgmt.Node, value any) (any, bool) {
	if f == nil || f.whole {
		return value, true
	}
	switch value := value.(type) {
	case []any:
		var some []any
		for _, entry := range value {
			if e, ok := f.choose(n, entry); ok {
				some = append(some, e)
			}
		}
		return some, len(some) > 0
	case map[string]any:
		out, any := map[string]any{}, false
		for name, below := range value {
			k, ok := child(n, name)
			if !ok {
				continue
			}
			want := f.kids[k.Name()]
			if want == nil {
				want = f.kids[k.Module()+":"+k.Name()]
			}
			if want != nil {
				if below, ok := want.choose(k, below); ok {
					out[name], any = below, true
				}
			} else if slices.Contains(n.Keys(), k.Name()) {
				out[name] = below
			}
		}
		return out, any || n.Root()
	}
	return nil, false // a leaf has no fields
}

// cut leaves away what is deeper than levels, of which a value is the first.
func cut(n mgmt.Node, value any, levels int) any {
	switch value := value.(type) {
	case []any:
		if n.LeafList() {
			return value
		}
		for i, entry := range value {
			value[i] = cut(n, entry, levels)
		}
	case map[string]any:
		for name, below := range value {
			k, ok := child(n, name)
			switch {
			case ok && slices.Contains(n.Keys(), k.Name()): // an entry has its keys
			case levels <= 1:
				delete(value, name)
			default:
				value[name] = cut(k, below, levels-1)
			}
		}
	}
	return value
}

// child is the child that a member of an object stands for.
func child(n mgmt.Node, member string) (mgmt.Node, bool) {
	_, name, prefixed := bytes.Cut([]byte(member), []byte(":"))
	if !prefixed {
		name = []byte(member)
	}
	return n.Child(string(name))
}

// plain cuts a value that no tree describes. The entries of lists keep their names.
func plain(value any, levels int) any {
	switch value := value.(type) {
	case []any:
		for i, entry := range value {
			if m, ok := entry.(map[string]any); ok && levels <= 1 {
				maps.DeleteFunc(m, func(name string, _ any) bool { return name != "name" })
				continue
			}
			value[i] = plain(entry, levels)
		}
	case map[string]any:
		if levels <= 1 {
			clear(value)
		}
		for name, below := range value {
			value[name] = plain(below, levels-1)
		}
	}
	return value
}
