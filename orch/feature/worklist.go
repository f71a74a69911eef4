package feature

import (
	"context"
	"maps"
	"time"

	"tamtam/swss/schema"
)

// A worklist is which sessions of a feature are looked at, and when.
type worklist[R, B any] struct {
	marked  map[string]*Session[R, B] // when the feature is settled next
	again   map[string]*Session[R, B] // when something changes, by which they may fare better
	stuck   map[string]*Session[R, B] // at retryAt: they could not be taken out of the ASIC
	retryAt time.Time                 // zero: none is stuck

	refused map[string]*Session[R, B] // whose objects the switch has refused, for another reason than room
}

func newWorklist[R, B any]() worklist[R, B] {
	return worklist[R, B]{
		marked: map[string]*Session[R, B]{}, again: map[string]*Session[R, B]{}, stuck: map[string]*Session[R, B]{},
		refused: map[string]*Session[R, B]{},
	}
}

// Mark marks sessions: the next Settle handles them.
func (f *Feature[R, B]) Mark(sessions map[string]*Session[R, B]) { maps.Copy(f.work.marked, sessions) }

// MarkAll marks all sessions.
func (f *Feature[R, B]) MarkAll() { f.Mark(f.Sessions) }

// LookAgain settles all sessions anew: something that they depend on may have changed.
func (f *Feature[R, B]) LookAgain(ctx context.Context) {
	if len(f.Sessions) > 0 {
		f.MarkAll()
		f.SettleNow(ctx)
	}
}

// MarkRefused marks the sessions that may fare better now that something has changed.
func (f *Feature[R, B]) MarkRefused() { f.Mark(f.work.again) }

// Later marks a session when something changes, though nothing is wrong with it. It may be called
// for any session, also for one of this pass that is still to be reported.
func (f *Feature[R, B]) Later(s *Session[R, B]) {
	s.later = true
	f.work.again[s.Name] = s
}

// Stuck has a session handled again after [TryAgain], of which something is in the ASIC that could not be undone.
func (f *Feature[R, B]) Stuck(s *Session[R, B]) { f.work.stuck[s.Name] = s }

// retry handles the sessions again that could not be taken out of the ASIC.
func (f *Feature[R, B]) retry(ctx context.Context, _ time.Time) error {
	f.work.retryAt = time.Time{}
	f.Mark(f.work.stuck)
	return f.Settle(ctx)
}

// rulesChanged handles the sessions of these rules again.
func (f *Feature[R, B]) rulesChanged(ctx context.Context, rules []schema.ACLRuleKey) {
	for _, k := range rules {
		f.Mark(f.byRule[k])
	}
	f.MarkRefused()
	f.SettleNow(ctx)
}
