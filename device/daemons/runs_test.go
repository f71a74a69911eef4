package daemons

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	sairedis "tamtam/sai/redis"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// The wait between views that the ASIC rejects grows, and the daemon's health contains the rejected object and the
// time of the next try.
func TestRefusedViewsAreTriedSeldom(t *testing.T) {
	r := swsstest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	h := newHealth("orchagent")
	runs, done := make(chan string), make(chan error, 1)
	refused := func(ctx context.Context, h *health, _ *swss.Claim) error {
		h.mu.Lock()
		reported := h.state.Reason
		h.mu.Unlock()
		select {
		case runs <- reported:
		case <-ctx.Done():
		}
		return fmt.Errorf("%w: %w: APPLY_VIEW: SAI_STATUS_FAILURE", sairedis.ErrNotApplied, swss.ErrReset)
	}
	go func() { done <- runRepeatedly(ctx, r, h, slog.New(slog.DiscardHandler), refused, swss.StateDB) }()
	var reported []string
	for range 4 {
		reported = append(reported, <-runs)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for i, in := range []string{"100ms", "200ms", "400ms"} {
		if want := "SAI_STATUS_FAILURE; tried again in " + in; !strings.HasSuffix(reported[i+1], want) {
			t.Errorf("told %q, want %q", reported[i+1], want)
		}
	}
}

// If a new run does not heal the drift, the next run ends only after a while, at growing intervals. An ASIC that reads
// back other values than were set must not be rebuilt for ever.
func TestRunsEndSeldom(t *testing.T) {
	now := time.Unix(1000, 0)
	may := backoff(func() time.Time { return now })
	var at []int
	for minute := range 600 {
		if may() {
			at = append(at, minute)
		}
		now = now.Add(time.Minute)
	}
	if want := []int{0, 1, 3, 7, 15, 31, 63, 123, 183, 243, 303, 363, 423, 483, 543}; !slices.Equal(at, want) {
		t.Errorf("in minutes %v, want %v", at, want)
	}
	now = now.Add(2*maxRestart + time.Minute)
	if !may() || may() {
		t.Error("after a long time: want at once, and not again")
	}
	if now = now.Add(minRestart); !may() {
		t.Error("after a long time the waits begin anew")
	}
}
