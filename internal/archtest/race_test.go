package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// racedElsewhere lists folders whose goroutines the gate does not run under the race detector: tools for this
// repository, and the fleet's log, store and load generator, which `make cluster-test` covers.
var racedElsewhere = []string{"internal",
	"cmd/tamtam-collectd", "fleet/collectd", "fleet/jetstream", "fleet/parquet", "fleet/stream/streamtest",
	"fleet/synthetic"}

// A package that starts goroutines must run under the race detector. Either the gate tests it there, or a package that
// the gate tests there links it.
func TestGoroutinesRunUnderTheRaceDetector(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("..", "..", "scripts", "test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	var again, only []string
	for _, m := range regexp.MustCompile(`(?m)^raced_(again|only)='(.*)'$`).FindAllStringSubmatch(string(script), -1) {
		if m[1] == "only" {
			only = strings.Fields(m[2])
		} else {
			again = strings.Fields(m[2])
		}
	}
	if len(again) == 0 || len(only) == 0 {
		t.Fatal("scripts/test.sh has no lists raced_again='...' and raced_only='...'")
	}
	all := map[string]pkg{}
	for _, p := range list(t) {
		all[p.ImportPath] = p
	}
	linked := map[string]bool{}
	var link func(paths []string)
	link = func(paths []string) {
		for _, path := range paths {
			if p, ours := all[path]; ours && !linked[path] {
				linked[path] = true
				link(p.Imports)
			}
		}
	}
	for _, raced := range slices.Concat(again, only) {
		p, ours := all[module+strings.TrimPrefix(raced, ".")]
		if !ours {
			t.Errorf("scripts/test.sh: no package %s", raced)
		}
		if slices.Contains(only, raced) && skipsInShort(t, p) {
			t.Errorf("%s skips tests with -short: they run nowhere if it is in raced_only", p.ImportPath)
		}
		link(slices.Concat([]string{p.ImportPath}, p.TestImports, p.XTestImports))
	}
	starting := 0
	for path, p := range all {
		if !startsGoroutines(t, p) {
			continue
		}
		starting++
		elsewhere := slices.ContainsFunc(racedElsewhere, func(folder string) bool { return within(path, module+"/"+folder) })
		if linked[path] == elsewhere {
			t.Errorf("%s starts goroutines, linked by tests under the race detector: %v, in racedElsewhere: %v; want one",
				path, linked[path], elsewhere)
		}
	}
	if starting < 20 {
		t.Errorf("only %d packages start goroutines", starting)
	}
}

// skipsInShort reports whether tests of a package depend on -short. A smaller number of random cases does not count.
func skipsInShort(t *testing.T, p pkg) bool {
	t.Helper()
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "if testing.Short() {") || strings.Contains(string(text), "racetest.") {
			return true
		}
	}
	return false
}

// startsGoroutines reports whether the code of a package has a go statement or calls a method Go, for example of
// [sync.WaitGroup].
func startsGoroutines(t *testing.T, p pkg) (starts bool) {
	t.Helper()
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				starts = true
			case *ast.CallExpr:
				method, ok := n.Fun.(*ast.SelectorExpr)
				starts = starts || ok && method.Sel.Name == "Go"
			}
			return !starts
		})
	}
	return starts
}
