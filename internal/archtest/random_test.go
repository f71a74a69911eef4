package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A test that one seed passed says little, so nobody but the gate may choose the seeds: a Test
// function makes random numbers, and loops over seeds, inside randtest.Run.
func TestRandomTestsTakeTheirSeeds(t *testing.T) {
	found := map[string][]string{}
	for _, p := range list(t) {
		folder := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			found[folder] = append(found[folder], ownSeeds(files, parsed)...)
		}
	}
	for _, list := range found {
		for _, where := range list {
			t.Errorf("%s: a random test takes its seeds from randtest.Run", where)
		}
	}
}

// ownSeeds finds what in the Test functions of a file chooses seeds outside randtest.Run: sources
// of random numbers, and variables with "seed" for a name.
func ownSeeds(files *token.FileSet, file *ast.File) (found []string) {
	generators := ""
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); path == "math/rand" || path == "math/rand/v2" {
			generators = "rand"
			if i.Name != nil {
				generators = i.Name.Name
			}
		}
	}
	note := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s", files.Position(n.Pos()), what))
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || !strings.HasPrefix(f.Name.Name, "Test") {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if isCall(n, "randtest", "Run") {
					return false
				}
				if generators != "" && (isCall(n, generators, "NewPCG") || isCall(n, generators, "NewChaCha8") || isCall(n, generators, "NewSource")) {
					note(n, "a source of random numbers")
				}
			case *ast.RangeStmt:
				if isSeed(n.Key) || isSeed(n.Value) {
					note(n, "seeds")
				}
			case *ast.AssignStmt:
				if n.Tok == token.DEFINE && slices.ContainsFunc(n.Lhs, isSeed) {
					note(n, "a seed")
				}
			case *ast.ValueSpec:
				if slices.ContainsFunc(n.Names, func(x *ast.Ident) bool { return isSeed(x) }) {
					note(n, "a seed")
				}
			}
			return true
		})
	}
	return found
}

func isCall(call *ast.CallExpr, kit, name string) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == kit
}

func isSeed(e ast.Expr) bool {
	x, ok := e.(*ast.Ident)
	return ok && (x.Name == "seed" || x.Name == "seeds")
}

func TestOwnSeedsAreFound(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		found      int
	}{
		{"from randtest", `randtest.Run(t, randtest.Cases{}, func(t *testing.T, seed uint64) { use(rand.New(rand.NewPCG(seed, 1))) })`, 0},
		{"its own source", `use(rand.New(rand.NewPCG(1, 2)))`, 1},
		{"its own loop", `for seed := range uint64(9) { t.Run("", func(t *testing.T) { use(seed) }) }`, 1},
		{"its own constant", `const seed = 5; use(seed)`, 1},
		{"its own loop inside", `randtest.Run(t, randtest.Cases{}, func(t *testing.T, seed uint64) { for i := range 9 { use(i) } })`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := token.NewFileSet()
			source := "package x\nimport \"math/rand/v2\"\nfunc TestX(t *testing.T) { " + tt.body + " }\n"
			parsed, err := parser.ParseFile(files, "x_test.go", source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if found := ownSeeds(files, parsed); len(found) != tt.found {
				t.Errorf("found %q, want %d", found, tt.found)
			}
		})
	}
}
