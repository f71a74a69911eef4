package tsorch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/schema"
)

// reconcile brings the dirty sessions to where they belong. Rules that change
// while it runs only mark sessions.
func (o *Orch) reconcile(ctx context.Context) {
	if o.busy {
		return
	}
	o.busy = true
	defer func() { o.busy = false }()
	for len(o.dirty) > 0 {
		sessions := slices.SortedFunc(maps.Values(o.dirty), func(a, b *session) int { return schema.CompareNames(a.name, b.name) })
		clear(o.dirty)
		o.pass(ctx, sessions)
	}
	o.reportFeature(ctx)
}

// pass unbinds the sessions that must not be bound as they are, and binds those
// that must, each in one call.
func (o *Orch) pass(ctx context.Context, sessions []*session) {
	var unbind, bind []*session
	for _, s := range sessions {
		if s.on != nil {
			if _, _, ok := o.rules.Counter(s.bound, feature); !ok {
				o.leave(s) // the rule's entry is gone
			}
		}
		s.err = o.wanted(s)
		as := s.on != nil && s.bound == s.rule && s.on == o.tamInt && s.on.switchID == o.inUse.SwitchID
		if s.on != nil && (s.err != nil || !as) {
			unbind = append(unbind, s)
		}
		if s.err == nil && !as {
			bind = append(bind, s)
		}
	}
	o.unbind(ctx, unbind)
	bind = slices.DeleteFunc(bind, func(s *session) bool { return s.err != nil })
	o.bind(ctx, bind)
	o.dropTAMInt(ctx)
	for _, s := range sessions {
		o.settle(ctx, s)
	}
}

func (o *Orch) leave(s *session) {
	s.on.sessions--
	s.on, s.bound = nil, schema.ACLRuleKey{}
}

// unbind ends the bindings of sessions. One that cannot be ended stays bound.
func (o *Orch) unbind(ctx context.Context, list []*session) {
	if len(list) == 0 {
		return
	}
	rules, users := make([]schema.ACLRuleKey, len(list)), make([]string, len(list))
	for i, s := range list {
		rules[i], users[i] = s.bound, s.name
	}
	for i, err := range o.rules.UnbindMany(ctx, feature, rules, users) {
		if err != nil {
			list[i].err = fmt.Errorf("detach from ACL rule %s: %w", rules[i], err)
			o.log.Error("tail-stamping session", "session", users[i], "err", list[i].err)
			continue
		}
		o.leave(list[i])
	}
	o.dropTAMInt(ctx)
}

// bind binds sessions. If none could be, the TAM INT object that was made for
// them goes again.
func (o *Orch) bind(ctx context.Context, list []*session) {
	if len(list) == 0 {
		return
	}
	if err := o.makeTAMInt(ctx); err != nil {
		o.log.Error("tail-stamping", "err", err)
		for _, s := range list {
			s.err = err
		}
		return
	}
	rules, users := make([]schema.ACLRuleKey, len(list)), make([]string, len(list))
	for i, s := range list {
		rules[i], users[i] = s.rule, s.name
	}
	actions := []sai.Attr{
		{ID: sai.ACLEntryAttrActionIntInsert, Value: sai.Do(sai.Bool(true))},
		{ID: sai.ACLEntryAttrActionTAMIntObject, Value: sai.Do(o.tamInt.oid)},
	}
	for i, err := range o.rules.BindMany(ctx, feature, actions, rules, users) {
		s := list[i]
		if err != nil {
			s.err = err
			o.log.Error("tail-stamping session", "session", s.name, "err", err)
			continue
		}
		s.on, s.bound = o.tamInt, s.rule
		o.tamInt.sessions++
	}
}

// makeTAMInt creates the object that all sessions share, unless it is there.
func (o *Orch) makeTAMInt(ctx context.Context) error {
	if o.tamInt != nil {
		if o.tamInt.switchID == o.inUse.SwitchID {
			return nil
		}
		return fmt.Errorf("the TAM INT object of switch id %d is still used by %d sessions that could not be detached",
			o.tamInt.switchID, o.tamInt.sessions)
	}
	oid, err := o.api.Create(ctx, sai.ObjectTypeTAMInt, []sai.Attr{
		{ID: sai.TAMIntAttrType, Value: sai.TAMIntTypeIfa1Tailstamp},
		{ID: sai.TAMIntAttrDeviceID, Value: sai.Uint(o.inUse.SwitchID)},
		{ID: sai.TAMIntAttrIntPresenceType, Value: sai.TAMIntPresenceTypeUndefined},
		{ID: sai.TAMIntAttrInline, Value: sai.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("create the TAM INT object: %w", err)
	}
	o.tamInt = &tamInt{oid: oid, switchID: o.inUse.SwitchID}
	return nil
}

// dropTAMInt removes the object when no session is bound.
func (o *Orch) dropTAMInt(ctx context.Context) {
	if o.tamInt == nil || o.tamInt.sessions > 0 {
		return
	}
	if err := o.api.Remove(ctx, sai.Obj(sai.ObjectTypeTAMInt, o.tamInt.oid)); err != nil {
		o.log.Error("the TAM INT object stays in the ASIC", "err", err)
		return
	}
	o.tamInt = nil
}

// settle reports what became of a session and forgets it if it is gone.
func (o *Orch) settle(ctx context.Context, s *session) {
	o.counters.track(s)
	if orch.Retryable(s.err) || s.on != nil && (s.err != nil || s.bound != s.rule) {
		o.again[s.name] = s
	} else {
		delete(o.again, s.name)
	}
	if !s.given {
		if s.on == nil {
			delete(o.sessions, s.name)
			delete(o.again, s.name)
		}
		return
	}
	status, reason := o.daemon.Verdict(schema.StateTAMTailStamp, s.err)
	if said := status + ": " + reason; s.said != said {
		o.daemon.Report(ctx, schema.StateTAMTailStamp, s.name, status, reason)
		s.said = said
	}
}
