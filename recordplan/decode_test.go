package recordplan

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tamtam/record"
)

func atBit(i int) *int { return &i }

// decodeGraph is figure 4 of the paper: 0.2 of packets run B, 0.5 run C and 0.3 neither.
// The paper does not split the last; here 0.2 run D and 0.1 do not.
func decodeGraph() (*record.Graph, *record.Probabilities) {
	table := func(id string) record.Node { return record.Node{ID: id, Kind: record.Table} }
	cond := func(id string) record.Node { return record.Node{ID: id, Kind: record.Condition} }
	g := &record.Graph{Program: "fig4", Pipeline: "ingress", Init: "A",
		Nodes: []record.Node{table("A"), cond("X"), table("B"), cond("Y"), table("C"), table("D"), table("E")},
		Edges: []record.Edge{{From: "A", To: "X"}, {From: "A", To: "E"}, {From: "X", To: "B"}, {From: "X", To: "Y"}, {From: "B", To: "D"},
			{From: "Y", To: "C"}, {From: "Y", To: "D"}, {From: "C", To: "D"}, {From: "D", To: "E"}, {From: "E", To: record.Exit}}}
	to := func(s string) *string { return &s }
	p := &record.Probabilities{Edges: []record.EdgeProbability{
		{From: "A", To: to("X"), P: 0.9}, {From: "A", To: to("E"), P: 0.1},
		{From: "X", To: to("B"), P: 0.2 / 0.9}, {From: "X", To: to("Y"), P: 0.7 / 0.9},
		{From: "Y", To: to("C"), P: 0.5 / 0.7}, {From: "Y", To: to("D"), P: 0.2 / 0.7}}}
	return g, p
}

func decodePlan(recorded ...record.Recorded) *record.Plan {
	g, p := decodeGraph()
	plan := &record.Plan{Pipeline: "ingress", PHV: "8", Mode: record.ModeExecution, Recorded: recorded, Graph: g, Probabilities: p}
	plan.Seal()
	return plan
}

// What records of {B, C} say, whose third value two paths have.
func TestDecodeFigure4(t *testing.T) {
	d, err := NewDecoder(decodePlan(record.Recorded{Table: "B", Bits: 1, Ran: atBit(0)}, record.Recorded{Table: "C", Bits: 1, Ran: atBit(1)}))
	if err != nil {
		t.Fatal(err)
	}
	if n := d.AllPaths(); n != "4" {
		t.Errorf("%s paths, want 4", n)
	}
	for _, tt := range []struct {
		bits  byte
		total string
		paths string // with probabilities
		why   string
	}{
		{0b01, "1", "A > B > D > E 1.000", ""},
		{0b10, "1", "A > C > D > E 1.000", ""},
		{0b00, "2", "A > D > E 0.667; A > E 0.333", ""},
		{0b11, "0", "A > C > D > E 0.000", "no path of the graph has this record; the closest has it but that B ran"},
		{0b101, "0", "", "bit 2 is set, which no table of the plan sets"},
	} {
		a, err := d.Decode([]byte{tt.bits})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, l := range a.Paths {
			paths = append(paths, fmt.Sprintf("%v %.3f", l, l.P))
		}
		if got := strings.Join(paths, "; "); got != tt.paths || a.Total != tt.total || a.Why != tt.why || a.Impossible != (tt.total == "0") || a.Exact != (tt.total == "1") {
			t.Errorf("%03b: %s %q %q exact %v, want %s %q %q", tt.bits, a.Total, got, a.Why, a.Exact, tt.total, tt.paths, tt.why)
		}
	}
	if _, err := d.Decode([]byte{1, 2}); err == nil || !strings.Contains(err.Error(), "a record of 2 bytes, want the 1 of plan") {
		t.Error(err)
	}
}

// Every answer equals that of listing all paths, on small random graphs with random
// plans.
func TestDecodeEqualsEnumeration(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		plan := randomDecodePlan(r)
		d, err := NewDecoder(plan)
		if err != nil {
			t.Fatal(err)
		}
		want := listRecords(t, d)
		all := 0
		for bits, paths := range want {
			a, err := d.Decode([]byte(bits))
			if err != nil {
				t.Fatal(err)
			}
			var sum float64
			for _, p := range paths {
				sum += p
			}
			all += len(paths)
			if a.Total != fmt.Sprint(len(paths)) || a.Exact != (len(paths) == 1) || a.Impossible || len(a.Paths) != min(len(paths), MaxLikely) {
				t.Fatalf("%+v\nrecord %x: %+v\nwant %v", plan, bits, a, paths)
			}
			for i, l := range a.Paths {
				name := tablesOf(l.Path)
				p, ok := paths[name]
				if !ok || math.Abs(l.P-p/sum) > 1e-9 {
					t.Fatalf("record %x: %s has %v, want %v", bits, name, l.P, p/sum)
				}
				if i > 0 && l.P > a.Paths[i-1].P+1e-9 {
					t.Fatalf("record %x: %v is not in order", bits, a.Paths)
				}
			}
		}
		for b := range 256 {
			if _, ok := want[string([]byte{byte(b)})]; !ok {
				if a, _ := d.Decode([]byte{byte(b)}); !a.Impossible || a.Why == "" {
					t.Fatalf("record %02x, which no path has: %+v", b, a)
				}
			}
		}
	}
}

func tablesOf(path []record.Step) string {
	var ids []string
	for _, s := range path {
		ids = append(ids, s.Table)
	}
	return strings.Join(ids, " ")
}

// randomDecodePlan makes a graph of up to twelve nodes and a plan of up to 8 bits.
func randomDecodePlan(r *rand.Rand) *record.Plan {
	g := &record.Graph{Pipeline: "ingress", Init: "n0"}
	n := 1 + r.IntN(12)
	for i := range n {
		node := record.Node{ID: fmt.Sprint("n", i), Kind: record.Table, Keyless: r.IntN(4) == 0}
		if r.IntN(3) == 0 {
			node.Kind, node.Keyless = record.Condition, false
		}
		g.Nodes = append(g.Nodes, node)
		labels := []string{"x", "y"}
		if node.Kind == record.Table && r.IntN(2) == 0 && !node.Keyless {
			labels = []string{record.Hit, record.Miss}
		}
		for k := range 2 {
			to := record.Exit
			if next := i + 1 + r.IntN(4); next < n {
				to = fmt.Sprint("n", next)
			}
			g.Edges = append(g.Edges, record.Edge{From: node.ID, To: to, Label: labels[k]})
		}
	}
	plan := &record.Plan{Pipeline: "ingress", PHV: "8", Graph: g, Mode: record.ModeHit}
	free := 0
	for _, i := range r.Perm(n) {
		if g.Nodes[i].Kind != record.Table || free == 8 || r.IntN(4) == 0 {
			continue
		}
		m := record.Recorded{Table: g.Nodes[i].ID, Bits: 1, Ran: atBit(free)}
		free++
		if !g.Nodes[i].Keyless && free < 8 && r.IntN(2) == 0 {
			m.Hit = atBit(free)
			free++
			if r.IntN(4) == 0 {
				m.Ran = nil
			}
		}
		plan.Recorded = append(plan.Recorded, m)
	}
	plan.Seal()
	return plan
}

// listRecords walks all ways through the graph, node by node, and gives the table
// sequences of each record with their probabilities.
func listRecords(t *testing.T, d *Decoder) map[string]map[string]float64 {
	t.Helper()
	c := d.chain
	records := map[string]map[string]float64{}
	w := newWalk(d)
	var step func(at int, path []string, bits []byte, p float64)
	step = func(at int, path []string, bits []byte, p float64) {
		if at == len(c.nodes) {
			if records[string(bits)] == nil {
				records[string(bits)] = map[string]float64{}
			}
			records[string(bits)][strings.Join(path, " ")] += p
			return
		}
		node := c.nodes[at]
		for _, way := range node.ways {
			for _, hit := range []bool{true, false} {
				share, can := way.miss, way.canMiss
				if hit {
					share, can = way.hit, way.canHit
				}
				if !can {
					continue
				}
				after, now := path, bits
				if node.table >= 0 {
					after = append(slices.Clone(path), c.tables[node.table].id)
					w.bits = slices.Clone(bits)
					w.set(w.ran[node.table])
					if hit {
						w.set(w.hit[node.table])
					}
					now = w.bits
				}
				step(int(way.to), after, now, p*share)
			}
		}
	}
	step(c.first, nil, make([]byte, d.containers.Bytes()), 1)
	return records
}

// A graph of many tables has more paths than fit any word, and they are counted all
// the same.
func TestDecodeCountsBeyondWords(t *testing.T) {
	g := &record.Graph{Pipeline: "ingress", Init: "c0"}
	const n = 200
	id := func(kind string, i int) string {
		if i == n {
			return record.Exit
		}
		return fmt.Sprint(kind, i)
	}
	for i := range n {
		g.Nodes = append(g.Nodes, record.Node{ID: id("c", i), Kind: record.Condition}, record.Node{ID: id("t", i), Kind: record.Table})
		g.Edges = append(g.Edges, record.Edge{From: id("c", i), To: id("t", i)}, record.Edge{From: id("c", i), To: id("c", i+1)}, record.Edge{From: id("t", i), To: id("c", i+1)})
	}
	plan := &record.Plan{PHV: "8", Graph: g, Recorded: []record.Recorded{{Table: "t7", Ran: atBit(0)}}}
	d, err := NewDecoder(plan)
	if err != nil {
		t.Fatal(err)
	}
	if want := new(big.Int).Lsh(big.NewInt(1), n).String(); d.AllPaths() != want {
		t.Errorf("%s paths, want %s", d.AllPaths(), want)
	}
	a, err := d.Decode([]byte{1})
	if want := new(big.Int).Lsh(big.NewInt(1), n-1).String(); err != nil || a.Total != want || len(a.Paths) != MaxLikely {
		t.Errorf("%s paths, want %s: %v", a.Total, want, err)
	}
}

// Packets are recovered where their record is theirs alone.
func TestSimulate(t *testing.T) {
	b, c := record.Recorded{Table: "B", Bits: 1, Ran: atBit(0)}, record.Recorded{Table: "C", Bits: 1, Ran: atBit(1)}
	for _, tt := range []struct {
		recorded []record.Recorded
		rate     float64
	}{
		{[]record.Recorded{b, c}, 0.7},
		{[]record.Recorded{b, c, {Table: "D", Bits: 1, Ran: atBit(2)}}, 1},
		{[]record.Recorded{c}, 0.5},
		{nil, 0},
	} {
		s, err := Simulate(t.Context(), decodePlan(tt.recorded...), 20000, 1)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.Rate-tt.rate) > 0.02 || s.Wrong+s.Impossible != 0 || s.Recovered+s.Ambiguous != s.Packets {
			t.Errorf("%+v, want a rate of %v", s, tt.rate)
		}
		again, _ := Simulate(t.Context(), decodePlan(tt.recorded...), 20000, 1)
		if !reflect.DeepEqual(s, again) {
			t.Errorf("another result from the same seed: %+v, %+v", s, again)
		}
	}
}

// Graphs that cannot be are refused, and say why.
func TestDecoderRefuses(t *testing.T) {
	for _, tt := range []struct {
		change func(p *record.Plan)
		want   string
	}{
		{func(p *record.Plan) { p.Graph = nil }, "has no graph"},
		{func(p *record.Plan) { p.PHV = "7" }, `containers "7"`},
		{func(p *record.Plan) { p.Recorded[0].Table = "Z" }, `it records "Z", which is no table of its graph`},
		{func(p *record.Plan) { p.Recorded[0].Table = "X" }, `it records "X", which is no table of its graph`},
		{func(p *record.Plan) { p.Graph.Edges[9].To = "A" }, `node "A" leads back to itself`},
		{func(p *record.Plan) { p.Graph.Edges[9].To = "Z" }, `edge from "E" to "Z", which is no node`},
		{func(p *record.Plan) { p.Graph.Edges[9].From = "Z" }, `edge from "Z", which is no node`},
		{func(p *record.Plan) { p.Graph.Init = "Z" }, `begins at "Z", which is no node`},
		{func(p *record.Plan) { p.Graph.Nodes[1].ID = "A" }, `node "A" is there twice`},
		{func(p *record.Plan) { p.Probabilities.Edges[0].P = 2 }, `2 from "A" to "X", want 0 to 1`},
		{func(p *record.Plan) { p.Probabilities.Edges[0].P = math.NaN() }, `NaN from "A" to "X", want 0 to 1`},
		{func(p *record.Plan) { p.Probabilities.Edges[1].P = 0.5 }, `what leaves "A" sums up to 1.4, want 1`},
		{func(p *record.Plan) { p.Probabilities.Edges[0].To = toNode("B") }, `0.9 from "A" to "B", want 0 to 1 and an edge of the graph`},
	} {
		p := decodePlan(record.Recorded{Table: "B", Bits: 1, Ran: atBit(0)})
		tt.change(p)
		if _, err := NewDecoder(p); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

func toNode(s string) *string { return &s }
