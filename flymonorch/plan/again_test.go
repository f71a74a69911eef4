package plan_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"tamtam/flymonorch/plan"
	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
)

func someGeometry(seed uint64) flymon.Geometry {
	geo := flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: 32, Depth: 4096, Partitions: 32,
		MapEntries: 96, Digests: 4}
	if seed%3 == 1 {
		geo.Groups, geo.Spliced, geo.Width, geo.Units = 5, 0, 16, 2
	}
	return geo
}

// history adds random tasks to a chip, and changes, moves and removes them. It returns the remaining ones.
func history(t *testing.T, r *rand.Rand, p *planned, steps int) map[string]flymon.Task {
	tasks := map[string]flymon.Task{}
	for range steps {
		name := fmt.Sprintf("t%d", r.IntN(60))
		if _, there := tasks[name]; there && r.IntN(2) == 0 {
			p.pool.Remove(name)
			p.chip.Remove(name)
			delete(tasks, name)
			continue
		}
		x := randomTask(t, r)
		if was, there := tasks[name]; there && r.IntN(3) == 0 { // change only the filter
			was.Filter = x.Filter
			x = was
		}
		if _, err := p.deploy(name, x); err == nil {
			tasks[name] = x
		}
	}
	return tasks
}

// remembered encodes a place as JSON and returns the decoded result.
func remembered(t *testing.T, at plan.Place) (back plan.Place) {
	t.Helper()
	text, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// A new pool that receives the places of a chip's tasks, in any order, has the same layouts, regardless of the history
// of the tasks.
func TestPlacesAgain(t *testing.T) {
	found := 0
	fixed := randtest.Cases{Count: 4}
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		geo, r := someGeometry(seed), rand.New(rand.NewPCG(seed, 9))
		p := newPlanned(t, geo)
		tasks := history(t, r, p, 250)
		again := plan.New(geo)
		names := p.names(tasks)
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			was := p.pool.Get(name)
			now, err := again.AddAt(name, tasks[name], remembered(t, was.Place()))
			if err != nil {
				t.Fatalf("task %s, %+v: %v", name, tasks[name], err)
			}
			if !reflect.DeepEqual(now, was) {
				t.Fatalf("task %s: %+v, want %+v", name, now, was)
			}
			found++
		}
		if !reflect.DeepEqual(uses(again, geo), uses(p.pool, geo)) {
			t.Error("something else is in use")
		}
	})
	if c.Whole(fixed) && found < 40 {
		t.Errorf("%d tasks: the test shows little", found)
	}
}

// An invented place, or the place of another task, is either refused or accepted by the chip too. Two tasks never share
// a place, and a task never counts by another task's key.
func TestInventedPlaces(t *testing.T) {
	refused := map[bool]int{}
	fixed := randtest.Cases{Count: 4}
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		geo, r := someGeometry(seed), rand.New(rand.NewPCG(seed, 10))
		p := newPlanned(t, geo)
		tasks := history(t, r, p, 150)
		names := p.names(tasks)
		b, again := &placements{geo, map[string]*plan.Placed{}}, newPlanned(t, geo)
		for _, name := range names {
			x := tasks[name]
			if r.IntN(4) == 0 {
				x = randomTask(t, r)
			}
			at := invent(r, p.pool.Get(name).Place(), p.pool.Get(names[r.IntN(len(names))]).Place())
			placed, err := again.pool.AddAt(name, x, at)
			refused[err != nil]++
			if err != nil {
				continue
			}
			again.apply(placed.Layout) // the chip accepts it
			b.tasks[name] = placed
			if _, err := b.uses(); err != nil {
				t.Fatal(err)
			}
			wantKeys(t, placed)
		}
	})
	if c.Whole(fixed) && (refused[true] < 30 || refused[false] < 30) {
		t.Errorf("%d refused, %d not: the test shows little", refused[true], refused[false])
	}
}

// wantKeys checks that all units of a task that measures flows count by the task's key.
func wantKeys(t *testing.T, p *plan.Placed) {
	t.Helper()
	masks := map[[2]int]flymon.Key{}
	for _, m := range p.Layout.Masks {
		masks[[2]int{m.Group, m.Unit}] = m.Key
	}
	for _, u := range p.Layout.Units {
		k := masks[[2]int{u.Group, u.Key.A}]
		if u.Key.B > 0 {
			k = k.Or(masks[[2]int{u.Group, u.Key.B - 1}])
		}
		if want := p.Task.Key; k != want && k != p.Task.Attribute.Of {
			t.Errorf("task %s, %s: counts by %s, want %s", p.Name, p.Task.Attribute, k, want)
		}
	}
}

// invent returns a place with a random change.
func invent(r *rand.Rand, at, other plan.Place) plan.Place {
	switch r.IntN(24) {
	case 0:
		return other
	case 1:
		at.Masks = other.Masks
	case 2:
		at.Units = nil
	case 3:
		at.Units = append(at.Units, other.Units...)
	case 4:
		at.From, at.To = uint16(r.IntN(1<<16)), uint16(r.IntN(1<<16))
	case 5, 6, 7, 8:
		u := &at.Units[r.IntN(len(at.Units))]
		odd := []int{-1, 0, 1, 2, 3, 4, 1 << 30, -1 << 62}[r.IntN(8)]
		for _, f := range []func(){
			func() { u.Group = odd }, func() { u.CMU = odd }, func() { u.Base = uint32(odd) }, func() { u.Base += 64 },
			func() { u.Key.A = odd }, func() { u.Key.B = odd }, func() { u.Element.A = odd },
		}[r.IntN(7):][:1] {
			f()
		}
	case 9:
		if len(at.Masks) > 0 {
			at.Masks[r.IntN(len(at.Masks))].Key = flymon.Key{1}
		}
	}
	return at
}
