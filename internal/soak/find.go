package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A pkg is a package in the output of go list.
type pkg struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
}

// find returns the random tests and the fuzz targets of the module in folder tree.
func find(tree string) ([]*target, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = tree
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	var all []*target
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			random, fuzz := targets(parsed)
			for _, name := range random {
				all = append(all, &target{path: p.ImportPath, dir: p.Dir, name: name})
			}
			for _, name := range fuzz {
				all = append(all, &target{path: p.ImportPath, dir: p.Dir, name: name, fuzz: true})
			}
		}
	}
}

// targets returns the random tests and the fuzz targets of a test file.
func targets(file *ast.File) (random, fuzz []string) {
	kit := ""
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); strings.HasSuffix(path, "/internal/randtest") {
			kit = "randtest"
			if i.Name != nil {
				kit = i.Name.Name
			}
		}
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		switch {
		case !ok || f.Recv != nil || f.Body == nil:
		case strings.HasPrefix(f.Name.Name, "Fuzz"):
			fuzz = append(fuzz, f.Name.Name)
		case strings.HasPrefix(f.Name.Name, "Test") && kit != "" && calls(f.Body, kit, "Run"):
			random = append(random, f.Name.Name)
		}
	}
	return random, fuzz
}

// calls reports whether body contains a call of kit.name.
func calls(body ast.Node, kit, name string) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == name {
				x, ok := s.X.(*ast.Ident)
				found = found || ok && x.Name == kit
			}
		}
		return !found
	})
	return found
}
