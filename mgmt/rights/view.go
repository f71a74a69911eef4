package rights

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/internal/printable"
	"tamtam/mgmt/access"
	"tamtam/mgmt/tree"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A View is the rights of one role for each node of the tree. A nil View has all rights, as the process itself does. It
// is consulted where every request passes: when a path of a Get or Subscribe is resolved (See, Reads), and when an
// entry is read (tree.Entry.Value). It is also consulted when a Set (set.Tx) or an operation is executed.
type View struct {
	Role   access.Role
	rules  string                 // the text of the rules from which the view was made
	grants map[*tree.Node][]grant // in order of precedence; the last applies to all keys
	below  map[*tree.Node]reach
	Keyed  map[*tree.List]bool // lists in which the right to read depends on keys
	ops    map[string]access.Level
	raw    []access.Rule // for origin sonic-db
	model  *tree.Model
	// true if the file has lines, apart from the line for all paths, that hold wherever their data appears
	lines   bool
	Blind   bool                    // true if one of these lines hides something
	shadows map[*tree.List][]shadow // rows of each list that these lines hide at other paths
}

// A grant is a level for entries with some keys.
type grant struct {
	level access.Level
	// keys holds the rule's keys by the index of the group's keys, at most as many as in the rule's path. The wildcard
	// stands for any key.
	keys    []string
	implied bool // from the line for all, "/", or built in: it hides nothing at other paths
}

// A reach sums up the rights for a node and all below.
type reach struct {
	most       access.Level // the highest level for any of its leaves
	least      access.Level // the lowest level for anything that a Set can write
	leastKnown bool         // true if there is something that a Set can write
	keyed      bool         // true if both levels depend on keys
}

// OperationsNode is the top-level node of operations in paths.
const OperationsNode = "operations"

// OperationsModule is the YANG module of the operations.
const OperationsModule = "tamtam-operations"

// newView compiles the rules of a role, in order of precedence, for operations of these names.
func newView(m *tree.Model, role access.Role, rules []access.Rule, operations []string) (*View, error) {
	v := &View{
		Role: role, model: m, grants: map[*tree.Node][]grant{}, below: map[*tree.Node]reach{}, Keyed: map[*tree.List]bool{},
		ops: map[string]access.Level{},
	}
	of := map[*tree.Node][]grant{}
	for _, r := range rules {
		v.rules += r.String() + "\n"
		if r.Path.Origin == access.SonicDB {
			v.raw = append(v.raw, r)
			if err := checkRawRule(r); err != nil {
				return nil, err
			}
			continue
		}
		if v.operation(r) {
			continue
		}
		n, keys, err := ruled(m, r)
		if err != nil {
			return nil, err
		}
		implied := n == m.Root || r.Line == 0
		of[n] = append(of[n], grant{r.Level, keys, implied})
		asIs := n.Within(m.Find("/config-rows")) || n.Within(m.Find("/configurations"))
		v.lines = v.lines || !implied
		v.Blind = v.Blind || !implied && !asIs && r.Level < access.Read
	}
	v.spread(m.Root, nil, of)
	v.findShadows()
	for _, name := range operations {
		for _, path := range []string{"/" + OperationsNode + "/" + name, "/" + OperationsNode} {
			if level, ok := v.ops[path]; ok {
				v.ops[name] = level
				break
			}
		}
		if _, ok := v.ops[name]; !ok {
			v.ops[name] = v.level(m.Root, nil)
		}
	}
	return v, nil
}

// operation applies a rule for operations. It returns false if the rule is for other nodes.
func (v *View) operation(r access.Rule) bool {
	if len(r.Path.Elems) == 0 || strings.TrimPrefix(r.Path.Elems[0].Name, OperationsModule+":") != OperationsNode {
		return false
	}
	path := ""
	for _, e := range r.Path.Elems {
		path += "/" + strings.TrimPrefix(e.Name, OperationsModule+":")
	}
	v.ops[path] = r.Level
	return true
}

func checkRawRule(r access.Rule) error {
	for _, e := range r.Path.Elems {
		if len(e.Keys) > 0 {
			return ruleError(r, "want %s:/DATABASE/TABLE, without keys", access.SonicDB)
		}
	}
	if len(r.Path.Elems) > 2 || r.Level == access.Write {
		return ruleError(r, "want none or read of %s:/DATABASE/TABLE", access.SonicDB)
	}
	if len(r.Path.Elems) > 0 && !slices.Contains(tree.RawDatabases, swss.DBName(r.Path.Elems[0].Name)) {
		return ruleError(r, "there is no database %s, there are %v", tree.Quoted(r.Path.Elems[0].Name), tree.RawDatabases)
	}
	return nil
}

func ruleError(r access.Rule, format string, args ...any) error {
	return fmt.Errorf("line %d: %s: %s", r.Line, r.Path, fmt.Sprintf(format, args...))
}

// ruled returns the node that a rule is about, and the keys in the rule's path.
func ruled(m *tree.Model, r access.Rule) (*tree.Node, []string, error) {
	if o := r.Path.Origin; o != "" && o != tree.DefaultOrigin {
		return nil, nil, ruleError(r, "there is no origin %q, there are %s and %s", o, tree.DefaultOrigin, access.SonicDB)
	}
	p := &gpb.Path{}
	for _, e := range r.Path.Elems {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: e.Name, Key: e.Keys})
	}
	ts, err := m.Resolve(nil, p, codes.InvalidArgument)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("line %d: %s", r.Line, status.Convert(err).Message())
	case ts[0].Item != "":
		return nil, nil, ruleError(r, "is one value of a leaf-list: want the leaf-list")
	}
	return ts[0].Node, ts[0].Keys, nil
}

// spread sets the grants of a node and of all nodes below, and sums them up. above holds the grants of the parent.
func (v *View) spread(n *tree.Node, above []grant, of map[*tree.Node][]grant) reach {
	own := of[n]
	grants := above
	if len(own) > 0 {
		grants = slices.Concat(own, above)
		if i := slices.IndexFunc(grants, grant.always); i >= 0 {
			grants = grants[:i+1]
		}
	}
	v.grants[n] = grants
	var sum reach
	if n.Type != nil || n.IsList && !n.List.ReadOnly() { // an entry is created and deleted as such
		sum = reachOf(grants)
		sum.leastKnown = n.Writable()
	}
	if n.Type == nil {
		sum.most = access.None
	}
	for _, k := range n.Kids {
		r := v.spread(k, grants, of)
		sum.most, sum.keyed = max(sum.most, r.most), sum.keyed || r.keyed
		if !r.leastKnown || k.Apart {
			continue
		}
		if !sum.leastKnown {
			sum.least, sum.leastKnown = r.least, true
		}
		sum.least = min(sum.least, r.least)
	}
	v.below[n] = sum
	v.Keyed[n.List] = v.Keyed[n.List] || sum.keyed
	return sum
}

// reachOf sums up grants, as if each held for some keys.
func reachOf(grants []grant) (r reach) {
	least := access.None
	if len(grants) > 0 && grants[len(grants)-1].always() {
		least = grants[len(grants)-1].level
	}
	r.most, r.least = least, least
	for _, g := range grants {
		r.most, r.least = max(r.most, g.level), min(r.least, g.level)
		r.keyed = r.keyed || !g.always()
	}
	return r
}

// always reports whether a grant holds for all keys.
func (g grant) always() bool {
	return !slices.ContainsFunc(g.keys, func(k string) bool { return k != tree.Wildcard })
}

// fits reports whether the grant holds for some of the keys that a pattern matches, and whether it holds for all of
// them.
func (g grant) fits(keys []string) (some, all bool) {
	all = true
	for i, k := range g.keys {
		switch {
		case k == tree.Wildcard || i < len(keys) && keys[i] == k:
		case i >= len(keys) || keys[i] == tree.Wildcard:
			all = false
		default:
			return false, false
		}
	}
	return true, all
}

// level returns the level for a node with all keys given. The keys of an entry are shown together with any readable
// part of the entry.
func (v *View) level(n *tree.Node, keys []string) access.Level {
	for _, g := range v.grants[n] {
		if _, all := g.fits(keys); all {
			return g.level
		}
	}
	return access.None
}

// Reads implements [tree.Limits].
func (v *View) Reads(n *tree.Node, keys []string) bool {
	if n.IsListKey() {
		return v.Some(n.Parent, keys, access.Read)
	}
	return v.level(n, keys) >= access.Read
}

// Some reports whether the role has a level for something at or below a node, in one of the entries that a pattern
// matches.
func (v *View) Some(n *tree.Node, keys []string, want access.Level) bool {
	if v == nil {
		return true
	}
	if r := v.below[n]; r.most < want || !r.keyed {
		return r.most >= want
	}
	if len(n.Kids) > 0 {
		return slices.ContainsFunc(n.Kids, func(k *tree.Node) bool { return v.Some(k, keys, want) })
	}
	for _, g := range v.grants[n] {
		some, all := g.fits(keys)
		if some && g.level >= want {
			return true
		}
		if all {
			break
		}
	}
	return false
}

// Wholly reports whether a Set may write all at and below a node, in all entries that a pattern matches.
func (v *View) Wholly(n *tree.Node, keys []string) bool {
	if v == nil {
		return true
	}
	r := v.below[n]
	if !r.keyed {
		return !r.leastKnown || r.least >= access.Write
	}
	if n.IsList && !v.Everywhere(n, keys) {
		return false
	}
	if len(n.Kids) == 0 {
		return v.Everywhere(n, keys)
	}
	return !slices.ContainsFunc(n.Kids, func(k *tree.Node) bool {
		return k.Writable() && !k.Apart && !v.Wholly(k, keys)
	})
}

// Everywhere reports whether a node itself may be written, in all entries that a pattern matches.
func (v *View) Everywhere(n *tree.Node, keys []string) bool {
	for _, g := range v.grants[n] {
		some, all := g.fits(keys)
		if some && g.level < access.Write {
			return false
		}
		if all {
			return true
		}
	}
	return false
}

// Filter returns a filter that omits a node if the role may not read any part of it.
func (v *View) Filter(of func(*tree.Node) bool) func(*tree.Node) bool {
	if v == nil {
		return of
	}
	return func(n *tree.Node) bool { return of(n) && v.leaf(n) }
}

// leaf reports whether the role may read a leaf with some keys.
func (v *View) leaf(n *tree.Node) bool {
	if n.IsListKey() {
		n = n.Parent
	}
	return v.below[n].most >= access.Read
}

// See returns the targets of a path of which the role may read at least a part. If there are none, a path without
// wildcards is refused.
func (v *View) See(ts []tree.Target, paths ...*gpb.Path) ([]tree.Target, error) {
	if v == nil {
		return ts, nil
	}
	seen := slices.DeleteFunc(slices.Clone(ts), func(t tree.Target) bool {
		return !v.Some(t.Node, t.Keys, access.Read) || v.coversRow(t)
	})
	wild := func(el *gpb.PathElem) bool { return el.GetName() == "*" || el.GetName() == "..." }
	if len(seen) > 0 {
		return seen, nil
	}
	for _, p := range paths {
		if slices.ContainsFunc(p.GetElem(), wild) {
			return nil, nil
		}
	}
	return nil, v.Refusal(ts[0].Text(), "read")
}

// coversRow reports whether a target is a raw row that the role may not read.
func (v *View) coversRow(t tree.Target) bool {
	if t.Wild() || t.Node.List.Parent == nil {
		return false
	}
	table, key, ok := t.Node.List.AsIs(t.Keys)
	return ok && !v.MayReadRow(t.Node.List, swss.ConfigDB, table, key)
}

// Refusal returns the error for a forbidden action.
func (v *View) Refusal(what, verb string) error {
	return status.Errorf(codes.PermissionDenied, "%s: role %s may not %s it", what, v.Role, verb)
}

// May refuses an operation that the role may not perform.
func (v *View) May(operation string) error {
	if v == nil || v.ops[operation] >= access.Write {
		return nil
	}
	return v.Refusal("/"+OperationsNode+"/"+operation, "do")
}

// Anything reports whether the role may change anything.
func (v *View) Anything(m *tree.Model) bool {
	if v.Some(m.Root, nil, access.Write) {
		return true
	}
	for _, level := range v.ops {
		if level >= access.Write {
			return true
		}
	}
	return false
}

// Table refuses to show a raw table of a database. name may also be a Redis key that begins with the table.
func (v *View) Table(db swss.DBName, name string) error {
	if v == nil {
		return nil
	}
	if i := strings.IndexAny(name, ":|"); i >= 0 {
		name = name[:i]
	}
	for _, r := range v.raw {
		at := r.Path.Elems
		if len(at) > 0 && at[0].Name != string(db) || len(at) > 1 && at[1].Name != name {
			continue
		}
		if r.Level >= access.Read {
			return nil
		}
		break
	}
	name = tree.Cut(printable.Line(name), tree.MaxShown)
	return v.Refusal(fmt.Sprintf("%s: /%s/localhost/%s", access.SonicDB, db, name), "read")
}

// NewViews returns the views of all roles, for a tree and operations.
func NewViews(m *tree.Model, operations []string, roles *access.Roles) (map[access.Role]*View, error) {
	out := map[access.Role]*View{}
	for _, role := range roles.Names() {
		v, err := newView(m, role, roles.Rules(role), operations)
		if err != nil {
			return nil, err
		}
		if role == access.Admin {
			v = nil // no lookups for a role that may do everything
		}
		out[role] = v
	}
	return out, nil
}

// Same reports whether two views grant the same rights.
func (v *View) Same(o *View) bool {
	return v == o || v != nil && o != nil && v.rules == o.rules
}

// Database reports whether all tables of a database may be read, and if not, which path may not.
func (v *View) Database(db swss.DBName) (at string, ok bool) {
	at = access.SonicDB + ":/" + string(db)
	for _, r := range v.raw { // rules for one table come first
		elems := r.Path.Elems
		if len(elems) > 0 && elems[0].Name != string(db) {
			continue
		}
		switch read := r.Level >= access.Read; {
		case len(elems) < 2:
			return at, read
		case !read:
			return at + "/" + elems[1].Name, false
		}
	}
	return at, false
}
