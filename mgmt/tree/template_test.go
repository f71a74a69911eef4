package tree

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tamtam/internal/randtest"
)

// Keys found without the regular expression equal those found by it.
func TestSimpleTemplates(t *testing.T) {
	simple := 0
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 1}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		for _, separator := range []string{"|", ":"} {
			for _, text := range []string{"{name}", "TAM|{name}", "a:{name}", "a|{b}|{name}", "{name}|x", "x{name}"} {
				row, err := compileTemplate(text, separator, []string{"b", "name"}, false)
				if err != nil {
					t.Fatal(err)
				}
				if !row.simple {
					continue
				}
				simple++
				for range 200 {
					key := ""
					for range r.IntN(4) {
						key += []string{"a", "|", ":", "*", "\n", "\xff", row.before, "10.0.0.0/8"}[r.IntN(8)]
					}
					if got, want := row.find(key), row.re().FindStringSubmatch(key); !slices.Equal(got, want) {
						t.Errorf("%s: %q is %q, want %q", text, key, got, want)
					}
				}
			}
		}
	})
	if simple == 0 {
		t.Error("no template is simple")
	}
}
