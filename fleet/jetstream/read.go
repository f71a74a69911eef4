package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tamtam/fleet/stream"
)

// Limits of one request.
const (
	mostMessages = 256
	mostBytes    = 4 << 20
)

// lookEvery is the interval at which a waiting reader checks whether the topic begins after its message.
const lookEvery = 2 * time.Second

// Read implements stream.Log. It asks any of the servers that have the topic (a "direct get"). While there is no
// message, it waits for a wake-up signal, or a quarter of a second.
func (l *Log) Read(ctx context.Context, name string, from uint64, most int) ([]stream.Entry, error) {
	t, err := l.topic(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.used(inOrder), l.notShared(ctx, t)); err != nil {
		return nil, err
	}
	entries, err := l.there(ctx, t, from, most)
	if err != nil || len(entries) > 0 {
		return entries, err
	}
	answered := time.Now()
	wakeUps := make(chan *nats.Msg, 1) // one signal is enough
	sub, err := l.conn.ChanSubscribe(wakeUp(name), wakeUps)
	if err != nil {
		return nil, l.failed(name, "not read", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	var p pause
	looked, last := time.Time{}, uint64(0)
	for {
		if now := time.Now(); now.Sub(looked) > lookEvery {
			looked = now
			if last, err = l.lookFrom(ctx, t, from); err != nil {
				return nil, l.failed(name, fmt.Sprintf("message %d not read", from), unlessAnswered(ctx, answered, err))
			}
		}
		entries, err := l.there(ctx, t, from, most)
		if err == nil && len(entries) == 0 && from <= last {
			err = l.damaged(ctx, t, from, last+1)
		}
		if err != nil || len(entries) > 0 {
			return entries, unlessAnswered(ctx, answered, err)
		}
		answered = time.Now()
		if err := p.wait(ctx, wakeUps); err != nil {
			return nil, l.failed(name, fmt.Sprintf("message %d is not there", from), err)
		}
	}
}

// unlessAnswered returns err. It returns the error of ctx instead of a [stream.ErrAway] if ctx ended during a request,
// and the log had reported shortly before that it has no message.
func unlessAnswered(ctx context.Context, answered time.Time, err error) error {
	if ended := ctx.Err(); ended != nil && errors.Is(err, stream.ErrAway) && time.Since(answered) < lookEvery {
		return ended
	}
	return err
}

// there returns the messages from a sequence on that exist now.
func (l *Log) there(ctx context.Context, t *topic, from uint64, most int) (entries []stream.Entry, err error) {
	t.mu.Lock()
	first := t.first
	t.mu.Unlock()
	if from < first {
		return nil, gone(t.name, from, first)
	}
	err = l.try(ctx, func(ctx context.Context) (err error) {
		entries, err = l.get(ctx, t, from, min(max(most, 1), mostMessages))
		if renewed, failed := l.renew(ctx, t, from, err); failed != nil {
			return failed
		} else if renewed {
			return gone(t.name, from, generation(from+generations))
		}
		return err
	})
	if err != nil {
		return nil, l.failed(t.name, fmt.Sprintf("message %d not read", from), err)
	}
	if len(entries) > 0 && entries[0].Seq > from {
		return nil, l.damaged(ctx, t, from, entries[0].Seq)
	}
	return entries, nil
}

// look reads where a topic begins, and returns where it ends.
func (l *Log) look(ctx context.Context, t *topic) (last uint64, err error) {
	state, err := l.state(ctx, t)
	if err == nil {
		t.mu.Lock()
		t.first = max(t.first, state.FirstSeq, 1)
		t.mu.Unlock()
	}
	return state.LastSeq, err
}

// lookFrom works like look, for a reader that waits for a message: it also detects that the topic has begun again
// before that.
func (l *Log) lookFrom(ctx context.Context, t *topic, from uint64) (last uint64, err error) {
	last, err = l.look(ctx, t)
	t.mu.Lock()
	replaced := err == nil && t.replaced
	t.replaced = t.replaced && !replaced
	t.mu.Unlock()
	if replaced || err == nil && last+1 < from {
		err = l.restarted(ctx, t, from, max(from, last))
	}
	return last, err
}

// notShared returns an error if a topic is shared out, in this process or another. It asks the server only once.
func (l *Log) notShared(ctx context.Context, t *topic) error {
	t.mu.Lock()
	known := t.first > 0
	t.mu.Unlock()
	if known {
		return nil
	}
	state, err := l.state(ctx, t)
	if err != nil {
		return l.failed(t.name, "not read", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if state.Consumers > 0 {
		t.use = sharedOut
		return fmt.Errorf("topic %s is shared out: it cannot be read", t.name)
	}
	t.first = max(t.first, state.FirstSeq, 1)
	return nil
}

// get returns consecutive messages, the first one at from or after it. It returns no messages if there are none. It
// stops before a message that the log has lost.
func (l *Log) get(ctx context.Context, t *topic, from uint64, most int) ([]stream.Entry, error) {
	ask, err := json.Marshal(struct {
		Seq      uint64 `json:"seq"`
		Batch    int    `json:"batch"`
		MaxBytes int    `json:"max_bytes"`
	}{from, most, mostBytes})
	if err != nil {
		return nil, err
	}
	inbox := l.conn.NewRespInbox()
	answers, err := l.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := l.conn.PublishRequest("$JS.API.DIRECT.GET.tamtam-"+t.name, inbox, ask); err != nil {
		return nil, err
	}
	var entries []stream.Entry
	for whole := true; ; {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		switch status := m.Header.Get("Status"); status {
		case "404", "204": // there is no message, or no further one
			return entries, nil
		case "503":
			return nil, nats.ErrNoResponders
		case "":
		default:
			return nil, fmt.Errorf("direct get of message %d: status %s %s", from, status, m.Header.Get("Description"))
		}
		seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("direct get of message %d: sequence %q", from, m.Header.Get(jetstream.SequenceHeader))
		}
		if n := len(entries); n > 0 && seq != entries[n-1].Seq+1 {
			whole = false
		}
		if whole {
			entries = append(entries, stream.Entry{Seq: seq, Data: m.Data})
		}
	}
}
