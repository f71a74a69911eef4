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
	"path/filepath"
	"strings"
	"testing"
)

// On arm64, Go may compute x*y + z with one rounding instead of two, so that the last bit differs from amd64's. An
// explicit conversion of the product forbids that: float64(x*y) + z. Then every machine computes the same numbers.
func TestProductsAreRounded(t *testing.T) {
	exports, err := exported()
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	lookup := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	}
	imports := importer.ForCompiler(files, "gc", lookup)
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

// exported returns the files of export data that the compiler has left in its cache, by package.
func exported() (map[string]string, error) {
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
}

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
