package main

import (
	"bytes"
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

// A pack is a package's code.
type pack struct {
	dir          string
	files, lines int
}

// packages returns those of the tree's code, by folder.
func (t *tree) packages() (list []pack) {
	for _, f := range t.of(code) { // by name, so those of a folder may stand apart
		i, found := slices.BinarySearchFunc(list, f.dir, func(p pack, dir string) int { return strings.Compare(p.dir, dir) })
		if !found {
			list = slices.Insert(list, i, pack{dir: f.dir})
		}
		list[i].files++
		list[i].lines += f.lines()
	}
	return list
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
