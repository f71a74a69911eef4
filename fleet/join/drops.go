package join

import (
	"math"

	"tamtam/collector/result"
	"tamtam/fleet/event"
)

// drops counts reports of drops by place, reason, rule and flow.
type drops struct {
	windows *windows
	open    map[window]*dropWindow
	read    []event.Drop
}

type dropWindow struct {
	rows map[event.Drop]int // keyed by all fields except Packets and Since
	list []result.Drop
}

func newDrops(w *windows) *drops { return &drops{windows: w, open: map[window]*dropWindow{}} }

func (d *drops) addBatch(r *event.Reader, w *windows) error {
	blobs, err := r.Blobs()
	if err != nil {
		return err
	}
	d.read = d.read[:0]
	for _, b := range blobs {
		drop, err := event.ReadDrop(b)
		if err != nil {
			return err
		}
		d.read = append(d.read, drop)
	}
	for i, b := range blobs {
		d.add(b.Time, d.read[i], w)
	}
	return nil
}

func (d *drops) add(time int64, drop event.Drop, w *windows) {
	o := w.of(time)
	if o == nil {
		return
	}
	dw := d.open[o.window]
	if dw == nil {
		dw = &dropWindow{rows: map[event.Drop]int{}}
		d.open[o.window] = dw
	}
	packets, since := drop.Packets, time
	if drop.Since > 0 {
		since = min(since, drop.Since)
	}
	drop.Packets, drop.Since = 0, 0
	at, ok := dw.rows[drop]
	if !ok {
		if !w.room(o, 1) {
			return
		}
		at = len(dw.list)
		dw.rows[drop] = at
		dw.list = append(dw.list, result.Drop{
			Window: w.span(o.window), Switch: drop.Switch, Port: drop.Port, Queue: drop.Queue, Reason: drop.Reason,
			Rule: drop.Rule, Flow: drop.Flow, Source: drop.Source, First: since, Last: time,
		})
		if drop.Unsynchronised {
			dw.list[at].Flags = result.Unsynchronised
		}
	}
	row := &dw.list[at]
	if packets >= math.MaxInt64-row.Packets {
		o.flags |= result.Overflow
		packets = math.MaxInt64 - row.Packets
	}
	row.Packets += packets
	row.First, row.Last = min(row.First, since), max(row.Last, time)
}

func (d *drops) close(w window, flags result.Flags, b *result.Batch) {
	dw := d.open[w]
	if dw == nil {
		return
	}
	delete(d.open, w)
	for _, row := range dw.list {
		row.Flags |= flags
		b.Drops = append(b.Drops, row)
	}
}
