package feature

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
)

// Reconcile brings the dirty sessions to their target state. Changes while it runs only mark sessions dirty. It fails
// only if COUNTERS_DB cannot be written.
func (f *Feature[R, B]) Reconcile(ctx context.Context) error {
	if f.busy {
		return nil
	}
	f.busy = true
	defer func() { f.busy = false }()
	if p, ok := f.Logic.(Preparing); !ok || p.Ready(ctx) {
		for len(f.work.marked) > 0 {
			sessions := slices.SortedFunc(maps.Values(f.work.marked), (*Session[R, B]).Compare)
			f.work.marked = orch.Emptied(f.work.marked)
			f.pass(ctx, sessions)
		}
	}
	if len(f.work.stuck) == 0 {
		f.work.retryAt = time.Time{}
	} else if f.work.retryAt.IsZero() {
		f.work.retryAt = f.Daemon.Now().Add(TryAgain)
	}
	if c, ok := f.Logic.(Concluding); ok {
		c.Done(ctx)
	}
	f.reportFeature(ctx)
	return f.Flush(ctx)
}

// ReconcileNow calls [Feature.Reconcile] for callers without a row to retry.
func (f *Feature[R, B]) ReconcileNow(ctx context.Context) {
	if err := f.Reconcile(ctx); err != nil {
		f.Log.Error("COUNTERS_DB is behind", "err", err)
	}
}

// Flush writes the changed counters.
func (f *Feature[R, B]) Flush(ctx context.Context) error {
	for _, rows := range f.Counters {
		if err := rows.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pass removes sessions from the ASIC if they are not wanted there in their present form. Then it adds wanted sessions.
// If a removal freed capacity, the next pass handles the sessions without capacity.
func (f *Feature[R, B]) pass(ctx context.Context, sessions []*Session[R, B]) {
	before := inASIC(sessions)
	f.withdrawUnwanted(ctx, sessions)
	if inASIC(sessions) < before {
		f.MarkRefused()
	}
	var in []*Session[R, B]
	for _, s := range sessions {
		if s.Err == nil {
			in = append(in, s)
		}
	}
	f.Logic.Deploy(ctx, in)
	for _, s := range sessions {
		f.Report(ctx, s)
	}
}

// inASIC returns the number of sessions in the ASIC.
func inASIC[R, B any](sessions []*Session[R, B]) (n int) {
	for _, s := range sessions {
		if s.InASIC != nil {
			n++
		}
	}
	return n
}

// withdrawUnwanted determines which sessions are wanted. It removes a session that must not stay in the ASIC in its
// present form.
func (f *Feature[R, B]) withdrawUnwanted(ctx context.Context, sessions []*Session[R, B]) {
	var out []*Session[R, B]
	for _, s := range sessions {
		delete(f.work.stuck, s.Name)
		s.later = false
		if l, ok := f.Logic.(Losing[R, B]); ok && s.InASIC != nil && l.Lost(s) {
			f.Leave(s)
		}
		s.Err = f.wanted(ctx, s)
		if s.InASIC != nil && (s.Err != nil || !f.Logic.Stays(ctx, s)) {
			out = append(out, s)
		}
	}
	f.withdraw(ctx, out)
	for _, s := range out {
		if s.InASIC != nil {
			f.work.stuck[s.Name] = s
		}
	}
}

// withdraw removes sessions from the ASIC.
func (f *Feature[R, B]) withdraw(ctx context.Context, sessions []*Session[R, B]) {
	if w, ok := f.Logic.(Withdrawing[R, B]); ok {
		w.Withdraw(ctx, sessions)
		return
	}
	var bound []*Session[R, B]
	for _, s := range sessions {
		if !s.stepwise {
			bound = append(bound, s)
		} else if err := f.tearDown(ctx, s); err != nil {
			s.Err = err
		}
	}
	f.Unbind(ctx, bound)
}

// wanted returns why a session must not be in the ASIC, or nil if it must be.
func (f *Feature[R, B]) wanted(ctx context.Context, s *Session[R, B]) error {
	switch {
	case !s.Configured:
		return errors.New("there is no row any more")
	case s.ParseErr != nil:
		return s.ParseErr
	case !f.Active:
		return orch.Wait("feature", f.Name, "feature %s is not active", f.Name)
	case f.Unsupported != "":
		return errors.New(f.Unsupported)
	}
	return f.Logic.Wanted(ctx, s)
}
