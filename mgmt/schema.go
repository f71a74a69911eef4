package mgmt

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/yang/tamyang"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/ygot"
)

// wildcard stands for every value of a list key.
const wildcard = "*"

// A node is a node of the YANG tree with its place in the databases.
type node struct {
	name, module string
	path         string // without keys
	parent       *node
	kids         []*node // keys of a list first, then by name
	kid          map[string]*node
	elem         *gpb.PathElem          // of paths; not that of a list
	tail         atomic.Pointer[[]byte] // of paths as they travel: from its entry to a leaf, once asked for
	list         bool
	config       bool
	mandatory    bool
	plain        bool   // it is, or has, what a Set writes that is not kept
	apart        bool   // only who asks for it, or for what is below, gets it
	group        *group // that of the nearest list; a list's own
	leaf
}

// A leaf has what only leaves and leaf-lists have.
type leaf struct {
	typ      *yang.YangType // nil: not a leaf; leafrefs are resolved
	leafList bool
	enum     map[string]string // words of an enumeration or identities -> module of the identity
	def      []string
	index    int      // in group.leaves
	keyIndex int      // which of the group's keys this leaf repeats; -1: none
	targets  []*group // lists whose key a leafref names; of several, any
	binds    []bind
	strings  map[*yang.YangType]*stringLimit // of the type, or of those of a union
	kept     bool                            // see Codec.Kept
	through  *Through                        // writes it in another place; nil: it is written as it is bound
	mirrored bool                            // state that repeats a config leaf
	behind   bool                            // says what of config is not in force
	follows  uint64                          // rows that its value follows from, a bit for each
}

type bind struct {
	row   int // in group.rows
	codec Codec
}

// A group is a list with its place in the databases.
type group struct {
	node   *node
	parent *group
	keys   []string // of the enclosing lists too, outermost first
	rows   []*row
	traces []bool // by row: what an entry that is deleted leaves as long as it is in force; nil: nothing tells
	leaves []*node
	kids   []*group
	derive map[int]Codec // key index -> field it follows from
	unique []*node
	is     func(map[string]string) bool // whether a row that makes up an entry is of the list; nil: any is
	view   string                       // where it is written; empty: here
	// through writes what a Set says of a view where it is written; nil: a Set cannot write it.
	through *Through
	finish  []func(Change) error
	makes   []func(Change) (string, []string)
	owns    []Owned
	refs    []*node // leaves, anywhere, that name an entry of this list
}

// hash is the key of a row in its database.
func (r *row) hash(separator, key string) string {
	if r.Table == anyTable {
		return key
	}
	return r.Table + separator + key
}

// place is a row's table and its key there.
func (r *row) place(keys []string, own map[string]string) (table, key string) {
	key = r.key.expand(keys, own)
	if r.Table == anyTable {
		table, key, _ = strings.Cut(key, "|")
		return table, key
	}
	return r.Table, key
}

type row struct {
	Row
	index int
	key   template
	each  []int // which of the group's keys Each are
	// repeats is a field that the row repeats of the row with the index repeated, "": none.
	repeats  string
	repeated int
	// check says what is wrong with the row; nil: it is not one of CONFIG_DB, or Finish knows.
	check func(key string, fields map[string]string) error
}

// written reports whether a Set can write the row.
func (r *row) written() bool {
	return r.DB == swss.ConfigDB && r.key.gather < 0 && len(r.each) == 0
}

// serves reports whether the row belongs to entries with these keys.
func (r *row) serves(keys []string) bool { return len(keys) == 0 || r.has(keys) }

// same reports whether two modules mean the same row of an entry.
func (r Row) same(o Row) bool {
	kinds := r.Only == o.Only || !strings.Contains(r.Key, "{*}")
	return r.DB == o.DB && r.Table == o.Table && r.Key == o.Key && r.Map == o.Map && r.Of == o.Of && kinds &&
		r.At == o.At && r.Each == o.Each && r.Source == o.Source
}

// has reports whether an entry with these keys may have the row.
func (r Row) has(keys []string) bool {
	if r.At != "" && keys[0] != r.At {
		return false
	}
	return strings.HasPrefix(keys[0], r.Only) && (r.Fits == nil || r.Fits(keys))
}

// A model is the YANG tree bound to the databases.
type model struct {
	root    *node
	groups  []*group // parents before children
	modules []string
	bound   map[tableID][]bound // which groups have rows of a table
	maps    map[string][]bound  // which find their rows in a hash
}

// yangSchema is what the YANG modules say: a constant, unpacked once for all servers of a process. Nobody changes it.
var yangSchema = sync.OnceValues(tamyang.Schema)

// newModel binds the generated schema to the tables of modules.
func newModel(cfg *swss.Redis, modules []Module) (*model, error) {
	s, err := yangSchema()
	if err != nil {
		return nil, fmt.Errorf("YANG schema: %w", err)
	}
	m := &model{root: &node{kid: map[string]*node{}, config: true, leaf: leaf{keyIndex: -1}}}
	m.root.group = &group{node: m.root}
	m.groups = append(m.groups, m.root.group)
	b := builder{model: m, redis: cfg}
	b.walk(m.root, s.RootSchema(), reflect.TypeFor[tamyang.Device]())
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
	*model
	redis *swss.Redis
	errs  []error
	paths []leafref
}

type leafref struct {
	leaf *node
	path string
}

func (b *builder) fail(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

// walk makes the nodes below n from the schema and the generated types, which
// know the modules.
func (b *builder) walk(n *node, e *yang.Entry, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("path")
		ke := e.Dir[name]
		if ke == nil {
			b.fail("%s: the generated types do not fit the schema", f.Name)
			continue
		}
		k := &node{
			name: name, module: f.Tag.Get("module"), path: n.path + "/" + name,
			parent: n, group: n.group, kid: map[string]*node{}, elem: &gpb.PathElem{Name: name},
			list: ke.IsList(), config: !ke.ReadOnly(), leaf: leaf{leafList: ke.IsLeafList(), keyIndex: -1},
			mandatory: ke.Mandatory == yang.TSTrue,
		}
		n.kids = append(n.kids, k)
		n.kid[name] = k
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
	slices.SortFunc(n.kids, func(x, y *node) int {
		if xk, yk := x.isListKey(), y.isListKey(); xk != yk {
			if xk {
				return -1
			}
			return 1
		}
		return strings.Compare(x.name, y.name)
	})
}

// isListKey reports whether n is the key leaf right below its list.
func (n *node) isListKey() bool { return n.keyIndex >= 0 && n.parent.list }

func (b *builder) list(n *node, e *yang.Entry) {
	g := &group{node: n, parent: n.parent.group, derive: map[int]Codec{}}
	g.keys = append(slices.Clone(g.parent.keys), strings.Fields(e.Key)...)
	g.parent.kids = append(g.parent.kids, g)
	n.group = g
	b.groups = append(b.groups, g)
}

// outerKeys are the keys of the enclosing lists.
func (g *group) outerKeys() []string {
	if g.parent == nil {
		return nil
	}
	return g.parent.keys
}

// ownKeys are the keys that the list itself adds.
func (g *group) ownKeys() []string {
	return g.keys[len(g.outerKeys()):]
}

func (b *builder) leaf(n *node, e *yang.Entry, t reflect.Type) {
	n.index = len(n.group.leaves)
	n.group.leaves = append(n.group.leaves, n)
	n.typ, n.def = e.Type, e.DefaultValues()
	if n.typ.Kind == yang.Yleafref {
		b.paths = append(b.paths, leafref{n, n.typ.Path})
	}
	if n.leafList {
		t = t.Elem()
	}
	types := []reflect.Type{t}
	if n.typ.Kind == yang.Yunion {
		types = (&tamyang.Device{}).ΛEnumTypeMap()[n.path]
	}
	for _, t := range types {
		en, ok := reflect.Zero(t).Interface().(ygot.GoEnum)
		if !ok {
			continue
		}
		if n.enum == nil {
			n.enum = map[string]string{}
		}
		for _, d := range en.ΛMap()[t.Name()] {
			n.enum[d.Name] = d.DefiningModule
		}
	}
	at := n.parent
	if at.name == "config" || at.name == "state" {
		at = at.parent
	}
	if i := slices.Index(n.group.ownKeys(), n.name); at == n.group.node && i >= 0 {
		n.keyIndex = len(n.group.keys) - len(n.group.ownKeys()) + i
	}
	if n.parent.name == "state" {
		if c := n.parent.parent.kid["config"]; c != nil {
			n.mirrored = c.kid[n.name] != nil
		}
	}
}

// leafrefs gives each leafref the type of its target and, where that is a
// list's key, the list.
func (b *builder) leafrefs() {
	for range 3 { // a leafref may name another
		for _, l := range b.paths {
			at := b.leafrefTarget(l.leaf, l.path)
			if at == nil || at.typ == nil {
				b.fail("%s: leafref %s leads nowhere", l.leaf.path, l.path)
				return
			}
			l.leaf.typ, l.leaf.enum = at.typ, at.enum
			if at.keyIndex >= 0 && at.group != l.leaf.group && !slices.Contains(l.leaf.targets, at.group) {
				l.leaf.targets = append(l.leaf.targets, at.group)
			}
		}
	}
	for _, l := range b.paths {
		b.referred(l.leaf)
	}
	ready := map[string]*regexp.Regexp{}
	// A list may have a key that is itself a reference.
	for _, g := range b.groups {
		for _, n := range g.leaves {
			if !supported(n.typ) {
				b.fail("%s: type %s is not supported", n.path, n.typ.Kind)
			}
			n.strings = map[*yang.YangType]*stringLimit{}
			if err := limitStrings(n.strings, n.typ, ready); err != nil {
				b.fail("%s: %v", n.path, err)
			}
		}
	}
}

// referred has the lists whose entries a leaf names know of it.
func (b *builder) referred(leaf *node) {
	for _, g := range leaf.targets {
		if leaf.config && !slices.Contains(g.refs, leaf) {
			g.refs = append(g.refs, leaf)
		}
	}
}

// leafrefTarget follows the path of a leafref; nil: it leads nowhere.
func (b *builder) leafrefTarget(at *node, path string) *node {
	if strings.HasPrefix(path, "/") {
		at = b.root
	}
	for elem := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if at == nil {
			return nil
		}
		_, name, prefixed := strings.Cut(elem, ":")
		switch {
		case elem == "..":
			at = at.parent
		case prefixed:
			at = at.kid[name]
		default:
			at = at.kid[elem]
		}
	}
	return at
}

// find returns the node at a path without keys.
func (m *model) find(path string) *node {
	n := m.root
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		if n = n.kid[name]; n == nil {
			return nil
		}
	}
	return n
}

// take takes what a module says of the group as such; several may.
func (grp *group) take(g *Group) {
	if g.View != "" {
		grp.view = g.View
	}
	if g.Through != nil {
		grp.through = g.Through
	}
	if g.Is != nil {
		grp.is = g.Is
	}
}

// bind enters a module's table.
func (b *builder) bind(mod Module) {
	for _, g := range mod.Groups {
		at := b.find(g.Path)
		if at == nil || !at.list && at != b.root {
			b.fail("module %s: %s is no list", mod.Name, g.Path)
			continue
		}
		grp := at.group
		for k, c := range g.Keys {
			i := slices.Index(grp.ownKeys(), k)
			if i < 0 {
				b.fail("module %s: %s has no key %s", mod.Name, g.Path, k)
				continue
			}
			grp.derive[len(grp.keys)-len(grp.ownKeys())+i] = c
		}
		grp.take(&g)
		if g.Finish != nil {
			grp.finish = append(grp.finish, g.Finish)
		}
		grp.owns = append(grp.owns, g.Owns...)
		if g.Makes != nil {
			grp.makes = append(grp.makes, g.Makes)
		}
		for _, u := range g.Unique {
			if n := b.find(g.Path + "/" + u); n != nil {
				grp.unique = append(grp.unique, n)
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

// refers has a leaf name entries of lists.
func (b *builder) refers(module, leaf string, lists []string) {
	n := b.find(leaf)
	if n == nil || n.typ == nil {
		b.fail("module %s: there is no leaf %s", module, leaf)
		return
	}
	for _, list := range lists {
		at := b.find(list)
		if at == nil || !at.list {
			b.fail("module %s: %s is no list", module, list)
			continue
		}
		n.targets = append(n.targets, at.group)
	}
	b.referred(n)
}

func (b *builder) bindRow(module, path string, g *group, r Row) {
	leaves := r.Leaves
	r.Leaves = nil
	i := slices.IndexFunc(g.rows, func(o *row) bool { return o.Row.same(r) })
	if i < 0 {
		i = len(g.rows)
		if err := b.addRow(g, r); err != nil {
			b.fail("module %s: %s: %s: %w", module, path, r.Table, err)
			return
		}
	}
	if r.Behind != "" {
		leaves = append(slices.Clip(leaves), Leaf{Path: r.Behind}) // its own row comes first
	}
	for _, l := range leaves {
		n := b.find(path + "/" + l.Path)
		if n == nil || n.typ == nil || n.group != g {
			b.fail("module %s: %s has no leaf %s", module, path, l.Path)
			continue
		}
		n.binds = append(n.binds, bind{i, l.Codec})
		if g.rows[i].repeats != "" { // what the leaf says follows from both
			n.binds = append(n.binds, bind{g.rows[i].repeated, silent()})
		}
		n.kept = n.kept || l.Codec.Kept || l.Codec.Through != nil
		if l.Codec.Through != nil {
			n.through = l.Codec.Through
		}
		n.behind = n.behind || l.Path == r.Behind && r.Wanted != nil
	}
}

// addRow adds a row to a group that does not have it yet.
func (b *builder) addRow(g *group, r Row) error {
	keys := slices.Clone(g.keys)
	for name := range strings.FieldsSeq(r.Each) {
		if i := g.keyNamed(name); i > slices.Index(keys, name) {
			keys[i] = "" // the outer one of that name is meant
		}
	}
	t, err := compileTemplate(r.Key, b.redis.DB(r.DB).Separator(), keys, r.Table == anyTable)
	if err != nil {
		return err
	}
	own := &row{Row: r, index: len(g.rows), key: t}
	mayHave := r.Each == "" || r.DB != swss.ConfigDB || r.Fold != nil
	for name := range strings.FieldsSeq(r.Each) {
		i := g.keyNamed(name)
		mayHave = mayHave && i >= 0 && !slices.Contains(t.keys, i)
		own.each = append(own.each, i)
	}
	if table, field, ok := strings.Cut(r.Of, " "); ok && !strings.Contains(r.Key, "{*}") {
		own.repeats = field
		own.repeated = slices.IndexFunc(g.rows, func(o *row) bool { return o.DB == swss.ApplDB && o.Table == table })
		if own.repeated < 0 {
			return fmt.Errorf("no row of APPL_DB %s is in front of it", table)
		}
	}
	if r.At != "" && len(t.keys) > 0 {
		return fmt.Errorf("at %s: its key has a placeholder", r.At)
	}
	if !mayHave {
		return fmt.Errorf("{%s} is no key that it may have for each field", r.Each)
	}
	if own.written() && r.Table != anyTable {
		own.check = schema.CheckerOf(r.Table)
	}
	g.rows = append(g.rows, own)
	return nil
}

// complete checks that every leaf has a place.
func (b *builder) complete() {
	b.root.findPlain()
	for _, g := range b.groups {
		g.refs = slices.DeleteFunc(g.refs, func(n *node) bool { // the leaf of ours refers to it
			return n.elsewhere() || n.group.readOnly()
		})
	}
	for _, g := range b.groups {
		for i, c := range g.parentDerives() {
			g.derive[i] = c
		}
		if g.parent != nil && !slices.ContainsFunc(g.rows, func(r *row) bool { return r.Entry }) {
			b.fail("%s: no table has its entries", g.node.path)
		}
		for _, n := range g.leaves {
			if n.keyIndex < 0 && len(n.binds) == 0 {
				b.fail("%s: no table has it", n.path)
			}
			puts := func(x bind) bool { return x.codec.Put != nil && g.rows[x.row].written() }
			if n.needsPut() && !slices.ContainsFunc(n.binds, puts) {
				b.fail("%s: is configuration that no Set can write", n.path)
			}
			if !n.behind {
				continue
			}
			for i, r := range g.rows { // it follows from what is configured, too
				if r.DB == swss.ConfigDB {
					n.binds = append(n.binds, bind{row: i})
				}
			}
			g.traces = g.tracesOfDeleted()
		}
		b.follow(g)
	}
}

// follow notes which rows the leaves of a group follow from.
func (b *builder) follow(g *group) {
	if len(g.rows) > maxFollowed {
		b.fail("%s: is in %d rows, at most %d are possible", g.node.path, len(g.rows), maxFollowed)
	}
	for _, n := range g.leaves {
		n.follows = g.followed(n)
	}
}

// keyNamed is the index of the innermost key of a name; -1: there is none.
func (g *group) keyNamed(name string) int {
	for i, k := range slices.Backward(g.keys) {
		if k == name {
			return i
		}
	}
	return -1
}

// eachField is the name of the field that is the entry with these keys, of a row with Each.
func (r *row) eachField(keys []string) string {
	var names []string
	for _, i := range r.each {
		names = append(names, keys[i])
	}
	return strings.Join(names, " ")
}

// parentDerives are the keys of the enclosing lists that follow from fields.
func (g *group) parentDerives() map[int]Codec {
	if g.parent == nil {
		return nil
	}
	return g.parent.derive
}

// writable reports whether a Set may write the node, or anything in it.
func (n *node) writable() bool {
	if !n.config || n.list && n.group.readOnly() {
		return false
	}
	return n.list || n.typ != nil && !n.group.readOnly() || slices.ContainsFunc(n.kids, (*node).writable)
}

// readOnly reports whether no Set can write the list.
func (g *group) readOnly() bool { return g.view != "" && g.through == nil }

// elsewhere reports whether a leaf is written in another place of the tree.
func (n *node) elsewhere() bool { return n.through != nil || n.group.through != nil }

// needsPut reports whether a Set writes a leaf as it is bound.
func (n *node) needsPut() bool { return n.keyIndex < 0 && n.writable() && !n.elsewhere() }

// findPlain notes what a Set means by a node that contains others.
func (n *node) findPlain() bool {
	n.plain = n.typ != nil && n.config && n.group.view == "" && !n.kept || n.list && n.config && n.group.view == ""
	for _, k := range n.kids {
		if k.findPlain() {
			n.plain = true
		}
	}
	return n.plain
}

// whyNot says of a node that a Set may not write why.
func (n *node) whyNot() error {
	if view := n.writtenIn(); view != "" && n.config {
		return fmt.Errorf("%w: %s", errReadOnly, view)
	}
	return errReadOnly
}

func (n *node) writtenIn() string {
	if n.group.view != "" {
		return n.group.view
	}
	for _, k := range n.kids {
		if view := k.writtenIn(); view != "" {
			return view
		}
	}
	return ""
}

// counter reports whether the leaf changes with the traffic.
func (n *node) counter() bool {
	return len(n.binds) > 0 && n.group.rows[n.binds[0].row].Counter
}

// within reports whether n is at or below top.
func (n *node) within(top *node) bool {
	for ; n != nil; n = n.parent {
		if n == top {
			return true
		}
	}
	return false
}
