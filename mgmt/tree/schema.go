package tree

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"tamtam/swss"
	"tamtam/swss/schema"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
)

// Wildcard stands for every value of a list key.
const Wildcard = "*"

// A Node is a node of the YANG tree with its place in the databases.
type Node struct {
	Name, Module string
	Path         string // without keys
	Parent       *Node
	Kids         []*Node // keys of a list first, then by name
	Kid          map[string]*Node
	elem         *gpb.PathElem          // of paths; not that of a list
	tail         atomic.Pointer[[]byte] // of paths as they travel: from its entry to a leaf, once asked for
	IsList       bool
	Config       bool
	Mandatory    bool
	Plain        bool  // it is, or has, what a Set writes that is not kept
	Apart        bool  // only who asks for it, or for what is below, gets it
	List         *List // that of the nearest list; a list's own
	leaf
}

// A leaf has what only leaves and leaf-lists have.
type leaf struct {
	Type     *yang.YangType // nil: not a leaf; leafrefs are resolved
	LeafList bool
	Enum     map[string]string // words of an enumeration or identities -> module of the identity
	Default  []string
	Index    int     // in group.leaves
	KeyIndex int     // which of the group's keys this leaf repeats; -1: none
	Targets  []*List // lists whose key a leafref names; of several, any
	Binds    []Bind
	strings  map[*yang.YangType]*stringLimit // of the type, or of those of a union
	Kept     bool                            // see Codec.Kept
	Through  *Through                        // writes it in another place; nil: it is written as it is bound
	Mirrored bool                            // state that repeats a config leaf
	behind   bool                            // says what of config is not in force
	follows  uint64                          // rows that its value follows from, a bit for each
}

// A Bind is a place of a leaf: a row of its list, and how the row holds it.
type Bind struct {
	Row   int // in group.rows
	Codec Codec
}

// A List is a list with its place in the databases.
type List struct {
	Node   *Node
	Parent *List
	Keys   []string // of the enclosing lists too, outermost first
	Rows   []*ListRow
	Traces []bool // by row: what an entry that is deleted leaves as long as it is in force; nil: nothing tells
	Leaves []*Node
	Kids   []*List
	Derive map[int]Codec // key index -> field it follows from
	Unique []*Node
	is     func(map[string]string) bool // whether a row that makes up an entry is of the list; nil: any is
	View   string                       // where it is written; empty: here
	// Through writes what a Set says of a view where it is written; nil: a Set cannot write it.
	Through *Through
	Finish  []func(Change) error
	Makes   []func(Change) (string, []string)
	Owns    []Owned
	Refs    []*Node // leaves, anywhere, that name an entry of this list
}

// Hash is the key of a row in its database.
func (r *ListRow) Hash(separator, key string) string {
	if r.Table == AnyTable {
		return key
	}
	return r.Table + separator + key
}

// Place is a row's table and its key there.
func (r *ListRow) Place(keys []string, own map[string]string) (table, key string) {
	key = r.Template.Expand(keys, own)
	if r.Table == AnyTable {
		table, key, _ = strings.Cut(key, "|")
		return table, key
	}
	return r.Table, key
}

// A ListRow is a row of the entries of a list.
type ListRow struct {
	Row
	Index    int
	Template Template
	EachKeys []int // which of the group's keys Each are
	// repeats is a field that the row repeats of the row with the index repeated, "": none.
	repeats  string
	repeated int
	// Check says what is wrong with the row; nil: it is not one of CONFIG_DB, or Finish knows.
	Check func(key string, fields map[string]string) error
}

// Written reports whether a Set can write the row.
func (r *ListRow) Written() bool {
	return r.DB == swss.ConfigDB && r.Template.Gather < 0 && len(r.EachKeys) == 0
}

// Serves reports whether the row belongs to entries with these keys.
func (r *ListRow) Serves(keys []string) bool { return len(keys) == 0 || r.Has(keys) }

// same reports whether two modules mean the same row of an entry.
func (r Row) same(o Row) bool {
	kinds := r.Only == o.Only || !strings.Contains(r.Key, "{*}")
	return r.DB == o.DB && r.Table == o.Table && r.Key == o.Key && r.Map == o.Map && r.Of == o.Of && kinds &&
		r.At == o.At && r.Each == o.Each && r.Source == o.Source
}

// Has reports whether an entry with these keys may have the row.
func (r Row) Has(keys []string) bool {
	if r.At != "" && keys[0] != r.At {
		return false
	}
	return strings.HasPrefix(keys[0], r.Only) && (r.Fits == nil || r.Fits(keys))
}

// A Model is the YANG tree bound to the databases.
type Model struct {
	Root    *Node
	Lists   []*List // parents before children
	modules []string
	Bound   map[TableID][]Bound // which groups have rows of a table
	maps    map[string][]Bound  // which find their rows in a hash
}

// IsListKey reports whether n is the key leaf right below its list.
func (n *Node) IsListKey() bool { return n.KeyIndex >= 0 && n.Parent.IsList }

// OuterKeys are the keys of the enclosing lists.
func (g *List) OuterKeys() []string {
	if g.Parent == nil {
		return nil
	}
	return g.Parent.Keys
}

// OwnKeys are the keys that the list itself adds.
func (g *List) OwnKeys() []string {
	return g.Keys[len(g.OuterKeys()):]
}

// Keys are those that a list itself has, in their order; nil: it is no list.
func (n *Node) Keys() []string {
	if !n.IsList {
		return nil
	}
	return n.List.OwnKeys()
}

// Words are those of an enumeration, or identities with their module, in order.
func (n *Node) Words() []string {
	var words []string
	for word, module := range n.Enum {
		if module != "" {
			word = module + ":" + word
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// Find returns the node at a path without keys.
func (m *Model) Find(path string) *Node {
	n := m.Root
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" {
			continue
		}
		if n = n.Kid[name]; n == nil {
			return nil
		}
	}
	return n
}

// take takes what a module says of the group as such; several may.
func (grp *List) take(g *Group) {
	if g.View != "" {
		grp.View = g.View
	}
	if g.Through != nil {
		grp.Through = g.Through
	}
	if g.Is != nil {
		grp.is = g.Is
	}
}

// keyNamed is the index of the innermost key of a name; -1: there is none.
func (g *List) keyNamed(name string) int {
	for i, k := range slices.Backward(g.Keys) {
		if k == name {
			return i
		}
	}
	return -1
}

// EachField is the name of the field that is the entry with these keys, of a row with Each.
func (r *ListRow) EachField(keys []string) string {
	var names []string
	for _, i := range r.EachKeys {
		names = append(names, keys[i])
	}
	return strings.Join(names, " ")
}

// parentDerives are the keys of the enclosing lists that follow from fields.
func (g *List) parentDerives() map[int]Codec {
	if g.Parent == nil {
		return nil
	}
	return g.Parent.Derive
}

// Writable reports whether a Set may write the node, or anything in it.
func (n *Node) Writable() bool {
	if !n.Config || n.IsList && n.List.ReadOnly() {
		return false
	}
	return n.IsList || n.Type != nil && !n.List.ReadOnly() || slices.ContainsFunc(n.Kids, (*Node).Writable)
}

// ReadOnly reports whether no Set can write the list.
func (g *List) ReadOnly() bool { return g.View != "" && g.Through == nil }

// Elsewhere reports whether a leaf is written in another place of the tree.
func (n *Node) Elsewhere() bool { return n.Through != nil || n.List.Through != nil }

// needsPut reports whether a Set writes a leaf as it is bound.
func (n *Node) needsPut() bool { return n.KeyIndex < 0 && n.Writable() && !n.Elsewhere() }

// findPlain notes what a Set means by a node that contains others.
func (n *Node) findPlain() bool {
	n.Plain = n.Type != nil && n.Config && n.List.View == "" && !n.Kept || n.IsList && n.Config && n.List.View == ""
	for _, k := range n.Kids {
		if k.findPlain() {
			n.Plain = true
		}
	}
	return n.Plain
}

// WhyNot says of a node that a Set may not write why.
func (n *Node) WhyNot() error {
	if view := n.WrittenIn(); view != "" && n.Config {
		return fmt.Errorf("%w: %s", ErrReadOnly, view)
	}
	return ErrReadOnly
}

// WrittenIn says where a node is written that is not written here, and why; "": it is written here.
func (n *Node) WrittenIn() string {
	if n.List.View != "" {
		return n.List.View
	}
	for _, k := range n.Kids {
		if view := k.WrittenIn(); view != "" {
			return view
		}
	}
	return ""
}

// Counter reports whether the leaf changes with the traffic.
func (n *Node) Counter() bool {
	return len(n.Binds) > 0 && n.List.Rows[n.Binds[0].Row].Counter
}

// Within reports whether n is at or below top.
func (n *Node) Within(top *Node) bool {
	for ; n != nil; n = n.Parent {
		if n == top {
			return true
		}
	}
	return false
}

// Cacheable reports whether the row may be kept.
func (r *ListRow) Cacheable() bool {
	return r.Source == "" && r.Map == "" && r.Table != AnyTable && !r.Counter
}

// TableID is the row's table.
func (r *ListRow) TableID() TableID { return TableID{r.DB, r.Table} }

// CanHave reports whether numbers among the list's own keys are such numbers: a row "RULE_01" is not rule 1.
func (g *List) CanHave(keys []string) bool {
	from := len(g.Keys) - len(g.OwnKeys())
	for i, name := range g.OwnKeys() {
		n, v := g.Node.Kid[name], keys[from+i]
		if v == Wildcard || !unsigned(n.Type) {
			continue
		}
		if c, err := n.Check(v); err != nil || c != v {
			return false
		}
	}
	return true
}

// FieldEntry returns the keys of the entry that a field is; nil: it is none.
func (g *List) FieldEntry(row *ListRow, keys []string, field string) []string {
	values := []string{field}
	if len(row.EachKeys) > 1 {
		values = strings.Split(field, " ")
	}
	if len(values) != len(row.EachKeys) {
		return nil
	}
	e := slices.Clone(keys)
	for j, i := range row.EachKeys {
		own := g
		for i < len(own.Keys)-len(own.OwnKeys()) {
			own = own.Parent
		}
		v, err := own.Node.Kid[g.Keys[i]].Check(values[j])
		if err != nil || v != values[j] || !Matches([]string{v}, keys[i:i+1]) {
			return nil
		}
		e[i] = values[j]
	}
	return e
}

// polledBy names the groups of counters, by their rows of FLEX_COUNTER_TABLE, of which a row is read; nil: it is not
// read at intervals.
func polledBy(r *ListRow) []string {
	switch {
	case r.DB != swss.CountersDB:
		return nil
	case r.Table == schema.CountersTailStamp: // made of ACL counters whenever these are read
		return []string{"ACL"}
	}
	switch r.Map {
	case schema.CountersACLRuleMap:
		return []string{"ACL"}
	case schema.CountersPolicerNameMap:
		return []string{"POLICER"}
	case schema.CountersPortNameMap:
		return []string{"PORT"}
	case schema.CountersQueueNameMap:
		return []string{"QUEUE", "QUEUE_WATERMARK"}
	}
	return nil
}

// PolledBy names the groups of which the leaf is read.
func (n *Node) PolledBy() (groups []string) {
	for _, b := range n.Binds {
		groups = append(groups, polledBy(n.List.Rows[b.Row])...)
	}
	return groups
}

// Sharers returns the entries that have the row, by what they share, and a pattern that all their keys fit.
func (r *ListRow) Sharers(entries []*Entry) (of map[string][]*Entry, pattern []string) {
	of = map[string][]*Entry{}
	for _, e := range entries {
		if !r.Serves(e.Keys) {
			continue
		}
		id := r.Template.Shared(e.Keys)
		of[id] = append(of[id], e)
		if pattern == nil {
			pattern = slices.Clone(e.Keys)
		}
		for i, k := range e.Keys {
			if pattern[i] != k {
				pattern[i] = Wildcard
			}
		}
	}
	return of, pattern
}

// Folded is what codecs get of a row.
func (r *ListRow) Folded(fields map[string]string) map[string]string {
	if r.Fold == nil {
		return fields
	}
	return r.Fold(fields)
}

// Speaks reports whether the leaf has no words of models but these: identities may be of another model than the leaf.
func (n *Node) Speaks(models map[string]bool) bool {
	for _, module := range n.Enum {
		if module != "" && !models[module] {
			return false
		}
	}
	return true
}

// A TableID names a table of a database.
type TableID struct {
	DB    swss.DBName
	Table string
}

// Indexable reports whether the rows that hold the leaf tell its value and the
// keys of its entry.
func (n *Node) Indexable() bool {
	if !n.Config || n.KeyIndex >= 0 || len(n.Default) > 0 || len(n.List.Derive) > 0 {
		return false
	}
	for _, b := range n.Binds {
		r := n.List.Rows[b.Row]
		named := 0
		for _, k := range r.Template.Keys {
			if k >= 0 {
				named++
			}
		}
		if r.DB != swss.ConfigDB || r.Map != "" || named != len(n.List.Keys) {
			return false
		}
	}
	return true
}

// An entry whose rows of CONFIG_DB were deleted may still be in force: the managers have not heard
// of it yet, or orchagent has not taken it out of the switch. Until then its row of APPL_DB
// remains, or orchagent's report in STATE_DB. Because of these traces such an entry stays in its
// list, without config. To a Set, and to requests for config, it is gone.

// tracesOfDeleted returns the rows by which a group's deleted entries are found; nil if it is not a list.
func (g *List) tracesOfDeleted() []bool {
	if g.Parent == nil {
		return nil
	}
	traces := make([]bool, len(g.Rows))
	for i, r := range g.Rows {
		traces[i] = r.Wanted != nil || r.DB == swss.StateDB
	}
	return traces
}

// Single reports whether entries can be read by their keys alone.
func (g *List) Single() bool {
	return len(g.Derive) == 0 && !slices.ContainsFunc(g.Rows, func(r *ListRow) bool { return len(r.EachKeys) > 0 })
}

// Meant returns what may have been meant by a node that a Set must not name: for a read-only node
// the config that it is the state of, for a key the entry.
func (n *Node) Meant() *Node {
	if n.KeyIndex >= 0 {
		return n.List.Node
	}
	if n.Config {
		return n
	}
	for !n.Parent.Config {
		n = n.Parent
	}
	if n.Name == "state" {
		return n.Parent
	}
	return n
}

// OpenConfig has places of its own for some of what is configured in ours. A Set may name these as well: what it says
// is done to the entries of our list, in the same transaction, so that checks, rows and references are those of ours.
//
// A Get of type CONFIG of what contains both has ours alone, so that a document says everything once, and a Set that
// replaces or deletes what contains both means ours: OpenConfig's place is replaced with it if the value names it.

// ThroughOf is what writes a node in another place; nil: it is written here.
func (n *Node) ThroughOf() *Through {
	if n.Through != nil {
		return n.Through
	}
	return n.List.Through
}

// ConfigRows are the group's rows that a Set can write.
func (g *List) ConfigRows() []bool {
	which := make([]bool, len(g.Rows))
	for i, r := range g.Rows {
		which[i] = r.Written()
	}
	return which
}

// NullField stands in a row of CONFIG_DB that has no fields.
const NullField = "NULL"

// Refers reports whether a leaf names entries of other lists.
func (n *Node) Refers() bool {
	nested := func(g *List) bool { return len(g.Keys) != 1 }
	return n.Config && len(n.Targets) > 0 && !slices.ContainsFunc(n.Targets, nested)
}

// TargetName is what a leaf names, in words.
func (n *Node) TargetName() string {
	names := make([]string, len(n.Targets))
	for i, g := range n.Targets {
		names[i] = g.Node.Name
	}
	return strings.Join(names, " or ")
}
