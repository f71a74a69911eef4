package recordplan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/record"
	"tamtam/tam/recordplan/check"
	"tamtam/tam/recordplan/p4graph"
)

// calibratedPrograms are the cases in the gate.
var calibratedPrograms = randtest.Cases{Seed: 1, Count: 60, Short: 10}

// A random program is planned for a random switch, and packets run through it. The decoded paths of each record include
// the packet's path, and an exact path equals it. The paths of each record are those of the checker, which shares no
// code with the decoder.
func TestRecordsOfRandomPrograms(t *testing.T) {
	var exact, several, tests, traps, met int
	c := randtest.Run(t, calibratedPrograms, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 77))
		p := randomlyPlanned(t, r)
		d, err := NewDecoder(p.Plan)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for range 300 {
			k := sendOne(r, p.Graph)
			bits := p.recorded(k)
			given := Knowledge{End: k.end, Not: k.not}
			if r.IntN(10) == 0 {
				given.End = "" // a reader may lack this knowledge
			}
			if r.IntN(4) == 0 {
				given.Not = 0
			}
			k.otherwise(r, p.Graph, &given)
			a, err := d.Decode(bits, given)
			if err != nil {
				t.Fatal(err)
			}
			holds(t, d, bits, given, k, a)
			if strings.Trim(given.Outcomes, "?") != "" {
				tests++
			}
			if given.Trap != 0 {
				traps++
			}
			if given.Met != "" {
				met++
			}
			if a.Exact {
				exact++
			} else {
				several++
			}
			if key := fmt.Sprint(string(bits), given); !seen[key] {
				seen[key] = true
				equalsListing(t, p.Plan, bits, given, a)
			}
		}
	})
	t.Logf("%d packets with an exact path, %d with several; %d told by tests, %d by traps, %d by identities", exact,
		several, tests, traps, met)
	if c.Whole(calibratedPrograms) && min(exact, several, tests, traps, met) < c.Count*20 {
		t.Errorf("too few of one of them in %d programs", c.Count)
	}
}

// A plannedProgram is a plan with the positions of its bits.
type plannedProgram struct{ *record.Plan }

// randomlyPlanned returns a random program with its plan, within limited work.
func randomlyPlanned(t *testing.T, r *rand.Rand) plannedProgram {
	t.Helper()
	s := shape{tables: 3 + r.IntN(10), conditions: r.IntN(8), parts: 1 + r.IntN(4), deps: r.Float64() / 2,
		placed: r.IntN(3) == 0}
	g, p := randomProgram(r, s)
	if r.IntN(4) > 0 {
		randomEnds(r, g)
	}
	randomTests(r, g)
	switch r.IntN(3) {
	case 0:
		p = p4graph.Uniform(g)
	case 1:
		p = p4graph.Random(g, r.Uint64())
	}
	m, err := NewModel(g, p)
	if err != nil {
		t.Fatal(err)
	}
	phv := []record.Containers{{8}, {16}, {8, 8}, {16, 16}, {32}, {8, 16, 32}}
	set := Settings{Containers: phv[r.IntN(len(phv))], Hits: r.IntN(2) == 0, Budget: 200,
		Algorithm: []string{record.Greedy, record.GreedyRestarts, record.BranchAndBound}[r.IntN(3)]}
	if set.Algorithm == record.BranchAndBound {
		set.Hits = false
	}
	if r.IntN(2) == 0 {
		set.Bits = 1 + r.IntN(set.Containers.Bits())
	}
	if !g.Placed {
		sp, err := m.newSpace(set.Containers, 0)
		if err != nil {
			t.Fatal(err)
		}
		set.Stages = sp.stages + r.IntN(3)
	}
	if r.IntN(3) == 0 {
		set.Must = randomMust(r, m, set)
	}
	plan, err := m.Plan(t.Context(), set)
	if err != nil && set.Must != nil { // the must-record tables do not fit
		set.Must = nil
		plan, err = m.Plan(t.Context(), set)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plannedProgram{plan}
}

// randomEnds sets the possible ends of packets for most exit edges, and restricts edges of some conditions to classes.
func randomEnds(r *rand.Rand, g *record.Graph) {
	g.Ends = []record.End{}
	for _, e := range g.Edges {
		if e.To == record.Exit && r.IntN(8) > 0 {
			how := []string{record.EndSent, record.EndCPU, "acl", "no-route"}
			r.Shuffle(len(how), func(i, j int) { how[i], how[j] = how[j], how[i] })
			g.Ends = append(g.Ends, record.End{From: e.From, Label: e.Label, How: how[:1+r.IntN(3)]})
		}
	}
	edges := map[[2]string]int{}
	for _, e := range g.Edges {
		edges[[2]string{e.From, e.Label}]++
		edges[[2]string{e.From, "> " + e.To}]++
	}
	of := []record.Classes{record.ClassIPv4, record.ClassIPv6, record.ClassUnicast, record.ClassGroup}
	for _, e := range g.Edges {
		only := edges[[2]string{e.From, e.Label}] == 1 && edges[[2]string{e.From, "> " + e.To}] == 1 && e.To != record.Exit
		another := slices.ContainsFunc(g.Only, func(o record.Only) bool { return o.From == e.From })
		if only && !another && r.IntN(5) == 0 { // at least one edge is open to every packet
			g.Only = append(g.Only, record.Only{From: e.From, Label: e.Label, Class: record.ClassName(of[r.IntN(4)])})
		}
	}
}

// randomTests makes records evaluate some conditions whose edges are not restricted.
func randomTests(r *rand.Rand, g *record.Graph) {
	labels := map[string][]string{}
	for _, e := range g.Edges {
		labels[e.From] = append(labels[e.From], e.Label)
	}
	for _, n := range g.Nodes {
		asks := slices.Contains(labels[n.ID], "true") && slices.Contains(labels[n.ID], "false") && len(labels[n.ID]) == 2
		only := slices.ContainsFunc(g.Only, func(o record.Only) bool { return o.From == n.ID })
		if n.Kind == record.Condition && asks && !only && r.IntN(2) == 0 {
			g.Tests = append(g.Tests, record.Test{From: n.ID})
		}
	}
	g.Traps = make([]record.Trap, 3)
	for i := range g.Traps {
		if n := g.Nodes[r.IntN(len(g.Nodes))]; i > 0 && n.Kind == record.Table && !n.Keyless {
			g.Traps[i] = record.Trap{Name: n.ID, Table: n.ID, Outcome: []string{record.Hit, record.Miss, ""}[r.IntN(3)]}
		}
	}
}

// otherwise adds further knowledge of a record: tests, a trap, and identities.
func (k *sentOne) otherwise(r *rand.Rand, g *record.Graph, known *Knowledge) {
	if r.IntN(3) > 0 {
		for _, x := range g.Tests {
			out := "ft?"[r.IntN(3):][:1]
			if label, passed := k.labels[x.From]; passed && out != "?" {
				out = label[:1]
			}
			known.Outcomes += out
		}
	}
	for i, t := range g.Traps {
		for _, s := range k.path {
			fits := t.Outcome == "" || s.Hit == (t.Outcome == record.Hit)
			if t.Table != "" && s.Table == t.Table && fits && r.IntN(2) == 0 {
				known.Trap = uint8(i)
			}
		}
	}
	for _, s := range k.path {
		switch {
		case r.IntN(12) > 0:
		case s.Hit && r.IntN(2) == 0:
			known.Met += s.Table + " " + record.Hit + ";"
		default:
			known.Met += s.Table + " ;"
		}
	}
}

// A sentOne is the trace of a packet.
type sentOne struct {
	path   []record.Step
	labels map[string]string // labels taken at conditions
	end    string
	not    record.Classes // classes that the packet does not have
}

// sendOne sends a packet through a graph, node by node.
func sendOne(r *rand.Rand, g *record.Graph) (k sentOne) {
	edges := map[string][]record.Edge{}
	for _, e := range g.Edges {
		edges[e.From] = append(edges[e.From], e)
	}
	kind := map[string]record.Node{}
	for _, n := range g.Nodes {
		kind[n.ID] = n
	}
	k.not, k.labels = record.Classes(r.IntN(16)), map[string]string{}
	for at := g.Init; at != record.Exit; {
		e := edges[at][r.IntN(len(edges[at]))]
		for _, o := range g.Only { // the packet has taken this edge, so it is of the class
			for c := record.ClassIPv4; o.From == at && o.Label == e.Label && c <= record.ClassGroup; c <<= 1 {
				if record.ClassName(c) == o.Class {
					k.not &^= c
				}
			}
		}
		if kind[at].Kind == record.Table {
			s := record.Step{Table: at, Hit: e.Label == record.Hit}
			if slices.ContainsFunc(edges[at], func(e record.Edge) bool {
				return e.Label != record.Hit && e.Label != record.Miss
			}) {
				s.Hit = !kind[at].Keyless && r.IntN(2) == 0
			}
			k.path = append(k.path, s)
		}
		if kind[at].Kind == record.Condition {
			k.labels[at] = e.Label
		}
		if at = e.To; at == record.Exit {
			k.end = []string{record.EndSent, record.EndCPU, "acl", "no-route", "nobody names it"}[r.IntN(5)]
			for _, x := range g.Ends {
				if x.From == e.From && x.Label == e.Label {
					k.end = x.How[r.IntN(len(x.How))]
				}
			}
		}
	}
	return k
}

// recorded returns the record of a packet.
func (p plannedProgram) recorded(k sentOne) []byte {
	phv, _ := p.Containers()
	values := make([]uint32, len(phv))
	for _, s := range k.path {
		for _, m := range p.Recorded {
			if m.Table != s.Table {
				continue
			}
			if m.Ran != nil {
				values[m.Container] |= 1 << *m.Ran
			}
			if m.Hit != nil && s.Hit {
				values[m.Container] |= 1 << *m.Hit
			}
		}
	}
	var b []byte
	for i, v := range values {
		for at := int(phv[i]) - 8; at >= 0; at -= 8 {
			b = append(b, byte(v>>at))
		}
	}
	return b
}

// holds requires that the decoded paths of a record include the packet's path.
func holds(t *testing.T, d *Decoder, bits []byte, known Knowledge, k sentOne, a Answer) {
	t.Helper()
	end := known.End
	name := func(l Likely) bool {
		if len(l.Path) != len(k.path) {
			return false
		}
		for i, s := range k.path {
			if l.Path[i].Table != s.Table || l.HitKnown[i] && l.Path[i].Hit != s.Hit {
				return false
			}
		}
		return true
	}
	switch {
	case a.Impossible:
		t.Fatalf("record %x, %s, of a packet that went %v: %s", bits, end, k.path, a.Why)
	case a.Exact && !name(a.Paths[0]):
		t.Fatalf("record %x, %s, of a packet that went %v is said to be %v", bits, end, k.path, a.Paths[0])
	case a.Total == fmt.Sprint(len(a.Paths)) && !slices.ContainsFunc(a.Paths, name):
		t.Fatalf("record %x, %s, of a packet that went %v, which is none of %v", bits, end, k.path, a.Paths)
	}
	sum := 0.0
	for _, l := range a.Paths {
		sum += l.P
	}
	if sum > 1+1e-9 || a.Exact && math.Abs(sum-1) > 1e-9 {
		t.Fatalf("record %x: paths of probability %v", bits, sum)
	}
	ran := map[string]record.Step{}
	for _, s := range k.path {
		ran[s.Table] = s
	}
	for i, says := range d.TableResults(bits, known) {
		id := d.Tables()[i]
		s, did := ran[id]
		if did && says.Ran == Never || !did && says.Ran == Always || s.Hit && says.Hit == Never ||
			!s.Hit && says.Hit == Always {
			t.Fatalf("record %x, %s, of a packet that went %v says of %s %+v", bits, end, k.path, id, says)
		}
	}
}

// equalsListing requires that a record is decoded to the paths that the checker finds.
func equalsListing(t *testing.T, p *record.Plan, bits []byte, given Knowledge, a Answer) {
	t.Helper()
	end := given.End
	known := check.Known{End: given.End, Not: given.Not, Labels: map[string]string{}}
	if given.Trap != 0 {
		known.Met = append(known.Met, p.Graph.Traps[given.Trap])
	}
	for s := range strings.SplitSeq(given.Met, ";") {
		if table, outcome, ok := strings.Cut(s, " "); ok {
			known.Met = append(known.Met, record.Trap{Table: table, Outcome: outcome})
		}
	}
	for i, x := range given.Outcomes {
		if x != '?' {
			known.Labels[p.Graph.Tests[i].From] = map[rune]string{'t': "true", 'f': "false"}[x]
		}
	}
	paths, ok := check.Paths(p, bits, known, 200_000)
	if !ok {
		return // too many
	}
	names := map[string]bool{}
	for _, path := range paths {
		names[strings.Join(path, " ")] = true
	}
	if a.Total != fmt.Sprint(len(names)) || len(names) != len(paths) {
		t.Fatalf("record %x, %s: %s paths, the checker lists %d", bits, end, a.Total, len(paths))
	}
	for _, l := range a.Paths {
		if !names[tablesOf(l.Path)] {
			t.Fatalf("record %x, %s: %v, which the checker does not list", bits, end, l)
		}
	}
}
