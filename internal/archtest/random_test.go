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

// One seed proves little, so only the gate chooses seeds. A Test function makes random numbers, loops over seeds, and
// calls functions with a parameter seed only inside randtest.Run. A package has no common seed for its tests, and a
// helper has no seed of its own.
func TestRandomTestsReceiveTheirSeeds(t *testing.T) {
	for _, p := range list(t) {
		files, parsed := token.NewFileSet(), []*ast.File{}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			parsed = append(parsed, f)
		}
		for _, where := range ownSeeds(files, parsed) {
			t.Errorf("%s: a random test takes its seeds from randtest.Run", where)
		}
	}
}

// A hunt searches for seeds that a package's tests choose themselves.
type hunt struct {
	files  *token.FileSet
	seeded map[string]bool // functions and methods with a parameter "seed"
	found  []string
}

// ownSeeds returns the places in a package's test files that choose seeds outside randtest.Run.
func ownSeeds(files *token.FileSet, parsed []*ast.File) []string {
	h := &hunt{files: files, seeded: map[string]bool{}}
	for _, file := range parsed {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool { return hasSeed(p.Names) }) {
				h.seeded[f.Name.Name] = true
			}
		}
	}
	for _, file := range parsed {
		generators := generatorsOf(file)
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				h.ofPackage(d)
			case *ast.FuncDecl:
				h.function(d, generators)
			}
		}
	}
	return h.found
}

// generatorsOf returns the name under which a file imports math/rand, or "" if it does not import it.
func generatorsOf(file *ast.File) string {
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); path == "math/rand" || path == "math/rand/v2" {
			if i.Name != nil {
				return i.Name.Name
			}
			return "rand"
		}
	}
	return ""
}

func (h *hunt) note(n ast.Node, what string) {
	h.found = append(h.found, fmt.Sprintf("%s: %s", h.files.Position(n.Pos()), what))
}

// ofPackage records constants and variables of the package that are named seed or seeds.
func (h *hunt) ofPackage(d *ast.GenDecl) {
	for _, s := range d.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && hasSeed(v.Names) {
			h.note(v, "a seed of the package")
		}
	}
}

// function checks a function. In a Test function it records all code that chooses seeds. In a helper it records sources
// with a literal seed. Benchmarks and fuzz targets may have both.
func (h *hunt) function(f *ast.FuncDecl, generators string) {
	name := f.Name.Name
	switch {
	case f.Body == nil || strings.HasPrefix(name, "Benchmark") || strings.HasPrefix(name, "Fuzz"):
	case f.Recv == nil && strings.HasPrefix(name, "Test"):
		ast.Inspect(f.Body, func(n ast.Node) bool { return h.inTest(n, generators) })
	default:
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && isSource(c, generators) && len(c.Args) > 0 {
				if _, literal := c.Args[0].(*ast.BasicLit); literal {
					h.note(n, "a source of random numbers with a seed of its own")
				}
			}
			return true
		})
	}
}

// inTest checks a node of a Test function. It reports whether the nodes inside it must be checked too.
func (h *hunt) inTest(n ast.Node, generators string) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		switch name := calledName(n); {
		case isCall(n, "randtest", "Run"):
			return false
		case isSource(n, generators):
			h.note(n, "a source of random numbers")
		case h.seeded[name]:
			h.note(n, "a seed for "+name)
		}
	case *ast.RangeStmt:
		if isSeed(n.Key) || isSeed(n.Value) {
			h.note(n, "seeds")
		}
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE && slices.ContainsFunc(n.Lhs, isSeed) {
			h.note(n, "a seed")
		}
	case *ast.ValueSpec:
		if hasSeed(n.Names) {
			h.note(n, "a seed")
		}
	}
	return true
}

// calledName returns the name of the function or method that is called, or "" if it has none.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func isSource(call *ast.CallExpr, generators string) bool {
	return generators != "" && (isCall(call, generators, "NewPCG") || isCall(call, generators, "NewChaCha8") ||
		isCall(call, generators, "NewSource"))
}

func hasSeed(names []*ast.Ident) bool {
	return slices.ContainsFunc(names, func(x *ast.Ident) bool { return isSeed(x) })
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
	test := func(body string) string { return "func TestX(t *testing.T) { " + body + " }" }
	for _, tt := range []struct {
		name, source string
		found        int
	}{
		{"from randtest",
			test(`randtest.Run(t, randtest.Cases{}, func(t *testing.T, seed uint64) { use(rand.New(rand.NewPCG(seed, 1))) })`),
			0},
		{"its own source", test(`use(rand.New(rand.NewPCG(1, 2)))`), 1},
		{"its own loop", test(`for seed := range uint64(9) { t.Run("", func(t *testing.T) { use(seed) }) }`), 1},
		{"its own constant", test(`const seed = 5; use(seed)`), 1},
		{"its own loop inside",
			test(`randtest.Run(t, randtest.Cases{}, func(t *testing.T, seed uint64) { for i := range 9 { use(i) } })`), 0},
		{"the package's constant", "const seed = 7\n" + test(`use(seed)`), 1},
		{"the package's variable", "var (\n\ta = 1\n\tseed uint64 = 7\n)\n", 1},
		{"a function's seed", "func use(n int, seed uint64) {}\n" + test(`use(1, 7)`), 1},
		{"a method's seed", "func (x *x) traffic(seed uint64) {}\n" + test(`x.traffic(first)`), 1},
		{"a function's seed from randtest", "func use(seed uint64) {}\n" +
			test(`randtest.Run(t, c, func(t *testing.T, seed uint64) { use(seed) })`), 0},
		{"a helper's source", "func numbers() *rand.Rand { return rand.New(rand.NewPCG(5, 0)) }\n", 1},
		{"a helper's source of what it is given",
			"func numbers(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 0)) }\n", 0},
		{"a benchmark's source", "func BenchmarkX(b *testing.B) { use(rand.New(rand.NewPCG(5, 0))) }\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, "x_test.go", "package x\nimport \"math/rand/v2\"\n"+tt.source+"\n",
				parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if found := ownSeeds(files, []*ast.File{parsed}); len(found) != tt.found {
				t.Errorf("found %q, want %d", found, tt.found)
			}
		})
	}
}
