package ifa

import (
	"context"
	"reflect"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orchagent/dropmonitor"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A plan is the target state of a session in the ASIC, except for what can change without recreating it.
type plan struct {
	device     uint32
	role       string
	rules      []schema.ACLRuleKey
	collectors []string
	templates  uint32
	sampling   uint32
	limits     [2]uint8 // maximum number of hops, and of words
}

// A binding is a session in the ASIC, or one that is being created or removed.
type binding struct {
	plan   plan
	sender *dropmonitor.Sender // sends reports; nil unless the session is a terminator with collectors
}

// plan computes the target state of a session.
func (o *Orch) plan(row *schema.IFAFlow) (plan, error) {
	device, err := o.device()
	p := plan{
		device: device, role: row.Role, rules: row.Rules, collectors: row.Collectors, templates: row.Templates,
		sampling: row.Sampling, limits: [2]uint8{row.HopLimit, row.MaxLength},
	}
	if p.templates == 0 {
		p.templates = schema.DefaultIFATemplates
	}
	return p, err
}

// Parse implements [feature.Logic].
func (o *Orch) Parse(key string, row swss.FieldValues) (schema.IFAFlow, error) {
	return schema.ParseIFAFlow(key, row)
}

// Wanted returns the reason why a session must not be in the ASIC, or nil if it must be.
func (o *Orch) Wanted(_ context.Context, s *session) error {
	if err := feature.Usable(o.rules, s.Row.Rules); err != nil {
		return err
	}
	if s.Idle = false; len(s.Row.Collectors) > 0 {
		note, err := o.reports.Reachable(s.Row.Collectors)
		if s.Note = note; err != nil {
			return err
		}
	}
	_, err := o.plan(&s.Row)
	return err
}

// Stays reports whether a session can stay in the ASIC. It updates its collectors in place when routes change.
func (o *Orch) Stays(ctx context.Context, s *session) bool {
	b := s.InASIC
	p, err := o.plan(&s.Row)
	if err != nil || s.Leaving || !reflect.DeepEqual(p, b.plan) || !o.Attached(o.rules, p.rules) {
		return false
	}
	if b.sender != nil {
		if !o.reports.Follow(ctx, s.Name, b.sender) {
			return false
		}
		s.Note, s.Idle = b.sender.Note, b.sender.Idle
	}
	s.RowInASIC = s.Row
	return true
}

// Deploy creates the missing sessions.
func (o *Orch) Deploy(ctx context.Context, wanted []*session) {
	for _, s := range wanted {
		if s.InASIC != nil {
			continue
		}
		p, err := o.plan(&s.Row)
		if err == nil {
			err = o.BringUp(ctx, s, &binding{plan: p}, o.steps)
		}
		if s.Err = err; err == nil && o.counters.Get(s.Name) == nil {
			o.counters.Put(s.Name, schema.Counters{Since: o.Daemon.TimeOfDay()}.Fields())
		}
	}
}

// steps makes and binds the objects of a session.
func (o *Orch) steps(ctx context.Context, s *session) (err error) {
	b, p := s.InASIC, &s.InASIC.plan
	if p.role == schema.IFATransit {
		s.Steps.Add("be no transit", func(ctx context.Context) error { return o.transit.drop(ctx, s.Name) })
		return o.transit.addUser(ctx, s.Name, p.device)
	}
	s.Steps.Add("close the way to collectors", func(ctx context.Context) error {
		if b.sender == nil {
			return nil
		}
		return o.reports.Close(ctx, b.sender)
	})
	attrs := objectOf(p.device)
	if p.sampling > 1 {
		sampler, err := s.Steps.Create(ctx, o.SAI, "sampler", sai.ObjectTypeSamplepacket,
			sai.Attr{ID: sai.SamplepacketAttrSampleRate, Value: sai.Uint(p.sampling)})
		if err != nil {
			return err
		}
		attrs = append(attrs, sai.Attr{ID: sai.TAMIntAttrIngressSamplepacketEnable, Value: sampler})
	}
	for i, id := range []sai.AttrID{sai.TAMIntAttrMaxHopCount, sai.TAMIntAttrMaxLength} {
		if n := p.limits[i]; n > 0 {
			attrs = append(attrs, sai.Attr{ID: id, Value: sai.Uint(n)})
		}
	}
	if len(p.collectors) > 0 {
		if b.sender, err = o.reports.Open(ctx, s.Name, p.collectors, p.templates); err != nil {
			return err
		}
		s.Note, s.Idle = b.sender.Note, b.sender.Idle
		attrs = append(attrs, sai.Attr{ID: sai.TAMIntAttrReportID, Value: b.sender.Report},
			sai.Attr{ID: sai.TAMIntAttrCollectorList, Value: b.sender.Collectors})
	}
	object, err := s.Steps.Create(ctx, o.SAI, "TAM INT object", sai.ObjectTypeTAMInt, attrs...)
	if err != nil {
		return err
	}
	return o.Attach(ctx, s, o.rules, p.rules, entry(p.role, object))
}

// Left ends the counters of a session.
func (o *Orch) Left(s *session) { o.counters.Drop(s.Name) }

// entry returns the entry of a flow group.
func entry(role string, object sai.OID) []orch.ACLVariant {
	does := sai.ACLEntryAttrActionIntInsert
	if role == schema.IFATerminator {
		does = sai.ACLEntryAttrActionIntDelete
	}
	return []orch.ACLVariant{{Actions: []sai.Attr{
		{ID: does, Value: sai.Do(sai.Bool(true))}, {ID: sai.ACLEntryAttrActionTAMIntObject, Value: sai.Do(object)},
	}}}
}

// Done passes the collectors of the sessions to the sender of reports.
func (o *Orch) Done(ctx context.Context) {
	to := map[string][]string{}
	for name, s := range o.Sessions {
		if s.Configured && s.ParseErr == nil && len(s.Row.Collectors) > 0 && o.Running && o.Active {
			to[name] = s.Row.Collectors
		}
	}
	o.reports.SendTo(ctx, to)
	o.wants, _ = o.device()
}
