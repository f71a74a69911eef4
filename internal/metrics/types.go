package main

import (
	"fmt"
	"go/ast"
)

// methods returns the types of the tree's code with how many methods each has.
func (t *tree) methods() (list []finding) {
	type key struct{ dir, name string }
	declared := map[key]string{} // where
	sets := map[key]map[string]bool{}
	for _, f := range t.files {
		if f.kind == test {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				k := key{f.dir, receiver(d)}
				if sets[k] == nil {
					sets[k] = map[string]bool{}
				}
				sets[k][d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && f.kind == code {
						declared[key{f.dir, s.Name.Name}] = t.at(s.Pos())
					}
				}
			}
		}
	}
	for k, where := range declared {
		if n := len(sets[k]); n > 0 {
			list = append(list, finding{where, k.dir + "." + k.name, n})
		}
	}
	return list
}

// structs returns the structs of the tree's code with how many fields each has.
func (t *tree) structs() (list []finding) {
	for _, f := range t.of(code) {
		var of *ast.TypeSpec // the last one begun
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				of = n
			case *ast.StructType:
				what := "struct"
				if of != nil && n.Pos() < of.End() {
					what = f.dir + "." + of.Name.Name
				}
				list = append(list, finding{t.at(n.Pos()), what, n.Fields.NumFields()})
			}
			return true
		})
	}
	return list
}

// known are the methods to which the standard library gives a meaning: they need no comment.
var known = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "As": true, "String": true, "GoString": true, "Format": true,
	"Read": true, "Write": true, "Close": true, "ServeHTTP": true, "Len": true, "Less": true, "Swap": true,
	"Push": true, "Pop": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true,
	"MarshalYAML": true, "UnmarshalYAML": true,
}

// undocumented returns the exported names of a file without a comment.
func (t *tree) undocumented(f *file) (list []finding) {
	add := func(n *ast.Ident, what string) { list = append(list, finding{t.at(n.Pos()), what, 1}) }
	for _, d := range f.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			base := receiver(d)
			if d.Recv == nil || ast.IsExported(base) && !known[d.Name.Name] {
				if d.Name.IsExported() && d.Doc.Text() == "" {
					add(d.Name, f.dir+"."+nameOf(d))
				}
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				for _, n := range bare(d, s) {
					add(n, fmt.Sprintf("%s.%s", f.dir, n.Name))
				}
			}
		}
	}
	return list
}

// bare returns the exported names of a declaration that have no comment.
func bare(d *ast.GenDecl, s ast.Spec) []*ast.Ident {
	var names, exported []*ast.Ident
	var comments []*ast.CommentGroup
	switch s := s.(type) {
	case *ast.TypeSpec:
		names, comments = []*ast.Ident{s.Name}, []*ast.CommentGroup{s.Doc, s.Comment}
		if !d.Lparen.IsValid() {
			comments = append(comments, d.Doc)
		}
	case *ast.ValueSpec:
		names, comments = s.Names, []*ast.CommentGroup{s.Doc, s.Comment, d.Doc}
	}
	for _, c := range comments {
		if c.Text() != "" {
			return nil
		}
	}
	for _, n := range names {
		if n.IsExported() {
			exported = append(exported, n)
		}
	}
	return exported
}
