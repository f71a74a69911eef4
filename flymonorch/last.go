package flymonorch

import (
	"context"
	"errors"

	"tamtam/tam/flymon"
)

// readLast reports the counts of a task at a place that it has left, or is about to leave. It reports the current epoch
// so far, and the previous epoch if that was not read. behind is the number of units before the units of this place:
// frozen units follow the units of the current layout.
func (rd *reader) readLast(ctx context.Context, t *task, old *deployment, behind int, frozen bool) {
	if !old.known {
		return
	}
	r := rd.round(ctx)
	defer r.close()
	at, list, err := rd.look(r, []*task{t})
	if err == nil && list[0] == nil {
		err = errors.New("the switch does not have the task")
	}
	if err != nil {
		rd.log.Error("what the task counted before it was changed is not read", "task", t.Name, "err", err)
		return
	}
	if at.steps != old.at.steps && old.row.Epoch == 0 {
		old.timesDiffer()
	}
	banks := list[0].Banks
	if frozen {
		banks = list[0].Frozen
	}
	for _, e := range old.open(banks, at.now) {
		got, err := rd.readUnits(r, t, &old.placed, behind, &e)
		if err != nil {
			rd.log.Error("what the task counted before it was changed is not read", "task", t.Name, "err", err)
			return
		}
		if old.row.Live {
			old.sweep.since(got, old.row.Attribute.Kind)
		}
		rd.report(t, old, e, got)
	}
}

// open returns the epochs with unread data in the banks, the older first.
func (d *deployment) open(banks [2]flymon.ChipBank, now uint64) []epoch {
	every := uint64(d.row.Epoch)
	whole := epoch{bank: banks[0], start: d.began, end: now, flags: d.flags | flymon.FlagPartial}
	switch {
	case every == 0:
		return []epoch{whole}
	case d.row.Live:
		whole.number, whole.start, whole.flags = now/every, d.sweep.began, whole.flags|flymon.FlagLive
		whole.bank = d.sweep.newIn(whole.bank)
		return []epoch{whole}
	}
	var list []epoch
	cur := now / every
	for n := max(d.next, max(cur, 1)-1); n <= cur; n++ {
		e := epoch{
			number: n, which: int(n % 2), bank: banks[n%2],
			start: max(d.began, n*every), end: min((n+1)*every, now), flags: d.flags,
		}
		if n == cur {
			e.flags |= flymon.FlagPartial
		}
		if e.bank.Of(n) {
			list = append(list, e)
		}
	}
	return list
}

// catchUp reads a task's last epoch, if it is over and was not read.
func (rd *reader) catchUp(ctx context.Context, t *task) {
	if t.InASIC.row.Epoch == 0 || t.InASIC.row.Live || !t.InASIC.known {
		return
	}
	r := rd.round(ctx)
	if _, err := rd.readTasks(r, rd.classes[t.InASIC.row.Epoch], []*task{t}); err != nil {
		rd.log.Error("a task of FlyMon is not read", "err", err)
	}
	r.close()
}
