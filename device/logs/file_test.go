package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The size of a file and the number of its predecessors are bounded. No line is cut, and lines are lost only with the
// oldest file.
func TestFileIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit")
	f, err := OpenFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f.most = 100
	const lines = 100
	for i := range lines {
		if _, err := fmt.Fprintf(f, "line %04d\n", i); err != nil { // ten lines fit in one file
			t.Fatal(err)
		}
	}
	var all strings.Builder
	for i := FilesKept; i >= 0; i-- {
		of := f.numbered(i)
		if i == 0 {
			of = name
		}
		text, err := os.ReadFile(of)
		if err != nil || len(text) > 100 {
			t.Fatalf("%s: %d bytes, %v", of, len(text), err)
		}
		all.Write(text)
	}
	var want strings.Builder
	for i := lines - 10*(FilesKept+1); i < lines; i++ {
		fmt.Fprintf(&want, "line %04d\n", i)
	}
	if all.String() != want.String() {
		t.Errorf("%q", all.String())
	}
	if _, err := os.Stat(f.numbered(FilesKept + 1)); err == nil {
		t.Error("there is one more")
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// After a file is moved or removed, a new one is made. If that is impossible, the writer gets an error.
func TestFileMovedAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	name := filepath.Join(dir, "audit")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) error {
		_, err := f.Write([]byte(text))
		return err
	}
	if err := write("a\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name, name+"-old"); err != nil {
		t.Fatal(err)
	}
	if err := write("b\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); string(text) != "b\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.Rename(dir, dir+"-old"); err != nil {
		t.Fatal(err)
	}
	if write("c\n") == nil {
		t.Error("written nowhere")
	}
	if err := os.Rename(dir+"-old", dir); err != nil {
		t.Fatal(err)
	}
	if err := write("d\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); string(text) != "b\nd\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
