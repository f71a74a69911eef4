package orch_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// A clocks has a time of day that can be set, and a monotonic clock.
type clocks struct {
	mu    sync.Mutex
	day   time.Time
	since time.Duration
}

func (c *clocks) report() (time.Time, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.day, c.since
}

// pass lets d pass, and then sets the time of day forward by set.
func (c *clocks) pass(d, set time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.day, c.since = c.day.Add(d+set), c.since+d
}

// The time of day is set back or ahead by an hour. Timers are still due at the planned times, and status rows contain
// the new time of day.
func TestTimeOfDayIsSet(t *testing.T) {
	for name, set := range map[string]time.Duration{"not at all": 0, "back": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			c := &clocks{day: then}
			r := swsstest.Start(t)
			d := orch.NewDaemon(orch.Orchagent, r, orch.Options{Time: c.report})
			d.ReportsTo(schema.StateTAMTailStamp)
			fired := make(chan string, 10)
			at := then.Add(time.Minute)
			d.Every(func() time.Duration { return time.Minute }, func(context.Context, time.Time) error {
				fired <- "every minute"
				return nil
			})
			d.At(func() time.Time { return at }, func(context.Context, time.Time) error {
				at = time.Time{}
				fired <- "at a time"
				return nil
			})
			var step time.Time // time at which the timer of At is due; zero means never
			stepped := make(chan struct{})
			d.At(func() time.Time { return step }, func(context.Context, time.Time) error {
				step = time.Time{}
				stepped <- struct{}{}
				return nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- d.Run(ctx) }()
			steps := func(want ...string) {
				t.Helper()
				if err := d.Do(ctx, func() { step = then }); err != nil {
					t.Fatal(err)
				}
				<-stepped // all due work is done before this signal
				for _, w := range want {
					select {
					case got := <-fired:
						if got != w {
							t.Fatalf("due is what is %s, want %s", got, w)
						}
					default:
						t.Fatalf("nothing is due, want what is %s", w)
					}
				}
				if len(fired) > 0 {
					t.Fatalf("due is what is %s, too early", <-fired)
				}
			}
			steps()
			c.pass(30*time.Second, set)
			steps()
			c.pass(30*time.Second, 0)
			steps("every minute", "at a time")
			if err := d.Do(ctx, func() { d.Report(ctx, schema.StateTAMTailStamp, "s", "active", "") }); err != nil {
				t.Fatal(err)
			}
			c.pass(time.Minute, 0)
			steps("every minute")
			steps() // by now the reported statuses are written
			cancel()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			want := then.Add(set + time.Minute).Format(time.RFC3339Nano)
			row := getRow(t, r.DB(swss.StateDB), schema.StateTAMTailStamp, "s")
			after := then.Add(set + 2*time.Minute).Format(time.RFC3339Nano)
			if since := row["since"]; since != want && since != after {
				t.Errorf("the row is so since %s, want %s", since, want)
			}
		})
	}
}
