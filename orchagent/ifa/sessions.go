package ifa

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orchagent/dropmonitor"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A plan is what a session is to have in the ASIC. What follows without that being made anew is not in it.
type plan struct {
	device     uint32
	role       string
	rules      []schema.ACLRuleKey
	collectors []string
	templates  uint32
	sampling   uint32
	limits     [2]uint8 // hops, words
}

// A binding is a session in the ASIC, or on its way in or out.
type binding struct {
	plan    plan
	sender  *dropmonitor.Sender // of a terminator that reports
	made    []sai.Key           // in order
	bound   bool                // to the rules, or to the switch
	leaving bool
}

// plan computes what a session is to have.
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

// wanted says why a session must not be in the ASIC; nil if it must.
func (o *Orch) wanted(_ context.Context, s *session) error {
	for _, rule := range s.Row.Rules {
		if err := o.rules.Usable(rule); err != nil {
			return err
		}
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

// stays reports whether a session can stay in the ASIC, and has its collectors follow the ways to them.
func (o *Orch) stays(ctx context.Context, s *session) bool {
	b := s.InASIC
	p, err := o.plan(&s.Row)
	if err != nil || b.leaving || !reflect.DeepEqual(p, b.plan) {
		return false
	}
	for _, rule := range p.rules {
		if _, _, ok := o.rules.VariantCounter(rule, featureName, ""); !ok {
			return false // the entry is gone
		}
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
		if p, err := o.plan(&s.Row); err != nil {
			s.Err = err
		} else {
			s.Err = o.bringUp(ctx, s, p)
		}
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
	o.Log.Error("session of IFA", "session", s.Name, "err", err)
	if undo := o.takeDown(ctx, s); undo != nil {
		return fmt.Errorf("%w; and undoing the steps before it failed: %w", err, undo)
	}
	return err
}

// steps makes the objects of a session and binds them.
func (o *Orch) steps(ctx context.Context, s *session) (err error) {
	b, p := s.InASIC, &s.InASIC.plan
	if p.role == schema.IFATransit {
		b.bound = true
		return o.transit.take(ctx, s.Name, p.device)
	}
	attrs := objectOf(p.device)
	if p.sampling > 1 {
		sampler, err := o.make(ctx, b, "sampler", sai.ObjectTypeSamplepacket, []sai.Attr{
			{ID: sai.SamplepacketAttrSampleRate, Value: sai.Uint(p.sampling)}})
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
	object, err := o.make(ctx, b, "TAM INT object", sai.ObjectTypeTAMInt, attrs)
	if err != nil {
		return err
	}
	users, variants := make([]string, len(p.rules)), make([][]orch.ACLVariant, len(p.rules))
	for i := range p.rules {
		users[i], variants[i] = s.Name, entry(p.role, object)
	}
	b.bound = true
	return errors.Join(o.rules.BindVariants(ctx, featureName, p.rules, users, variants)...)
}

// make creates an object of a session.
func (o *Orch) make(ctx context.Context, b *binding, what string, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	oid, err := o.SAI.Create(ctx, t, attrs)
	if err != nil {
		return 0, fmt.Errorf("create the %s: %w", what, orch.AtAttr(err, t, attrs))
	}
	b.made = append(b.made, sai.Obj(t, oid))
	return oid, nil
}

// entry is the entry of a flow group.
func entry(role string, object sai.OID) []orch.ACLVariant {
	does := sai.ACLEntryAttrActionIntInsert
	if role == schema.IFATerminator {
		does = sai.ACLEntryAttrActionIntDelete
	}
	return []orch.ACLVariant{{Actions: []sai.Attr{
		{ID: does, Value: sai.Do(sai.Bool(true))}, {ID: sai.ACLEntryAttrActionTAMIntObject, Value: sai.Do(object)},
	}}}
}

// takeDown takes a session out of the ASIC. What fails is tried again from there.
func (o *Orch) takeDown(ctx context.Context, s *session) error {
	b := s.InASIC
	b.leaving = true
	if b.bound {
		if err := o.unbind(ctx, s); err != nil {
			return err
		}
		b.bound = false
	}
	for len(b.made) > 0 {
		last := b.made[len(b.made)-1]
		if err := feature.Remove(ctx, o.SAI, last); err != nil {
			return err
		}
		b.made = b.made[:len(b.made)-1]
	}
	if b.sender != nil {
		if err := o.reports.Close(ctx, b.sender); err != nil {
			return err
		}
	}
	o.counters.Drop(s.Name)
	s.InASIC = nil
	return nil
}

func (o *Orch) unbind(ctx context.Context, s *session) error {
	p := &s.InASIC.plan
	if p.role == schema.IFATransit {
		return o.transit.drop(ctx, s.Name)
	}
	users := make([]string, len(p.rules))
	for i := range users {
		users[i] = s.Name
	}
	return errors.Join(o.rules.UnbindMany(ctx, featureName, p.rules, users)...)
}

// done says where reports are wanted to go.
func (o *Orch) done(ctx context.Context) {
	to := map[string][]string{}
	for name, s := range o.Sessions {
		if s.Configured && s.ParseErr == nil && len(s.Row.Collectors) > 0 && o.Running && o.Active {
			to[name] = s.Row.Collectors
		}
	}
	o.reports.SendTo(ctx, to)
	o.wants, _ = o.device()
}
