package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// What is too much of something.
const (
	mostComplexity = 15
	mostFields     = 20
	mostFiles      = 45   // of a package, outside tests
	mostLines      = 6000 // likewise
	mostColumns    = 120
)

// asIs is the part of the tree whose functions, methods and structs are not judged: it says step by
// step what the hardware does, one field for each wire.
const asIs = "saisim/reference"

// A finding is one item behind a figure.
type finding struct {
	where, what string
	size        int
}

// A figure is one number of the tree.
type figure struct {
	name   string
	value  float64
	digits int       // behind the point
	worst  []finding // behind it, the worst first
}

func (f figure) text() string { return fmt.Sprintf("%.*f", f.digits, f.value) }

// figures measures the tree.
func (t *tree) figures() []figure {
	var all []figure
	for _, some := range []func() []figure{
		t.ofLines, t.ofFunctions, t.ofTypes, t.ofColumns, t.ofTests, t.ofRooms, t.ofPackages,
	} {
		all = append(all, some()...)
	}
	return all
}

// whole makes a figure of a number and the findings behind it.
func whole(name string, n int, behind []finding) figure {
	return figure{name, float64(n), 0, worst(behind)}
}

// worst sorts the findings behind a figure: the largest first, and by place where equal.
func worst(list []finding) []finding {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b finding) int {
		return cmp.Or(b.size-a.size, strings.Compare(a.where, b.where), strings.Compare(a.what, b.what))
	})
	return list
}

// above returns what is larger than a limit.
func above(list []finding, most int) []finding {
	return slices.DeleteFunc(slices.Clone(list), func(f finding) bool { return f.size <= most })
}

// quantile returns the smallest size that the given share of findings does not exceed; 0 if there are none.
func quantile(list []finding, share float64) int {
	if len(list) == 0 {
		return 0
	}
	sorted := worst(list)
	slices.Reverse(sorted)
	// Rounded first: 0.9 * 10 may come out a little above 9.
	rank := int(math.Ceil(math.Round(share*float64(len(sorted))*1e6) / 1e6))
	return sorted[max(rank, 1)-1].size
}

func (t *tree) ofLines() []figure {
	var sums [generated + 1]int
	var files []finding
	for _, f := range t.files {
		n := f.lines()
		sums[f.kind] += n
		if f.kind == code {
			files = append(files, finding{f.name, "file", n})
		}
	}
	return []figure{
		whole("lines of code", sums[code], nil),
		whole("lines of tests", sums[test], nil),
		whole("lines generated", sums[generated], nil),
		whole("file, median lines", quantile(files, 0.5), nil),
		whole("file, p90 lines", quantile(files, 0.9), nil),
		whole("file, most lines", quantile(files, 1), files),
	}
}

func (t *tree) ofFunctions() []figure {
	var lengths, tangled []finding
	judged := 0
	for _, f := range t.functions() {
		lengths = append(lengths, finding{f.at, f.name, f.lines})
		if !isAsIs(f.file.dir) {
			judged++
			tangled = append(tangled, finding{f.at, f.name, f.complexity})
		}
	}
	over := above(tangled, mostComplexity)
	share := 100 * float64(len(over)) / float64(max(1, judged))
	return []figure{
		whole("functions", len(lengths), nil),
		whole("function, p99 lines", quantile(lengths, 0.99), lengths),
		whole("function, most lines", quantile(lengths, 1), lengths),
		{fmt.Sprintf("functions of complexity > %d, percent", mostComplexity), share, 2, worst(over)},
		whole("complexity, most", quantile(tangled, 1), tangled),
	}
}

func isAsIs(dir string) bool { return dir == asIs || strings.HasPrefix(dir, asIs+"/") }

func (t *tree) ofTypes() []figure {
	judged := func(list []finding) []finding {
		return slices.DeleteFunc(list, func(f finding) bool { return strings.HasPrefix(f.where, asIs+"/") })
	}
	methods := judged(t.methods())
	fields := above(judged(t.structs()), mostFields)
	return []figure{
		whole("methods of a type, most", quantile(methods, 1), methods),
		whole(fmt.Sprintf("structs of > %d fields", mostFields), len(fields), fields),
	}
}

func (t *tree) ofColumns() (list []figure) {
	for _, of := range []struct {
		kind kind
		name string
	}{{code, "code"}, {test, "tests"}} {
		var lines []finding
		for _, f := range t.of(of.kind) {
			lines = append(lines, f.widths()...)
		}
		over := above(lines, mostColumns)
		list = append(list,
			whole(fmt.Sprintf("lines over %d columns, %s", mostColumns, of.name), len(over), over),
			whole("line, most columns, "+of.name, quantile(lines, 1), over))
	}
	return list
}

func (t *tree) ofTests() []figure {
	var sums [generated + 1]int
	var ratios []finding
	for _, r := range t.rooms() {
		for k, n := range r.lines {
			sums[k] += n
		}
		if r.lines[code] > 0 {
			lacking := r.lines[code] - r.lines[test] // the room that lacks most lines is the worst
			ratios = append(ratios, finding{r.name, fmt.Sprintf("room, tests : code %s", r.ratio()), lacking})
		}
	}
	return []figure{
		{"tests : code", float64(sums[test]) / float64(max(1, sums[code])), 2, worst(ratios)},
	}
}

// ratio is tests : code of a room.
func (r *room) ratio() string {
	if r.lines[code] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(r.lines[test])/float64(r.lines[code]))
}

func (t *tree) ofRooms() []figure {
	var rooms, arrows, bare []finding
	for _, r := range t.rooms() {
		if r.name != "." {
			rooms = append(rooms, finding{r.name, "room, lines of code", r.lines[code]})
		}
		for _, to := range r.imports {
			arrows = append(arrows, finding{r.name, "-> " + to, 1})
		}
	}
	for _, f := range t.of(code) {
		if f.syntax.Name.Name != "main" {
			bare = append(bare, t.undocumented(f)...)
		}
	}
	return []figure{
		whole("rooms at the top", len(rooms), rooms),
		whole("arrows between rooms", len(arrows), arrows),
		whole("exported names without comment", len(bare), bare),
	}
}

func (t *tree) ofPackages() []figure {
	var files, lines, tooLarge []finding
	for _, p := range t.packages() {
		files = append(files, finding{p.dir, fmt.Sprintf("package of %d lines", p.lines), p.files})
		lines = append(lines, finding{p.dir, fmt.Sprintf("package of %d files", p.files), p.lines})
		if large[p.dir] == "" && (p.files > mostFiles || p.lines > mostLines) {
			tooLarge = append(tooLarge, lines[len(lines)-1])
		}
	}
	return []figure{
		whole("package, most files", quantile(files, 1), files),
		whole("package, most lines", quantile(lines, 1), lines),
		whole("packages too large", len(tooLarge), tooLarge),
	}
}
