package feature

import (
	"context"
	"maps"
	"time"

	"tamtam/swss/schema"
)

// A worklist holds the sessions of a feature that will be handled, by the time of handling.
type worklist[R, B any] struct {
	marked  map[string]*Session[R, B] // sessions for the next Reconcile
	again   map[string]*Session[R, B] // sessions that are retried when something changes
	stuck   map[string]*Session[R, B] // sessions for retryAt: they could not be removed from the ASIC
	retryAt time.Time                 // time of the next attempt to remove stuck sessions; zero if none is stuck

	refused map[string]*Session[R, B] // sessions whose objects the switch has refused for another reason than capacity
}

func newWorklist[R, B any]() worklist[R, B] {
	return worklist[R, B]{
		marked: map[string]*Session[R, B]{}, again: map[string]*Session[R, B]{}, stuck: map[string]*Session[R, B]{},
		refused: map[string]*Session[R, B]{},
	}
}

// Mark marks sessions dirty: the next Reconcile handles them.
func (f *Feature[R, B]) Mark(sessions map[string]*Session[R, B]) { maps.Copy(f.work.marked, sessions) }

// MarkAll marks all sessions dirty.
func (f *Feature[R, B]) MarkAll() { f.Mark(f.Sessions) }

// LookAgain handles all sessions again, because a dependency may have changed.
func (f *Feature[R, B]) LookAgain(ctx context.Context) {
	if len(f.Sessions) > 0 {
		f.MarkAll()
		f.ReconcileNow(ctx)
	}
}

// MarkRefused marks refused sessions dirty, because they may succeed after a change.
func (f *Feature[R, B]) MarkRefused() { f.Mark(f.work.again) }

// Later schedules a session to be handled again when something changes, although it has no error. It may be called for
// any session, including a session of this pass that is not reported yet.
func (f *Feature[R, B]) Later(s *Session[R, B]) {
	s.later = true
	f.work.again[s.Name] = s
}

// Stuck schedules a session to be handled again after [TryAgain], because a part of it in the ASIC could not be undone.
func (f *Feature[R, B]) Stuck(s *Session[R, B]) { f.work.stuck[s.Name] = s }

// retry tries again to remove the sessions that could not be removed from the ASIC.
func (f *Feature[R, B]) retry(ctx context.Context, _ time.Time) error {
	f.work.retryAt = time.Time{}
	f.Mark(f.work.stuck)
	return f.Reconcile(ctx)
}

// rulesChanged handles the sessions of these rules again.
func (f *Feature[R, B]) rulesChanged(ctx context.Context, rules []schema.ACLRuleKey) {
	for _, k := range rules {
		f.Mark(f.byRule[k])
	}
	f.MarkRefused()
	f.ReconcileNow(ctx)
}
