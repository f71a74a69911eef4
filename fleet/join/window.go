package join

import (
	"cmp"
	"slices"

	"tamtam/collector/result"
)

// window is a stretch of event time; late says that its rows come behind others of the same time.
type window struct {
	start int64
	late  bool
}

// windows are those of a partition that have rows.
type windows struct {
	length int64
	most   int // rows
	rows   int
	open   map[window]*openWindow
	gaps   []result.Amend
	amends []result.Amend // what gaps say of rows that were made before
	// What a joiner says may depend on events that are so much earlier than those of its windows, or later.
	back, ahead int64
	// of the message at hand
	closed int64 // what ends by then is closed
	again  bool  // its rows of closed windows are in batches
	until  int64 // the end of the last window of its events
	late   int64 // events that came late
	// Events that cannot be joined.
	leftOut int64
}

type openWindow struct {
	window
	rows  int
	flags result.Flags
}

func (w *windows) begin(closed int64, again bool) {
	w.closed, w.again, w.until, w.late, w.leftOut = closed, again, 0, 0, 0
}

// start is the beginning of the window of a time, which is not below 0.
func (w *windows) start(t int64) int64 { return t - t%w.length }

// after is the end of the window of a time.
func (w *windows) after(t int64) int64 { return w.start(t) + w.length }

// of returns the window of an event; nil: its row is in a batch already. If windows were of another length before, what
// of a window was closed then and what was not have rows of their own, which add up.
func (w *windows) of(t int64) *openWindow {
	key := window{w.start(t), t < w.closed}
	if key.late {
		if w.again {
			return nil
		}
		w.late++
	}
	w.until = max(w.until, key.start+w.length)
	o := w.open[key]
	if o == nil {
		o = &openWindow{window: key}
		if key.start < w.closed {
			o.flags = result.Late
		}
		w.open[key] = o
	}
	return o
}

// room takes so many rows of a window; false: there is no room, which the window's rows say.
func (w *windows) room(o *openWindow, rows int) bool {
	if w.rows+rows > w.most {
		o.flags |= result.Overflow
		return false
	}
	w.rows += rows
	o.rows += rows
	return true
}

// maxGaps bounds what is kept of gaps; more become one.
const maxGaps = 64

// gap notes that events from a time may be missing, for a reason.
func (w *windows) gap(from, to int64, why result.Flags) {
	if from < w.closed {
		w.amends = append(w.amends, result.Amend{From: max(from-w.back, 0), To: min(to+w.ahead, w.closed-1), Flags: why})
	}
	for i := range w.gaps {
		if g := &w.gaps[i]; g.Flags == why && from <= g.To+1 && to >= g.From-1 {
			g.From, g.To = min(g.From, from), max(g.To, to)
			return
		}
	}
	if len(w.gaps) == maxGaps {
		last := &w.gaps[maxGaps-1]
		last.From, last.To, last.Flags = min(last.From, from), max(last.To, to), last.Flags|why
		return
	}
	w.gaps = append(w.gaps, result.Amend{From: from, To: to, Flags: why})
}

// doubted is what gaps say of a time, both ends included.
func (w *windows) doubted(from, to int64) (flags result.Flags) {
	for _, g := range w.gaps {
		if g.From <= to && g.To >= from {
			flags |= g.Flags
		}
	}
	return flags
}

// between are the gaps of a time that is closed, as far as they are in it.
func (w *windows) between(from, closed int64) (in []result.Amend) {
	for _, g := range w.gaps {
		if from < closed && g.From < closed && g.To >= from {
			in = append(in, result.Amend{From: max(g.From, from), To: min(g.To, closed-1), Flags: g.Flags})
		}
	}
	return in
}

// hold keeps the message at hand until a time, for what has no window; late: others of its time are closed.
func (w *windows) hold(t, until int64) (late bool) {
	w.until = max(w.until, until)
	if late = t < w.closed; late && !w.again {
		w.late++
	}
	return late
}

// due returns the windows that end by a time, and those whose rows come late, the first one first, with what is to be
// said of all their rows. It is to be called once for them.
func (w *windows) due(closed int64) []*openWindow {
	var due []*openWindow
	for _, o := range w.open {
		if end := o.start + w.length; end > closed && !o.late {
			continue
		}
		if o.flags&result.Overflow != 0 { // there may be no row of what was left out
			w.amends = append(w.amends, result.Amend{From: o.start, To: o.start + w.length - 1, Flags: result.Overflow})
		}
		o.flags |= w.doubted(o.start, o.start+w.length-1)
		due = append(due, o)
	}
	slices.SortFunc(due, func(a, b *openWindow) int { return cmp.Compare(a.start, b.start) })
	return due
}

func (w *windows) remove(o *openWindow) {
	w.rows -= o.rows
	delete(w.open, o.window)
}

// forget lets go of gaps that are behind.
func (w *windows) forget(closed int64) {
	w.gaps = slices.DeleteFunc(w.gaps, func(g result.Amend) bool { return g.To < closed-w.back })
}

// span is the window as rows have it.
func (w *windows) span(of window) result.Window {
	return result.Window{Start: of.start, Length: w.length}
}
