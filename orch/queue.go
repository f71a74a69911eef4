package orch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tamtam/swss"
)

// An input is one source of a daemon: rows for a handler, or messages for receive.
type input struct {
	source  swss.Source
	table   string
	handler Handler
	rep     Reporting
	receive func(context.Context, swss.KeyOpFieldsValues) error
	lost    []func() // called when items may have been lost

	db       *swss.DB            // the table's database; nil if the source is not a table
	received map[string]uint64   // digests of the table's rows as last received, by key
	rows     map[string]*pending // pending work, by key
	ready    map[string]struct{} // keys of rows that are not parked
}

// A pending is the pending work on one row: at most a delete, then a set.
type pending struct {
	in       *input
	key      string
	del, set *Task
	on       Dep // dependency of a parked row; zero if the row is ready
}

// push merges new work into the pending work on a row, and wakes the row.
func (d *Daemon) push(in *input, t Task) {
	p := in.rows[t.Key]
	if p == nil {
		p = &pending{in: in, key: t.Key}
		in.rows[t.Key] = p
	}
	if t.Op == Del {
		p.del, p.set = &t, nil // an earlier set is obsolete
	} else {
		p.set = &t // rows are complete: the newer one replaces the older
		if p.del == nil && d.former.keepsBack(in, t) {
			d.park(p, formerDep)
			return
		}
	}
	d.wakeUp(p)
}

// wakeUp makes a row ready.
func (d *Daemon) wakeUp(p *pending) {
	if p.on != (Dep{}) {
		delete(d.parked[p.on], p)
		if len(d.parked[p.on]) == 0 {
			delete(d.parked, p.on)
		}
		p.on = Dep{}
	}
	p.in.ready[p.key] = struct{}{}
}

// park sets a row aside until its dependency is resolved. If the dependency was resolved while the batch was handled,
// the row is ready again.
func (d *Daemon) park(p *pending, on Dep) {
	if _, ok := d.resolved[on]; ok {
		d.wakeUp(p)
		return
	}
	p.on = on
	if d.parked[on] == nil {
		d.parked[on] = map[*pending]struct{}{}
	}
	d.parked[on][p] = struct{}{}
}

// Resolve wakes the tasks that wait for dep. It must be called on the daemon's goroutine: by a handler, an observer,
// a timer, or through [Daemon.Do].
func (d *Daemon) Resolve(dep Dep) {
	d.resolved[dep] = struct{}{}
	for p := range d.parked[dep] {
		p.on = Dep{}
		p.in.ready[p.key] = struct{}{}
	}
	delete(d.parked, dep)
}

// resolveResources wakes the tasks that wait for capacity on the switch.
func (d *Daemon) resolveResources() {
	var deps []Dep
	for dep := range d.parked {
		if dep.Kind == resourceKind {
			deps = append(deps, dep)
		}
	}
	for _, dep := range deps {
		d.Resolve(dep)
	}
}

// maxRounds is the maximum number of times that one step passes tasks to a handler. It detects handlers that keep
// waking each other.
const maxRounds = 10000

// process handles tasks until no row is ready.
func (d *Daemon) process(ctx context.Context) (worked bool, err error) {
	for round := 0; ; round++ {
		again := false
		for _, in := range d.inputs {
			if len(in.ready) == 0 {
				continue
			}
			again = true
			if round >= maxRounds {
				rows := strings.Join(slices.Sorted(maps.Keys(in.ready)), ", ")
				return true, fmt.Errorf("%s: %s does not settle: %s", d.name, in.table, rows)
			}
			if err := d.processInput(ctx, in); err != nil {
				return true, err
			}
		}
		if !again {
			return worked, nil
		}
		worked = true
	}
}

// processInput handles all ready rows of one table: the deletes, then the sets of rows that have no delete pending.
func (d *Daemon) processInput(ctx context.Context, in *input) error {
	keys := slices.Sorted(maps.Keys(in.ready))
	in.ready = Emptied(in.ready)
	var dels, sets []*pending
	for _, key := range keys {
		if p := in.rows[key]; p.del != nil {
			dels = append(dels, p)
		}
	}
	if err := d.handle(ctx, in, dels, Del); err != nil {
		for _, key := range keys {
			if p := in.rows[key]; p != nil && p.on == (Dep{}) {
				in.ready[key] = struct{}{}
			}
		}
		return err
	}
	for _, key := range keys {
		p := in.rows[key]
		if p != nil && p.del == nil && p.set != nil && p.on == (Dep{}) {
			delete(in.ready, key)
			sets = append(sets, p)
		}
	}
	return d.handle(ctx, in, sets, Set)
}

// handle calls the handler for one task of each row, and processes the results. It fails only if Redis became
// unavailable; the rows are then ready again.
func (d *Daemon) handle(ctx context.Context, in *input, rows []*pending, op Op) error {
	if len(rows) == 0 {
		return nil
	}
	tasks := make([]Task, len(rows))
	for i, p := range rows {
		if tasks[i] = *p.task(op); d.recorder != nil {
			d.record(tasks[i])
		}
	}
	d.resolved = Emptied(d.resolved)
	errs := in.handler.Handle(ctx, tasks)
	var lost error
	removed := false
	for i, p := range rows {
		err := fmt.Errorf("the handler gave no answer (%d for %d tasks)", len(errs), len(tasks))
		if i < len(errs) {
			err = errs[i]
		}
		if errors.Is(err, swss.ErrUnavailable) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			lost = err
			in.ready[p.key] = struct{}{}
			continue
		}
		if d.conclude(p, op, err) && op == Del {
			removed = true
		}
	}
	if removed {
		d.resolveResources()
	}
	return lost
}

// task returns the pending task of that op.
func (p *pending) task(op Op) *Task {
	if op == Del {
		return p.del
	}
	return p.set
}

// conclude records the outcome of a task, and reports whether the task is done.
func (d *Daemon) conclude(p *pending, op Op, err error) (done bool) {
	class := Done
	if err != nil {
		class = Classify(err)
	}
	var wait *WaitError
	words := p.in.rep.Words.withDefaults()
	status, reason := words.Failed, ""
	switch {
	case err == nil, class == Benign:
		d.finish(p, op)
		d.queueReport(p, op, words.Active, "")
		return true
	case invalid(err):
		status = words.Invalid
		d.finish(p, op)
	case errors.As(err, &wait):
		status = words.Pending
		d.park(p, wait.On)
	case class == Retry:
		status = words.Pending
		d.park(p, retryDep(err))
	default:
		d.finish(p, op)
	}
	if op == Del && status == words.Pending {
		status = words.Removing
	}
	reason = oneLine(err)
	d.log.Warn("task", "table", p.in.table, "key", p.key, "op", op.String(), "status", status, "reason", reason)
	d.queueReport(p, 0, status, reason)
	return false
}

// finish removes a task from its row.
func (d *Daemon) finish(p *pending, op Op) {
	if op == Del {
		p.del = nil
	} else {
		p.set = nil
	}
	if p.del == nil && p.set == nil {
		delete(p.in.rows, p.key)
	} else {
		p.in.ready[p.key] = struct{}{}
	}
}

// queueReport queues the STATE_DB row of an outcome. op is that of a finished task, else 0.
func (d *Daemon) queueReport(p *pending, op Op, status, reason string) {
	rep := p.in.rep
	if rep.None || rep.StateTable == "" || op == Set && rep.Forwards || op == Del && p.set != nil {
		return
	}
	d.report(stateRow{
		table: rep.StateTable, key: rep.Key(p.key), by: rep.By, field: rep.Words.withDefaults().Field,
		status: status, reason: reason, del: op == Del, leaving: p.del != nil,
	})
}
