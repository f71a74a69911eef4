package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tamtam/fleet/stream"
)

// NATS omits a message whose record on the disk is damaged from its response, together with all later ones in the same
// file. If no other file follows it returns nothing at all. Requested one by one, the later messages can still be read.

// damaged returns the error for a message that should exist but was not returned, with the first later one that can be
// read. It returns nil if the message may still come: the server may not have it yet, or it is too early to decide.
// Damage is assumed to be contiguous: messages between two damaged places may be given up with them.
func (l *Log) damaged(ctx context.Context, t *topic, from, next uint64) error {
	if _, err := l.look(ctx, t); err != nil {
		return l.failed(t.name, fmt.Sprintf("message %d not read", from), err)
	}
	t.mu.Lock()
	first := t.first
	t.mu.Unlock()
	if from < first {
		return gone(t.name, from, first)
	}
	if ok, err := l.stillReadable(ctx, t, from); ok || err != nil {
		return err
	}
	good, err := l.behind(ctx, t, from, next)
	if err != nil {
		return l.failed(t.name, fmt.Sprintf("message %d not read", from), err)
	}
	return &stream.Gone{Topic: t.name, Seq: from, First: good, Damaged: true}
}

// sureAfter is how long an unreadable message is retried: a server that is stopping cannot read it either.
const sureAfter = 250 * time.Millisecond

// stillReadable reports whether a message may be readable, now or soon. It returns false only if the message was
// unreadable some time ago, too, on a server whose folder can be used.
func (l *Log) stillReadable(ctx context.Context, t *topic, seq uint64) (ok bool, err error) {
	if ok, err = l.readable(ctx, t, seq); ok || err != nil {
		return ok, err
	}
	t.mu.Lock()
	if t.unread != seq {
		t.unread, t.since = seq, time.Now()
	}
	sure := time.Since(t.since) >= sureAfter
	t.mu.Unlock()
	if !sure {
		return true, nil
	}
	if l.o.Server != nil {
		if err := l.o.Server.room(); err != nil {
			return false, l.failed(t.name, fmt.Sprintf("message %d not read", seq), fmt.Errorf("%w: %w", stream.ErrAway, err))
		}
	}
	return false, nil
}

// behind returns the first readable message after an unreadable one, or next if there is none.
func (l *Log) behind(ctx context.Context, t *topic, bad, next uint64) (good uint64, err error) {
	ok := false
	good = min(bad+1, next)
	for step := uint64(2); good < next; step *= 2 {
		if ok, err = l.readable(ctx, t, good); ok || err != nil {
			break
		}
		bad, good = good, min(good+step, next)
	}
	for err == nil && good-bad > 1 {
		middle := bad + (good-bad)/2
		if ok, err = l.readable(ctx, t, middle); ok {
			good = middle
		} else {
			bad = middle
		}
	}
	return good, err
}

// askReplicas is how often any server is asked for a message that the first one cannot read.
const askReplicas = 16

// readable reports whether any server that has a topic can read a message.
func (l *Log) readable(ctx context.Context, t *topic, seq uint64) (ok bool, err error) {
	ask, err := json.Marshal(struct {
		Seq uint64 `json:"seq"`
	}{seq})
	if err != nil {
		return false, err
	}
	err = l.try(ctx, func(ctx context.Context) error {
		m, err := l.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET.tamtam-"+t.name, ask)
		if err != nil {
			return err
		}
		var answer struct {
			Error *jetstream.APIError `json:"error"`
		}
		if err := json.Unmarshal(m.Data, &answer); err != nil {
			return err
		}
		if ok = answer.Error == nil; !ok && answer.Error.ErrorCode != jetstream.JSErrCodeMessageNotFound {
			return answer.Error
		}
		return nil
	})
	for i := 0; i < askReplicas && l.o.Replicas > 1 && err == nil && !ok; i++ {
		err = l.try(ctx, func(ctx context.Context) error {
			entries, err := l.get(ctx, t, seq, 1)
			ok = err == nil && len(entries) > 0 && entries[0].Seq == seq
			return err
		})
	}
	return ok, err
}

// Whole reports whether the first messages of a topic can be read, up to last, also if it is shared out: an unreadable
// one would never be delivered.
func (l *Log) Whole(ctx context.Context, name string, last uint64) (bool, error) {
	t, err := l.topic(ctx, name)
	if err != nil {
		return false, err
	}
	var p pause
	for from := uint64(1); from <= last; {
		var entries []stream.Entry
		err := l.try(ctx, func(ctx context.Context) (err error) {
			entries, err = l.get(ctx, t, from, int(min(last-from+1, mostMessages)))
			return err
		})
		if err == nil && (len(entries) == 0 || entries[0].Seq > from) {
			err = l.damaged(ctx, t, from, last+1)
		}
		var gone *stream.Gone
		switch {
		case errors.As(err, &gone):
			return false, nil
		case err != nil:
			return false, err
		case len(entries) > 0 && entries[0].Seq == from:
			from = entries[len(entries)-1].Seq + 1
		default:
			if err := p.wait(ctx); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// Reach makes sure that new messages are appended after a sequence that existed before, and reports whether they would
// not have been. NATS reuses the sequences of messages that it lost at the end of a damaged file. In that case the rest
// of the topic is purged.
func (l *Log) Reach(ctx context.Context, name string, last uint64) (lost bool, err error) {
	t, err := l.topic(ctx, name)
	if err != nil {
		return false, err
	}
	ends, err := l.look(ctx, t)
	if err != nil || ends >= last {
		return false, err
	}
	err = l.try(ctx, func(ctx context.Context) error {
		return t.stream.Purge(ctx, jetstream.WithPurgeSequence(last+1))
	})
	if err == nil {
		_, err = l.look(ctx, t)
	}
	return true, err
}
