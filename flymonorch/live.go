package flymonorch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tamtam/swss"
	"tamtam/tam/flymon"
)

// wordTime is the assumed time for reading a register. A CMU of 65536 buckets then needs 33 ms. A switch's driver reads
// by DMA or over PCIe, and the papers do not state its time.
const wordTime = 500 * time.Nanosecond

// A sweep reads a task while it counts. Parts of the registers are read one after the other, at the pace of wordTime.
// Each is cleared when it has arrived, and packets counted in between are lost. So the rows of one sketch are of
// different times, and each lacks some packets. Two banks avoid this error.
type sweep struct {
	due   time.Time // time of the next sweep by the daemon's clock; zero means immediately
	began uint64    // end of the previous sweep in ns since 1970
	on    bool      // true while parts are being read
	unit  int
	from  uint32
	clear part       // part that was read and must be cleared; count 0 means none
	words [][]uint32 // registers read so far, by unit

	packets, bytes, lost, digestsLost uint64                   // counts at the end of the previous sweep
	exact                             map[flymon.Vector]uint64 // the oracle's values of the requested flows
}

// sweepDue continues the sweeps that are due.
func (rd *reader) sweepDue(ctx context.Context, now time.Time) error {
	var errs []error
	for _, t := range slices.SortedFunc(maps.Values(rd.sweeps), (*task).Compare) {
		if s := &t.InASIC.sweep; s.due.IsZero() || !now.Before(s.due) {
			errs = append(errs, rd.sweepOn(ctx, now, t))
		}
	}
	return errors.Join(errs...)
}

// sweepOn does the next step of a sweep.
func (rd *reader) sweepOn(ctx context.Context, now time.Time, t *task) error {
	r := rd.round(ctx)
	err := rd.sweepStep(r, now, t)
	r.close()
	if err == nil || errors.Is(err, swss.ErrUnavailable) {
		return err
	}
	rd.wasRead(ctx, fmt.Errorf("a sweep was given up: %w", err), t)
	s := &t.InASIC.sweep
	if s.on && s.unit+int(s.from) > 0 { // the next sweep lacks what the registers had that were cleared
		t.InASIC.flags |= flymon.FlagPartial
	}
	s.on, s.due = false, now.Add(max(t.InASIC.row.Epoch/4, registerDelay))
	return nil
}

func (rd *reader) sweepStep(r *round, now time.Time, t *task) error {
	d := t.InASIC
	s := &d.sweep
	if !d.known || !s.on && rd.chipNow() < d.next*uint64(d.row.Epoch) {
		return rd.sweepWait(r, t)
	}
	units := d.placed.Layout.Units
	if !s.on {
		s.on, s.unit, s.from, s.clear, s.words = true, 0, 0, part{}, make([][]uint32, len(units))
	}
	if s.clear.count > 0 {
		if err := r.clearPart(s.clear); err != nil {
			return err
		}
		s.clear = part{}
	}
	if s.unit == len(units) {
		return rd.sweepDone(r, t)
	}
	p := part{task: t.Name, unit: s.unit, from: s.from, count: min(units[s.unit].Size-s.from, flymon.MaxChipWords)}
	words, err := r.words(p)
	if err != nil {
		return err
	}
	s.words[s.unit] = append(s.words[s.unit], words...)
	if s.from += p.count; s.from == units[s.unit].Size {
		s.unit, s.from = s.unit+1, 0
	}
	s.clear, s.due = p, now.Add(time.Duration(p.count)*wordTime)
	return nil
}

// sweepWait schedules the sweep for the end of the epoch. d.next is the epoch that begins then. If the chip has begun
// to count again, the task's measurement begins again, too.
func (rd *reader) sweepWait(r *round, t *task) error {
	d := t.InASIC
	at, list, err := rd.look(r, []*task{t})
	if err != nil {
		return err
	}
	st := list[0]
	if st == nil {
		return errors.New("the switch does not have the task")
	}
	every := uint64(d.row.Epoch)
	if !d.counts(at, st) {
		if d.found || d.known { // the content of the parts that were read is unknown
			if at, st, err = rd.beginAgain(r, t); err != nil {
				return err
			}
		}
		d.generation = st.Generation
		b := st.Banks[0]
		d.known, d.flags = true, d.flags|flymon.FlagFirst
		d.sweep = sweep{
			began: max(d.began, at.now), packets: b.Packets, bytes: b.Bytes, lost: b.Lost, digestsLost: b.DigestsLost,
		}
	}
	if at.steps != d.at.steps {
		d.flags |= flymon.FlagClockStep
	}
	d.at, d.next = at, at.now/every+1
	d.sweep.due = rd.aim(d.row.Epoch, at)
	return nil
}

// sweepDone computes the answers of a sweep that has read all registers.
func (rd *reader) sweepDone(r *round, t *task) error {
	d := t.InASIC
	s := &d.sweep
	at, list, err := rd.look(r, []*task{t})
	if err != nil {
		return err
	}
	st := list[0]
	if st == nil {
		return errors.New("the switch does not have the task")
	}
	now := st.Banks[0]
	e := epoch{number: d.next - 1, start: s.began, end: at.now, flags: d.flags | flymon.FlagLive, bank: s.newIn(now)}
	got := &readout{registers: s.words}
	if d.placed.Layout.Digest != nil {
		if got.digests, err = r.digests(t.Name, 0, rd.geo.Digests); err != nil {
			return err
		}
	}
	if err := rd.read(r, t, &d.placed, true, got, &e); err != nil {
		return err
	}
	s.since(got, d.row.Attribute.Kind)
	s.began, s.packets, s.bytes, s.lost, s.digestsLost = at.now, now.Packets, now.Bytes, now.Lost, now.DigestsLost
	s.on, s.words, d.flags = false, nil, 0
	d.next = at.now/uint64(d.row.Epoch) + 1 // the epoch is answered, even if the wait for the next one fails
	rd.report(t, d, e, got)
	rd.wasRead(r.ctx, nil, t)
	return rd.sweepWait(r, t)
}

// newIn returns the counts of a bank since the previous sweep. The bank counts from the begin of the task.
func (s *sweep) newIn(b flymon.ChipBank) flymon.ChipBank {
	b.Packets, b.Bytes = b.Packets-s.packets, b.Bytes-s.bytes
	b.Lost, b.DigestsLost = b.Lost-s.lost, b.DigestsLost-s.digestsLost
	return b
}

// since subtracts the oracle's values at the end of the previous sweep, because the oracle counts from the begin. A
// flow that was not requested at that time has no value. Only packets and bytes can be subtracted, not maxima or
// distinct elements.
func (s *sweep) since(got *readout, kind flymon.Kind) {
	last := s.exact
	s.exact, got.truth = got.exact, nil
	got.exact = map[flymon.Vector]uint64{}
	if kind != flymon.Packets && kind != flymon.Bytes {
		return
	}
	for v, n := range s.exact {
		if before, ok := last[v]; ok && n >= before {
			got.exact[v] = n - before
		}
	}
}
