package event

import (
	"strconv"
	"strings"
	"time"
)

// Name is a name for a source that was started at a time: batches are numbered from then on.
func Name(source string, started time.Time) string {
	return source + "@" + strconv.FormatInt(started.UnixNano(), startedBase)
}

const startedBase = 36

// Started parts a name that [Name] made; false: it is another one.
func Started(name string) (source string, at int64, ok bool) {
	i := strings.LastIndexByte(name, '@')
	if i < 0 {
		return "", 0, false
	}
	at, err := strconv.ParseInt(name[i+1:], startedBase, 64)
	return name[:i], at, err == nil
}

// ID is that of the batch that Finish returns next, or that it returned last if nothing was added since.
func (w *Writer) ID() string { return w.header.ID() }

// Lose leaves a number out: something that the next batch would have told never came. Whoever reads the partition
// counts a batch as lost, and does not take the times that it may have been about for whole.
func (w *Writer) Lose() {
	w.begin()
	w.header.Number++
}

// Miss makes the batch that Finish returns next one without events, which says that some of these times, both included,
// may be missing. What was added since the last batch is to be finished first.
func (w *Writer) Miss(from, to int64) {
	w.begin()
	w.header.From, w.header.To = from, to
}

// Missing reports whether a batch says that events may be missing, from From to To.
func (h *Header) Missing() bool { return h.Events == 0 && h.To > 0 }
