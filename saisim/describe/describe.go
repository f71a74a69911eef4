// Package describe builds the graph of a chip's pipes: the tables that a packet may run, and their order. Table
// recording makes plans for this graph.
//
// The graph follows from a profile and a program only. It does not depend on the configuration or on packets.
package describe

import (
	"encoding/json"
	"hash/crc32"
	"slices"

	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

// A Fixed is a fixed function of the chip for table recording. [Program] defines its position. "Table recording" in
// package engine defines when it runs and when it hits.
type Fixed uint8

// The fixed functions.
const (
	Port Fixed = iota
	Trap
	ACL
	Learning
	RouterMAC
	IPv4Route
	IPv6Route
	NextHop
	FDB
	FlyMon
	MTU
	EgressACL
	Stamp
	NumFixed
)

var fixedNames = [NumFixed]string{
	"chip.port", "chip.trap", "chip.acl", "chip.learning", "chip.router_mac", "chip.ipv4_route", "chip.ipv6_route",
	"chip.next_hop", "chip.fdb", "chip.flymon", "chip.mtu", "chip.egress_acl", "chip.tail_stamp",
}

var fixedUnits = [NumFixed]string{
	"admission", "admission", "acl", "forward", "forward", "forward", "forward",
	"forward", "forward", "measure", "egress", "egress", "egress",
}

// String returns the name of the function in graphs.
func (f Fixed) String() string { return fixedNames[f] }

// Marks records the fixed functions that a packet ran, one bit each. The bits from fixedHits on record the hits.
type Marks uint32

const fixedHits = 16

// Ran returns the mark of a function that has run.
func (f Fixed) Ran() Marks { return 1 << f }

// Hit returns the mark of a function that has hit.
func (f Fixed) Hit() Marks { return 1 << (f + fixedHits) }

// Program returns the graph of both pipes of a chip and the queues between them. It contains every path of a received
// packet, and of each copy of it, through fixed functions and the program's tables. A nil program means none. The graph
// may contain more paths than packets take. Relations between conditions are known only if gates depend on the outcome
// of tables, or on the same field again.
//
// Gates are conditions with the name of their table plus ".gate". Other conditions decide whether a fixed function
// applies, and what ends a pipe. Egress stage s is IngressStages+s. Nodes are in the order of the pipes. The version is
// a checksum of everything else.
func Program(p *profile.Profile, program *pipe.Program) *record.Graph {
	b := &grapher{prof: p, program: &pipe.Program{}}
	if program != nil {
		b.program = program
	}
	g := &b.graph
	g.Program, g.Pipeline, g.Init, g.Placed = b.program.Name, "switch", Port.String(), true
	g.Stages = int(p.IngressStages + p.EgressStages)
	for r := range drop.NumReasons {
		g.Reasons = append(g.Reasons, r.String())
	}
	g.Reasons[0] = "none" // reason 0 is port-down, which has no record
	g.Traps = traps()
	b.egress(b.ingress())
	b.merge()
	text, err := json.Marshal(g)
	if err != nil { // cannot happen: g contains only strings and numbers
		panic(err)
	}
	g.Version = max(uint64(crc32.ChecksumIEEE(text)), 1)
	return g
}

// A branch is an edge whose target is the next node.
type branch struct {
	from, label string
	facts       facts
	drops       bool // a table of this stage may have set ctl.drop
	// why holds the reasons for which a packet without a destination is dropped on this path.
	why []drop.Reason
}

// A grapher builds the graph node by node.
type grapher struct {
	prof    *profile.Profile
	program *pipe.Program
	graph   record.Graph
	asks    map[string]int // for each fact of the pipe, the last table whose gate depends on it
}

func (b *grapher) to(id string, branches ...branch) {
	for _, w := range branches {
		b.graph.Edges = append(b.graph.Edges, record.Edge{From: w.from, To: id, Label: w.label})
	}
}

// ends ends the pipes for these ways, with the given kinds of end.
func (b *grapher) ends(branches []branch, how ...string) {
	b.to(record.Exit, branches...)
	for _, w := range branches {
		b.graph.Ends = append(b.graph.Ends, record.End{From: w.from, Label: w.label, How: how})
	}
}

// end ends the pipes for packets that are dropped for one of the reasons.
func (b *grapher) end(branches []branch, why ...drop.Reason) { b.ends(branches, reasonNames(why)...) }

// endOrCPU ends the pipes for packets that are dropped unless the CPU gets a copy. A policer may drop that copy, or the
// priority group refuses the packet.
func (b *grapher) endOrCPU(branches []branch, why ...drop.Reason) {
	b.ends(branches, append(reasonNames(append(slices.Clip(why), drop.Policer, drop.PriorityGroup)), record.EndCPU)...)
}

// reasonNames returns the names of the reasons in records, without duplicates.
func reasonNames(why []drop.Reason) (names []string) {
	for _, r := range why {
		if !slices.Contains(names, r.String()) {
			names = append(names, r.String())
		}
	}
	return names
}

// node adds a node to which the given branches lead. It returns one branch out of the node for each label.
func (b *grapher) node(n record.Node, branches []branch, labels ...string) []branch {
	b.to(n.ID, branches...)
	b.graph.Nodes = append(b.graph.Nodes, n)
	out := make([]branch, len(labels))
	for i, l := range labels {
		out[i] = branch{from: n.ID, label: l, facts: common(branches),
			drops: slices.ContainsFunc(branches, func(w branch) bool { return w.drops })}
	}
	return out
}

func (b *grapher) cond(id string, stage uint32, branches []branch, labels ...string) []branch {
	return b.node(record.Node{ID: id, Kind: record.Condition, Stage: int(stage)}, branches, labels...)
}

// fixed adds a fixed function, with labels hit and miss if their targets differ.
func (b *grapher) fixed(f Fixed, stage uint32, branches []branch, labels ...string) []branch {
	if len(labels) == 0 {
		labels = []string{""}
	}
	for i := range branches {
		branches[i].facts = branches[i].facts.behindFixed()
	}
	n := record.Node{ID: f.String(), Kind: record.Table, Stage: int(stage), Unit: fixedUnits[f], Keyless: f == FlyMon}
	return b.node(n, branches, labels...)
}

// ingress returns the ways of copies into queues.
func (b *grapher) ingress() []branch {
	last, middle := max(b.prof.IngressStages, 1)-1, b.prof.IngressStages/2
	p := &b.program.Ingress
	b.asks = lastAsks(p)
	port := b.fixed(Port, 0, nil, record.Hit, record.Miss)
	source := b.cond("chip.port.group_source", 0, port[1:], "true", "false")
	trap := b.fixed(Trap, 0, []branch{port[0], source[1]})
	barred := b.cond("chip.port.barred", 0, trap, "true", "false")
	b.end(source[:1], drop.SourceAddress)
	b.end(barred[:1], drop.TagFilter, drop.NoLAGMember, drop.NoVLAN, drop.NotMember)
	branches := barred[1:]
	for s := range middle {
		branches = b.stage("ingress", p, s, s, branches)
	}
	acl := b.cond("chip.acl.applies", middle, branches, "true", "false")
	branches = append(b.fixed(ACL, middle, acl[:1]), acl[1])
	for s := middle; s < last; s++ {
		branches = b.stage("ingress", p, s, s, branches)
	}
	out, nowhere := b.forward(last, branches)
	// A packet with a destination may find no receiver there, or no buffer space. A copy may be for the CPU.
	why := []drop.Reason{drop.NoLAGMember, drop.NoDestination, drop.Buffer, drop.QueueLimit, drop.WRED, drop.TrimQueue,
		drop.EgressDown, drop.PortRemoved}
	if slices.ContainsFunc(p.Tables, func(t pipe.Table) bool { return uint32(t.Stage) == last }) {
		for _, w := range nowhere {
			cpu := b.cond(w.from+".to_cpu", last, []branch{w}, "true", "false")
			b.end(cpu[1:], w.why...)
			out = append(out, cpu[0])
			why = append(why, w.why...) // the program may override the drop
		}
		out = b.stage("ingress", p, last, last, out)
	} else {
		for _, w := range nowhere {
			b.endOrCPU([]branch{w}, w.why...)
		}
	}
	queued := b.cond("chip.queued", last, out, "true", "false")
	b.endOrCPU(queued[1:], why...)
	return queued[:1]
}

// forward returns the paths of packets with a destination, and of packets without one. The latter may still go to the
// CPU.
func (b *grapher) forward(last uint32, branches []branch) (out, nowhere []branch) {
	learning := b.cond("chip.learning.applies", last, branches, "true", "false")
	branches = append(b.fixed(Learning, last, learning[:1]), learning[1])
	decided := b.cond("chip.decided", last, branches, "address", "next-hop", "port", "drop")
	mac := b.fixed(RouterMAC, last, decided[:1], record.Hit, record.Miss)
	routed := b.cond("chip.routed", last, mac[:1], "ipv4", "ipv6", "drop")
	bridged := b.cond("chip.bridged", last, mac[1:], "unicast", "group", "drop")
	b.only(routed[0], record.ClassIPv4)
	b.only(routed[1], record.ClassIPv6)
	if !slices.ContainsFunc(b.program.Ingress.Tables, writesAddress) {
		b.only(bridged[0], record.ClassUnicast)
		b.only(bridged[1], record.ClassGroup)
	}
	v4 := b.fixed(IPv4Route, last, routed[:1], record.Hit, record.Miss)
	v6 := b.fixed(IPv6Route, last, routed[1:2], record.Hit, record.Miss)
	route := b.cond("chip.route.leads", last, []branch{v4[0], v6[0]}, "next-hop", "drop")
	hop := b.fixed(NextHop, last, []branch{route[0], decided[1]}, record.Hit, record.Miss)
	leaves := b.cond("chip.next_hop.leads", last, hop[:1], "vlan", "port", "drop")
	fdb := b.fixed(FDB, last, []branch{bridged[0], leaves[0]})
	to := b.cond("chip.fdb.leads", last, fdb, "port", "drop")
	return []branch{decided[2], bridged[1], leaves[1], to[0]}, []branch{
		// NoDestination occurs if the requested port does not exist. After a route lookup, IPHeader occurs only for
		// IPv6 packets with a link-local address.
		decided[3].dropped(drop.ACL, drop.Trap, drop.Learning, drop.TTL, drop.NoDestination),
		routed[2].dropped(drop.Trap, drop.RouterDown, drop.IPHeader, drop.Decap),
		bridged[2].dropped(drop.NotRouter, drop.Miss),
		v4[1].dropped(drop.TTL, drop.NoRoute),
		v6[1].dropped(drop.TTL, drop.NoRoute, drop.IPHeader),
		route[1].dropped(drop.Trap, drop.Decap, drop.IPHeader, drop.TTL, drop.NoRoute, drop.Blackhole, drop.Route),
		hop[1].dropped(drop.NoNextHop, drop.NoNeighbor),
		// Miss occurs for a directed broadcast to a VLAN that does not flood broadcasts.
		leaves[2].dropped(drop.Neighbor, drop.RouterOutDown, drop.SameInterface, drop.L3MTU, drop.Miss),
		to[1].dropped(drop.FDB, drop.Miss, drop.SamePort, drop.NoDestination),
	}
}

// only adds to the graph that no packets but those of one class take this branch.
func (b *grapher) only(w branch, c record.Classes) {
	b.graph.Only = append(b.graph.Only, record.Only{From: w.from, Label: w.label, Class: record.ClassName(c)})
}

// writesAddress reports whether a table may write the address by which packets are bridged.
func writesAddress(t pipe.Table) bool { return slices.Contains(actionWrites(&t), "eth.dst") }

func (w branch) dropped(why ...drop.Reason) branch {
	w.why = why
	return w
}

// egress continues the ways of copies that have left a queue.
func (b *grapher) egress(branches []branch) {
	first, last := b.prof.IngressStages, max(b.prof.EgressStages, 1)-1
	p := &b.program.Egress
	b.asks = lastAsks(p)
	for i := range branches {
		branches[i].facts = nil // gates cannot depend on outcomes in the other pipe
	}
	if b.prof.FlyMon.Groups > 0 {
		on := b.cond("chip.flymon.applies", first, branches, "true", "false")
		branches = append(b.fixed(FlyMon, first, on[:1]), on[1])
	}
	for s := range last {
		branches = b.stage("egress", p, s, first+s, branches)
	}
	mtu := b.fixed(MTU, first+last, branches, record.Hit, record.Miss)
	acl := b.cond("chip.egress_acl.applies", first+last, mtu[:1], "true", "false")
	hit := b.fixed(EgressACL, first+last, acl[:1], record.Hit, record.Miss)
	dropped := b.cond("chip.egress_acl.drop", first+last, hit[:1], "true", "false")
	b.end(mtu[1:], drop.EgressMTU)
	b.end(dropped[:1], drop.EgressACL)
	branches = b.stage("egress", p, last, first+last, []branch{dropped[1], hit[1], acl[1]})
	stamp := b.cond("chip.tail_stamp.applies", first+last, branches, "true", "false")
	b.ends(append(b.fixed(Stamp, first+last, stamp[:1]), stamp[1]), record.EndSent)
}

// stage adds the program's tables of a stage, and a condition after tables that may drop.
func (b *grapher) stage(name string, p *pipe.Pipe, s, at uint32, branches []branch) []branch {
	var wrote []string
	for i := range p.Tables {
		if t := &p.Tables[i]; uint32(t.Stage) == s {
			branches = b.table(name, p, t, at, branches)
			for j := range branches {
				branches[j].facts = branches[j].facts.asked(b.asks, i)
			}
			wrote = append(wrote, actionWrites(t)...)
		}
	}
	var on, drops []branch
	for _, w := range branches {
		w.facts = w.facts.without(wrote)
		if w.drops {
			w.drops = false
			drops = append(drops, w)
		} else {
			on = append(on, w)
		}
	}
	if len(drops) == 0 {
		return on
	}
	dropped := b.cond(name+".stage"+number(s)+".drop", at, drops, "true", "false")
	if p == &b.program.Egress {
		b.end(dropped[:1], drop.EgressProgram)
	} else {
		b.endOrCPU(dropped[:1], drop.Program)
	}
	return append(on, dropped[1])
}

// table adds a table with its gate. Ways on which the gate's result is known bypass its condition.
func (b *grapher) table(name string, p *pipe.Pipe, t *pipe.Table, at uint32, branches []branch) []branch {
	var in, past, open []branch
	for _, w := range branches {
		switch holds, known := w.facts.gate(t.Gate); {
		case !known:
			open = append(open, w)
		case holds:
			in = append(in, w)
		default:
			past = append(past, w)
		}
	}
	id := name + "." + t.Name
	if len(open) > 0 {
		gate := b.node(record.Node{ID: id + ".gate", Kind: record.Condition, Stage: int(at), Reads: gateReads(name, t)},
			open, "true", "false")
		b.test(name, gate[0].from, t.Gate)
		gate[0].facts = gate[0].facts.learn(t.Gate, true)
		gate[1].facts = gate[1].facts.learn(t.Gate, false)
		in, past = append(in, gate[0]), append(past, gate[1])
	}
	for i := range past {
		past[i].facts = past[i].facts.outcome(t.Name, 1<<factSkipped)
	}
	n := record.Node{
		ID: id, Kind: record.Table, Stage: int(at), Keyless: t.Match == "always",
		KeyReads: keyReads(t), ActionReads: actionReads(p, t), ActionWrites: actionWrites(t),
	}
	for i := range t.Actions {
		n.Actions = append(n.Actions, t.Actions[i].Name)
	}
	drops := slices.Contains(n.ActionWrites, "ctl.drop")
	labels := []string{record.Hit, record.Miss}
	if n.Keyless {
		labels = []string{""}
	}
	out := b.node(n, in, labels...)
	if len(in) == 0 { // the table never runs
		b.to(record.Exit, out...)
		return past
	}
	for i := range out {
		out[i].drops = out[i].drops || drops
		what := uint8(1 << factMissed)
		if out[i].label == record.Hit {
			what = 1 << factHit
		}
		out[i].facts = out[i].facts.outcome(t.Name, what)
	}
	return append(out, past...)
}

// merge replaces the edges for hit and miss by one edge if both have the same target.
func (b *grapher) merge() {
	type pair struct{ from, to string }
	count := map[pair]int{}
	for _, e := range b.graph.Edges {
		if e.Label == record.Hit || e.Label == record.Miss {
			count[pair{e.From, e.To}]++
		}
	}
	done := map[pair]bool{}
	b.graph.Edges = slices.DeleteFunc(b.graph.Edges, func(e record.Edge) bool {
		k := pair{e.From, e.To}
		gone := count[k] == 2 && done[k]
		done[k] = true
		return gone
	})
	for i := range b.graph.Edges {
		if e := &b.graph.Edges[i]; count[pair{e.From, e.To}] == 2 {
			e.Label = ""
		}
	}
}
