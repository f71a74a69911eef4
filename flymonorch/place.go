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
	placed plan.Placed // without what is frozen
	object feature.Object
	frozen bool // the ASIC has frozen partitions to be given back

	found  bool   // it may have been in the ASIC before it was deployed here
	former *count // what a previous run knew of its count; nil: nothing
	noted  *count // what STATE_DB says of it
	place  string // and of its place

	known bool // the chip was asked for the task since it began
	// of its count, while the chip says the same
	generation uint64
	next       uint64
	flags      flymon.Flags // of epoch next
	began      uint64       // when its registers began to count, ns since 1970; 0: with the epoch
	at         clock        // the last look at the chip
	last       *taken       // of a task that compares epochs: the last whole one, with which the next is compared
	lastEpoch  epoch
	sweep      sweep // with readout live
}

// Stays reports whether a task counts in the ASIC; its change is that of Deploy.
func (o *Orch) Stays(_ context.Context, t *task) bool { return !t.Row.Plan }

// Withdraw takes tasks out of the ASIC.
func (o *Orch) Withdraw(ctx context.Context, tasks []*task) {
	for _, t := range tasks {
		if err := o.withdraw(ctx, t); err != nil {
			t.Err = err
			continue
		}
		o.changed = true
	}
}

// Deploy moves the tasks that are to be otherwise, and deploys those that are missing, each in its
// turn; then those are planned that are only to be planned.
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
	o.tellGroups()
}

// planOnly reports what a task would cost.
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

// unplan forgets the plan of a task.
func (o *Orch) unplan(t *task) {
	if o.plans[t.Name] != nil && t.InASIC == nil {
		o.counters.place.Drop(t.Name)
	}
	delete(o.plans, t.Name)
}

// deploy puts a task into the ASIC. The planner allocates when the chip has taken it.
func (o *Orch) deploy(ctx context.Context, t *task) error {
	placed, err := o.room(ctx, t)
	if err != nil {
		return err
	}
	return o.enter(ctx, t, placed, func() (*plan.Placed, error) { return o.pool.Add(t.Name, t.Row) })
}

// enter puts a task where it is to be; take has the planner allocate.
func (o *Orch) enter(ctx context.Context, t *task, placed *plan.Placed, take func() (*plan.Placed, error)) error {
	object := feature.Object{Name: flymon.ObjectTask, Attr: flymon.AttrTask}
	if err := object.Put(ctx, o.SAI, placed.Layout); err != nil {
		return err
	}
	placed, err := take()
	if err != nil {
		return errors.Join(err, object.Remove(ctx, o.SAI))
	}
	t.InASIC = &deployment{row: t.Row, placed: *placed, object: object, found: !o.Running}
	o.meet(t)
	return nil
}

// withdraw takes a task out of the ASIC. One that cannot be taken out stays.
func (o *Orch) withdraw(ctx context.Context, t *task) error {
	if err := t.InASIC.object.Remove(ctx, o.SAI); err != nil {
		return err
	}
	o.pool.Remove(t.Name)
	o.forget(t)
	t.InASIC = nil
	return nil
}

// change gives a task that counts another row: beside where it is, and what it has
// counted so far is read and told before its old place is given back. Another task's
// registers are not touched.
func (o *Orch) change(ctx context.Context, t *task) error {
	if err := o.thaw(ctx, t); err != nil || t.InASIC.row == t.Row {
		return err
	}
	if pin := t.InASIC.row; pin.Pinned != t.Row.Pinned { // which is the planner's alone: the chip counts on as it was
		pin.Pinned = t.Row.Pinned
		o.pool.Pin(t.Name, pin.Pinned)
		t.InASIC.row, t.InASIC.placed.Task = pin, pin
		if !pin.Pinned {
			o.MarkRefused() // it may be moved for them
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

// divert brings a task to where it is to be, with a row. take has the planner allocate when
// the chip has taken it.
func (o *Orch) divert(
	ctx context.Context, t *task, placed *plan.Placed, row flymon.Task, take func() (*plan.Placed, error),
) error {
	o.reader.catchUp(ctx, t)
	object := t.InASIC.object
	moved := !reflect.DeepEqual(placed.Layout.Units, t.InASIC.placed.Layout.Units) ||
		placed.Layout.Epoch != t.InASIC.placed.Layout.Epoch
	if moved && len(placed.Layout.Frozen) == 0 { // nothing will be left to read
		o.reader.readLast(ctx, t, t.InASIC, 0, false)
	}
	if err := object.Put(ctx, o.SAI, placed.Layout); err != nil {
		return err
	}
	placed, err := take()
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
	} else if !moved { // only a filter, a threshold or the like: it counts on
		d.flags |= old.flags
		d.known, d.next, d.began, d.at, d.generation = old.known, old.next, old.began, old.at, old.generation
		d.found, d.former = old.found, old.former
	}
	o.reader.remember(t)
	if d.frozen {
		o.reader.readLast(ctx, t, old, len(d.placed.Layout.Units), true)
	}
	return o.thaw(ctx, t)
}

// room finds a place for a task, and moves others if there is no room otherwise.
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
	if len(moves) > 0 { // the entries of plans that were made before are stale
		return o.pool.Try(t.Name, t.Row)
	}
	return placed, nil
}

// moveFor moves a task that counts to where the planner says, for another one: beside
// where it is, and what it has counted so far is read and told before its old place is given
// back. Its epoch is flagged partial.
func (o *Orch) moveFor(ctx context.Context, t *task, to *plan.Placed, another *task) error {
	moving := o.pool.Moved(to)
	err := o.divert(ctx, t, moving, t.InASIC.row, func() (*plan.Placed, error) { return moving, o.pool.Move(to) })
	if t.InASIC.frozen { // freed when something goes
		o.Later(t)
	}
	if err == nil {
		t.Note = fmt.Sprintf("moved to %s to make room for task %s", to.Groups(), another.Name)
		o.Report(ctx, t)
	}
	return err
}

// movesWords says which tasks a plan would move.
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

// thaw gives frozen partitions back, the chip first: nobody else may have them earlier.
func (o *Orch) thaw(ctx context.Context, t *task) error {
	if !t.InASIC.frozen {
		return nil
	}
	if err := t.InASIC.object.Put(ctx, o.SAI, t.InASIC.placed.Layout); err != nil {
		return fmt.Errorf("give back where the task was before: %w", err)
	}
	o.pool.Thaw(t.Name)
	t.InASIC.frozen = false
	o.MarkRefused() // there is room
	return nil
}

// meet takes a task that is in the ASIC now among those to be read.
func (o *Orch) meet(t *task) {
	o.counters.place.Put(t.Name, placement(&o.reader.geo, &t.InASIC.placed, false).Fields())
	o.reader.join(t)
	o.reader.remember(t)
}

// forget ends the reading of a task, and its rows.
func (o *Orch) forget(t *task) {
	o.reader.drop(t)
	o.counters.forget(t.Name)
}
