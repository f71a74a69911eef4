package stream

import (
	"context"
	"errors"
	"testing"
)

// Acknowledged messages are gone, and reading one returns an error that contains the first sequence of the topic.
func TestAcknowledged(t *testing.T) {
	m := NewMemory(0)
	ctx := t.Context()
	for _, id := range []string{"a", "b", "a", "c"} {
		if _, err := m.Append(ctx, "stamps", id, []byte(id)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := m.Read(ctx, "stamps", 1, 10)
	if err != nil || len(got) != 3 || string(got[2].Data) != "c" || got[2].Seq != 3 {
		t.Fatalf("%v, %v: want a, b, c", got, err)
	}
	if err := m.Acknowledge(ctx, "stamps", 2); err != nil {
		t.Fatal(err)
	}
	var gone *Gone
	if _, err := m.Read(ctx, "stamps", 1, 10); !errors.As(err, &gone) || gone.First != 3 {
		t.Errorf("%v: want that message 1 is gone, and 3 the first", err)
	}
	if err := m.Acknowledge(ctx, "stamps", 4); err == nil {
		t.Error("a message that was never appended is acknowledged")
	}
}

// A full log blocks Append until something is acknowledged.
func TestFull(t *testing.T) {
	m := NewMemory(2 * (100 + entryCost))
	data := make([]byte, 100)
	for range 2 {
		if _, err := m.Append(t.Context(), "a", "", data); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Append(ended, "b", "", data); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: want that it waited until its context ended", err)
	}
	appended := make(chan error)
	go func() { _, err := m.Append(t.Context(), "b", "", data); appended <- err }()
	if err := m.Acknowledge(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	if err := <-appended; err != nil {
		t.Error(err)
	}
}

// Returned work is given to the next worker; finished work is not given again.
func TestWork(t *testing.T) {
	m := NewMemory(0)
	ctx := t.Context()
	for _, job := range []string{"one", "two"} {
		if _, err := m.Append(ctx, "jobs", job, []byte(job)); err != nil {
			t.Fatal(err)
		}
	}
	first, second := claim(t, m), claim(t, m)
	if err := errors.Join(first.Return(ctx), second.Done(ctx)); err != nil {
		t.Fatal(err)
	}
	again := claim(t, m)
	if again.Entry().Seq != 1 {
		t.Errorf("took message %d, want 1, which was returned", again.Entry().Seq)
	}
	if err := first.Done(ctx); !errors.Is(err, ErrLost) {
		t.Errorf("%v: want that returned work cannot be done", err)
	}
	if _, err := m.Read(ctx, "jobs", 1, 1); err == nil {
		t.Error("a topic that is shared out is read")
	}
}

func claim(t *testing.T, m *Memory) Work {
	t.Helper()
	w, err := m.Claim(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	return w
}
