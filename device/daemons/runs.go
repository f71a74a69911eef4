package daemons

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	sairedis "tamtam/sai/redis"
	"tamtam/swss"
)

// Waits between runs of a daemon.
const (
	minRest  = 100 * time.Millisecond
	maxRest  = 2 * time.Second
	maxPause = 15 * time.Second // longest wait after the ASIC rejected a view, since each try costs it much
	goodRun  = 10 * time.Second // after a run of at least this duration, the next run starts soon
)

// A daemonRun runs a daemon once, from start to end. It keeps no state of an earlier run. claim is the daemon's mark in
// the databases.
type daemonRun func(ctx context.Context, h *health, claim *swss.Claim) error

// runRepeatedly runs a daemon until ctx ends, one run after the other. A run starts when its databases accept writes.
// It ends when a database was emptied, replaced, or claimed by another process, or when the ASIC's state is unknown. It
// also ends when the connection to Redis was lost before the run had begun.
func runRepeatedly(
	ctx context.Context,
	r *swss.Redis,
	h *health,
	log *slog.Logger,
	live daemonRun,
	dbs ...swss.DBName,
) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.beat(ctx, r, log) })
	g.Go(func() error { return h.faults.Run(ctx) })
	g.Go(func() error {
		var most time.Duration
		for rest := minRest; ; rest = min(2*rest, most) {
			start := time.Now()
			err := runOnce(ctx, r, h, live, dbs)
			if ctx.Err() != nil {
				return nil
			}
			if !mayHeal(err) {
				return err
			}
			why := swss.Why(err)
			switch most = maxRest; {
			case errors.Is(err, sairedis.ErrNotApplied), errors.Is(err, sairedis.ErrStopped):
				most = maxPause
				why += "; tried again in " + rest.String()
			case time.Since(start) > goodRun:
				rest = minRest
			}
			h.report(why)
			log.Warn(h.name+" starts again", "because", why)
			if _, err := r.Mend(ctx); err != nil {
				log.Warn(h.name+": mending", "error", err)
			}
			if err := h.standBack(ctx, r, log, err); err != nil {
				return nil
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(rest):
			}
		}
	})
	return ended(g.Wait())
}

func runOnce(ctx context.Context, r *swss.Redis, h *health, live daemonRun, dbs []swss.DBName) error {
	defer h.attach(nil, nil, nil)
	claim, err := r.Claim(ctx, h.name, h.owner, dbs...)
	if err != nil {
		return err
	}
	return live(ctx, h, claim)
}

// Waits between runs that end to heal drift. If a new run does not heal the drift, the next run must not end soon for
// the same reason.
const (
	minRestart = time.Minute
	maxRestart = time.Hour
)

// backoff returns a function that reports whether a restart is allowed now. It allows the first immediately, the next
// after a minute, then two, four, up to an hour. After an hour without requests, it starts over.
func backoff(clock func() time.Time) func() bool {
	var next time.Time
	var wait time.Duration
	return func() bool {
		now := clock()
		if now.Before(next) {
			return false
		}
		if wait = min(max(2*wait, minRestart), maxRestart); now.Sub(next) > maxRestart {
			wait = minRestart
		}
		next = now.Add(wait)
		return true
	}
}

// mayHeal reports whether another run may succeed.
func mayHeal(err error) bool {
	return errors.Is(err, swss.ErrReset) || errors.Is(err, swss.ErrUnavailable) || errors.Is(err, sairedis.ErrUnknown) ||
		swss.IsMisuse(err) || swss.Why(err) != err.Error()
}

// standBack waits while another process of the same daemon works, if err reports that it has claimed a database. If two
// processes of a daemon run, the one started later works.
func (h *health) standBack(ctx context.Context, r *swss.Redis, log *slog.Logger, err error) error {
	var taken *swss.ClaimedError
	if !errors.As(err, &taken) {
		return nil
	}
	h.setSilent(true)
	defer h.setSilent(false)
	for reported := false; ; reported = true {
		for range 2 { // after two beats the other process has written its row
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(beatPeriod):
			}
		}
		state, heard, err := ReadState(ctx, r, h.name)
		if err == nil && (!heard || state.Owner == h.owner) {
			return nil
		}
		if !reported {
			log.Error(h.name+" stands back: another process of that name works on the databases", "process", state.Owner)
		}
	}
}

func (h *health) setSilent(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.silent = on
}

// isSilent reports whether the daemon sends no beats because another process of its name works.
func (h *health) isSilent() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.silent
}
