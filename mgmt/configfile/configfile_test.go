package configfile

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/swss"

	"github.com/google/go-cmp/cmp"
)

func rowsOf(rate string) Rows { return Rows{"T": {"k": {"f": rate}}} }

// An archive stores the configured number of files, the newest first. It also stores an older one that is still needed.
func TestArchive(t *testing.T) {
	a := Archive{Dir: filepath.Join(t.TempDir(), "not", "there", "yet"), Most: 3}
	if notes, err := a.List(); err != nil || len(notes) > 0 {
		t.Fatalf("an archive that is not there: %v, %v", notes, err)
	}
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	needed, err := a.Add(Note{Time: at, Kind: "start"}, rowsOf("0"), 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 5; i++ {
		if _, err := a.Add(Note{Time: at, User: "u", Kind: "save", Comment: "a\nb"}, rowsOf(fmt.Sprint(i)),
			needed); err != nil {
			t.Fatal(err)
		}
	}
	notes, err := a.List()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range notes {
		_, rows, err := a.Load(n.Seq)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %q %d rows %s", n.Kind, n.Comment, n.Rows, rows["T"]["k"]["f"]))
	}
	want := []string{`save "a\nb" 1 rows 5`, `save "a\nb" 1 rows 4`, `save "a\nb" 1 rows 3`, `start "" 1 rows 0`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if err := os.WriteFile(filepath.Join(a.Dir, "000000000099.config"), []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := a.List(); err != nil || len(again) != len(notes) {
		t.Errorf("beside a file that is none: %v, %v", again, err)
	}
}

// A file is written as a whole or not at all, and no temporary file is left.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := Write(name, strings.NewReader("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := Write(name, &failing{strings.NewReader("new")}, 0o640); err == nil {
		t.Error("a text that breaks off is written")
	}
	text, err := os.ReadFile(name)
	if err != nil || string(text) != "old" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("beside it: %v, %v", files, err)
	}
}

// Replace keeps the mode of a file that another program made. If the path is a symbolic link, the link stays.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(name, []byte("old"), 0o600), os.Symlink("f", link)); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(dir, "fresh")
	for _, to := range []string{link, fresh} {
		if err := Replace(to, strings.NewReader("new"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil || string(text) != "new" {
		t.Errorf("the file is %q, %v", text, err)
	}
	for file, want := range map[string]os.FileMode{name: 0o600, link: os.ModeSymlink | 0o777, fresh: 0o644} {
		if info, err := os.Lstat(file); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", file, info.Mode(), err, want)
		}
	}
}

type failing struct{ r *strings.Reader }

func (f *failing) Read(b []byte) (int, error) {
	if f.r.Len() == 0 {
		return 0, errors.New("no more")
	}
	return f.r.Read(b[:1])
}

// Numbers, which SONiC writes in quotes, keep the digits as written.
func TestNumbers(t *testing.T) {
	rows, err := Parse(
		[]byte(`{"PORT":{"Ethernet0":{"speed":1600000,"id":12345678901234567890,"x":1.50,"up":true,"l":[1,2000000]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := swss.FieldValues{"speed": "1600000", "id": "12345678901234567890", "x": "1.50", "up": "true",
		"l@": "1,2000000"}
	if diff := cmp.Diff(want, rows["PORT"]["Ethernet0"]); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// A configuration, with the differences applied, becomes the other.
func TestDiff(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 200}, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		roll := func() Rows {
			c := Rows{}
			for range rng.IntN(8) {
				f := swss.FieldValues{"NULL": "NULL"}
				for range rng.IntN(3) {
					f = maps.Clone(f)
					delete(f, "NULL")
					f[fmt.Sprintf("f%d", rng.IntN(3))] = fmt.Sprint(rng.IntN(2))
				}
				c.put(fmt.Sprintf("T%d", rng.IntN(2)), fmt.Sprintf("k%d", rng.IntN(3)), f)
			}
			return c
		}
		from, to := roll(), roll()
		got := Rows{}
		for table, rows := range from {
			for key, f := range rows {
				got.put(table, key, maps.Clone(f))
			}
		}
		for _, d := range Diff(from, to) {
			if d.Kind == Removed {
				delete(got[d.Table], d.Key)
				if len(got[d.Table]) == 0 {
					delete(got, d.Table)
				}
				continue
			}
			row := got[d.Table][d.Key]
			if row == nil {
				row = swss.FieldValues{}
				got.put(d.Table, d.Key, row)
			}
			delete(row, "NULL")
			for _, f := range d.Was {
				name, _, _ := strings.Cut(f, "=")
				delete(row, name)
			}
			for _, f := range d.Is {
				name, v, _ := strings.Cut(f, "=")
				row[name] = v
			}
			if len(row) == 0 {
				row["NULL"] = "NULL"
			}
		}
		if diff := cmp.Diff(to, got); diff != "" {
			t.Errorf("from %v by %v (-want +got):\n%s", from, Diff(from, to), diff)
		}
	})
}

// Any file in an archive is either listed or omitted.
func FuzzArchived(f *testing.F) {
	f.Add([]byte("{\"time\":\"2026-11-26T12:00:00Z\",\"kind\":\"save\"}\n{\"T\":{\"k\":{\"f\":\"1\"}}}"))
	f.Add([]byte("{}\n"))
	f.Add([]byte("{"))
	a := Archive{Dir: f.TempDir(), Most: 3}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(a.file(7), text, 0o600); err != nil {
			t.Fatal(err)
		}
		notes, err := a.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range notes {
			if n.Seq != 7 {
				t.Errorf("it has the number %d", n.Seq)
			}
			if _, rows, err := a.Load(7); err == nil && rows == nil {
				t.Error("it is loaded as nothing")
			}
		}
	})
}
