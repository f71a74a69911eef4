package join

import (
	"cmp"
	"slices"

	"tamtam/collector/result"
)

// window is an interval of event time. late marks the rows that follow earlier rows of the same interval.
type window struct {
	start int64
	late  bool
}

// windows holds the windows of a partition that have rows.
type windows struct {
	length int64
	most   int // maximum number of rows
	rows   int
	open   map[window]*openWindow
	gaps   []result.Amend
	amends []result.Amend // gaps that affect rows made before
	// The rows of a joiner may depend on events that are this much earlier than their windows, or later.
	back, ahead int64
	// The following fields describe the current message.
	closed int64 // windows that end by this time are closed
	again  bool  // true if its rows of closed windows are in batches already
	until  int64 // end of the last window of its events
	late   int64 // number of events that arrived late
	// leftOut is the number of events that cannot be joined.
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

// start returns the beginning of the window of a time, which must not be below 0.
func (w *windows) start(t int64) int64 { return t - t%w.length }

func (w *windows) after(t int64) int64 { return w.start(t) + w.length }

// of returns the window of an event. It returns nil if its row is in a batch already, or if too many windows are open.
// If the window length has changed, the parts of a window that were closed and open at that time have their own rows,
// which add up.
func (w *windows) of(t int64) *openWindow {
	key := window{w.start(t), t < w.closed}
	if key.late {
		if w.again {
			return nil
		}
		w.late++
	}
	o := w.open[key]
	if o == nil {
		if len(w.open) >= w.most { // a window needs memory even if none of its rows fits
			w.leftOut++
			w.gap(t, t, result.Overflow)
			return nil
		}
		o = &openWindow{window: key}
		if key.start < w.closed {
			o.flags = result.Late
		}
		w.open[key] = o
	}
	w.until = max(w.until, key.start+w.length)
	return o
}

// room reserves a number of rows in a window for an event. It returns false if the capacity is exhausted: it then flags
// the window's rows, and counts the event as left out.
func (w *windows) room(o *openWindow, rows int) bool {
	if w.rows+rows > w.most {
		o.flags |= result.Overflow
		w.leftOut++
		return false
	}
	w.rows += rows
	o.rows += rows
	return true
}

// maxGaps is the maximum number of gaps; further ones are merged.
const maxGaps = 64

// gap notes that events between two times may be missing, for a reason.
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

// gapFlags returns the flags of the gaps between two times, both included.
func (w *windows) gapFlags(from, to int64) (flags result.Flags) {
	for _, g := range w.gaps {
		if g.From <= to && g.To >= from {
			flags |= g.Flags
		}
	}
	return flags
}

// between returns the gaps between from and closed, clipped to that interval.
func (w *windows) between(from, closed int64) (in []result.Amend) {
	for _, g := range w.gaps {
		if from < closed && g.From < closed && g.To >= from {
			in = append(in, result.Amend{From: max(g.From, from), To: min(g.To, closed-1), Flags: g.Flags})
		}
	}
	return in
}

// hold keeps the current message until a time, for events that have no window. late reports that others of its time are
// closed.
func (w *windows) hold(t, until int64) (late bool) {
	w.until = max(w.until, until)
	if late = t < w.closed; late && !w.again {
		w.late++
	}
	return late
}

// due returns the windows that end by a time, and those whose rows arrive late. They are in order of time, each with
// the flags of all its rows. Call it once for each window.
func (w *windows) due(closed int64) []*openWindow {
	var due []*openWindow
	for _, o := range w.open {
		if end := o.start + w.length; end > closed && !o.late {
			continue
		}
		if o.flags&result.Overflow != 0 { // a window may have no row, as all were left out
			w.amends = append(w.amends, result.Amend{From: o.start, To: o.start + w.length - 1, Flags: result.Overflow})
		}
		o.flags |= w.gapFlags(o.start, o.start+w.length-1)
		due = append(due, o)
	}
	slices.SortFunc(due, func(a, b *openWindow) int { return cmp.Compare(a.start, b.start) })
	return due
}

func (w *windows) remove(o *openWindow) {
	w.rows -= o.rows
	delete(w.open, o.window)
}

func (w *windows) forget(closed int64) {
	w.gaps = slices.DeleteFunc(w.gaps, func(g result.Amend) bool { return g.To < closed-w.back })
}

func (w *windows) span(of window) result.Window {
	return result.Window{Start: of.start, Length: w.length}
}
