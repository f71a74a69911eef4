package ingest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tamtam/fleet/dial"
	"tamtam/fleet/event"
)

// A Sketching reads the answers of the sketch tasks of one target. As for a [Marking], the watermark does not advance
// while the target cannot be read.
type Sketching struct {
	Switch string // name in rows
	Target string
	To     *Sender
	Report func(dial.SketchEvent) // called for connection changes and unreadable answers; may be nil
}

// Read reads the target until ctx ends, and then returns nil. If there are several targets, announce all senders before
// reading the first.
func (k *Sketching) Read(ctx context.Context, o dial.Options) error {
	r := &sketchingReader{Sketching: k, reported: map[answerKey]int64{}}
	return watching(ctx, k.To, k.Target, r.apply, func(ctx context.Context, apply func(dial.SketchEvent)) error {
		return dial.WatchSketches(ctx, k.Target, o, apply)
	})
}

type sketchingReader struct {
	*Sketching
	reported map[answerKey]int64 // end of the epoch of the last answer that was sent
}

type answerKey struct{ task, key string }

// maxAnswers is the number of answers that are remembered, so that none is sent twice.
const maxAnswers = 1 << 14

// answersApart is the maximum time by which the epoch of an answer may end before that of an earlier answer, in
// addition to the length of its epoch.
const answersApart = 2 * time.Second

func (r *sketchingReader) apply(ctx context.Context, e dial.SketchEvent) error {
	switch e.Kind {
	case dial.Answered:
		return r.answer(ctx, e.Answer)
	case dial.Synced:
		r.To.Hold(false)
	case dial.Lost:
		r.To.Hold(true)
	case dial.Bad:
		r.To.Lose(1, r.To.options.Now())
	}
	if r.Report != nil {
		r.Report(e)
	}
	return nil
}

// longestEpoch is the maximum length of an epoch. A longer one would hold the windows of all others.
const longestEpoch = time.Hour

// checkEpoch returns an error if the epoch of an answer is invalid, or by a clock that is far from this host's.
func checkEpoch(a *dial.Answer, now time.Time) error {
	length, apart := time.Duration(a.End-a.Start), time.Unix(0, a.End).Sub(now)
	if length < 0 || length > longestEpoch {
		return fmt.Errorf("task %s: its epoch %d is from %d to %d, by the switch's clock: want 0 to %v", a.Task, a.Epoch,
			a.Start, a.End, longestEpoch)
	}
	if apart.Abs() > wrongClock+2*length {
		return fmt.Errorf("task %s: its epoch %d ended %v from this host's time, by the switch's clock: want less than %v",
			a.Task, a.Epoch, apart.Round(time.Second), wrongClock)
	}
	return nil
}

func (r *sketchingReader) answer(ctx context.Context, a dial.Answer) error {
	key := answerKey{a.Task, a.Key}
	if r.reported[key] == a.End { // the answer came from another query, or before the connection was lost
		return nil
	}
	if err := checkEpoch(&a, r.To.options.Now()); err != nil {
		r.To.Lose(1, r.To.options.Now())
		if r.Report != nil {
			r.Report(dial.SketchEvent{Target: r.Target, Kind: dial.Bad, Err: err})
		}
		return nil
	}
	if len(r.reported) == maxAnswers {
		clear(r.reported)
	}
	r.reported[key] = a.End
	r.To.Disorder(max(answersApart+2*time.Duration(a.End-a.Start), r.To.disorder()))
	return r.To.Sketch(ctx, a.End, &event.Sketch{Start: a.Start, Switch: r.Switch, Task: a.Task, Key: a.Key,
		Estimate: a.Estimate, Low: a.Lower, High: a.Upper, Flags: strings.Join(a.Flags, ", ")})
}
