package p4graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"tamtam/tam/record"
)

// The parts of BMv2 JSON that say where packets go. All others are skipped.
type (
	bmPipeline struct {
		Name         string          `json:"name"`
		Init         *string         `json:"init_table"`
		Tables       json.RawMessage `json:"tables"`
		Conditionals json.RawMessage `json:"conditionals"`
		ActionCalls  json.RawMessage `json:"action_calls"`
		Profiles     json.RawMessage `json:"action_profiles"`
	}
	bmTable struct {
		Name      string             `json:"name"`
		Key       []bmKey            `json:"key"`
		Match     string             `json:"match_type"`
		Actions   []string           `json:"actions"`
		ActionIDs []int              `json:"action_ids"`
		Next      map[string]*string `json:"next_tables"`
		// BaseNext is where a miss goes if there is no default action.
		BaseNext *string `json:"base_default_next"`
		Default  *struct {
			Action int  `json:"action_id"`
			Const  bool `json:"action_const"`
		} `json:"default_entry"`
		// Entries are all that the table has for good; nil: it is filled at runtime.
		Entries    []bmEntry `json:"entries"`
		Profile    string    `json:"action_profile"`
		OldProfile string    `json:"act_prof_name"`
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
		Name     string `json:"name"`
		Selector *struct {
			Input []json.RawMessage `json:"input"`
		} `json:"selector"`
	}
)

// The keys of next_tables for tables that branch by their hit.
const (
	bmHit  = "__HIT__"
	bmMiss = "__MISS__"
)

// A bmReader makes the graph of one pipeline.
type bmReader struct {
	*bmProgram
	g         *record.Graph
	selectors map[string][]string // fields that choose a member, of action profiles
	fields    int
}

func readBMv2(d *document, pipeline string) (*record.Graph, error) {
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
	for _, part := range []func() error{
		func() error { return eachAs(p.Profiles, "action profile", maxActions, r.profile) },
		func() error { return eachAs(p.Tables, "table", MaxNodes, r.table) },
		func() error { return eachAs(p.Conditionals, "conditional", MaxNodes, r.conditional) },
		func() error { return eachAs(p.ActionCalls, "action call", MaxNodes, r.call) },
	} {
		if err := part(); err != nil {
			return nil, fmt.Errorf("pipeline %q: %w", p.Name, err)
		}
	}
	return r.g, nil
}

func choosePipeline(list json.RawMessage, want string) (*bmPipeline, error) {
	var all []bmPipeline
	var names []string
	err := each(list, "pipeline", 64, func(b json.RawMessage) error {
		var p bmPipeline
		err := json.Unmarshal(b, &p)
		all, names = append(all, p), append(names, p.Name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if want == "" {
		want = "ingress"
		if len(all) == 1 {
			want = all[0].Name
		}
	}
	i := slices.Index(names, want)
	if i < 0 {
		return nil, fmt.Errorf("no pipeline %q: the program has %q", want, names)
	}
	return &all[i], nil
}

// next returns the node that a name stands for.
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
	use := newUse()
	for _, in := range p.Selector.Input {
		v, err := decodeValue(in)
		if err != nil {
			return fmt.Errorf("%q: %w", p.Name, err)
		}
		r.read(use, v)
	}
	r.selectors[p.Name] = use.reads.list()
	return nil
}

// add appends a node, unless all nodes together have too many fields.
func (r *bmReader) add(n record.Node) error {
	r.fields += len(n.KeyReads) + len(n.ActionReads) + len(n.ActionWrites) + len(n.Reads)
	if r.fields > maxFields {
		return fmt.Errorf("%q: with it tables read and write more than %d fields", n.ID, maxFields)
	}
	if len(r.g.Nodes) == MaxNodes {
		return fmt.Errorf("%q: more than %d nodes", n.ID, MaxNodes)
	}
	r.g.Nodes = append(r.g.Nodes, n)
	return nil
}

// edge adds an edge from a node with a label. An action that ends the pipeline (exit) does so whatever
// the next node is.
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
		return fmt.Errorf("table %q: %w", t.Name, err)
	}
	n := record.Node{ID: t.Name, Kind: record.Table, Keyless: len(t.Key) == 0}
	keys, use := set{}, newUse()
	for _, k := range t.Key {
		field, err := k.field()
		if err != nil {
			return fmt.Errorf("table %q: %w", t.Name, err)
		}
		keys[field] = true
	}
	profile := t.Profile
	if profile == "" {
		profile = t.OldProfile
	}
	for _, f := range r.selectors[profile] {
		keys[f] = true
	}
	for _, f := range r.meters[t.Name] {
		use.writes[f] = true
	}
	run, err := r.runs(t, actions)
	if err != nil {
		return fmt.Errorf("table %q: %w", t.Name, err)
	}
	for _, a := range run.hits {
		n.Actions = append(n.Actions, a.name)
	}
	// An action that is listed twice is added once, so that the cost of a list depends on the actions
	// in it only.
	byID := slices.SortedFunc(slices.Values(run.any), func(a, b *bmAction) int { return a.id - b.id })
	for _, a := range slices.Compact(byID) {
		use.add(a.use)
	}
	n.KeyReads, n.ActionReads, n.ActionWrites = keys.list(), use.reads.list(), use.writes.list()
	if err := r.add(n); err != nil {
		return err
	}
	if len(r.g.Edges) > MaxEdges {
		return fmt.Errorf("more than %d edges", MaxEdges)
	}
	if err := r.ways(t, actions, run); err != nil {
		return fmt.Errorf("table %q: %w", t.Name, err)
	}
	return nil
}

// field returns what a key compares: a field, or whether a header is valid.
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

// resolve finds the table's actions: by their ids if it has them, since names may
// stand for many actions; old files have names only, and each stands for one.
func (r *bmReader) resolve(t *bmTable) ([]*bmAction, error) {
	if n := max(len(t.ActionIDs), len(t.Actions)); n > maxActions {
		return nil, fmt.Errorf("%d actions, want at most %d", n, maxActions)
	}
	if t.ActionIDs != nil {
		actions := make([]*bmAction, len(t.ActionIDs))
		for i, id := range t.ActionIDs {
			if actions[i] = r.byID[id]; actions[i] == nil {
				return nil, fmt.Errorf("no action has id %d", id)
			}
		}
		return actions, nil
	}
	actions := make([]*bmAction, len(t.Actions))
	for i, name := range t.Actions {
		switch all := r.byName[name]; len(all) {
		case 0:
			return nil, fmt.Errorf("there is no action %q", name)
		case 1:
			actions[i] = all[0]
		default:
			return nil, fmt.Errorf("there are %d actions %q, want action_ids to tell them apart", len(all), name)
		}
	}
	return actions, nil
}

// ways adds the edges of a table: by hit and miss, or by its actions.
func (r *bmReader) ways(t *bmTable, actions []*bmAction, run bmRuns) error {
	_, hit := t.Next[bmHit]
	_, miss := t.Next[bmMiss]
	if hit || miss {
		if !hit || !miss || len(t.Next) != 2 {
			return fmt.Errorf("next_tables has %d keys and one of them is %s or %s, want just these two, or every action",
				len(t.Next), bmHit, bmMiss)
		}
		r.hitWays(t, run)
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
		way := t.Next[a.name]
		label := a.label()
		if often[a.name] > 1 {
			label = fmt.Sprintf("%s#%d", label, a.id)
		}
		r.edge(t.Name, label, next(way), a)
		to[next(way)] = true
	}
	// A miss without a default action runs none. It is an edge of its own only if it leads where no
	// action leads.
	if base := next(t.BaseNext); t.Default == nil && !run.never && !to[base] {
		r.edge(t.Name, record.Miss, base, nil)
	}
	return nil
}

// hitWays adds the edges of a table that branches by its hit.
func (r *bmReader) hitWays(t *bmTable, run bmRuns) {
	if hit := oneOf(run.hits); run.hit {
		hit.mayStay = hit.mayStay || len(run.hits) == 0
		r.edge(t.Name, record.Hit, next(t.Next[bmHit]), hit)
	}
	if miss := oneOf(run.misses); !run.never {
		miss.mayStay = miss.mayStay || t.Default == nil
		r.edge(t.Name, record.Miss, next(t.Next[bmMiss]), miss)
	}
}

func (r *bmReader) conditional(c *bmConditional) error {
	v, err := decodeValue(c.Expression)
	if err != nil {
		return fmt.Errorf("%q: expression: %w", c.Name, err)
	}
	use := newUse()
	r.read(use, v)
	r.edge(c.Name, "true", next(c.True), nil)
	r.edge(c.Name, "false", next(c.False), nil)
	return r.add(record.Node{ID: c.Name, Kind: record.Condition, Reads: use.reads.list()})
}

// call adds an action that the program runs without a table: as a table without key, as p4c does.
func (r *bmReader) call(c *bmCall) error {
	a := r.byID[c.Action]
	if a == nil {
		return fmt.Errorf("%q: no action has id %d", c.Name, c.Action)
	}
	r.edge(c.Name, a.label(), next(c.Next), a)
	return r.add(record.Node{
		ID: c.Name, Kind: record.Table, Keyless: true, Actions: []string{a.name},
		ActionReads: a.use.reads.list(), ActionWrites: a.use.writes.list(),
	})
}
