package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tamtam/fleet/stream"
)

// Claim implements stream.Log.
func (l *Log) Claim(ctx context.Context, name string) (stream.Work, error) {
	t, err := l.topic(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := t.used(sharedOut); err != nil {
		return nil, err
	}
	consumer, err := l.consumer(ctx, t)
	if err != nil {
		return nil, l.failed(name, "not shared out", err)
	}
	for {
		var w *work
		err := l.try(ctx, func(ctx context.Context) (err error) {
			if w, err = l.pull(ctx, t, consumer); err != nil {
				if _, failed := l.renew(ctx, t, 0, err); failed != nil {
					return failed
				}
			}
			return err
		})
		if err != nil {
			return nil, l.failed(name, "nothing taken", err)
		}
		// If the delivery was slow, another worker may have the message by now.
		if w != nil && w.Hold(ctx) == nil {
			return w, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func (l *Log) consumer(ctx context.Context, t *topic) (jetstream.Consumer, error) {
	t.mu.Lock()
	known := t.work
	t.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var made jetstream.Consumer
	err := l.try(ctx, func(ctx context.Context) (err error) {
		made, err = t.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: "work", AckPolicy: jetstream.AckExplicitPolicy, AckWait: l.o.HoldTime, MaxAckPending: -1,
		})
		return err
	})
	t.mu.Lock()
	t.work = made
	t.mu.Unlock()
	return made, err
}

// pull waits a while for a message. It returns nil if there is none.
func (l *Log) pull(ctx context.Context, t *topic, consumer jetstream.Consumer) (*work, error) {
	asked := time.Now()
	// Most of the hold time must be left when a message comes at the last moment.
	ctx, cancel := context.WithTimeout(ctx, min(oneTry, l.o.HoldTime)/4)
	defer cancel()
	got, err := consumer.Fetch(1, jetstream.FetchContext(ctx))
	if err != nil {
		return nil, err
	}
	for m := range got.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		return &work{
			log: l, topic: t, reply: m.Reply(), held: asked,
			entry: stream.Entry{Seq: meta.Sequence.Stream, Data: m.Data()},
		}, nil
	}
	if err := got.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return nil, nil
}

// work is a message that a consumer has delivered. The server gives it to another worker HoldTime after the last
// message about it, and does not distinguish replies of the old and the new holder. So a late holder sends nothing.
type work struct {
	log   *Log
	topic *topic
	reply string
	entry stream.Entry
	held  time.Time // it is held at least from then on
	ended bool
}

// JetStream's acknowledgements.
const (
	ackDone     = "+ACK"
	ackReturn   = "-NAK"
	ackProgress = "+WPI"
)

func (w *work) Entry() stream.Entry { return w.entry }

func (w *work) Hold(ctx context.Context) error {
	now := time.Now()
	if err := w.say(ctx, ackProgress); err != nil {
		return err
	}
	w.held = now
	return nil
}

func (w *work) Return(ctx context.Context) error {
	err := w.say(ctx, ackReturn)
	w.ended = w.ended || err == nil
	return err
}

func (w *work) Done(ctx context.Context) error {
	if err := w.say(ctx, ackDone); err != nil {
		return err
	}
	w.ended = true
	// The message still takes space. If the deletion fails, the work is nevertheless not given again.
	err := w.topic.stream.DeleteMsg(ctx, w.entry.Seq)
	if err != nil {
		w.log.o.Logger.Warn("work that is done still takes room in the log", "topic", w.topic.name, "message", w.entry.Seq,
			"url", w.log.where, "error", err)
	}
	return nil
}

// say sends an acknowledgement to the server, and waits for the confirmation, as long as the message is surely held.
func (w *work) say(ctx context.Context, what string) error {
	if w.ended {
		return stream.ErrLost
	}
	until, cancel := context.WithDeadline(ctx, w.held.Add(w.log.o.HoldTime))
	defer cancel()
	if until.Err() != nil && ctx.Err() == nil {
		return stream.ErrLost
	}
	err := w.log.try(until, func(ctx context.Context) error {
		_, err := w.log.conn.RequestWithContext(ctx, w.reply, []byte(what))
		return err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && until.Err() != nil:
		return stream.ErrLost
	}
	return w.log.failed(w.topic.name, "work", err)
}
