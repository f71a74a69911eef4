package syslog

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tamtam/mgmt/outputs"
)

// A Sink writes messages as lines for one server.
type Sink struct {
	Out   *outputs.Output
	Least Severity // less severe messages are not sent
	None  bool     // nothing is sent

	mu       sync.Mutex
	sender   Sender
	sequence uint32
}

// Call sets the sender of all further lines.
func (s *Sink) Call(sender Sender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sender = sender
}

// mostSequence is the last sequenceId of RFC 5424, 7.3.1.
const mostSequence = 1<<31 - 1

// Report puts a message into the spool. It never blocks.
func (s *Sink) Report(m Message) {
	if s.None || m.Severity > s.Least {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sequence++; s.sequence > mostSequence {
		s.sequence = 1
	}
	s.Out.Put(time.Now(), s.sender.Line(m, s.sequence))
}

// Handler converts the records of the audit log to messages.
type Handler struct {
	report func(Message)
	prefix string // prefix of the names of attributes
	params []Param
}

// NewHandler returns a handler that passes messages to a function, which must not block.
func NewHandler(report func(Message)) *Handler { return &Handler{report: report} }

// Enabled implements slog.Handler.
func (h *Handler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	m := Message{At: r.Time, Audit: true, ID: "AUDIT", Text: r.Message, Severity: severityOf(r.Level)}
	m.Params = append(m.Params, h.params...)
	r.Attrs(func(a slog.Attr) bool {
		m.Params = params(m.Params, h.prefix, a)
		return len(m.Params) < mostParams
	})
	h.report(m)
	return nil
}

// mostParams bounds the parameters of a message.
const mostParams = 32

// params appends an attribute; a group becomes names with dots.
func params(list []Param, prefix string, a slog.Attr) []Param {
	v := a.Value.Resolve()
	switch {
	case len(list) >= mostParams || a.Equal(slog.Attr{}):
		return list
	case v.Kind() == slog.KindGroup:
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, b := range v.Group() {
			list = params(list, prefix, b)
		}
		return list
	case v.Kind() == slog.KindTime:
		return append(list, Param{prefix + a.Key, v.Time().UTC().Format(time.RFC3339Nano)})
	}
	return append(list, Param{prefix + a.Key, v.String()})
}

func severityOf(l slog.Level) Severity {
	switch {
	case l >= slog.LevelError:
		return Error
	case l >= slog.LevelWarn:
		return Warning
	case l >= slog.LevelInfo:
		return Info
	}
	return Debug
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.params = append([]Param(nil), h.params...)
	for _, a := range attrs {
		with.params = params(with.params, h.prefix, a)
	}
	return &with
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.prefix += name + "."
	}
	return &with
}

// SeverityNamed returns the severity of a SONiC word, or false for an unknown word.
func SeverityNamed(word string) (Severity, bool) {
	switch word {
	case "debug":
		return Debug, true
	case "info":
		return Info, true
	case "notice":
		return Notice, true
	case "warn":
		return Warning, true
	case "error":
		return Error, true
	case "crit":
		return Critical, true
	}
	return 0, false
}
