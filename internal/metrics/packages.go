package main

import (
	"bytes"
	"go/ast"
	"go/doc"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A room is a folder in the root with all that is in it.
type room struct {
	name                string
	lines               [generated + 1]int // by kind
	imports, importedBy []string
}

// rooms returns those of the tree by name; that of the root itself, if it has files, is ".".
func (t *tree) rooms() (list []*room) {
	by := map[string]*room{}
	find := func(name string) *room {
		if by[name] == nil {
			by[name] = &room{name: name}
			list = append(list, by[name])
		}
		return by[name]
	}
	for _, f := range t.files {
		find(f.room()).lines[f.kind] += f.lines()
	}
	for _, f := range t.files {
		if f.kind == test {
			continue
		}
		for _, i := range f.syntax.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			local, inside := strings.CutPrefix(path+"/", t.module+"/")
			if !inside {
				continue
			}
			name, _, _ := strings.Cut(local, "/")
			if name == "" {
				name = "."
			}
			if to := by[name]; to != nil && name != f.room() {
				to.importedBy = with(to.importedBy, f.room())
				from := by[f.room()]
				from.imports = with(from.imports, name)
			}
		}
	}
	slices.SortFunc(list, func(a, b *room) int { return strings.Compare(a.name, b.name) })
	return list
}

// with returns a sorted list with a name in it once.
func with(list []string, name string) []string {
	i, found := slices.BinarySearch(list, name)
	if found {
		return list
	}
	return slices.Insert(list, i, name)
}

// examples returns the examples that go test runs, by folder.
func (t *tree) examples() (by map[string][]finding) {
	by = map[string][]finding{}
	for _, f := range t.of(test) {
		if !bytes.Contains(f.text, []byte("func Example")) {
			continue
		}
		for _, e := range doc.Examples(f.syntax) {
			if e.Output != "" || e.EmptyOutput {
				by[f.dir] = append(by[f.dir], finding{t.at(e.Code.Pos()), "Example" + e.Name, 1})
			}
		}
	}
	return by
}

// importable returns the folders of the packages that a reader would import.
func (t *tree) importable() (list []string) {
	for _, f := range t.of(code) {
		kit := strings.HasSuffix(f.dir, "test")
		if kit || f.syntax.Name.Name == "main" || slices.Contains(strings.Split(f.dir, "/"), "internal") {
			continue
		}
		if slices.ContainsFunc(f.syntax.Decls, exports) {
			list = with(list, f.dir)
		}
	}
	return list
}

// exports reports whether a declaration has an exported name, not counting methods.
func exports(d ast.Decl) bool {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Recv == nil && d.Name.IsExported()
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					return true
				}
			case *ast.ValueSpec:
				if slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
					return true
				}
			}
		}
	}
	return false
}

// widths returns each line of a file with its columns.
func (f *file) widths() (list []finding) {
	n := 0
	for line := range bytes.Lines(f.text) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		l := finding{size: utf8.RuneCount(line)}
		if l.size > mostColumns {
			l.where, l.what = f.name+":"+strconv.Itoa(n), brief(line)
		}
		list = append(list, l)
	}
	return list
}

// brief returns the beginning of a line.
func brief(line []byte) string {
	const most = 60
	s := []rune(string(bytes.TrimSpace(line[:min(len(line), 4*most)])))
	return string(s[:min(len(s), most)])
}
