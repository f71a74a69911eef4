package main

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// A typeKey names a type of the module.
type typeKey struct{ dir, name string }

func (k typeKey) String() string { return k.dir + "." + k.name }

// A typeOf describes a type: its place, its own methods and fields, and the types that it embeds.
type typeOf struct {
	where   string // FILE:LINE of the declaration, or "" if no code declares it
	methods map[string]bool
	fields  int // number of fields; -1 if the type is no struct
	embeds  []typeKey
}

// declared returns the types of the module outside tests.
func (t *tree) declared() map[typeKey]*typeOf {
	all := map[typeKey]*typeOf{}
	find := func(k typeKey) *typeOf {
		if all[k] == nil {
			all[k] = &typeOf{methods: map[string]bool{}, fields: -1}
		}
		return all[k]
	}
	for _, f := range t.files {
		if f.kind == test {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				find(typeKey{f.dir, receiver(d)}).methods[d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						t.declare(f, s, find(typeKey{f.dir, s.Name.Name}))
					}
				}
			}
		}
	}
	return all
}

// declare adds a declaration's place, fields, methods and embedded types to the type.
func (t *tree) declare(f *file, s *ast.TypeSpec, of *typeOf) {
	if f.kind == code {
		of.where = t.at(s.Pos())
	}
	var list *ast.FieldList
	switch x := s.Type.(type) {
	case *ast.StructType:
		list, of.fields = x.Fields, 0
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return
	}
	for _, field := range list.List {
		_, method := field.Type.(*ast.FuncType)
		switch k, ok := t.embedded(f, field.Type); {
		case len(field.Names) == 0 && ok:
			of.embeds = append(of.embeds, k)
		case of.fields >= 0:
			of.fields += max(1, len(field.Names))
		case method:
			of.methods[field.Names[0].Name] = true
		}
	}
}

// embedded returns the type of an embedded field, if the module may define it.
func (t *tree) embedded(f *file, x ast.Expr) (typeKey, bool) {
	switch x := x.(type) {
	case *ast.StarExpr:
		return t.embedded(f, x.X)
	case *ast.IndexExpr:
		return t.embedded(f, x.X)
	case *ast.IndexListExpr:
		return t.embedded(f, x.X)
	case *ast.Ident:
		return typeKey{f.dir, x.Name}, true
	case *ast.SelectorExpr:
		for _, i := range f.syntax.Imports {
			dir, inside := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), t.module+"/")
			name := path.Base(dir)
			if i.Name != nil {
				name = i.Name.Name
			}
			if id, ok := x.X.(*ast.Ident); ok && inside && id.Name == name {
				return typeKey{dir, x.Sel.Name}, true
			}
		}
	}
	return typeKey{}, false
}

// visit calls do once for a type and for each type that it embeds, directly or indirectly.
func visit(all map[typeKey]*typeOf, k typeKey, seen map[typeKey]bool, do func(*typeOf)) {
	of := all[k]
	if of == nil || seen[k] {
		return
	}
	seen[k] = true
	do(of)
	for _, e := range of.embeds {
		visit(all, e, seen, do)
	}
}

// types returns the types of the tree's code with their numbers of methods, and the structs with too many fields.
// Embedded types count.
func (t *tree) types() (methods, fields []finding) {
	all := t.declared()
	for k, of := range all {
		if of.where == "" || strings.HasPrefix(of.where, asIs) {
			continue
		}
		names, n := map[string]bool{}, 0
		visit(all, k, map[typeKey]bool{}, func(o *typeOf) {
			maps.Copy(names, o.methods)
			n += max(0, o.fields)
		})
		if len(names) > 0 {
			methods = append(methods, finding{of.where, k.String(), len(names)})
		}
		if of.fields >= 0 && n > mostFields {
			fields = append(fields, finding{of.where, k.String(), n})
		}
	}
	return methods, fields
}

// known lists methods with a meaning in the standard library, which need no comment.
var known = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "As": true, "String": true, "GoString": true, "Format": true,
	"Read": true, "Write": true, "Close": true, "ServeHTTP": true, "Len": true, "Less": true, "Swap": true,
	"Push": true, "Pop": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true,
	"MarshalYAML": true, "UnmarshalYAML": true,
}

// undocumented returns the exported names of the tree's code without a comment.
func (t *tree) undocumented() (list []finding) {
	for _, f := range t.of(code) {
		for _, d := range f.syntax.Decls {
			var names []*ast.Ident
			switch d := d.(type) {
			case *ast.FuncDecl:
				method := ast.IsExported(receiver(d)) && !known[d.Name.Name]
				if (d.Recv == nil || method) && d.Doc.Text() == "" {
					names = append(names, d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					names = append(names, bare(d, s)...)
				}
			}
			for _, n := range names {
				if n.IsExported() && f.syntax.Name.Name != "main" {
					list = append(list, finding{t.at(n.Pos()), f.dir + "." + n.Name, 1})
				}
			}
		}
	}
	return list
}

// bare returns the names in a declaration if the declaration has no comment.
func bare(d *ast.GenDecl, s ast.Spec) []*ast.Ident {
	var names []*ast.Ident
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
	if slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c.Text() != "" }) {
		return nil
	}
	return names
}

// nameOf returns a function's name, with its receiver's type in front.
func nameOf(d *ast.FuncDecl) string {
	if base := receiver(d); base != "" {
		return base + "." + d.Name.Name
	}
	return d.Name.Name
}

// receiver returns the base type of a method's receiver, or "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool { // the first name is the type's, parameters follow
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}
