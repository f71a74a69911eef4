package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/flymonorch/plan"
	"tamtam/internal/randtest"
	"tamtam/tam/flymon"
)

// A pinned task keeps its place while its measurement is unchanged, regardless of other tasks. A task that is refused
// because of pinned tasks fits once these are no longer pinned.
func TestPinnedAtRandom(t *testing.T) {
	var stayed, moves, refused, met int
	fixed := randtest.Cases{Seed: 1, Count: 8, Short: 1}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 31))
		p := newPlanned(t, someGeometry(seed))
		tasks := map[string]flymon.Task{}
		for range 80 {
			name := fmt.Sprintf("t%d", r.IntN(30))
			was, there := tasks[name]
			x := randomTask(t, r)
			if x.Pinned = r.IntN(3) == 0; r.IntN(4) > 0 {
				x.Epoch, x.Live = time.Second, false
			}
			if r.IntN(3) == 0 {
				x.Filter = flymon.Filter{}
			}
			switch {
			case there && r.IntN(3) == 0:
				p.pool.Remove(name)
				p.chip.Remove(name)
				delete(tasks, name)
				continue
			case there && r.IntN(2) == 0: // change only the filter
				was.Filter, was.Pinned = x.Filter, was.Pinned || x.Pinned
				x = was
			}
			before := map[string][]flymon.Unit{}
			for o, task := range tasks {
				if o == name {
					a, b := task, x
					a.Filter, a.Pinned, b.Filter, b.Pinned = flymon.Filter{}, false, flymon.Filter{}, false
					if task.Pinned = x.Pinned; a != b {
						continue
					}
				}
				if task.Pinned {
					before[o] = p.pool.Get(o).Layout.Units
				}
			}
			moved, err := p.deploy(name, x)
			if moves += len(moved); err == nil {
				tasks[name] = x
			}
			for o, units := range before {
				if stayed++; !reflect.DeepEqual(places(p.pool.Get(o).Layout.Units), places(units)) || slices.Contains(moved, o) {
					t.Fatalf("%s, pinned, was moved for %s", o, name)
				}
			}
			var lack *plan.Lack
			if !errors.As(err, &lack) || lack.Pinned == nil {
				continue
			}
			refused++
			free := plan.New(p.geo)
			for _, o := range p.names(tasks) {
				free.Put(p.pool.Get(o))
			}
			for _, o := range lack.Pinned {
				if !strings.Contains(err.Error(), o) {
					t.Fatalf("%v, want the name of %s", err, o)
				}
				free.Pin(o, false)
			}
			if slices.Contains(lack.Pinned, name) {
				met++
				x.Pinned = false
			}
			if _, _, err := free.Room(name, x); err != nil && !slices.Contains(lack.Pinned, name) {
				t.Fatalf("%s: %v; with these not pinned: %v", name, lack, err)
			}
		}
	})
	t.Logf("pinned tasks stayed %d times, %d others were moved, %d refused for pinned ones, %d for their own filter",
		stayed, moves, refused, met)
	if ran.Whole(fixed) && (moves < 20 || refused < 10 || met < 2) {
		t.Error("the test shows little")
	}
}

// places returns the group, CMU, base and size of each unit, without the operation.
func places(units []flymon.Unit) (list []string) {
	for i := range units {
		list = append(list, fmt.Sprintf("%d.%d:%d+%d", units[i].Group, units[i].CMU, units[i].Base, units[i].Size))
	}
	return list
}
