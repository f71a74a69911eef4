package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tamtam/fleet/stream"
)

// errDeleted is the error of a shared-out topic whose stream was deleted on the server by another client: its contents
// are unknown.
var errDeleted = errors.New("its stream was deleted on the server: start again")

// config returns the configuration of a topic's stream whose first message has the sequence first.
func (l *Log) config(name string, first uint64) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: "tamtam-" + name, Subjects: []string{subject(name)}, Replicas: l.o.Replicas, MaxBytes: l.o.MaxBytes,
		MaxAge: l.o.MaxAge, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage, AllowDirect: true,
		Duplicates: duplicates, FirstSeq: first,
	}
	if l.o.MaxAge > 0 {
		c.Duplicates = min(duplicates, l.o.MaxAge)
	}
	return c
}

// renew creates the stream of a topic again if it was deleted on the server, and reports whether it did. err is the
// error of another request. renew checks the stream only if err means that no server serves it. The sequences of the
// new stream begin far after all that this process has seen of the old one, and after next. They also follow those of
// streams that other processes created before. So no reader has reached them yet, and each reader detects that messages
// are gone.
func (l *Log) renew(ctx context.Context, t *topic, next uint64, err error) (renewed bool, _ error) {
	if !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, jetstream.ErrNoStreamResponse) &&
		!errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if _, err := l.js.Stream(ctx, "tamtam-"+t.name); !errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, err
	}
	t.mu.Lock()
	first := max(generation(max(t.first, t.appended, next)+generations), generationAt(time.Now()))
	shared := t.use == sharedOut
	t.mu.Unlock()
	if shared {
		return false, errDeleted
	}
	l.o.Logger.Error("a stream of the log was deleted on the server by another client: messages that were not joined are "+
		"lost; it is created again", "topic", t.name, "url", l.where, "message", first)
	_, err = l.js.CreateStream(ctx, l.config(t.name, first))
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // otherwise another process was faster
		return false, fmt.Errorf("its stream was deleted on the server, and cannot be made again: %w", err)
	}
	return true, nil
}

// generations is the minimum distance between the first sequences of a stream and of its replacement: more messages
// than a stream ever has.
const generations = 1 << 32

// generation returns the first sequence of the stream that contains a sequence. It returns 0 if the stream is not a
// replacement.
func generation(seq uint64) uint64 { return seq - seq%generations }

// generationAt returns the first sequence of a stream that is created again at a time, from 2026 to 2034. Each eighth
// of a second has its own sequence. So a process that is not aware of an earlier replacement chooses a later one.
func generationAt(t time.Time) uint64 {
	since := t.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) / (time.Second / 8)
	return uint64(min(max(since, 0), 1<<31)) * generations
}

// gone returns the error of a reader that waits for a message of a topic that has only later ones.
func gone(topic string, seq, first uint64) *stream.Gone {
	return &stream.Gone{Topic: topic, Seq: seq, First: first, Deleted: generation(seq) != generation(first)}
}

// restarted returns a *stream.Gone for a reader that waits for a message of a topic whose stream was deleted, and
// created by a process that knew nothing of the old one. The messages that this has appended so far, up to a sequence,
// are gone, too: they may have sequences of other messages that were read before.
func (l *Log) restarted(ctx context.Context, t *topic, from, upTo uint64) error {
	err := l.try(ctx, func(ctx context.Context) error {
		return t.stream.Purge(ctx, jetstream.WithPurgeSequence(upTo+1))
	})
	if err == nil {
		_, err = l.look(ctx, t)
	}
	if err != nil {
		return err
	}
	return &stream.Gone{Topic: t.name, Seq: from, First: upTo + 1, Deleted: true}
}
