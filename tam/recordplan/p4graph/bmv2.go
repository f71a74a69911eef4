package p4graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tamtam/tam/record"
)

// The parts of BMv2 JSON that describe the paths of packets. All other parts are skipped.
type (
	bmDocument struct {
		Program      string          `json:"program"`
		Pipelines    []bmPipeline    `json:"pipelines"`
		Actions      []bmPrimitives  `json:"actions"`
		Calculations []bmCalculation `json:"calculations"`
		Headers      []bmHeaders     `json:"headers"`
		Stacks       []bmHeaders     `json:"header_stacks"`
		Unions       []bmHeaders     `json:"header_unions"`
		UnionStacks  []bmHeaders     `json:"header_union_stacks"`
		Meters       []bmMeter       `json:"meter_arrays"`
	}
	bmPipeline struct {
		Name         string          `json:"name"`
		Init         *string         `json:"init_table"`
		Tables       []bmTable       `json:"tables"`
		Conditionals []bmConditional `json:"conditionals"`
		ActionCalls  []bmCall        `json:"action_calls"`
		Profiles     []bmProfile     `json:"action_profiles"`
	}
	bmTable struct {
		Name      string             `json:"name"`
		Key       []bmKey            `json:"key"`
		ActionIDs []int              `json:"action_ids"`
		Next      map[string]*string `json:"next_tables"`
		// BaseNext is the successor after a miss if there is no default action.
		BaseNext *string `json:"base_default_next"`
		Default  *struct {
			Action int  `json:"action_id"`
			Const  bool `json:"action_const"`
		} `json:"default_entry"`
		Profile string `json:"action_profile"`
	}
	bmKey struct {
		Match  string          `json:"match_type"`
		Target json.RawMessage `json:"target"`
	}
	bmConditional struct {
		Name       string          `json:"name"`
		Expression json.RawMessage `json:"expression"`
		True       *string         `json:"true_next"`
		False      *string         `json:"false_next"`
	}
	bmCall struct {
		Name   string  `json:"name"`
		Action int     `json:"action_id"`
		Next   *string `json:"next_node"`
	}
	bmProfile struct {
		Name     string         `json:"name"`
		Selector *bmCalculation `json:"selector"`
	}
)

// The keys of next_tables for tables that branch by their hit.
const (
	bmHit  = "__HIT__"
	bmMiss = "__MISS__"
)

// A bmReader builds the graph of one pipeline.
type bmReader struct {
	*bmProgram
	g         *record.Graph
	selectors map[string][]string // for each action profile, fields that select a member
}

func readBMv2(b []byte, pipeline string) (*record.Graph, error) {
	d, err := decode[bmDocument](b)
	if err != nil {
		return nil, err
	}
	p, err := choosePipeline(d.Pipelines, pipeline)
	if err != nil {
		return nil, err
	}
	program, err := newBMProgram(d)
	if err != nil {
		return nil, err
	}
	r := &bmReader{
		bmProgram: program,
		g:         &record.Graph{Program: d.Program, Pipeline: p.Name, Init: next(p.Init)},
		selectors: map[string][]string{},
	}
	if err := r.pipeline(p); err != nil {
		return nil, fmt.Errorf("pipeline %q: %w", p.Name, err)
	}
	return r.g, nil
}

// pipeline adds all nodes of a pipeline, with their edges.
func (r *bmReader) pipeline(p *bmPipeline) error {
	for i := range p.Profiles {
		if err := r.profile(&p.Profiles[i]); err != nil {
			return fmt.Errorf("action profile %q: %w", p.Profiles[i].Name, err)
		}
	}
	for i := range p.Tables {
		if err := r.table(&p.Tables[i]); err != nil {
			return fmt.Errorf("table %q: %w", p.Tables[i].Name, err)
		}
	}
	for i := range p.Conditionals {
		if err := r.conditional(&p.Conditionals[i]); err != nil {
			return fmt.Errorf("conditional %q: %w", p.Conditionals[i].Name, err)
		}
	}
	for i := range p.ActionCalls {
		if err := r.call(&p.ActionCalls[i]); err != nil {
			return fmt.Errorf("action call %q: %w", p.ActionCalls[i].Name, err)
		}
	}
	return nil
}

func choosePipeline(all []bmPipeline, want string) (*bmPipeline, error) {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	if want == "" {
		want = "ingress"
		if len(all) == 1 {
			want = names[0]
		}
	}
	i := slices.Index(names, want)
	if i < 0 {
		return nil, fmt.Errorf("no pipeline %q: the program has %q", want, names)
	}
	return &all[i], nil
}

// next returns the node of a name, or [record.Exit] for nil.
func next(name *string) string {
	if name == nil {
		return record.Exit
	}
	return *name
}

func (r *bmReader) profile(p *bmProfile) error {
	if p.Selector == nil {
		return nil
	}
	use, err := r.inputsOf(p.Selector)
	r.selectors[p.Name] = use.reads.list()
	return err
}

// edge adds an edge from a node with a label. An action that exits ends the pipeline, whatever the next node is.
func (r *bmReader) edge(from, label, to string, a *bmAction) {
	if a == nil || a.mayStay {
		r.g.Edges = append(r.g.Edges, record.Edge{From: from, To: to, Label: label})
	}
	if a != nil && a.mayExit && (!a.mayStay || to != record.Exit) {
		r.g.Edges = append(r.g.Edges, record.Edge{From: from, To: record.Exit, Label: label})
	}
}

func (r *bmReader) table(t *bmTable) error {
	actions, err := r.resolve(t)
	if err != nil {
		return err
	}
	n := record.Node{ID: t.Name, Kind: record.Table, Keyless: len(t.Key) == 0, Actions: names(actions)}
	keys, use := set{}, newUse()
	for _, k := range t.Key {
		field, err := k.field()
		if err != nil {
			return err
		}
		keys[field] = true
	}
	keys.put(r.selectors[t.Profile]...)
	use.writes.put(r.meters[t.Name]...)
	run, err := r.runs(t, actions)
	if err != nil {
		return err
	}
	// Duplicate actions are added once, so that the cost depends on the distinct actions only.
	byID := slices.SortedFunc(slices.Values(run.any), func(a, b *bmAction) int { return a.id - b.id })
	for _, a := range slices.Compact(byID) {
		use.add(a.use)
	}
	n.KeyReads, n.ActionReads, n.ActionWrites = keys.list(), use.reads.list(), use.writes.list()
	r.g.Nodes = append(r.g.Nodes, n)
	return r.addEdges(t, actions, run)
}

// field returns the field that a key compares, or the validity of a header.
func (k *bmKey) field() (string, error) {
	var pair []string
	if json.Unmarshal(k.Target, &pair) == nil {
		if len(pair) == 1 && k.Match == "valid" {
			return pair[0] + valid, nil
		}
		if len(pair) == 2 {
			return pair[0] + "." + pair[1], nil
		}
	}
	var header string
	if json.Unmarshal(k.Target, &header) == nil && header != "" {
		return header + valid, nil
	}
	return "", fmt.Errorf("key target %.80s, want [header, field], or a header if the match is valid", k.Target)
}

// resolve returns the table's actions by their ids, because names may be ambiguous.
func (r *bmReader) resolve(t *bmTable) ([]*bmAction, error) {
	actions := make([]*bmAction, len(t.ActionIDs))
	for i, id := range t.ActionIDs {
		if actions[i] = r.byID[id]; actions[i] == nil {
			return nil, fmt.Errorf("no action has id %d", id)
		}
	}
	return actions, nil
}

// bmRuns holds the actions that a table may run, in the order of its list: after any lookup, and after a miss.
type bmRuns struct{ any, misses []*bmAction }

// runs returns the actions that a table may run. A table without a key never hits. A hit runs any action. A miss runs
// the default action if that is fixed, otherwise any action or none. Entries are ignored, even constant ones.
func (r *bmReader) runs(t *bmTable, actions []*bmAction) (bmRuns, error) {
	run := bmRuns{actions, actions}
	if t.Default == nil || !t.Default.Const {
		return run, nil
	}
	a := r.byID[t.Default.Action]
	if a == nil {
		return run, fmt.Errorf("default_entry: no action has id %d", t.Default.Action)
	}
	if !slices.Contains(actions, a) {
		return run, fmt.Errorf("default_entry: action_id %d is no action of the table; it has %q", t.Default.Action,
			names(actions))
	}
	if run.misses = []*bmAction{a}; len(t.Key) == 0 {
		run.any = run.misses
	}
	return run, nil
}

// oneOf returns an action that represents one of several actions.
func oneOf(list []*bmAction) *bmAction {
	one := &bmAction{}
	for _, a := range list {
		one.mayExit, one.mayStay = one.mayExit || a.mayExit, one.mayStay || a.mayStay
	}
	return one
}

// names returns the names of actions.
func names(list []*bmAction) []string {
	all := make([]string, len(list))
	for i, a := range list {
		all[i] = a.name
	}
	return all
}

// addEdges adds the edges of a table: by hit and miss, or by its actions.
func (r *bmReader) addEdges(t *bmTable, actions []*bmAction, run bmRuns) error {
	_, hit := t.Next[bmHit]
	_, miss := t.Next[bmMiss]
	if hit || miss {
		if !hit || !miss || len(t.Next) != 2 {
			return fmt.Errorf("next_tables has %d keys and one of them is %s or %s, want just these two, or every action",
				len(t.Next), bmHit, bmMiss)
		}
		r.addHitEdges(t, actions, run)
		return nil
	}
	often := map[string]int{}
	for _, a := range actions {
		if _, ok := t.Next[a.name]; !ok {
			return fmt.Errorf("next_tables says nothing of action %q, want a node or null for every action", a.name)
		}
		often[a.name]++
	}
	for _, name := range slices.Sorted(maps.Keys(t.Next)) {
		if often[name] == 0 {
			return fmt.Errorf("next_tables names action %q, which the table does not have; it has %q", name, names(actions))
		}
	}
	to := map[string]bool{}
	for _, a := range run.any {
		target := t.Next[a.name]
		label := a.label()
		if often[a.name] > 1 {
			label = fmt.Sprintf("%s#%d", label, a.id)
		}
		r.edge(t.Name, label, next(target), a)
		to[next(target)] = true
	}
	// A miss without a default action runs no action. The miss gets an edge of its own only if no action leads to the
	// same node.
	if base := next(t.BaseNext); t.Default == nil && !to[base] {
		r.edge(t.Name, record.Miss, base, nil)
	}
	return nil
}

// addHitEdges adds the edges of a table that branches by its hit.
func (r *bmReader) addHitEdges(t *bmTable, actions []*bmAction, run bmRuns) {
	if len(t.Key) > 0 {
		hit := oneOf(actions)
		hit.mayStay = hit.mayStay || len(actions) == 0
		r.edge(t.Name, record.Hit, next(t.Next[bmHit]), hit)
	}
	miss := oneOf(run.misses)
	miss.mayStay = miss.mayStay || t.Default == nil
	r.edge(t.Name, record.Miss, next(t.Next[bmMiss]), miss)
}

func (r *bmReader) conditional(c *bmConditional) error {
	v, err := decodeValue(c.Expression)
	if err != nil {
		return fmt.Errorf("expression: %w", err)
	}
	use := newUse()
	r.read(use, v)
	r.edge(c.Name, "true", next(c.True), nil)
	r.edge(c.Name, "false", next(c.False), nil)
	r.g.Nodes = append(r.g.Nodes, record.Node{ID: c.Name, Kind: record.Condition, Reads: use.reads.list()})
	return nil
}

// call adds an action that the program runs without a table, as a table without a key, as p4c does.
func (r *bmReader) call(c *bmCall) error {
	a := r.byID[c.Action]
	if a == nil {
		return fmt.Errorf("no action has id %d", c.Action)
	}
	r.edge(c.Name, a.label(), next(c.Next), a)
	r.g.Nodes = append(r.g.Nodes, record.Node{
		ID: c.Name, Kind: record.Table, Keyless: true, Actions: []string{a.name},
		ActionReads: a.use.reads.list(), ActionWrites: a.use.writes.list(),
	})
	return nil
}
