package amorch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// A class contains the sessions with the same interval, which are read together.
type class struct {
	interval altmark.Interval
	sessions map[string]*session
	due      time.Time  // time of the next reading by the daemon's clock; zero if it is due at once
	fresh    []*session // sessions that were not read yet and are due as soon as possible
	failing  string     // last logged error of a reading; "" if the last reading succeeded
}

// startReading adds a bound session to a class.
func (o *Orch) startReading(s *session) {
	n := s.RowInASIC.Interval
	c := o.classes[n]
	if c == nil {
		c = &class{interval: n, sessions: map[string]*session{}}
		o.classes[n] = c
	}
	c.sessions[s.Name] = s
	c.fresh = append(c.fresh, s)
	if o.measuredBefore(s) {
		o.counters.resume(s.Name, o.howMeasured(s))
	} else {
		o.counters.past.Drop(s.Name)
		o.counters.last.Drop(s.Name)
		o.counters.track(s.Name, o.howMeasured(s))
	}
}

// stopReading removes a session from its class.
func (o *Orch) stopReading(s *session) {
	n := s.RowInASIC.Interval
	if c := o.classes[n]; c != nil {
		delete(c.sessions, s.Name)
		c.fresh = slices.DeleteFunc(c.fresh, func(x *session) bool { return x == s })
		if len(c.sessions) == 0 {
			delete(o.classes, n)
		}
	}
	o.counters.untrack(s.Name)
}

// howMeasured returns the initial counters row of a session, which contains no period yet.
func (o *Orch) howMeasured(s *session) schema.AltMarkCounters {
	c := schema.AltMarkCounters{Engine: o.engine, Guard: s.RowInASIC.Guard(), Timing: "the chip's ingress timestamp"}
	if s.InASIC.flip != nil {
		c.Timing = s.InASIC.flip.timing(s.RowInASIC.Role)
	}
	return c
}

// nextTimer returns the time of the next read or switch-over; zero if there is none.
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

// timers performs the readings and the switch-overs that are due.
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
		case err != nil: // the switch returned an error; missed periods are flagged later
			if c.failing != err.Error() {
				o.Log.Error("alternate marking is not read", "interval", c.interval.String(), "err", err)
			}
			c.failing, c.due = err.Error(), now.Add(c.interval.Duration()/4)
		default:
			c.failing = ""
		}
	}
	return errors.Join(append(errs, o.Flush(ctx))...)
}

// read reads sessions of a class, reports the periods that are complete, and schedules the next reading in the middle
// of the next period.
func (o *Orch) read(ctx context.Context, now time.Time, c *class, sessions []*session) error {
	if o.engine == schema.AltMarkByOrchestrator {
		return o.readScheduled(ctx, c, sessions)
	}
	var last altmark.ChipClock
	var asked time.Time
	most := altmark.MaxChipFlows
	if slices.ContainsFunc(sessions, func(s *session) bool { return s.RowInASIC.MeanDelay }) {
		most = altmark.MaxChipArrivals
	}
	for chunk := range slices.Chunk(sessions, most) {
		flows := make([]uint32, len(chunk))
		for i, s := range chunk {
			flows[i] = s.InASIC.index
		}
		asked = o.Daemon.Clock()
		t, readings, err := o.readFlows(ctx, flows)
		for _, s := range chunk {
			o.noteRead(ctx, s, t, err)
		}
		if err != nil {
			return err
		}
		for i, s := range chunk {
			o.addReading(s, t, readings[i])
		}
		last = t
	}
	o.skew = last.At.Std().Sub(asked)
	c.due = o.aim(c.interval, last.At)
	return nil
}

// noteRead updates the note of a session in STATE_DB: whether its counters can be read, and, if it has a header,
// whether the switch encapsulates or decapsulates packets. An error that did not come from the switch leaves the note
// unchanged.
func (o *Orch) noteRead(ctx context.Context, s *session, t altmark.ChipClock, err error) {
	why, idle := "", false
	if err != nil {
		if _, answered := sai.StatusOf(err); !answered {
			return
		}
		why = "nothing is measured: its counters cannot be read: " + orch.Explain(err)
	} else if t.Programmed && s.RowInASIC.Encap.Given() {
		why, idle = "no header is put on packets, or taken off: a program runs on the switch", true
	}
	if s.Note != why {
		s.Note, s.Idle = why, idle
		o.Report(ctx, s)
	}
}

// addReading adds a reading to a session's meter, and records the period that it completes.
func (o *Orch) addReading(s *session, t altmark.ChipClock, r altmark.ChipFlow) {
	b := s.InASIC
	if s.RowInASIC.Method == altmark.Muxed && !s.RowInASIC.SlotSync && s.RowInASIC.Role != altmark.Initiator {
		r = bySteps(r)
	}
	b.clock.add(s.RowInASIC.Session, t)
	late := b.meter.lateIn(s.RowInASIC.Interval.Period(t.At), r.Late)
	o.counters.amend(s.Name, late)
	if p, ok := b.meter.add(s.RowInASIC.Session, t, r); ok {
		b.clock.period(&p, s.RowInASIC.Session)
		b.noteMatch(&p, s.RowInASIC.Session)
		if b.flip != nil {
			p.Flags |= b.flip.flags(s.RowInASIC.Session, p.Number)
		}
		if late.Has(p.Number) {
			p.Flags |= altmark.LateFrames
		}
		how := o.howMeasured(s)
		how.Has, how.Period = true, p
		if x := r.Outer; s.RowInASIC.Encap.Given() {
			how.Encapsulated, how.Decapsulated = &x.Encapsulated, &x.Decapsulated
			how.TooLong, how.Damaged = &x.TooLong, &x.Damaged
		}
		o.counters.add(s.Name, how)
	}
}

// aim returns the time of the next reading by the daemon's clock: the middle of this period, or of the next period if
// this middle has passed.
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
