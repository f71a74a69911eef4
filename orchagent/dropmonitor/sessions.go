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
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A plan is the target state of a session in the ASIC.
type plan struct {
	port      uint16 // the source port
	targets   []target
	report    []sai.Attr
	threshold []sai.Attr // nil if the session is stateless
	domain    uint32     // the switch's id; 0 if it has none
	rules     []schema.ACLRuleKey
	idle      bool // whether no report reaches any target, as far as is known
}

// A binding is a session in the ASIC, or one that is being created or removed.
type binding struct {
	plan       plan
	collectors []sai.OID         // objects of plan.targets
	atHost     map[string]handed // state of each stream that the host sends
}

// plan computes the target state of a session.
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

// rate returns the attributes that limit the reports of a session.
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

// Parse implements [feature.Logic].
func (o *Orch) Parse(key string, row swss.FieldValues) (schema.DropFlow, error) {
	return schema.ParseDropFlow(key, row)
}

// Wanted returns the reason why a session must not be in the ASIC, or nil if it must be.
func (o *Orch) Wanted(_ context.Context, s *session) error {
	if o.noGroups != nil && len(s.Row.Rules) > 0 {
		return o.noGroups
	}
	if err := feature.Usable(o.rules, s.Row.Rules); err != nil {
		return err
	}
	p, note, err := o.plan(s)
	s.Note, s.Idle = note, p.idle
	return err
}

// Stays reports whether a session can stay in the ASIC. It updates its collectors in place when routes change.
func (o *Orch) Stays(ctx context.Context, s *session) bool {
	b := s.InASIC
	p, _, err := o.plan(s)
	if err != nil || s.Leaving || !o.Attached(o.rules, b.plan.rules) {
		return false
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

// near reports whether target t can become target u by setting attributes of its collector. It cannot if the sources
// differ, because a different source is a different stream.
func (t target) near(u target) bool {
	return t.name == u.name && t.to == u.to && t.from == u.from && t.host == u.host
}

// follow sets the changed attributes of the collectors. If a call fails, nothing changes.
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

// Deploy creates the missing sessions.
func (o *Orch) Deploy(ctx context.Context, wanted []*session) {
	for _, s := range wanted {
		if s.InASIC != nil {
			continue
		}
		p, note, err := o.plan(s)
		if s.Note, s.Idle = note, p.idle; err == nil {
			err = o.BringUp(ctx, s, &binding{plan: p}, o.steps)
		}
		if s.Err = err; err == nil && o.counters.Get(s.Name) == nil {
			o.counters.Put(s.Name, schema.Counters{Since: o.Daemon.TimeOfDay()}.Fields())
		}
	}
}

// Left ends the counters of a session.
func (o *Orch) Left(s *session) { o.counters.Drop(s.Name) }

// makeCollectors makes the objects of the targets.
func (o *Orch) makeCollectors(ctx context.Context, steps *feature.Steps, b *binding) error {
	var collectors sai.OIDs
	for _, t := range b.plan.targets {
		transport, err := steps.Create(ctx, o.SAI, "transport to "+t.name, sai.ObjectTypeTAMTransport,
			sai.Attr{ID: sai.TAMTransportAttrTransportType, Value: sai.TAMTransportTypeUDP},
			sai.Attr{ID: sai.TAMTransportAttrSrcPort, Value: sai.Uint(b.plan.port)},
			sai.Attr{ID: sai.TAMTransportAttrDstPort, Value: sai.Uint(t.to.Port())})
		if err != nil {
			return err
		}
		attrs := append(slices.Clone(t.collector), sai.Attr{ID: sai.TAMCollectorAttrTransport, Value: transport})
		if t.host {
			trap, err := o.acquireTrap(ctx, steps)
			if err != nil {
				return err
			}
			attrs = append(attrs, sai.Attr{ID: sai.TAMCollectorAttrHostifTrap, Value: trap})
		}
		collector, err := steps.Create(ctx, o.SAI, "collector "+t.name, sai.ObjectTypeTAMCollector, attrs...)
		if err != nil {
			return err
		}
		collectors = append(collectors, collector)
	}
	b.collectors = collectors
	return nil
}

// steps makes and binds the objects of a session.
func (o *Orch) steps(ctx context.Context, s *session) error {
	b := s.InASIC
	if err := o.makeCollectors(ctx, &s.Steps, b); err != nil {
		return err
	}
	report, err := s.Steps.Create(ctx, o.SAI, "report", sai.ObjectTypeTAMReport, b.plan.report...)
	if err != nil {
		return err
	}
	action, err := s.Steps.Create(ctx, o.SAI, "action", sai.ObjectTypeTAMEventAction,
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
		threshold, err := s.Steps.Create(ctx, o.SAI, "threshold", sai.ObjectTypeTAMEventThreshold, b.plan.threshold...)
		if err != nil {
			return err
		}
		event = append(event, sai.Attr{ID: sai.TAMEventAttrThreshold, Value: threshold})
	}
	drops, err := s.Steps.Create(ctx, o.SAI, "event", sai.ObjectTypeTAMEvent, event...)
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
		if err := o.domain.acquire(ctx, o.SAI, b.plan.domain); err != nil {
			return err
		}
		id := b.plan.domain
		s.Steps.Add("remove the object with the switch-id", func(ctx context.Context) error {
			return o.domain.leave(ctx, o.SAI, id)
		})
		attrs = append(attrs, sai.Attr{ID: sai.TAMAttrIntObjectsList, Value: sai.OIDs{o.domain[id].oid}})
	}
	if len(b.plan.rules) == 0 {
		attrs = append(attrs, sai.Attr{ID: sai.TAMAttrTAMBindPointTypeList, Value: sai.Enums{sai.TAMBindPointTypeSwitch}})
	}
	tam, err := s.Steps.Create(ctx, o.SAI, "TAM object", sai.ObjectTypeTAM, attrs...)
	if err != nil {
		return err
	}
	if len(b.plan.rules) == 0 {
		s.Steps.Add("unbind", func(ctx context.Context) error { return o.whole.Remove(ctx, tam) })
		return o.whole.Add(ctx, tam)
	}
	return o.Attach(ctx, s, o.rules, b.plan.rules, monitored(tam))
}

// monitored returns the entry of a flow group whose drops are reported by a TAM object.
func monitored(tam sai.OID) []orch.ACLVariant {
	return []orch.ACLVariant{{Actions: []sai.Attr{{ID: sai.ACLEntryAttrActionTAMObject, Value: sai.Do(tam)}}}}
}

// A domain holds the objects that put the switch's id in reports, by id. All sessions with an id share its object.
type domain map[uint32]*shared

type shared struct {
	oid   sai.OID
	users int
}

func (d domain) acquire(ctx context.Context, api sai.API, id uint32) error {
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
