package saisim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

func recordExtensions() []string {
	return []string{record.ObjectPlan, record.ObjectCounters, record.ObjectGraph}
}

// newRecordExtension is newExtension for table recording.
func (c *store) newRecordExtension(name string) extension {
	if c.prof.TableRecord.Bits == 0 {
		return nil
	}
	switch name {
	case record.ObjectPlan:
		return &planObject{}
	case record.ObjectCounters:
		return &recordWindow{}
	case record.ObjectGraph:
		return &graphWindow{}
	}
	return nil
}

// A planObject is a plan as an object: what is in effect of it, and counters.
type planObject struct {
	plan   *recordPlan // nil: another object has taken its bits or a label, or it is new
	made   bool
	counts map[string]*recordCounts
}

// apply puts the plan into effect, at once and whole. An object that is set takes
// what it needs from objects that have it, which are without effect until they are set in
// turn: syncd may have two exchange theirs, one after the other.
func (x *planObject) apply(c *store, text []byte) error {
	var v record.ChipPlan
	given, err := readExtension(text, "plan", &v)
	if err != nil {
		return err
	}
	if given == nil {
		return errors.New("plan is missing, want a plan")
	}
	next, err := c.parsePlan(&v)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	others := c.recording.plans
	if x.plan != nil {
		others = slices.DeleteFunc(slices.Clone(others), func(p *recordPlan) bool { return p == x.plan })
	}
	for _, p := range others {
		if err := next.collides(p); err != nil && !x.made {
			return fmt.Errorf("plan: %w", err)
		} else if err != nil {
			others = slices.DeleteFunc(slices.Clone(others), func(o *recordPlan) bool { return o == p })
		}
	}
	if err := c.planFits(next, others); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	x.settle(next)
	c.setPlans(append(slices.Clone(others), next))
	return nil
}

// settle makes the plan the object's, with counters of labels that it had.
func (x *planObject) settle(p *recordPlan) {
	counts := map[string]*recordCounts{}
	for _, s := range p.sessions {
		s.counts = x.counts[s.label]
		if s.counts == nil {
			s.counts = new(recordCounts)
		}
		counts[s.label] = s.counts
	}
	x.plan, x.made, x.counts = p, true, counts
	p.owner = x
}

func (x *planObject) leave(c *store) {
	c.setPlans(slices.DeleteFunc(slices.Clone(c.recording.plans), func(p *recordPlan) bool { return p == x.plan }))
	x.plan = nil
}

func (x *planObject) read(*store) sai.Value { return nil }

// setPlans makes plans those in effect.
func (c *store) setPlans(plans []*recordPlan) {
	r := &c.recording
	if len(r.plans) == 0 && len(plans) > 0 {
		r.paths.begin(c.described())
	}
	for _, p := range r.plans {
		if !slices.Contains(plans, p) && p.owner.plan == p {
			p.owner.plan = nil
		}
	}
	r.plans = plans
	c.bindRecords()
	c.retrack()
}

// bindRecords finds the sessions of mirror sessions by their labels.
func (c *engine) bindRecords() {
	r := &c.recording
	c.recorders, r.sessions = 0, [profile.MaxMirrors]*recordSession{}
	for i, m := range c.mirrors {
		if m == nil || !m.records() {
			continue
		}
		c.recorders |= 1 << i
		r.sessions[i] = c.recordSession(m.label)
	}
}

func (c *engine) recordSession(label string) *recordSession {
	for _, p := range c.recording.plans {
		for _, s := range p.sessions {
			if s.label == label {
				return s
			}
		}
	}
	return nil
}

// collides says what two plans cannot both have.
func (p *recordPlan) collides(o *recordPlan) error {
	if p.offset < o.offset+o.containers.Bits() && o.offset < p.offset+p.containers.Bits() {
		return fmt.Errorf("bits %d to %d of the record word are in use from %d to %d by plan %d, want others",
			p.offset, p.offset+p.containers.Bits()-1, o.offset, o.offset+o.containers.Bits()-1, o.row.ID)
	}
	for _, s := range p.sessions {
		for _, t := range o.sessions {
			if s.label == t.label {
				return fmt.Errorf("label %q is in plan %d too, want each once on the chip", s.label, o.row.ID)
			}
		}
	}
	return nil
}

// planFits says whether there is room for a plan beside others and the programs that run
// or are to run.
func (c *store) planFits(p *recordPlan, others []*recordPlan) error {
	bits, sessions := p.containers.Bits(), len(p.sessions)
	for _, o := range others {
		bits += o.containers.Bits()
		sessions += len(o.sessions)
	}
	if limit := int(c.prof.TableRecord.Sessions); sessions > limit {
		return fmt.Errorf("%d sessions in all plans, want at most %d", sessions, limit)
	}
	need := uint64(pipe.HeaderBits)
	programs := []*pipe.Compiled{c.program, c.planned}
	for i := range c.batches.Len() {
		programs = append(programs, c.batches.At(i).program)
	}
	for _, program := range programs {
		if program != nil {
			need = max(need, program.Program().Usage(c.prof.Limits()).PHVBits)
		}
	}
	if need+uint64(bits) > uint64(c.prof.PHVBits) {
		return fmt.Errorf("PHV: %d bits of plans beside %d that the program takes, have %d", bits, need, c.prof.PHVBits)
	}
	return nil
}

// recordBits is what plans take of the PHV.
func (c *store) recordBits() (n uint32) {
	for _, p := range c.recording.plans {
		n += uint32(p.containers.Bits())
	}
	return n
}

// parsePlan makes a plan of its ENTRY.
func (c *store) parsePlan(v *record.ChipPlan) (*recordPlan, error) {
	containers, err := record.ParseContainers(v.PHV)
	if err != nil {
		return nil, fmt.Errorf("phv: %w", err)
	}
	g := c.described()
	limit := int(c.prof.TableRecord.Bits)
	switch {
	case v.ID == 0:
		return nil, errors.New("id is 0, want the checksum of the plan")
	case v.Offset < 0 || v.Offset > limit || v.Offset+containers.Bits() > limit:
		return nil, fmt.Errorf("phv %s from bit %d, want all of it in the %d bits of the record word", v.PHV, v.Offset, limit)
	case v.Graph != g.graph.Version:
		return nil, fmt.Errorf("graph is %d, want %d, that of the chip's pipes now: plan anew", v.Graph, g.graph.Version)
	}
	p := &recordPlan{containers: containers, offset: v.Offset}
	p.row = config.RecordPlan{ID: v.ID, Switch: v.Switch, PHV: containers, Offset: v.Offset, Graph: v.Graph}
	if err := p.takeMarks(g, v.Marks); err != nil {
		return nil, err
	}
	return p, p.takeSessions(v.Sessions)
}

// takeMarks checks marks and makes taps of them.
func (p *recordPlan) takeMarks(g *chipGraph, marks []record.ChipMark) error {
	used := map[int]string{}
	var errs []error
	for i, m := range marks {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("marks[%d]: "+format, append([]any{i}, args...)...))
		}
		n := g.node(m.Table)
		switch {
		case n == nil:
			bad("table %.80q: the chip has none of that name", m.Table)
		case m.When != record.MarkRan && m.When != record.MarkHit:
			bad("when is %.80q, want %s or %s", m.When, record.MarkRan, record.MarkHit)
		case m.When == record.MarkHit && n.Keyless:
			bad("table %q has no key: it never hits", m.Table)
		case m.Bit < 0 || m.Bit >= p.containers.Bits():
			bad("bit is %d, want 0 to %d", m.Bit, p.containers.Bits()-1)
		case used[m.Bit] != "":
			bad("bit %d is set by table %q already", m.Bit, used[m.Bit])
		default:
			used[m.Bit] = m.Table
			p.marks = append(p.marks, g.tap(m))
			p.row.Marks = append(p.row.Marks, record.Mark{Table: m.Table, Hit: m.When == record.MarkHit, Bit: m.Bit})
		}
		if len(errs) == maxPlanErrors {
			break
		}
	}
	if len(errs) == 0 {
		errs = append(errs, p.checkContainers(g))
	}
	return errors.Join(errs...)
}

// maxPlanErrors is how much of what is wrong is told.
const maxPlanErrors = 8

// checkContainers is constraint C5: tables of one stage that a packet can both run do not
// write one container, unless they are one unit.
func (p *recordPlan) checkContainers(g *chipGraph) error {
	var reach *record.Reach
	container := func(bit int) (i int) {
		for ; bit >= p.containers.Offset(i)+int(p.containers[i]); i++ {
		}
		return i
	}
	for i, a := range p.row.Marks {
		for _, b := range p.row.Marks[:i] {
			x, y := g.node(a.Table), g.node(b.Table)
			if x == y || x.Stage != y.Stage || x.Unit != "" && x.Unit == y.Unit || container(a.Bit) != container(b.Bit) {
				continue
			}
			if reach == nil {
				var err error
				if reach, err = record.NewReach(g.graph); err != nil {
					return err
				}
			}
			from, _ := reach.Index(x.ID)
			to, _ := reach.Index(y.ID)
			if !reach.Exclusive(from, to) {
				return fmt.Errorf("tables %q and %q of stage %d both write container %d, want tables that no packet runs "+
					"both, or two containers",
					y.ID, x.ID, x.Stage, container(a.Bit))
			}
		}
	}
	return nil
}

func (p *recordPlan) takeSessions(sessions []record.ChipSession) error {
	for i, v := range sessions {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("sessions[%d]: "+format, append([]any{i}, args...)...)
		}
		if !strings.HasPrefix(v.Label, record.LabelPrefix) {
			return bad("label is %.80q, want one that begins with %q", v.Label, record.LabelPrefix)
		}
		if slices.ContainsFunc(p.sessions, func(s *recordSession) bool { return s.label == v.Label }) {
			return bad("label %q is there twice", v.Label)
		}
		tunnel, err := parseTunnel(v.Tunnel)
		if err != nil {
			return bad("tunnel: %w", err)
		}
		s := &recordSession{label: v.Label, sample: max(uint64(v.Sample), 1), plan: p, tunnel: tunnel}
		p.sessions = append(p.sessions, s)
		p.row.Sessions = append(p.row.Sessions, config.RecordSession{Label: v.Label, Sample: uint32(s.sample),
			Tunnel: v.Tunnel})
	}
	return nil
}

func parseTunnel(v *record.ChipTunnel) (*recordTunnel, error) {
	if v == nil {
		return nil, nil
	}
	if !v.SrcIP.IsValid() || !v.DstIP.IsValid() || v.SrcIP.Is4() != v.DstIP.Is4() ||
		v.SrcIP.Is4In6() || v.DstIP.Is4In6() || v.SrcIP.Zone()+v.DstIP.Zone() != "" {
		return nil, fmt.Errorf("from %s to %s, want two addresses of IPv4 or of IPv6", v.SrcIP, v.DstIP)
	}
	t := &recordTunnel{tos: v.TOS, src: v.SrcIP.AsSlice(), dst: v.DstIP.AsSlice()}
	for i, text := range []string{v.DstMAC, v.SrcMAC} {
		mac, err := net.ParseMAC(text)
		if err != nil || len(mac) != 6 {
			return nil, fmt.Errorf("MAC address %.40q, want one as 02:00:00:00:00:01", text)
		}
		copy(t.macs[6*i:], mac)
	}
	return t, nil
}

// recordPlans are the plans in effect, for Tables.
func (c *store) recordPlans(objects []*object) []config.RecordPlan {
	var rows []config.RecordPlan
	for _, o := range objects {
		if x, ok := o.self.(*planObject); ok && x.plan != nil {
			r := x.plan.row
			r.Object = o.id()
			r.PHV, r.Marks, r.Sessions = slices.Clone(r.PHV), slices.Clone(r.Marks), slices.Clone(r.Sessions)
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b config.RecordPlan) int { return cmp.Compare(a.Object, b.Object) })
	return rows
}

// A recordWindow reads what sessions have counted.
type recordWindow struct {
	entry  map[string]json.RawMessage
	labels []string
}

func (w *recordWindow) apply(_ *store, text []byte) error {
	next := recordWindow{}
	if len(text) > 0 {
		var err error
		if next.entry, err = readExtension(text, record.AttrLabels, &next.labels); err != nil {
			return err
		}
	}
	if len(next.labels) > record.MaxLabels {
		return fmt.Errorf("labels: %d, want at most %d", len(next.labels), record.MaxLabels)
	}
	*w = next
	return nil
}

func (w *recordWindow) leave(*store) {}

func (w *recordWindow) read(c *store) sai.Value {
	values := make([]uint64, 0, record.CounterWords*len(w.labels))
	for _, label := range w.labels {
		n := recordCounts{}
		if s := c.recordSession(label); s != nil {
			n = *s.counts
		}
		values = append(values, n.matched, n.unsampled, n.made, n.lost)
	}
	return writeExtension(w.entry, []string{record.AttrCounters}, [][]uint64{values})
}

// A graphWindow reads the graph of the chip, and the paths that packets took.
type graphWindow struct {
	entry map[string]json.RawMessage
	want  record.ChipQuestion
}

func (w *graphWindow) apply(_ *store, text []byte) error {
	next := graphWindow{}
	if len(text) > 0 {
		var err error
		if next.entry, err = readExtension(text, record.AttrDescribe, &next.want); err != nil {
			return err
		}
	}
	*w = next
	return nil
}

func (w *graphWindow) leave(*store) {}

func (w *graphWindow) read(c *store) sai.Value {
	t := &c.recording.paths
	values := []extensionValue{{record.AttrCounted, valueNumbers,
		[]uint64{c.described().graph.Version, t.packets, t.other}}}
	if w.want.Graph {
		values = append(values, extensionValue{record.AttrGraph, valueJSON, c.described().graph})
	}
	if w.want.Paths {
		values = append(values, extensionValue{record.AttrPaths, valueJSON, t.counts()})
	}
	return writeValues(w.entry, values...)
}

// Paths returns the paths that were counted, how many packets took them or others, and
// how many of these took one for which there was no room.
func (c *Chip) Paths() (paths []record.PathCount, packets, other uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.recording.paths
	return t.counts(), t.packets, t.other
}
