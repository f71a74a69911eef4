package daemons

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	sairedis "tamtam/sai/redis"
	"tamtam/swss"
)

// Bounds of how long nobody else may have made a request in ASIC_DB before orchagent begins anew.
const (
	minQuiet = 2 * time.Second
	maxQuiet = time.Minute
)

// strangers are those who make requests in ASIC_DB besides orchagent. While they do, each life of it would end as soon
// as it had begun.
type strangers struct {
	redis *swss.Redis
	log   *slog.Logger
	there bool          // the last life has met them
	quiet time.Duration // that the next life then waits for
}

// met notes whether a life of orchagent that has lasted so long has met them: soon after the last time, the next life
// waits for longer.
func (s *strangers) met(them bool, lasted time.Duration) {
	if lasted > maxQuiet {
		s.quiet = 0
	}
	if s.there = them; them {
		s.quiet = min(max(2*s.quiet, minQuiet), maxQuiet)
	}
}

// leave waits until nobody else makes requests, if somebody did; tell is called with what there is of them.
func (s *strangers) leave(ctx context.Context, tell func(why string)) error {
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
		tell(strangersText(len(seen)))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beatPeriod / 2):
		}
	}
}

// mostSeen is how many requests are counted.
const mostSeen = 10_000

func strangersText(n int) string {
	more := ""
	if n >= mostSeen {
		more = "at least "
	}
	return fmt.Sprintf("%v: %s%d in the last minute", sairedis.ErrStrangers, more, n)
}
