// Package logs writes the daemons' log: as text or JSON, and bounded. A daemon that logs the same message for ten
// thousand rows logs only the first ones in full, and then the number of further ones. So nothing is left out
// silently, and STATE_DB has the result of each row.
//
// What belongs here: the form and the amount of the log. The daemons choose the messages.
package logs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// A Format is the form of a line of the log.
type Format string

// The formats.
const (
	Text Format = "text" // key=value
	JSON Format = "json" // an object
)

// ParseFormat returns the format with a name.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case Text, JSON:
		return f, nil
	}
	return "", fmt.Errorf("%q: want %s or %s", name, Text, JSON)
}

// Handler returns a handler that writes lines of a level and above to w.
func (f Format) Handler(w io.Writer, level slog.Level) slog.Handler {
	opts := &slog.HandlerOptions{Level: level}
	if f == JSON {
		return slog.NewJSONHandler(w, opts)
	}
	return slog.NewTextHandler(w, opts)
}

// Messages of one kind have the same text, level and daemon. The first ones, as many as First, are written in full.
// Those that follow within Period are counted, and their number is written when it ends. This repeats until a Period
// passes without messages.
const (
	First  = 10
	Period = 10 * time.Second
)

// mostKinds is the largest number of kinds that are distinguished; all later kinds count as one.
const mostKinds = 256

// A Limiter bounds what handlers write. The zero value is ready to use.
type Limiter struct {
	mu     sync.Mutex
	kinds  map[kind]*flood
	closed bool
}

// A kind identifies messages that count together.
type kind struct {
	level         slog.Level
	from, message string // attributes that the logger adds to each message, and the message text
}

// A flood describes the messages of one kind since the last period without any.
type flood struct {
	written, more int
	since         time.Time    // time of the first unwritten message
	last          slog.Record  // the last unwritten message
	to            slog.Handler // the handler of last
	timer         *time.Timer
}

// Limit returns a handler that writes through h, within bounds.
func (l *Limiter) Limit(h slog.Handler) slog.Handler { return handler{limiter: l, to: h} }

// Close writes the pending counts. From now on everything is written.
func (l *Limiter) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for k, f := range l.kinds {
		f.timer.Stop()
		f.report(k)
	}
}

func (l *Limiter) handle(ctx context.Context, h handler, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return h.to.Handle(ctx, r)
	}
	k := kind{r.Level, h.from, r.Message}
	f := l.kinds[k]
	if f == nil && len(l.kinds) >= mostKinds {
		k = kind{level: r.Level, message: "anything else"}
		f = l.kinds[k]
	}
	if f == nil {
		f = &flood{}
		f.timer = time.AfterFunc(Period, func() { l.expire(k, f) })
		if l.kinds == nil {
			l.kinds = map[kind]*flood{}
		}
		l.kinds[k] = f
	}
	if f.written < First {
		f.written++
		return h.to.Handle(ctx, r)
	}
	if f.more == 0 {
		f.since = r.Time
	}
	f.more++
	f.last, f.to = r.Clone(), h.to
	return nil
}

// expire ends a period of a kind.
func (l *Limiter) expire(k kind, f *flood) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
	case f.more == 0:
		delete(l.kinds, k)
	default:
		f.report(k)
		f.timer.Reset(Period)
	}
}

// report writes the number of unwritten messages, and the content of the last one.
func (f *flood) report(k kind) {
	if f.more == 0 {
		return
	}
	r := slog.NewRecord(f.last.Time, k.level, fmt.Sprintf("and %d more like this", f.more), 0)
	var last []any
	f.last.Attrs(func(a slog.Attr) bool {
		last = append(last, a)
		return true
	})
	r.Add("like", k.message, "more", f.more, "since", f.since, slog.Group("last", last...))
	_ = f.to.Handle(context.Background(), r) // the error cannot be reported, as in slog itself
	f.more, f.last = 0, slog.Record{}
}

// A handler writes through another, within the bounds of a limiter.
type handler struct {
	limiter *Limiter
	to      slog.Handler
	from    string
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool { return h.to.Enabled(ctx, level) }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error { return h.limiter.handle(ctx, h, r) }

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.to, h.from = h.to.WithAttrs(attrs), h.from+fmt.Sprint(attrs)
	return h
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	h.to, h.from = h.to.WithGroup(name), h.from+name+"."
	return h
}
