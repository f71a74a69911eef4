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

// A message whose record on the disk is damaged is left out of what NATS answers, together with all behind it in the
// same file, and if there is none behind it nothing comes at all. Asked for each by itself those behind it are there.

// damaged is the error of a message that is not there though it should be, and one behind it may be: it has the first
// that can be read. nil: it may be there, and whoever answered did not have it yet, or it is too early to say. Damage
// is taken to be of messages that follow each other; what lies between two damaged places may be given up with them.
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

// sureAfter is how long a message that cannot be read is given: one who stops has no message either.
const sureAfter = 250 * time.Millisecond

// stillReadable reports whether a message may be read, now or soon: only of one that could not be some time ago either,
// by a server whose folder can be used, it is known that it cannot be.
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

// behind is the first message behind one that cannot be read that can be; or next.
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

// askReplicas is how often a message that the first of its servers cannot read is asked for from any of them.
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

// Whole reports whether the first messages of a topic can be read, also if it is shared out: one that cannot be is
// given to nobody.
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

// Reach sees to it that messages that are appended come behind one that was there before, and reports whether they
// would not have: NATS gives the numbers of messages that it lost at the end of a damaged file to others. What is left
// of the topic goes then.
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
