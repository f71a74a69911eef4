package main

import (
	"go/types"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"
)

// referenceTests are two files of a package, and what the first uses of what the second declares.
var referenceTests = []struct{ name, a, b, want string }{
	{"a function", "func f() { g() }", "func g() {}", "g"},
	{"a type, a constant, a variable", "var x T = c + v", "type T int; const c = 1; var v T", "T c v"},
	{"a method and a field", "func f(x *T) { x.m(x.n) }", "type T struct{ n int }; func (*T) m(int) {}", "T m n"},
	{"by way of others", "func f() { g().n++ }; func g() *T { return nil }; type T struct{ U }",
		"type U struct{ n int }", "U n"},
	{"each name once", "func f() { g(); g() }", "func g() {}", "g"},
	{"a literal's field, no local name", "func f(n int) int { x := T{n: n}; return x.n }", "type T struct{ n int }",
		"T n"},
	{"a generic type's method", "func f(x T[int]) { x.m() }", "type T[K any] struct{}; func (T[K]) m() {}", "T m"},
	{"nothing", "func f() { g() }; func g() {}", "func h() { var g, f int; _, _ = g, f }", ""},

	{"in what a foreign function takes",
		"import \"slices\"\nvar x []T\nfunc f() { slices.SortFunc(x, func(a, b T) int { return a.n - b.n }) }",
		"type T struct{ n int }", "T n"},
	{"in a foreign type's literal", "import \"net\"\nvar x = net.IPNet{IP: g(), Mask: y.m}",
		"import \"net\"\nvar y T; func g() net.IP { return nil }; type T struct{ m net.IPMask }", "g m y"},
	{"from a map by a foreign key", "import \"net/netip\"\nfunc f(a netip.Addr) int { return x[a].n }",
		"import \"net/netip\"\nvar x map[netip.Addr]T; type T struct{ n int }", "n x"},
	{"behind an atomic pointer", "import \"sync/atomic\"\nvar p atomic.Pointer[T]\nfunc f() { p.Load().n++ }",
		"type T struct{ n int }", "T n"},
	{"through a generic function of the tree", "import \"m/lib\"\nfunc f() { lib.First(x).n++ }",
		"var x []*T; type T struct{ n int }", "n x"},
	{"not found: a field behind a foreign generic function", "import \"slices\"\nfunc f() { slices.Clone(x)[0].n++ }",
		"var x []T; type T struct{ n int }", "x"},
}

func TestReferences(t *testing.T) {
	for _, tt := range referenceTests {
		t.Run(tt.name, func(t *testing.T) {
			c := &checker{packages: map[string]*types.Package{}, tree: makeTree(t, map[string]string{
				"p/a.go": "package p\n" + tt.a, "p/b.go": "package p\n" + tt.b,
				"lib/lib.go": "package lib\nfunc First[T any](list []T) T { return list[0] }\n"})}
			by := c.references("p")
			got := strings.Join(by[reference{"p/a.go", "p/b.go"}], " ")
			delete(by, reference{"p/a.go", "p/b.go"})
			if got != tt.want || len(by) > 0 {
				t.Errorf("%q, and others %v; want %q, and none", got, by, tt.want)
			}
		})
	}
}

// A finding names the files, and the first few of the names that are used.
func TestRunningUpFindings(t *testing.T) {
	by := map[reference][]string{
		{"p/high.go", "p/low.go"}: {"x"}, {"p/high.go", "p/mid.go"}: {"x"}, {"p/mid.go", "p/low.go"}: {"x"},
		{"p/low.go", "p/high.go"}: {"a", "b", "c", "d", "e", "f"},
	}
	want := []finding{{"p/low.go", "-> high.go: a, b, c, d and 2 more", 6}}
	if got := runningUp(by); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Of few items no order has fewer references that run up, as all orders show.
func TestBestOrder(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 20}, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		refers := make([][]int, 2+random.IntN(5))
		for i := range refers {
			refers[i] = make([]int, len(refers))
			for j := range refers {
				if i != j {
					refers[i][j] = random.IntN(2)
				}
			}
		}
		fewest := len(refers) * len(refers)
		for order := range orders(len(refers)) {
			fewest = min(fewest, len(upward(refers, order)))
		}
		if got := len(upward(refers, bestOrder(refers))); got != fewest {
			t.Errorf("%d run up, want %d: %v", got, fewest, refers)
		}
	})
}

// orders yields all orders of n items.
func orders(n int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		if n == 0 {
			yield(nil)
			return
		}
		for order := range orders(n - 1) {
			for at := range n {
				if !yield(slices.Insert(slices.Clone(order), at, n-1)) {
					return
				}
			}
		}
	}
}

// As many files as a package has, in layers but for one reference: that one alone runs up.
func TestBestOrderOfMany(t *testing.T) {
	const n = 60
	refers := make([][]int, n)
	for i := range refers {
		refers[i] = make([]int, n)
		for j := range i {
			refers[i][j] = 1
		}
	}
	refers[7][50] = 1
	if got, want := upward(refers, bestOrder(refers)), [][2]int{{7, 50}}; !slices.Equal(got, want) {
		t.Errorf("%v run up, want %v", got, want)
	}
}

// A package that moves away would be measured as one without any reference.
func TestLayeredPackagesExist(t *testing.T) {
	for _, dir := range layered {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil || len(files) < 2 {
			t.Errorf("%s has %d files, %v", dir, len(files), err)
		}
	}
}
