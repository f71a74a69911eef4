package archtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// On arm64, Go may compute x*y + z with one rounding instead of two, so that the last bit differs from amd64's. An
// explicit conversion of the product forbids that: float64(x*y) + z. Then every machine computes the same numbers.
func TestProductsAreRounded(t *testing.T) {
	files := token.NewFileSet()
	imports := compiled(t, files)
	for _, p := range list(t) {
		var parsed []*ast.File
		some := false
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, f)
			some = some || len(sumsOfProducts(f, nil)) > 0
		}
		if !some {
			continue
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		conf := types.Config{Importer: imports, Sizes: types.SizesFor("gc", "arm64")}
		if _, err := conf.Check(p.ImportPath, files, parsed, info); err != nil {
			t.Fatal(err)
		}
		for _, f := range parsed {
			for _, product := range sumsOfProducts(f, info) {
				t.Errorf("%s: a product is added without rounding: want float64(x*y) + z", files.Position(product.Pos()))
			}
		}
	}
}

// exact are the functions of package math with equal results on every architecture: those that IEEE 754 defines, and
// those that only choose, compare or look up.
var exact = strings.Fields(`Abs Ceil Copysign FMA Float32bits Float32frombits Float64bits Float64frombits Floor Frexp
	Inf IsInf IsNaN Ldexp Max Min Mod Modf NaN Nextafter Pow10 Remainder Round RoundToEven Signbit Sqrt Trunc`)

// Package math's other functions differ in the last bit between architectures, and so do random numbers that are made
// of them. Package libm has those that this module needs, and it uses math's for special values.
func TestElementaryFunctionsAreEqualEverywhere(t *testing.T) {
	files := token.NewFileSet()
	math := mathScope(t)
	for _, p := range list(t) {
		if p.ImportPath == module+"/tam/libm" || isTestKit(p.ImportPath) {
			continue
		}
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, use := range inexact(f, math) {
				t.Errorf("%s: %s may differ in the last bit on another architecture: want tamtam/tam/libm",
					files.Position(use.Pos()), use.Sel.Name)
			}
		}
	}
}

// inexact returns the uses of functions whose results depend on the architecture. math is the scope of package math.
func inexact(f *ast.File, math *types.Scope) (found []*ast.SelectorExpr) {
	names := map[string]string{} // paths of imports, by the name that they have in the file
	for _, spec := range f.Imports {
		of := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(strings.TrimSuffix(of, "/v2"))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = of
	}
	ast.Inspect(f, func(n ast.Node) bool {
		use, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name := use.Sel.Name
		of, _ := use.X.(*ast.Ident)
		_, function := math.Lookup(name).(*types.Func)
		switch {
		case of != nil && names[of.Name] == "math" && function && !slices.Contains(exact, name),
			of != nil && names[of.Name] == "math/cmplx",
			name == "NormFloat64" || name == "ExpFloat64" || name == "NewZipf":
			found = append(found, use)
		}
		return true
	})
	return found
}

// The check sees functions under any name of the package, and leaves out constants and exact functions.
func TestInexact(t *testing.T) {
	const text = `package p
import (
	"math"
	m "math"
	"math/cmplx"
	"math/rand/v2"
)
func f(x float64, r *rand.Rand) float64 {
	g := math.Exp // found
	x = m.Pow(x, 2) // found
	x += real(cmplx.Exp(1)) // found
	x += r.NormFloat64() // found
	return g(math.Sqrt(x)) + math.Pi + r.Float64() + math.MaxFloat64
}
`
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "p.go", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Count(text, "// found")
	if got := inexact(f, mathScope(t)); len(got) != want {
		t.Errorf("%d uses, want %d", len(got), want)
	}
}

func mathScope(t *testing.T) *types.Scope {
	t.Helper()
	math, err := compiled(t, token.NewFileSet()).Import("math")
	if err != nil {
		t.Fatal(err)
	}
	return math.Scope()
}

// compiled returns an importer of the packages that the compiler has left in its cache.
func compiled(t *testing.T, files *token.FileSet) types.Importer {
	t.Helper()
	exports, err := exported()
	if err != nil {
		t.Fatal(err)
	}
	return importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
}

// exported returns the files of export data that the compiler has left in its cache, by package.
var exported = sync.OnceValues(func() (map[string]string, error) {
	cmd := exec.Command("go", "list", "-e", "-export", "-deps", "-json=ImportPath,Export", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -export: %w\n%s", err, &stderr)
	}
	all := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := decoder.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p.Export
	}
})

// sumsOfProducts returns the products that are added or subtracted without a conversion. With types, these are only the
// products of floating-point numbers that may be fused.
func sumsOfProducts(f *ast.File, info *types.Info) (found []ast.Expr) {
	check := func(e ast.Expr) {
		product, ok := ast.Unparen(e).(*ast.BinaryExpr)
		if !ok || product.Op != token.MUL {
			return
		}
		if info != nil {
			of := info.Types[product]
			basic, ok := of.Type.Underlying().(*types.Basic)
			if of.Value != nil || ok && basic.Info()&(types.IsFloat|types.IsComplex) == 0 ||
				isTwo(info.Types[product.X].Value) || isTwo(info.Types[product.Y].Value) {
				return
			}
		}
		found = append(found, product)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.ADD || n.Op == token.SUB {
				check(n.X)
				check(n.Y)
			}
		case *ast.AssignStmt:
			if n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN {
				check(n.Rhs[0])
			}
		}
		return true
	})
	return found
}

// isTwo reports whether a factor is the constant 2. The compiler adds such a product's other factor to itself.
func isTwo(factor constant.Value) bool {
	return factor != nil && constant.Compare(constant.ToFloat(factor), token.EQL, constant.MakeInt64(2))
}

// The check sees each form, and leaves out integers, constants, exact products and rounded ones.
func TestSumsOfProducts(t *testing.T) {
	const text = `package p
func f(x, y, z float64, i int) float64 {
	z = x*y + z           // found
	z = z - (x * y)       // found
	z += x * y            // found
	z = float64(x*y) + z
	z = x * y
	z += 2*x - y*2
	z -= 2*x*y            // found
	z -= 4*x              // found
	i = i*i + 1
	return z + 2*3.5
}
`
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "p.go", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{}).Check("p", files, []*ast.File{f}, info); err != nil {
		t.Fatal(err)
	}
	want := strings.Count(text, "// found")
	if got := sumsOfProducts(f, info); len(got) != want {
		t.Errorf("%d products, want %d", len(got), want)
	}
}
