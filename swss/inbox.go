package swss

import (
	"context"
	"fmt"
	"time"
)

// An Inbox is the receiving end of a queue, at which one goroutine at a time waits for answers to its requests. It
// reports when the connection broke during the wait, because the answer may then be lost.
type Inbox struct {
	flag
	queue *Queue
	l     *Listener
}

// NewInbox returns the inbox of a queue, with its own connection.
func NewInbox(q *Queue) *Inbox {
	in := &Inbox{queue: q, l: NewListener(q.db.redis)}
	in.stale()
	in.l.add(subscription{name: q.Channel()}, in)
	return in
}

// Close ends the connection.
func (in *Inbox) Close() error { return in.l.Close() }

// Open makes sure that entries queued from now on are noticed. It connects if needed, and dequeues the entries that
// are already there.
func (in *Inbox) Open(ctx context.Context) ([]Entry, error) {
	if err := in.l.up(ctx); err != nil {
		return nil, err
	}
	if in.isStale() {
		if err := in.l.Sync(ctx); err != nil {
			return nil, err
		}
	}
	if work, _ := in.drain(); !work {
		return nil, nil
	}
	return in.queue.Pop(ctx)
}

// lookAnyway is the interval at which Wait checks the queue without a message. It bounds the delay of an entry whose
// message was lost.
const lookAnyway = time.Second

// Look dequeues the available entries, even if no message announced them.
func (in *Inbox) Look(ctx context.Context) ([]Entry, error) { return in.queue.Pop(ctx) }

// Wait waits for entries and dequeues them. If none arrives within the time patience, it returns none. It fails with
// [ErrUnavailable] when the connection was lost since Open, and when ctx ends.
func (in *Inbox) Wait(ctx context.Context, patience time.Duration) ([]Entry, error) {
	look := time.NewTimer(lookAnyway)
	defer look.Stop()
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for {
		down := in.l.down()
		work, broken := in.drain()
		if down || broken {
			in.stale()
			return nil, in.queue.db.wrap(fmt.Errorf("%w: the connection was lost", ErrUnavailable), "wait for", in.queue.table)
		}
		if work {
			if entries, err := in.queue.Pop(ctx); err != nil || len(entries) > 0 {
				return entries, err
			}
		}
		select {
		case <-in.l.Ready():
		case <-look.C:
			in.message("", "")
			look.Reset(lookAnyway)
		case <-enough.C:
			return nil, nil
		case <-ctx.Done():
			return nil, in.queue.db.wrap(ctx.Err(), "wait for", in.queue.table)
		}
	}
}
