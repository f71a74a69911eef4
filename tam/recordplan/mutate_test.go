package recordplan

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/recordplan/p4graph"
)

// A program with a missing, repeated, retyped or moved part is either refused or usable. Random bytes would mostly be
// invalid JSON, so this test mutates values.
func TestReadMutated(t *testing.T) {
	files, err := filepath.Glob("p4graph/testdata/bmv2/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	read, fixed := 0, randtest.Cases{Seed: 11, Count: 100}
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(b, &v); err != nil {
				t.Fatal(err)
			}
			for range 1 + r.IntN(3) {
				mutate(r, v)
			}
			changed, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			g, err := p4graph.Read(bytes.NewReader(changed), "")
			if err != nil {
				continue
			}
			read++
			if _, err := p4graph.Measure(g); err != nil {
				t.Fatalf("%s: %v\n%s", file, err, changed)
			}
			if _, err := p4graph.Complete(g, p4graph.Random(g, 1)); err != nil {
				t.Fatalf("%s: %v\n%s", file, err, changed)
			}
		}
	})
	if c.Whole(fixed) && (read < c.Count || read > (len(files)-1)*c.Count) {
		t.Errorf("%d of %d programs were read: either all are refused or nothing is", read, len(files)*c.Count)
	}
}

// mutate changes one random value in v.
func mutate(r *rand.Rand, v any) {
	type place struct {
		set func(any)
		del func()
		was any
	}
	var places []place
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				places = append(places, place{func(x any) { v[k] = x }, func() { delete(v, k) }, v[k]})
				walk(v[k])
			}
		case []any:
			for i := range v {
				places = append(places, place{func(x any) { v[i] = x }, func() { v[i] = nil }, v[i]})
				walk(v[i])
			}
		}
	}
	walk(v)
	if len(places) == 0 {
		return
	}
	p := places[r.IntN(len(places))]
	switch r.IntN(6) {
	case 0:
		p.del()
	case 1:
		p.set([]any{nil, true, 0.5, -1.0, "", "a", "__HIT__", []any{}, map[string]any{}}[r.IntN(9)])
	default: // a value from elsewhere, copied so that no value contains itself
		text, err := json.Marshal(places[r.IntN(len(places))].was)
		if err != nil || len(text) > 10_000 {
			return
		}
		var other any
		if json.Unmarshal(text, &other) == nil {
			p.set(other)
		}
	}
}
