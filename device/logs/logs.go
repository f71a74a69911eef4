// Package logs is how the daemons' log is written: as text or JSON, and bounded. A daemon that says the same of ten
// thousand rows says it in full of the first ones, and then how many there were more: nothing is left out silently, and
// what became of each row is in STATE_DB.
//
// What belongs here: the form and the amount of the log. What is worth a line is the daemons' business.
package logs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// A Format is what a line of the log looks like.
type Format string

// The formats.
const (
	Text Format = "text" // key=value
	JSON Format = "json" // an object
)

// ParseFormat returns the format of a name.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case Text, JSON:
		return f, nil
	}
	return "", fmt.Errorf("%q: want %s or %s", name, Text, JSON)
}

// Handler writes lines of a level and above to w.
func (f Format) Handler(w io.Writer, level slog.Level) slog.Handler {
	opts := &slog.HandlerOptions{Level: level}
	if f == JSON {
		return slog.NewJSONHandler(w, opts)
	}
	return slog.NewTextHandler(w, opts)
}

// Of messages of one kind, with the same text and level from the same daemon, First are written in full. Those that
// follow within Period of the first are counted, and their number is written when it ends; so it goes on until a Period
// in which none came.
const (
	First  = 10
	Period = 10 * time.Second
)

// mostKinds bounds the kinds that are told apart: of more, those that come last are one.
const mostKinds = 256

// A Limiter bounds what handlers write. The zero value is ready to use.
type Limiter struct {
	mu     sync.Mutex
	kinds  map[kind]*flood
	closed bool
}

// A kind is what messages have in common of which there may be many.
type kind struct {
	level         slog.Level
	from, message string // what the logger adds to each; the text
}

// A flood is the messages of one kind since it was quiet.
type flood struct {
	written, more int
	since         time.Time    // of the first that is not written
	last          slog.Record  // of those that are not
	to            slog.Handler // of that
	timer         *time.Timer
}

// Limit returns a handler that writes through h, within bounds.
func (l *Limiter) Limit(h slog.Handler) slog.Handler { return handler{limiter: l, to: h} }

// Close writes what is still counted; from now on everything is written.
func (l *Limiter) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for k, f := range l.kinds {
		f.timer.Stop()
		f.tell(k)
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

// expire is the end of a period of a kind.
func (l *Limiter) expire(k kind, f *flood) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
	case f.more == 0:
		delete(l.kinds, k)
	default:
		f.tell(k)
		f.timer.Reset(Period)
	}
}

// tell writes how many there were more, and what the last of them said.
func (f *flood) tell(k kind) {
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
	_ = f.to.Handle(context.Background(), r) // as slog itself, there is nobody to tell
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
