package feature

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tamtam/orch"
	"tamtam/swss"
)

// A reading is the periodic reading of a feature's counters: once per [TryAgain], while there are counters.
type reading struct {
	there func() bool
	read  func(context.Context) error
	at    time.Time // time of the next reading; zero means immediately
}

// ReadCounters makes read be called once per [TryAgain] while there reports that something counts. It must be called
// after Start.
func (f *Feature[R, B]) ReadCounters(there func() bool, read func(context.Context) error) {
	f.reading = reading{there: there, read: read}
	f.Daemon.At(func() time.Time {
		switch {
		case !there():
			return time.Time{}
		case f.reading.at.IsZero():
			return f.Daemon.Now()
		}
		return f.reading.at
	}, func(ctx context.Context, now time.Time) error {
		if now.Before(f.reading.at) {
			return nil
		}
		return f.PollCounters(ctx)
	})
}

// PollCounters reads the counters now, and writes their rows. Errors of the ASIC are logged.
func (f *Feature[R, B]) PollCounters(ctx context.Context) error {
	f.reading.at = f.Daemon.Now().Add(TryAgain)
	if !f.reading.there() {
		return nil
	}
	err := f.reading.read(ctx)
	if errors.Is(err, swss.ErrUnavailable) {
		return err
	}
	f.CountersRead(ctx, err)
	return f.Flush(ctx)
}

// CountersRead records whether the counters of sessions could be read; without sessions, those of all. While they
// cannot be, the rows have the numbers of the last reading, and the status of each session in the ASIC has the
// reason. A changed error is logged.
func (f *Feature[R, B]) CountersRead(ctx context.Context, err error, of ...*Session[R, B]) {
	why := ""
	if err != nil {
		why = "its counters are old, since they cannot be read: " + orch.Explain(err)
	}
	if len(of) == 0 {
		of = slices.SortedFunc(maps.Values(f.Sessions), (*Session[R, B]).Compare)
	}
	logged := false
	for _, s := range of {
		if s.unread == why || !s.Configured || s.InASIC == nil {
			continue
		}
		if err != nil && !logged {
			f.Log.Error("counters", "feature", f.Name, "first", s.Name, "err", err)
			logged = true
		}
		s.unread = why
		f.Report(ctx, s)
	}
}
