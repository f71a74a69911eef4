package restconf

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// maxDepth bounds the number of elements of a path. The deepest node of the modules is far above this depth.
const maxDepth = 64

// A target is the node that the path of a URI names.
type target struct {
	root *tree.Node
	node *tree.Node
	path *gpb.Path
	// all is true for a list without its keys.
	all bool
	// item is one value of a leaf-list; nil if the target is not one.
	item *string
}

// name returns the target's member name in JSON.
func (t target) name() string {
	if t.node.Parent == nil {
		return "ietf-restconf:data"
	}
	return t.node.Module + ":" + t.node.Name
}

// parsePath parses a path below /restconf/data (RFC 8040, section 3.5.3). It is percent-encoded, as received.
func parsePath(root *tree.Node, text string) (target, *problem) {
	t := target{root: root, node: root, path: &gpb.Path{}}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "/"), "/")
	if text == "" {
		return t, nil
	}
	segments := strings.Split(text, "/")
	if len(segments) > maxDepth {
		return t, invalid("the path has %d elements, want at most %d", len(segments), maxDepth)
	}
	for _, segment := range segments {
		if t.all || t.item != nil || t.node.Type != nil {
			return t, missing("%q: %s has nothing below it", shown(segment), t.node.Name).at(t)
		}
		if p := t.descend(segment); p != nil {
			return t, p
		}
	}
	return t, nil
}

// child returns the child of a percent-encoded name.
func (t *target) child(encoded string) (*tree.Node, *problem) {
	full, err := url.PathUnescape(encoded)
	if err != nil {
		return nil, invalid("%q: %v", shown(encoded), err).at(*t)
	}
	module, name, prefixed := strings.Cut(full, ":")
	if !prefixed {
		module, name = t.node.Module, full
	}
	k := t.node.Kid[name]
	switch {
	case k != nil && !prefixed && k.Module != module:
		return k, invalid("%q: want %s:%s, the name with its module", shown(full), k.Module, name).at(*t)
	case k == nil || k.Module != module:
		return k, missing("there is no node %q; there are %s", shown(full), strings.Join(names(t.node), ", ")).at(*t)
	}
	return k, nil
}

// descend follows one segment.
func (t *target) descend(segment string) *problem {
	name, keys, keyed := strings.Cut(segment, "=")
	k, p := t.child(name)
	if p != nil {
		return p
	}
	el := &gpb.PathElem{Name: k.Name}
	switch {
	case k.IsList && keyed:
		if p := t.keys(k, el, keys); p != nil {
			return p
		}
	case k.LeafList && keyed:
		value, err := url.PathUnescape(keys)
		if err != nil || value == "" {
			return invalid("%q: want one value after =", shown(segment)).at(*t)
		}
		t.item = &value
	case keyed:
		return invalid("%q: %s is no list", shown(segment), k.Name).at(*t)
	}
	t.all = k.IsList && !keyed
	t.node = k
	t.path.Elem = append(t.path.Elem, el)
	return nil
}

// keys parses the keys of a list's entry.
func (t *target) keys(list *tree.Node, el *gpb.PathElem, text string) *problem {
	want := list.Keys()
	values := strings.Split(text, ",")
	if len(values) != len(want) {
		return invalid("%s=%s has %d keys, want %d: %s", list.Name, shown(text), len(values),
			len(want), strings.Join(want, ",")).at(*t)
	}
	el.Key = map[string]string{}
	for i, name := range want {
		v, err := url.PathUnescape(values[i])
		switch {
		case err != nil:
			return invalid("key %s: %v", name, err).at(*t)
		case v == "":
			return invalid("key %s of %s is empty", name, list.Name).at(*t)
		case v == "*":
			return missing("no %s has the %s *, which is a wildcard elsewhere", list.Name,
				name).at(*t)
		}
		el.Key[name] = v
	}
	return nil
}

// names returns the names of a node's children, in the form of a URI below it.
func names(n *tree.Node) []string {
	var all []string
	for _, k := range n.Kids {
		if k.Module == n.Module {
			all = append(all, k.Name)
		} else {
			all = append(all, k.Module+":"+k.Name)
		}
	}
	return all
}

// location returns the path of a node in a URI, without /restconf/data.
func location(root *tree.Node, p *gpb.Path) string {
	return written(root, p, func(list *tree.Node, keys map[string]string) string {
		values := make([]string, len(list.Keys()))
		for i, key := range list.Keys() {
			values[i] = strings.ReplaceAll(url.PathEscape(keys[key]), ",", "%2C") // a comma separates keys
		}
		return "=" + strings.Join(values, ",")
	})
}

// instance returns a path as an instance-identifier (RFC 7951, section 6.11), or "" if the tree has no such node.
func instance(root *tree.Node, p *gpb.Path) string {
	return written(root, p, func(_ *tree.Node, keys map[string]string) string {
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			b.WriteString("[" + key + "=" + literal(keys[key]) + "]")
		}
		return b.String()
	})
}

// written returns the names along a path, each with its module where that differs from the parent's. writeKeys formats
// the keys. The result is "" if the tree has no such node.
func written(root *tree.Node, p *gpb.Path, writeKeys func(*tree.Node, map[string]string) string) string {
	var b strings.Builder
	n := root
	for _, el := range p.GetElem() {
		k := n.Kid[el.GetName()]
		if k == nil {
			return ""
		}
		b.WriteByte('/')
		if k.Module != n.Module {
			b.WriteString(k.Module + ":")
		}
		b.WriteString(k.Name)
		if len(el.GetKey()) > 0 {
			b.WriteString(writeKeys(k, el.GetKey()))
		}
		n = k
	}
	return b.String()
}

// literal quotes a text as XPath does.
func literal(text string) string {
	if strings.Contains(text, "'") {
		return `"` + text + `"`
	}
	return "'" + text + "'"
}

// cutPath splits a line of an error, such as "/a/b[k=v]: reason", into the path and the rest.
func cutPath(line string) (*gpb.Path, string, bool) {
	for at := strings.Index(line, ": "); at > 0; {
		if p, err := access.ParsePath(line[:at]); err == nil && p.Origin == "" {
			return p.GNMI(), line[at+2:], true
		}
		next := strings.Index(line[at+2:], ": ") // a key may contain the separator
		if next < 0 {
			break
		}
		at += 2 + next
	}
	return nil, "", false
}

// maxShown bounds how much of a client's text an error repeats, in bytes.
const maxShown = 80

func shown(text string) string { return tree.Cut(text, maxShown) }
