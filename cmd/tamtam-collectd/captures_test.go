package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tamtam/collector/stream"
)

// A capture is read into a log once, whatever it is called and whoever reads it; another one, and into another log, is.
func TestCapturesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := func(name, text string) string {
			p := filepath.Join(dir, name)
			if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return p
		}
		a, b, again := path("a", "frames"), path("b", "others"), path("again", "frames")
		var said bytes.Buffer
		o := &opener{books: stream.NewMemory(0), logger: slog.New(slog.NewTextHandler(&said, nil)), started: time.Now()}
		for _, c := range []struct{ read, want []string }{
			{[]string{a}, []string{a}}, {[]string{a}, nil}, {[]string{again, b}, []string{b}}, {[]string{b, a}, nil},
		} {
			got, err := o.unread(t.Context(), c.read)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("of %v: %v, %v; want %v", c.read, got, err, c.want)
			}
		}
		if n := strings.Count(said.String(), "a capture was read into this log before"); n != 4 {
			t.Errorf("%s: said %d times, want 4", said.String(), n)
		}
		o.books = stream.NewMemory(0)
		if got, err := o.unread(t.Context(), []string{a}); err != nil || len(got) != 1 {
			t.Errorf("into another log: %v, %v", got, err)
		}
	})
}
