package flymonorch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/swss"
	"tamtam/tam/flymon"
)

// unboundedPeriod is the interval at which a task without epochs is read. Its registers are never cleared, so nothing
// is lost in between.
const unboundedPeriod = 10 * time.Second

// registerDelay is the maximum time after the end of an epoch at which its bank is read. It allows for errors of the
// daemon's estimate of the chip's time. For short epochs it is an eighth of the epoch.
const registerDelay = 5 * time.Millisecond

// readAtOnce is the number of registers that are read before orchagent handles other work. Reading them takes some
// dozen milliseconds.
const readAtOnce = 1 << 16

// A class holds the tasks with the same length of epochs. They are read together.
type class struct {
	every time.Duration // length of the epochs; zero means tasks without epochs
	tasks map[string]*task
	due   time.Time // time of the next read by the daemon's clock; zero means immediately
	fresh []*task   // tasks that must be read for the first time, as soon as possible

	queue  []*task   // tasks that are being read
	whole  bool      // true if queue contains all tasks
	then   time.Time // next due time of all tasks; zero if unknown
	failed bool      // true if some tasks could not be read
}

// period returns the period with which a task is read: its epoch, or -1 for a task with live readout.
func period(row flymon.Task) time.Duration {
	if row.Live {
		return -1 // a task with live readout has its own timer
	}
	return row.Epoch
}

// A reader reads the counts of tasks, each when its epoch is over, and reports the answers.
type reader struct {
	daemon  *orch.Daemon
	log     *slog.Logger
	api     sai.API
	windows *feature.Windows
	geo     flymon.Geometry
	rows    *counters
	queries *queries
	wasRead func(ctx context.Context, err error, tasks ...*task) // see [feature.Feature.CountersRead]

	classes map[time.Duration]*class
	sweeps  map[string]*task // tasks with readout live
	skew    time.Duration    // the chip's time of day minus the daemon's
}

// newReader returns a reader that uses these read objects.
func newReader(
	cfg Config, windows *feature.Windows, rows *counters, queries *queries,
	wasRead func(ctx context.Context, err error, tasks ...*task),
) *reader {
	return &reader{
		daemon: cfg.Daemon, log: cfg.Daemon.Logger(), api: cfg.SAI, windows: windows, rows: rows, queries: queries,
		wasRead: wasRead,
		classes: map[time.Duration]*class{}, sweeps: map[string]*task{},
	}
}

// join adds a task to those that are read.
func (rd *reader) join(t *task) {
	if t.InASIC.row.Live {
		rd.sweeps[t.Name] = t
		return
	}
	e := period(t.InASIC.row)
	c := rd.classes[e]
	if c == nil {
		c = &class{every: e, tasks: map[string]*task{}}
		rd.classes[e] = c
	}
	c.tasks[t.Name] = t
	c.fresh = append(c.fresh, t)
}

// drop ends the reading of a task.
func (rd *reader) drop(t *task) {
	delete(rd.sweeps, t.Name)
	e := period(t.InASIC.row)
	if c := rd.classes[e]; c != nil {
		is := func(x *task) bool { return x == t }
		delete(c.tasks, t.Name)
		c.fresh, c.queue = slices.DeleteFunc(c.fresh, is), slices.DeleteFunc(c.queue, is)
		if len(c.tasks) == 0 {
			delete(rd.classes, e)
		}
	}
}

// next returns the time of the next read, or zero if there is none.
func (rd *reader) next() (next time.Time) {
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, c := range rd.classes {
		if c.due.IsZero() || len(c.fresh)+len(c.queue) > 0 {
			return rd.daemon.Now()
		}
		sooner(c.due)
	}
	for _, t := range rd.sweeps {
		if t.InASIC.sweep.due.IsZero() {
			return rd.daemon.Now()
		}
		sooner(t.InASIC.sweep.due)
	}
	return next
}

// readDue reads some tasks of each class that is due.
func (rd *reader) readDue(ctx context.Context, now time.Time) error {
	for _, e := range slices.Sorted(maps.Keys(rd.classes)) {
		c := rd.classes[e]
		if len(c.queue) == 0 {
			c.start(c.due.IsZero() || !now.Before(c.due))
		}
		if len(c.queue) > 0 {
			if err := rd.readSome(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAll reads all classes, whether they are due or not.
func (rd *reader) readAll(ctx context.Context) error {
	for _, e := range slices.Sorted(maps.Keys(rd.classes)) {
		c := rd.classes[e]
		for c.start(true); len(c.queue) > 0; {
			if err := rd.readSome(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// start queues all tasks for reading, or only the fresh ones.
func (c *class) start(all bool) {
	c.queue, c.whole = c.fresh, all
	if all {
		c.queue = slices.SortedFunc(maps.Values(c.tasks), (*task).Compare)
	}
	c.fresh, c.then, c.failed = nil, time.Time{}, false
}

// batch dequeues the tasks that are read together.
func (c *class) batch() []*task {
	words, n := uint32(0), 0
	for n < min(len(c.queue), flymon.MaxChipTasks) && words < readAtOnce {
		words += c.queue[n].InASIC.placed.Buckets
		n++
	}
	tasks := c.queue[:n]
	c.queue = c.queue[n:]
	return tasks
}

// readSome queries some tasks of the queue, and reads those whose epoch is over. It retries failed reads. Epochs that
// are missed meanwhile have no answers.
func (rd *reader) readSome(ctx context.Context, c *class) error {
	r := rd.round(ctx)
	at, err := rd.readTasks(r, c, c.batch())
	if errors.Is(err, swss.ErrUnavailable) {
		return err
	}
	r.close()
	c.failed = c.failed || err != nil
	if at != nil && c.then.IsZero() {
		c.then = rd.aim(c.every, *at)
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
		c.due = rd.daemon.Now().Add(again / 4)
	case c.whole || c.due.IsZero():
		c.due = c.then
	}
	return nil
}

// aim returns the time, by the daemon's clock, at which the current epoch can be read.
func (rd *reader) aim(every time.Duration, at clock) time.Time {
	if every == 0 {
		return rd.daemon.Now().Add(unboundedPeriod)
	}
	end := (at.now/uint64(every) + 1) * uint64(every)
	return time.Unix(0, int64(end)).Add(min(every/8, registerDelay) - rd.skew)
}

// readTasks reads as many tasks as one status read can cover. It returns the chip's time, or nil if that is
// unavailable.
func (rd *reader) readTasks(r *round, c *class, tasks []*task) (*clock, error) {
	at, list, err := rd.look(r, tasks)
	if err != nil {
		if !errors.Is(err, swss.ErrUnavailable) {
			rd.wasRead(r.ctx, err, tasks...)
		}
		return nil, err
	}
	var errs []error
	for i, t := range tasks {
		var err error
		switch {
		case list[i] == nil:
			err = errors.New("the switch does not have task " + t.Name)
		case c.every == 0:
			err = rd.readUnbounded(r, t, at, list[i])
		default:
			err = rd.readEpoch(r, t, at, list[i])
		}
		if !errors.Is(err, swss.ErrUnavailable) {
			rd.wasRead(r.ctx, err, t)
		}
		errs = append(errs, err)
	}
	return &at, errors.Join(errs...)
}

// look reads the status of tasks and updates the estimate of the chip's time.
func (rd *reader) look(r *round, tasks []*task) (clock, []*flymon.ChipStatus, error) {
	names := make([]string, len(tasks))
	for i, t := range tasks {
		names[i] = t.Name
	}
	asked := rd.daemon.Clock()
	at, list, err := r.status(names)
	if err == nil {
		rd.skew = time.Unix(0, int64(at.now)).Sub(asked)
	}
	return at, list, err
}

// chipNow returns the chip's time of day, estimated by the daemon's clock.
func (rd *reader) chipNow() uint64 { return uint64(rd.daemon.Clock().Add(rd.skew).UnixNano()) }

// readEpoch reads, clears and reports the epoch before the current one, unless it was read.
func (rd *reader) readEpoch(r *round, t *task, at clock, s *flymon.ChipStatus) error {
	d, every := t.InASIC, uint64(t.InASIC.row.Epoch)
	cur := at.now / every
	if !d.counts(at, s) {
		if err := rd.begin(r, t, at, s, cur); err != nil {
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
	rd.remember(t)
	if cur <= d.next {
		return nil
	}
	n := cur - 1
	e := epoch{number: n, which: int(n % 2), start: n * every, end: cur * every, flags: d.flags}
	if n > d.next { // epochs before n are lost
		e.flags &^= flymon.FlagFirst | flymon.FlagPartial
	} else if d.began > e.start {
		e.start = d.began
	}
	e.bank = s.Banks[n%2]
	if e.bank.Epoch != n {
		e.bank = flymon.ChipBank{} // the bank is of another epoch or of none: no packet arrived in this one
	}
	got, err := rd.readUnits(r, t, &d.placed, 0, &e)
	if err != nil {
		return err
	}
	if s.Banks[n%2].Used {
		if err := r.clear(t.Name, int(n%2)); err != nil {
			rd.log.Error("a bank is not cleared: its next epoch will be dirty", "task", t.Name, "epoch", n, "err", err)
		}
	}
	if rd.chipNow() >= (n+2)*every {
		e.flags |= flymon.FlagLate
	}
	d.next, d.began, d.flags = cur, 0, 0
	if stepped { // the clock was set in this epoch or in the current one
		d.flags = flymon.FlagClockStep
	}
	rd.remember(t)
	rd.report(t, d, e, got)
	return nil
}

// counts reports whether the chip still has the known count.
func (d *deployment) counts(at clock, s *flymon.ChipStatus) bool {
	return d.known && at.started == d.at.started && s.Generation == d.generation
}

// begin starts reading a task after orchagent or the chip started. If the chip counted the task in the last epoch
// already, that epoch is the first, and the current one is complete. If a former process has stored this count, it
// continues: an epoch whose bank was cleared has been read.
func (rd *reader) begin(r *round, t *task, at clock, s *flymon.ChipStatus, cur uint64) error {
	d := t.InASIC
	last := s.Banks[(cur-1)%2]
	if last.Used && last.Epoch != cur-1 {
		if err := r.clear(t.Name, int((cur-1)%2)); err != nil {
			return err
		}
	}
	was := d.former
	goesOn := was.is(at, s)
	d.next = cur
	if last.Of(cur-1) || goesOn && was.epoch < cur && last.Epoch != cur-1 {
		d.next = cur - 1
	}
	d.known, d.at, d.generation, d.former = true, at, s.Generation, nil
	switch {
	case goesOn:
		d.at.steps = was.steps
		if was.epoch == d.next {
			d.flags, d.began = was.flags, was.began
		}
	case d.flags&flymon.FlagPartial == 0:
		d.flags |= flymon.FlagFirst
	}
	return nil
}

// readUnbounded reads all counts so far of a task without epochs.
func (rd *reader) readUnbounded(r *round, t *task, at clock, s *flymon.ChipStatus) error {
	d := t.InASIC
	if !d.counts(at, s) {
		var err error
		if at, s, err = rd.beginUnbounded(r, t, at, s); err != nil {
			return err
		}
	} else if at.steps != d.at.steps {
		d.timesDiffer()
	}
	d.at = at
	rd.remember(t)
	e := epoch{start: d.began, end: at.now, bank: s.Banks[0], flags: d.flags}
	got, err := rd.readUnits(r, t, &d.placed, 0, &e)
	if err != nil {
		return err
	}
	rd.report(t, d, e, got)
	return nil
}

// beginUnbounded starts reading a task without epochs. Its registers are otherwise never cleared, but counts with an
// unknown begin are dropped.
func (rd *reader) beginUnbounded(
	r *round, t *task, at clock, s *flymon.ChipStatus,
) (clock, *flymon.ChipStatus, error) {
	d := t.InASIC
	switch was := d.former; {
	case was.is(at, s):
		if d.began, d.flags = was.began, was.flags; at.steps != was.steps {
			d.timesDiffer()
		}
	case d.known && at.started != d.at.started: // syncd has added the task to another chip
		d.began = at.started
	default:
		if d.found || d.known {
			var err error
			if at, s, err = rd.beginAgain(r, t); err != nil {
				return at, s, err
			}
		}
		d.began = at.now
	}
	d.known, d.generation, d.former = true, s.Generation, nil
	return at, s, nil
}

// timesDiffer records that the clock was set while a task without epochs counted. Counts are unaffected, but the
// difference between times before and after has no meaning.
func (d *deployment) timesDiffer() {
	if d.row.Attribute.Kind == flymon.MaxInterval {
		d.flags |= flymon.FlagClockStep
	}
}

// beginAgain clears the only bank of a task, so that the task counts from 0. It returns the time of the chip and the
// new status of the task.
func (rd *reader) beginAgain(r *round, t *task) (clock, *flymon.ChipStatus, error) {
	if err := r.clear(t.Name, 0); err != nil {
		return clock{}, nil, err
	}
	at, list, err := rd.look(r, []*task{t})
	if err == nil && list[0] == nil {
		err = errors.New("the switch does not have task " + t.Name)
	}
	if err != nil {
		return clock{}, nil, err
	}
	return at, list[0], nil
}
