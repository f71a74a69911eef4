package parquet

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/internal/disktest"
)

// refused puts a batch that the store cannot keep for now.
func refused(t *testing.T, s *Store, b *result.Batch) {
	t.Helper()
	kept, err := s.Put(t.Context(), b)
	if kept || !errors.Is(err, result.ErrAway) || !strings.Contains(err.Error(), s.dir) {
		t.Fatalf("kept %v, %v: want %q, and the folder %s", kept, err, result.ErrAway, s.dir)
	}
}

// move moves a folder away, and returns what moves it back.
func move(t *testing.T, dir string) (back func()) {
	t.Helper()
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A store whose folder is not there, as when nothing is mounted, keeps nothing and makes no other one. When the folder
// is there again, it goes on where it was: what it was asked for before is kept once.
func TestFolderAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, Options{Dir: dir})
	put(t, s, batch("p", 1, 10, 0), true)
	back := move(t, dir)
	refused(t, s, batch("p", 11, 20, 0))
	refused(t, s, batch("q", 1, 20, 0))
	if at, err := s.Last(t.Context(), "p"); !errors.Is(err, result.ErrAway) || at.Last != 0 {
		t.Errorf("position %+v, %v: want %q", at, err, result.ErrAway)
	}
	back()
	put(t, s, batch("p", 11, 20, 0), true)
	put(t, s, batch("q", 1, 20, 0), true)
	if got := each(t, s, 0, 1); !slices.Equal(got, []uint64{1, 11, 1}) {
		t.Errorf("batches %v, want 1, 11, and 1 of the other", got)
	}
}

// Wherever putting a batch fails, nothing is left behind, and the second try keeps it, once.
func TestFailsWithin(t *testing.T) {
	for _, folder := range []string{written, marks, "journeys"} { // before the mark, at the mark, and behind it
		s := open(t, Options{Dir: t.TempDir()})
		put(t, s, batch("p", 1, 10, 0), true)
		back := move(t, filepath.Join(s.dir, folder))
		refused(t, s, batch("p", 11, 20, 0))
		refused(t, s, batch("p", 11, 20, 0))
		back()
		put(t, s, batch("p", 11, 20, 0), true)
		put(t, s, batch("p", 11, 20, 0), false)
		if got := each(t, s, 0, 1); !slices.Equal(got, []uint64{1, 11}) {
			t.Errorf("without %s: batches %v, want 1 and 11", folder, got)
		}
		nothingUnseen(t, s)
	}
}

func nothingUnseen(t *testing.T, s *Store) {
	t.Helper()
	if left, err := os.ReadDir(filepath.Join(s.dir, written)); err != nil || len(left) > 0 {
		t.Errorf("%v, %v is left behind", left, err)
	}
}

// large adds rows to a batch, whose file has some pages then.
func large(b *result.Batch) *result.Batch {
	for i := range byte(200) { // what is not compressed
		b.Journeys = append(b.Journeys, result.Journey{Key: fmt.Sprintf("%x", sha256.Sum256([]byte{i}))})
	}
	return b
}

// However little room there is, a batch is kept whole or not at all; nothing is left of one that is not, and it is kept
// when there is room.
func TestNoRoom(t *testing.T) {
	const page = 4 << 10
	dir := disktest.Small(t, 1<<10)
	short := 0
	for pages := range int64(12) {
		s := open(t, Options{Dir: filepath.Join(dir, fmt.Sprint(pages))})
		put(t, s, batch("p", 1, 10, 0), true)
		second := large(batch("p", 11, 20, 0))
		free := disktest.Fill(t, dir, pages*page)
		kept, err := s.Put(t.Context(), second)
		if kept != (err == nil) || err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%d pages: kept %v, %v", pages, kept, err)
		}
		if err != nil {
			short++
		}
		nothingUnseen(t, s)
		free()
		put(t, s, second, err != nil)
		if got := each(t, s, 0, 1); !slices.Equal(got, []uint64{1, 11}) {
			t.Errorf("%d pages: batches %v, want 1 and 11", pages, got)
		}
	}
	if short < 2 || short > 10 {
		t.Errorf("there was no room for %d of 12 batches: want that some fail in each place, and some do not", short)
	}
}

// What is too old goes also while there is no room for a batch, and may be what makes room.
func TestAgeMakesRoom(t *testing.T) {
	dir := disktest.Small(t, 512)
	s := open(t, Options{Dir: filepath.Join(dir, "store"), Age: time.Hour})
	first := large(batch("p", 1, 10, 0))
	put(t, s, first, true)
	disktest.Fill(t, dir, 0)
	refused(t, s, batch("p", 11, 20, 0))
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(s.dir, "journeys", nameOf(first)), long, long); err != nil {
		t.Fatal(err)
	}
	s.tidied = long
	put(t, s, batch("p", 11, 20, 0), true)
}
