package mgmt

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// defaultOrigin is the tree that the modules make; an empty origin means it
// too.
const defaultOrigin = "openconfig"

// maxTargets bounds what one path with wildcards may mean.
const maxTargets = 1000

// maxSteps bounds the work to find out: wildcards multiply.
const maxSteps = 20000

// maxSetSteps bounds it for all paths of one Set.
const maxSetSteps = 1_000_000

// A target is a node of the YANG tree with the keys of its lists; wildcard
// stands for all.
type target struct {
	node *node
	keys []string // one per key of node.group
	item string   // one value of a leaf-list: path elem name[.=value]

	level uint32 // how many levels below it are meant; 0: all
}

// wild reports whether the target may mean any number of nodes.
func (t target) wild() bool { return slices.Contains(t.keys, wildcard) }

// origin checks the origins of prefix and path.
func origin(prefix, path *gpb.Path) error {
	a, b := prefix.GetOrigin(), path.GetOrigin()
	if a != "" && b != "" && a != b {
		return status.Errorf(codes.InvalidArgument, "prefix has origin %q, path %s has origin %q", a, pathText(path), b)
	}
	if o := cmp.Or(a, b); o == rawOrigin {
		return status.Errorf(codes.Unimplemented, "origin %s is read-only", o)
	} else if o != "" && o != defaultOrigin {
		return status.Errorf(codes.Unimplemented, "origin %q is not known; there are %s and %s", o, defaultOrigin, rawOrigin)
	}
	return sonicTarget(prefix, path)
}

// sonicTarget refuses a target that is a database, by which SONiC's server chooses what paths are of. To answer from
// the tree of the modules would be to answer something else.
func sonicTarget(prefix, path *gpb.Path) error {
	name := cmp.Or(prefix.GetTarget(), path.GetTarget())
	db, _, _ := strings.Cut(name, "/") // with a namespace
	if !strings.HasSuffix(db, "_DB") && db != "OTHERS" {
		return nil
	}
	like := rawDatabases[0]
	if slices.Contains(rawDatabases, swss.DBName(db)) {
		like = swss.DBName(db)
	}
	elems := append([]*gpb.PathElem{{Name: string(like)}, {Name: "localhost"}}, prefix.GetElem()...)
	elems = append(elems, path.GetElem()...)
	if len(elems) == 2 {
		elems = append(elems, &gpb.PathElem{Name: "TABLE"})
	}
	return status.Errorf(codes.InvalidArgument,
		"target %s is a database of SONiC: want origin %q, and the path %s there", quoted(name), rawOrigin,
		pathText(&gpb.Path{Elem: elems}))
}

// resolve finds what a path means. unknown is the code for a path that is not
// in the YANG tree.
func (m *model) resolve(prefix, path *gpb.Path, unknown codes.Code) ([]target, error) {
	w := resolver{unknown: unknown, most: maxSteps}
	return w.resolve(m, prefix, path)
}

func (w *resolver) resolve(m *model, prefix, path *gpb.Path) ([]target, error) {
	w.elems = append(slices.Clone(prefix.GetElem()), path.GetElem()...)
	w.elems = slices.CompactFunc(w.elems, func(a, b *gpb.PathElem) bool {
		return a.GetName() == "..." && b.GetName() == "..."
	})
	if err := origin(prefix, path); err != nil {
		return nil, err
	}
	for _, p := range []*gpb.Path{prefix, path} {
		// Some clients fill in both; then elem counts.
		if len(p.GetElement()) > 0 && len(p.GetElem()) == 0 { //nolint:staticcheck // refused, not used
			return nil, status.Error(codes.InvalidArgument, "Path.element is long deprecated: use elem")
		}
	}
	if err := w.walk(m.root, nil, 0); err != nil {
		return nil, err
	}
	if len(w.found) == 0 {
		return nil, status.Errorf(w.unknown, "%s: nothing in the tree has this path", pathText(&gpb.Path{Elem: w.elems}))
	}
	return outermost(w.found), nil
}

// outermost drops the targets that are inside others: "..." finds a node and all below it.
func outermost(ts []target) []target {
	if len(ts) < 2 {
		return ts
	}
	var out []target
	for _, t := range ts {
		inside := slices.ContainsFunc(ts, func(o target) bool {
			return o.node != t.node && o.item == "" && t.node.within(o.node) && len(o.keys) <= len(t.keys) &&
				matches(t.keys[:len(o.keys)], o.keys)
		})
		if !inside {
			out = append(out, t)
		}
	}
	return out
}

type resolver struct {
	elems   []*gpb.PathElem
	unknown codes.Code
	found   []target
	wild    bool // a name so far was a wildcard
	steps   int
	most    int // steps beyond one for each element

	lost   target // how far a refused path was understood; no node: not at all
	lostAt int    // the element where
}

// beyond is how many steps wildcards have cost.
func (w *resolver) beyond() int { return min(max(w.steps-len(w.elems)-1, 0), w.most) }

func (w *resolver) walk(n *node, keys []string, at int) error {
	err := w.follow(n, keys, at)
	if err != nil && w.lost.node == nil {
		w.lost, w.lostAt = target{node: n, keys: keys}, at
	}
	return err
}

func (w *resolver) follow(n *node, keys []string, at int) error {
	if w.steps++; w.steps > w.most+len(w.elems)+1 {
		return status.Errorf(codes.InvalidArgument, "%s: too many wildcards", pathText(&gpb.Path{Elem: w.elems}))
	}
	if at == len(w.elems) {
		return w.reached(n, keys)
	}
	el := w.elems[at]
	switch name := el.GetName(); name {
	case "":
		return status.Errorf(codes.InvalidArgument, "%s: element %d has no name", pathText(&gpb.Path{Elem: w.elems}), at+1)
	case "*", "...":
		return w.all(n, keys, at, name == "...")
	}
	k := n.child(el.GetName())
	if k == nil && w.wild {
		return nil
	}
	if k == nil {
		return status.Errorf(w.unknown, "%s: %s has no node %s; it has %s", pathText(&gpb.Path{Elem: w.elems}),
			orRoot(n.path), quoted(el.GetName()), strings.Join(slices.Sorted(maps.Keys(n.kid)), ", "))
	}
	if k.leafList && len(el.GetKey()) == 1 && el.GetKey()["."] != "" && at == len(w.elems)-1 {
		w.found = append(w.found, target{node: k, keys: keys, item: el.GetKey()["."]})
		return nil
	}
	keys, err := w.keys(k, keys, el)
	if err != nil {
		return err
	}
	return w.walk(k, keys, at+1)
}

// reached adds a node that the path names; wildcards may name it twice.
func (w *resolver) reached(n *node, keys []string) error {
	if len(w.found) >= maxTargets {
		return status.Errorf(codes.InvalidArgument, "%s means too much", pathText(&gpb.Path{Elem: w.elems}))
	}
	if !slices.ContainsFunc(w.found, func(t target) bool { return t.node == n && slices.Equal(t.keys, keys) }) {
		w.found = append(w.found, target{node: n, keys: keys})
	}
	return nil
}

// child returns the child of that name, with or without its module's; nil if there is none.
func (n *node) child(name string) *node {
	mod, local, prefixed := strings.Cut(name, ":")
	if !prefixed {
		return n.kid[name]
	}
	if k := n.kid[local]; k != nil && k.module == mod {
		return k
	}
	return nil
}

// all follows a wildcard in place of a name.
func (w *resolver) all(n *node, keys []string, at int, deep bool) error {
	before := w.wild
	w.wild = true
	defer func() { w.wild = before }()
	if deep {
		if err := w.walk(n, keys, at+1); err != nil {
			return err
		}
	}
	for _, k := range n.kids {
		kk := extend(keys, k.group)
		next := at + 1
		if deep {
			next = at
		}
		if err := w.walk(k, kk, next); err != nil {
			return err
		}
	}
	return nil
}

// keys adds the keys of an element to those so far.
func (w *resolver) keys(k *node, keys []string, el *gpb.PathElem) ([]string, error) {
	own := []string(nil)
	if k.list {
		own = k.group.ownKeys()
	}
	for name, v := range el.GetKey() {
		if !slices.Contains(own, name) {
			return nil, status.Errorf(codes.InvalidArgument, "%s: %s has no key %s", pathText(&gpb.Path{Elem: w.elems}), k.path,
				quoted(name))
		}
		if v == "" {
			return nil, status.Errorf(codes.InvalidArgument, "%s: key %q is empty", pathText(&gpb.Path{Elem: w.elems}), name)
		}
	}
	if !k.list {
		return keys, nil
	}
	keys = extend(keys, k.group)
	for i, name := range own {
		if v, ok := el.GetKey()[name]; ok {
			if _, id, ok := strings.Cut(v, ":"); ok && k.kid[name].enum[id] != "" {
				v = id // an identity with its module
			}
			keys[len(keys)-len(own)+i] = v
		}
	}
	return keys, nil
}

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// toPath is the resolved path of a node. Elements shared with other paths are never written to.
func toPath(n *node, keys []string) *gpb.Path {
	return &gpb.Path{Elem: appendElems(nil, n, nil, keys)}
}

// path is the path of a node of the entry's list; all such share the elements
// that the entry has in common.
func (e *entry) path(n *node) *gpb.Path {
	if e.elems == nil {
		e.elems = appendElems(nil, e.group.node, nil, e.keys)
	}
	return &gpb.Path{Elem: appendElems(slices.Clip(e.elems), n, e.group.node, e.keys)}
}

// appendElems appends the path from a node above n, nil for the root.
func appendElems(elems []*gpb.PathElem, n, above *node, keys []string) []*gpb.PathElem {
	from := len(elems)
	for ; n != above && n.parent != nil; n = n.parent {
		el := n.elem
		if n.list {
			own := n.group.ownKeys()
			el = &gpb.PathElem{Name: n.name, Key: make(map[string]string, len(own))}
			for i, k := range own {
				if v := keys[len(n.group.keys)-len(own)+i]; v != wildcard {
					el.Key[k] = v
				}
			}
		}
		elems = append(elems, el)
	}
	slices.Reverse(elems[from:])
	return elems
}

// maxPathText bounds, in bytes, how much of a path errors repeat.
const maxPathText = 500

// pathText is a path as gNMI writes it, for errors.
func pathText(p *gpb.Path) string {
	if len(p.GetElem()) == 0 {
		return "/"
	}
	var b strings.Builder
	for _, el := range p.GetElem() {
		b.WriteByte('/')
		b.WriteString(el.GetName())
		if b.Len() > maxPathText {
			return cut(b.String(), maxPathText)
		}
		for _, k := range slices.Sorted(maps.Keys(el.GetKey())) {
			b.WriteString("[" + k + "=" + strings.NewReplacer(`\`, `\\`, `]`, `\]`).Replace(el.GetKey()[k]) + "]")
		}
	}
	if b.Len() > maxPathText {
		return cut(b.String(), maxPathText)
	}
	return b.String()
}

// text is the target's path in words.
func (t target) text() string { return pathText(toPath(t.node, t.keys)) }
