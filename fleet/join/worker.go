package join

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/stream"
)

// A Worker joins one partition of the log into a store, until its context ends.
type Worker struct {
	Log     stream.Log
	Store   result.Store
	Options Options
	Logger  *slog.Logger     // nil means slog.Default
	Now     func() time.Time // nil means time.Now
	// Lost is called for messages that the log lost; it may be nil.
	Lost func(Lost)
	// Idle is the interval between checks for silent sources while no messages arrive; 0 means one second.
	Idle time.Duration
}

// While the store is unavailable, the worker retries after a pause, which doubles each time up to the longest.
const (
	firstPause   = time.Second
	longestPause = 16 * time.Second
)

// readAtOnce is the maximum number of messages that are read together: 4 MiB at most.
const readAtOnce = 64

// Run joins a partition: the messages of the topic of its name. It ends with ctx, without an error, or when the log or
// the store fail. While the store is unavailable, it waits, and reads and acknowledges nothing. Two concurrent workers
// do no harm: the store keeps the batch of one, and the other continues after it.
func (w *Worker) Run(ctx context.Context, partition string) error {
	for {
		err := w.join(ctx, partition)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errOvertaken):
			w.logger().Info("another worker was faster: going on behind it", "partition", partition)
		case err != nil:
			return fmt.Errorf("partition %s: %w", partition, err)
		}
	}
}

// errOvertaken means that another worker's batch contains messages of this one.
var errOvertaken = errors.New("another worker has made this batch")

func (w *Worker) join(ctx context.Context, name string) error {
	var at result.Position
	err := w.patiently(ctx, func() (err error) {
		at, err = w.Store.Last(ctx, name)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.reach(ctx, name, at.Last); err != nil {
		return err
	}
	p := New(name, w.Options, at, w.now())
	for {
		idle, err := w.read(ctx, p)
		if err != nil {
			return err
		}
		began := w.now()
		if b := p.Cut(began, idle); b != nil {
			if err := w.keep(ctx, b); err != nil {
				return err
			}
			p.Busy(w.now().Sub(began))
		}
	}
}

// patiently retries an operation of the store until it succeeds, fails permanently, or ctx ends.
func (w *Worker) patiently(ctx context.Context, do func() error) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := do()
		if !errors.Is(err, result.ErrAway) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// read feeds available messages to the partition. idle reports that none arrived for a while.
func (w *Worker) read(ctx context.Context, p *Partition) (idle bool, err error) {
	wait, cancel := context.WithTimeout(ctx, w.idle())
	defer cancel()
	entries, err := w.Log.Read(wait, p.name, p.Next(), readAtOnce)
	var gone *stream.Gone
	switch {
	case errors.As(err, &gone):
		w.skip(p, gone)
		return false, nil
	case errors.Is(err, stream.ErrAway) && ctx.Err() == nil:
		p.Deaf(w.now())
		return false, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return true, nil
	case err != nil:
		return false, err
	}
	for _, e := range entries {
		if err := p.Consume(e.Seq, e.Data, w.now()); err != nil {
			w.logger().Warn("a message is left out", "reason", err)
		}
	}
	return false, nil
}

// skip continues after messages that the log no longer has, and reports the loss.
func (w *Worker) skip(p *Partition, gone *stream.Gone) {
	why := "the log no longer has messages that were not joined: their content is lost"
	last := gone.First - 1
	switch {
	case gone.Damaged:
		why = "the log is damaged: messages that were not joined cannot be read, and their content is lost"
	case gone.Deleted: // at least one message; the number is unknown
		why, last = "the log was deleted: messages that were not joined are lost, and it is not known how many", gone.Seq
	}
	in := p.Skip(gone.First)
	w.logger().Error(why, "partition", p.name, "from", gone.Seq, "to", last, "flagged_from",
		time.Unix(0, in.From).UTC(), "flag", "gap")
	if w.Lost != nil {
		w.Lost(Lost{Partition: p.name, First: gone.Seq, Last: last, Damaged: gone.Damaged, Deleted: gone.Deleted,
			At: w.now(), From: time.Unix(0, in.From)})
	}
}

// A Lost describes messages of a partition that the log lost before they were joined.
type Lost struct {
	Partition   string
	First, Last uint64
	Damaged     bool // true if the log's files are damaged; if neither is set, the messages were too old
	Deleted     bool // true if the topic was deleted: more than these messages may be lost
	At          time.Time
	From        time.Time // rows from then on are flagged: they may lack the events of the messages
}

// reach makes sure that the log continues after the joined messages. A log that lost its end would reuse the sequences
// of joined messages for new ones, and the worker would skip those.
func (w *Worker) reach(ctx context.Context, name string, last uint64) error {
	l, ok := w.Log.(interface {
		Reach(ctx context.Context, topic string, last uint64) (lost bool, err error)
	})
	if !ok || last == 0 {
		return nil
	}
	lost, err := l.Reach(ctx, name, last)
	if lost {
		w.logger().Error("the log is damaged: it ended before what was joined, and goes on behind it", "partition", name,
			"message", last+1)
	}
	return err
}

func (w *Worker) keep(ctx context.Context, b *result.Batch) error {
	var kept bool
	err := w.patiently(ctx, func() (err error) {
		kept, err = w.Store.Put(ctx, b)
		return err
	})
	if err != nil {
		return err
	}
	if !kept {
		return errOvertaken
	}
	if b.Low == 1 {
		return nil
	}
	return w.Log.Acknowledge(ctx, b.Partition, b.Low-1)
}

func (w *Worker) now() time.Time {
	if w.Now != nil {
		return w.Now()
	}
	return time.Now()
}

func (w *Worker) idle() time.Duration {
	if w.Idle > 0 {
		return w.Idle
	}
	return time.Second
}

func (w *Worker) logger() *slog.Logger {
	if w.Logger != nil {
		return w.Logger
	}
	return slog.Default()
}
