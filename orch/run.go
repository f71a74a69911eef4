package orch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tamtam/swss"
	"tamtam/swss/tick"
)

// Bounds of the wait between attempts to work while Redis is away.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// Run works on wall time until ctx ends, and then returns nil. It fails with [swss.ErrReset] if the databases are no
// longer those of the claim in [Options]. It waits while Redis is away or refuses writes.
func (d *Daemon) Run(ctx context.Context) error {
	defer d.Close()
	c := checks{daemon: d}
	backoff := minBackoff
	reported := "not yet"
	for {
		err := c.due(ctx)
		if err == nil {
			_, err = d.step(ctx, d.steady(), false)
		}
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, swss.ErrReset) {
			return err
		}
		var retry <-chan time.Time
		if c.trouble = err != nil; c.trouble {
			retry = time.After(backoff)
			backoff = min(2*backoff, maxBackoff)
		} else {
			backoff = minBackoff
		}
		reported = d.announce(reported, err)
		if !d.wait(ctx, retry, c.next) {
			return nil
		}
	}
}

// announce logs and reports the state of the daemon, if it differs from the last one, and returns it.
func (d *Daemon) announce(last string, err error) (reason string) {
	if err != nil {
		reason = swss.Why(err)
	}
	switch {
	case reason == last:
		return reason
	case reason != "":
		d.log.Error("does not work", "because", reason)
	case last != "not yet":
		d.log.Info("works again")
	}
	if d.opts.Report != nil {
		d.opts.Report(reason)
	}
	return reason
}

// checkPeriod is the interval at which a healthy daemon checks its databases.
const checkPeriod = time.Second

// checks schedules the checks of the databases.
type checks struct {
	daemon  *Daemon
	trouble bool // true if the last step failed
	next    time.Time
	conns   int // number of connections of the listener at the last check
}

// due checks the databases if a check is due. It holds the turn, so the daemon does nothing else while it waits for an
// answer.
func (c *checks) due(ctx context.Context) error {
	if err := c.daemon.acquire(ctx); err != nil {
		return err
	}
	defer c.daemon.release()
	now, conns := c.daemon.steady(), c.daemon.listener.Connections()
	if !c.trouble && conns == c.conns && now.Before(c.next) {
		return nil
	}
	c.next, c.conns = tick.Next(now, checkPeriod), conns
	return c.daemon.check(ctx)
}

// check returns [swss.ErrReset] if the databases are no longer those of the claim. It finds emptied databases.
func (d *Daemon) check(ctx context.Context) (err error) {
	var p *swss.Pulse
	if claim := d.opts.Claim; claim != nil {
		p, err = claim.Pulse(ctx, d.consumed()...)
	} else {
		p, err = d.redis.Pulse(ctx, d.consumed()...)
	}
	if err != nil {
		return err
	}
	return d.watchFlush(ctx, p)
}

// wait returns true when there may be work, at the latest at the time next. After an error it waits until retry fires.
// It returns false when ctx ends.
func (d *Daemon) wait(ctx context.Context, retry <-chan time.Time, next time.Time) bool {
	if retry != nil {
		select {
		case <-ctx.Done():
			return false
		case <-retry:
			return true
		}
	}
	if at, ok := d.NextTimer(); ok && at.Before(next) {
		next = at
	}
	timer := time.NewTimer(next.Sub(d.steady()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-d.listener.Ready():
	case <-d.wake:
	case <-timer.C:
	}
	return true
}

// A timer calls f once per period.
type timer struct {
	period func() time.Duration
	at     func() time.Time // replaces period, see At
	f      func(context.Context, time.Time) error
	last   time.Time // time when the timer was last due; zero before the first step
}

// next returns when the timer is due, or false if it is off.
func (t *timer) next() (time.Time, bool) {
	if t.at != nil {
		at := t.at()
		return at, !at.IsZero()
	}
	p := t.period()
	return t.last.Add(p), p > 0 && !t.last.IsZero()
}

// Every calls f once per period. The first call is one period after the first step. While the period is 0 or less, the
// timer is off. Missed periods are not repeated. f runs on the daemon's goroutine. An error is logged (Run) or returned
// (Step).
func (d *Daemon) Every(period func() time.Duration, f func(ctx context.Context, now time.Time) error) {
	d.timers = append(d.timers, &timer{period: period, f: f})
}

// At calls f at the time that at returns. at is called again after every step; the zero time means never. After f, at
// must return a later time, or f is called again immediately. An error is logged (Run) or returned (Step).
func (d *Daemon) At(at func() time.Time, f func(ctx context.Context, now time.Time) error) {
	d.timers = append(d.timers, &timer{at: at, f: f})
}

// NextTimer returns when the next timer is due, or false if there is none.
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
				t.last = d.now // a timer that is switched on again starts from this time
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
