package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const readme = `# Test
/not/a/path:

## OpenConfig Path and RPC Coverage

` + "```yaml" + `
paths:
  ## Config paths
  /interfaces/interface/config/enabled:
  /oc-if:interfaces/interface[name=*]/state/oper-status: # status
  /interfaces/interface/config/enabled:
rpcs:
  /gnmi/set:
` + "```\n"

// The paths of a README are those below "paths:", without keys and prefixes.
func TestPathsOf(t *testing.T) {
	want := []string{"/interfaces/interface/config/enabled", "/interfaces/interface/state/oper-status",
		"/interfaces/interface/config/enabled"}
	if got := pathsOf(readme); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A path belongs to each family whose READMEs name it. The list survives its text.
func TestReadFeatures(t *testing.T) {
	top := t.TempDir()
	for _, folder := range []string{"feature/b/tests/x", "feature/a/y"} {
		if err := os.MkdirAll(filepath.Join(top, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, folder, "README.md"), []byte(readme), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := readFeatures(top)
	if err != nil {
		t.Fatal(err)
	}
	if text := formatPaths(list); len(list) != 2 || !slices.Equal(list[0].families, []string{"a", "b"}) ||
		!bytes.Equal(formatPaths(parsePaths(text)), text) {
		t.Errorf("%v\n%s", list, text)
	}
	if _, err := readFeatures(t.TempDir()); err == nil {
		t.Error("a folder without READMEs is no error")
	}
}

// The longest prefix decides, and a reason is needed for a subject that the switch does not have.
func TestSubjects(t *testing.T) {
	list, err := parseSubjects([]byte("# words\n/ yes\n/a no: because\n/a/b yes\n"))
	if err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{"/c": "", "/a/c": "because", "/a/b/c": ""} {
		if got := of(path, list); got == nil || got.not != why {
			t.Errorf("%s: %v, want %q", path, got, why)
		}
	}
	for _, bad := range []string{"/a no", "/a no: ", "/a maybe", "a yes"} {
		if _, err := parseSubjects([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// A path has data if an entry of each list on the way has it.
func TestDataIn(t *testing.T) {
	has, err := dataIn([]byte(`{"m:a":{"b":[{"c":1},{"n:d":{"e":false}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/a/b/c": true, "/a/b/d/e": true, "/a/b/e": false, "/a/b/c/d": false,
		"/b": false} {
		if has(path) != want {
			t.Errorf("%s: %v, want %v", path, has(path), want)
		}
	}
}

// The page in docs is what the command writes. Each prefix of subjects.txt begins some path, and no subject that the
// switch is said not to have is served.
func TestPathsPage(t *testing.T) {
	const top = "../.."
	want, err := page(top, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(top, pathsPage)); err != nil || string(got) != want {
		t.Errorf("%s is not what `go run ./internal/openconfig paths` writes (%v)", pathsPage, err)
	}
	text, err := os.ReadFile("paths.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile("subjects.txt")
	if err != nil {
		t.Fatal(err)
	}
	subjects, err := parseSubjects(lines)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, n := range parsePaths(text) {
		used[of(n.path, subjects).prefix] = true
	}
	for _, s := range subjects {
		if !used[s.prefix] && s.prefix != "/" {
			t.Errorf("no path has the subject %s", s.prefix)
		}
	}
	if strings.Contains(want, "| 0 | 0 | 0 | 0 | 0 | 0 | 0 |") {
		t.Error("a family without paths")
	}
}
