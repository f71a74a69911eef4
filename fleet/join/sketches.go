package join

import (
	"math"
	"strings"

	"tamtam/collector/result"
	"tamtam/fleet/event"
)

// sketches forwards answers of sketch tasks: each is a row in the batch of its window.
type sketches struct {
	open map[window][]result.Sketch
	read []event.Sketch
}

func newSketches() *sketches { return &sketches{open: map[window][]result.Sketch{}} }

func (s *sketches) addBatch(r *event.Reader, w *windows) error {
	blobs, err := r.Blobs()
	if err != nil {
		return err
	}
	s.read = s.read[:0]
	for _, b := range blobs {
		one, err := event.ReadSketch(b)
		if err != nil {
			return err
		}
		s.read = append(s.read, one)
	}
	for i, b := range blobs {
		if o := w.of(b.Time); o != nil && w.room(o, 1) {
			s.open[o.window] = append(s.open[o.window], sketchOf(b.Time, &s.read[i]))
		}
	}
	return nil
}

func sketchOf(time int64, s *event.Sketch) result.Sketch {
	row := result.Sketch{Start: s.Start, Time: time, Switch: s.Switch, Task: s.Task, Key: s.Key, Estimate: s.Estimate,
		Flags: s.Flags}
	if row.Bounded = s.Low != nil || s.High != nil; row.Bounded {
		row.Low, row.High = math.Inf(-1), math.Inf(1)
	}
	if s.Low != nil {
		row.Low = *s.Low
	}
	if s.High != nil {
		row.High = *s.High
	}
	return row
}

// leftOut is the flag of answers if others of their window were left out for lack of capacity.
const leftOut = "other answers were left out for room"

// close moves the rows of a window. An answer is complete by itself, whatever else is missing. So it has only one of
// the window's flags: others were left out for lack of capacity, which is reported nowhere else.
func (s *sketches) close(w window, flags result.Flags, b *result.Batch) {
	rows := s.open[w]
	delete(s.open, w)
	if flags&result.Overflow != 0 {
		for i := range rows {
			rows[i].Flags = strings.TrimPrefix(rows[i].Flags+", "+leftOut, ", ")
		}
	}
	b.Sketches = append(b.Sketches, rows...)
}
