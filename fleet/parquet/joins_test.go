package parquet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A store keeps the rows of one log, as positions of another one mean other messages. Without its marks it accepts a
// new log.
func TestJoins(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	for range 2 {
		if err := s.Joins("A"); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, batch("p-0", 1, 10, 100), true)
	err := open(t, Options{Dir: dir}).Joins("B")
	if err == nil ||
		!strings.Contains(err.Error(), "has the rows of log A up to its marks, and this is log B: want that log") {
		t.Errorf("another log: %v", err)
	}
	for _, name := range []string{"log", "marks"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, Options{Dir: dir})
	if err := s.Joins("B"); err != nil {
		t.Error(err)
	}
	put(t, s, batch("p-0", 1, 4, 200), true)
	if got := each(t, s, 0, 1000); len(got) != 2 {
		t.Errorf("%d batches, want that of the log before and that of this one", len(got))
	}
}
