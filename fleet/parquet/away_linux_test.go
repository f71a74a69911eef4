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

// refused puts a batch, and expects an error that the store is away.
func refused(t *testing.T, s *Store, b *result.Batch) {
	t.Helper()
	kept, err := s.Put(t.Context(), b)
	if kept || !errors.Is(err, result.ErrAway) || !strings.Contains(err.Error(), s.dir) {
		t.Fatalf("kept %v, %v: want %q, and the folder %s", kept, err, result.ErrAway, s.dir)
	}
}

// move moves a folder away, and returns a function that moves it back.
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

// A store whose folder is missing, for example since it is not mounted, keeps nothing and creates no other folder. When
// the folder is back, it continues: the batches that it refused before are kept once.
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

// Wherever a Put fails, nothing is left behind, and the second attempt keeps the batch, once.
func TestFailsWithin(t *testing.T) {
	for _, folder := range []string{written, marks, "journeys"} { // before the mark, at the mark, and after it
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

// large adds rows to a batch, so that its file has several pages.
func large(b *result.Batch) *result.Batch {
	for i := range byte(200) { // incompressible
		b.Journeys = append(b.Journeys, result.Journey{Key: fmt.Sprintf("%x", sha256.Sum256([]byte{i}))})
	}
	return b
}

// However little space there is, a batch is kept completely or not at all. Nothing is left of a refused one, and it is
// kept when there is space.
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

// Expired files are removed even while there is no space for a batch, since that may free the space.
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
