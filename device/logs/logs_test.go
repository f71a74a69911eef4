package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lines returns the lines of a JSON log, each reduced to the parts that tests compare.
func lines(t *testing.T, log *bytes.Buffer) (all []string) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(log.String()), "\n") {
		if line == "" {
			continue
		}
		var l struct {
			Msg, Daemon, Like string
			More              int
			Last              struct{ Key string }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		text := l.Msg
		if l.Daemon != "" {
			text = l.Daemon + ": " + text
		}
		if l.Like != "" {
			text += fmt.Sprintf(" (%d of %s, the last of %s)", l.More, l.Like, l.Last.Key)
		}
		all = append(all, text)
	}
	log.Reset()
	return all
}

func limited(out *bytes.Buffer) (*Limiter, *slog.Logger) {
	l := &Limiter{}
	return l, slog.New(l.Limit(JSON.Handler(out, slog.LevelWarn)))
}

func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// A flood of messages of one kind is logged as the first ten messages, a count per period, and a last count when it is
// over. A later flood is logged in the same form.
func TestFloodIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l, log := limited(&out)
		defer l.Close()
		for i := range 11_873 {
			log.Warn("task", "key", fmt.Sprintf("F%d", i))
		}
		log.Error("another")
		got := lines(t, &out)
		if len(got) != First+1 || got[0] != "task" || got[First] != "another" {
			t.Fatalf("%d lines: %q", len(got), got)
		}
		want := func(what string, want ...string) {
			t.Helper()
			if got := lines(t, &out); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		wait(Period)
		want("after a period", "and 11863 more like this (11863 of task, the last of F11872)")
		log.Warn("task", "key", "A")
		log.Warn("task", "key", "B")
		want("within the next")
		wait(Period)
		want("after it", "and 2 more like this (2 of task, the last of B)")
		wait(Period)
		want("after one without")
		log.Warn("task", "key", "C")
		want("then", "task")
	})
}

// Pending counts are written when the process ends.
func TestCloseReportsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l, log := limited(&out)
		for range First + 3 {
			log.Warn("task", "key", "A")
		}
		lines(t, &out)
		l.Close()
		log.Warn("the last word")
		if got := lines(t, &out); len(got) != 2 || !strings.HasPrefix(got[0], "and 3 more") || got[1] != "the last word" {
			t.Errorf("%q", got)
		}
	})
}

// Daemons and levels count separately, and messages below the level do not count.
func TestKindsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l, log := limited(&out)
		defer l.Close()
		a, b := log.With("daemon", "orchagent"), log.With("daemon", "tammgrd")
		for range First {
			a.Info("task")
			a.Warn("task")
			b.Warn("task")
			b.Error("task")
		}
		if got := lines(t, &out); len(got) != 3*First {
			t.Errorf("%d lines, want %d", len(got), 3*First)
		}
	})
}

// With any number of kinds, memory is bounded, and everything is counted.
func TestManyKindsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l, log := limited(&out)
		const n = 1000
		for i := range n {
			log.Warn(fmt.Sprintf("kind %d", i), "key", "A")
		}
		if len(l.kinds) > mostKinds+1 {
			t.Errorf("%d kinds", len(l.kinds))
		}
		l.Close()
		got := lines(t, &out)
		want := fmt.Sprintf("and %d more like this (%d of anything else, the last of A)", n-mostKinds-First,
			n-mostKinds-First)
		if len(got) != mostKinds+First+1 || got[len(got)-1] != want {
			t.Errorf("%d lines, the last %q, want %q", len(got), got[len(got)-1], want)
		}
	})
}

func TestFormats(t *testing.T) {
	for _, name := range []string{"text", "json"} {
		f, err := ParseFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		slog.New(f.Handler(&out, slog.LevelWarn)).Warn("hello")
		if isJSON := json.Valid(out.Bytes()); isJSON != (f == JSON) {
			t.Errorf("%s: %s", name, out.String())
		}
	}
	if _, err := ParseFormat("xml"); err == nil || err.Error() != `"xml": want text or json` {
		t.Errorf("xml: %v", err)
	}
}
