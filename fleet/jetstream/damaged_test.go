package jetstream

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tamtam/fleet/stream"
)

// damage inverts one byte for each of some data in the files of a topic, at an offset after the start of the data. An
// offset within the data makes the checksum of its record wrong.
func damage(t *testing.T, dir, topic string, behind int, data ...string) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "tamtam-"+topic, "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("no files of topic %s: %v", topic, err)
	}
	for _, text := range data {
		found := false
		for _, path := range blocks {
			block, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if at := bytes.Index(block, []byte(text)); at >= 0 {
				block[at+behind] ^= 0xff
				if err := os.WriteFile(path, block, 0o600); err != nil {
					t.Fatal(err)
				}
				found = true
			}
		}
		if !found {
			t.Fatalf("no message %q in %v", text, blocks)
		}
	}
}

// tagged returns the n-th message, which is unique.
func tagged(n int) string { return "message-" + string(rune('A'+n)) + "-" }

// messagesOf creates a topic with n messages, and stops its server.
func messagesOf(t *testing.T, dir string, n int) {
	t.Helper()
	s := startServer(t, ServerOptions{Dir: dir})
	l := openLog(t, Options{Server: s})
	for i := range n {
		if _, err := l.Append(t.Context(), "t", "", []byte(tagged(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
	s.Close()
}

// all reads the messages from one sequence up to a last one, and returns the gaps between them.
func all(t *testing.T, l *Log, from, last uint64) (read []uint64, gone []stream.Gone) {
	t.Helper()
	for from <= last {
		entries, err := l.Read(t.Context(), "t", from, 100)
		var g *stream.Gone
		if errors.As(err, &g) {
			gone = append(gone, *g)
			from = g.First
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if string(e.Data) != tagged(int(e.Seq)) {
				t.Errorf("message %d says %q", e.Seq, e.Data)
			}
			read = append(read, e.Seq)
			from = e.Seq + 1
		}
	}
	return read, gone
}

// Messages that are damaged on the disk, even the last ones, are reported, and all others are read. The same holds if
// the damage happens while the server runs.
func TestDamaged(t *testing.T) {
	for name, bad := range map[string][]int{
		"one": {5}, "some": {5, 6, 7}, "the first": {1, 2}, "the last": {19, 20}, "two": {4, 12},
	} {
		for _, runs := range []bool{false, true} {
			dir := t.TempDir()
			messagesOf(t, dir, 20)
			var texts []string
			var want []stream.Gone
			for i, n := range bad {
				texts = append(texts, tagged(n))
				if i > 0 && bad[i-1] == n-1 {
					want[len(want)-1].First++
				} else {
					want = append(want, stream.Gone{Topic: "t", Seq: uint64(n), First: uint64(n + 1), Damaged: true})
				}
			}
			if !runs {
				damage(t, dir, "t", 0, texts...)
			}
			l := openLog(t, Options{Server: startServer(t, ServerOptions{Dir: dir, Sync: time.Minute})})
			if runs {
				damage(t, dir, "t", 0, texts...)
			}
			read, gone := all(t, l, 1, 20)
			if len(read) != 20-len(bad) || len(gone) != len(want) {
				t.Fatalf("%s, running %v: messages %v, gone %+v; want %+v gone", name, runs, read, gone, want)
			}
			for i := range want {
				if gone[i] != want[i] {
					t.Errorf("%s, running %v: gone %+v, want %+v", name, runs, gone[i], want[i])
				}
			}
			if err := l.Acknowledge(t.Context(), "t", 10); err != nil {
				t.Error(err)
			}
			if seq, err := l.Append(t.Context(), "t", "", []byte(tagged(21))); err != nil || seq != 21 {
				t.Errorf("the next message is %d, %v: want 21", seq, err)
			}
			if read, _ := all(t, l, 21, 21); len(read) != 1 {
				t.Error("the message behind them is not read")
			}
		}
	}
}

// A log that lost its end does not reuse the sequences of lost messages, if the caller passes the last one.
func TestReach(t *testing.T) {
	dir := t.TempDir()
	messagesOf(t, dir, 20)
	damage(t, dir, "t", len(tagged(10))+8+2, tagged(10)) // a hash, and the length of the next record
	l := openLog(t, Options{Server: startServer(t, ServerOptions{Dir: dir})})
	for i, want := range []bool{true, false} {
		if lost, err := l.Reach(t.Context(), "t", 18); lost != want || err != nil {
			t.Fatalf("%d: lost %v, %v; want %v", i, lost, err, want)
		}
	}
	if seq, err := l.Append(t.Context(), "t", "", []byte(tagged(19))); err != nil || seq != 19 {
		t.Errorf("the next message is %d, %v: want 19", seq, err)
	}
	var gone *stream.Gone
	if _, err := l.Read(t.Context(), "t", 5, 1); !errors.As(err, &gone) || gone.First != 19 {
		t.Errorf("%v: want that those up to 18 are gone", err)
	}
	if read, _ := all(t, l, 19, 19); len(read) != 1 {
		t.Error("the new message is not read")
	}
}
