package dropmonitor

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A plan is what a session is to have in the ASIC.
type plan struct {
	port      uint16 // that it sends from
	targets   []target
	report    []sai.Attr
	threshold []sai.Attr // nil: stateless
	domain    uint32     // the switch's id; 0: it has none
	rules     []schema.ACLRuleKey
	idle      bool // no report gets to any of the targets, as far as is known
}

// A binding is a session in the ASIC, or on its way in or out.
type binding struct {
	plan       plan
	made       []step    // in order
	collectors []sai.OID // of plan.targets
	tam        sai.OID
	leaving    bool
	atHost     map[string]handed // what the host has sent of each stream, and what is wrong
}

// A step is something that was made, and how that is undone.
type step struct {
	what string
	undo func(ctx context.Context) error
}

// plan computes what a session is to have.
func (o *Orch) plan(s *session) (p plan, note string, err error) {
	row := &s.Row
	targets, why := o.targets(row.Collectors)
	if len(targets) == 0 {
		return p, "", unreachable(row.Collectors, why)
	}
	kind := sai.TAMReportTypeIPFIX
	if row.Layout == schema.DropLayoutMOD {
		kind = sai.TAMReportTypeVendorExtn
	}
	ids, enterprise := o.identity.InUse(), uint32(0)
	if ids.EnterpriseIDGiven {
		enterprise = ids.EnterpriseID
	}
	p = plan{port: o.port(s.Name), targets: targets, rules: row.Rules, report: []sai.Attr{
		{ID: sai.TAMReportAttrType, Value: kind},
		{ID: sai.TAMReportAttrEnterpriseNumber, Value: sai.Uint(enterprise)},
		{ID: sai.TAMReportAttrTemplateReportInterval, Value: sai.Uint(row.Templates)},
	}}
	if s.InASIC != nil {
		wrong := s.InASIC.wrong()
		why, p.idle = append(why, wrong...), len(wrong) == len(targets)
	}
	p.report = append(p.report, rate(row)...)
	if row.Stateful {
		p.threshold = []sai.Attr{
			{ID: sai.TAMEventThresholdAttrUnit, Value: sai.TAMEventThresholdUnitMsec},
			{ID: sai.TAMEventThresholdAttrAbsValue, Value: sai.Uint(uint64(row.Aging) * 1000)},
		}
	}
	if ids.HasSwitchID {
		p.domain = ids.SwitchID
	}
	return p, strings.Join(why, "; "), nil
}

// rate is how many reports a session sends.
func rate(row *schema.DropFlow) []sai.Attr {
	if row.Sampling > 1 {
		return []sai.Attr{{ID: sai.TAMReportAttrReportMode, Value: sai.TAMReportModeSampling},
			{ID: sai.TAMReportAttrSampleRate, Value: sai.Uint(row.Sampling)}}
	}
	all := []sai.Attr{{ID: sai.TAMReportAttrReportMode, Value: sai.TAMReportModeAll}}
	if row.MaxRate == 0 {
		return all
	}
	return append(all, sai.Attr{ID: sai.TAMReportAttrMaxReportRate, Value: sai.Uint(row.MaxRate)},
		sai.Attr{ID: sai.TAMReportAttrMaxReportBurst, Value: sai.Uint(cmp.Or(row.MaxBurst, row.MaxRate))})
}

// wanted says why a session must not be in the ASIC; nil if it must.
func (o *Orch) wanted(_ context.Context, s *session) error {
	if o.noGroups != nil && len(s.Row.Rules) > 0 {
		return o.noGroups
	}
	for _, rule := range s.Row.Rules {
		if err := o.rules.Usable(rule); err != nil {
			return err
		}
	}
	p, note, err := o.plan(s)
	s.Note, s.Idle = note, p.idle
	return err
}

// stays reports whether a session can stay in the ASIC, and has its collectors follow the ways to them.
func (o *Orch) stays(ctx context.Context, s *session) bool {
	b := s.InASIC
	p, _, err := o.plan(s)
	if err != nil || b.leaving {
		return false
	}
	for _, rule := range b.plan.rules {
		if _, _, ok := o.rules.VariantCounter(rule, featureName, ""); !ok {
			return false // the entry is gone
		}
	}
	was := b.plan
	if !reflect.DeepEqual(without(p), without(was)) || !slices.EqualFunc(p.targets, was.targets, target.near) {
		return false
	}
	if err := o.follow(ctx, b, p.targets); err != nil {
		o.Log.Error("drop monitor", "session", s.Name, "err", err)
		return false
	}
	b.plan, s.RowInASIC = p, s.Row
	return true
}

func without(p plan) plan {
	p.targets, p.idle = nil, false
	return p
}

// near reports whether one target can be made the other by setting attributes of its collector. One with another source
// would be another stream.
func (t target) near(u target) bool {
	return t.name == u.name && t.to == u.to && t.from == u.from && t.host == u.host
}

// follow sets what has changed of the collectors, all or nothing.
func (o *Orch) follow(ctx context.Context, b *binding, targets []target) error {
	var undo orch.Undo
	for i, t := range targets {
		k := sai.Obj(sai.ObjectTypeTAMCollector, b.collectors[i])
		for j, a := range t.collector {
			was := b.plan.targets[i].collector[j]
			if reflect.DeepEqual(was.Value, a.Value) {
				continue
			}
			if err := o.SAI.Set(ctx, k, a); err != nil {
				return orch.Undone(ctx, &undo, fmt.Errorf("set %s of collector %s: %w", a.ID, t.name, err))
			}
			undo.Push(a.ID.String(), func(ctx context.Context) error { return o.SAI.Set(ctx, k, was) })
		}
	}
	return nil
}

// withdraw takes sessions out of the ASIC.
func (o *Orch) withdraw(ctx context.Context, sessions []*session) {
	for _, s := range sessions {
		if err := o.takeDown(ctx, s); err != nil {
			s.Err = err
		}
	}
}

// deploy brings in the sessions that are missing.
func (o *Orch) deploy(ctx context.Context, wanted []*session) {
	for _, s := range wanted {
		if s.InASIC != nil {
			continue
		}
		p, note, err := o.plan(s)
		if s.Note, s.Idle = note, p.idle; err == nil {
			err = o.bringUp(ctx, s, p)
		}
		s.Err = err
	}
}

// bringUp makes a session. If a step fails, those before it are undone.
func (o *Orch) bringUp(ctx context.Context, s *session, p plan) error {
	s.RowInASIC, s.InASIC = s.Row, &binding{plan: p}
	err := o.steps(ctx, s)
	if err == nil {
		if o.counters.Get(s.Name) == nil {
			o.counters.Put(s.Name, schema.Counters{Since: o.Daemon.TimeOfDay()}.Fields())
		}
		return nil
	}
	o.Log.Error("drop monitor", "session", s.Name, "err", err)
	if undo := o.takeDown(ctx, s); undo != nil {
		return fmt.Errorf("%w; and undoing the steps before it failed: %w", err, undo)
	}
	return err
}

// make creates an object of a session.
func (o *Orch) make(
	ctx context.Context, b *binding, what string, t sai.ObjectType, attrs ...sai.Attr,
) (sai.OID, error) {
	oid, err := o.SAI.Create(ctx, t, attrs)
	if err != nil {
		return 0, fmt.Errorf("create the %s: %w", what, orch.AtAttr(err, t, attrs))
	}
	b.made = append(b.made, step{"remove the " + what, func(ctx context.Context) error {
		return feature.Remove(ctx, o.SAI, sai.Obj(t, oid))
	}})
	return oid, nil
}

// makeCollectors makes the objects of the targets.
func (o *Orch) makeCollectors(ctx context.Context, b *binding) error {
	var collectors sai.OIDs
	for _, t := range b.plan.targets {
		transport, err := o.make(ctx, b, "transport to "+t.name, sai.ObjectTypeTAMTransport,
			sai.Attr{ID: sai.TAMTransportAttrTransportType, Value: sai.TAMTransportTypeUDP},
			sai.Attr{ID: sai.TAMTransportAttrSrcPort, Value: sai.Uint(b.plan.port)},
			sai.Attr{ID: sai.TAMTransportAttrDstPort, Value: sai.Uint(t.to.Port())})
		if err != nil {
			return err
		}
		attrs := append(slices.Clone(t.collector), sai.Attr{ID: sai.TAMCollectorAttrTransport, Value: transport})
		if t.host {
			trap, err := o.take(ctx, b)
			if err != nil {
				return err
			}
			attrs = append(attrs, sai.Attr{ID: sai.TAMCollectorAttrHostifTrap, Value: trap})
		}
		collector, err := o.make(ctx, b, "collector "+t.name, sai.ObjectTypeTAMCollector, attrs...)
		if err != nil {
			return err
		}
		collectors = append(collectors, collector)
	}
	b.collectors = collectors
	return nil
}

// steps makes the objects of a session and binds them.
func (o *Orch) steps(ctx context.Context, s *session) error {
	b := s.InASIC
	if err := o.makeCollectors(ctx, b); err != nil {
		return err
	}
	report, err := o.make(ctx, b, "report", sai.ObjectTypeTAMReport, b.plan.report...)
	if err != nil {
		return err
	}
	action, err := o.make(ctx, b, "action", sai.ObjectTypeTAMEventAction,
		sai.Attr{ID: sai.TAMEventActionAttrReportType, Value: report})
	if err != nil {
		return err
	}
	event := []sai.Attr{
		{ID: sai.TAMEventAttrType, Value: sai.TAMEventTypePacketDrop},
		{ID: sai.TAMEventAttrActionList, Value: sai.OIDs{action}},
		{ID: sai.TAMEventAttrCollectorList, Value: sai.OIDs(b.collectors)},
	}
	if b.plan.threshold != nil {
		threshold, err := o.make(ctx, b, "threshold", sai.ObjectTypeTAMEventThreshold, b.plan.threshold...)
		if err != nil {
			return err
		}
		event = append(event, sai.Attr{ID: sai.TAMEventAttrThreshold, Value: threshold})
	}
	drops, err := o.make(ctx, b, "event", sai.ObjectTypeTAMEvent, event...)
	if err != nil {
		return err
	}
	return o.bind(ctx, s, drops)
}

// bind makes the TAM object of an event, and binds it to the rules of the flow group or to the switch.
func (o *Orch) bind(ctx context.Context, s *session, event sai.OID) error {
	b := s.InASIC
	attrs := []sai.Attr{{ID: sai.TAMAttrEventObjectsList, Value: sai.OIDs{event}}}
	if b.plan.domain != 0 {
		if err := o.domain.take(ctx, o.SAI, b.plan.domain); err != nil {
			return err
		}
		id := b.plan.domain
		b.made = append(b.made, step{"remove the object with the switch-id", func(ctx context.Context) error {
			return o.domain.leave(ctx, o.SAI, id)
		}})
		attrs = append(attrs, sai.Attr{ID: sai.TAMAttrIntObjectsList, Value: sai.OIDs{o.domain[id].oid}})
	}
	if len(b.plan.rules) == 0 {
		attrs = append(attrs, sai.Attr{ID: sai.TAMAttrTAMBindPointTypeList, Value: sai.Enums{sai.TAMBindPointTypeSwitch}})
	}
	var err error
	if b.tam, err = o.make(ctx, b, "TAM object", sai.ObjectTypeTAM, attrs...); err != nil {
		return err
	}
	if len(b.plan.rules) == 0 {
		b.made = append(b.made, step{"unbind", func(ctx context.Context) error { return o.whole.Remove(ctx, b.tam) }})
		return o.whole.Add(ctx, b.tam)
	}
	users, variants := make([]string, len(b.plan.rules)), make([][]orch.ACLVariant, len(b.plan.rules))
	for i := range b.plan.rules {
		users[i], variants[i] = s.Name, monitored(b.tam)
	}
	b.made = append(b.made, step{"detach from the flow group", func(ctx context.Context) error {
		return firstOf(o.rules.UnbindMany(ctx, featureName, b.plan.rules, users))
	}})
	return firstOf(o.rules.BindVariants(ctx, featureName, b.plan.rules, users, variants))
}

// monitored is the entry of a flow group whose drops a TAM object reports.
func monitored(tam sai.OID) []orch.ACLVariant {
	return []orch.ACLVariant{{Actions: []sai.Attr{{ID: sai.ACLEntryAttrActionTAMObject, Value: sai.Do(tam)}}}}
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// takeDown takes a session out of the ASIC, the last step first. What fails is tried again from there.
func (o *Orch) takeDown(ctx context.Context, s *session) error {
	b := s.InASIC
	b.leaving = true
	if err := b.undo(ctx); err != nil {
		return err
	}
	o.counters.Drop(s.Name)
	s.InASIC = nil
	return nil
}

// undo undoes the steps, the last first.
func (b *binding) undo(ctx context.Context) error {
	for len(b.made) > 0 {
		last := b.made[len(b.made)-1]
		if err := last.undo(ctx); err != nil {
			return fmt.Errorf("%s: %w", last.what, err)
		}
		b.made = b.made[:len(b.made)-1]
	}
	return nil
}

// A domain are the objects that say the switch's id in reports, by the id: one for all sessions with that id.
type domain map[uint32]*shared

type shared struct {
	oid   sai.OID
	users int
}

func (d domain) take(ctx context.Context, api sai.API, id uint32) error {
	if d[id] == nil {
		attrs := []sai.Attr{
			{ID: sai.TAMIntAttrType, Value: sai.TAMIntTypeDirectExport},
			{ID: sai.TAMIntAttrDeviceID, Value: sai.Uint(id)},
			{ID: sai.TAMIntAttrIntPresenceType, Value: sai.TAMIntPresenceTypeUndefined},
			{ID: sai.TAMIntAttrInline, Value: sai.Bool(false)},
		}
		oid, err := api.Create(ctx, sai.ObjectTypeTAMInt, attrs)
		if err != nil {
			return fmt.Errorf("create the object with the switch-id: %w", orch.AtAttr(err, sai.ObjectTypeTAMInt, attrs))
		}
		d[id] = &shared{oid: oid}
	}
	d[id].users++
	return nil
}

func (d domain) leave(ctx context.Context, api sai.API, id uint32) error {
	if d[id].users > 1 {
		d[id].users--
		return nil
	}
	if err := feature.Remove(ctx, api, sai.Obj(sai.ObjectTypeTAMInt, d[id].oid)); err != nil {
		return err
	}
	delete(d, id)
	return nil
}
