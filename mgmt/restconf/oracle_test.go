package restconf

import (
	"maps"
	"slices"
	"strings"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// An oracle computes the rights of a role by evaluating every rule for every node. The only data that it takes from the
// server are the names of nodes.
type oracle struct {
	root   *tree.Node
	rules  []ruling
	hidden map[string]bool // leaves that are hidden because lines hide their data at other paths
}

// A ruling is a line of the file: level 0 is none, 1 read, 2 write.
type ruling struct {
	level int
	elems []*gpb.PathElem
}

// level returns the level that the line with the longest path grants for a path with all keys.
func (o oracle) level(path []*gpb.PathElem) int {
	level, _ := o.ruled(path)
	return level
}

// hides reports whether a line hides a leaf at its path, and therefore its data at every path.
func (o oracle) hides(path []*gpb.PathElem) bool {
	level, long := o.ruled(path)
	return level == 0 && long > 0
}

// ruled returns the level of a path, and the length of the path of the line that determines it. The length is -1 if no
// line does.
func (o oracle) ruled(path []*gpb.PathElem) (best, long int) {
	best, long, keyed := 0, -1, -1
	for _, r := range o.rules {
		n := 0
		if len(r.elems) > len(path) || slices.ContainsFunc(r.elems, func(el *gpb.PathElem) bool {
			at := path[slices.Index(r.elems, el)]
			for k, v := range el.GetKey() {
				if n++; at.GetKey()[k] != v {
					return true
				}
			}
			return at.GetName() != el.GetName()
		}) {
			continue
		}
		switch {
		case len(r.elems) > long, len(r.elems) == long && n > keyed:
			best, long, keyed = r.level, len(r.elems), n
		case len(r.elems) == long && n == keyed:
			best = min(best, r.level)
		}
	}
	return best, long
}

// node returns the node of a path.
func (o oracle) node(path []*gpb.PathElem) *tree.Node {
	n := o.root
	for _, el := range path {
		n = n.Kid[el.GetName()]
	}
	return n
}

// concrete returns paths with all keys for a path that may lack keys. A missing key is replaced by each key that a rule
// names there, and by one key that no rule names.
func (o oracle) concrete(path []*gpb.PathElem) [][]*gpb.PathElem {
	out := [][]*gpb.PathElem{nil}
	for i, el := range path {
		variants := []*gpb.PathElem{{Name: el.GetName(), Key: el.GetKey()}}
		for _, key := range o.node(path[:i+1]).Keys() {
			if el.GetKey()[key] != "" {
				continue
			}
			values := []string{"\x00"}
			for _, r := range o.rules {
				if i < len(r.elems) && r.elems[i].GetName() == el.GetName() && r.elems[i].GetKey()[key] != "" {
					values = append(values, r.elems[i].GetKey()[key])
				}
			}
			var more []*gpb.PathElem
			for _, v := range variants {
				for _, value := range values {
					keys := map[string]string{key: value}
					maps.Copy(keys, v.GetKey())
					more = append(more, &gpb.PathElem{Name: v.GetName(), Key: keys})
				}
			}
			variants = more
		}
		var longer [][]*gpb.PathElem
		for _, before := range out {
			for _, v := range variants {
				longer = append(longer, append(slices.Clip(before), v))
			}
		}
		out = longer
	}
	return out
}

// some reports whether a leaf at or below a path has a level.
func (o oracle) some(path []*gpb.PathElem, want int) bool {
	return slices.ContainsFunc(o.concrete(path), func(p []*gpb.PathElem) bool {
		n := o.node(p)
		if n.Type != nil {
			return o.level(p) >= want
		}
		return slices.ContainsFunc(n.Kids, func(k *tree.Node) bool {
			return o.some(append(slices.Clip(p), &gpb.PathElem{Name: k.Name}), want)
		})
	})
}

// all reports whether the role may write every node at and below a path that a Set can write.
func (o oracle) all(path []*gpb.PathElem) bool {
	return !slices.ContainsFunc(o.concrete(path), func(p []*gpb.PathElem) bool {
		n := o.node(p)
		if (n.Type != nil || n.IsList) && o.level(p) < 2 {
			return true
		}
		return slices.ContainsFunc(n.Kids, func(k *tree.Node) bool {
			return k.Writable() && !(n.Parent == nil && apart(k.Path)) &&
				!o.all(append(slices.Clip(p), &gpb.PathElem{Name: k.Name}))
		})
	})
}

// sees reports whether a leaf is shown. A list's key is shown with any leaf of the entry.
func (o oracle) sees(path []*gpb.PathElem) bool {
	if o.hidden[elemsText(path)] {
		return false
	}
	entry := path[:len(path)-1]
	if n := o.node(entry); n.IsList && slices.Contains(n.Keys(), path[len(path)-1].GetName()) {
		return o.some(entry, 1)
	}
	return o.level(path) >= 1
}

// prune removes hidden parts from the value of a node. It returns false if nothing is left.
func (o oracle) prune(path []*gpb.PathElem, value any) (any, bool) {
	n := o.node(path)
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for member, below := range value {
			k := child(n, member)
			if k == nil {
				return nil, false
			}
			if v, shown := o.prune(append(slices.Clip(path), &gpb.PathElem{Name: k.Name}), below); shown {
				out[member] = v
			}
		}
		return out, len(out) > 0
	case []any:
		if n.LeafList {
			return value, o.sees(path)
		}
		var out []any
		for _, entry := range value {
			if v, shown := o.prune(withKeys(n, path, entry), entry); shown {
				out = append(out, v)
			}
		}
		return out, len(out) > 0
	}
	return value, o.sees(path)
}

// withKeys returns the path of an entry of a list, by its JSON.
func withKeys(n *tree.Node, path []*gpb.PathElem, entry any) []*gpb.PathElem {
	members, _ := entry.(map[string]any)
	keys := map[string]string{}
	for name, v := range members {
		if _, local, ok := strings.Cut(name, ":"); ok {
			name = local
		}
		if slices.Contains(n.Keys(), name) {
			keys[name] = text(v)
			if k := n.Kid[name]; k != nil && len(k.Words()) > 0 { // JSON writes an identity with its module
				if _, word, ok := strings.Cut(keys[name], ":"); ok {
					keys[name] = word
				}
			}
		}
	}
	return append(slices.Clone(path[:len(path)-1]), &gpb.PathElem{Name: n.Name, Key: keys})
}

// apart reports whether the data at a path is returned only if it is requested by name.
func apart(path string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"config-rows", "configurations", "tallies"}, top)
}
