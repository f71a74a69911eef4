package parquet

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"tamtam/collector/result"
)

// rowTypes holds the row types of each kind's files.
var rowTypes = map[string]reflect.Type{
	"hops": reflect.TypeFor[hopRow](), "drops": reflect.TypeFor[dropRow](), "losses": reflect.TypeFor[lossRow](),
	"journeys": reflect.TypeFor[journeyRow](), "sketches": reflect.TypeFor[sketchRow](),
	"sources": reflect.TypeFor[sourceRow](), "amends": reflect.TypeFor[amendRow](),
}

func columnsOf(kind string) (list []reflect.StructField) {
	for _, f := range reflect.VisibleFields(rowTypes[kind]) {
		if !f.Anonymous {
			list = append(list, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag})
		}
	}
	return list
}

func nameOfColumn(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
	return name
}

// foreign writes a file of a batch with one row of other columns.
func foreign(t *testing.T, s *Store, kind string, b *result.Batch, columns []reflect.StructField) (path string) {
	t.Helper()
	path = filepath.Join(s.dir, kind, nameOf(b))
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	_ = s.Unread() // this drops the cached result: the next file may have the same length and time
	row := reflect.New(reflect.StructOf(columns))
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewWriter(file, parquet.SchemaOf(row.Interface()),
		parquet.KeyValueMetadata(metadata, `{"Partition":"p","First":1,"Last":1}`))
	if err := errors.Join(w.Write(row.Interface()), w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// If a file lacks a column, or has one of another type, the error contains that column, and no row of the file is read
// with 0 in it. All other files are read.
func TestForeignColumns(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	put(t, s, batch("q", 1, 1, 0), true)
	for kind := range rowTypes {
		b := batch("p", 1, 1, 0)
		all := columnsOf(kind)
		for i, c := range all {
			name := nameOfColumn(c)
			others := slices.Delete(slices.Clone(all), i, i+1)
			if name != "events_left_out" && name != "told_ns" && name != "start_ns" { // see TestOlderFiles
				refusedColumn(t, s, foreign(t, s, kind, b, others), name, "is missing: want ")
			}
			other := reflect.TypeFor[string]()
			if c.Type == other {
				other = reflect.TypeFor[float64]()
			}
			c.Type, c.Tag = other, reflect.StructTag(`parquet:"`+name+`"`)
			if name == "hops" || strings.HasSuffix(name, "_buckets") {
				name += ".list.element"
				refusedColumn(t, s, foreign(t, s, kind, b, append(others, c)), name, "is missing: want ")
			} else {
				refusedColumn(t, s, foreign(t, s, kind, b, append(others, c)), name, ": want ")
			}
		}
		path := foreign(t, s, kind, b, []reflect.StructField{{Name: "Poem", Type: reflect.TypeFor[string]()}})
		refusedColumn(t, s, path, "", "; column ")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Unread(); err != nil {
		t.Errorf("%v, want that all is well again", err)
	}
}

// refusedColumn expects an error that names one file and a column, and that the batch of partition q is read.
func refusedColumn(t *testing.T, s *Store, path, column, want string) {
	t.Helper()
	var unread *result.Unread
	var read []string
	err := s.Each(t.Context(), 0, 1, func(b *result.Batch) bool { read = append(read, b.Partition); return true })
	for _, err := range []error{err, s.Unread()} {
		if !errors.As(err, &unread) || unread.Files != 1 || !strings.Contains(err.Error(), path+": column "+column) ||
			!strings.Contains(err.Error(), want) {
			t.Fatalf("%v; want that %s, column %s and %q are named", err, path, column, want)
		}
	}
	if !slices.Equal(read, []string{"q"}) {
		t.Fatalf("%s, column %s: batches of %v are read, want q", path, column, read)
	}
}

// Files from before some columns existed are read, and the values of these columns are unknown, not 0.
func TestOlderFiles(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	b := batch("p", 1, 1, 0)
	without := func(kind string, names ...string) {
		columns := columnsOf(kind)
		foreign(t, s, kind, b, slices.DeleteFunc(columns, func(f reflect.StructField) bool {
			return slices.Contains(names, nameOfColumn(f))
		}))
	}
	without("losses", "mean_delay_ns", "mean_delay_sum_ns", "mean_delay_unknown")
	without("sources", "events_left_out", "told_ns")
	without("sketches", "start_ns")
	var got *result.Batch
	err := s.Each(t.Context(), 0, 1, func(b *result.Batch) bool { got = b; return true })
	if err = errors.Join(err, s.Unread()); err != nil {
		t.Fatal(err)
	}
	if l := got.Losses; len(l) != 1 || l[0].Mean != (result.MeanDelay{Unknown: older}) {
		t.Errorf("losses %+v, want one whose mean delay is not known: %s", l, older)
	}
	if l := got.Sources; len(l) != 1 || l[0].LeftOut != -1 || l[0].ReportedUntil != 0 {
		t.Errorf("sources %+v, want one of which is not known what it left out, and told", l)
	}
	if l := got.Sketches; len(l) != 1 || l[0].Start != 0 {
		t.Errorf("sketches %+v, want one for an epoch with an unknown start", l)
	}
}

// A removed or unknown column in a file does no harm.
func TestMoreColumns(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	more := reflect.StructField{Name: "Reordered", Type: reflect.TypeFor[int64](), Tag: `parquet:"reordered"`}
	foreign(t, s, "losses", batch("p", 1, 1, 0), append(columnsOf("losses"), more))
	losses := 0
	err := s.Each(t.Context(), 0, 1, func(b *result.Batch) bool { losses += len(b.Losses); return true })
	if err = errors.Join(err, s.Unread()); err != nil || losses != 1 {
		t.Errorf("%d losses, %v; want 1", losses, err)
	}
}

// A file that Each could not read is reported until it changes, even if its footer is intact.
func TestUnreadRows(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	b := batch("p", 1, 1, 0)
	put(t, s, b, true)
	path := filepath.Join(s.dir, "journeys", nameOf(b))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(whole)
	for i := 4; i < 40; i++ {
		damaged[i] ^= 0xff
	}
	for _, c := range []struct {
		text []byte
		err  bool
	}{{damaged, true}, {nil, true}, {whole[:len(whole)-1], true}, {whole, false}} {
		if c.text != nil {
			if err := os.WriteFile(path, c.text, 0o644); err != nil {
				t.Fatal(err)
			}
			changed := time.Unix(int64(len(c.text)), int64(c.text[5]))
			if err := os.Chtimes(path, changed, changed); err != nil {
				t.Fatal(err)
			}
			err := s.Each(t.Context(), 0, 1, func(*result.Batch) bool { return true })
			if (err != nil) != c.err {
				t.Errorf("%d bytes: %v", len(c.text), err)
			}
		}
		if err := s.Unread(); (err != nil) != c.err || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%d bytes: %v, want an error: %v", len(c.text), err, c.err)
		}
	}
}
