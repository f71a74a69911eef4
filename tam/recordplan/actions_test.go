package recordplan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/record"
	"tamtam/tam/recordplan/check"
	"tamtam/tam/recordplan/p4graph"
)

// giveActions gives actions to tables with a key, and labels some edges that do not distinguish hits from misses with
// them.
func giveActions(r *rand.Rand, g *record.Graph) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Kind != record.Table || n.Keyless || r.IntN(5) == 0 {
			continue
		}
		for a := range 1 + r.IntN(6) {
			n.Actions = append(n.Actions, fmt.Sprint("a", a))
		}
		tells := true
		for _, e := range g.Edges {
			tells = tells && (e.From != n.ID || e.Label == record.Hit || e.Label == record.Miss)
		}
		for k := range g.Edges {
			if e := &g.Edges[k]; !tells && e.From == n.ID && r.IntN(4) > 0 {
				e.Label = n.Actions[r.IntN(len(n.Actions))]
			} else if !tells && e.From == n.ID && r.IntN(2) == 0 {
				e.Label = ""
			}
		}
	}
}

// A run is a packet's path through a graph and its record. acts holds the action of each table with a key that hit.
type run struct {
	path []record.Step
	acts []string
	bits []byte
}

// runThrough sends a packet through the graph, and sets bits as the plan requires.
func runThrough(r *rand.Rand, p *record.Plan) run {
	c, _ := p.Containers()
	marks, _ := p.Marks()
	word := uint64(0)
	x := run{bits: make([]byte, c.Bytes())}
	for at := p.Graph.Init; at != record.Exit; {
		n := &p.Graph.Nodes[slices.IndexFunc(p.Graph.Nodes, func(n record.Node) bool { return n.ID == at })]
		var edges []record.Edge
		tells := true
		for _, e := range p.Graph.Edges {
			if e.From == at {
				edges = append(edges, e)
				tells = tells && (e.Label == record.Hit || e.Label == record.Miss)
			}
		}
		e := edges[r.IntN(len(edges))]
		acts := p.Graph.Acts()[at]
		hit, act := r.IntN(2) == 0 && !n.Keyless, ""
		if n.Kind == record.Table && tells {
			hit = e.Label == record.Hit
		}
		if !tells && e.Label == record.Miss {
			hit = false
		}
		if hit && acts != nil {
			if act = acts[r.IntN(len(acts))]; !tells && e.Label != "" && slices.Contains(acts, e.Label) {
				act = e.Label
			}
		}
		if n.Kind == record.Table {
			x.path, x.acts = append(x.path, record.Step{Table: at, Hit: hit}), append(x.acts, act)
			for _, m := range marks {
				if m.Table == at && (!m.Hit || hit) && (m.Of == nil || slices.Contains(m.Of, act)) {
					word |= 1 << m.Bit
				}
			}
		}
		at = e.To
	}
	c.Put(x.bits, word)
	return x
}

// The figures of plans with actions are correct by the independent checker. The decoded paths of a record include the
// packet's path, and equal it where the result is certain.
func TestActions(t *testing.T) {
	said, open := 0, 0
	shapes := []shape{{tables: 4, conditions: 3, parts: 3, deps: 0.4}, {tables: 7, conditions: 4, parts: 1},
		{tables: 4, conditions: 3, parts: 2, placed: true}}
	fixed := randtest.Cases{Count: 100}
	run := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 9))
		g, _ := randomProgram(r, shapes[r.IntN(len(shapes))])
		giveActions(r, g)
		m, err := NewModel(g, p4graph.Random(g, seed))
		if err != nil {
			t.Fatal(err)
		}
		s := Settings{Containers: record.Containers{8, 8}, Bits: 1 + r.IntN(16), Actions: true,
			Algorithm: []string{record.Greedy, record.GreedyRestarts}[r.IntN(2)]}
		if !g.Placed {
			s.Stages = 12
		}
		p, err := m.Plan(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := check.Plan(p); err != nil {
			t.Fatal(err)
		}
		d, err := NewDecoder(p)
		if err != nil {
			t.Fatal(err)
		}
		sim, err := Simulate(context.Background(), p, 300, seed)
		if err != nil || sim.Wrong+sim.Impossible > 0 {
			t.Fatalf("%+v, %v", sim, err)
		}
		for range 60 {
			a, b := reads(t, d, runThrough(r, p))
			said, open = said+a, open+b
		}
	})
	if !testing.Short() && run.Whole(fixed) && (said == 0 || open == 0) {
		t.Errorf("%d actions were told, %d left open, want some of both", said, open)
	}
}

// reads compares the decoded paths of a record with the packet. It returns the number of known actions and the number
// of open ones.
func reads(t *testing.T, d *Decoder, x run) (said, open int) {
	t.Helper()
	a, err := d.Decode(x.bits, Knowledge{})
	if err != nil {
		t.Fatal(err)
	}
	want := tablesOf(x.path)
	i := slices.IndexFunc(a.Paths, func(l Likely) bool { return tablesOf(l.Path) == want })
	if i < 0 && (a.Exact || a.Impossible || len(a.Paths) < MaxLikely) {
		t.Fatalf("record %x of %v is read as %+v", x.bits, x, a)
	}
	paths, all := check.Paths(d.Plan(), x.bits, check.Known{}, 100_000)
	if all && fmt.Sprint(len(paths)) != a.Total {
		t.Fatalf("record %x is read as %s paths, want %v", x.bits, a.Total, paths)
	}
	if i < 0 {
		return 0, 0
	}
	l := a.Paths[i]
	for k, s := range l.Path {
		acts := l.Actions[k]
		switch {
		case l.HitKnown[k] && s.Hit != x.path[k].Hit:
			t.Fatalf("record %x: %s, want %+v", x.bits, l, x)
		case acts == nil:
		case !slices.Contains(acts, x.acts[k]) || len(acts) == 1 && s.Action != x.acts[k]:
			t.Fatalf("record %x: %s, and %s ran %q", x.bits, l, s.Table, x.acts[k])
		case len(acts) == 1:
			said++
		default:
			open++
		}
	}
	return said, open
}

// Bits that no action of a table sets make a record impossible. Wrong actions in a plan are refused.
func TestActionsRefused(t *testing.T) {
	g := &record.Graph{Pipeline: "ingress", Init: "t", Nodes: []record.Node{
		{ID: "t", Kind: record.Table, Actions: []string{"a", "b", "c"}}},
		Edges: []record.Edge{{From: "t", To: record.Exit}}}
	plan := func(of ...[]string) *record.Plan {
		p := &record.Plan{Pipeline: "ingress", PHV: "8", Graph: g, Mode: record.ModeAction,
			Recorded: []record.Recorded{{Table: "t", Bits: len(of)}}}
		for i, o := range of {
			p.Recorded[0].Actions = append(p.Recorded[0].Actions, record.ActionBit{Bit: i, Of: o})
		}
		return p
	}
	d, err := NewDecoder(plan([]string{"b"}, []string{"c"}))
	if err != nil {
		t.Fatal(err)
	}
	for b, want := range []string{"t", "t hit (b)", "t hit (c)", "t hit (b)"} {
		a, _ := d.Decode([]byte{byte(b)}, Knowledge{})
		if len(a.Paths) != 1 || a.Paths[0].String() != want && b != 3 || a.Impossible != (b == 3) {
			t.Errorf("bits %d: %+v, want %s", b, a, want)
		}
		if b == 3 &&
			a.Why != "no path of the graph has this record; the closest has it but that no action of t sets its bits so" {
			t.Errorf("bits 3: %s", a.Why)
		}
	}
	m, err := NewModel(g, p4graph.Uniform(g))
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []string{record.BranchAndBound, record.BruteForce} {
		_, err := m.Plan(t.Context(), Settings{Containers: record.Containers{8}, Actions: true, Algorithm: algorithm})
		if want := fmt.Sprintf("algorithm %q, want greedy or greedy-restarts where actions are recorded",
			algorithm); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, p := range []*record.Plan{plan([]string{"d"}), plan(nil)} {
		if _, err := NewDecoder(p); err == nil {
			t.Errorf("%+v is read", p.Recorded)
		}
		if check.Plan(p) == nil {
			t.Errorf("%+v holds", p.Recorded)
		}
	}
}

// Any plan with actions is either refused or can decode records. Each action on a decoded path belongs to its table.
func FuzzActions(f *testing.F) {
	graph := `"graph":{"pipeline":"ingress","init":"t","nodes":[{"id":"t","kind":"table","actions":["a","b","c"]},
	 {"id":"u","kind":"table"}],
		"edges":[["t","u","a"],["t",null,"miss"],["t","u"],["u",null,"hit"],["u","EXIT","x"],["u","EXIT","y"]]}`
	f.Add([]byte(`{"id":1,"phv":"8","mode":"exec+action","recorded":[{"table":"t","bits":3,"hit":0,"actions":[{"bit":1,
	 "of":["b"]},{"bit":2,"of":["a","c"]}]},
		{"table":"u","hit":3,"ran":4,"actions":[{"bit":7,"of":["x"]}]}],`+graph+`}`), []byte{0b101})
	f.Add([]byte(`{"phv":"8","recorded":[{"table":"t","actions":[{"bit":1,"of":["d"]}]}],`+graph+`}`), []byte{2})
	f.Add([]byte(
		`{"phv":"8","recorded":[{"table":"t","actions":[{"bit":1,"of":["a"]}]},{"table":"t","actions":[{"bit":2,`+
			`"of":["a"]}]}],`+graph+`}`), []byte{6})
	f.Fuzz(func(t *testing.T, text, bits []byte) {
		p, err := record.ReadPlan(text)
		if err != nil || p.Graph != nil && len(p.Graph.Nodes)+len(p.Graph.Edges) > 200 {
			return
		}
		d, err := NewDecoder(p)
		if err != nil {
			return
		}
		c, err := p.Containers()
		if err != nil {
			t.Fatal(err)
		}
		has := p.Graph.Acts()
		a, err := d.Decode(append(bits, make([]byte, c.Bytes())...)[:c.Bytes()], Knowledge{})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range a.Paths {
			for i, acts := range l.Actions {
				for _, act := range acts {
					if table := l.Path[i].Table; !slices.Contains(has[table], act) {
						t.Fatalf("%s has run action %q, want one of %q", table, act, has[table])
					}
				}
			}
		}
	})
}
