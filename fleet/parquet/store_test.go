package parquet

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tamtam/collector/result"
	"tamtam/internal/randtest"
)

func open(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func batch(partition string, first, last uint64, at int64) *result.Batch {
	return &result.Batch{
		Partition: partition, First: first, Position: result.Position{Last: last, Closed: at, Low: last + 1},
		Journeys: []result.Journey{{Time: at, Flow: "a flow"}},
	}
}

func put(t *testing.T, s *Store, b *result.Batch, want bool) {
	t.Helper()
	if kept, err := s.Put(t.Context(), b); kept != want || err != nil {
		t.Fatalf("messages %d to %d: kept %v, %v; want %v", b.First, b.Last, kept, err, want)
	}
}

// each returns the first messages of all batches that may have rows in a time.
func each(t *testing.T, s *Store, from, to int64) (firsts []uint64) {
	t.Helper()
	err := s.Each(t.Context(), from, to, func(b *result.Batch) bool { firsts = append(firsts, b.First); return true })
	if err != nil {
		t.Fatal(err)
	}
	return firsts
}

// A batch that is made twice is kept once, also by another process after its files have expired. A batch that leaves
// messages out is refused.
func TestPut(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	put(t, s, batch("p-0", 1, 10, 100), true)
	put(t, s, batch("p-0", 1, 10, 100), false)
	put(t, s, batch("p-0", 3, 7, 100), false)
	for _, b := range []*result.Batch{
		batch("p-0", 5, 12, 0), batch("p-0", 12, 13, 0), batch("p-0", 0, 3, 0), batch("p-0", 11, 10, 0),
		batch("../p", 1, 1, 0), batch("", 1, 1, 0),
	} {
		if _, err := s.Put(t.Context(), b); err == nil {
			t.Errorf("partition %q, messages %d to %d: want an error", b.Partition, b.First, b.Last)
		}
	}
	put(t, s, batch("p-0", 11, 11, 200), true)
	put(t, s, batch("p-1", 1, 2, 150), true)
	if err := s.tidy(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := each(t, s, 0, 1000); !slices.Equal(got, []uint64{1, 11, 1}) {
		t.Errorf("batches %v, want 1, 11, and 1 of the other", got)
	}
	if got := each(t, s, 120, 170); !slices.Equal(got, []uint64{1}) {
		t.Errorf("batches %v from 120 to 170, want that of 150", got)
	}
	old := open(t, Options{Dir: dir, Age: time.Minute})
	if err := old.tidy(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := each(t, s, 0, 1000); len(got) > 0 || old.Forgotten().Files != 3 {
		t.Errorf("%v is left and %+v was forgotten, want nothing and 3 files", got, old.Forgotten())
	}
	put(t, s, batch("p-0", 1, 10, 100), false)
	put(t, s, batch("p-0", 11, 11, 100), false)
	if at, err := s.Last(t.Context(), "p-0"); err != nil || at.Last != 11 || at.Closed != 200 || at.Low != 12 {
		t.Errorf("position %+v, %v: want 11, 200, 12", at, err)
	}
}

// A process that read the position long ago is too late when it writes a batch that was kept and removed meanwhile.
func TestLate(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	put(t, s, batch("p", 1, 10, 0), true)
	put(t, s, batch("p", 11, 20, 0), true)
	put(t, s, batch("p", 21, 30, 0), true)
	if kept, err := s.mark("p", mark{Batch: "late", first: 11}); kept || err != nil {
		t.Errorf("kept %v, %v: want that it falls", kept, err)
	}
	if kept, err := s.mark("p", mark{Batch: "late", first: 21}); kept || err != nil {
		t.Errorf("kept %v, %v: want that it falls", kept, err)
	}
	if at, err := s.Last(t.Context(), "p"); err != nil || at.Last != 30 {
		t.Errorf("position %+v, %v: want 30", at, err)
	}
}

// A process that dies before its mark has put nothing, one that dies after it has put everything, and nothing is left
// behind.
func TestDies(t *testing.T) {
	for _, marked := range []bool{false, true} {
		dir := t.TempDir()
		s := open(t, Options{Dir: dir})
		b := batch("p", 1, 10, 5)
		m := mark{Batch: "dead", Name: nameOf(b), Position: b.Position, first: 1}
		for _, k := range s.kinds {
			if n, err := k.write(s.unseen(k.name, m), b); err != nil {
				t.Fatal(err)
			} else if n > 0 {
				m.Kinds = append(m.Kinds, k.name)
			}
		}
		if marked {
			if kept, err := s.mark("p", m); !kept || err != nil {
				t.Fatalf("kept %v, %v", kept, err)
			}
		}
		heir := open(t, Options{Dir: dir})
		if err := heir.tidy(time.Now().Add(2 * strayAfter)); err != nil {
			t.Fatal(err)
		}
		put(t, heir, b, !marked)
		if got := each(t, heir, 0, 10); !slices.Equal(got, []uint64{1}) {
			t.Errorf("marked %v: batches %v, want one", marked, got)
		}
		if left, err := os.ReadDir(filepath.Join(dir, written)); err != nil || len(left) > 0 {
			t.Errorf("marked %v: %v, %v is left behind", marked, left, err)
		}
	}
}

// Concurrent workers of one partition put each batch once.
func TestTogether(t *testing.T) {
	dir := t.TempDir()
	var kept atomic.Int64
	var wait sync.WaitGroup
	for range 4 {
		s := open(t, Options{Dir: dir})
		wait.Go(func() {
			for {
				at, err := s.Last(t.Context(), "p")
				if err != nil || at.Last >= 15 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				ok, err := s.Put(t.Context(), batch("p", at.Last+1, at.Last+3, int64(at.Last)))
				if err != nil {
					t.Error(err)
					return
				}
				if ok {
					kept.Add(1)
				}
			}
		})
	}
	wait.Wait()
	got := each(t, open(t, Options{Dir: dir}), 0, 100)
	if !slices.Equal(got, []uint64{1, 4, 7, 10, 13}) || kept.Load() > 5 {
		t.Errorf("batches %v, %d said to be kept: want each once", got, kept.Load())
	}
}

// The oldest files are removed when there are too many.
func TestBytes(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), Bytes: 1})
	for i := range uint64(3) {
		put(t, s, batch("p", i+1, i+1, 0), true)
	}
	if err := s.tidy(time.Now()); err != nil || s.Forgotten().Files != 3 {
		t.Errorf("%v, forgotten %+v: want 3 files", err, s.Forgotten())
	}
	if at, err := s.Last(t.Context(), "p"); err != nil || at.Last != 3 {
		t.Errorf("position %+v, %v: want 3", at, err)
	}
}

// A batch is removed with all its files: the rest of its rows would be taken for all of them.
func TestBytesOfWholeBatches(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	size := int64(0)
	for i := range uint64(2) {
		b := batch("p", i+1, i+1, 100)
		b.Sources = []result.Source{{Name: "a", Kind: "tailstamp"}}
		put(t, s, b, true)
		for _, kind := range []string{"journeys", "sources"} {
			info, err := os.Stat(filepath.Join(s.dir, kind, nameOf(b)))
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
	}
	s.most = size - 1
	if err := s.tidy(time.Now()); err != nil || s.Forgotten().Files != 2 {
		t.Errorf("%v, forgotten %+v: want 2 files", err, s.Forgotten())
	}
	if got := each(t, s, 0, 1000); !slices.Equal(got, []uint64{2}) {
		t.Errorf("batches %v, want 2", got)
	}
}

// If the removal of a batch ends before all its files are removed, no reader gets the rest, and the next tidy removes
// it. The batch is not put again.
func TestRemovalEnds(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	b := batch("p", 1, 1, 100)
	b.Sources = []result.Source{{Name: "a", Kind: "tailstamp"}}
	b.Amends = []result.Amend{{From: 100, To: 100, Flags: result.Gap}}
	put(t, s, b, true)
	put(t, s, batch("p", 2, 2, 200), true)
	stuck := filepath.Join(s.dir, "sources", nameOf(b))
	if err := errors.Join(os.Remove(stuck), os.MkdirAll(filepath.Join(stuck, "file"), 0o755)); err != nil {
		t.Fatal(err)
	}
	old := open(t, Options{Dir: s.dir})
	old.most = 1
	if err := old.tidy(time.Now()); err == nil {
		t.Fatal("a folder with files was removed as a file")
	}
	left := 0
	for _, k := range s.kinds {
		if _, err := os.Lstat(filepath.Join(s.dir, k.name, nameOf(b))); err == nil {
			left++
		}
	}
	if left == 0 {
		t.Error("no file of the batch is left: want some, as if the process was killed")
	}
	if got := each(t, s, 0, 1000); len(got) > 0 {
		t.Errorf("batches %v are read, want none of the removed ones", got)
	}
	if err := s.Unread(); err != nil {
		t.Error(err)
	}
	put(t, s, b, false)
	if err := errors.Join(os.Remove(filepath.Join(stuck, "file")), s.tidy(time.Now())); err != nil {
		t.Fatal(err)
	}
	for _, k := range append(s.folders(), written) {
		entries, err := os.ReadDir(filepath.Join(s.dir, k))
		for _, e := range entries {
			if e.Name() != noRows {
				t.Errorf("%s/%s is left", k, e.Name())
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// Rows are read back as they were written, whether values are known or not.
func TestRowsOfRandomBatches(t *testing.T) {
	t.Parallel()
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 10}, func(t *testing.T, seed uint64) {
		want := randomBatch(rand.New(rand.NewPCG(seed, 0)))
		s := open(t, Options{Dir: t.TempDir()})
		put(t, s, want, true)
		if at, err := s.Last(t.Context(), want.Partition); err != nil ||
			!cmp.Equal(at, want.Position, cmpopts.EquateEmpty()) {
			t.Errorf("position %+v, %v: want %+v", at, err, want.Position)
		}
		n := 0
		err := s.Each(t.Context(), -1<<62, 1<<62, func(got *result.Batch) bool {
			n++
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(result.Position{}, "Gaps")); d != "" {
				t.Error(d)
			}
			return true
		})
		if err != nil || n != 1 {
			t.Errorf("%d batches, %v: want 1", n, err)
		}
	})
}

func randomBatch(r *rand.Rand) *result.Batch {
	text := func() string { return []string{"", "a", "tcp 10.0.0.1:1 > 10.0.0.2:2", "\x00ü"}[r.IntN(4)] }
	dist := func() (d result.Distribution) {
		if r.IntN(3) > 0 {
			d = result.Distribution{Count: 1 + r.Int64N(9), Sum: r.Int64N(9), Min: r.Int64N(1<<r.IntN(40)) - 1, Max: r.Int64(),
				Buckets: []uint32{1, r.Uint32()}}
			d.First = result.Bucket(d.Min)
		}
		return d
	}
	b := batch("p-7", 1+r.Uint64N(1), 5, r.Int64N(1e15))
	b.Sources = []result.Source{{Name: text(), Kind: "record", Events: r.Int64(), Latest: r.Int64N(2), Number: r.Uint64()}}
	b.Gaps = []result.Amend{{From: 1, To: r.Int64(), Flags: result.Gap}}
	for range r.IntN(20) {
		w := result.Window{Start: r.Int64N(1e15), Length: 1e6}
		b.Hops = append(b.Hops, result.Hop{Window: w, Flow: text(), Path: text(), Index: r.IntN(9), Switch: r.Uint32(),
			In: uint16(r.Uint32()), Out: uint16(r.Uint32()), Packets: r.Int64(), Unknown: r.Int64N(2), Resident: dist(),
			Link: dist(), Flags: result.Flags(r.IntN(64))})
		b.Drops = append(b.Drops, result.Drop{Window: w, Switch: text(), Port: text(), Queue: r.IntN(5) + result.NoQueue,
			Reason: text(), Rule: text(), Flow: text(), Packets: r.Int64(), First: r.Int64N(3), Last: r.Int64(), Source: text()})
		loss := result.Loss{Flow: text(), Cluster: text(), From: text(), To: text(), Period: r.Uint64(), Window: w,
			Status: text(), Delay: dist(), Detail: text(),
			Flags: result.Flags(r.IntN(64))}
		if loss.Known = r.IntN(2) == 0; loss.Known {
			loss.Sent, loss.Received, loss.Lost = r.Int64N(2), r.Int64N(2), r.Int64N(3)-1
		} else if loss.Excess = r.IntN(2) == 0; loss.Excess {
			loss.Sent, loss.Received = r.Int64N(2), r.Int64N(2)
		}
		if loss.Mean = (result.MeanDelay{Unknown: text()}); loss.Mean.Unknown == "" && r.IntN(3) > 0 {
			loss.Mean = result.MeanDelay{Known: true, Delay: r.Int64N(3) - 1,
				Sum: []string{"", "-340282366920938463463"}[r.IntN(2)]}
		}
		b.Losses = append(b.Losses, loss)
		sketch := result.Sketch{Start: r.Int64N(2), Time: w.Start, Switch: text(), Task: text(), Key: text(),
			Estimate: r.Float64()}
		if sketch.Bounded = r.IntN(2) == 0; sketch.Bounded {
			sketch.High = float64(r.IntN(2))
		}
		if sketch.Known = r.IntN(2) == 0; sketch.Known {
			sketch.Truth = float64(r.IntN(2))
		}
		b.Sketches = append(b.Sketches, sketch)
		b.Journeys = append(b.Journeys, result.Journey{Time: w.Start, Flow: text(), Key: text(), From: text(), End: text(),
			Of: r.IntN(3),
			Hops: []result.JourneyHop{{Parent: -1, Switch: text(), In: text(), Perhaps: text(), Arrival: r.Int64N(2),
				Queue: r.IntN(3) - 1,
				Depth: r.Int64N(3) - 1, Tables: text(), Dropped: text()}}})
		b.Amends = append(b.Amends, result.Amend{From: r.Int64(), To: r.Int64(), Flags: result.Gap})
	}
	return b
}

// The error names a file that is truncated, claims more rows than it has, or has other contents. No such file counts as
// empty. All other files are read.
func TestBrokenFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	b := batch("p", 1, 1, 0)
	put(t, s, b, true)
	put(t, s, batch("p", 2, 2, 0), true)
	path := filepath.Join(dir, "journeys", nameOf(b))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string][]byte{"nothing": {}, "4 bytes": whole[:4], "a half": whole[:len(whole)/2],
		"all but a byte": whole[:len(whole)-1], "text": bytes.Repeat([]byte("no rows\n"), 100),
		"zeros": append(append(slices.Clone(whole[:4]), make([]byte, len(whole)-8)...), whole[len(whole)-4:]...)}
	for what, text := range broken {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		unreadable(t, s, what, path)
	}
	// No change of a byte causes a panic: it may lead to an error, or to another row.
	for i := 0; i < len(whole); i += 7 {
		other := slices.Clone(whole)
		other[i] ^= 0xff
		if err := os.WriteFile(path, other, 0o644); err != nil {
			t.Fatal(err)
		}
		others := 0
		err := s.Each(t.Context(), 0, 1, func(b *result.Batch) bool {
			if b.First == 2 {
				others++
			}
			return true
		})
		if others < 1 || err != nil && !strings.Contains(err.Error(), path) {
			t.Fatalf("byte %d is another one: the other batch is told %d times, %v", i, others, err)
		}
	}
}

// unreadable expects an error that names a file, and that the other batch is read.
func unreadable(t *testing.T, s *Store, what, path string) {
	t.Helper()
	var unread *result.Unread
	var firsts []uint64
	err := s.Each(t.Context(), 0, 1, func(b *result.Batch) bool { firsts = append(firsts, b.First); return true })
	if !errors.As(err, &unread) || unread.Files != 1 || !strings.Contains(err.Error(), path) ||
		!slices.Equal(firsts, []uint64{2}) {
		t.Errorf("%s: batches %v, %v; want batch 2, and %s named", what, firsts, err, path)
	}
}

// A reader of KIND/*.parquet finds a file with the columns, even if nothing was kept yet.
func TestEachKindHasAFileWithoutRows(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second open replaces the files
		open(t, Options{Dir: dir})
		for _, k := range kinds() {
			b := &result.Batch{}
			if err := k.read(filepath.Join(dir, k.name, noRows), b); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(b, &result.Batch{}) {
				t.Errorf("%s: %+v", k.name, b)
			}
		}
	}
}
