package ingest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tamtam/fleet/dial"
	"tamtam/fleet/event"
)

// A Sketching is what the sketch tasks of one target answer. As of a [Marking], nothing is promised for a target that
// cannot be read.
type Sketching struct {
	Switch string // how rows name it
	Target string
	To     *Sender
	Tell   func(dial.SketchEvent) // what becomes of the connection, and what cannot be read; nil: nobody is told
}

// Read reads the target until ctx ends: then it returns nil. Announce its sender before any of several targets is read.
func (k *Sketching) Read(ctx context.Context, o dial.Options) error {
	r := &sketchingReader{Sketching: k, told: map[answerKey]int64{}}
	return watching(ctx, k.To, k.Target, r.take, func(ctx context.Context, take func(dial.SketchEvent)) error {
		return dial.WatchSketches(ctx, k.Target, o, take)
	})
}

type sketchingReader struct {
	*Sketching
	told map[answerKey]int64 // when the epoch ended of which an answer was sent last
}

type answerKey struct{ task, key string }

// maxAnswers is how many answers are remembered, so that none is sent twice.
const maxAnswers = 1 << 14

// answersApart is how much earlier the epoch of an answer may end than that of another that comes before it, beside the
// length of its epoch.
const answersApart = 2 * time.Second

func (r *sketchingReader) take(ctx context.Context, e dial.SketchEvent) error {
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
	if r.Tell != nil {
		r.Tell(e)
	}
	return nil
}

// longestEpoch is how long an epoch is at most. An answer of a longer one would hold the windows of all others.
const longestEpoch = time.Hour

// checkEpoch returns an error if the epoch of an answer cannot be, or is by a clock that is far from this host's.
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
	if r.told[key] == a.End { // by another query, or before the connection was lost
		return nil
	}
	if err := checkEpoch(&a, r.To.options.Now()); err != nil {
		r.To.Lose(1, r.To.options.Now())
		if r.Tell != nil {
			r.Tell(dial.SketchEvent{Target: r.Target, Kind: dial.Bad, Err: err})
		}
		return nil
	}
	if len(r.told) == maxAnswers {
		clear(r.told)
	}
	r.told[key] = a.End
	r.To.Disorder(max(answersApart+2*time.Duration(a.End-a.Start), r.To.disorder()))
	return r.To.Sketch(ctx, a.End, &event.Sketch{Switch: r.Switch, Task: a.Task, Key: a.Key, Estimate: a.Estimate,
		Low: a.Lower, High: a.Upper, Flags: strings.Join(a.Flags, ", ")})
}
