package collectd

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/fleet/stream"
)

// A capture is read into a log once, whatever its name and whatever process reads it. An interrupted read continues
// under its first name, only with the same captures and options. Another log has its own state.
func TestCapturesOnce(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b, again, c := path("a", "frames"), path("b", "others"), path("again", "frames"), path("c", "more")
	var said bytes.Buffer
	ledger := stream.NewMemory(0)
	old := "3f1d30c5a4d5c5a2c2b7c2d1 2026-01-02T03:04:05Z" // the format of old logs
	if _, err := ledger.Append(t.Context(), topicCaptures, "", []byte(old)); err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	read := func(ledger stream.Log, host string, paths ...string) (o *opener, runs []*captureRun) {
		now = now.Add(time.Second)
		o = &opener{ledger: ledger, logger: slog.New(slog.NewTextHandler(&said, nil)), started: now,
			Sources: Sources{Host: host}}
		runs, err := o.unread(t.Context(), paths)
		if err != nil {
			t.Fatal(err)
		}
		return o, runs
	}
	for i, step := range []struct {
		host  string
		paths []string
		runs  [][]string // runs that are read
		since []int      // start of each, in seconds after the first start
		done  int        // number of runs that are read to their end
		said  string
	}{
		{"h", []string{a, b, again}, [][]string{{a, b}}, []int{1}, 0, "two captures have the same bytes"},
		// the run was killed, and continues in its first order
		{"h", []string{b, again}, [][]string{{again, b}}, []int{1}, 0, ""},
		{"h", []string{a}, nil, nil, 0, "cut off, and goes on only with the same captures"},
		{"other", []string{a, b}, nil, nil, 0, "cut off, and goes on only with the same captures, --host"},
		{"h", []string{a, b, c}, [][]string{{a, b}, {c}}, []int{1, 5}, 1, ""},
		{"h", []string{c, a}, [][]string{{c}}, []int{5}, 1, "was read into this log before"},
		{"h", []string{a, b, c}, nil, nil, 0, "was read into this log before"},
	} {
		said.Reset()
		o, runs := read(ledger, step.host, step.paths...)
		if len(runs) != len(step.runs) || (said.Len() == 0) != (step.said == "") ||
			!strings.Contains(said.String(), step.said) {
			t.Fatalf("step %d: %d runs, want %d; said %q, want %q", i, len(runs), len(step.runs), said.String(), step.said)
		}
		for j, run := range runs {
			if began := now.Unix() - int64(i+1) + int64(step.since[j]); !slices.Equal(run.paths, step.runs[j]) ||
				run.Started != began*int64(time.Second) {
				t.Errorf("step %d: run of %v begun at %d, want %v at %d", i, run.paths, run.Started, step.runs[j], began)
			}
			if j < step.done {
				f, err := o.captureFeed(run)
				if err == nil {
					err = f.done(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if _, runs := read(stream.NewMemory(0), "h", a); len(runs) != 1 {
		t.Errorf("%d runs into another log, want 1", len(runs))
	}
}
