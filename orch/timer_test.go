package orch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss/swsstest"
)

// TestTimers: timers follow the times of the steps, and NextTimer returns when the next step is due.
func TestTimers(t *testing.T) {
	d := orch.NewDaemon("d", swsstest.Start(t), orch.Options{})
	defer d.Close()
	var fired []string
	slow := 10 * time.Second
	every := func(name string, period func() time.Duration) {
		d.Every(period, func(_ context.Context, now time.Time) error {
			fired = append(fired, fmt.Sprintf("%s@%v", name, now.Sub(start)))
			return nil
		})
	}
	every("slow", func() time.Duration { return slow })
	every("fast", func() time.Duration { return 4 * time.Second })
	every("off", func() time.Duration { return 0 })

	if _, ok := d.NextTimer(); ok {
		t.Error("a timer is due before the first step")
	}
	steps := []struct {
		at   time.Duration
		want []string
		next time.Duration
	}{
		{0, nil, 4 * time.Second},
		{3 * time.Second, nil, 4 * time.Second},
		{4 * time.Second, []string{"fast@4s"}, 8 * time.Second},
		{4 * time.Second, nil, 8 * time.Second},
		{8 * time.Second, []string{"fast@8s"}, 10 * time.Second},
		{12 * time.Second, []string{"slow@12s", "fast@12s"}, 16 * time.Second}, // slow is due next at 20 s
		{60 * time.Second, []string{"slow@1m0s", "fast@1m0s"}, 64 * time.Second},
	}
	for _, s := range steps {
		fired = nil
		worked, err := d.Step(t.Context(), start.Add(s.at))
		if err != nil || worked != (len(s.want) > 0) {
			t.Errorf("at %v: worked %v, %v", s.at, worked, err)
		}
		if diff := cmp.Diff(s.want, fired); diff != "" {
			t.Errorf("at %v (-want +got):\n%s", s.at, diff)
		}
		if next, ok := d.NextTimer(); !ok || next.Sub(start) != s.next {
			t.Errorf("at %v: next is %v, want %v", s.at, next.Sub(start), s.next)
		}
	}
	slow = time.Second // a new period counts from the last time
	if next, _ := d.NextTimer(); next.Sub(start) != 61*time.Second {
		t.Errorf("next is %v", next.Sub(start))
	}
}

func TestTimerError(t *testing.T) {
	d := orch.NewDaemon("d", swsstest.Start(t), orch.Options{})
	defer d.Close()
	boom := errors.New("boom")
	d.Every(func() time.Duration { return time.Second }, func(context.Context, time.Time) error { return boom })
	if _, err := d.Step(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Step(t.Context(), start.Add(time.Second)); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
}

func TestUndo(t *testing.T) {
	var u orch.Undo
	var log []string
	boom := errors.New("boom")
	for i, err := range []error{nil, boom, nil} {
		u.Push(fmt.Sprint("step ", i), func(ctx context.Context) error {
			log = append(log, fmt.Sprintf("%d %v", i, ctx.Err()))
			return err
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := u.Rollback(ctx); !errors.Is(err, boom) || err.Error() != "undo step 1: boom" {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"2 <nil>", "1 <nil>", "0 <nil>"}, log); diff != "" {
		t.Error(diff)
	}
	if err := u.Rollback(ctx); err != nil || len(log) != 3 {
		t.Errorf("a second rollback did something: %v %v", err, log)
	}
}

func TestTopic(t *testing.T) {
	var topic orch.Topic[string]
	var got []string
	for _, name := range []string{"first", "second"} {
		topic.Subscribe(func(_ context.Context, s string) { got = append(got, name+" "+s) })
	}
	topic.Publish(t.Context(), "x")
	if diff := cmp.Diff([]string{"first x", "second x"}, got); diff != "" {
		t.Error(diff)
	}
}
