package extension

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/tam/record"
)

func recordObjects() []string {
	return []string{record.ObjectPlan, record.ObjectCounters, record.ObjectGraph}
}

// plans holds the plans of table recording.
type plans struct {
	*Chip
	inEffect []*plan // in the order in which they were set
}

// object implements [Area.Object] for table recording.
func (ps *plans) object(name string, id config.ID) Object {
	if ps.Profile.TableRecord.Bits == 0 {
		return nil
	}
	switch name {
	case record.ObjectPlan:
		return &plan{of: ps, row: config.RecordPlan{Object: id}}
	case record.ObjectCounters:
		return &recordWindow{of: ps.Chip}
	case record.ObjectGraph:
		return &graphWindow{of: ps.Chip}
	}
	return nil
}

// A plan is the state that the store keeps for a plan: its row as it was set last.
type plan struct {
	of   *plans
	row  config.RecordPlan
	made bool // it has been set
}

// Apply puts the complete plan into effect in one step. An existing object displaces others that use the same bits or
// labels. The displaced plans have no effect until they are set too. So syncd may swap two plans, one after the other.
func (x *plan) Apply(text []byte) error {
	var v record.ChipPlan
	given, err := readExtension(text, "plan", &v)
	if err != nil {
		return err
	}
	if given == nil {
		return errors.New("plan is missing, want a plan")
	}
	next, err := x.of.parse(&v)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	next.Object = x.row.Object
	var others, displaced []*plan
	for _, p := range x.of.inEffect {
		if p == x {
			continue
		}
		switch err := planCollides(&next, &p.row); {
		case err == nil:
			others = append(others, p)
		case !x.made:
			return fmt.Errorf("plan: %w", err)
		default:
			displaced = append(displaced, p)
		}
	}
	if err := x.of.fits(&next, others); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	for _, p := range displaced {
		p.row.Idle = true
		x.of.Put(p.row)
	}
	x.row, x.made, x.of.inEffect = next, true, append(others, x)
	x.of.Put(next)
	return nil
}

func (x *plan) Leave() {
	x.of.inEffect = slices.DeleteFunc(x.of.inEffect, func(p *plan) bool { return p == x })
	x.of.Drop(x.row)
}

func (x *plan) Read() sai.Value { return nil }

// planCollides returns an error if two plans use the same bits or labels.
func planCollides(p, o *config.RecordPlan) error {
	if p.Offset < o.Offset+o.PHV.Bits() && o.Offset < p.Offset+p.PHV.Bits() {
		return fmt.Errorf("bits %d to %d of the record word are in use from %d to %d by plan %d, want others",
			p.Offset, p.Offset+p.PHV.Bits()-1, o.Offset, o.Offset+o.PHV.Bits()-1, o.ID)
	}
	for _, s := range p.Sessions {
		if slices.ContainsFunc(o.Sessions, func(t config.RecordSession) bool { return s.Label == t.Label }) {
			return fmt.Errorf("label %q is in plan %d too, want each once on the chip", s.Label, o.ID)
		}
	}
	return nil
}

// fits returns an error if a plan does not fit besides others and the programs that run or are to run.
func (ps *plans) fits(p *config.RecordPlan, others []*plan) error {
	bits, sessions := p.PHV.Bits(), len(p.Sessions)
	for _, o := range others {
		bits += o.row.PHV.Bits()
		sessions += len(o.row.Sessions)
	}
	if limit := int(ps.Profile.TableRecord.Sessions); sessions > limit {
		return fmt.Errorf("%d sessions in all plans, want at most %d", sessions, limit)
	}
	if need := ps.Engine.ProgramBits(); need+uint64(bits) > uint64(ps.Profile.PHVBits) {
		return fmt.Errorf("PHV: %d bits of plans beside %d that the program takes, have %d", bits, need, ps.Profile.PHVBits)
	}
	return nil
}

// parse returns the row of a plan's ENTRY.
func (ps *plans) parse(v *record.ChipPlan) (r config.RecordPlan, err error) {
	phv, err := record.ParseContainers(v.PHV)
	if err != nil {
		return r, fmt.Errorf("phv: %w", err)
	}
	g := ps.Engine.Graph()
	limit := int(ps.Profile.TableRecord.Bits)
	switch {
	case v.ID == 0:
		return r, errors.New("id is 0, want the checksum of the plan")
	case v.Offset < 0 || v.Offset > limit || v.Offset+phv.Bits() > limit:
		return r, fmt.Errorf("phv %s from bit %d, want all of it in the %d bits of the record word", v.PHV, v.Offset, limit)
	case v.Graph != g.Version:
		return r, fmt.Errorf("graph is %d, want %d, that of the chip's pipes now: plan again", v.Graph, g.Version)
	}
	r = config.RecordPlan{ID: v.ID, Switch: v.Switch, PHV: phv, Offset: v.Offset, Graph: v.Graph}
	if r.Marks, err = planMarks(g, phv, v.Marks); err != nil {
		return r, err
	}
	r.Sessions, err = planSessions(v.Sessions)
	return r, err
}

// markWrong returns an error if a mark is invalid for a table with these actions. n is nil if there is no such table.
func markWrong(n *record.Node, acts []string, m *record.ChipMark) error {
	switch {
	case n == nil:
		return fmt.Errorf("table %.80q: the chip has none of that name", m.Table)
	case m.When != record.MarkRan && m.When != record.MarkHit && m.When != record.MarkAction:
		return fmt.Errorf("when is %.80q, want %s, %s or %s", m.When, record.MarkRan, record.MarkHit, record.MarkAction)
	case m.When != record.MarkRan && n.Keyless:
		return fmt.Errorf("table %q has no key: it never hits", m.Table)
	case m.When != record.MarkAction && m.Actions != nil:
		return fmt.Errorf("actions are there, and when is %s: want %s", m.When, record.MarkAction)
	}
	if m.When != record.MarkAction {
		return nil
	}
	if err := actionsWrong(n, acts, m.Actions); err != nil {
		return fmt.Errorf("table %q: %w", m.Table, err)
	}
	return nil
}

// planMarks checks and returns marks of tables of the graph.
func planMarks(g *record.Graph, phv record.Containers, marks []record.ChipMark) (taken []record.Mark, err error) {
	used := map[int]string{}
	acts := g.Acts()
	var errs []error
	for i, m := range marks {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("marks[%d]: "+format, append([]any{i}, args...)...))
		}
		wrong := markWrong(tableOf(g, m.Table), acts[m.Table], &m)
		switch {
		case wrong != nil:
			bad("%w", wrong)
		case m.Bit < 0 || m.Bit >= phv.Bits():
			bad("bit is %d, want 0 to %d", m.Bit, phv.Bits()-1)
		case used[m.Bit] != "":
			bad("bit %d is set by table %q already", m.Bit, used[m.Bit])
		default:
			used[m.Bit] = m.Table
			taken = append(taken, record.Mark{Table: m.Table, Hit: m.When != record.MarkRan, Bit: m.Bit, Of: m.Actions})
		}
		if len(errs) == maxPlanErrors {
			break
		}
	}
	if len(errs) == 0 {
		errs = append(errs, checkContainers(g, phv, taken))
	}
	return taken, errors.Join(errs...)
}

// actionsWrong returns an error if the actions of a mark are not among those that a table has.
func actionsWrong(n *record.Node, has, actions []string) error {
	if has == nil && n.Unit != "" {
		return errors.New("it is the chip's own, whose actions no plan records: " +
			"want ran or hit, or an action of a table of the program")
	}
	if has == nil {
		return errors.New("its entries have no two actions to tell apart")
	}
	if len(actions) == 0 {
		return errors.New("actions is empty, want at least one of its actions")
	}
	for i, a := range actions {
		if !slices.Contains(has, a) {
			return fmt.Errorf("actions has %.80q, want some of %.200q", a, has)
		}
		if slices.Contains(actions[:i], a) {
			return fmt.Errorf("actions has %q twice", a)
		}
	}
	return nil
}

// maxPlanErrors is the maximum number of errors that a refusal lists.
const maxPlanErrors = 8

// tableOf returns a table of the graph by its id, or nil if there is none.
func tableOf(g *record.Graph, id string) *record.Node {
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.ID == id && n.Kind == record.Table {
			return n
		}
	}
	return nil
}

// checkContainers checks constraint C5: tables of one stage that the same packet can run do not write the same
// container, unless they are one unit.
func checkContainers(g *record.Graph, phv record.Containers, marks []record.Mark) error {
	var reach *record.Reach
	container := func(bit int) (i int) {
		for ; bit >= phv.Offset(i)+int(phv[i]); i++ {
		}
		return i
	}
	for i, a := range marks {
		for _, b := range marks[:i] {
			x, y := tableOf(g, a.Table), tableOf(g, b.Table)
			if x == y || x.Stage != y.Stage || x.Unit != "" && x.Unit == y.Unit || container(a.Bit) != container(b.Bit) {
				continue
			}
			if reach == nil {
				var err error
				if reach, err = record.NewReach(g); err != nil {
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

func planSessions(sessions []record.ChipSession) (taken []config.RecordSession, err error) {
	for i, v := range sessions {
		bad := func(format string, args ...any) ([]config.RecordSession, error) {
			return nil, fmt.Errorf("sessions[%d]: "+format, append([]any{i}, args...)...)
		}
		if !strings.HasPrefix(v.Label, record.LabelPrefix) {
			return bad("label is %.80q, want one that begins with %q", v.Label, record.LabelPrefix)
		}
		if slices.ContainsFunc(taken, func(s config.RecordSession) bool { return s.Label == v.Label }) {
			return bad("label %q is there twice", v.Label)
		}
		tunnel, err := parseTunnel(v.Tunnel)
		if err != nil {
			return bad("tunnel: %w", err)
		}
		taken = append(taken, config.RecordSession{
			Label: v.Label, Sample: max(v.Sample, 1), Identities: v.Identities, Tunnel: tunnel,
		})
	}
	return taken, nil
}

func parseTunnel(v *record.ChipTunnel) (*config.RecordTunnel, error) {
	if v == nil {
		return nil, nil
	}
	if !v.SrcIP.IsValid() || !v.DstIP.IsValid() || v.SrcIP.Is4() != v.DstIP.Is4() ||
		v.SrcIP.Is4In6() || v.DstIP.Is4In6() || v.SrcIP.Zone()+v.DstIP.Zone() != "" {
		return nil, fmt.Errorf("from %s to %s, want two addresses of IPv4 or of IPv6", v.SrcIP, v.DstIP)
	}
	t := &config.RecordTunnel{Src: v.SrcIP, Dst: v.DstIP, TOS: v.TOS}
	for _, x := range []struct {
		mac  *config.MAC
		text string
	}{{&t.DMAC, v.DstMAC}, {&t.SMAC, v.SrcMAC}} {
		mac, err := net.ParseMAC(x.text)
		if err != nil || len(mac) != 6 {
			return nil, fmt.Errorf("MAC address %.40q, want one as 02:00:00:00:00:01", x.text)
		}
		*x.mac = config.MAC(mac)
	}
	return t, nil
}

// A recordWindow reads the counters of sessions.
type recordWindow struct {
	of     *Chip
	entry  map[string]json.RawMessage
	labels []string
}

func (w *recordWindow) Apply(text []byte) error {
	next := recordWindow{of: w.of}
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

func (w *recordWindow) Leave() {}

func (w *recordWindow) Read() sai.Value {
	values := make([]uint64, 0, record.CounterWords*len(w.labels))
	for _, label := range w.labels {
		n := w.of.Engine.RecordCounts(label)
		values = append(values, n.Matched, n.Unsampled, n.Made, n.Lost)
	}
	return writeExtension(w.entry, []string{record.AttrCounters}, [][]uint64{values})
}

// A graphWindow reads the graph of the chip, and the paths that packets took.
type graphWindow struct {
	of    *Chip
	entry map[string]json.RawMessage
	want  record.ChipQuestion
}

func (w *graphWindow) Apply(text []byte) error {
	next := graphWindow{of: w.of}
	if len(text) > 0 {
		var err error
		if next.entry, err = readExtension(text, record.AttrDescribe, &next.want); err != nil {
			return err
		}
	}
	*w = next
	return nil
}

func (w *graphWindow) Leave() {}

func (w *graphWindow) Read() sai.Value {
	g := w.of.Engine.Graph()
	packets, other := w.of.Engine.PathsCounted()
	values := []extensionValue{{record.AttrCounted, valueNumbers, []uint64{g.Version, packets, other}}}
	if w.want.Graph {
		values = append(values, extensionValue{record.AttrGraph, valueJSON, g})
	}
	if w.want.Paths {
		values = append(values, extensionValue{record.AttrPaths, valueJSON, w.of.Engine.Paths()})
	}
	return writeValues(w.entry, values...)
}
