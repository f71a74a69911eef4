package tamorch

import (
	"context"
	"fmt"

	"tamtam/orch"
	"tamtam/schema"
)

// Report writes what became of a session to STATE_DB, and forgets a session that is gone.
func (f *Feature[R, B]) Report(ctx context.Context, s *Session[R, B]) {
	if f.Settled != nil {
		f.Settled(s)
	}
	if orch.Retryable(s.Err) || s.InASIC != nil && s.Err != nil || s.later {
		f.work.again[s.Name] = s
	} else {
		delete(f.work.again, s.Name)
	}
	if !s.Configured {
		if s.InASIC == nil {
			delete(f.Sessions, s.Name)
			delete(f.work.again, s.Name)
		}
		return
	}
	err := s.Err
	if err == nil && s.Idle {
		err = orch.Wait(f.What, s.Name, "%s", s.Note)
	}
	status, reason := f.Daemon.Verdict(f.State, err)
	switch {
	case s.Err == nil:
		reason = s.Note
	case s.InASIC != nil:
		reason += f.Meanwhile
	}
	if now := status + ": " + reason; s.reported != now {
		f.Daemon.Report(ctx, f.State, s.Name, status, reason)
		s.reported = now
	}
}

// reportFeature writes the op-status of the feature, if it has changed.
func (f *Feature[R, B]) reportFeature(ctx context.Context) {
	if !f.Active {
		return
	}
	status, reason := f.outcome()
	if now := status + ": " + reason; f.reported != now {
		f.Daemon.Report(ctx, schema.StateTAMFeature, f.Name, status, reason)
		f.reported = now
	}
}

// outcome is op-status of the feature that is active, with the reason.
func (f *Feature[R, B]) outcome() (status, reason string) {
	if f.Unsupported != "" {
		return schema.FeatureUnsupported, f.Unsupported
	}
	refused := 0
	var first *Session[R, B]
	for _, s := range f.work.again {
		if orch.Retryable(s.Err) && !s.Draft {
			if refused++; first == nil || s.Compare(first) < 0 {
				first = s
			}
		}
	}
	if first == nil {
		return schema.FeatureActive, ""
	}
	return schema.FeatureInsufficient, fmt.Sprintf("%d of %d %s do not fit into the switch, the first is %s: %s",
		refused, len(f.Sessions), f.What, first.Name, orch.Explain(first.Err))
}
