package orch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tamtam/swss"
)

// Bounds of the wait between attempts to work while Redis is away.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// Run works on wall time until ctx ends, and then returns nil. While Redis is
// away it waits for it to come back.
func (d *Daemon) Run(ctx context.Context) error {
	defer d.Close()
	// Taken before the first rows are read, or later if Redis is away.
	d.flushCount, _ = d.flushes(ctx)
	backoff := minBackoff
	lost := false
	for {
		_, err := d.step(ctx, time.Now(), false)
		if ctx.Err() != nil {
			return nil
		}
		var retry <-chan time.Time
		switch {
		case errors.Is(err, swss.ErrUnavailable):
			if !lost {
				d.log.Error("redis is away", "error", err)
			}
			lost = true
			retry = time.After(backoff)
			backoff = min(2*backoff, maxBackoff)
		case err != nil:
			d.log.Error("step", "error", err)
			retry = time.After(backoff)
			backoff = min(2*backoff, maxBackoff)
		default:
			if lost {
				d.log.Info("redis is back")
			}
			lost, backoff = false, minBackoff
		}
		if !d.wait(ctx, retry) {
			return nil
		}
	}
}

// wait returns when there may be work: after an error only when retry says so.
// It returns false when ctx ends.
func (d *Daemon) wait(ctx context.Context, retry <-chan time.Time) bool {
	if retry != nil {
		select {
		case <-ctx.Done():
			return false
		case <-retry:
			return true
		}
	}
	var due <-chan time.Time
	if next, ok := d.NextTimer(); ok {
		timer := time.NewTimer(time.Until(next))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-d.listener.Ready():
	case <-d.wake:
	case <-due:
	}
	return true
}

// A timer calls f once per period.
type timer struct {
	period func() time.Duration
	at     func() time.Time // instead of period: see At
	f      func(context.Context, time.Time) error
	last   time.Time // when it was last due; zero before the first step
}

// next returns when the timer is due, false if it is off.
func (t *timer) next() (time.Time, bool) {
	if t.at != nil {
		at := t.at()
		return at, !at.IsZero()
	}
	p := t.period()
	return t.last.Add(p), p > 0 && !t.last.IsZero()
}

// Every calls f once per period, for the first time one period after the first step. While the
// period is 0 or less, the timer is off. Missed periods are not made up for. f runs on the daemon's
// goroutine; an error is logged (Run) or returned (Step).
func (d *Daemon) Every(period func() time.Duration, f func(ctx context.Context, now time.Time) error) {
	d.timers = append(d.timers, &timer{period: period, f: f})
}

// At calls f at the time that at returns, which is called again after every step; the zero time is
// never. f must make at return a later time, or f is called again at once. An error is logged (Run)
// or returned (Step).
func (d *Daemon) At(at func() time.Time, f func(ctx context.Context, now time.Time) error) {
	d.timers = append(d.timers, &timer{at: at, f: f})
}

// NextTimer returns when the next timer is due, false if there is none.
func (d *Daemon) NextTimer() (at time.Time, ok bool) {
	<-d.turn
	defer d.release()
	for _, t := range d.timers {
		if next, on := t.next(); on && (!ok || next.Before(at)) {
			at, ok = next, true
		}
	}
	return at, ok
}

// fire calls the timers that are due, in the order of their registration.
func (d *Daemon) fire(ctx context.Context) (worked bool, err error) {
	var errs []error
	for _, t := range d.timers {
		if t.at != nil {
			if next, on := t.next(); on && !d.now.Before(next) {
				worked = true
				if err := t.f(ctx, d.now); err != nil {
					errs = append(errs, fmt.Errorf("%s: timer: %w", d.name, err))
				}
			}
			continue
		}
		if t.last.IsZero() {
			t.last = d.now
			continue
		}
		next, on := t.next()
		if !on || d.now.Before(next) {
			if !on {
				t.last = d.now // a timer switched on again starts from there
			}
			continue
		}
		worked = true
		if t.last = next; !next.Add(t.period()).After(d.now) {
			t.last = d.now
		}
		if err := t.f(ctx, d.now); err != nil {
			errs = append(errs, fmt.Errorf("%s: timer: %w", d.name, err))
		}
	}
	return worked, errors.Join(errs...)
}
