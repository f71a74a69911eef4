package archtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "tamtam"

// pkg is the part of go list's output about a package.
type pkg struct {
	ImportPath, Dir                    string
	Imports                            []string // imports of its code, without its tests
	TestImports, XTestImports          []string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// list returns all packages of the module; go list runs once for all tests.
func list(t *testing.T) []pkg {
	t.Helper()
	all, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 5 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	return all
}

var listed = sync.OnceValues(func() (all []pkg, err error) {
	cmd := exec.Command("go", "list", "-e",
		"-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles,TestGoFiles,XTestGoFiles", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := decoder.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// within reports whether path is folder or inside it.
func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// roomOf returns the architecture rules for the folder of a package of this module, and whether there are any.
func roomOf(rules []room, pkg string) (room, bool) {
	local := strings.TrimPrefix(pkg, module+"/")
	var best room
	for _, r := range rules {
		if within(local, r.name) && len(r.name) > len(best.name) {
			best = r
		}
	}
	if best.name != "" {
		return best, true
	}
	for _, r := range rules {
		if folder, all := strings.CutSuffix(r.name, "/*"); all && strings.HasPrefix(local, folder+"/") {
			inside, _, _ := strings.Cut(local[len(folder)+1:], "/")
			r.name = folder + "/" + inside
			return r, true
		}
	}
	return best, false
}

// allows reports whether a list of rooms contains a room, by its name or by "/*".
func allows(below []string, name string) bool {
	return slices.Contains(below, name) || slices.Contains(below, path.Dir(name)+"/*")
}

// offences returns the imports of p that the rules do not allow.
func offences(rules []room, p pkg) []string {
	from, ok := roomOf(rules, p.ImportPath)
	if !ok {
		return []string{fmt.Sprintf("%s: no rule for this package; add its room to rules_test.go", p.ImportPath)}
	}
	var bad []string
	for _, imported := range p.Imports {
		edge := p.ImportPath + " -> " + imported
		switch {
		case within(imported, module):
			if isTestKit(imported) && !isTestKit(p.ImportPath) {
				bad = append(bad, edge+": only tests may import a test kit")
			}
			to, _ := roomOf(rules, imported)
			if to.name != from.name && !allows(from.below, to.name) {
				bad = append(bad, fmt.Sprintf("%s: %s may import %s", edge, from.name, orNothing(from.below)))
			}
		case strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") && !isTestKit(p.ImportPath):
			if !slices.ContainsFunc(from.modules, func(m string) bool { return within(imported, m) }) {
				bad = append(bad, fmt.Sprintf("%s: outside the standard library %s may import %s", edge, from.name,
					orNothing(from.modules)))
			}
		}
	}
	return bad
}

func isTestKit(path string) bool {
	return slices.ContainsFunc(testKits, func(kit string) bool { return within(path, module+"/"+kit) })
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return "only " + strings.Join(names, ", ")
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range list(t) {
		for _, bad := range offences(rules, p) {
			t.Error(bad)
		}
	}
}

// The table itself points down: the rooms that a room may import come after it.
func TestRulesPointDown(t *testing.T) {
	for i, r := range rules {
		for _, name := range r.below {
			found := false
			for at, o := range rules {
				is := allows([]string{name}, o.name)
				if found = found || is; is && at <= i {
					t.Errorf("%s may import %s, but %s is not below it in the table", r.name, name, o.name)
				}
			}
			if !found {
				t.Errorf("%s may import %s, of which the table has nothing", r.name, name)
			}
		}
	}
}

func TestOffencesAreFound(t *testing.T) {
	tests := []struct {
		name    string
		from    string
		imports []string
		want    string // text in the only offence; empty if there is no offence
	}{
		{"down", "tamtam/tsorch", []string{"tamtam/orch", "tamtam/sai", "fmt"}, ""},
		{"own sub-package", "tamtam/mgmt", []string{"tamtam/mgmt/tree"}, ""},
		{"sideways", "tamtam/tsorch", []string{"tamtam/orchagent/acl"},
			"tamtam/tsorch -> tamtam/orchagent/acl: tsorch may import only orch"},
		{"up", "tamtam/saisim", []string{"tamtam/sai/redis"}, "tamtam/saisim -> tamtam/sai/redis"},
		{"a room inside a room", "tamtam/saisim/tailstamp", []string{"tamtam/saisim"}, "saisim/tailstamp may import nothing"},
		{"a name that only starts alike", "tamtam/saisimulator", nil, "no rule for this package"},
		{"another feature's orch", "tamtam/orchagent/feature", []string{"tamtam/orch/feature", "tamtam/sai",
			"tamtam/orchagent/feature/plan"}, ""},
		{"inside another feature's orch", "tamtam/orchagent/feature/plan",
			[]string{"tamtam/orchagent/feature", "tamtam/orch"}, ""},
		{"from another feature's orch sideways", "tamtam/orchagent/feature", []string{"tamtam/orchagent/acl"},
			"orchagent/feature may import only orch"},
		{"from one further feature's orch to the other", "tamtam/orchagent/feature", []string{"tamtam/orchagent/other"},
			"orchagent/feature may import only orch"},
		{"all orchs", "tamtam/device/daemons", []string{"tamtam/orchagent/ports", "tamtam/orchagent/feature"}, ""},
		{"an orch from elsewhere", "tamtam/tammgr", []string{"tamtam/orchagent/feature"}, "tammgr may import only"},
		{"module", "tamtam/cli", []string{"github.com/redis/go-redis/v9"},
			"outside the standard library cli may import only"},
		{"package of a module", "tamtam/cli", []string{"google.golang.org/grpc/codes"}, ""},
		{"test kit", "tamtam/sai/redis", []string{"tamtam/sai/saitest"}, "only tests may import a test kit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bad := offences(rules, pkg{ImportPath: tt.from, Imports: tt.imports})
			if tt.want == "" && len(bad) > 0 || tt.want != "" && (len(bad) != 1 || !strings.Contains(bad[0], tt.want)) {
				t.Errorf("offences %q, want one with %q", bad, tt.want)
			}
		})
	}
}

// clockCalls are the functions that make code depend on the wall clock.
var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// In a simulation the chip's clock is the only clock, and daemons receive the time from it. Tests may not sleep,
// because the result would depend on the machine's speed.
func TestNothingReadsTheWallClock(t *testing.T) {
	for _, p := range list(t) {
		from, _ := roomOf(rules, p.ImportPath)
		if !from.clock {
			for _, file := range p.GoFiles {
				for _, call := range timeCalls(t, filepath.Join(p.Dir, file), clockCalls) {
					t.Errorf("%s: %s may not ask the wall clock", call, from.name)
				}
			}
		}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			for _, call := range timeCalls(t, filepath.Join(p.Dir, file), []string{"Sleep"}) {
				t.Errorf("%s: a test may not sleep; wait for what it waits for", call)
			}
		}
	}
}

// timeCalls returns the uses of the given functions of package time in a file, as "file:line: time.Name".
func timeCalls(t *testing.T, file string, names []string) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return nil
	}
	local := ""
	for _, i := range parsed.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); path == "time" {
			local = "time"
			if i.Name != nil {
				local = i.Name.Name
			}
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && local != "" {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local && slices.Contains(names, s.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: time.%s", files.Position(s.Pos()), s.Sel.Name))
			}
		}
		return true
	})
	return found
}
