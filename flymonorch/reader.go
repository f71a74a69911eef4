package flymonorch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tamtam/swss"
	"tamtam/tam/flymon"
)

// unboundedPeriod is how often a task without epochs is read: its registers are
// never cleared, so nothing is missed between.
const unboundedPeriod = 10 * time.Second

// settleTime is how long after the end of an epoch its bank is read at the latest:
// what the daemon's idea of the chip's time may be wrong by. An eighth of a shorter epoch.
const settleTime = 5 * time.Millisecond

// readAtOnce is how many registers are read before orchagent looks at what else there is
// to do: a few dozen milliseconds.
const readAtOnce = 1 << 16

// A class is the tasks with one length of epochs: they are read together.
type class struct {
	every time.Duration // 0: without epochs
	tasks map[string]*task
	due   time.Time // by the daemon's clock; zero: at once
	fresh []*task   // to be looked at as soon as possible, for a first time

	queue  []*task   // that are being read
	whole  bool      // these are all
	then   time.Time // when all are due again; zero: not known yet
	failed bool      // some were not read
}

// period is the class of a task.
func period(row flymon.Task) time.Duration {
	if row.Live {
		return -1 // has a timer of its own
	}
	return row.Epoch
}

// join takes a task into its class.
func (o *Orch) join(t *task) {
	e := period(t.On.row)
	c := o.classes[e]
	if c == nil {
		c = &class{every: e, tasks: map[string]*task{}}
		o.classes[e] = c
	}
	c.tasks[t.Name] = t
	c.fresh = append(c.fresh, t)
}

// nextTimer returns when there is something to do; zero: never.
func (o *Orch) nextTimer() (next time.Time) {
	if !o.Running || o.Unsupported != "" {
		return next
	}
	if o.pool == nil {
		if o.askAt.IsZero() {
			return o.Daemon.Now()
		}
		return o.askAt
	}
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, c := range o.classes {
		if c.due.IsZero() || len(c.fresh)+len(c.queue) > 0 {
			return o.Daemon.Now()
		}
		sooner(c.due)
	}
	for _, t := range o.sweeps {
		if t.On.sweep.due.IsZero() {
			return o.Daemon.Now()
		}
		sooner(t.On.sweep.due)
	}
	return next
}

// timers does what is due.
func (o *Orch) timers(ctx context.Context, now time.Time) error {
	if o.pool == nil {
		if err := o.learn(ctx); err != nil {
			return err
		}
		o.MarkAll()
		return o.Settle(ctx)
	}
	var errs []error
	for _, e := range slices.Sorted(maps.Keys(o.classes)) {
		c := o.classes[e]
		if len(c.queue) == 0 {
			c.start(c.due.IsZero() || !now.Before(c.due))
		}
		if len(c.queue) > 0 {
			if err := o.readSome(ctx, c); err != nil {
				return err
			}
		}
	}
	for _, t := range slices.SortedFunc(maps.Values(o.sweeps), (*task).Compare) {
		if s := &t.On.sweep; s.due.IsZero() || !now.Before(s.due) {
			errs = append(errs, o.sweepOn(ctx, now, t))
		}
	}
	return errors.Join(append(errs, o.Flush(ctx))...)
}

// start queues all tasks to be read, or those that are fresh.
func (c *class) start(all bool) {
	c.queue, c.whole = c.fresh, all
	if all {
		c.queue = slices.SortedFunc(maps.Values(c.tasks), (*task).Compare)
	}
	c.fresh, c.then, c.failed = nil, time.Time{}, false
}

// batch takes from the queue what is read at once.
func (c *class) batch() []*task {
	words, n := uint32(0), 0
	for n < min(len(c.queue), flymon.MaxChipTasks) && words < readAtOnce {
		words += c.queue[n].On.placed.Buckets
		n++
	}
	tasks := c.queue[:n]
	c.queue = c.queue[n:]
	return tasks
}

// readSome looks at some tasks of the queue, and reads those whose epoch is over. What
// the switch does not say is asked again; what is missed by then has no answers.
func (o *Orch) readSome(ctx context.Context, c *class) error {
	r := o.round(ctx)
	at, err := o.readTasks(r, c, c.batch())
	if errors.Is(err, swss.ErrUnavailable) {
		return err
	}
	r.close()
	if err != nil {
		o.Log.Error("tasks of FlyMon are not read", "err", err)
	}
	c.failed = c.failed || err != nil
	if at != nil && c.then.IsZero() {
		c.then = o.aim(c.every, *at)
	}
	if len(c.queue) > 0 {
		return nil
	}
	switch {
	case c.failed:
		again := c.every
		if again == 0 {
			again = unboundedPeriod
		}
		c.due = o.Daemon.Now().Add(again / 4)
	case c.whole || c.due.IsZero():
		c.due = c.then
	}
	return nil
}

// aim returns when the epoch that is counting now can be read, by the daemon's clock.
func (o *Orch) aim(every time.Duration, at clock) time.Time {
	if every == 0 {
		return o.Daemon.Now().Add(unboundedPeriod)
	}
	end := (at.now/uint64(every) + 1) * uint64(every)
	return time.Unix(0, int64(end)).Add(min(every/8, settleTime) - o.skew)
}

// readTasks reads as many tasks as one window can tell the status of. It returns the
// chip's time, nil if the chip did not say.
func (o *Orch) readTasks(r *round, c *class, tasks []*task) (*clock, error) {
	at, list, err := o.look(r, tasks)
	if err != nil {
		return nil, err
	}
	var errs []error
	for i, t := range tasks {
		if list[i] == nil {
			errs = append(errs, errors.New("the switch does not have task "+t.Name))
			continue
		}
		if c.every == 0 {
			errs = append(errs, o.readUnbounded(r, t, at, list[i]))
		} else {
			errs = append(errs, o.readEpoch(r, t, at, list[i]))
		}
	}
	return &at, errors.Join(errs...)
}

// look asks for the status of tasks and learns the chip's time.
func (o *Orch) look(r *round, tasks []*task) (clock, []*flymon.ChipStatus, error) {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.Name
	}
	asked := o.Daemon.Clock()
	at, list, err := r.status(names)
	if err == nil {
		o.skew = time.Unix(0, int64(at.now)).Sub(asked)
	}
	return at, list, err
}

// chipNow is the chip's time of day by the daemon's clock.
func (o *Orch) chipNow() uint64 { return uint64(o.Daemon.Clock().Add(o.skew).UnixNano()) }

// readEpoch reads the epoch before the one that counts, unless it was read.
func (o *Orch) readEpoch(r *round, t *task, at clock, s *flymon.ChipStatus) error {
	d, every := t.On, uint64(t.On.row.Epoch)
	cur := at.now / every
	if !d.known || at.started != d.at.started {
		if err := o.begin(r, t, at, s, cur); err != nil {
			return err
		}
	}
	stepped := at.steps != d.at.steps
	if stepped {
		d.flags |= flymon.FlagClockStep
		if d.next = min(d.next, cur); s.Banks[(cur-1)%2].Of(cur - 1) {
			d.next = min(d.next, cur-1)
		}
	}
	d.at = at
	if cur <= d.next {
		return nil
	}
	n := cur - 1
	e := epoch{number: n, which: int(n % 2), start: n * every, end: cur * every, flags: d.flags}
	if n > d.next { // older ones are lost
		e.flags &^= flymon.FlagFirst | flymon.FlagPartial
	} else if d.began > e.start {
		e.start = d.began
	}
	e.bank = s.Banks[n%2]
	if e.bank.Epoch != n {
		e.bank = flymon.ChipBank{} // of another epoch, or of none: no packet came in this one
	}
	got, err := o.take(r, t, &d.placed, 0, &e)
	if err != nil {
		return err
	}
	if s.Banks[n%2].Used {
		if err := r.clear(t.Name, int(n%2)); err != nil {
			o.Log.Error("a bank is not cleared: its next epoch will be dirty", "task", t.Name, "epoch", n, "err", err)
		}
	}
	if o.chipNow() >= (n+2)*every {
		e.flags |= flymon.FlagLate
	}
	d.next, d.began, d.flags = cur, 0, 0
	if stepped { // in this epoch or in the one that counts
		d.flags = flymon.FlagClockStep
	}
	o.tell(t, d, e, got)
	return nil
}

// begin meets a task that the orchagent or the chip began anew. If the chip counted
// for it in the last epoch already, that one is the first, and this one is whole.
func (o *Orch) begin(r *round, t *task, at clock, s *flymon.ChipStatus, cur uint64) error {
	d := t.On
	last := s.Banks[(cur-1)%2]
	if last.Used && last.Epoch != cur-1 {
		if err := r.clear(t.Name, int((cur-1)%2)); err != nil {
			return err
		}
	}
	d.next = cur
	if last.Of(cur - 1) {
		d.next = cur - 1
	}
	if d.flags&flymon.FlagPartial == 0 {
		d.flags |= flymon.FlagFirst
	}
	d.known, d.at = true, at
	return nil
}

// readUnbounded reads a task without epochs: all that it has counted so far.
func (o *Orch) readUnbounded(r *round, t *task, at clock, s *flymon.ChipStatus) error {
	d := t.On
	if !d.known || at.started != d.at.started {
		d.known, d.began = true, at.now
	}
	d.at = at
	e := epoch{start: d.began, end: at.now, bank: s.Banks[0], flags: d.flags}
	got, err := o.take(r, t, &d.placed, 0, &e)
	if err != nil {
		return err
	}
	o.tell(t, d, e, got)
	return nil
}

// PollCounters reads all that there is to be read now.
func (o *Orch) PollCounters(ctx context.Context) error {
	if !o.Running || o.pool == nil {
		return nil
	}
	for _, e := range slices.Sorted(maps.Keys(o.classes)) {
		c := o.classes[e]
		for c.start(true); len(c.queue) > 0; {
			if err := o.readSome(ctx, c); err != nil {
				return err
			}
		}
	}
	return o.Flush(ctx)
}
