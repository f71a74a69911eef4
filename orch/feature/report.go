package feature

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// Report writes the status of a session to STATE_DB, and forgets a session that is gone.
func (f *Feature[R, B]) Report(ctx context.Context, s *Session[R, B]) {
	if x, ok := f.Logic.(AfterEach[R, B]); ok {
		x.Handled(s)
	}
	if orch.Retryable(s.Err) || s.InASIC != nil && s.Err != nil || s.later {
		f.work.again[s.Name] = s
	} else {
		delete(f.work.again, s.Name)
	}
	if _, refused := sai.StatusOf(s.Err); s.Err != nil && refused && s.Configured && !orch.Retryable(s.Err) {
		f.work.refused[s.Name] = s
	} else {
		delete(f.work.refused, s.Name)
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
		if s.unread != "" && s.InASIC != nil {
			reason = strings.TrimPrefix(reason+"; "+s.unread, "; ")
		}
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

// outcome returns the op-status of the active feature, with the reason.
func (f *Feature[R, B]) outcome() (status, reason string) {
	if f.Unsupported != "" {
		return schema.FeatureUnsupported, f.Unsupported
	}
	waits := func(s *Session[R, B]) bool { return orch.Retryable(s.Err) && !s.Draft }
	if why := f.without(f.work.again, waits, "do not fit into the switch"); why != "" {
		return schema.FeatureInsufficient, why
	}
	every := func(*Session[R, B]) bool { return true }
	why := f.without(f.work.refused, every, "are refused by the switch")
	if why != "" && inASIC(slices.Collect(maps.Values(f.Sessions))) == 0 {
		return schema.FeatureUnsupported, why
	}
	return schema.FeatureActive, why
}

// without describes how many of the given sessions are not in the ASIC, with the reason of the first. It returns "" if
// all are in the ASIC.
func (f *Feature[R, B]) without(of map[string]*Session[R, B], count func(*Session[R, B]) bool, how string) string {
	n := 0
	var first *Session[R, B]
	for _, s := range of {
		if count(s) {
			if n++; first == nil || s.Compare(first) < 0 {
				first = s
			}
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d %s %s, the first is %s: %s",
		n, len(f.Sessions), f.What, how, first.Name, orch.Explain(first.Err))
}
