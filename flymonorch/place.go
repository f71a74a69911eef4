package flymonorch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tamtam/flymonorch/plan"
	"tamtam/orch/feature"
	"tamtam/tam/flymon"
)

// A deployment is a task in the ASIC.
type deployment struct {
	row    flymon.Task
	placed plan.Placed // without frozen units
	object feature.Object
	frozen bool // true if the ASIC has frozen partitions that must be freed

	found  bool   // true if the task may have been in the ASIC before this run
	former *count // state of its count in a previous run, or nil
	noted  *count // state of its count as stored in STATE_DB
	place  string // place as stored in STATE_DB

	known bool // true if the chip was queried for the task since it began
	// State of its count, while the chip reports the same identity.
	generation uint64
	next       uint64
	flags      flymon.Flags // flags of epoch next
	began      uint64       // time when its registers began to count, ns since 1970; zero means the begin of the epoch
	at         clock        // clock at the last read of the chip
	last       *readout     // the last complete epoch, for tasks that compare consecutive epochs
	lastEpoch  epoch
	sweep      sweep // used for readout live
}

// Stays reports whether a task remains in the ASIC. Deploy applies its changes.
func (o *Orch) Stays(_ context.Context, t *task) bool { return !t.Row.Plan }

// Withdraw removes tasks from the ASIC.
func (o *Orch) Withdraw(ctx context.Context, tasks []*task) {
	for _, t := range tasks {
		if err := o.withdraw(ctx, t); err != nil {
			t.Err = err
			continue
		}
		o.changed = true
	}
}

// Deploy applies changes to deployed tasks and deploys missing ones, one after the other. Then it plans the tasks in
// plan mode.
func (o *Orch) Deploy(ctx context.Context, wanted []*task) {
	o.deployFormer(ctx, wanted)
	for _, t := range wanted {
		switch {
		case t.Row.Plan:
			continue
		case t.InASIC == nil:
			t.Err = o.deploy(ctx, t)
			o.changed = true
		case t.InASIC.frozen || t.InASIC.row != t.Row:
			t.Err = o.change(ctx, t)
			o.changed = true
		}
		if t.Err != nil {
			o.Log.Error("FlyMon task", "task", t.Name, "err", t.Err)
		}
	}
	if o.changed {
		o.changed = false
		o.Mark(o.plans)
	}
	for _, t := range wanted {
		if t.Row.Plan {
			o.planOnly(t)
		}
	}
	o.reportGroups()
}

// planOnly plans a task in plan mode. It reports the place that the task would get and the moves for it, or why there
// is no place.
func (o *Orch) planOnly(t *task) {
	placed, moves, err := o.pool.Room(t.Name, t.Row)
	if err != nil {
		o.unplan(t)
		t.Err = err
		o.plans[t.Name] = t
		return
	}
	t.Note = "planned, not deployed" + movesWords(moves)
	o.plans[t.Name] = t
	o.counters.place.Put(t.Name, placement(&o.reader.geo, placed, true).Fields())
}

// unplan removes the plan of a task.
func (o *Orch) unplan(t *task) {
	if o.plans[t.Name] != nil && t.InASIC == nil {
		o.counters.place.Drop(t.Name)
	}
	delete(o.plans, t.Name)
}

// deploy puts a task into the ASIC. The planner allocates after the chip has accepted it.
func (o *Orch) deploy(ctx context.Context, t *task) error {
	placed, err := o.room(ctx, t)
	if err != nil {
		return err
	}
	return o.enter(ctx, t, placed, func() (*plan.Placed, error) { return o.pool.Add(t.Name, t.Row) })
}

// enter puts a task at its place. take is the function that allocates in the planner.
func (o *Orch) enter(ctx context.Context, t *task, placed *plan.Placed, place func() (*plan.Placed, error)) error {
	object := feature.Object{Name: flymon.ObjectTask, Attr: flymon.AttrTask}
	if err := object.Put(ctx, o.SAI, placed.Layout); err != nil {
		return err
	}
	placed, err := place()
	if err != nil {
		return errors.Join(err, object.Remove(ctx, o.SAI))
	}
	t.InASIC = &deployment{row: t.Row, placed: *placed, object: object, found: !o.Running}
	o.meet(t)
	return nil
}

// withdraw removes a task from the ASIC. On an error the task stays.
func (o *Orch) withdraw(ctx context.Context, t *task) error {
	if err := t.InASIC.object.Remove(ctx, o.SAI); err != nil {
		return err
	}
	o.pool.Remove(t.Name)
	o.forget(t)
	t.InASIC = nil
	return nil
}

// change applies a changed row to a task that counts. It gets a new place beside its old one. Its counts so far are
// read and reported before the old place is freed. Registers of other tasks are not affected.
func (o *Orch) change(ctx context.Context, t *task) error {
	if err := o.thaw(ctx, t); err != nil || t.InASIC.row == t.Row {
		return err
	}
	if pin := t.InASIC.row; pin.Pinned != t.Row.Pinned { // only the planner uses the pin: the chip's count continues
		pin.Pinned = t.Row.Pinned
		o.pool.Pin(t.Name, pin.Pinned)
		t.InASIC.row, t.InASIC.placed.Task = pin, pin
		if !pin.Pinned {
			o.MarkRefused() // other tasks that were refused may now fit
		}
		if pin == t.Row {
			return nil
		}
	}
	placed, err := o.room(ctx, t)
	if err != nil {
		return err
	}
	return o.divert(ctx, t, placed, t.Row, func() (*plan.Placed, error) { return o.pool.Change(t.Name, t.Row) })
}

// divert moves a task to its new place, with a row. take makes the planner allocate after the chip has accepted it.
func (o *Orch) divert(
	ctx context.Context, t *task, placed *plan.Placed, row flymon.Task, place func() (*plan.Placed, error),
) error {
	o.reader.catchUp(ctx, t)
	object := t.InASIC.object
	moved := !reflect.DeepEqual(placed.Layout.Units, t.InASIC.placed.Layout.Units) ||
		placed.Layout.Epoch != t.InASIC.placed.Layout.Epoch
	if moved && len(placed.Layout.Frozen) == 0 { // no unread units will remain
		o.reader.readLast(ctx, t, t.InASIC, 0, false)
	}
	if err := object.Put(ctx, o.SAI, placed.Layout); err != nil {
		return err
	}
	placed, err := place()
	if err != nil {
		return errors.Join(err, object.Restore(ctx, o.SAI, t.InASIC.object))
	}
	old, d := t.InASIC, &deployment{row: row, placed: *placed, object: object, frozen: len(placed.Layout.Frozen) > 0}
	d.placed.Layout.Frozen = nil
	o.reader.drop(t)
	t.InASIC = d
	o.meet(t)
	if d.flags = flymon.FlagPartial; moved && old.known {
		d.began = o.reader.chipNow()
	} else if !moved { // only a filter, a threshold or similar changed, so the count continues
		d.flags |= old.flags
		d.known, d.next, d.began, d.at, d.generation = old.known, old.next, old.began, old.at, old.generation
		d.found, d.former, d.sweep = old.found, old.former, old.sweep
	}
	o.reader.remember(t)
	if d.frozen {
		o.reader.readLast(ctx, t, old, len(d.placed.Layout.Units), true)
	}
	return o.thaw(ctx, t)
}

// room returns a place for a task. If necessary, it moves other tasks first.
func (o *Orch) room(ctx context.Context, t *task) (*plan.Placed, error) {
	placed, moves, err := o.pool.Room(t.Name, t.Row)
	if err != nil {
		return nil, err
	}
	for _, to := range moves {
		if err := o.moveFor(ctx, o.Sessions[to.Name], to, t); err != nil {
			return nil, fmt.Errorf("move task %s to make room: %w", to.Name, err)
		}
	}
	if len(moves) > 0 { // plans from before the moves are stale
		return o.pool.Try(t.Name, t.Row)
	}
	return placed, nil
}

// moveFor moves a counting task to the planned place, for another task. Its counts so far are read and reported before
// its old place is freed. Its epoch is flagged partial.
func (o *Orch) moveFor(ctx context.Context, t *task, to *plan.Placed, another *task) error {
	moving := o.pool.Moved(to)
	err := o.divert(ctx, t, moving, t.InASIC.row, func() (*plan.Placed, error) { return moving, o.pool.Move(to) })
	if t.InASIC.frozen { // frozen units are freed in a later pass
		o.Later(t)
	}
	if err == nil {
		t.Note = fmt.Sprintf("moved to %s to make room for task %s", to.Groups(), another.Name)
		o.Report(ctx, t)
	}
	return err
}

// movesWords describes the tasks that a plan would move.
func movesWords(moves []*plan.Placed) string {
	var names []string
	for _, m := range moves {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; to make room it would move task " + strings.Join(names, ", ")
}

// thaw frees frozen partitions. The chip frees them first, so that no other task gets them earlier.
func (o *Orch) thaw(ctx context.Context, t *task) error {
	if !t.InASIC.frozen {
		return nil
	}
	if err := t.InASIC.object.Put(ctx, o.SAI, t.InASIC.placed.Layout); err != nil {
		return fmt.Errorf("give back where the task was before: %w", err)
	}
	o.pool.Thaw(t.Name)
	t.InASIC.frozen = false
	o.MarkRefused() // there is free space now
	return nil
}

// meet adds a task that is now in the ASIC to the reader.
func (o *Orch) meet(t *task) {
	o.counters.place.Put(t.Name, placement(&o.reader.geo, &t.InASIC.placed, false).Fields())
	o.reader.join(t)
	o.reader.remember(t)
}

// forget ends the reading of a task, and deletes its rows.
func (o *Orch) forget(t *task) {
	o.reader.drop(t)
	o.counters.forget(t.Name)
}
