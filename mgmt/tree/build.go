package tree

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/yang/tamyang"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/ygot"
)

// silent returns a codec without a value, for a row that affects a leaf whose value is in another row.
func silent() Codec { return Codec{Get: func(Record) []string { return nil }} }

// New binds the generated schema to the tables of modules. The model holds the types of the schema, and not the rest,
// which needs 2 MB.
func New(cfg *swss.Redis, modules []Module) (*Model, error) {
	s, err := tamyang.Schema()
	if err != nil {
		return nil, fmt.Errorf("YANG schema: %w", err)
	}
	m := &Model{Root: &Node{Kid: map[string]*Node{}, Config: true, leaf: leaf{KeyIndex: -1}}}
	m.Root.List = &List{Node: m.Root}
	m.Lists = append(m.Lists, m.Root.List)
	b := builder{Model: m, redis: cfg}
	b.walk(m.Root, s.RootSchema(), reflect.TypeFor[tamyang.Device]())
	b.leafrefs()
	for _, mod := range modules {
		m.modules = append(m.modules, mod.Name)
		b.bind(mod)
	}
	b.complete()
	m.findAliases()
	return m, errors.Join(b.errs...)
}

type builder struct {
	*Model
	redis *swss.Redis
	errs  []error
	paths []leafref
}

type leafref struct {
	leaf *Node
	path string
}

func (b *builder) fail(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

// walk makes the nodes below n from the schema and from the generated types, which have the names of the modules.
func (b *builder) walk(n *Node, e *yang.Entry, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("path")
		ke := e.Dir[name]
		if ke == nil {
			b.fail("%s: the generated types do not fit the schema", f.Name)
			continue
		}
		k := &Node{
			Name: name, Module: f.Tag.Get("module"), Path: n.Path + "/" + name,
			Parent: n, List: n.List, Kid: map[string]*Node{}, elem: &gpb.PathElem{Name: name},
			IsList: ke.IsList(), Config: !ke.ReadOnly(), leaf: leaf{LeafList: ke.IsLeafList(), KeyIndex: -1},
			Mandatory: ke.Mandatory == yang.TSTrue,
		}
		n.Kids = append(n.Kids, k)
		n.Kid[name] = k
		switch {
		case ke.IsLeaf() || ke.IsLeafList():
			b.leaf(k, ke, f.Type)
		case ke.IsList():
			b.list(k, ke)
			b.walk(k, ke, f.Type.Elem().Elem())
		default:
			b.walk(k, ke, f.Type.Elem())
		}
	}
	slices.SortFunc(n.Kids, func(x, y *Node) int {
		if xk, yk := x.IsListKey(), y.IsListKey(); xk != yk {
			if xk {
				return -1
			}
			return 1
		}
		return strings.Compare(x.Name, y.Name)
	})
}

func (b *builder) list(n *Node, e *yang.Entry) {
	g := &List{Node: n, Parent: n.Parent.List, Derive: map[int]Codec{}}
	g.Atomic = slices.ContainsFunc(e.Exts, func(x *yang.Statement) bool {
		return strings.HasSuffix(x.Keyword, ":telemetry-atomic")
	})
	g.Keys = append(slices.Clone(g.Parent.Keys), strings.Fields(e.Key)...)
	g.Parent.Kids = append(g.Parent.Kids, g)
	n.List = g
	b.Lists = append(b.Lists, g)
}

func (b *builder) leaf(n *Node, e *yang.Entry, t reflect.Type) {
	n.Index = len(n.List.Leaves)
	n.List.Leaves = append(n.List.Leaves, n)
	n.Type, n.Default = e.Type, e.DefaultValues()
	if n.Type.Kind == yang.Yleafref {
		b.paths = append(b.paths, leafref{n, n.Type.Path})
	}
	if n.LeafList {
		t = t.Elem()
	}
	types := []reflect.Type{t}
	if n.Type.Kind == yang.Yunion {
		types = (&tamyang.Device{}).ΛEnumTypeMap()[n.Path]
	}
	for _, t := range types {
		en, ok := reflect.Zero(t).Interface().(ygot.GoEnum)
		if !ok {
			continue
		}
		if n.Enum == nil {
			n.Enum = map[string]string{}
		}
		for _, d := range en.ΛMap()[t.Name()] {
			n.Enum[d.Name] = d.DefiningModule
		}
	}
	at := n.Parent
	if at.Name == "config" || at.Name == "state" {
		at = at.Parent
	}
	if i := slices.Index(n.List.OwnKeys(), n.Name); at == n.List.Node && i >= 0 {
		n.KeyIndex = len(n.List.Keys) - len(n.List.OwnKeys()) + i
	}
	if n.Parent.Name == "state" {
		if c := n.Parent.Parent.Kid["config"]; c != nil {
			n.Mirrored = c.Kid[n.Name] != nil
		}
	}
}

// leafrefs gives each leafref the type of its target and, if the target is a list's key, the list.
func (b *builder) leafrefs() {
	for range 3 { // a leafref may refer to another
		for _, l := range b.paths {
			at := b.leafrefTarget(l.leaf, l.path)
			if at == nil || at.Type == nil {
				b.fail("%s: leafref %s leads nowhere", l.leaf.Path, l.path)
				return
			}
			l.leaf.Type, l.leaf.Enum = at.Type, at.Enum
			if at.KeyIndex >= 0 && at.List != l.leaf.List && !slices.Contains(l.leaf.Targets, at.List) {
				l.leaf.Targets = append(l.leaf.Targets, at.List)
			}
		}
	}
	for _, l := range b.paths {
		b.referred(l.leaf)
	}
	ready := map[string]func() *regexp.Regexp{}
	// A list may have a key that is itself a reference.
	for _, g := range b.Lists {
		for _, n := range g.Leaves {
			if !supported(n.Type) {
				b.fail("%s: type %s is not supported", n.Path, n.Type.Kind)
			}
			n.strings = map[*yang.YangType]*stringLimit{}
			limitStrings(n.strings, n.Type, ready)
		}
	}
}

// referred adds the leaf to the references of the lists whose entries it names.
func (b *builder) referred(leaf *Node) {
	for _, g := range leaf.Targets {
		if leaf.Config && !slices.Contains(g.Refs, leaf) {
			g.Refs = append(g.Refs, leaf)
		}
	}
}

// predicate is the part of a leafref's path that selects an entry of a list.
var predicate = regexp.MustCompile(`\[[^\]]*\]`)

// leafrefTarget returns the node at the path of a leafref, or nil if there is none.
func (b *builder) leafrefTarget(at *Node, path string) *Node {
	path = predicate.ReplaceAllString(path, "")
	if strings.HasPrefix(path, "/") {
		at = b.Root
	}
	for elem := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if at == nil {
			return nil
		}
		_, name, prefixed := strings.Cut(elem, ":")
		switch {
		case elem == "..":
			at = at.Parent
		case prefixed:
			at = at.Kid[name]
		default:
			at = at.Kid[elem]
		}
	}
	return at
}

// bind enters the groups of a module, with their rows, into the lists of the tree.
func (b *builder) bind(mod Module) {
	for _, g := range mod.Groups {
		at := b.Find(g.Path)
		if at == nil || !at.IsList && at != b.Root {
			b.fail("module %s: %s is no list", mod.Name, g.Path)
			continue
		}
		grp := at.List
		for k, c := range g.Keys {
			i := slices.Index(grp.OwnKeys(), k)
			if i < 0 {
				b.fail("module %s: %s has no key %s", mod.Name, g.Path, k)
				continue
			}
			grp.Derive[len(grp.Keys)-len(grp.OwnKeys())+i] = c
		}
		grp.merge(&g)
		if g.Finish != nil {
			grp.Finish = append(grp.Finish, g.Finish)
		}
		grp.Owns = append(grp.Owns, g.Owns...)
		if g.Makes != nil {
			grp.Makes = append(grp.Makes, g.Makes)
		}
		for _, u := range g.Unique {
			if n := b.Find(g.Path + "/" + u); n != nil {
				grp.Unique = append(grp.Unique, n)
			} else {
				b.fail("module %s: %s has no leaf %s", mod.Name, g.Path, u)
			}
		}
		for leaf, lists := range g.Refs {
			b.refers(mod.Name, g.Path+"/"+leaf, lists)
		}
		for _, r := range g.Rows {
			b.bindRow(mod.Name, g.Path, grp, r)
		}
	}
}

// refers makes a leaf name entries of lists.
func (b *builder) refers(module, leaf string, lists []string) {
	n := b.Find(leaf)
	if n == nil || n.Type == nil {
		b.fail("module %s: there is no leaf %s", module, leaf)
		return
	}
	for _, list := range lists {
		at := b.Find(list)
		if at == nil || !at.IsList {
			b.fail("module %s: %s is no list", module, list)
			continue
		}
		n.Targets = append(n.Targets, at.List)
	}
	b.referred(n)
}

func (b *builder) bindRow(module, path string, g *List, r Row) {
	leaves := r.Leaves
	r.Leaves = nil
	i := slices.IndexFunc(g.Rows, func(o *ListRow) bool { return o.Row.same(r) })
	if i < 0 {
		i = len(g.Rows)
		if err := b.addRow(g, r); err != nil {
			b.fail("module %s: %s: %s: %w", module, path, r.Table, err)
			return
		}
	}
	if r.Behind != "" {
		leaves = append(slices.Clip(leaves), Leaf{Path: r.Behind}) // after the leaves of the row itself
	}
	for _, l := range leaves {
		n := b.Find(path + "/" + l.Path)
		if n == nil || n.Type == nil || n.List != g {
			b.fail("module %s: %s has no leaf %s", module, path, l.Path)
			continue
		}
		n.Binds = append(n.Binds, Bind{i, l.Codec})
		g.Rows[i].puts = g.Rows[i].puts || l.Codec.Put != nil
		if g.Rows[i].repeats != "" { // the value of the leaf depends on both rows
			n.Binds = append(n.Binds, Bind{g.Rows[i].repeated, silent()})
		}
		n.Kept = n.Kept || l.Codec.Kept
		if l.Codec.Through != nil {
			n.Through = l.Codec.Through
		}
		n.behind = n.behind || l.Path == r.Behind && r.Wanted != nil
	}
}

// addRow adds a row to a group that does not have it yet.
func (b *builder) addRow(g *List, r Row) error {
	keys := slices.Clone(g.Keys)
	for name := range strings.FieldsSeq(r.Each) {
		if i := g.keyNamed(name); i > slices.Index(keys, name) {
			keys[i] = "" // the outer key of that name is meant
		}
	}
	t, err := compileTemplate(r.Key, b.redis.DB(r.DB).Separator(), keys, r.Table == AnyTable)
	if err != nil {
		return err
	}
	own := &ListRow{Row: r, Index: len(g.Rows), Template: t}
	mayHave := r.Each == "" || r.DB != swss.ConfigDB || r.Fold != nil
	for name := range strings.FieldsSeq(r.Each) {
		i := g.keyNamed(name)
		mayHave = mayHave && i >= 0 && !slices.Contains(t.Keys, i)
		own.EachKeys = append(own.EachKeys, i)
	}
	if table, field, ok := strings.Cut(r.Of, " "); ok && !strings.Contains(r.Key, "{*}") {
		own.repeats = field
		own.repeated = slices.IndexFunc(g.Rows, func(o *ListRow) bool { return o.DB == swss.ApplDB && o.Table == table })
		if own.repeated < 0 {
			return fmt.Errorf("no row of APPL_DB %s is in front of it", table)
		}
	}
	if r.At != "" && slices.Contains(t.Keys, 0) {
		return fmt.Errorf("at %s: its key has a placeholder for it", r.At)
	}
	if !mayHave {
		return fmt.Errorf("{%s} is no key that it may have for each field", r.Each)
	}
	if own.Written() && r.Table != AnyTable {
		own.Check = schema.CheckerOf(r.Table)
	}
	g.Rows = append(g.Rows, own)
	return nil
}

// complete checks that every leaf has a row and every list has entries. It also completes what depends on all modules:
// references, keys that follow from fields, and the rows that leaves depend on.
func (b *builder) complete() {
	for _, g := range b.Lists {
		g.Refs = slices.DeleteFunc(g.Refs, func(n *Node) bool { // such references are written elsewhere, or never
			return n.Elsewhere() || n.List.ReadOnly()
		})
		for _, r := range g.Rows {
			if r.Entry && r.Written() {
				g.RowRefs = append(g.RowRefs, schema.ReferencesTo(r.Table)...)
			}
		}
	}
	b.ByReference = byReference(b.Lists)
	for _, g := range b.Lists {
		for i, c := range g.parentDerives() {
			g.Derive[i] = c
		}
		if g.Parent != nil && !slices.ContainsFunc(g.Rows, func(r *ListRow) bool { return r.Entry }) {
			b.fail("%s: no table has its entries", g.Node.Path)
		}
		for _, n := range g.Leaves {
			if n.KeyIndex < 0 && len(n.Binds) == 0 {
				b.fail("%s: no table has it", n.Path)
			}
			puts := func(x Bind) bool { return x.Codec.Put != nil && g.Rows[x.Row].Written() }
			if n.needsPut() && !slices.ContainsFunc(n.Binds, puts) {
				b.fail("%s: is configuration that no Set can write", n.Path)
			}
			if !n.behind {
				continue
			}
			for i, r := range g.Rows { // the leaf also depends on the configuration
				if r.DB == swss.ConfigDB {
					n.Binds = append(n.Binds, Bind{Row: i})
				}
			}
			g.Traces = g.tracesOfDeleted()
		}
		b.follow(g)
	}
}

// byReference sorts lists so that those to which leaves of state refer come first. A list refers to what the lists
// below it refer to.
func byReference(lists []*List) (sorted []*List) {
	done := map[*List]bool{}
	var add, before func(*List)
	before = func(g *List) {
		for _, n := range g.Leaves {
			for _, to := range n.Targets {
				if !n.Config {
					add(to)
				}
			}
		}
		for _, k := range g.Kids {
			before(k)
		}
	}
	add = func(g *List) {
		if done[g] {
			return
		}
		if done[g] = true; g.Parent != nil {
			before(g)
		}
		sorted = append(sorted, g)
		for _, k := range g.Kids {
			if !k.Node.Config {
				add(k)
			}
		}
	}
	for _, g := range lists {
		add(g)
	}
	return sorted
}

// follow records which rows each leaf of a group depends on.
func (b *builder) follow(g *List) {
	if len(g.Rows) > maxFollowed {
		b.fail("%s: is in %d rows, at most %d are possible", g.Node.Path, len(g.Rows), maxFollowed)
	}
	for _, n := range g.Leaves {
		n.follows = g.followed(n)
	}
}
