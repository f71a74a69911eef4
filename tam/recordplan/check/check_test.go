package check_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tamtam/tam/record"
	"tamtam/tam/recordplan/check"
)

func at(i int) *int { return &i }

// goodPlan returns a plan that records x, y and z. After a table that all packets run, a packet runs x or y, and
// perhaps z.
func goodPlan() *record.Plan {
	g := &record.Graph{
		Pipeline: "ingress", Init: "all",
		Nodes: []record.Node{
			{ID: "all", Kind: record.Table}, {ID: "x", Kind: record.Table}, {ID: "y", Kind: record.Table, Keyless: true},
			{ID: "if", Kind: record.Condition}, {ID: "z", Kind: record.Table},
		},
		Edges: []record.Edge{
			{From: "all", To: "x", Label: record.Hit}, {From: "all", To: "y", Label: record.Miss},
			{From: "x", To: "if", Label: "set"}, {From: "y", To: "if", Label: "set"},
			{From: "if", To: "z", Label: "true"}, {From: "if", To: record.Exit, Label: "false"},
			{From: "z", To: record.Exit, Label: "set"},
		},
		Deps: []record.Dep{{From: "all", To: "x", Kinds: []string{record.DepMatch}},
			{From: "x", To: "z", Kinds: []string{record.DepAnti}}},
	}
	to := func(s string) *string { return &s }
	p := record.Probabilities{
		Edges: []record.EdgeProbability{
			{From: "all", To: to("x"), P: 0.5}, {From: "all", To: to("y"), P: 0.5}, {From: "x", To: to("if"), P: 1},
			{From: "y", To: to("if"), P: 1},
			{From: "if", To: to("z"), P: 0.5}, {From: "if", P: 0.5}, {From: "z", P: 1},
		},
		Hits: map[string]float64{"x": 0.5, "z": 0.5},
	}
	return &record.Plan{
		Pipeline: "ingress", PHV: "8+8", Mode: record.ModeHit, Stages: 3, MustRecord: []string{"z"},
		Recorded: []record.Recorded{
			{Table: "x", Bits: 2, Container: 0, Stage: 1, Ran: at(0), Hit: at(1)},
			{Table: "z", Bits: 1, Container: 0, Stage: 2, Ran: at(2)},
		},
		Placement: map[string]int{"all": 0, "x": 1, "y": 1, "z": 2},
		Entropy:   2.5, Bound: 2.5, Full: 3, Recovery: 1,
		Graph: g, Chances: record.Chances{Probabilities: &p},
	}
}

func TestPlan(t *testing.T) {
	if err := check.Plan(goodPlan()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func(p *record.Plan)
		want  string
	}{
		{"no graph", func(p *record.Plan) { p.Graph = nil }, "without its graph"},
		{"bad graph", func(p *record.Plan) { p.Graph.Edges[6].To = "all" }, "the graph has a cycle"},
		{"containers", func(p *record.Plan) { p.PHV = "12" }, `containers "12"`},
		{"C1", func(p *record.Plan) { p.Placement["y"] = 3 }, `C1: table "y" is in stage 3, want 0 to 2`},
		{"C1, none", func(p *record.Plan) { delete(p.Placement, "y") }, `C1: table "y" has no stage`},
		{"C2", func(p *record.Plan) { p.Recorded[0].Container = 2 }, `C2: table "x" writes container 2`},
		{"C3", func(p *record.Plan) { p.Recorded[0].Hit = at(8) }, `C3: table "x" writes bit 8 of container 0`},
		{"C3, twice", func(p *record.Plan) { p.Recorded[1].Ran = at(1) }, `C3: tables "x" and "z" write bit 1`},
		{"C4, strict", func(p *record.Plan) { p.Placement["all"] = 1 }, `C4: table "all" in stage 1, and "x"`},
		{"C4, not strict", func(p *record.Plan) { p.Placement["z"], p.Recorded[1].Stage = 0, 0 },
			`C4: table "x" in stage 1, and "z"`},
		{"C4, placed", func(p *record.Plan) { p.Graph.Placed = true },
			`C4: table "x" is in stage 1 of the plan, and in stage 0 of the chip`},
		{"C5", func(p *record.Plan) { p.Placement["z"], p.Recorded[1].Stage = 1, 1 },
			`C5: tables "x" and "z" both write container 0 in stage 1`},
		{"stage", func(p *record.Plan) { p.Recorded[1].Stage = 1 }, `table "z" records in stage 1, and is in stage 2`},
		{"no table", func(p *record.Plan) { p.Recorded[1].Table = "if" }, `recorded "if" is no table`},
		{"twice", func(p *record.Plan) { p.Recorded[1].Table = "x" }, `table "x" is recorded twice`},
		{"bits", func(p *record.Plan) { p.Recorded[0].Bits = 1 }, `table "x" has 1 bits and writes 2`},
		{"hit in exec", func(p *record.Plan) { p.Mode = record.ModeExecution }, `table "x" records its hit in mode exec`},
		{"hit without key", func(p *record.Plan) { p.Recorded[0].Table = "y" }, `table "y" has no key`},
		{"hit alone", func(p *record.Plan) { p.Recorded[0].Ran, p.Recorded[0].Bits = nil, 1 },
			`table "x" records its hit and not whether it ran`},
		{"cut ran", func(p *record.Plan) { p.Recorded[1].Table = "all" },
			`table "all" records that it ran, which every packet does`},
		{"must", func(p *record.Plan) { p.Recorded = p.Recorded[:1] }, `table "z" must be recorded`},
		{"entropy", func(p *record.Plan) { p.Entropy = 2 }, "entropy 2, want 2.5"},
		{"full", func(p *record.Plan) { p.Full = 4 }, "full entropy 4, want 3"},
		{"recovery", func(p *record.Plan) { p.Recovery = 0.5 }, "recovery 0.5, want 1"},
		{"bound", func(p *record.Plan) { p.Bound = 2.4 }, "entropy 2.5 above its bound 2.4"},
	} {
		p := goodPlan()
		c.spoil(p)
		if err := check.Plan(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Exclusion and a common unit allow what C5 otherwise forbids.
func TestExemptions(t *testing.T) {
	p := goodPlan()
	p.Recorded[1] = record.Recorded{Table: "y", Bits: 1, Container: 0, Stage: 1, Ran: at(2)}
	p.MustRecord = nil
	p.Entropy, p.Bound, p.Recovery = 1.5, 1.5, 0
	if err := check.Plan(p); err != nil {
		t.Errorf("x and y exclude each other: %v", err)
	}
	p = goodPlan()
	p.Placement["z"], p.Recorded[1].Stage = 1, 1
	for i := range p.Graph.Nodes {
		p.Graph.Nodes[i].Unit = "one"
	}
	if err := check.Plan(p); err != nil {
		t.Errorf("one unit: %v", err)
	}
}

// The checker ends without a panic for any plan.
func FuzzPlan(f *testing.F) {
	text, err := json.Marshal(goodPlan())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		var p record.Plan
		if json.Unmarshal(text, &p) == nil {
			_ = check.Plan(&p)
		}
	})
}
