package tree

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// DefaultOrigin is the tree of the modules; an empty origin means the same.
const DefaultOrigin = "openconfig"

// maxTargets bounds the number of targets of one path with wildcards.
const maxTargets = 1000

// MaxSteps bounds the work of resolving one path, because wildcards multiply.
const MaxSteps = 20000

// MaxSetSteps bounds the work of resolving all paths of one Set.
const MaxSetSteps = 1_000_000

// A Target is a node of the YANG tree with the keys of its lists; the wildcard stands for all.
type Target struct {
	Node *Node
	Keys []string // one per key of the node's list
	Item string   // one value of a leaf-list: path elem name[.=value]

	level uint32 // number of levels below the node that are meant; 0 means all
}

// Wild reports whether the target may mean any number of nodes.
func (t Target) Wild() bool { return slices.Contains(t.Keys, Wildcard) }

// origin refuses origins that contradict each other, and those other than the tree of the modules. It also refuses a
// target that is a database.
func origin(prefix, path *gpb.Path) error {
	a, b := prefix.GetOrigin(), path.GetOrigin()
	if a != "" && b != "" && a != b {
		return status.Errorf(codes.InvalidArgument, "prefix has origin %q, path %s has origin %q", a, PathText(path), b)
	}
	if o := cmp.Or(a, b); o == RawOrigin {
		return status.Errorf(codes.Unimplemented, "origin %s is read-only", o)
	} else if o != "" && o != DefaultOrigin {
		return status.Errorf(codes.Unimplemented, "origin %q is not known; there are %s and %s", o, DefaultOrigin, RawOrigin)
	}
	return sonicTarget(prefix, path)
}

// sonicTarget refuses a target that is a database, by which SONiC's server selects the tree of the paths. Answering
// from the tree of the modules would be wrong.
func sonicTarget(prefix, path *gpb.Path) error {
	name := cmp.Or(prefix.GetTarget(), path.GetTarget())
	db, _, _ := strings.Cut(name, "/") // a namespace may follow
	if !strings.HasSuffix(db, "_DB") && db != "OTHERS" {
		return nil
	}
	like := RawDatabases[0]
	if slices.Contains(RawDatabases, swss.DBName(db)) {
		like = swss.DBName(db)
	}
	elems := append([]*gpb.PathElem{{Name: string(like)}, {Name: "localhost"}}, prefix.GetElem()...)
	elems = append(elems, path.GetElem()...)
	if len(elems) == 2 {
		elems = append(elems, &gpb.PathElem{Name: "TABLE"})
	}
	return status.Errorf(codes.InvalidArgument,
		"target %s is a database of SONiC: want origin %q, and the path %s there", Quoted(name), RawOrigin,
		PathText(&gpb.Path{Elem: elems}))
}

// Resolve returns the targets of a path. unknown is the code for a path that is not in the YANG tree.
func (m *Model) Resolve(prefix, path *gpb.Path, unknown codes.Code) ([]Target, error) {
	w := Resolver{Unknown: unknown, Most: MaxSteps}
	return w.Resolve(m, prefix, path)
}

// Resolve returns the targets of a path behind a prefix; the error has a code.
func (w *Resolver) Resolve(m *Model, prefix, path *gpb.Path) ([]Target, error) {
	w.Elems = append(slices.Clone(prefix.GetElem()), path.GetElem()...)
	w.Elems = slices.CompactFunc(w.Elems, func(a, b *gpb.PathElem) bool {
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
	if err := w.walk(m.Root, nil, 0); err != nil {
		return nil, err
	}
	if len(w.found) == 0 {
		return nil, status.Errorf(w.Unknown, "%s: nothing in the tree has this path", PathText(&gpb.Path{Elem: w.Elems}))
	}
	return outermost(w.found), nil
}

// outermost drops the targets that are inside others. They occur because "..." matches a node and all nodes below it.
func outermost(ts []Target) []Target {
	if len(ts) < 2 {
		return ts
	}
	var out []Target
	for _, t := range ts {
		inside := slices.ContainsFunc(ts, func(o Target) bool {
			return o.Node != t.Node && o.Item == "" && t.Node.Within(o.Node) && len(o.Keys) <= len(t.Keys) &&
				Matches(t.Keys[:len(o.Keys)], o.Keys)
		})
		if !inside {
			out = append(out, t)
		}
	}
	return out
}

// A Resolver resolves paths. The rest of its bound on steps is left to the other paths of the same request.
type Resolver struct {
	Elems   []*gpb.PathElem
	Unknown codes.Code
	found   []Target
	wild    bool // true if a name so far was a wildcard
	steps   int
	Most    int // the bound on steps, in addition to one for each element

	Lost   Target // the deepest node to which a refused path was resolved; without Node if there is none
	LostAt int    // the element at which the resolution failed
}

// Beyond returns how many steps wildcards have cost.
func (w *Resolver) Beyond() int { return min(max(w.steps-len(w.Elems)-1, 0), w.Most) }

func (w *Resolver) walk(n *Node, keys []string, at int) error {
	err := w.follow(n, keys, at)
	if err != nil && w.Lost.Node == nil {
		w.Lost, w.LostAt = Target{Node: n, Keys: keys}, at
	}
	return err
}

func (w *Resolver) follow(n *Node, keys []string, at int) error {
	if w.steps++; w.steps > w.Most+len(w.Elems)+1 {
		return status.Errorf(codes.InvalidArgument, "%s: too many wildcards", PathText(&gpb.Path{Elem: w.Elems}))
	}
	if at == len(w.Elems) {
		return w.reached(n, keys)
	}
	el := w.Elems[at]
	switch name := el.GetName(); name {
	case "":
		return status.Errorf(codes.InvalidArgument, "%s: element %d has no name", PathText(&gpb.Path{Elem: w.Elems}), at+1)
	case "*", "...":
		return w.all(n, keys, at, name == "...")
	}
	k := n.child(el.GetName())
	if k == nil && w.wild {
		return nil
	}
	if k == nil {
		return status.Errorf(w.Unknown, "%s: %s has no node %s; it has %s", PathText(&gpb.Path{Elem: w.Elems}),
			orRoot(n.Path), Quoted(el.GetName()), strings.Join(slices.Sorted(maps.Keys(n.Kid)), ", "))
	}
	if k.LeafList && len(el.GetKey()) == 1 && el.GetKey()["."] != "" && at == len(w.Elems)-1 {
		w.found = append(w.found, Target{Node: k, Keys: keys, Item: el.GetKey()["."]})
		return nil
	}
	keys, err := w.keys(k, keys, el)
	if err != nil {
		return err
	}
	return w.walk(k, keys, at+1)
}

// reached adds a node that the path names, unless wildcards have already added it.
func (w *Resolver) reached(n *Node, keys []string) error {
	if len(w.found) >= maxTargets {
		return status.Errorf(codes.InvalidArgument, "%s means too much", PathText(&gpb.Path{Elem: w.Elems}))
	}
	if !slices.ContainsFunc(w.found, func(t Target) bool { return t.Node == n && slices.Equal(t.Keys, keys) }) {
		w.found = append(w.found, Target{Node: n, Keys: keys})
	}
	return nil
}

// child returns the child of that name, with or without its module's; nil if there is none.
func (n *Node) child(name string) *Node {
	mod, local, prefixed := strings.Cut(name, ":")
	if !prefixed {
		return n.Kid[name]
	}
	if k := n.Kid[local]; k != nil && k.Module == mod {
		return k
	}
	return nil
}

// all follows a wildcard in place of a name.
func (w *Resolver) all(n *Node, keys []string, at int, deep bool) error {
	before := w.wild
	w.wild = true
	defer func() { w.wild = before }()
	if deep {
		if err := w.walk(n, keys, at+1); err != nil {
			return err
		}
	}
	for _, k := range n.Kids {
		kk := Extend(keys, k.List)
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

// keys returns the keys so far and those of an element.
func (w *Resolver) keys(k *Node, keys []string, el *gpb.PathElem) ([]string, error) {
	own := []string(nil)
	if k.IsList {
		own = k.List.OwnKeys()
	}
	for name, v := range el.GetKey() {
		if !slices.Contains(own, name) {
			return nil, status.Errorf(codes.InvalidArgument, "%s: %s has no key %s", PathText(&gpb.Path{Elem: w.Elems}), k.Path,
				Quoted(name))
		}
		if v == "" {
			return nil, status.Errorf(codes.InvalidArgument, "%s: key %q is empty", PathText(&gpb.Path{Elem: w.Elems}), name)
		}
	}
	if !k.IsList {
		return keys, nil
	}
	keys = Extend(keys, k.List)
	for i, name := range own {
		if v, ok := el.GetKey()[name]; ok {
			if _, id, ok := strings.Cut(v, ":"); ok && k.Kid[name].Enum[id] != "" {
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

// PathTo returns the resolved path of a node. Elements shared with other paths are never written to.
func PathTo(n *Node, keys []string) *gpb.Path {
	return &gpb.Path{Elem: appendElems(nil, n, nil, keys)}
}

// Path returns the path of a node of the entry's list. All such paths share the elements up to the entry.
func (e *Entry) Path(n *Node) *gpb.Path {
	if e.elems == nil {
		e.elems = appendElems(nil, e.List.Node, nil, e.Keys)
	}
	return &gpb.Path{Elem: appendElems(slices.Clip(e.elems), n, e.List.Node, e.Keys)}
}

// appendElems appends the path from a node above n, nil for the root.
func appendElems(elems []*gpb.PathElem, n, above *Node, keys []string) []*gpb.PathElem {
	from := len(elems)
	for ; n != above && n.Parent != nil; n = n.Parent {
		el := n.elem
		if n.IsList {
			own := n.List.OwnKeys()
			el = &gpb.PathElem{Name: n.Name, Key: make(map[string]string, len(own))}
			for i, k := range own {
				if v := keys[len(n.List.Keys)-len(own)+i]; v != Wildcard {
					el.Key[k] = v
				}
			}
		}
		elems = append(elems, el)
	}
	slices.Reverse(elems[from:])
	return elems
}

// Text returns the target's path as text.
func (t Target) Text() string { return PathText(PathTo(t.Node, t.Keys)) }

// Matches reports whether keys match a pattern.
func Matches(keys, pattern []string) bool {
	for i, p := range pattern {
		if p != Wildcard && keys[i] != Wildcard && keys[i] != p {
			return false
		}
	}
	return true
}

// CompareKeys orders entries by their keys.
func CompareKeys(a, b []string) int { return slices.Compare(a, b) }

// Union returns the keys of two sets, each once, sorted. The arguments are usually sorted already.
func Union(a, b [][]string) [][]string {
	for _, x := range [][][]string{a, b} {
		if !slices.IsSortedFunc(x, CompareKeys) {
			slices.SortFunc(x, CompareKeys)
		}
	}
	out := make([][]string, 0, max(len(a), len(b)))
	for len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && CompareKeys(a[0], b[0]) <= 0 {
			a, b = b, a
		}
		if n := len(out); n == 0 || CompareKeys(out[n-1], b[0]) != 0 {
			out = append(out, b[0])
		}
		b = b[1:]
	}
	return out
}

// Extend extends a pattern of keys to a group further down.
func Extend(pattern []string, g *List) []string {
	out := slices.Clone(pattern)
	for len(out) < len(g.Keys) {
		out = append(out, Wildcard)
	}
	return out
}

// LimitDepth limits targets to a number of levels below their nodes; 0 means all levels.
func LimitDepth(ts []Target, level uint32) []Target {
	for i := range ts {
		ts[i].level = level
	}
	return ts
}

// Open reports whether the target may match nothing although its path is valid.
func (t Target) Open() bool { return t.Wild() || t.level > 0 }

// Shows returns the filter without nodes that are too deep below the target. A list and its entry are one level.
func (t Target) Shows(filter func(*Node) bool) func(*Node) bool {
	if t.level == 0 {
		return filter
	}
	most := int(min(t.level, math.MaxInt32))
	return func(n *Node) bool {
		depth := 0
		for at := n; at != t.Node && at != nil; at = at.Parent {
			depth++
		}
		return depth <= most && filter(n)
	}
}

// FirstKey returns the first key of an entry, or the wildcard if there are no keys.
func FirstKey(keys []string) string {
	if len(keys) == 0 {
		return Wildcard
	}
	return keys[0]
}

// KeysText returns an entry's keys as one text.
func KeysText(keys []string) string {
	if len(keys) == 1 {
		return keys[0]
	}
	return strings.Join(keys, "\x00")
}

// Origin sonic-db serves the tables of the databases, read-only, by the paths of SONiC's server:
// DATABASE/localhost/TABLE[/KEY[/FIELD]]. A row is a JSON object, a table an object of rows.

// RawOrigin is the origin of these paths.
const RawOrigin = "sonic-db"

// RawDatabases lists the databases of that origin.
var RawDatabases = []swss.DBName{
	swss.ApplDB, swss.ASICDB, swss.CountersDB, swss.ConfigDB, swss.FlexCounterDB, swss.StateDB,
}

// EntryID returns one text for a list and the keys of an entry.
func EntryID(g *List, keys []string) string {
	return g.Node.Path + "\x00" + strings.Join(keys, "\x00")
}
