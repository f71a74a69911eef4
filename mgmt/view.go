package mgmt

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/mgmt/access"
	"tamtam/swss"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A view is what one role may do with each node of the tree. nil: everything, as the process itself may. It is asked
// at the few places that every way in comes through: what a path of a Get or Subscribe means (see, sees), what of an
// entry is read (entry.value), what a Set does (tx), which operation is done.
type view struct {
	role    access.Role
	rules   string            // that it was made of
	grants  map[*node][]grant // those that count first come first; the last holds whatever the keys
	below   map[*node]reach
	keyed   map[*group]bool // lists in which it depends on keys what may be read
	ops     map[string]access.Level
	raw     []access.Rule // of sonic-db
	model   *model
	lines   bool                // the file has lines but that for all, which hold for all places where the data is
	blind   bool                // one of them takes away the reading of something
	shadows map[*group][]shadow // what of other lists they take away with it
}

// A grant is a level for entries with some keys.
type grant struct {
	level   access.Level
	keys    []string // by the index of the group's keys, no more than the rule's path has; wildcard: any
	implied bool     // it is of the line for all, "/", or built in: it takes nothing away at other paths
}

// reach sums up what may be done at a node and below.
type reach struct {
	most       access.Level // with any of its leaves
	least      access.Level // with all that a Set can write
	leastKnown bool         // there is something that a Set can write
	keyed      bool         // both depend on keys
}

// newView compiles the rules of a role, those that count first coming first.
func newView(m *model, role access.Role, rules []access.Rule) (*view, error) {
	v := &view{
		role: role, model: m, grants: map[*node][]grant{}, below: map[*node]reach{}, keyed: map[*group]bool{},
		ops: map[string]access.Level{},
	}
	of := map[*node][]grant{}
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
		n, keys, err := m.ruled(r)
		if err != nil {
			return nil, err
		}
		implied := n == m.root || r.Line == 0
		of[n] = append(of[n], grant{r.Level, keys, implied})
		asIs := n.within(m.find("/config-rows")) || n.within(m.find("/configurations"))
		v.lines = v.lines || !implied
		v.blind = v.blind || !implied && !asIs && r.Level < access.Read
	}
	v.spread(m.root, nil, of)
	v.findShadows()
	for _, name := range OperationNames() {
		name = strings.TrimPrefix(name, operationsModule+":")
		for _, path := range []string{"/" + operationsNode + "/" + name, "/" + operationsNode} {
			if level, ok := v.ops[path]; ok {
				v.ops[name] = level
				break
			}
		}
		if _, ok := v.ops[name]; !ok {
			v.ops[name] = v.level(m.root, nil)
		}
	}
	return v, nil
}

// operation takes a rule that is about operations; false: it is not.
func (v *view) operation(r access.Rule) bool {
	if len(r.Path.Elems) == 0 || strings.TrimPrefix(r.Path.Elems[0].Name, operationsModule+":") != operationsNode {
		return false
	}
	path := ""
	for _, e := range r.Path.Elems {
		path += "/" + strings.TrimPrefix(e.Name, operationsModule+":")
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
	if len(r.Path.Elems) > 0 && !slices.Contains(rawDatabases, swss.DBName(r.Path.Elems[0].Name)) {
		return ruleError(r, "there is no database %s, there are %v", quoted(r.Path.Elems[0].Name), rawDatabases)
	}
	return nil
}

func ruleError(r access.Rule, format string, args ...any) error {
	return fmt.Errorf("line %d: %s: %s", r.Line, r.Path, fmt.Sprintf(format, args...))
}

// ruled is the node that a rule is about, and its keys.
func (m *model) ruled(r access.Rule) (*node, []string, error) {
	if o := r.Path.Origin; o != "" && o != defaultOrigin {
		return nil, nil, ruleError(r, "there is no origin %q, there are %s and %s", o, defaultOrigin, access.SonicDB)
	}
	p := &gpb.Path{}
	for _, e := range r.Path.Elems {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: e.Name, Key: e.Keys})
	}
	ts, err := m.resolve(nil, p, codes.InvalidArgument)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("line %d: %s", r.Line, status.Convert(err).Message())
	case ts[0].item != "":
		return nil, nil, ruleError(r, "is one value of a leaf-list: want the leaf-list")
	}
	return ts[0].node, ts[0].keys, nil
}

// spread gives a node and all below their grants, and sums them up. above are those of the parent.
func (v *view) spread(n *node, above []grant, of map[*node][]grant) reach {
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
	if n.typ != nil || n.list && n.writable() { // an entry is made and deleted as such
		sum = reachOf(grants)
		sum.leastKnown = n.writable()
	}
	if n.typ == nil {
		sum.most = access.None
	}
	for _, k := range n.kids {
		r := v.spread(k, grants, of)
		sum.most, sum.keyed = max(sum.most, r.most), sum.keyed || r.keyed
		if !r.leastKnown || k.apart {
			continue
		}
		if !sum.leastKnown {
			sum.least, sum.leastKnown = r.least, true
		}
		sum.least = min(sum.least, r.least)
	}
	v.below[n] = sum
	v.keyed[n.group] = v.keyed[n.group] || sum.keyed
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
	return !slices.ContainsFunc(g.keys, func(k string) bool { return k != wildcard })
}

// fits says of a pattern of keys whether the grant holds for some of them, and whether for all.
func (g grant) fits(keys []string) (some, all bool) {
	all = true
	for i, k := range g.keys {
		switch {
		case k == wildcard || i < len(keys) && keys[i] == k:
		case i >= len(keys) || keys[i] == wildcard:
			all = false
		default:
			return false, false
		}
	}
	return true, all
}

// level is what may be done with a node, all keys given. That a list's entry has a key is told with whatever may be
// seen in it.
func (v *view) level(n *node, keys []string) access.Level {
	for _, g := range v.grants[n] {
		if _, all := g.fits(keys); all {
			return g.level
		}
	}
	return access.None
}

// reads says of a leaf of an entry whether it may be read.
func (v *view) reads(n *node, keys []string) bool {
	if n.isListKey() {
		return v.some(n.parent, keys, access.Read)
	}
	return v.level(n, keys) >= access.Read
}

// some says whether something at or below a node may be so much, of one of the entries that a pattern of keys means.
func (v *view) some(n *node, keys []string, want access.Level) bool {
	if v == nil {
		return true
	}
	if r := v.below[n]; r.most < want || !r.keyed {
		return r.most >= want
	}
	if len(n.kids) > 0 {
		return slices.ContainsFunc(n.kids, func(k *node) bool { return v.some(k, keys, want) })
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

// wholly says whether a Set may write all at and below a node, of all entries that a pattern of keys means.
func (v *view) wholly(n *node, keys []string) bool {
	if v == nil {
		return true
	}
	r := v.below[n]
	if !r.keyed {
		return !r.leastKnown || r.least >= access.Write
	}
	if n.list && !v.everywhere(n, keys) {
		return false
	}
	if len(n.kids) == 0 {
		return v.everywhere(n, keys)
	}
	return !slices.ContainsFunc(n.kids, func(k *node) bool {
		return k.writable() && !k.apart && !v.wholly(k, keys)
	})
}

// everywhere says whether a node itself may be written, of all entries that a pattern of keys means.
func (v *view) everywhere(n *node, keys []string) bool {
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

// filter is a filter of nodes less those of which nothing may be read.
func (v *view) filter(of func(*node) bool) func(*node) bool {
	if v == nil {
		return of
	}
	return func(n *node) bool { return of(n) && v.leaf(n) }
}

// leaf says of a leaf whether it may be read with some keys.
func (v *view) leaf(n *node) bool {
	if n.isListKey() {
		n = n.parent
	}
	return v.below[n].most >= access.Read
}

// see returns the targets of a path of which something may be read. A path of names that means nothing else is refused.
func (v *view) see(ts []target, paths ...*gpb.Path) ([]target, error) {
	if v == nil {
		return ts, nil
	}
	seen := slices.DeleteFunc(slices.Clone(ts), func(t target) bool {
		return !v.some(t.node, t.keys, access.Read) || v.coversRow(t)
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
	return nil, v.refusal(ts[0].text(), "read")
}

// coversRow reports whether a target is a row as it is that the role may not read.
func (v *view) coversRow(t target) bool {
	if t.wild() || t.node.group.parent == nil {
		return false
	}
	table, key, ok := t.node.group.asIs(t.keys)
	return ok && !v.mayReadRow(t.node.group, swss.ConfigDB, table, key)
}

// refusal is the error of what the role may not.
func (v *view) refusal(what, verb string) error {
	return status.Errorf(codes.PermissionDenied, "%s: role %s may not %s it", what, v.role, verb)
}

// may refuses an operation.
func (v *view) may(operation string) error {
	if v == nil || v.ops[operation] >= access.Write {
		return nil
	}
	return v.refusal("/"+operationsNode+"/"+operation, "do")
}

// anything says whether the role may change anything.
func (v *view) anything(m *model) bool {
	if v.some(m.root, nil, access.Write) {
		return true
	}
	for _, level := range v.ops {
		if level >= access.Write {
			return true
		}
	}
	return false
}

// table refuses to show a table of a database as it is. Keys of Redis may be asked for by names of tables.
func (v *view) table(p rawPath) error {
	if v == nil {
		return nil
	}
	name, db := p.table, string(p.db.Name())
	if i := strings.IndexAny(name, ":|"); i >= 0 {
		name = name[:i]
	}
	for _, r := range v.raw {
		at := r.Path.Elems
		if len(at) > 0 && at[0].Name != db || len(at) > 1 && at[1].Name != name {
			continue
		}
		if r.Level >= access.Read {
			return nil
		}
		break
	}
	return v.refusal(fmt.Sprintf("%s: /%s/localhost/%s", access.SonicDB, db, cut(oneLine(name), maxShown)), "read")
}

// views are those of all roles.
func (m *model) views(roles *access.Roles) (map[access.Role]*view, error) {
	out := map[access.Role]*view{}
	for _, role := range roles.Names() {
		v, err := newView(m, role, roles.Rules(role))
		if err != nil {
			return nil, err
		}
		if role == access.Admin {
			v = nil // nothing is looked up for whoever may everything
		}
		out[role] = v
	}
	return out, nil
}

// same reports whether two views allow the same.
func (v *view) same(o *view) bool {
	return v == o || v != nil && o != nil && v.rules == o.rules
}
