package jetstream

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"tamtam/fleet/stream"
	"tamtam/fleet/stream/streamtest"
)

func startServer(t *testing.T, o ServerOptions) *Server {
	t.Helper()
	s, err := StartServer(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func openLog(t *testing.T, o Options) *Log {
	t.Helper()
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// The log in JetStream passes the tests of every log.
func TestLog(t *testing.T) {
	streamtest.Test(t, func(t *testing.T, most int64) stream.Log {
		return openLog(t, Options{Server: startServer(t, ServerOptions{Dir: t.TempDir(), Sync: time.Minute}), MaxBytes: most})
	})
}

// After a restart the messages exist under their sequences, the acknowledged ones do not, and ids are remembered.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	appendTo := func(l *Log, id string, want uint64) {
		t.Helper()
		if seq, err := l.Append(t.Context(), "t", id, []byte(id)); err != nil || seq != want {
			t.Fatalf("%s: sequence %d, %v; want %d", id, seq, err, want)
		}
	}
	s := startServer(t, ServerOptions{Dir: dir})
	l := openLog(t, Options{Server: s})
	for i, id := range []string{"a", "b", "c"} {
		appendTo(l, id, uint64(i+1))
	}
	if err := l.Acknowledge(t.Context(), "t", 2); err != nil {
		t.Fatal(err)
	}
	l.Close()
	s.Close()

	l = openLog(t, Options{Server: startServer(t, ServerOptions{Dir: dir})})
	var gone *stream.Gone
	if _, err := l.Read(t.Context(), "t", 2, 1); !errors.As(err, &gone) || gone.First != 3 {
		t.Errorf("%v: want that message 2 is gone, and 3 the first", err)
	}
	appendTo(l, "c", 3)
	appendTo(l, "d", 4)
	if got, err := l.Read(t.Context(), "t", 3, 2); err != nil || len(got) != 2 || string(got[1].Data) != "d" {
		t.Errorf("%v, %v: want c and d", got, err)
	}
}

// A folder has one server at a time.
func TestOneServer(t *testing.T) {
	o := ServerOptions{Dir: t.TempDir(), Sync: time.Minute}
	first := startServer(t, o)
	if s, err := StartServer(o); err == nil || !strings.Contains(err.Error(), o.Dir+": another one") {
		t.Errorf("a second server in the folder of one that runs: %v, %v", s, err)
	}
	first.Close()
	startServer(t, o)
}

// If the context of a reader ends while it waits on a log that has answered, the error does not report that the log is
// unavailable. That holds even if the last request could not be answered in time. If the log is unavailable, the error
// of a request reports it.
func TestAway(t *testing.T) {
	s := startServer(t, ServerOptions{Dir: t.TempDir(), Sync: time.Minute})
	l := openLog(t, Options{Server: s})
	if _, err := l.Append(t.Context(), "t", "", []byte("first")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Read(t.Context(), "t", 1, 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	closed := make(chan struct{})
	go func(had uint64) {
		defer close(closed)
		for ctx.Err() == nil && l.conn.Stats().InMsgs < had+2 { // a response that there is nothing, and one more
			runtime.Gosched()
		}
		s.Close()
	}(l.conn.Stats().InMsgs)
	_, err := l.Read(ctx, "t", 2, 1)
	if errors.Is(err, stream.ErrAway) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of a log that has answered: %v, want that nothing came in time", err)
	}
	<-closed
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Read(ctx, "t", 2, 1); !errors.Is(err, stream.ErrAway) {
		t.Errorf("of one that does not: %v, want %v", err, stream.ErrAway)
	}
}

// Work that is not held again within the hold time is given to another worker, and the first holder gets an error.
func TestHolderDies(t *testing.T) {
	s := startServer(t, ServerOptions{Dir: t.TempDir(), Sync: time.Minute})
	o := Options{Server: s, HoldTime: time.Second}
	dead, heir := openLog(t, o), openLog(t, o)
	if _, err := dead.Append(t.Context(), "jobs", "", []byte("job")); err != nil {
		t.Fatal(err)
	}
	lost, err := dead.Claim(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	again, err := heir.Claim(t.Context(), "jobs")
	if err != nil || again.Entry().Seq != 1 {
		t.Fatalf("%v, %v: want message 1", again, err)
	}
	for name, err := range map[string]error{"hold": lost.Hold(t.Context()), "done": lost.Done(t.Context())} {
		if !errors.Is(err, stream.ErrLost) {
			t.Errorf("%s of who was silent too long: %v", name, err)
		}
	}
	if err := again.Done(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := heir.Read(t.Context(), "jobs", 1, 1); err == nil {
		t.Error("a topic that is shared out is read")
	}
	other := openLog(t, Options{Server: s})
	if _, err := other.Read(t.Context(), "jobs", 1, 1); err == nil {
		t.Error("a topic that others share out is read")
	}
}

// The errors of an unreachable server, and of one that does not support a request, contain its URL.
func TestErrors(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, Options{URLs: []string{"nats://127.0.0.1:1"}})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("%v: want the URL of the server that is not there", err)
	}
	s := startServer(t, ServerOptions{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	l := openLog(t, Options{URLs: []string{s.URL()}, Replicas: 3})
	_, err = l.Append(t.Context(), "stamps", "", nil)
	if err == nil || !strings.Contains(err.Error(), "stamps") || !strings.Contains(err.Error(), s.URL()) ||
		!strings.Contains(err.Error(), "replicas") {
		t.Errorf("three replicas on one server: %v; want topic, URL and the reason", err)
	}
}

func TestOptions(t *testing.T) {
	s := startServer(t, ServerOptions{Dir: t.TempDir()})
	for _, o := range []Options{
		{}, {Server: s, URLs: []string{"x"}}, {Server: s, Replicas: 9}, {Server: s, MaxBytes: -1}, {Server: s, MaxAge: -1},
	} {
		if _, err := Open(t.Context(), o); err == nil {
			t.Errorf("%+v: want an error", o)
		}
	}
	dir := t.TempDir()
	for _, o := range []ServerOptions{
		{}, {Dir: dir, Listen: "here"}, {Dir: dir, Cluster: "a:b"}, {Dir: dir, Cluster: ":0", Routes: []string{"x"}},
	} {
		if _, err := StartServer(o); err == nil {
			t.Errorf("%+v: want an error", o)
		}
	}
}
