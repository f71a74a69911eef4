package amorch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/altmark"
)

// A class is the sessions with one interval: they are read together.
type class struct {
	interval altmark.Interval
	sessions map[string]*session
	due      time.Time  // by the daemon's clock; zero: at once
	fresh    []*session // to be read as soon as possible, for a first time
}

// meet takes a session that was bound among those to be read.
func (o *Orch) meet(s *session) {
	n := s.As.Interval
	c := o.classes[n]
	if c == nil {
		c = &class{interval: n, sessions: map[string]*session{}}
		o.classes[n] = c
	}
	c.sessions[s.Name] = s
	c.fresh = append(c.fresh, s)
	o.counters.track(s.Name, o.howMeasured(s))
}

// forget ends the reading of a session.
func (o *Orch) forget(s *session) {
	n := s.As.Interval
	if c := o.classes[n]; c != nil {
		delete(c.sessions, s.Name)
		c.fresh = slices.DeleteFunc(c.fresh, func(x *session) bool { return x == s })
		if len(c.sessions) == 0 {
			delete(o.classes, n)
		}
	}
	o.counters.untrack(s.Name)
}

// howMeasured is what COUNTERS_DB says of a session before there is a period.
func (o *Orch) howMeasured(s *session) schema.AltMarkCounters {
	c := schema.AltMarkCounters{Engine: o.engine, Guard: s.As.Guard(), Timing: "the chip's ingress timestamp"}
	if s.On.flip != nil {
		c.Timing = s.On.flip.timing(s.As.Role)
	}
	return c
}

// nextTimer returns when there is something to read or to switch; zero: never.
func (o *Orch) nextTimer() (next time.Time) {
	if !o.Running {
		return next
	}
	now := o.Daemon.Now()
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, c := range o.classes {
		if c.due.IsZero() || len(c.fresh) > 0 {
			return now
		}
		sooner(c.due)
	}
	if t := o.nextFlip(); !t.IsZero() {
		sooner(t)
	}
	return next
}

// timers does what is due.
func (o *Orch) timers(ctx context.Context, now time.Time) error {
	var errs []error
	o.flipDue(ctx, now)
	for _, n := range slices.Sorted(maps.Keys(o.classes)) {
		c := o.classes[n]
		sessions := c.fresh
		if c.due.IsZero() || !now.Before(c.due) {
			sessions = slices.SortedFunc(maps.Values(c.sessions), (*session).Compare)
		}
		if len(sessions) == 0 {
			continue
		}
		c.fresh = nil
		switch err := o.read(ctx, now, c, sessions); {
		case errors.Is(err, swss.ErrUnavailable):
			return err
		case err != nil: // of the switch: the periods that are missed are flagged
			o.Log.Error("alternate marking is not read", "interval", c.interval.String(), "err", err)
			c.due = now.Add(c.interval.Duration() / 4)
		}
	}
	return errors.Join(append(errs, o.Flush(ctx))...)
}

// read reads sessions of a class, tells the periods that are complete, and aims
// at the middle of the next period.
func (o *Orch) read(ctx context.Context, now time.Time, c *class, sessions []*session) error {
	if o.engine == schema.AltMarkByOrchestrator {
		return o.readScheduled(ctx, c, sessions)
	}
	var last altmark.ChipClock
	var asked time.Time
	for chunk := range slices.Chunk(sessions, altmark.MaxChipFlows) {
		flows := make([]uint32, len(chunk))
		for i, s := range chunk {
			flows[i] = s.On.index
		}
		asked = o.Daemon.Clock()
		t, readings, err := o.readFlows(ctx, flows)
		if err != nil {
			return err
		}
		for i, s := range chunk {
			o.tell(s, t, readings[i])
		}
		last = t
	}
	o.skew = last.At.Std().Sub(asked)
	c.due = o.aim(c.interval, last.At)
	return nil
}

// tell gives a reading to a session's meter and notes the period that it completes.
func (o *Orch) tell(s *session, t altmark.ChipClock, r altmark.ChipFlow) {
	b := s.On
	if s.As.Method == altmark.Muxed && !s.As.SlotSync && s.As.Role != altmark.Initiator {
		r = bySteps(r)
	}
	b.clock.ask(s.As.Session, t)
	if p, ok := b.meter.take(s.As.Session, t, r); ok {
		b.clock.period(&p, s.As.Session)
		if b.flip != nil {
			p.Flags |= b.flip.flags(s.As.Session, p.Number)
		}
		how := o.howMeasured(s)
		how.Has, how.Period = true, p
		o.counters.add(s.Name, how)
	}
}

// aim returns when the next reading is due by the daemon's clock: in the middle of
// this period, or of the next one if that is past.
func (o *Orch) aim(n altmark.Interval, at altmark.Time) time.Time {
	k := n.Period(at)
	if n.Slot(at) >= 2 {
		k++
	}
	return n.Middle(k).Std().Add(-o.skew)
}

// PollCounters reads all sessions now.
func (o *Orch) PollCounters(ctx context.Context) error {
	if !o.Running {
		return nil
	}
	now := o.Daemon.Now()
	var errs []error
	for _, n := range slices.Sorted(maps.Keys(o.classes)) {
		c := o.classes[n]
		errs = append(errs, o.read(ctx, now, c, slices.SortedFunc(maps.Values(c.sessions), (*session).Compare)))
	}
	return errors.Join(append(errs, o.Flush(ctx))...)
}
