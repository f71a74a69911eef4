package restconf

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"tamtam/mgmt"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// maxDepth bounds the elements of a path; the modules' deepest node is far above it.
const maxDepth = 64

// A target is what the path of a URI names.
type target struct {
	root mgmt.Node
	node mgmt.Node
	path *gpb.Path
	// all says that it is a list without its keys.
	all bool
	// item is one value of a leaf-list; nil: not of one.
	item *string
}

// name is the member that stands for it in JSON.
func (t target) name() string {
	if t.node.Root() {
		return "ietf-restconf:data"
	}
	return t.node.Module() + ":" + t.node.Name()
}

// parsePath finds what a path below /restconf/data names (RFC 8040, section 3.5.3). It is as it came, percent-encoded.
func parsePath(root mgmt.Node, text string) (target, *problem) {
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
		if t.all || t.item != nil || t.node.Type() != nil {
			return t, missing("%q: %s has nothing below it", shown(segment), t.node.Name()).at(t)
		}
		if p := t.descend(segment); p != nil {
			return t, p
		}
	}
	return t, nil
}

// child finds the child that a name, percent-encoded, stands for.
func (t *target) child(encoded string) (mgmt.Node, *problem) {
	full, err := url.PathUnescape(encoded)
	if err != nil {
		return mgmt.Node{}, invalid("%q: %v", shown(encoded), err).at(*t)
	}
	module, name, prefixed := strings.Cut(full, ":")
	if !prefixed {
		module, name = t.node.Module(), full
	}
	k, ok := t.node.Child(name)
	switch {
	case ok && !prefixed && k.Module() != module:
		return k, invalid("%q: want %s:%s, the name with its module", shown(full), k.Module(), name).at(*t)
	case !ok || k.Module() != module:
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
	el := &gpb.PathElem{Name: k.Name()}
	switch {
	case k.List() && keyed:
		if p := t.keys(k, el, keys); p != nil {
			return p
		}
	case k.LeafList() && keyed:
		value, err := url.PathUnescape(keys)
		if err != nil || value == "" {
			return invalid("%q: want one value after =", shown(segment)).at(*t)
		}
		t.item = &value
	case keyed:
		return invalid("%q: %s is no list", shown(segment), k.Name()).at(*t)
	}
	t.all = k.List() && !keyed
	t.node = k
	t.path.Elem = append(t.path.Elem, el)
	return nil
}

// keys reads the keys of a list's entry.
func (t *target) keys(list mgmt.Node, el *gpb.PathElem, text string) *problem {
	want := list.Keys()
	values := strings.Split(text, ",")
	if len(values) != len(want) {
		return invalid("%s=%s has %d keys, want %d: %s", list.Name(), shown(text), len(values),
			len(want), strings.Join(want, ",")).at(*t)
	}
	el.Key = map[string]string{}
	for i, name := range want {
		v, err := url.PathUnescape(values[i])
		switch {
		case err != nil:
			return invalid("key %s: %v", name, err).at(*t)
		case v == "":
			return invalid("key %s of %s is empty", name, list.Name()).at(*t)
		case v == "*":
			return missing("no %s has the %s *, which is a wildcard elsewhere", list.Name(),
				name).at(*t)
		}
		el.Key[name] = v
	}
	return nil
}

// names are those of a node's children, as they stand behind it in a URI.
func names(n mgmt.Node) []string {
	var all []string
	for _, k := range n.Children() {
		if k.Module() == n.Module() {
			all = append(all, k.Name())
		} else {
			all = append(all, k.Module()+":"+k.Name())
		}
	}
	return all
}

// location is the path of a node in a URI, below /restconf/data.
func location(root mgmt.Node, p *gpb.Path) string {
	return written(root, p, func(list mgmt.Node, keys map[string]string) string {
		values := make([]string, len(list.Keys()))
		for i, key := range list.Keys() {
			values[i] = strings.ReplaceAll(url.PathEscape(keys[key]), ",", "%2C") // a comma separates keys
		}
		return "=" + strings.Join(values, ",")
	})
}

// instance is a path as an instance-identifier (RFC 7951, section 6.11); "": the tree has no such node.
func instance(root mgmt.Node, p *gpb.Path) string {
	return written(root, p, func(_ mgmt.Node, keys map[string]string) string {
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			b.WriteString("[" + key + "=" + literal(keys[key]) + "]")
		}
		return b.String()
	})
}

// written writes the names along a path, each with its module where that is another than the parent's, and keys in one
// of two ways; "": the tree has no such node.
func written(root mgmt.Node, p *gpb.Path, writeKeys func(mgmt.Node, map[string]string) string) string {
	var b strings.Builder
	n := root
	for _, el := range p.GetElem() {
		k, ok := n.Child(el.GetName())
		if !ok {
			return ""
		}
		b.WriteByte('/')
		if k.Module() != n.Module() {
			b.WriteString(k.Module() + ":")
		}
		b.WriteString(k.Name())
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

// cutPath takes a path, as errors of gNMI write it, from the front of a line: /a/b[k=v]: the rest.
func cutPath(line string) (*gpb.Path, string, bool) {
	p := &gpb.Path{}
	rest := line
	for strings.HasPrefix(rest, "/") {
		end := strings.IndexAny(rest[1:], "/[: ")
		if end <= 0 {
			return nil, "", false
		}
		el := &gpb.PathElem{Name: rest[1 : 1+end]}
		rest = rest[1+end:]
		for strings.HasPrefix(rest, "[") {
			key, value, after, ok := cutKey(rest)
			if !ok {
				return nil, "", false
			}
			if el.Key == nil {
				el.Key = map[string]string{}
			}
			el.Key[key], rest = value, after
		}
		p.Elem = append(p.Elem, el)
	}
	text, ok := strings.CutPrefix(rest, ": ")
	return p, text, ok && len(p.Elem) > 0
}

// cutKey takes [key=value] from the front, in which \ quotes.
func cutKey(text string) (key, value, rest string, ok bool) {
	key, text, ok = strings.Cut(text[1:], "=")
	if !ok {
		return "", "", "", false
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ']':
			return key, b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return "", "", "", false
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", "", false
}

// maxShown bounds how much of what a client wrote an error repeats, in bytes.
const maxShown = 80

func shown(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "..."
}
