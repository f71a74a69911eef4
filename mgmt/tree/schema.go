package tree

import (
	"cmp"
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

// A Node is a node of the YANG tree, bound to the databases.
type Node struct {
	Name, Module string
	Path         string // without keys
	Parent       *Node
	Kids         []*Node // keys of a list first, then by name
	Kid          map[string]*Node
	elem         *gpb.PathElem          // element of paths that pass the node; unused for a list
	tail         atomic.Pointer[[]byte] // the encoded path from its entry to a leaf; nil until needed
	IsList       bool
	Config       bool
	Mandatory    bool
	Apart        bool  // true if the node is only in answers to requests for it or for nodes below it
	List         *List // the nearest enclosing list; for a list, the list itself
	leaf
}

// A leaf has the fields that only leaves and leaf-lists have.
type leaf struct {
	Type     *yang.YangType // nil if it is no leaf; leafrefs are resolved
	LeafList bool
	Enum     map[string]string // words of an enumeration or identities -> module of the identity
	Default  []string
	Index    int     // index in List.Leaves
	KeyIndex int     // index of the list's key that this leaf repeats; -1 if it repeats none
	Targets  []*List // lists whose key a leafref names; if several, any of them
	Binds    []Bind
	strings  map[*yang.YangType]*stringLimit // limits of the type, or of the members of a union
	Kept     bool                            // see Codec.Kept
	Through  *Through                        // writes it at another path; nil if it is written as it is bound
	Mirrored bool                            // state that repeats a config leaf
	behind   bool                            // lists the parts of config that are not in force
	follows  uint64                          // rows that its value depends on, a bit for each
}

// A Bind binds a leaf to a row of its list.
type Bind struct {
	Row   int // index in List.Rows
	Codec Codec
}

// A List is a list, bound to the databases.
type List struct {
	Node   *Node
	Parent *List
	Keys   []string // including those of the enclosing lists, outermost first
	Rows   []*ListRow
	Traces []bool // by row: whether it may show that a deleted entry is still in force; nil if no row can
	Leaves []*Node
	Kids   []*List
	Derive map[int]Codec // key index -> field it follows from
	Unique []*Node
	is     func(map[string]string) bool // accepts the rows of the list's entries; nil accepts all
	View   string                       // reason why the list is not written at this path; empty if it is
	Second bool                         // see [Group.Second]
	Atomic bool                         // true if all of an entry is sent whenever a part of it changes
	// Through executes a Set of a view at the path where the data is written. If it is nil, a Set cannot write the
	// view.
	Through *Through
	Finish  []func(Change) error
	Makes   []func(Change) (string, []string)
	Owns    []Owned
	Refs    []*Node // leaves, anywhere, that name an entry of this list
	// RowRefs are fields of rows without leaves that name an entry of this list.
	RowRefs []schema.Reference
	Only    func(keys []string) (name, value string) // see [Group.Only]
}

// Hash returns the name of the hash in Redis that holds a row.
func (r *ListRow) Hash(separator, key string) string {
	if r.Table == AnyTable {
		return key
	}
	return r.Table + separator + key
}

// Place returns a row's table and its key there.
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
	EachKeys []int // indexes of the list's keys that Each names
	puts     bool  // true if a leaf of the row can be written
	// repeats is a field that must equal the same field of the row with the index repeated; empty if there is none.
	repeats  string
	repeated int
	// Check returns the error in the row. It is nil for rows outside of CONFIG_DB, and for rows that Finish checks.
	Check func(key string, fields map[string]string) error
}

// Written reports whether a Set can write the row.
func (r *ListRow) Written() bool {
	return r.DB == swss.ConfigDB && r.Template.Gather < 0 && len(r.EachKeys) == 0 && (r.Entry || r.puts)
}

// Serves reports whether the row belongs to entries with these keys.
func (r *ListRow) Serves(keys []string) bool { return len(keys) == 0 || r.Has(keys) }

// Match returns the keys of the entries that have a row of the table, by the row's key, or false if there are none. n
// is the number of the list's keys. Keys that do not follow are wildcards.
func (r *ListRow) Match(rowKey string, n int) ([]string, bool) {
	keys, ok := r.Template.Match(rowKey, n)
	if ok && r.At != "" {
		keys[0] = r.At
	}
	return keys, ok
}

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
	Root  *Node
	Lists []*List // parents before children
	// ByReference has the lists so that those to which leaves of state refer come before those with the leaves.
	ByReference []*List
	modules     []string
	Bound       map[TableID][]Bound // which groups have rows of a table
	maps        map[string][]Bound  // which groups find their rows in a hash
}

// IsListKey reports whether n is the key leaf right below its list.
func (n *Node) IsListKey() bool { return n.KeyIndex >= 0 && n.Parent.IsList }

// OuterKeys returns the keys of the enclosing lists.
func (g *List) OuterKeys() []string {
	if g.Parent == nil {
		return nil
	}
	return g.Parent.Keys
}

// OwnKeys returns the keys that the list itself adds.
func (g *List) OwnKeys() []string {
	return g.Keys[len(g.OuterKeys()):]
}

// Keys returns the own keys of a list, in their order, or nil if the node is no list.
func (n *Node) Keys() []string {
	if !n.IsList {
		return nil
	}
	return n.List.OwnKeys()
}

// Words returns the words of an enumeration, or identities with their module, sorted.
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

// Find returns the node at a path without keys, or nil.
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

// merge copies a module's settings of the group itself. Several modules may have settings of one group.
func (grp *List) merge(g *Group) {
	if g.View != "" {
		grp.View = g.View
	}
	if g.Through != nil {
		grp.Through = g.Through
	}
	if g.Is != nil {
		grp.is = g.Is
	}
	if g.Only != nil {
		grp.Only = g.Only
	}
	grp.Second = grp.Second || g.Second
}

// keyNamed returns the index of the innermost key of a name, or -1.
func (g *List) keyNamed(name string) int {
	for i, k := range slices.Backward(g.Keys) {
		if k == name {
			return i
		}
	}
	return -1
}

// EachField returns the name of the field that holds the entry with these keys, in a row with Each.
func (r *ListRow) EachField(keys []string) string {
	var names []string
	for _, i := range r.EachKeys {
		names = append(names, keys[i])
	}
	return strings.Join(names, " ")
}

// parentDerives returns the keys of the enclosing lists that follow from fields.
func (g *List) parentDerives() map[int]Codec {
	if g.Parent == nil {
		return nil
	}
	return g.Parent.Derive
}

// Writable reports whether a Set may write the node, or anything in it.
func (n *Node) Writable() bool {
	switch {
	case !n.Config:
		return false
	case n.Type != nil:
		return !n.List.ReadOnly()
	}
	return n.IsList && !n.List.ReadOnly() || slices.ContainsFunc(n.Kids, (*Node).Writable)
}

// ReadOnly reports whether no Set can write the entries of the list. Lists below may be writable.
func (g *List) ReadOnly() bool { return !g.Node.Config || g.View != "" && g.Through == nil }

// Elsewhere reports whether a leaf is written at another path of the tree.
func (n *Node) Elsewhere() bool { return n.Through != nil || n.List.Through != nil }

// needsPut reports whether a Set writes the leaf itself, and not a leaf at another path.
func (n *Node) needsPut() bool { return n.KeyIndex < 0 && n.Writable() && !n.Elsewhere() }

// WhyNot returns the reason why a Set may not write a node.
func (n *Node) WhyNot() error {
	if view := n.WrittenIn(); view != "" && n.Config {
		return fmt.Errorf("%w: %s", ErrReadOnly, view)
	}
	return ErrReadOnly
}

// WrittenIn returns the reason why a node is not written here, with the place where it is written. It is "" if the node
// is written here.
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

// Cacheable reports whether the row may be cached.
func (r *ListRow) Cacheable() bool {
	return r.Source == "" && r.Map == "" && r.Table != AnyTable && !r.Counter
}

// TableID returns the row's table.
func (r *ListRow) TableID() TableID { return TableID{r.DB, r.Table} }

// CanHave reports whether keys of numeric type are canonical numbers: a row "RULE_01" is not rule 1.
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

// FieldEntry returns the keys of the entry that a field holds, or nil if it holds none.
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

// PolledBy returns the group of counters, as a key of FLEX_COUNTER_TABLE, that the row is polled with. It is empty if
// the row is not polled.
func (r *ListRow) PolledBy() string {
	switch {
	case r.DB != swss.CountersDB:
		return ""
	case r.Table == schema.CountersTailStamp: // made of ACL counters whenever these are polled
		return "ACL"
	}
	switch r.Map {
	case schema.CountersACLRuleMap:
		return "ACL"
	case schema.CountersPolicerNameMap:
		return "POLICER"
	case schema.CountersPortNameMap:
		return "PORT"
	case schema.CountersQueueNameMap:
		return "QUEUE"
	}
	return ""
}

// PolledBy returns the group of counters that the leaf is polled with, or "".
func (n *Node) PolledBy() string {
	for _, b := range n.Binds {
		if group := n.List.Rows[b.Row].PolledBy(); group != "" {
			return cmp.Or(b.Codec.Group, group)
		}
	}
	return ""
}

// Sharers returns the entries that have the row, by the keys that the row's key contains, and a pattern that matches
// all.
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

// Folded returns what codecs receive for a row.
func (r *ListRow) Folded(fields map[string]string) map[string]string {
	if r.Fold == nil {
		return fields
	}
	return r.Fold(fields)
}

// Speaks reports whether the leaf has words of these models only: identities may be of another model than the leaf.
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

// Indexable reports whether the rows that hold the leaf determine its value and the keys of its entry.
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

// An entry whose rows of CONFIG_DB were deleted may still be in force, until the managers and orchagent have removed it
// from the switch. Until then its row of APPL_DB remains, or orchagent's report in STATE_DB. Because of these traces
// such an entry stays in its list, without config. For a Set, and for requests for config, it does not exist.

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

// Meant returns the node that was probably meant by a node that a Set must not name. For a read-only node this is the
// corresponding config, and for a key the entry.
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

// OpenConfig has other nodes for some of the configuration in our lists. A Set may name these nodes, too. It is then
// executed on the entries of our list, in the same transaction. So our checks, rows and references apply.
//
// A Get of type CONFIG returns both, each complete. A Set that replaces or deletes one of them removes the data,
// whatever its path. A Set that gives data at one path and removes it, or gives another value, at the other is refused.

// ThroughOf returns the Through that writes a node at another path, or nil if it is written here.
func (n *Node) ThroughOf() *Through {
	if n.Through != nil {
		return n.Through
	}
	return n.List.Through
}

// ConfigRows returns, by row of the group, whether a Set can write it.
func (g *List) ConfigRows() []bool {
	which := make([]bool, len(g.Rows))
	for i, r := range g.Rows {
		which[i] = r.Written()
	}
	return which
}

// NullField is the field of a row of CONFIG_DB that has no other fields.
const NullField = "NULL"

// Refers reports whether a leaf names entries of other lists.
func (n *Node) Refers() bool {
	nested := func(g *List) bool { return len(g.Keys) != 1 }
	return n.Config && len(n.Targets) > 0 && !slices.ContainsFunc(n.Targets, nested)
}

// TargetName returns the names of the lists that a leaf refers to, as text.
func (n *Node) TargetName() string {
	names := make([]string, len(n.Targets))
	for i, g := range n.Targets {
		names[i] = g.Node.Name
	}
	return strings.Join(names, " or ")
}
