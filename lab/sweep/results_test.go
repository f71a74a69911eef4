package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A result that has its name keeps it, whatever comes: the same again is nothing, another is told, then and later.
func TestLeave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	for range 2 {
		if err := leave(path, []byte("one\n")); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := leave(path, []byte("two\n")); err == nil || !strings.Contains(err.Error(), "two results of one job differ, "+path) {
			t.Errorf("another result: %v", err)
		}
	}
	for name, want := range map[string]string{path: "one\n", path + other: "two\n"} {
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v: want %q", name, text, err, want)
		}
	}
	if out, err := new(File).read(path, Job{}); out != nil || err == nil || !strings.Contains(err.Error(), "remove both to run the job again") {
		t.Errorf("read: %v, %v", out, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 2 {
		t.Errorf("%v, %v: want two files", left, err)
	}
}

// A result's file is held to what the sweep asks for.
func TestParseOutcome(t *testing.T) {
	f := &File{Results: []Result{{Name: "lost"}, {Name: "delay"}}}
	for text, want := range map[string]string{
		`{"results": [{"name": "lost", "value": 3}]}`:                   "1 results: want 2",
		`{"results": [{"name": "lost"}, {"name": "late"}]}`:             `results[1]: name: "late": want "delay"`,
		`{"results": [{"name": "lost"}, {"name": "delay"}], "more": 1}`: `unknown field "more"`,
		`{`: "unexpected EOF",
	} {
		if out, err := f.parseOutcome([]byte(text), Job{}); out != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v: want %s", text, out, err, want)
		}
	}
}
