package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Values above these limits are findings.
const (
	mostColumns    = 120
	mostComplexity = 25
	mostFields     = 20
	mostFiles      = 45   // maximum files of a package, without tests
	mostLines      = 6000 // maximum lines of a package's code
)

// large are packages that may have more files or lines than others.
var large = map[string]string{
	"saisim/objects":   "one store of all objects of SAI, which refer to each other",
	"saisim/engine":    "stations of one packet path, which call each other for each packet",
	"saisim/reference": "the same chip, station by station",
	"swss/schema":      "one table of all tables",
}

// asIs is the part of the tree whose functions, methods and structs are not measured. It describes the hardware step by
// step, with one field for each wire.
const asIs = "saisim/reference/"

// A finding is one item behind a figure.
type finding struct {
	where, what string
	size        int
}

// A figure is one number of the tree, with its goal.
type figure struct {
	name   string
	value  float64
	behind []finding // the items behind the figure, the largest first
	goal   string    // "<=" or ">=": the value should be at most, or at least, want; "" if there is no goal
	want   float64
	// limit is the reason why the gate enforces the goal. It is "" for a goal that is only stated: no type or file is
	// split only to meet it.
	limit string
}

// text formats a value of the figure: with two decimals for a ratio, and otherwise as a whole number.
func (f figure) text(v float64) string {
	if strings.Contains(f.name, " : ") {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// goalText returns the goal as it is printed.
func (f figure) goalText() string {
	if f.goal == "" {
		return ""
	}
	return f.goal + " " + f.text(f.want)
}

// misses reports whether the figure misses its goal after rounding as it is printed, for example 0.546 as 0.55.
func (f figure) misses() bool {
	v, _ := strconv.ParseFloat(f.text(f.value), 64)
	return f.goal == "<=" && v > f.want || f.goal == ">=" && v < f.want
}

// figures measures the tree.
func (t *tree) figures() []figure {
	var rooms, arrows, lacking []finding
	var lines [generated + 1]int
	for _, r := range t.rooms() {
		for k, n := range r.lines {
			lines[k] += n
		}
		if r.name != "." {
			rooms = append(rooms, finding{r.name, "room, lines of code", r.lines[code]})
		}
		for _, to := range sorted(r.imports) {
			arrows = append(arrows, finding{r.name, "-> " + to, 1})
		}
		if r.lines[code] > 0 { // the worst room has the largest shortage of test lines
			lacking = append(lacking, finding{r.name, "room, tests : code " + r.ratio(), r.lines[code] - r.lines[test]})
		}
	}
	lengths, complexities := t.functions()
	methods, fields := t.types()
	packages, tooLarge := t.packages()
	wide, bare, defined, phrases := t.wide(), t.undocumented(), t.definitions(), t.phrases()
	most := func(list []finding) float64 { return float64(quantile(list, 1)) }
	all := []figure{
		{name: "lines of code", value: float64(lines[code])},
		{name: "lines of tests", value: float64(lines[test])},
		{name: "lines generated", value: float64(lines[generated])},
		{name: "tests : code", value: float64(lines[test]) / float64(max(1, lines[code])), behind: lacking,
			goal: ">=", want: 0.55},
		{name: "rooms at the top", value: float64(len(rooms)), behind: rooms, goal: "<=", want: 24},
		{name: "arrows between rooms", value: float64(len(arrows)), behind: arrows, goal: "<=", want: 88},
		{name: "packages", value: float64(len(packages)), behind: packages},
		{name: "packages too large", value: float64(len(tooLarge)), behind: tooLarge, goal: "<=",
			limit: "a package is read as one: cut it along an interface"},
		{name: "function, p99 lines", value: float64(quantile(lengths, 0.99)), behind: lengths, goal: "<=", want: 70},
		{name: "complexity, most", value: most(complexities), behind: complexities, goal: "<=", want: mostComplexity,
			limit: "who changes it must keep all ways through it in mind"},
		{name: "methods of a type, most", value: most(methods), behind: methods, goal: "<=", want: 50},
		{name: fmt.Sprintf("structs of > %d fields", mostFields), value: float64(len(fields)), behind: fields,
			goal: "<=", want: 8},
		{name: fmt.Sprintf("lines over %d columns", mostColumns), value: float64(len(wide)), behind: wide, goal: "<=",
			limit: "what is out of sight is not reviewed"},
		{name: "exported names without comment", value: float64(len(bare)), behind: bare, goal: "<=",
			limit: "a comment describes what others may use"},
		{name: "function comments that begin \"X is\"", value: float64(len(defined)), behind: defined, goal: "<=",
			limit: "a reader wants to know what a function does: begin with its name and a verb"},
		{name: "phrases that are always wrong", value: float64(len(phrases)), behind: phrases, goal: "<=",
			limit: "CONTRIBUTING.md has the words to use instead"},
		{name: "tracked files that are large or built", value: float64(len(t.unwanted)), behind: t.unwanted, goal: "<=",
			limit: "who clones the tree gets them for ever: build with -o outside it, or list the file with a reason"},
	}
	for i := range all {
		all[i].behind = worst(all[i].behind)
	}
	return all
}

// worst returns findings with the largest first, and findings of equal size by place.
func worst(list []finding) []finding {
	return slices.SortedFunc(slices.Values(list), func(a, b finding) int {
		return cmp.Or(b.size-a.size, strings.Compare(a.where, b.where), strings.Compare(a.what, b.what))
	})
}

// quantile returns the smallest size such that the given share of findings is not larger. It returns 0 if there are no
// findings.
func quantile(list []finding, share float64) int {
	if len(list) == 0 {
		return 0
	}
	// The product is rounded first, because 0.9 * 10 may be slightly above 9.
	rank := int(math.Ceil(math.Round(share*float64(len(list))*1e6) / 1e6))
	return worst(list)[len(list)-max(rank, 1)].size
}

// A room is a folder in the root with everything in it.
type room struct {
	name                string
	lines               [generated + 1]int // number of lines by kind of file
	imports, importedBy map[string]bool
}

// rooms returns the top-level folders of the tree in order of their names. Files in the root itself form the room ".".
func (t *tree) rooms() (list []*room) {
	by := map[string]*room{}
	for _, f := range t.files {
		if by[f.room()] == nil {
			by[f.room()] = &room{name: f.room(), imports: map[string]bool{}, importedBy: map[string]bool{}}
		}
		by[f.room()].lines[f.kind] += f.lines()
	}
	for _, f := range t.files {
		for _, i := range f.syntax.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			local, inside := strings.CutPrefix(path+"/", t.module+"/")
			name, _, _ := strings.Cut(local, "/")
			name = cmp.Or(name, ".")
			if to := by[name]; f.kind != test && inside && to != nil && name != f.room() {
				by[f.room()].imports[name], to.importedBy[f.room()] = true, true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		list = append(list, by[name])
	}
	return list
}

// ratio returns tests : code of a room.
func (r *room) ratio() string {
	if r.lines[code] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(r.lines[test])/float64(r.lines[code]))
}

func sorted(names map[string]bool) []string { return slices.Sorted(maps.Keys(names)) }

// packages returns the packages of the tree's code, and those of them that are too large.
func (t *tree) packages() (all, tooLarge []finding) {
	files, lines := map[string]int{}, map[string]int{}
	for _, f := range t.of(code) {
		files[f.dir]++
		lines[f.dir] += f.lines()
	}
	for dir, n := range files {
		p := finding{dir, fmt.Sprintf("package of %d files", n), lines[dir]}
		all = append(all, p)
		if large[dir] == "" && (n > mostFiles || lines[dir] > mostLines) {
			tooLarge = append(tooLarge, p)
		}
	}
	return all, tooLarge
}

// functions returns the lengths and complexities of the functions in the tree's code, and of function literals outside
// functions.
func (t *tree) functions() (lengths, complexities []finding) {
	for _, f := range t.of(code) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			name := "func literal"
			switch d := n.(type) {
			case *ast.FuncDecl:
				name = nameOf(d)
			case *ast.FuncLit:
			default:
				return true
			}
			lines := t.set.PositionFor(n.End(), false).Line - t.set.PositionFor(n.Pos(), false).Line + 1
			lengths = append(lengths, finding{t.at(n.Pos()), name, lines})
			if !strings.HasPrefix(f.name, asIs) {
				complexities = append(complexities, finding{t.at(n.Pos()), name, complexity(n)})
			}
			return false
		})
	}
	return lengths, complexities
}

// complexity returns the cyclomatic complexity of a function, including the literals in it.
func complexity(f ast.Node) int {
	sum := 1
	ast.Inspect(f, func(n ast.Node) bool {
		more := false
		switch n := n.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			more = true
		case *ast.CaseClause:
			more = n.List != nil
		case *ast.CommClause:
			more = n.Comm != nil
		case *ast.BinaryExpr:
			more = n.Op == token.LAND || n.Op == token.LOR
		}
		if more {
			sum++
		}
		return true
	})
	return sum
}

// wide returns the lines of code and tests that have too many columns.
func (t *tree) wide() (list []finding) {
	for _, f := range slices.Concat(t.of(code), t.of(test)) {
		n := 0
		for line := range bytes.Lines(f.text) {
			n++
			line = bytes.TrimRight(line, "\r\n")
			if size := utf8.RuneCount(line); size > mostColumns {
				begin := fmt.Sprintf("%.60s", bytes.TrimSpace(line))
				list = append(list, finding{fmt.Sprintf("%s:%d", f.name, n), begin, size})
			}
		}
	}
	return list
}
