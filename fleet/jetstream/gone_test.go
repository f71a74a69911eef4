package jetstream

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"tamtam/fleet/stream"
	"tamtam/internal/randtest"
)

// A stream that another client deletes on the server at any time is created again. Its reader gets an error that
// messages are gone, and reads later messages under sequences that were never used. The only further loss are messages
// that a process with less knowledge of the old stream appends before the reader checks.
func TestDeletedStream(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 4, Short: 2}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 21))
		dir := t.TempDir()
		s := startServer(t, ServerOptions{Dir: dir, Sync: time.Minute})
		open := func() *Log { return openLog(t, Options{Server: s}) }
		writers, reader, next := []*Log{open(), open()}, open(), uint64(1)
		type message struct {
			seq  uint64
			text string
		}
		var kept []message // messages that can still be read
		sent := 0
		had := map[uint64]bool{}
		read := func() (gone bool) {
			for len(kept) > 0 {
				got, err := reader.Read(t.Context(), "t", next, 1+r.IntN(4))
				var g *stream.Gone
				if errors.As(err, &g) {
					gone, next = true, g.First
					kept = slices.DeleteFunc(kept, func(m message) bool { return m.seq < next })
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range got {
					if (message{e.Seq, string(e.Data)}) != kept[0] || had[e.Seq] {
						t.Fatalf("message %d is %q, want %+v, and under a new sequence", e.Seq, e.Data, kept[0])
					}
					had[e.Seq] = true
					kept, next = kept[1:], e.Seq+1
				}
			}
			return gone
		}
		send := func() {
			sent++
			text := fmt.Sprint("message ", sent)
			seq, err := writers[r.IntN(2)].Append(t.Context(), "t", text, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, message{seq, text})
		}
		send()
		read()
		for range 3 {
			for range r.IntN(6) {
				send()
			}
			if r.IntN(2) == 0 {
				read()
			}
			if err := writers[0].js.DeleteStream(t.Context(), "tamtam-t"); err != nil {
				t.Fatal(err)
			}
			for { // the server cannot delete a stream of the same name while it removes the files of this one
				if left, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", ".*")); err != nil {
					t.Fatal(err)
				} else if len(left) == 0 {
					break
				}
				runtime.Gosched()
			}
			kept = nil
			if r.IntN(3) == 0 { // the reader is the first to detect it
				if _, err := reader.Read(t.Context(), "t", next, 1); !errors.As(err, new(*stream.Gone)) {
					t.Fatalf("%v: want that messages are gone", err)
				}
				next++
				send()
				read()
				continue
			}
			send()
			if gone := read(); !gone {
				t.Error("the reader is not told that messages are gone")
			}
		}
		// A process that is restarted finds the stream that was created again.
		again := open()
		if _, err := again.Append(t.Context(), "t", "", []byte("again")); err != nil {
			t.Error(err)
		}
	})
}

// Waiting for work whose stream is deleted returns an error.
func TestDeletedWork(t *testing.T) {
	l := openLog(t, Options{Server: startServer(t, ServerOptions{Dir: t.TempDir(), Sync: time.Minute}),
		HoldTime: time.Second})
	if _, err := l.Append(t.Context(), "w", "", []byte("job")); err != nil {
		t.Fatal(err)
	}
	if w, err := l.Claim(t.Context(), "w"); err != nil || w.Done(t.Context()) != nil {
		t.Fatal(err)
	}
	if err := l.js.DeleteStream(t.Context(), "tamtam-w"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Claim(t.Context(), "w"); !errors.Is(err, errDeleted) {
		t.Errorf("%v: want %v", err, errDeleted)
	}
	if _, err := l.Append(t.Context(), "w", "", []byte("job")); !errors.Is(err, errDeleted) {
		t.Errorf("%v: want %v", err, errDeleted)
	}
}
