package daemons

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	sairedis "tamtam/sai/redis"
	"tamtam/swss"
)

// Minimum and maximum time for which ASIC_DB must receive no requests of other clients before orchagent starts again.
const (
	minQuiet = 2 * time.Second
	maxQuiet = time.Minute
)

// strangers tracks clients other than orchagent that make requests in ASIC_DB. While they do, each run of orchagent
// would end as soon as it had begun.
type strangers struct {
	redis *swss.Redis
	log   *slog.Logger
	there bool          // true if the last run detected requests of such clients
	quiet time.Duration // time for which such clients must be quiet before the next run
}

// met records whether a run of orchagent, which lasted for the given time, has detected requests of other clients. If
// it has, soon after an earlier detection, the next run waits longer.
func (s *strangers) met(them bool, lasted time.Duration) {
	if lasted > maxQuiet {
		s.quiet = 0
	}
	if s.there = them; them {
		s.quiet = min(max(2*s.quiet, minQuiet), maxQuiet)
	}
}

// leave waits until other clients make no more requests, if the last run detected any. It calls report with a text that
// contains their number.
func (s *strangers) leave(ctx context.Context, report func(why string)) error {
	if !s.there {
		return nil
	}
	last := time.Now()
	var seen []time.Time
	for s.log.Warn("orchagent waits until no other process makes requests in ASIC_DB", "for", s.quiet); ; {
		n, err := sairedis.Strangers(ctx, s.redis)
		if err != nil {
			return err
		}
		now := time.Now()
		for range min(n, mostSeen) {
			seen, last = append(seen, now), now
		}
		for len(seen) > mostSeen || len(seen) > 0 && now.Sub(seen[0]) > time.Minute {
			seen = seen[1:]
		}
		if now.Sub(last) >= s.quiet {
			return nil
		}
		report(strangersText(len(seen)))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beatPeriod / 2):
		}
	}
}

// mostSeen is the largest number of requests that is counted.
const mostSeen = 10_000

func strangersText(n int) string {
	more := ""
	if n >= mostSeen {
		more = "at least "
	}
	return fmt.Sprintf("%v: %s%d in the last minute", sairedis.ErrStrangers, more, n)
}
