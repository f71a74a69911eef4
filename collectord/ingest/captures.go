package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"tamtam/collector/capture"
)

// reading is a capture that is being read.
type reading struct {
	path string
	in   *capture.Reader
	next capture.Packet
}

// ReadCaptures gives a tap the frames of captures in order of time, so that what was captured at several places at once
// is one source. Each is read to its end, or to where it is damaged: the error says where, and the tap is told that
// something is missing, from there to the end of the others.
func ReadCaptures(ctx context.Context, t *Tap, paths ...string) error {
	none := func() error { return nil }
	return stepping(ctx, none, t.senders(), func(ctx context.Context) error { return readCaptures(ctx, t, paths) })
}

func readCaptures(ctx context.Context, t *Tap, paths []string) (err error) {
	var open []*reading
	defer func() {
		for _, r := range open {
			r.in.Close()
		}
	}()
	for _, path := range paths {
		in, failed := capture.Open(path)
		if failed != nil {
			return failed
		}
		open = append(open, &reading{path: path, in: in})
	}
	left := make([]*reading, 0, len(open))
	for _, r := range open {
		more, failed := r.step(t)
		if err = errors.Join(err, failed); more {
			left = append(left, r)
		}
	}
	for len(left) > 0 && ctx.Err() == nil {
		first := 0
		for i, r := range left {
			if r.next.Time.Before(left[first].next.Time) {
				first = i
			}
		}
		r := left[first]
		if err != nil { // of one that is damaged
			t.doubt(r.next.Time)
		}
		if failed := t.Frame(ctx, r.next.Data, r.next.Len, r.next.Time); failed != nil {
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

// step reads the next frame; false: there is none.
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
