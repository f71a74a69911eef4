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

	"tamtam/internal/randtest"
	"tamtam/tam/record"
)

func atBit(i int) *int { return &i }

// decodeGraph returns figure 4 of the paper: 0.2 of packets run B, 0.5 run C and 0.3 neither. The paper does not split
// the last. Here 0.2 run D and 0.1 do not.
func decodeGraph() (*record.Graph, *record.Probabilities) {
	table := func(id string) record.Node { return record.Node{ID: id, Kind: record.Table} }
	cond := func(id string) record.Node { return record.Node{ID: id, Kind: record.Condition} }
	g := &record.Graph{Program: "fig4", Pipeline: "ingress", Init: "A",
		Nodes: []record.Node{table("A"), cond("X"), table("B"), cond("Y"), table("C"), table("D"), table("E")},
		Edges: []record.Edge{{From: "A", To: "X"}, {From: "A", To: "E"}, {From: "X", To: "B"}, {From: "X", To: "Y"},
			{From: "B", To: "D"},
			{From: "Y", To: "C"}, {From: "Y", To: "D"}, {From: "C", To: "D"}, {From: "D", To: "E"},
			{From: "E", To: record.Exit}}}
	to := func(s string) *string { return &s }
	p := &record.Probabilities{Edges: []record.EdgeProbability{
		{From: "A", To: to("X"), P: 0.9}, {From: "A", To: to("E"), P: 0.1},
		{From: "X", To: to("B"), P: 0.2 / 0.9}, {From: "X", To: to("Y"), P: 0.7 / 0.9},
		{From: "Y", To: to("C"), P: 0.5 / 0.7}, {From: "Y", To: to("D"), P: 0.2 / 0.7}}}
	return g, p
}

func decodePlan(recorded ...record.Recorded) *record.Plan {
	g, p := decodeGraph()
	plan := &record.Plan{Pipeline: "ingress", PHV: "8", Mode: record.ModeExecution, Recorded: recorded, Graph: g,
		Chances: record.Chances{Probabilities: p}}
	plan.Seal()
	return plan
}

// Records of {B, C} have the expected paths. The third value of the record has two paths.
func TestDecodeFigure4(t *testing.T) {
	d, err := NewDecoder(decodePlan(record.Recorded{Table: "B", Bits: 1, Ran: atBit(0)},
		record.Recorded{Table: "C", Bits: 1, Ran: atBit(1)}))
	if err != nil {
		t.Fatal(err)
	}
	if n := d.AllPaths(); n != "4" {
		t.Errorf("%s paths, want 4", n)
	}
	for _, tt := range []struct {
		bits  byte
		total string
		paths string // and their probabilities
		why   string
	}{
		{0b01, "1", "A > B > D > E 1.000", ""},
		{0b10, "1", "A > C > D > E 1.000", ""},
		{0b00, "2", "A > D > E 0.667; A > E 0.333", ""},
		{0b11, "0", "A > C > D > E 0.000", "no path of the graph has this record; the closest has it but that B ran"},
		{0b101, "0", "", "bit 2 is set, which no table of the plan sets"},
	} {
		a, err := d.Decode([]byte{tt.bits}, Knowledge{})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, l := range a.Paths {
			paths = append(paths, fmt.Sprintf("%v %.3f", l, l.P))
		}
		if got := strings.Join(paths, "; "); got != tt.paths || a.Total != tt.total || a.Why != tt.why ||
			a.Impossible != (tt.total == "0") || a.Exact != (tt.total == "1") {
			t.Errorf("%03b: %s %q %q exact %v, want %s %q %q", tt.bits, a.Total, got, a.Why, a.Exact, tt.total, tt.paths, tt.why)
		}
	}
	if _, err := d.Decode([]byte{1, 2}, Knowledge{}); err == nil || !strings.Contains(err.Error(),
		"a record of 2 bytes, want the 1 of plan") {
		t.Error(err)
	}
}

// Every answer equals a listing of all paths, on small random graphs with random plans.
func TestDecodeEqualsEnumeration(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 7, Count: 300}, func(t *testing.T, seed uint64) {
		plan := randomDecodePlan(rand.New(rand.NewPCG(seed, 0)))
		d, err := NewDecoder(plan)
		if err != nil {
			t.Fatal(err)
		}
		want := listRecords(t, d)
		for bits, walks := range want {
			paths, sum := joinWalks(walks)
			a, err := d.Decode([]byte(bits), Knowledge{})
			if err != nil {
				t.Fatal(err)
			}
			checkTableResults(t, d, bits, walks, sum)
			if a.Total != fmt.Sprint(len(paths)) || a.Exact != (len(paths) == 1) || a.Impossible ||
				len(a.Paths) != min(len(paths), MaxLikely) {
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
				if a, _ := d.Decode([]byte{byte(b)}, Knowledge{}); !a.Impossible || a.Why == "" {
					t.Fatalf("record %02x, which no path has: %+v", b, a)
				}
				if results := d.TableResults([]byte{byte(b)}, Knowledge{}); results != nil && len(results) != len(d.Tables()) {
					t.Fatalf("record %02x: %+v", b, results)
				}
			}
		}
	})
}

func tablesOf(path []record.Step) string {
	var ids []string
	for _, s := range path {
		ids = append(ids, s.Table)
	}
	return strings.Join(ids, " ")
}

// randomDecodePlan returns a graph of up to twelve nodes and a plan of up to 8 bits.
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

// A listedWalk is one path through the graph, node by node.
type listedWalk struct {
	tables []string
	hits   []bool
	p      float64
}

// listRecords walks all paths through the graph, and returns the paths by record.
func listRecords(t *testing.T, d *Decoder) map[string][]listedWalk {
	t.Helper()
	records := map[string][]listedWalk{}
	w, err := newWalk(d)
	if err != nil {
		t.Fatal(err)
	}
	p := w.program
	var step func(at int, walk listedWalk, bits []byte)
	step = func(at int, walk listedWalk, bits []byte) {
		if at == p.exit {
			records[string(bits)] = append(records[string(bits)], walk)
			return
		}
		place := p.table[at]
		for _, e := range p.out[at] {
			for outcome, share := range p.shares(at, e) {
				hit := outcome == 1
				if p.decide[at] && !e.outcomes[outcome] || hit && !p.decide[at] &&
					(place < 0 || d.all.chain.tables[place].keyless) {
					continue
				}
				after, now := listedWalk{walk.tables, walk.hits, walk.p * share}, bits
				if place >= 0 {
					after.tables = append(slices.Clone(walk.tables), d.all.chain.tables[place].id)
					after.hits = append(slices.Clone(walk.hits), hit)
					w.bits = slices.Clone(bits)
					w.set(w.ran[place])
					if hit {
						w.set(w.hit[place])
					}
					now = w.bits
				}
				step(e.to, after, now)
			}
		}
	}
	step(p.first, listedWalk{p: 1}, make([]byte, d.containers.Bytes()))
	return records
}

// joinWalks adds up the walks of each table sequence.
func joinWalks(walks []listedWalk) (paths map[string]float64, sum float64) {
	paths = map[string]float64{}
	for _, w := range walks {
		paths[strings.Join(w.tables, " ")] += w.p
		sum += w.p
	}
	return paths, sum
}

// checkTableResults compares a record's result for its tables with all walks that have this record.
func checkTableResults(t *testing.T, d *Decoder, bits string, walks []listedWalk, sum float64) {
	t.Helper()
	said := d.TableResults([]byte(bits), Knowledge{})
	for i, id := range d.Tables() {
		ran, hit, ranP, hitP := 0, 0, 0.0, 0.0
		for _, w := range walks {
			if k := slices.Index(w.tables, id); k >= 0 {
				ran++
				ranP += w.p / sum
				if w.hits[k] {
					hit++
					hitP += w.p / sum
				}
			}
		}
		certainty := func(n int) Certainty {
			switch n {
			case 0:
				return Never
			case len(walks):
				return Always
			}
			return Maybe
		}
		s := said[i]
		if s.Ran != certainty(ran) || s.Hit != certainty(hit) || math.Abs(s.RanP-ranP) > 1e-9 ||
			math.Abs(s.HitP-hitP) > 1e-9 {
			t.Fatalf("record %x: %s %+v, want ran %d, hit %d of %d, %v, %v", bits, id, s, ran, hit, len(walks), ranP, hitP)
		}
	}
}

// A graph of many tables has more paths than fit in a word. They are still counted exactly.
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
		g.Nodes = append(g.Nodes, record.Node{ID: id("c", i), Kind: record.Condition},
			record.Node{ID: id("t", i), Kind: record.Table})
		g.Edges = append(g.Edges, record.Edge{From: id("c", i), To: id("t", i)},
			record.Edge{From: id("c", i), To: id("c", i+1)}, record.Edge{From: id("t", i), To: id("c", i+1)})
	}
	plan := &record.Plan{PHV: "8", Graph: g, Recorded: []record.Recorded{{Table: "t7", Ran: atBit(0)}}}
	d, err := NewDecoder(plan)
	if err != nil {
		t.Fatal(err)
	}
	if want := new(big.Int).Lsh(big.NewInt(1), n).String(); d.AllPaths() != want {
		t.Errorf("%s paths, want %s", d.AllPaths(), want)
	}
	a, err := d.Decode([]byte{1}, Knowledge{})
	if want := new(big.Int).Lsh(big.NewInt(1), n-1).String(); err != nil || a.Total != want || len(a.Paths) != MaxLikely {
		t.Errorf("%s paths, want %s: %v", a.Total, want, err)
	}
}

// Packets are recovered if no other path has their record.
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

// Invalid graphs are refused with the reason.
func TestDecoderRefuses(t *testing.T) {
	for _, tt := range []struct {
		change func(p *record.Plan)
		want   string
	}{
		{func(p *record.Plan) { p.Graph = nil }, "has no graph"},
		{func(p *record.Plan) { p.PHV = "7" }, `containers "7"`},
		{func(p *record.Plan) { p.Recorded[0].Table = "Z" }, `it records "Z", which is no table of its graph`},
		{func(p *record.Plan) { p.Recorded[0].Table = "X" }, `it records "X", which is no table of its graph`},
		{func(p *record.Plan) { p.Graph.Edges[9].To = "A" }, `the graph has a cycle`},
		{func(p *record.Plan) { p.Graph.Edges[9].To = "Z" }, `of node "E" leads to "Z", which is no node`},
		{func(p *record.Plan) { p.Graph.Edges[9].From = "Z" }, `leads from "Z" (), which is no node`},
		{func(p *record.Plan) { p.Graph.Init = "Z" }, `init "Z" is no node`},
		{func(p *record.Plan) { p.Graph.Nodes[1].ID = "A" }, `both called "A"`},
	} {
		p := decodePlan(record.Recorded{Table: "B", Bits: 1, Ran: atBit(0)})
		tt.change(p)
		if _, err := NewDecoder(p); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

// Faults are found by the records that they cause: all walks of the graph with the fault.
func TestSuspect(t *testing.T) {
	bits := func(ids ...string) (list []record.Recorded) {
		for i, id := range ids {
			list = append(list, record.Recorded{Table: id, Bits: 1, Ran: atBit(i)})
		}
		return list
	}
	for _, tt := range []struct {
		name    string
		plan    *record.Plan
		records map[byte]uint64
		want    string // the first suspicion
	}{
		{"nothing is wrong", decodePlan(bits("B", "C", "D")...), map[byte]uint64{0b101: 20, 0b110: 50, 0b100: 20, 0: 10}, ""},
		{"D is skipped", decodePlan(bits("B", "C", "D")...), map[byte]uint64{0b001: 20, 0b010: 50, 0: 30},
			"D is skipped: explains 70 impossible records"},
		{"B runs when C does", decodePlan(bits("B", "C", "D")...), map[byte]uint64{0b111: 50, 0b100: 40, 0: 10},
			"B runs when C does: explains 50 impossible records"},
		{"C is skipped, which is possible", decodePlan(bits("B", "C", "D")...), map[byte]uint64{0b101: 20, 0b100: 70, 0: 10},
			"C is skipped, or the traffic is not what the switch counted for the plan: no packet ran it, about 50 were " +
				"expected to"},
	} {
		d, err := NewDecoder(tt.plan)
		if err != nil {
			t.Fatal(err)
		}
		var counted []CountedRecord
		for b, n := range tt.records {
			counted = append(counted, CountedRecord{[]byte{b}, "", n})
		}
		got := ""
		if list := d.Suspect(counted, true); len(list) > 0 {
			got = list[0].String()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Any bytes have a consistent answer.
func FuzzDecode(f *testing.F) {
	f.Add(uint64(1), []byte{0})
	f.Add(uint64(7), []byte{255})
	f.Add(uint64(9), []byte{})
	f.Fuzz(func(t *testing.T, seed uint64, b []byte) {
		d, err := NewDecoder(randomDecodePlan(rand.New(rand.NewPCG(seed, 0))))
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.Decode(b, Knowledge{})
		if (err == nil) != (len(b) == 1) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		sum := 0.0
		for _, l := range a.Paths {
			sum += l.P
		}
		tables := d.TableResults(b, Knowledge{})
		if a.Impossible != (a.Total == "0") || a.Impossible != (a.Why != "") || a.Exact != (a.Total == "1") ||
			tables != nil && len(tables) != len(d.Tables()) || !a.Impossible && sum > 1+1e-9 {
			t.Fatalf("%+v", a)
		}
		d.Suspect([]CountedRecord{{b, "", 1}}, seed%2 == 0)
	})
}
