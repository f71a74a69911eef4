package tsorch

import (
	"context"
	"fmt"
	"slices"

	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// A binding is the state of a session in the ASIC. The session uses the TAM INT object through its rule's entry, and
// may have a clamp.
type binding struct {
	tamInt *tamInt
	clamp  feature.Object
}

// entryThere reports whether the ASIC has an entry for a session's rule.
func (o *Orch) entryThere(s *session) bool {
	_, _, ok := o.rules.Counter(s.RowInASIC.Rule, featureName)
	return ok
}

// Lost reports whether all objects of a session are gone. A remaining clamp must still be removed.
func (o *Orch) Lost(s *session) bool { return !o.entryThere(s) && !s.InASIC.clamp.There() }

// Stays reports whether a session can remain in the ASIC. It also changes the session's clamp to match the row.
func (o *Orch) Stays(ctx context.Context, s *session) bool {
	b := s.InASIC
	if !o.entryThere(s) || s.RowInASIC.Rule != s.Row.Rule || b.tamInt != o.tamInt ||
		b.tamInt.switchID != o.inUse.SwitchID {
		return false
	}
	if err := o.clampMSS(ctx, s); err != nil {
		o.Log.Error("tail-stamping session", "session", s.Name, "err", err)
		return false
	}
	s.RowInASIC = s.Row
	return true
}

// Left decrements the number of sessions that use the TAM INT object.
func (o *Orch) Left(s *session) { s.InASIC.tamInt.sessions-- }

// Withdraw removes sessions. It removes the clamp first, because the clamp was added last.
func (o *Orch) Withdraw(ctx context.Context, sessions []*session) {
	var out []*session
	for _, s := range sessions {
		if err := s.InASIC.clamp.Remove(ctx, o.SAI); err != nil {
			o.Fail(s, err)
			continue
		}
		out = append(out, s)
	}
	o.Unbind(ctx, out)
}

// Deploy binds sessions and adds their clamps. It removes the TAM INT object if no session is bound, for example
// because all bindings failed.
func (o *Orch) Deploy(ctx context.Context, wanted []*session) {
	defer o.dropTAMInt(ctx)
	wanted = slices.DeleteFunc(wanted, func(s *session) bool { return s.InASIC != nil })
	if len(wanted) == 0 {
		return
	}
	if err := o.makeTAMInt(ctx); err != nil {
		for _, s := range wanted {
			o.Fail(s, err)
		}
		return
	}
	for _, s := range wanted {
		s.InASIC = o.newBinding()
		o.tamInt.sessions++
		if o.counters.rows.Former(s.Name) == nil { // the session is new, or its rule has changed
			o.counters.rows.Restart(s.Name)
		}
	}
	actions := []sai.Attr{
		{ID: sai.ACLEntryAttrActionIntInsert, Value: sai.Do(sai.Bool(true))},
		{ID: sai.ACLEntryAttrActionTAMIntObject, Value: sai.Do(o.tamInt.oid)},
	}
	o.Bind(ctx, wanted, func(ctx context.Context, feature string, rules []schema.ACLRuleKey, users []string) []error {
		return o.rules.BindMany(ctx, featureName, actions, rules, users)
	})
	o.clampAll(ctx, wanted)
}

// makeTAMInt creates the object that all sessions share, if it does not exist.
func (o *Orch) makeTAMInt(ctx context.Context) error {
	if o.tamInt != nil && o.tamInt.switchID != o.inUse.SwitchID {
		o.dropTAMInt(ctx)
	}
	if o.tamInt != nil {
		if o.tamInt.switchID == o.inUse.SwitchID {
			return nil
		}
		return fmt.Errorf("the TAM INT object of switch id %d is still used by %d sessions that could not be detached",
			o.tamInt.switchID, o.tamInt.sessions)
	}
	oid, err := o.SAI.Create(ctx, sai.ObjectTypeTAMInt, []sai.Attr{
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

// dropTAMInt removes the object if no session is bound.
func (o *Orch) dropTAMInt(ctx context.Context) {
	if o.tamInt == nil || o.tamInt.sessions > 0 {
		return
	}
	if err := o.SAI.Remove(ctx, sai.Obj(sai.ObjectTypeTAMInt, o.tamInt.oid)); err != nil {
		o.Log.Error("the TAM INT object stays in the ASIC", "err", err)
		return
	}
	o.tamInt = nil
}

// Handled deletes the counters of a session that is no longer bound.
func (o *Orch) Handled(s *session) {
	if s.InASIC == nil {
		o.counters.rows.Drop(s.Name)
	}
}
