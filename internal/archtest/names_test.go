package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goFile matches names of Go files in the text of comments.
var goFile = regexp.MustCompile(`(?:^|[\s(])([\w*./-]*[a-z0-9]\.go)\b`)

// A tree holds the module's files, which pages and comments may name.
type tree struct {
	root string
	base map[string]bool // names of files, without their folders
}

func newTree(t *testing.T, packages []pkg) *tree {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	tr := &tree{root, map[string]bool{}}
	for _, p := range packages {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			tr.base[name] = true
		}
	}
	return tr
}

// has reports whether a path, which may have wildcards, exists below at least one of the folders.
func (tr *tree) has(name string, folders ...string) bool {
	for _, folder := range folders {
		if found, _ := filepath.Glob(filepath.Join(tr.root, folder, name)); len(found) > 0 {
			return true
		}
	}
	return false
}

// pages returns the text of each page in the root and in docs, by its path from the root.
func (tr *tree) pages(t *testing.T) map[string]string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(tr.root, "*.md"))
	err := filepath.WalkDir(filepath.Join(tr.root, "docs"), func(file string, _ fs.DirEntry, err error) error {
		if filepath.Ext(file) == ".md" {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(tr.root, file)
		all[filepath.ToSlash(name)] = string(text)
	}
	return all
}

// inPage returns the words between backticks of a page that are paths to missing files. It checks paths of Go files and
// paths that begin with a top-level folder. A Go file that is named without its folder may be in any folder.
func (tr *tree) inPage(text string) (lost []string) {
	for _, quoted := range regexp.MustCompile("`[^`\n]+`").FindAllString(text, -1) {
		for _, word := range strings.Fields(strings.Trim(quoted, "`")) {
			for _, name := range braces(word) {
				if !tr.leads(name) {
					lost = append(lost, word)
				}
			}
		}
	}
	return lost
}

// leads returns false for a path of this tree that does not exist. Files in bin are built, so they need not exist.
func (tr *tree) leads(word string) bool {
	name := path.Clean(strings.TrimSuffix(strings.TrimRight(word, ",;:"), "/..."))
	top, _, inside := strings.Cut(name, "/")
	switch {
	case !inside && strings.HasSuffix(name, ".go"):
		return tr.base[name]
	case strings.HasSuffix(name, ".go"), strings.HasPrefix(word, "./"):
		return tr.has(name, ".")
	case top != "" && top != "bin" && inside && regexp.MustCompile(`^[\w./-]+$`).MatchString(name) && tr.has(top, "."):
		return tr.has(name, ".")
	}
	return true
}

// braces returns the paths that a path with {a,b} stands for.
func braces(word string) (all []string) {
	before, rest, open := strings.Cut(word, "{")
	list, after, closed := strings.Cut(rest, "}")
	if !open || !closed {
		return []string{word}
	}
	for _, one := range strings.Split(list, ",") {
		all = append(all, before+one+after)
	}
	return all
}

// Files that a page names exist.
func TestPagesNameWhatIsThere(t *testing.T) {
	tr := newTree(t, list(t))
	for page, text := range tr.pages(t) {
		for _, name := range tr.inPage(text) {
			t.Errorf("%s: there is no %s", page, name)
		}
	}
}

// A comment names existing files, of its own package or by their path from the root.
func TestCommentsNameFilesThatAreThere(t *testing.T) {
	packages := list(t)
	tr := newTree(t, packages)
	for _, p := range packages {
		folder := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		for _, file := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, filepath.Join(p.Dir, file), nil,
				parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if ast.IsGenerated(parsed) {
				continue
			}
			for _, c := range comments(parsed) {
				for _, found := range goFile.FindAllStringSubmatch(c.Text, -1) {
					if name := found[1]; !strings.HasPrefix(name, "_") && !tr.has(name, ".", folder) {
						t.Errorf("%s: there is no %s", files.Position(c.Pos()), name)
					}
				}
			}
		}
	}
}

// comments returns the comments of a file, without directives.
func comments(file *ast.File) (all []*ast.Comment) {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if !strings.HasPrefix(c.Text, "//go:") {
				all = append(all, c)
			}
		}
	}
	return all
}

// Each "Life of a ..." walk-through of ARCHITECTURE.md passes a file at most once. The walk-through of a packet has
// only files of the packet path.
func TestWalksPassFilesOnce(t *testing.T) {
	tr := newTree(t, list(t))
	page, err := os.ReadFile(filepath.Join(tr.root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	walks := 0
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		if !strings.HasPrefix(title, "Life of a ") {
			continue
		}
		walks++
		passed := map[string]bool{}
		for _, row := range regexp.MustCompile("(?m)^\\| `.*").FindAllString(text, -1) {
			for _, file := range regexp.MustCompile("`([^`]*\\.go)`").FindAllStringSubmatch(row, -1) {
				if passed[file[1]] {
					t.Errorf("%s: passes %s twice", title, file[1])
				}
				passed[file[1]] = true
				if title == "Life of a packet" && !tr.has(file[1], "saisim/engine") {
					t.Errorf("%s: the packet path has no %s", title, file[1])
				}
			}
		}
	}
	if walks != 4 {
		t.Errorf("%d walks, want those of a row, a packet, a counter and a stamp", walks)
	}
}

func TestLostNamesAreFound(t *testing.T) {
	tr := newTree(t, list(t))
	for text, want := range map[string]int{
		"see `internal/archtest/doc.go`":      0,
		"see `doc.go`":                        0,
		"see `./internal/archtest/...`":       0,
		"see `internal/{archtest,metrics}`":   0,
		"see `internal/archtest/*_test.go`":   0,
		"a key, `ports/port[name]/state`":     0,
		"see `internal/archtest/nothing.go`":  1,
		"see `nothing_of_this_name.go`":       1,
		"run `go test ./internal/nothing`":    1,
		"see `internal/nothing`":              1,
		"see `internal/{archtest,nothing}`":   1,
		"see `internal/nothing/*_test.go` ok": 1,
	} {
		if lost := tr.inPage(text); len(lost) != want {
			t.Errorf("%s: lost %q, want %d", text, lost, want)
		}
	}
}

// quotedTest matches a command of a page that runs a test or benchmark, with the package and the name.
var quotedTest = regexp.MustCompile(`go test (\./[\w/]+)[^|\n]*? -(run|bench) '?\^?([A-Z]\w*)`)

// lostTests returns the commands of a page that run a test or benchmark which the package does not have. Such a command
// succeeds without running a test.
func (tr *tree) lostTests(text string) (lost []string) {
	for _, m := range quotedTest.FindAllStringSubmatch(text, -1) {
		kind := map[string]string{"run": "Test", "bench": "Benchmark"}[m[2]]
		name := regexp.MustCompile(`(?m)^func ` + kind + `\w*` + strings.TrimPrefix(m[3], kind))
		files, _ := filepath.Glob(filepath.Join(tr.root, m[1], "*_test.go"))
		if !slices.ContainsFunc(files, func(file string) bool {
			source, err := os.ReadFile(file)
			return err == nil && name.Match(source)
		}) {
			lost = append(lost, m[0])
		}
	}
	return lost
}

// The tests that a page's commands run exist in their packages.
func TestPagesRunTestsThatAreThere(t *testing.T) {
	tr := newTree(t, nil)
	for page, text := range tr.pages(t) {
		for _, command := range tr.lostTests(text) {
			t.Errorf("%s: there is nothing for %q to run", page, command)
		}
	}
	for command, want := range map[string]int{
		"go test ./internal/archtest -run PagesRunTests -v":  0,
		"go test ./internal/archtest -run '^TestPagesRun'":   0,
		"go test ./internal/archtest -run NothingOfThisName": 1,
		"go test ./internal -run PagesRunTests":              1,
	} {
		if lost := tr.lostTests(command); len(lost) != want {
			t.Errorf("%s: lost %q, want %d", command, lost, want)
		}
	}
}
