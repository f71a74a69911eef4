package flymonorch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"tamtam/flymonorch/answer"
	"tamtam/flymonorch/plan"
	"tamtam/orch"
	"tamtam/sai"
	"tamtam/tam/flymon"
)

// A deployment is a task in the ASIC.
type deployment struct {
	row    flymon.Task
	placed plan.Placed // without what is frozen
	entry  sai.Bytes   // that the ASIC has
	oid    sai.OID
	frozen bool // the ASIC has frozen partitions to be given back

	known     bool // the chip was asked for the task since it began
	next      uint64
	flags     flymon.Flags    // of epoch next
	began     uint64          // when its registers began to count, ns since 1970; 0: with the epoch
	at        clock           // the last look at the chip
	last      *answer.Reading // of an odd sketch: what the next epoch is compared with
	lastEpoch uint64
	lastTruth *truth // of that epoch; nil: not known
	sweep     sweep  // with readout live
}

// pass takes tasks out that must not be in the ASIC, moves those that are to be
// otherwise, and deploys those that are missing, each in its turn. If that leaves
// room, those that had none are looked at again in the next.
func (o *Orch) pass(ctx context.Context, tasks []*task) {
	before := o.deployed
	changed := false
	for _, t := range tasks {
		t.err = o.wanted(t)
		if !t.plan || t.err != nil || !t.row.Plan {
			o.unplan(t)
		}
		if t.on != nil && (t.err != nil || t.row.Plan) {
			if err := o.withdraw(ctx, t); err != nil {
				t.err = err
				continue
			}
			changed = true
		}
	}
	if o.deployed < before {
		maps.Copy(o.dirty, o.again)
	}
	for _, t := range tasks {
		if t.err != nil {
			continue
		}
		switch {
		case t.row.Plan:
			continue
		case t.on == nil:
			t.err = o.deploy(ctx, t)
			changed = true
		case t.on.frozen || t.on.row != t.row:
			t.err = o.change(ctx, t)
			changed = true
		}
		if t.err != nil {
			o.log.Error("FlyMon task", "task", t.name, "err", t.err)
		}
	}
	if changed {
		maps.Copy(o.dirty, o.plans)
	}
	for _, t := range tasks {
		if t.err == nil && t.row.Plan {
			o.planOnly(t)
		}
		o.settle(ctx, t)
	}
	o.bookGroups()
}

// planOnly says what a task would cost.
func (o *Orch) planOnly(t *task) {
	placed, moves, err := o.pool.Room(t.name, t.row)
	if err != nil {
		o.unplan(t)
		t.err = err
		o.plans[t.name] = t
		return
	}
	t.plan, t.would = true, movesWords(moves)
	o.plans[t.name] = t
	o.books.place.put(t.name, o.placement(placed, true).Fields())
}

// unplan takes a plan out of the books.
func (o *Orch) unplan(t *task) {
	delete(o.plans, t.name)
	if t.plan {
		t.plan = false
		o.books.place.drop(t.name)
	}
}

// deploy puts a task into the ASIC. The planner allocates when the chip has taken it.
func (o *Orch) deploy(ctx context.Context, t *task) error {
	placed, err := o.room(ctx, t)
	if err != nil {
		return err
	}
	entry, err := orch.ExtensionEntry("task", placed.Layout)
	if err != nil {
		return err
	}
	oid, err := orch.CreateExtension(ctx, o.api, ObjectTask, entry)
	if err != nil {
		return fmt.Errorf("create the task: %w", err)
	}
	if placed, err = o.pool.Add(t.name, t.row); err != nil {
		return errors.Join(err, o.remove(ctx, oid))
	}
	t.on = &deployment{row: t.row, placed: *placed, entry: entry, oid: oid}
	o.deployed++
	o.meet(t)
	return nil
}

// withdraw takes a task out of the ASIC. One that cannot be taken out stays.
func (o *Orch) withdraw(ctx context.Context, t *task) error {
	if err := o.remove(ctx, t.on.oid); err != nil {
		return fmt.Errorf("remove the task: %w", err)
	}
	o.pool.Remove(t.name)
	o.forget(t)
	t.on = nil
	o.deployed--
	return nil
}

// change gives a task that counts another row: beside where it is, and what it has
// counted so far is read and told before its old place is given back. Another task's
// registers are not touched.
func (o *Orch) change(ctx context.Context, t *task) error {
	if err := o.thaw(ctx, t); err != nil || t.on.row == t.row {
		return err
	}
	placed, err := o.room(ctx, t)
	if err != nil {
		return err
	}
	return o.divert(ctx, t, placed, t.row, func() (*plan.Placed, error) { return o.pool.Change(t.name, t.row) })
}

// divert brings a task to where it is to be, with a row. take has the planner allocate when
// the chip has taken it.
func (o *Orch) divert(ctx context.Context, t *task, placed *plan.Placed, row flymon.Task, take func() (*plan.Placed, error)) error {
	o.catchUp(ctx, t)
	entry, err := orch.ExtensionEntry("task", placed.Layout)
	if err != nil {
		return err
	}
	moved := !reflect.DeepEqual(placed.Layout.Units, t.on.placed.Layout.Units) || placed.Layout.Epoch != t.on.placed.Layout.Epoch
	if moved && len(placed.Layout.Frozen) == 0 { // nothing will be left to read
		o.readLast(ctx, t, t.on, 0, false)
	}
	if !bytes.Equal(entry, t.on.entry) {
		if err := orch.SetExtension(ctx, o.api, t.on.oid, entry); err != nil {
			return fmt.Errorf("change the task: %w", err)
		}
	}
	if placed, err = take(); err != nil {
		return errors.Join(err, orch.SetExtension(ctx, o.api, t.on.oid, t.on.entry))
	}
	old, d := t.on, &deployment{row: row, placed: *placed, entry: entry, oid: t.on.oid, frozen: len(placed.Layout.Frozen) > 0}
	d.placed.Layout.Frozen = nil
	o.forgetTimer(t)
	t.on = d
	o.meet(t)
	if d.flags = flymon.FlagPartial; moved && old.known {
		d.began = o.chipNow()
	} else if !moved { // only a filter, a threshold or the like: it counts on
		d.flags |= old.flags
		d.known, d.next, d.began, d.at = old.known, old.next, old.began, old.at
	}
	if d.frozen {
		o.readLast(ctx, t, old, len(d.placed.Layout.Units), true)
	}
	return o.thaw(ctx, t)
}

// room finds the place of a task, and moves others if only that makes room.
func (o *Orch) room(ctx context.Context, t *task) (*plan.Placed, error) {
	placed, moves, err := o.pool.Room(t.name, t.row)
	if err != nil {
		return nil, err
	}
	for _, to := range moves {
		if err := o.moveFor(ctx, o.tasks[to.Name], to, t); err != nil {
			return nil, fmt.Errorf("move task %s to make room: %w", to.Name, err)
		}
	}
	if len(moves) > 0 { // the entries of plans that were made before are stale
		return o.pool.Try(t.name, t.row)
	}
	return placed, nil
}

// moveFor moves a task that counts to where the planner says, for another one: beside
// where it is, and what it has counted so far is read and told before its old place is given
// back. Its epoch is flagged partial.
func (o *Orch) moveFor(ctx context.Context, t *task, to *plan.Placed, another *task) error {
	moving := o.pool.Moved(to)
	err := o.divert(ctx, t, moving, t.on.row, func() (*plan.Placed, error) { return moving, o.pool.Move(to) })
	if t.on.frozen { // given back when something goes
		o.again[t.name] = t
	}
	if err == nil {
		t.moved = fmt.Sprintf("moved to %s to make room for task %s", to.Groups(), another.name)
		o.settle(ctx, t)
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

// thaw gives frozen partitions back, the chip first: nobody else may have them
// before.
func (o *Orch) thaw(ctx context.Context, t *task) error {
	if !t.on.frozen {
		return nil
	}
	entry, err := orch.ExtensionEntry("task", t.on.placed.Layout)
	if err != nil {
		return err
	}
	if err := orch.SetExtension(ctx, o.api, t.on.oid, entry); err != nil {
		return fmt.Errorf("give back where the task was before: %w", err)
	}
	o.pool.Thaw(t.name)
	t.on.entry, t.on.frozen = entry, false
	maps.Copy(o.dirty, o.again) // there is room
	delete(o.dirty, t.name)
	return nil
}

// meet takes a task that is in the ASIC now among those to be read.
func (o *Orch) meet(t *task) {
	o.books.place.put(t.name, o.placement(&t.on.placed, false).Fields())
	if t.on.row.Live {
		o.sweeps[t.name] = t
		return
	}
	o.join(t)
}

// forget ends the reading of a task, and its rows.
func (o *Orch) forget(t *task) {
	o.forgetTimer(t)
	o.books.forget(t.name)
}

func (o *Orch) forgetTimer(t *task) {
	delete(o.sweeps, t.name)
	e := period(t.on.row)
	if c := o.classes[e]; c != nil {
		is := func(x *task) bool { return x == t }
		delete(c.tasks, t.name)
		c.fresh, c.queue = slices.DeleteFunc(c.fresh, is), slices.DeleteFunc(c.queue, is)
		if len(c.tasks) == 0 {
			delete(o.classes, e)
		}
	}
}
