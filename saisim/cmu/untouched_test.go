package cmu_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
)

// A task that is not changed keeps the same registers, digests and counts, bit for bit, whatever happens to others
// under traffic: added, removed, moved, changed, cleared, refused.
func TestUntouchedTasks(t *testing.T) {
	fixed, kept, others := randtest.Cases{Count: 5}, 0, 0
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 9))
		geo := small(pick(r, 8, 16, 32))
		quiet, busy, in := newBench(t, geo), newBench(t, geo), newInterpreter(geo)
		gen := &layouts{t, r, geo}
		var untouched []string
		for i := range 12 {
			l := gen.layout(fmt.Sprintf("untouched%d", i))
			if quiet.Apply(l) == nil {
				busy.apply(l)
				in.apply(l)
				untouched = append(untouched, l.Task)
			}
		}
		load, changes := newTraffic(seed), 0
		for range 250 {
			change(busy, in, gen, fmt.Sprintf("t%d", r.IntN(20)))
			changes = max(changes, busy.Tasks()-len(untouched))
			list := load.list(r.IntN(20))
			quiet.send(list...)
			busy.send(list...)
		}
		kept, others = kept+len(untouched), others+changes
		for _, name := range untouched {
			sameTask(t, quiet, busy, name)
		}
	})
	if c.Whole(fixed) && (kept < 2*c.Count || others < 4*c.Count) {
		t.Errorf("%d tasks untouched, up to %d others, in all cases: this shows too little", kept, others)
	}
}

func sameTask(t *testing.T, quiet, busy *bench, name string) {
	t.Helper()
	l, _ := quiet.Layout(name)
	if got, _ := busy.Layout(name); !reflect.DeepEqual(got, l) {
		t.Fatalf("%s is another layout", name)
	}
	a, b := quiet.status(name), busy.status(name)
	if a.Banks != b.Banks || a.Frozen != b.Frozen || a.Generation != b.Generation {
		t.Errorf("%s: %+v, want %+v", name, b, a)
	}
	for bank := range int(l.Banks()) {
		for i := range l.Units {
			if got, want := busy.words(name, i, bank), quiet.words(name, i, bank); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, unit %d, bank %d: %s", name, i, bank, differ(got, want))
			}
		}
		var none []flymon.Vector
		if got, want := busy.digests(name, bank),
			quiet.digests(name, bank); !reflect.DeepEqual(append(none, got...), append(none, want...)) {
			t.Errorf("%s, bank %d: digests %v, want %v", name, bank, got, want)
		}
	}
}
