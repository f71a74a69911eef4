package reference_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutantVariable is the environment variable that selects one of the mutants in a binary, by its number. Without it,
// the engine is right.
const mutantVariable = "TAMTAM_MUTANT"

// A weaver builds one test binary of many mutants, because compiling takes most of the time of a mutant. The functions
// that mutants change call their wrong copies if these are selected.
type weaver struct {
	sources map[string]string // sources with mutants, by path
	woven   map[int]bool      // numbers of the mutants in the binary
}

// add adds a mutant that changes the body of a function. It has no effect if parameters of the function have no names,
// or if its body is on one line. Such a mutant needs a binary of its own, and so do those that change other code.
func (w *weaver) add(m trial) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, m.path, m.source, parser.SkipObjectResolution)
	if err != nil {
		return
	}
	at := strings.Index(m.source, m.old)
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is || f.Body == nil || f.Type.TypeParams != nil {
			continue
		}
		text := func(from, to token.Pos) string {
			return m.source[files.Position(from).Offset:files.Position(to).Offset]
		}
		if at <= files.Position(f.Body.Lbrace).Offset || at >= files.Position(f.End()).Offset {
			continue
		}
		name := fmt.Sprint(f.Name.Name, "Mutant", m.number)
		call, named := callOf(f, name)
		if !named {
			return
		}
		if w.sources == nil {
			w.sources, w.woven = map[string]string{}, map[int]bool{}
		}
		now, found := w.sources[m.path]
		if !found {
			now = m.source
		}
		begin := text(f.Pos(), f.Body.Lbrace) + "{\n"
		if strings.Count(now, begin) != 1 {
			return
		}
		now = strings.Replace(now, begin, fmt.Sprintf("%sif mutantNumber == %d {\n%s\n}\n", begin, m.number, call), 1)
		wrong := text(f.Pos(), f.Name.Pos()) + name + text(f.Name.End(), f.Body.Lbrace) +
			strings.Replace(text(f.Body.Lbrace, f.End()), m.old, m.new, 1)
		w.sources[m.path], w.woven[m.number] = now+"\n"+wrong+"\n", true
	}
}

// callOf returns statements that call a copy of a function with the same parameters, and whether all of these have
// names.
func callOf(f *ast.FuncDecl, name string) (call string, named bool) {
	var args []string
	for _, p := range f.Type.Params.List {
		for _, x := range p.Names {
			if args = append(args, x.Name); x.Name == "_" {
				return "", false
			}
			if _, variadic := p.Type.(*ast.Ellipsis); variadic {
				args[len(args)-1] += "..."
			}
		}
		if len(p.Names) == 0 {
			return "", false
		}
	}
	call = name + "(" + strings.Join(args, ", ") + ")"
	if f.Recv != nil {
		if len(f.Recv.List[0].Names) == 0 {
			return "", false
		}
		call = f.Recv.List[0].Names[0].Name + "." + call
	}
	if f.Type.Results != nil {
		return "return " + call, true
	}
	return call + "\nreturn", true
}

// numberSource declares the number of the selected mutant in a package.
const numberSource = `package %s

import (
	"os"
	"strconv"
)

var mutantNumber, _ = strconv.Atoi(os.Getenv(%q))
`

// build builds the binary of all mutants that were added.
func (w *weaver) build(t *testing.T) (binary string) {
	sources := map[string]string{}
	for path, source := range w.sources {
		dir := filepath.Dir(path)
		sources[path] = source
		sources[filepath.Join(dir, "mutantnumber.go")] = fmt.Sprintf(numberSource, filepath.Base(dir), mutantVariable)
	}
	return build(t, sources)
}

// build builds the test binary of this package with some sources replaced, by path.
func build(t *testing.T, sources map[string]string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	binary = filepath.Join(dir, "reference.test")
	files := map[string]string{}
	for path, source := range sources {
		file := filepath.Join(dir, fmt.Sprint(len(files), ".go"))
		files[path] = file
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}
