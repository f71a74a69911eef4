package recordorch

import (
	"context"
	"errors"
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/schema"
)

// wanted says why a session is not to be bound; nil if it is.
func (o *Orch) wanted(s *session) error {
	switch {
	case !s.given:
		return errors.New("the session is gone")
	case s.bad != nil:
		return s.bad
	case !o.active:
		return orch.Wait("feature", feature, "feature %s is not active", feature)
	case o.unsupported != "":
		return errors.New(o.unsupported)
	case s.row.Encapsulation == schema.RecordUDP && o.noUDP:
		return &schema.FieldError{Object: schema.CfgTAMTableRecord + "|" + s.name, Field: "encapsulation", Value: schema.RecordUDP,
			Want: schema.RecordERSPAN + ": the switch has no mirror sessions over UDP"}
	}
	if first := slices.MinFunc(slices.Collect(maps.Values(o.byRule[s.row.Rule])), byName); first != s {
		return orch.Wait("session", first.name, "flow group %s has the session %s already: a flow group has one session of table recording", s.row.Rule.Rule, first.name)
	}
	if err := o.rules.Usable(s.row.Rule); err != nil {
		return err
	}
	if _, ok := o.identity.SwitchID(); !ok {
		return orch.Wait("switch id", schema.TAMGlobalKey, "the switch has no switch-id")
	}
	switch {
	case !o.running:
		return orch.Wait("switch", "view", "waiting for the ASIC's view to be complete")
	case o.unlearned != nil:
		return orch.Wait("switch", "graph", "%s; asked again in a second", orch.Explain(o.unlearned))
	}
	return nil
}

// settle reports what became of a session and forgets it if it is gone.
func (o *Orch) settle(ctx context.Context, s *session) {
	if orch.Retryable(s.err) || s.on != nil && s.err != nil {
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
	status, reason := o.daemon.Verdict(schema.StateTAMTableRecord, s.err)
	if said := status + ": " + reason; s.said != said {
		o.daemon.Report(ctx, schema.StateTAMTableRecord, s.name, status, reason)
		s.said = said
	}
}

// reportFeature writes op-status of the feature, if it has changed.
func (o *Orch) reportFeature(ctx context.Context) {
	if !o.active {
		return
	}
	refused := orch.Refused{All: len(o.sessions), What: "sessions"}
	if n, first := o.refused(); n > 0 {
		refused.N, refused.First, refused.Err = n, first.name, first.err
	}
	status, reason := orch.FeatureOutcome(o.unsupported, refused)
	if said := status + ": " + reason; said != o.said {
		o.daemon.Report(ctx, schema.StateTAMFeature, feature, status, reason)
		o.said = said
	}
}

// refused counts the sessions that the switch had no room for, and returns the
// first by name.
func (o *Orch) refused() (n int, first *session) {
	for _, s := range o.again {
		if orch.Retryable(s.err) {
			if n++; first == nil || byName(s, first) < 0 {
				first = s
			}
		}
	}
	return n, first
}
