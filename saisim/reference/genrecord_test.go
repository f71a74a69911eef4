package reference_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/saisim/reference"
	"tamtam/tam/record"
)

// A tableRecorder makes plans of table recording, sessions for them, and faults. It checks the paths of packets against
// the graph.
type tableRecorder struct {
	plans  []sai.OID
	faulty bool // true from the cycle of the first fault on
	// trailOfMirror is true if a copy of a mirror session had a trail.
	trailOfMirror bool
	// graphs holds the graphs of all programs so far, by version.
	graphs map[uint64]*walks
	trails map[endedTrail]bool
	// ended counts ends of copies: ends reported by the fast engine minus ends reported by the reference.
	ended   map[ending]int
	mirrors map[[2]uint64]bool // copies for mirror sessions: frame and copy number
}

// An endedTrail is the path of a copy, and its end in the words of a record.
type endedTrail struct {
	saisim.Trail
	end string
}

// An ending is a comparable [reference.Ending].
type ending struct {
	id       uint64
	in, port saisim.PortID
	sent     bool
	why      drop.Reason
	trap     config.Trap
	path     string
}

// recordLabels are labels of sessions. The last two belong to no plan.
var recordLabels = []string{"tr:a", "tr:b", "tr:c", "tr:d", "tr:", "tr:none"}

// furnishRecords makes plans and sessions, and pre-ingress entries that select packets.
func (p *pair) furnishRecords() {
	if !p.recording {
		return
	}
	p.saw["record: chips that record"]++
	for range 2 + p.IntN(4) {
		p.create(sai.ObjectTypeMirrorSession, p.session()...)
	}
	p.furnishPreIngress()
	with := []any{sai.ACLTableAttrACLStage, sai.ACLStageIngress}
	fields := []sai.AttrID{sai.ACLEntryAttrFieldIPProtocol, sai.ACLEntryAttrFieldInPorts, sai.ACLEntryAttrFieldACLIPType,
		sai.ACLEntryAttrFieldTC}
	for _, f := range fields {
		with = append(with, tableField(f), sai.Bool(true))
	}
	table := p.create(sai.ObjectTypeACLTable, with...)
	stamp := p.create(sai.ObjectTypeTAMInt, sai.TAMIntAttrType, sai.TAMIntTypeIfa1Tailstamp, sai.TAMIntAttrDeviceID,
		sai.Uint(1),
		sai.TAMIntAttrIntPresenceType, sai.TAMIntPresenceTypeUndefined, sai.TAMIntAttrInline, sai.Bool(false))
	for range 1 + p.IntN(4) {
		entry := []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(1 + p.IntN(5)),
			sai.ACLEntryAttrActionMirrorIngress, sai.Do(p.someSessions())}
		if p.chance(60) {
			f := pick(&p.gen, fields...)
			entry = append(entry, f, p.matchOf(f))
		}
		if p.chance(25) {
			entry = append(entry, sai.ACLEntryAttrActionPacketAction, sai.Do(p.packetAction()))
		}
		if p.chance(25) {
			entry = append(entry, sai.ACLEntryAttrActionTAMIntObject, sai.Do(stamp), sai.ACLEntryAttrActionIntInsert,
				sai.Do(sai.Bool(true)))
		}
		p.create(sai.ObjectTypeACLEntry, entry...)
	}
	if p.chance(50) {
		p.setOf(sai.ObjectTypeSwitch, p.sw, sai.SwitchAttrIngressACL, table)
	}
	for range 2 + p.IntN(6) {
		p.set(sai.ObjectTypePort, sai.PortAttrIngressACL, table)
	}
	for range 1 + p.IntN(4) {
		p.planOp()
	}
}

// preIngressFields returns the match fields that the parser supplies.
func preIngressFields() []sai.AttrID {
	return slices.DeleteFunc(slices.Clone(aclFields[:len(aclFields)-2]),
		func(f sai.AttrID) bool { return f == sai.ACLEntryAttrFieldACLUserMeta })
}

// furnishPreIngress binds one or more tables after the parser, in a group or not.
func (p *pair) furnishPreIngress() {
	var tables []sai.OID
	for range pick(&p.gen, 1, 1, 2, 3) {
		with := []any{sai.ACLTableAttrACLStage, sai.ACLStagePreIngress, sai.ACLTableAttrFieldACLRangeType, sai.Enums{
			sai.ACLRangeTypeL4SrcPortRange, sai.ACLRangeTypeOuterVLAN, sai.ACLRangeTypePacketLength}}
		for _, f := range preIngressFields() {
			with = append(with, tableField(f), sai.Bool(true))
		}
		table := p.create(sai.ObjectTypeACLTable, with...)
		tables = append(tables, table)
		counter := p.create(sai.ObjectTypeACLCounter, sai.ACLCounterAttrTableID, table, sai.ACLCounterAttrEnablePacketCount,
			sai.Bool(true),
			sai.ACLCounterAttrEnableByteCount, sai.Bool(true))
		for range 1 + p.IntN(4) {
			p.preIngressEntry(table, counter)
		}
	}
	bound := tables[0]
	if len(tables) > 1 || p.chance(50) {
		bound = p.create(sai.ObjectTypeACLTableGroup, sai.ACLTableGroupAttrACLStage, sai.ACLStagePreIngress,
			sai.ACLTableGroupAttrType, pick(&p.gen, sai.ACLTableGroupTypeParallel, sai.ACLTableGroupTypeSequential))
		for _, table := range tables {
			p.create(sai.ObjectTypeACLTableGroupMember, sai.ACLTableGroupMemberAttrACLTableGroupID, bound,
				sai.ACLTableGroupMemberAttrACLTableID, table, sai.ACLTableGroupMemberAttrPriority, sai.Uint(p.IntN(3)))
		}
	}
	p.setOf(sai.ObjectTypeSwitch, p.sw, sai.SwitchAttrPreIngressACL, bound)
	if p.chip.Tables().Switch.PreIngressACL == config.ID(bound) && bound != sai.NullOID {
		p.saw["record: pre-ingress tables bound"]++
	}
}

// preIngressEntry makes an entry that records all packets, or some.
func (p *pair) preIngressEntry(table, counter sai.OID) {
	entry := []any{sai.ACLEntryAttrTableID, table, sai.ACLEntryAttrPriority, sai.Uint(1 + p.IntN(5)),
		sai.ACLEntryAttrActionMirrorIngress, sai.Do(p.someSessions())}
	if p.chance(60) {
		f := pick(&p.gen, append(preIngressFields(), sai.ACLEntryAttrFieldOuterVLANID, sai.ACLEntryAttrFieldInPorts,
			sai.ACLEntryAttrFieldTC,
			sai.ACLEntryAttrFieldACLRangeType)...)
		entry = append(entry, f, p.matchOf(f))
	}
	if p.chance(50) {
		entry = append(entry, sai.ACLEntryAttrActionCounter, sai.Do(counter))
	}
	p.create(sai.ObjectTypeACLEntry, entry...)
}

// recordLabel returns a label, mostly one that plans have.
func (g *gen) recordLabel() string {
	return pick(g, append(recordLabels, recordLabels[:4]...)...)
}

func (g *gen) someSessions() (l sai.OIDs) {
	for range pick(g, 1, 1, 2, 3) {
		if s := g.any(sai.ObjectTypeMirrorSession); !slices.Contains(l, s) {
			l = append(l, s)
		}
	}
	return l
}

// recordInTraffic changes recording while packets are in transit.
func (p *pair) recordInTraffic(within uint64) error {
	switch n := p.IntN(100); {
	case n < 25:
		p.planOp()
	case n < 30:
		p.set(sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrLabel, sai.Text(p.recordLabel()))
	case n < 31:
		p.set(sai.ObjectTypeACLCounter, sai.ACLCounterAttrLabel, sai.Text(pick(&p.gen, "EDGE|RULE_1", "EDGE|RULE_2")))
	case n < 35:
		p.set(sai.ObjectTypeACLEntry, sai.ACLEntryAttrActionMirrorIngress, sai.Do(p.someSessions()))
	case n < 38:
		return p.faultOp(within)
	default:
		return nil
	}
	p.configure()
	return nil
}

// planOp makes, changes or removes a plan.
func (p *pair) planOp() {
	ctx := context.Background()
	const t = sai.ObjectTypeGenericProgrammable
	if n := len(p.plans); n > 0 && p.chance(8) {
		i := p.IntN(n)
		if p.chip.Remove(ctx, sai.Obj(t, p.plans[i])) == nil {
			p.plans = slices.Delete(p.plans, i, i+1)
			p.saw["record: plans removed"]++
		}
		return
	}
	of := sai.NullOID
	if len(p.plans) > 0 && p.chance(50) {
		of = pick(&p.gen, p.plans...)
	}
	text, err := entryWith("plan", p.plan(of))
	if err != nil {
		panic(err) // cannot happen: only numbers and words
	}
	if of != sai.NullOID {
		err = p.chip.Set(ctx, sai.Obj(t, of), sai.Attr{ID: sai.GenericProgrammableAttrEntry, Value: text})
		p.saw["record: plans changed"] += succeeded(err)
		return
	}
	oid, err := p.chip.Create(ctx, t, attrs(sai.GenericProgrammableAttrObjectName, sai.Bytes(record.ObjectPlan),
		sai.GenericProgrammableAttrEntry, text))
	if err == nil {
		p.plans = append(p.plans, oid)
	}
	p.saw["record: plans"] += succeeded(err)
	p.saw["record: plans refused"] += 1 - succeeded(err)
}

func succeeded(err error) int {
	if err != nil {
		return 0
	}
	return 1
}

// plan returns a plan for the next program, either to replace another or beside the existing ones. Most chips accept
// most of them.
func (p *pair) plan(replaces sai.OID) record.ChipPlan {
	g := p.graphOf(p.program).graph
	c := record.ChipPlan{ID: 1 + p.Uint32N(1000), Switch: p.Uint32(),
		PHV: pick(&p.gen, "8", "8+8", "16", "16+16", "8+16", "32"), Graph: g.Version}
	phv, err := record.ParseContainers(c.PHV)
	if err != nil {
		panic(err) // cannot happen: the widths are constant
	}
	labels := slices.Clone(recordLabels[:4])
	free := func() bool { // reports whether the offset is free
		return !slices.ContainsFunc(p.chip.Tables().RecordPlans, func(r config.RecordPlan) bool {
			return sai.OID(r.Object) != replaces && c.Offset < r.Offset+r.PHV.Bits() && r.Offset < c.Offset+phv.Bits()
		})
	}
	if p.chance(90) {
		for c.Offset = 0; !free() && c.Offset < 64; c.Offset += 8 {
		}
		for _, r := range p.chip.Tables().RecordPlans {
			for _, s := range r.Sessions {
				labels = slices.DeleteFunc(labels, func(l string) bool { return l == s.Label && sai.OID(r.Object) != replaces })
			}
		}
	}
	writer := map[[2]int]string{} // writer of a container in a stage
	var bits []int
	for i := range phv.Bits() {
		bits = append(bits, i)
	}
	p.Shuffle(len(bits), func(i, j int) { bits[i], bits[j] = bits[j], bits[i] })
	order := p.Perm(len(g.Nodes))
	if c.ID%2 == 0 { // tables that match only rarely get a bit first
		rare := func(i int) int { return slices.Index([]string{"chip.tail_stamp", "chip.egress_acl"}, g.Nodes[i].ID) }
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(rare(j), rare(i)) })
	}
	for _, i := range order {
		n := g.Nodes[i]
		if n.Kind != record.Table || len(bits) == 0 {
			continue
		}
		unit := n.Unit
		if unit == "" {
			unit = n.ID
		}
		at := [2]int{container(phv, bits[0]), n.Stage}
		if w, taken := writer[at]; taken && w != unit && p.chance(98) {
			continue
		}
		writer[at] = unit
		m := record.ChipMark{Table: n.ID, When: record.MarkRan, Bit: bits[0]}
		if !n.Keyless && p.chance(50) {
			m.When = record.MarkHit
			if acts := g.Acts()[n.ID]; len(acts) > 0 && p.chance(60) {
				m.When = record.MarkAction
				p.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
				m.Actions = acts[:1+p.IntN(len(acts)-1)]
			}
		}
		c.Marks, bits = append(c.Marks, m), bits[1:]
		if p.chance(4) {
			break
		}
	}
	for _, label := range labels {
		if p.chance(60) {
			c.Sessions = append(c.Sessions, record.ChipSession{Label: label,
				Sample: pick[uint32](&p.gen, 0, 1, 1, 1, 1, 2, 3, 20), Tunnel: p.tunnel(),
				Identities: len(c.Sessions)%2 == int(c.ID)%2})
		}
	}
	return c
}

// tunnel returns the destination of a session by UDP.
func (g *gen) tunnel() *record.ChipTunnel {
	if g.chance(10) {
		return nil
	}
	mac := func() string { h := g.host(); return net.HardwareAddr(h[:]).String() }
	t := &record.ChipTunnel{SrcIP: netip.AddrFrom4(g.ip4()), DstIP: netip.AddrFrom4(g.ip4()), SrcMAC: mac(), DstMAC: mac(),
		TOS: uint8(g.IntN(256))}
	if g.chance(40) {
		t.SrcIP, t.DstIP = netip.AddrFrom16(g.ip6()), netip.AddrFrom16(g.ip6())
	}
	return t
}

// container returns the container with a bit.
func container(phv record.Containers, bit int) int {
	i := 0
	for ; bit >= int(phv[i]); i++ {
		bit -= int(phv[i])
	}
	return i
}

// faultOp injects a fault that imitates a compiler's bug into the chip, or removes it. The chip may refuse.
func (p *pair) faultOp(within uint64) error {
	fixed := []string{"chip.acl", "chip.trap", "chip.learning", "chip.ipv4_route", "chip.ipv6_route", "chip.fdb"}
	tables := map[string][]string{}
	for _, n := range p.graphOf(p.program).graph.Nodes {
		if name, _, _ := strings.Cut(n.ID, "."); n.Kind == record.Table && name != "chip" {
			tables[name] = append(tables[name], n.ID)
		}
	}
	own := append(tables["ingress"], tables["egress"]...)
	f := pipe.Fault{Do: "heal"}
	if p.chance(70) {
		f = pipe.Fault{Do: "skip", Table: pick(&p.gen, fixed...)}
		if len(own) > 0 && p.chance(60) {
			f.Table = pick(&p.gen, own...)
		}
		if l := tables[pick(&p.gen, "ingress", "egress")]; len(l) > 1 && p.chance(60) {
			f = pipe.Fault{Do: "misplace", Table: pick(&p.gen, l...), Into: pick(&p.gen, l...)}
		}
	}
	at := max(p.last, p.chip.Now()+saisim.Cycle(p.Uint64N(within+1)))
	err := p.batch(at, pipe.Batch{Faults: []pipe.Fault{f}})
	if errors.Is(err, errRefused) {
		p.saw["record: faults refused"]++
		return nil
	}
	p.saw["record: fault: "+f.Do]++
	p.faulty = true
	return err
}

// recordsDiffer returns an error if sessions have counted differently. The chip is drained.
func (p *pair) recordsDiffer() error {
	for _, plan := range p.chip.Tables().RecordPlans {
		for _, s := range plan.Sessions {
			var counts []uint64
			if err := p.window(record.ObjectCounters, "labels", []string{s.Label},
				map[string]any{"counters": &counts}); err != nil {
				return err
			}
			r, ok := p.ref.RecordCounts(s.Label)
			if want := []uint64{r.Matched, r.NotSampled, r.Made, r.Lost}; !ok || !slices.Equal(counts, want) {
				return fmt.Errorf("session %s has counted %v, reference %v", s.Label, counts, want)
			}
			p.saw["record: matched"] += int(r.Matched)
			p.saw["record: made"] += int(r.Made)
		}
	}
	return nil
}

// pathsDiffer returns an error for a path that was counted differently. The chip is drained.
func (p *pair) pathsDiffer() error {
	if len(p.chip.Tables().RecordPlans) == 0 {
		return nil
	}
	var counted [3]uint64
	var paths []record.PathCount
	if err := p.window(record.ObjectGraph, "describe", map[string]bool{"paths": true},
		map[string]any{"counted": &counted, "paths": &paths}); err != nil {
		return err
	}
	n, other, want := p.ref.Paths()
	p.saw["record: paths counted"] += len(want)
	if graph := p.graphOf(p.program).graph.Version; counted != [3]uint64{graph, n, other} {
		return fmt.Errorf("graph, copies counted and copies without room are %d, reference %d, %d and %d", counted, graph, n,
			other)
	}
	sum := map[string]uint64{}
	for _, c := range want {
		sum[steps(c.Path)] -= c.Packets
	}
	for _, c := range paths {
		sum[steps(c.Path)] += c.Packets
	}
	for path, n := range sum {
		if n != 0 {
			return fmt.Errorf("path%s was counted %+d times beyond the reference", path, int64(n))
		}
	}
	return nil
}

// see handles the fast engine's report of the end of a copy.
func (p *pair) see(m saisim.Moment) {
	copied := [2]uint64{m.Number, uint64(m.Copy)}
	switch m.What {
	case saisim.MomentMirrored:
		p.saw["mirrored"]++
		p.mirrors[copied] = true
	case saisim.MomentSent, saisim.MomentPunted, saisim.MomentDropped:
		if m.Trail.Graph == 0 { // it has not entered, or it is for a mirror session
			return
		}
		if p.mirrors[copied] {
			p.trailOfMirror = true
		}
		if m.In != saisim.CPUPort && !p.faulty {
			p.trails[endedTrail{m.Trail, endOf(m)}] = true
		}
		if p.recording {
			p.ended[ending{m.ID, m.In, m.Port, m.What != saisim.MomentDropped, m.Why, m.Trap, p.stepsOf(m.Trail)}]++
		}
	}
}

// endOf returns how a copy ended.
func endOf(m saisim.Moment) string {
	switch m.What {
	case saisim.MomentSent:
		return record.EndSent
	case saisim.MomentPunted:
		return record.EndCPU
	}
	return m.Why.String()
}

// seeReference handles the reference's report of an end.
func (p *pair) seeReference(e reference.Ending) {
	if p.recording && !p.blind {
		p.ended[ending{e.ID, e.In, e.Port, e.Sent, e.Why, e.Trap, steps(e.Path)}]--
	}
}

// steps formats a path.
func steps(path []record.Step) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteString(" " + s.Table)
		if s.Hit {
			b.WriteString("+")
		}
	}
	return b.String()
}

// endsDiffer returns an error for a copy that ended elsewhere, or that took another path.
func (p *pair) endsDiffer() error {
	for e, n := range p.ended {
		if n != 0 {
			var others []string
			for f, m := range p.ended {
				if f.id == e.id && m != 0 && f != e {
					others = append(others, fmt.Sprintf("\n%+d %+v", m, f))
				}
			}
			return fmt.Errorf("a copy ended in the fast engine oftener than in the reference, by %+d: %+v%s", n, e,
				strings.Join(others, ""))
		}
	}
	return nil
}

// walks holds the possible paths through a graph.
type walks struct {
	graph  *record.Graph
	tables []string // tables that a trail may have, in order
	first  map[string]bool
	next   map[record.Step]map[string]bool
}

// graphOf returns the graph of a program. From now on, trails may belong to this graph.
func (p *pair) graphOf(program *pipe.Program) *walks {
	g := describe.Program(&p.prof, program)
	if p.graphs[g.Version] == nil {
		p.graphs[g.Version] = newWalks(g)
	}
	return p.graphs[g.Version]
}

// newWalks finds which tables may follow which. Conditions let any packet through.
func newWalks(g *record.Graph) *walks {
	w := &walks{graph: g, next: map[record.Step]map[string]bool{}}
	condition, edges := map[string]bool{}, map[string][]record.Edge{}
	for _, e := range g.Edges {
		edges[e.From] = append(edges[e.From], e)
	}
	ends := map[[2]string][]string{}
	for _, e := range g.Ends {
		ends[[2]string{e.From, e.Label}] = e.How
	}
	for _, n := range g.Nodes {
		condition[n.ID] = n.Kind == record.Condition
	}
	var reach func(to string, set map[string]bool)
	var follow func(e record.Edge, set map[string]bool) // an edge to the end, also by how it ends packets
	reach = func(to string, set map[string]bool) {
		if set[to] {
			return
		}
		set[to] = true
		if condition[to] {
			for _, e := range edges[to] {
				follow(e, set)
			}
		}
	}
	follow = func(e record.Edge, set map[string]bool) {
		reach(e.To, set)
		if e.To == record.Exit {
			for _, how := range ends[[2]string{e.From, e.Label}] {
				set[record.Exit+" "+how] = true
			}
		}
	}
	w.first = map[string]bool{}
	reach(g.Init, w.first)
	for _, n := range g.Nodes {
		if condition[n.ID] {
			continue
		}
		w.tables = append(w.tables, n.ID)
		branches := !slices.ContainsFunc(edges[n.ID], func(e record.Edge) bool {
			return e.Label != record.Hit && e.Label != record.Miss
		})
		for hit, label := range map[bool]string{true: record.Hit, false: record.Miss} {
			set := map[string]bool{}
			for _, e := range edges[n.ID] {
				if !branches || e.Label == label {
					follow(e, set)
				}
			}
			w.next[record.Step{Table: n.ID, Hit: hit}] = set
		}
	}
	return w
}

// path returns the tables of a trail.
func (w *walks) path(t saisim.Trail) (path []record.Step) {
	for i, table := range w.tables {
		if t.Ran[i/64]>>(i%64)&1 != 0 {
			path = append(path, record.Step{Table: table, Hit: t.Hit[i/64]>>(i%64)&1 != 0})
		}
	}
	return path
}

// has returns an error if a path with an end is not in the graph.
func (w *walks) has(path []record.Step, end string) error {
	set, keyless := w.first, map[string]bool{}
	for _, n := range w.graph.Nodes {
		keyless[n.ID] = n.Keyless
	}
	for _, s := range path {
		switch {
		case !set[s.Table]:
			return fmt.Errorf("%s cannot come there", s.Table)
		case s.Hit && keyless[s.Table]:
			return fmt.Errorf("%s is keyless, and hit", s.Table)
		}
		set = w.next[s]
	}
	ends := []string{end}
	switch end {
	case drop.PortRemoved.String(): // anywhere; only packets in a queue have a record
		return nil
	case drop.EgressDown.String(): // also after the egress pipe, when the record reports that it was sent
		ends = append(ends, record.EndSent)
	}
	if !slices.ContainsFunc(ends, func(end string) bool { return set[record.Exit+" "+end] }) {
		return errors.New("it cannot end so")
	}
	return nil
}

func (p *pair) stepsOf(t saisim.Trail) string {
	if w := p.graphs[t.Graph]; w != nil {
		return steps(w.path(t))
	}
	return fmt.Sprintf("of graph %d, which never was", t.Graph)
}

// offTheGraph returns an error for a trail that is not a path of its graph.
func (p *pair) offTheGraph() error {
	if p.trailOfMirror {
		return errors.New("a mirror copy has a trail")
	}
	for t := range p.trails {
		w := p.graphs[t.Graph]
		if w == nil {
			return fmt.Errorf("a trail of graph %d, which never was", t.Graph)
		}
		if err := w.has(w.path(t.Trail), t.end); err != nil {
			return fmt.Errorf("trail%s, %s: %w", steps(w.path(t.Trail)), t.end, err)
		}
		p.saw["record: end: "+t.end]++
		for _, s := range w.path(t.Trail) {
			p.saw["record: trail: "+trailOf(s)]++
		}
	}
	return nil
}

// trailOf returns the name of a step. Tables of programs are named by their pipe.
func trailOf(s record.Step) string {
	name := s.Table
	if pipe, _, _ := strings.Cut(name, "."); pipe != "chip" {
		name = "a table of the program, " + pipe
	}
	if s.Hit {
		return name + ", hit"
	}
	return name
}

// recordings returns the events that must have occurred.
func recordings() (all []string) {
	what := []string{"paths counted", "plans", "plans changed", "plans removed", "matched", "made", "not sampled",
		"a session without plan", "a plan of another program",
		"the mirror session is gone", "there is no tunnel", "sent", "to the CPU", "to a port without number",
		"by UDP over IPv4", "by UDP over IPv6", "by ERSPAN type II", "by ERSPAN type III", "by GRE",
		"pre-ingress tables bound", "truncated", "of a flood", "by two sessions", "of a plan that is no more",
		"unsynchronised", "fault: skip", "fault: misplace", "fault: heal",
		"lost: buffer", "lost: queue-limit", "lost: egress-port-down", "lost: egress-mtu",
		"bit of a program's table: ran ingress", "bit of a program's table: hit ingress",
		"bit of a program's table: ran egress", "bit of a program's table: hit egress",
		"bit of a program's table: action ingress", "bit of a program's table: action egress", "bit of an action, set",
		"bit of no action, set"}
	for _, why := range []string{"source-address", "vlan-tag-filter", "no-lag-member", "no-vlan", "not-vlan-member", "acl",
		"trap", "learning", "unknown-destination", "same-port", "no-destination", "not-router", "ip-header", "no-route",
		"blackhole", "neighbor", "no-neighbor", "no-next-hop", "program",
		"buffer", "queue-limit", "wred", "egress-port-down", "egress-mtu", "egress-program"} {
		what = append(what, "dropped: "+why)
	}
	for _, table := range []string{"port", "trap", "acl", "learning", "router_mac", "ipv4_route", "ipv6_route", "next_hop",
		"fdb", "mtu", "egress_acl", "tail_stamp"} {
		what = append(what, "bit: ran chip."+table, "bit: hit chip."+table, "trail: chip."+table,
			"trail: chip."+table+", hit")
	}
	for _, kind := range []string{"rule", "acl_entry", "egress_rule", "egress_acl_entry", "source", "route", "next_hop",
		"neighbor", "fdb", "queue"} {
		what = append(what, "with identity: "+kind)
	}
	what = append(what, "with no identity to tell")
	what = append(what, "bit: ran chip.flymon", "trail: chip.flymon")
	for _, w := range what {
		all = append(all, "record: "+w)
	}
	return all
}

func newTableRecorder() tableRecorder {
	return tableRecorder{graphs: map[uint64]*walks{}, trails: map[endedTrail]bool{}, ended: map[ending]int{},
		mirrors: map[[2]uint64]bool{}}
}
