package event

import (
	"strconv"
	"strings"
	"time"
)

// Name returns a name for a source that was started at a time: batches are numbered from then on.
func Name(source string, started time.Time) string {
	return source + "@" + strconv.FormatInt(started.UnixNano(), startedBase)
}

const startedBase = 36

// Started splits a name that [Name] made. It returns false for other names.
func Started(name string) (source string, at int64, ok bool) {
	i := strings.LastIndexByte(name, '@')
	if i < 0 {
		return "", 0, false
	}
	at, err := strconv.ParseInt(name[i+1:], startedBase, 64)
	return name[:i], at, err == nil
}

// ID returns the id of the batch that Finish returns next, or that it returned last if nothing was added since.
func (w *Writer) ID() string { return w.header.ID() }

// Lose skips a number: an event for the next batch was lost. The reader of the partition counts a lost batch, and flags
// the times that it may have covered as incomplete.
func (w *Writer) Lose() {
	w.begin()
	w.header.Number++
}

// Miss makes the next batch one without events, which reports that events between these times, both included, may be
// missing. The events that were added before must be finished first.
func (w *Writer) Miss(from, to int64) {
	w.begin()
	w.header.From, w.header.To = from, to
}

// Missing reports whether a batch announces missing events, from From to To.
func (h *Header) Missing() bool { return h.Events == 0 && h.To > 0 }
