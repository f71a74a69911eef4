package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"math"
	"math/rand/v2"
	"path"
	"strings"
)

// layered are the packages whose files are to stand in layers: each knows those below it only.
var layered = []string{"saisim", "saisim/objects", "saisim/objects/extension", "saisim/engine"}

// A reference says that one file uses what another of its package declares.
type reference struct{ from, to string }

// references returns those between the files of a package, each with the names that are used.
func (c *checker) references(dir string) map[reference][]string {
	by := map[reference][]string{}
	uses := map[*ast.Ident]types.Object{}
	p := c.check(dir, c.tree.sources(dir), &types.Info{Uses: uses})
	for name, object := range uses {
		if object.Pkg() != p || !object.Pos().IsValid() {
			continue
		}
		set := c.tree.set
		r := reference{set.PositionFor(name.Pos(), false).Filename, set.PositionFor(object.Pos(), false).Filename}
		if r.from != r.to {
			by[r] = with(by[r], object.Name())
		}
	}
	return by
}

// A checker finds what the names in the tree's packages mean. Packages of the tree that these import
// are checked too, without bodies. All others are empty, but for a sketch of sync/atomic, and errors
// are passed over: to read the standard library would take longer than all else here. So a field or
// method is not found where only a foreign generic function or type tells what it is of, as in
// slices.Clone(list)[0].name. In the layered packages that loses nothing: when this was written, all
// 647 references and their names were those found with the compiler's export data. Without the
// tree's own imports 36 were lost, and without the sketch 4.
type checker struct {
	tree     *tree
	packages map[string]*types.Package // imported, by path
}

// atomics is what of sync/atomic hands on types of the tree.
const atomics = `package atomic
type Pointer[T any] struct{}
func (*Pointer[T]) Load() *T
func (*Pointer[T]) Swap(*T) *T
`

// Import returns the package of a path, as types.Importer wants it.
func (c *checker) Import(name string) (*types.Package, error) {
	if p := c.packages[name]; p != nil {
		return p, nil
	}
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	c.packages[name] = p // so that a circle of imports, which is no Go, has an end
	dir, inside := strings.CutPrefix(name, c.tree.module+"/")
	files := c.tree.sources(dir)
	if name == "sync/atomic" {
		sketch, err := parser.ParseFile(c.tree.set, name, atomics, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		inside, files = true, []*ast.File{sketch}
	}
	if inside && len(files) > 0 {
		p = c.check(name, files, nil)
		c.packages[name] = p
	}
	return p, nil
}

// check finds the types of a package; with info, those in bodies too.
func (c *checker) check(name string, files []*ast.File, info *types.Info) *types.Package {
	passOver := func(error) {}
	config := types.Config{Importer: c, Error: passOver, IgnoreFuncBodies: info == nil, FakeImportC: true}
	p, _ := config.Check(name, c.tree.set, files, info)
	return p
}

// sources returns the syntax of the files of a package, without its tests.
func (t *tree) sources(dir string) (list []*ast.File) {
	for _, f := range t.files {
		if f.dir == dir && !strings.HasSuffix(f.name, "_test.go") {
			list = append(list, f.syntax)
		}
	}
	return list
}

// runningUp returns the references that run up where files stand in the best order, as findings.
func runningUp(by map[reference][]string) (list []finding) {
	const mostNames = 4
	var files []string // by name, so that the search begins the same each time
	for r := range by {
		files = with(with(files, r.from), r.to)
	}
	refers := make([][]int, len(files))
	for i, from := range files {
		refers[i] = make([]int, len(files))
		for j, to := range files {
			refers[i][j] = min(1, len(by[reference{from, to}]))
		}
	}
	for _, r := range upward(refers, bestOrder(refers)) {
		from, to := files[r[0]], files[r[1]]
		names := by[reference{from, to}]
		what := strings.Join(names[:min(len(names), mostNames)], ", ")
		if more := len(names) - mostNames; more > 0 {
			what += fmt.Sprintf(" and %d more", more)
		}
		list = append(list, finding{from, "-> " + path.Base(to) + ": " + what, len(names)})
	}
	return list
}

// upward returns from where to where references run from a lower item to a higher one; the first
// of the order is the highest.
func upward(refers [][]int, order []int) (list [][2]int) {
	for i, low := range order {
		for _, high := range order[:i] {
			if refers[low][high] > 0 {
				list = append(list, [2]int{low, high})
			}
		}
	}
	return list
}

// bestOrder returns the order in which the fewest references run up. To find it for certain takes
// too long. This begins with random orders, always the same, and moves items while that is better:
// the result may be too large, never too small.
func bestOrder(refers [][]int) (best []int) {
	const tries = 300
	random := rand.New(rand.NewPCG(1, 1))
	fewest := math.MaxInt
	for range tries {
		order := random.Perm(len(refers))
		for improve(refers, order) {
		}
		if n := len(upward(refers, order)); n < fewest {
			best, fewest = order, n
		}
	}
	return best
}

// improve moves each item to where the fewest references run up, and reports whether any moved.
func improve(refers [][]int, order []int) (moved bool) {
	for at, item := range order {
		to, least := at, 0
		for _, step := range []int{-1, 1} {
			change := 0 // in how many run up
			for i := at + step; i >= 0 && i < len(order); i += step {
				passed := order[i]
				change += step * (refers[item][passed] - refers[passed][item])
				if change < least {
					to, least = i, change
				}
			}
		}
		if to != at {
			moved = true
			move(order, at, to)
		}
	}
	return moved
}

// move takes the item at one place to another, and those between one place on.
func move(order []int, from, to int) {
	item := order[from]
	if to < from {
		copy(order[to+1:], order[to:from])
	} else {
		copy(order[from:], order[from+1:to+1])
	}
	order[to] = item
}
