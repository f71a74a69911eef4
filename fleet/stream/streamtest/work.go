package streamtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"tamtam/fleet/stream"
)

func claim(t *testing.T, log stream.Log) stream.Work {
	t.Helper()
	w, err := log.Claim(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Each message is given to exactly one of the workers.
func shared(t *testing.T, log stream.Log) {
	const jobs, workers = 40, 4
	var mu sync.Mutex
	done := map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for {
				w, err := log.Claim(ctx, "jobs")
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				if err := errors.Join(w.Hold(ctx), w.Done(ctx)); err != nil {
					t.Error(err)
				}
				mu.Lock()
				done[string(w.Entry().Data)]++
				if len(done) == jobs {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	for i := range jobs {
		appendAll(t, log, "jobs", uint64(i+1), fmt.Sprint("job ", i))
	}
	wait.Wait()
	for i := range jobs {
		if n := done[fmt.Sprint("job ", i)]; n != 1 {
			t.Errorf("job %d was done %d times, want once", i, n)
		}
	}
}

// Returned work is given to the next worker at once.
func returned(t *testing.T, log stream.Log) {
	appendAll(t, log, "jobs", 1, "one")
	first := claim(t, log)
	if e := first.Entry(); e.Seq != 1 || string(e.Data) != "one" {
		t.Errorf("took %v, want message 1, one", e)
	}
	waiting := make(chan stream.Work)
	go func() { waiting <- claim(t, log) }()
	if err := first.Return(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := <-waiting
	if e := again.Entry(); e.Seq != 1 || string(e.Data) != "one" {
		t.Errorf("took %v, want message 1 again", e)
	}
	for name, err := range map[string]error{"held": first.Hold(t.Context()), "done": first.Done(t.Context())} {
		if !errors.Is(err, stream.ErrLost) {
			t.Errorf("work that was returned is %s: %v", name, err)
		}
	}
	if err := errors.Join(again.Hold(t.Context()), again.Done(t.Context())); err != nil {
		t.Errorf("who has it now: %v", err)
	}
}

// Finished work is not given again, though earlier work is still held.
func once(t *testing.T, log stream.Log) {
	appendAll(t, log, "jobs", 1, "one", "two", "three")
	first, second := claim(t, log), claim(t, log)
	if err := second.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.Done(t.Context()); !errors.Is(err, stream.ErrLost) {
		t.Errorf("what is done is done again: %v", err)
	}
	third := claim(t, log)
	if a, b, c := first.Entry().Seq, second.Entry().Seq, third.Entry().Seq; a == b || b == c || a == c {
		t.Errorf("messages %d, %d, %d: one is taken twice", a, b, c)
	}
	if err := errors.Join(first.Return(t.Context()), third.Return(t.Context())); err != nil {
		t.Fatal(err)
	}
	left := map[uint64]bool{claim(t, log).Entry().Seq: true, claim(t, log).Entry().Seq: true}
	if !left[first.Entry().Seq] || !left[third.Entry().Seq] {
		t.Errorf("left are %v, want %d and %d", left, first.Entry().Seq, third.Entry().Seq)
	}
}

// A topic is either read in order or shared out, never both.
func either(t *testing.T, log stream.Log) {
	appendAll(t, log, "jobs", 1, "a")
	appendAll(t, log, "read", 1, "a")
	claim(t, log)
	readAll(t, log, "read", 1, 1)
	if _, err := log.Read(t.Context(), "jobs", 1, 1); err == nil {
		t.Error("a topic that is shared out is read")
	}
	if err := log.Acknowledge(t.Context(), "jobs", 1); err == nil {
		t.Error("messages of a topic that is shared out are acknowledged")
	}
	if _, err := log.Claim(t.Context(), "read"); err == nil {
		t.Error("a topic that is read in order is shared out")
	}
}
