package p4

import "math/big"

func (r *reader) readPipelines(root *node) {
	for _, of := range []struct {
		name string
		to   **Pipeline
	}{{"ingress", &r.Ingress}, {"egress", &r.Egress}} {
		*of.to = r.pipeline(root.one("pipelines", "pipeline", of.name), of.name)
	}
	r.bindDirect(root)
}

// A graph connects the nodes of a pipeline by name.
type graph struct {
	nodes map[string]*Node
}

// next returns the successor that a member of an object names; null ends the pipeline.
func (g graph) next(n *node) *Node {
	if n == nil {
		return nil
	}
	c := g.nodes[n.text()]
	if c == nil {
		n.fail("is %q, want the name of a table, condition or action call of the pipeline", n.text())
	}
	return c
}

// add makes the node of an object.
func (g graph) add(p *Pipeline, n *node) *Node {
	c := &Node{Name: n.get("name").text(), Source: n.source()}
	if g.nodes[c.Name] != nil {
		n.fail("has the name of another node of the pipeline")
	}
	g.nodes[c.Name] = c
	p.Nodes = append(p.Nodes, c)
	return c
}

func (r *reader) pipeline(n *node, name string) *Pipeline {
	p := &Pipeline{Name: name}
	g := graph{map[string]*Node{}}
	for _, c := range n.each("action_profiles", "action profile") {
		r.profile(c, c.get("name").text())
	}
	tables, conditions := n.each("tables", "table"), n.each("conditionals", "condition")
	calls := n.each("action_calls", "action call")
	var made []*Node
	for _, c := range append(append(append([]*node(nil), tables...), conditions...), calls...) {
		made = append(made, g.add(p, c))
	}
	for i, c := range tables {
		made[i].Table = r.table(c, g)
		p.Tables = append(p.Tables, made[i].Table)
	}
	for i, c := range conditions {
		node := made[len(tables)+i]
		node.Condition = r.expression(c.get("expression"), scope{}, Boolean)
		node.True, node.False = g.next(c.has("true_next")), g.next(c.has("false_next"))
	}
	for i, c := range calls {
		node := made[len(tables)+len(conditions)+i]
		node.Action = r.action(c.get("action_id"))
		if len(node.Action.Params) > 0 {
			c.fail("calls action %q with parameters, want one without", node.Action.Name)
		}
		node.Next = g.next(c.has("next_node"))
	}
	p.Start = g.next(n.has("init_table"))
	noLoop(n, p)
	return p
}

// noLoop requires that no path through the pipeline passes a node twice.
func noLoop(n *node, p *Pipeline) {
	const entered, left = 1, 2
	state := map[*Node]int{}
	// The stack is explicit because a path can be long.
	stack := append([]*Node(nil), p.Nodes...)
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		if state[at] != 0 {
			state[at] = left
			stack = stack[:len(stack)-1]
			continue
		}
		state[at] = entered
		for _, next := range at.successors() {
			if state[next] == entered {
				n.fail("has a loop through %q and %q, want a graph without loops", at.Name, next.Name)
			}
			if state[next] == 0 {
				stack = append(stack, next)
			}
		}
	}
}

// successors returns the nodes that can follow.
func (n *Node) successors() []*Node {
	var all []*Node
	add := func(c *Node) {
		if c != nil {
			all = append(all, c)
		}
	}
	if t := n.Table; t != nil {
		add(t.Hit)
		add(t.Miss)
		add(t.Base)
		for _, a := range t.Actions {
			add(t.Next[a])
		}
		return all
	}
	add(n.True)
	add(n.False)
	add(n.Next)
	return all
}

// action returns the action that an id names.
func (r *reader) action(id *node) *Action {
	a := r.actions[id.integer(0, 1<<30)]
	if a == nil {
		id.fail("is %v, want the id of an action", id.value)
	}
	return a
}

// profile reads an action profile, or the part of a table that describes one in old files.
func (r *reader) profile(n *node, name string) *Profile {
	p := &Profile{Name: name, Index: len(r.Profiles)}
	if size := n.has("max_size"); size != nil {
		p.MaxSize = size.integer(0, maxArray)
	}
	if s := n.has("selector"); s != nil {
		p.Selector = &Calculation{Name: name, Algorithm: algorithm(s.get("algo")), Input: r.inputs(s.get("input"), false)}
	}
	r.profiles[name] = p
	r.Profiles = append(r.Profiles, p)
	return p
}

// table reads a table.
func (r *reader) table(n *node, g graph) *Table {
	t := &Table{
		Name: n.get("name").text(), Index: r.tables, Source: n.source(), Next: map[*Action]*Node{},
		Counts: n.flagOf("with_counters", false), Timeout: n.flagOf("support_timeout", false),
	}
	r.tables++
	if size := n.has("max_size"); size != nil {
		t.MaxSize = size.integer(0, maxArray)
	}
	for i, k := range n.get("key").list() {
		t.Key = append(t.Key, r.key(k.labelled("key %d", i)))
	}
	t.Kind = kindOf(n.get("match_type"), t.Key)
	r.tableActions(n, t)
	r.tableNext(n, t, g)
	r.tableProfile(n, t)
	r.tableDefault(n, t)
	if l := n.has("entries"); l != nil {
		t.Const = true
		for i, c := range l.list() {
			t.Entries = append(t.Entries, r.entry(c.labelled("entry %d", i), t))
		}
	}
	if m := n.has("direct_meters"); m != nil {
		if t.Meter = r.meters[m.text()]; t.Meter == nil || !t.Meter.Direct {
			m.fail("is %q, want the name of a direct meter array", m.text())
		}
	}
	return t
}

// key reads one field of a table's key.
func (r *reader) key(n *node) Key {
	var k Key
	match := n.get("match_type")
	target := n.get("target")
	switch match.text() {
	case "valid":
		k.Kind, k.Validity = Exact, true
		k.Field = FieldRef{r.header(target), Valid}
		k.Name = k.Field.String()
	case "exact", "lpm", "ternary", "range":
		k.Kind, k.Field = MatchKind(match.text()), r.field(target)
		k.Name = k.Field.String()
		if t := k.Field.Header.Type; k.Field.Index != Valid && t.Fields[k.Field.Index].Var {
			target.fail("is a field of variable width, which cannot be a key")
		}
	case "optional":
		k.Kind, k.Field = Ternary, r.field(target)
		k.Name = k.Field.String()
	default:
		match.fail("match type %q is not supported, want exact, lpm, ternary, range, optional or valid", match.text())
	}
	if name := n.has("name"); name != nil {
		k.Name = name.text()
	}
	if m := n.has("mask"); m != nil {
		k.Mask = m.hex()
	}
	return k
}

// kindOf returns the match type of a table after it is compared with those of its key.
func kindOf(n *node, keys []Key) MatchKind {
	rank := map[MatchKind]int{Exact: 0, LPM: 1, Ternary: 2, Range: 3}
	kind := MatchKind(n.text())
	if kind == "optional" {
		kind = Ternary
	}
	if _, ok := rank[kind]; !ok {
		n.fail("match type %q is not supported, want exact, lpm, ternary or range", n.text())
	}
	prefixes := 0
	for _, k := range keys {
		if rank[k.Kind] > rank[kind] {
			n.fail("is %s, but key %q is %s", kind, k.Name, k.Kind)
		}
		if k.Kind == LPM {
			prefixes++
		}
	}
	if kind == LPM && prefixes != 1 {
		n.fail("is lpm with %d keys of this type, want 1", prefixes)
	}
	return kind
}

// tableActions resolves the actions of a table by their ids, or by their names in old files.
func (r *reader) tableActions(n *node, t *Table) {
	names := n.get("actions").list()
	if ids := n.has("action_ids"); ids != nil {
		list := ids.list()
		if len(list) != len(names) {
			ids.fail("has %d ids for %d actions", len(list), len(names))
		}
		for _, id := range list {
			t.Actions = append(t.Actions, r.action(id))
		}
		return
	}
	for _, name := range names {
		var found *Action
		for _, a := range r.Actions {
			if a.Name == name.text() {
				if found != nil {
					name.fail("is %q, the name of several actions, and the table has no action_ids", a.Name)
				}
				found = a
			}
		}
		if found == nil {
			name.fail("is %q, want the name of an action", name.text())
		}
		t.Actions = append(t.Actions, found)
	}
}

// tableNext reads the successors of a table: by hit and miss, or by action.
func (r *reader) tableNext(n *node, t *Table, g graph) {
	next := n.get("next_tables")
	hit, byHit := next.object()["__HIT__"]
	miss, byMiss := next.object()["__MISS__"]
	t.Base = g.next(n.has("base_default_next"))
	if t.ByHit = byHit || byMiss; t.ByHit {
		if !byHit || !byMiss || len(next.object()) != 2 {
			next.fail("has __HIT__ or __MISS__ and other names, want exactly these two, or each action")
		}
		t.Hit, t.Miss = g.nextOf(next, "__HIT__", hit), g.nextOf(next, "__MISS__", miss)
		return
	}
	for _, a := range t.Actions {
		v, ok := next.object()[a.Name]
		if !ok {
			next.fail("has no successor for action %q", a.Name)
		}
		t.Next[a] = g.nextOf(next, a.Name, v)
	}
}

func (g graph) nextOf(n *node, key string, v any) *Node {
	if v == nil {
		return nil
	}
	return g.next(&node{v, n, key})
}

// tableProfile finds the action profile of an indirect table.
func (r *reader) tableProfile(n *node, t *Table) {
	kind := n.get("type")
	switch kind.text() {
	case "simple":
		return
	case "indirect", "indirect_ws":
	default:
		kind.fail("table type %q is not supported, want simple, indirect or indirect_ws", kind.text())
	}
	if old := n.has("act_prof_name"); old != nil && n.has("action_profile") == nil {
		t.Profile = r.profile(n, old.text())
	} else {
		name := n.get("action_profile")
		if t.Profile = r.profiles[name.text()]; t.Profile == nil {
			name.fail("is %q, want the name of an action profile", name.text())
		}
	}
	if groups := kind.text() == "indirect_ws"; groups && t.Profile.Selector == nil {
		n.fail("needs a selector, which action profile %q does not have", t.Profile.Name)
	}
	for _, a := range t.Actions {
		known := false
		for _, b := range t.Profile.Actions {
			known = known || a == b
		}
		if !known {
			t.Profile.Actions = append(t.Profile.Actions, a)
		}
	}
}

// tableDefault reads the default entry.
func (r *reader) tableDefault(n *node, t *Table) {
	d := n.has("default_entry")
	if d == nil {
		return
	}
	a := r.action(d.get("action_id"))
	if !t.ByHit && t.Next[a] == nil {
		if _, ok := t.Next[a]; !ok {
			d.fail("is action %q, want one of the table's", a.Name)
		}
	}
	t.ConstAction = d.flagOf("action_const", false)
	if d.has("action_data") == nil {
		return
	}
	t.ConstEntry = d.flagOf("action_entry_const", false)
	call := r.call(d, a)
	t.Default = &call
}

// call reads the arguments of an action.
func (r *reader) call(n *node, a *Action) ActionCall {
	data := n.get("action_data")
	list := data.list()
	if len(list) != len(a.Params) {
		data.fail("has %d values, want the %d parameters of action %q", len(list), len(a.Params), a.Name)
	}
	c := ActionCall{Action: a}
	for i, v := range list {
		value := v.hex()
		if !fits(value, a.Params[i].Width) {
			v.fail("is %s, want at most the %d bits of parameter %q", v.text(), a.Params[i].Width, a.Params[i].Name)
		}
		c.Data = append(c.Data, value)
	}
	return c
}

// entry reads an entry of the program.
func (r *reader) entry(n *node, t *Table) Entry {
	if t.Profile != nil {
		n.fail("entry of a table with an action profile is not supported")
	}
	e := Entry{Priority: 0}
	if p := n.has("priority"); p != nil {
		e.Priority = p.integer(-1<<31, 1<<31-1)
	}
	match := n.get("match_key")
	list := match.list()
	if len(list) != len(t.Key) {
		match.fail("has %d values, want the %d keys of the table", len(list), len(t.Key))
	}
	for i, m := range list {
		e.Match = append(e.Match, r.match(m.labelled("value of key %q", t.Key[i].Name), t.Key[i]))
	}
	action := n.get("action_entry")
	e.Call = r.call(action, r.action(action.get("action_id")))
	known := false
	for _, a := range t.Actions {
		known = known || a == e.Call.Action
	}
	if !known {
		action.fail("is action %q, want one of the table's", e.Call.Action.Name)
	}
	return e
}

// match reads the value of one key of an entry.
func (r *reader) match(n *node, k Key) Match {
	m := Match{Kind: k.Kind}
	width := k.Field.Width()
	value := func(key string) *big.Int {
		c := n.get(key)
		v := c.hex()
		if !fits(v, width) {
			c.fail("is %s, want at most the %d bits of the key", c.text(), width)
		}
		return v
	}
	switch {
	case k.Validity:
		m.Value = big.NewInt(0)
		if n.get("key").flag() {
			m.Value.SetInt64(1)
		}
	case k.Kind == Range:
		m.Value, m.High = value("start"), value("end")
		if m.Value.Cmp(m.High) > 0 {
			n.fail("begins at %#x, after its end %#x", m.Value, m.High)
		}
	default:
		m.Value = value("key")
	}
	if k.Kind == Ternary {
		m.Mask = value("mask")
	}
	if k.Kind == LPM {
		m.Prefix = n.get("prefix_length").integer(0, width)
	}
	return m
}

// bindDirect connects direct counters to their tables.
func (r *reader) bindDirect(root *node) {
	for _, c := range r.Counters {
		if !c.Direct {
			continue
		}
		found := false
		for _, t := range append(append([]*Table(nil), r.Ingress.Tables...), r.Egress.Tables...) {
			if t.Name == c.Table {
				t.Counter, t.Counts, found = c, true, true
			}
		}
		if !found {
			root.fail("counter array %q: binding is %q, want the name of a table", c.Name, c.Table)
		}
	}
}
