package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"sync"
)

// A kind is the kind of a file.
type kind int

const (
	code kind = iota
	test
	generated
)

// A file is one Go file of the tree.
type file struct {
	name, dir string // from the root; dir is "." there
	kind      kind
	text      []byte
	syntax    *ast.File
}

// A tree is the source of a module.
type tree struct {
	module string
	files  []*file           // by name
	pages  map[string][]byte // Markdown by name, without CONTRIBUTING.md, which quotes wrong phrases
	set    *token.FileSet
	// unwanted are the files under version control that should not be.
	unwanted []finding
}

// room returns the folder in the root that contains the file, or "." for a file of the root.
func (f *file) room() string {
	room, _, _ := strings.Cut(f.dir, "/")
	return room
}

// read reads all Go files of the module in the root of a file system.
func read(root fs.FS) (*tree, error) {
	mod, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("the root of a module is wanted: %w", err)
	}
	t := &tree{set: token.NewFileSet(), pages: map[string][]byte{}}
	for line := range strings.Lines(string(mod)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "module" {
			t.module = fields[1]
		}
	}
	if t.module == "" {
		return nil, fmt.Errorf("go.mod has no line \"module NAME\"")
	}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && passedOver(root, name):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go") && !strings.ContainsAny(d.Name()[:1], "._"):
			t.files = append(t.files, &file{name: name, dir: path.Dir(name)})
		case !d.IsDir() && path.Ext(name) == ".md" && name != "CONTRIBUTING.md":
			t.pages[name], err = fs.ReadFile(root, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if t.unwanted, err = unwanted(root); err != nil {
		return nil, err
	}
	return t, t.parse(root)
}

// passedOver reports whether Go ignores a folder when it searches for packages of the module.
func passedOver(root fs.FS, dir string) bool {
	base := path.Base(dir)
	if base == "testdata" || strings.ContainsAny(base[:1], "._") {
		return true
	}
	_, err := fs.Stat(root, dir+"/go.mod")
	return err == nil
}

// parse reads and parses the files, on all cores.
func (t *tree) parse(root fs.FS) error {
	errs, cores := make([]error, len(t.files)), runtime.GOMAXPROCS(0)
	var workers sync.WaitGroup
	for first := range cores {
		workers.Go(func() {
			for i := first; i < len(t.files); i += cores {
				errs[i] = t.files[i].parse(root, t.set)
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

func (f *file) parse(root fs.FS, set *token.FileSet) (err error) {
	if f.text, err = fs.ReadFile(root, f.name); err != nil {
		return err
	}
	f.syntax, err = parser.ParseFile(set, f.name, f.text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	switch {
	case ast.IsGenerated(f.syntax):
		f.kind = generated
	case strings.HasSuffix(f.name, "_test.go"):
		f.kind = test
	}
	return nil
}

// lines returns the number of lines. A last line without a line end counts too.
func (f *file) lines() int {
	n := bytes.Count(f.text, []byte("\n"))
	if len(f.text) > 0 && f.text[len(f.text)-1] != '\n' {
		n++
	}
	return n
}

// of returns the files of a kind.
func (t *tree) of(k kind) (list []*file) {
	for _, f := range t.files {
		if f.kind == k {
			list = append(list, f)
		}
	}
	return list
}

// at returns a position as FILE:LINE.
func (t *tree) at(p token.Pos) string {
	where := t.set.PositionFor(p, false)
	return fmt.Sprintf("%s:%d", where.Filename, where.Line)
}
