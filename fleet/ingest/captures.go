package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tamtam/collector/capture"
)

// flushEvery is the number of frames after which all buffered events are sent, so that windows close while a capture is
// read.
const flushEvery = 1 << 13

type reading struct {
	path string
	in   *capture.Reader
	next capture.Packet
}

// ReadCaptures feeds a tap with the frames of captures in order of time, so that simultaneous captures at several
// places are one source. Each is read to its end, or to where it is damaged: the error contains the place. From there
// to the end of the others, events are then flagged as missing.
//
// The batches depend only on the captures and on the options of the senders, not on a clock. A reader that is killed
// and started again sends the same batches under the same numbers, and the log's readers skip the ones that they have.
func ReadCaptures(ctx context.Context, t *Tap, paths ...string) (err error) {
	open, err := openCaptures(paths)
	defer func() {
		for _, r := range open {
			r.in.Close()
		}
	}()
	if err != nil {
		return err
	}
	left := make([]*reading, 0, len(open))
	for _, r := range open {
		more, failed := r.step(t)
		if err = errors.Join(err, failed); more {
			left = append(left, r)
		}
	}
	for n := 1; len(left) > 0 && ctx.Err() == nil; n++ {
		first := earliest(left)
		r := left[first]
		if err != nil { // an error of a damaged capture
			t.suspect(r.next.Time)
		}
		failed := t.Frame(ctx, r.next.Data, r.next.Len, r.next.Time)
		if failed == nil && n%flushEvery == 0 {
			failed = t.flush(ctx)
		}
		if failed != nil {
			return errors.Join(err, failed)
		}
		more, failed := r.step(t)
		if err = errors.Join(err, failed); !more {
			left = append(left[:first], left[first+1:]...)
		}
	}
	if ctx.Err() == nil {
		err = errors.Join(err, t.End(ctx))
	}
	return errors.Join(err, ctx.Err())
}

// openCaptures opens all captures. On error it returns those before the failed one.
func openCaptures(paths []string) (open []*reading, err error) {
	for _, path := range paths {
		in, err := capture.Open(path)
		if err != nil {
			return open, err
		}
		open = append(open, &reading{path: path, in: in})
	}
	return open, nil
}

func earliest(list []*reading) (first int) {
	for i, r := range list {
		if r.next.Time.Before(list[first].next.Time) {
			first = i
		}
	}
	return first
}

// step reads the next frame. more is false if there is none.
func (r *reading) step(t *Tap) (more bool, err error) {
	last := r.next.Time
	r.next, err = r.in.NextTimed()
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err == nil && t.Ahead > 0 && r.next.Time.After(t.now().Add(t.Ahead)):
		err = fmt.Errorf("%s: a frame of %s: want none from more than %v after now", r.path, r.next.Time.UTC(), t.Ahead)
	}
	if err != nil {
		t.lose(1, last)
		return false, err
	}
	return true, nil
}
