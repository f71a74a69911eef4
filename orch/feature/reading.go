package feature

import (
	"context"
	"errors"
	"time"

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
	if err := f.reading.read(ctx); errors.Is(err, swss.ErrUnavailable) {
		return err
	} else if err != nil {
		f.Log.Error("counters", "feature", f.Name, "err", err)
	}
	return f.Flush(ctx)
}
