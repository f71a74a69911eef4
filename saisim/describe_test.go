package saisim_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

// lines returns a graph as text, one line for each edge: stage, node, label, target.
func lines(g *record.Graph) string {
	stage := map[string]int{}
	for _, n := range g.Nodes {
		stage[n.ID] = n.Stage
	}
	var b strings.Builder
	for _, n := range g.Nodes {
		for _, e := range g.Edges {
			if e.From == n.ID {
				fmt.Fprintf(&b, "%d %s %s -> %s\n", stage[e.From], e.From, e.Label, e.To)
			}
		}
	}
	return strings.ReplaceAll(b.String(), "  ->", " ->")
}

// The graph of a chip of four stages in each pipe, without a program.
func TestDescribe(t *testing.T) {
	r := newRig(t, profile.Small())
	g := r.Describe()
	if got, want := lines(g), `0 chip.port miss -> chip.port.group_source
0 chip.port hit -> chip.trap
0 chip.port.group_source false -> chip.trap
0 chip.port.group_source true -> EXIT
0 chip.trap -> chip.port.barred
0 chip.port.barred true -> EXIT
0 chip.port.barred false -> chip.acl.applies
2 chip.acl.applies true -> chip.acl
2 chip.acl.applies false -> chip.learning.applies
2 chip.acl -> chip.learning.applies
3 chip.learning.applies true -> chip.learning
3 chip.learning.applies false -> chip.decided
3 chip.learning -> chip.decided
3 chip.decided address -> chip.router_mac
3 chip.decided next-hop -> chip.next_hop
3 chip.decided drop -> EXIT
3 chip.decided port -> chip.queued
3 chip.router_mac hit -> chip.routed
3 chip.router_mac miss -> chip.bridged
3 chip.routed ipv4 -> chip.ipv4_route
3 chip.routed ipv6 -> chip.ipv6_route
3 chip.routed drop -> EXIT
3 chip.bridged unicast -> chip.fdb
3 chip.bridged drop -> EXIT
3 chip.bridged group -> chip.queued
3 chip.ipv4_route hit -> chip.route.leads
3 chip.ipv4_route miss -> EXIT
3 chip.ipv6_route hit -> chip.route.leads
3 chip.ipv6_route miss -> EXIT
3 chip.route.leads next-hop -> chip.next_hop
3 chip.route.leads drop -> EXIT
3 chip.next_hop hit -> chip.next_hop.leads
3 chip.next_hop miss -> EXIT
3 chip.next_hop.leads vlan -> chip.fdb
3 chip.next_hop.leads drop -> EXIT
3 chip.next_hop.leads port -> chip.queued
3 chip.fdb -> chip.fdb.leads
3 chip.fdb.leads drop -> EXIT
3 chip.fdb.leads port -> chip.queued
3 chip.queued false -> EXIT
3 chip.queued true -> chip.flymon.applies
4 chip.flymon.applies true -> chip.flymon
4 chip.flymon.applies false -> chip.mtu
4 chip.flymon -> chip.mtu
7 chip.mtu hit -> chip.egress_acl.applies
7 chip.mtu miss -> EXIT
7 chip.egress_acl.applies true -> chip.egress_acl
7 chip.egress_acl.applies false -> chip.tail_stamp.applies
7 chip.egress_acl hit -> chip.egress_acl.drop
7 chip.egress_acl miss -> chip.tail_stamp.applies
7 chip.egress_acl.drop true -> EXIT
7 chip.egress_acl.drop false -> chip.tail_stamp.applies
7 chip.tail_stamp.applies true -> chip.tail_stamp
7 chip.tail_stamp.applies false -> EXIT
7 chip.tail_stamp -> EXIT
`; got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	if g.Pipeline != "switch" || g.Init != "chip.port" || !g.Placed || g.Stages != 8 || g.Version == 0 {
		t.Errorf("%s from %s, placed %v in %d stages, version %d", g.Pipeline, g.Init, g.Placed, g.Stages, g.Version)
	}
	if len(g.Reasons) != int(drop.NumReasons) || g.Reasons[0] != "none" || g.Reasons[drop.TTL] != "ttl" {
		t.Errorf("reasons %q", g.Reasons)
	}
	text, err := json.Marshal(g)
	var again record.Graph
	if err != nil || json.Unmarshal(text, &again) != nil || !reflect.DeepEqual(&again, g) {
		t.Errorf("JSON: %v: %s", err, text)
	}
}

// behind returns the lines of a program's nodes and of the edges that lead to them.
func behind(g *record.Graph) string {
	var b strings.Builder
	for _, l := range strings.SplitAfter(lines(g), "\n") {
		if strings.Contains(l, "gress.") {
			b.WriteString(l)
		}
	}
	return b.String()
}

// The tables of a program are placed among the fixed functions of the graph.
func TestDescribeProgram(t *testing.T) {
	r := newRig(t, profile.Small())
	without := r.Describe().Version
	p := &pipe.Program{Name: "p"}
	filter := does("filter", 1, op("set", "ctl.drop", constant(1)))
	filter.Gate = [][]pipe.Term{{{Field: "ip.proto", Is: "eq", Value: 17}}}
	lookup := pipe.Table{Name: "lookup", Stage: 2, Match: "exact", Key: []pipe.Input{{Field: "ipv4.dst"}}, Size: 4,
		Actions: []pipe.Action{{Name: "do", Ops: []pipe.Op{op("set", "ip.ecn", field("l4.src"))}}}}
	p.Ingress.Tables = []pipe.Table{does("first", 0, op("set", "ip.dscp", constant(1))), filter, lookup,
		does("last", 3, op("set", "ip.ttl", constant(2)))}
	p.Egress.Tables = []pipe.Table{does("out", 0, op("set", "ip.ecn", constant(1))),
		does("end", 3, op("set", "ip.ecn", constant(1)))}
	r.load(p)
	g := r.Describe()
	if got, want := behind(g), `0 chip.port.barred false -> ingress.first
0 ingress.first -> ingress.filter.gate
1 ingress.filter.gate true -> ingress.filter
1 ingress.filter.gate false -> chip.acl.applies
1 ingress.filter -> ingress.stage1.drop
1 ingress.stage1.drop true -> EXIT
1 ingress.stage1.drop false -> chip.acl.applies
2 chip.acl.applies false -> ingress.lookup
2 chip.acl -> ingress.lookup
2 ingress.lookup -> chip.learning.applies
3 chip.decided port -> ingress.last
3 chip.bridged group -> ingress.last
3 chip.next_hop.leads port -> ingress.last
3 chip.fdb.leads port -> ingress.last
3 chip.decided.to_cpu true -> ingress.last
3 chip.routed.to_cpu true -> ingress.last
3 chip.bridged.to_cpu true -> ingress.last
3 chip.ipv4_route.to_cpu true -> ingress.last
3 chip.ipv6_route.to_cpu true -> ingress.last
3 chip.route.leads.to_cpu true -> ingress.last
3 chip.next_hop.to_cpu true -> ingress.last
3 chip.next_hop.leads.to_cpu true -> ingress.last
3 chip.fdb.leads.to_cpu true -> ingress.last
3 ingress.last -> chip.queued
4 chip.flymon.applies false -> egress.out
4 chip.flymon -> egress.out
4 egress.out -> chip.mtu
7 chip.egress_acl.applies false -> egress.end
7 chip.egress_acl miss -> egress.end
7 chip.egress_acl.drop false -> egress.end
7 egress.end -> chip.tail_stamp.applies
`; got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	for _, n := range g.Nodes {
		if n.ID == "ingress.lookup" {
			n.Actions = nil
			if want := (record.Node{ID: "ingress.lookup", Kind: record.Table, Stage: 2, KeyReads: []string{"ipv4.dst"},
				ActionReads: []string{"l4.src"}, ActionWrites: []string{"ip.ecn"}}); !reflect.DeepEqual(n, want) {
				t.Errorf("%+v, want %+v", n, want)
			}
		}
		if n.Keyless != (n.ID == "chip.flymon" || n.Kind == record.Table && strings.Contains(n.ID, "gress.") &&
			n.ID != "ingress.lookup") {
			t.Errorf("%s: keyless is %v", n.ID, n.Keyless)
		}
	}
	if g.Program != "p" || g.Version == without {
		t.Errorf("program %q of version %d", g.Program, g.Version)
	}
	r.control(r.Now(), pipe.Batch{Unload: true})
	if v := r.Describe().Version; v != without {
		t.Errorf("version %d without the program, %d before there was one", v, without)
	}
}

// A gate that tests the outcome of tables, or the same field again, does not become a condition if the path already
// implies the result.
func TestDescribeGates(t *testing.T) {
	gated := func(name string, stage uint8, rows ...[]pipe.Term) pipe.Table {
		x := does(name, stage, op("set", name, constant(1)))
		x.Gate = rows
		return x
	}
	asks := func(table, is string) []pipe.Term { return []pipe.Term{{Table: table, Is: is}} }
	small := func(is string) []pipe.Term { return []pipe.Term{{Field: "ip.ttl", Is: is, Value: 3}} }
	first := pipe.Table{Name: "a", Stage: 0, Match: "exact", Key: []pipe.Input{{Field: "ip.proto"}}, Size: 4}
	for _, tt := range []struct {
		name   string
		tables []pipe.Table
		want   string
	}{
		{"both branches of a lookup", []pipe.Table{first, gated("b", 1, asks("a", "hit")), gated("c", 1, asks("a", "hit")),
			gated("d", 1, asks("a", "miss"))},
			"a hit -> b, a miss -> d, b -> c, c -> end, d -> end"},
		{"of a field", []pipe.Table{gated("b", 0, small("lt")), gated("c", 0, small("ge")), gated("d", 1, small("lt"))},
			"b.gate true -> b, b.gate false -> c, b -> d, c -> end, d -> end"},
		{"of a field that is written", []pipe.Table{gated("b", 0, small("lt")),
			does("ttl", 0, op("set", "ip.ttl", constant(1))), gated("c", 1, small("lt"))},
			"b.gate true -> b, b.gate false -> ttl, b -> ttl, ttl -> c.gate, c.gate true -> c, c.gate false -> end, c -> end"},
		{"whether one ran", []pipe.Table{gated("b", 0, small("lt")), gated("c", 1, asks("b", "ran")),
			gated("d", 1, asks("b", "skipped"))},
			"b.gate true -> b, b.gate false -> d, b -> c, c -> end, d -> end"},
		{"rows and actions stay conditions", []pipe.Table{first, gated("b", 1, asks("a", "hit"), small("lt"))},
			"a miss -> b.gate, a hit -> b, b.gate true -> b, b.gate false -> end, b -> end"},
		{"what never runs", []pipe.Table{first, gated("b", 1, append(asks("a", "hit"), asks("a", "miss")...))},
			"a -> end, b -> EXIT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &pipe.Program{Name: "p", Ingress: pipe.Pipe{Tables: tt.tables}}
			for _, n := range []string{"b", "c", "d"} {
				p.Fields = append(p.Fields, pipe.Field{Name: n, Width: 1})
			}
			for i := range p.Ingress.Tables { // a field with the table's name is written
				p.Ingress.Tables[i].Stage += 2
			}
			prof := profile.Small()
			prof.IngressStages = 8
			got := behind(describe.Program(&prof, p))
			_, got, _ = strings.Cut(got, "-> ingress.")
			_, got, _ = strings.Cut(got, "\n")
			var edges []string
			for _, l := range strings.Split(strings.TrimSpace(got), "\n") {
				_, l, _ = strings.Cut(l, " ")
				edges = append(edges, strings.ReplaceAll(strings.ReplaceAll(l, "ingress.", ""), "chip.acl.applies", "end"))
			}
			if got := strings.Join(edges, ", "); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

// Every possible graph is valid, including that of a chip with one stage, and of one without groups of CMUs.
func TestDescribeIsAGraph(t *testing.T) {
	p := &pipe.Program{Name: "p", Ingress: pipe.Pipe{Tables: []pipe.Table{
		does("a", 0, op("set", "ctl.drop", constant(1)))}}}
	for _, name := range profile.Names() {
		prof := need(profile.Load(name))(t)
		for _, stages := range []uint32{prof.IngressStages, 1, 2} {
			prof.IngressStages, prof.EgressStages = stages, stages
			for _, program := range []*pipe.Program{nil, p} {
				if _, err := record.NewReach(describe.Program(&prof, program)); err != nil {
					t.Errorf("%s with %d stages: %v", name, stages, err)
				}
			}
		}
	}
}
