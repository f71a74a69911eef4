package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"tamtam/flymonorch/plan"
	"tamtam/internal/randtest"
	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
)

// planned holds a chip and its planner. The chip must accept every layout of the planner.
type planned struct {
	t    *testing.T
	geo  flymon.Geometry
	pool *plan.Pool
	chip *cmu.Groups
}

func newPlanned(t *testing.T, geo flymon.Geometry) *planned {
	t.Helper()
	chip, err := cmu.New(geo)
	if err != nil {
		t.Fatal(err)
	}
	return &planned{t, geo, plan.New(geo), chip}
}

func (p *planned) apply(l flymon.Layout) {
	p.t.Helper()
	if err := p.chip.Apply(l); err != nil {
		p.t.Fatalf("the chip does not take %s (frozen %d): %v", l.Task, len(l.Frozen), err)
	}
}

// deploy makes room for a task and places it, step by step as an orchestrator does.
func (p *planned) deploy(name string, x flymon.Task) (moved []string, err error) {
	p.t.Helper()
	want, moves, err := p.pool.Room(name, x)
	if err != nil {
		return nil, err
	}
	for _, to := range moves {
		moved = append(moved, to.Name)
		if err := p.pool.Move(to); err != nil {
			p.t.Fatal(err)
		}
		p.apply(p.pool.Get(to.Name).Layout)
		thawed, ok := p.pool.Thaw(to.Name)
		if !ok {
			p.t.Fatalf("%s had nothing frozen", to.Name)
		}
		p.apply(thawed.Layout)
	}
	do := p.pool.Add
	if p.pool.Get(name) != nil {
		do = p.pool.Change
	}
	placed, err := do(name, x)
	if err != nil {
		p.t.Fatalf("%s has no room after %d moves: %v", name, len(moves), err)
	}
	if !reflect.DeepEqual(placed.Layout, want.Layout) {
		p.t.Fatalf("%s is at %+v, said was %+v", name, placed.Layout, want.Layout)
	}
	p.apply(placed.Layout)
	if thawed, ok := p.pool.Thaw(name); ok {
		p.apply(thawed.Layout)
	}
	return moved, nil
}

// On an empty chip every two algorithms fit beside each other, in either order. The exception is max-interval, which
// uses all CMUs of the three groups that have chains of three steps.
func TestAnyTwoAlgorithms(t *testing.T) {
	whole := func(a, b [3]string) bool { return a[2] == "max-interval" && (b[2] == a[2] || b[2] == "sumax-sum") }
	for _, a := range wanted() {
		for _, b := range wanted() {
			p := newPlanned(t, geometry())
			for i, w := range [][3]string{a, b} {
				x := task(t, "any", w[0], w[1], flymon.Algorithm(w[2]), 24576, 512)
				x.Epoch = time.Second
				if _, err := p.deploy(fmt.Sprint("t", i), x); (err != nil) != (i == 1 && (whole(a, b) || whole(b, a))) {
					t.Errorf("%s, then %s: %v", a, b, err)
				}
			}
		}
	}
}

// A chain fits if the other tasks could be elsewhere. As few of them as possible are moved there. No moves are needed
// while other tasks avoid the groups of chains.
func TestRoomForChains(t *testing.T) {
	p := newPlanned(t, geometry())
	p.geo.Spliced = 0
	deploy := func(name, key, attribute string, algorithm flymon.Algorithm, want int) {
		t.Helper()
		x := task(t, "any", key, attribute, algorithm, 3*2048, 100)
		x.Epoch = time.Second
		moved, err := p.deploy(name, x)
		if err != nil || len(moved) != want {
			t.Errorf("%s: %v moved, %v; want %d", name, moved, err, want)
		}
	}
	for i := range 6 {
		deploy(fmt.Sprint("cms", i), "src-ip", "frequency", flymon.CMS, 0)
	}
	deploy("intervals", "ip-pair", "max(interval)", flymon.MaxInterArr, 0)
	for _, name := range []string{"cms0", "cms1", "cms2", "cms3", "intervals"} {
		p.pool.Remove(name)
		p.chip.Remove(name)
	}
	for i := range 7 { // now they are where the chain was
		deploy(fmt.Sprint("more", i), "src-ip", "frequency", flymon.CMS, 0)
	}
	for _, name := range []string{"cms4", "more0", "more1"} {
		p.pool.Remove(name)
		p.chip.Remove(name)
	}
	deploy("intervals", "ip-pair", "max(interval)", flymon.MaxInterArr, 3)
}

// Only tasks with banked epochs are moved for another task, because other tasks would lose their counts.
func TestNotMoved(t *testing.T) {
	geo := geometry()
	geo.Spliced = 0
	p := newPlanned(t, geo)
	for i := range 7 {
		// no epoch
		if _, err := p.deploy(fmt.Sprint("t", i), task(t, "any", "src-ip", "frequency", flymon.CMS, 3*2048, 0)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := p.deploy("chain", task(t, "any", "ip-pair", "max(interval)", flymon.MaxInterArr, 3*2048, 0))
	var lack *plan.Lack
	if !errors.As(err, &lack) || len(lack.Blockers) != 1 {
		t.Fatalf("%v", err)
	}
	if want := fmt.Sprintf(
		"; in the way in groups 0, 4, 8: task %s; task %s cannot be moved: counted without banked epochs", lack.Blockers[0],
		lack.Blockers[0]); !endsWith(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
}

func endsWith(s, end string) bool { return len(s) >= len(end) && s[len(s)-len(end):] == end }

// If a task would fit with all tasks placed again, it is placed, or the refusal names the tasks in the way. Without
// those it fits.
func TestRoomAtRandom(t *testing.T) {
	var placed, moves, refused, missed int
	fixed := randtest.Cases{Seed: 1, Count: 8, Short: 1}
	ran := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		geo := flymon.Geometry{Groups: 9, Spliced: 3 * r.IntN(2), Units: 3, CMUs: 3, Width: 32, Depth: 4096, Partitions: 32,
			MapEntries: 96, Digests: 4}
		if r.IntN(3) == 0 {
			geo.Groups = 5 + r.IntN(9)
		}
		p := newPlanned(t, geo)
		tasks := map[string]flymon.Task{}
		for range 60 {
			name := fmt.Sprintf("t%d", r.IntN(40))
			if _, ok := tasks[name]; ok && r.IntN(2) == 0 {
				p.pool.Remove(name)
				p.chip.Remove(name)
				delete(tasks, name)
				continue
			}
			x := randomTask(t, r)
			if seed%2 == 0 || r.IntN(4) > 0 {
				x.Epoch, x.Live = time.Second, false
			}
			if r.IntN(2) == 0 {
				x.Filter = flymon.Filter{}
			}
			moved, err := p.deploy(name, x)
			if err == nil {
				tasks[name] = x
				placed, moves = placed+1, moves+len(moved)
				continue
			}
			var lack *plan.Lack
			if !errors.As(err, &lack) {
				continue // no chip like this can do it
			}
			refused++
			if seed%2 == 0 && again(geo, r, tasks, name, x) {
				missed++
			}
			if lack.Blockers == nil && tasks[name].Memory == 0 {
				t.Fatalf("%s: %v: nothing is said to be in the way", name, err)
			}
			if lack.Blockers != nil {
				without := plan.New(geo)
				for _, o := range p.names(tasks) {
					if o != name && !slices.Contains(lack.Blockers, o) {
						without.Put(p.pool.Get(o))
					}
				}
				if _, err := without.Add(name, x); err != nil {
					t.Fatalf("%s: %v; without these: %v", name, lack, err)
				}
			}
		}
	})
	t.Logf("%d placed with %d moves, %d refused, of which %d could be placed if all began anew", placed, moves, refused,
		missed)
	if ran.Whole(fixed) && (moves < 20 || refused < 20) {
		t.Error("the test shows little")
	}
	if ran.Whole(fixed) && missed > refused/10 {
		t.Error("the planner gives up too soon")
	}
}

func (p *planned) names(tasks map[string]flymon.Task) (names []string) {
	for name := range tasks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// again reports whether all tasks and one more fit on an empty chip. It places them in an order that is likely to be
// good.
func again(geo flymon.Geometry, r *rand.Rand, tasks map[string]flymon.Task, name string, x flymon.Task) bool {
	type item struct {
		name  string
		task  flymon.Task
		units int
		order float64
	}
	var items []item
	add := func(name string, x flymon.Task) bool {
		alone, err := plan.New(geo).Add(name, x)
		if err != nil {
			return false
		}
		items = append(items, item{name, x, len(alone.Layout.Units), 0})
		return true
	}
	for o, t := range tasks {
		if o != name && !add(o, t) {
			return false
		}
	}
	if !add(name, x) {
		return false
	}
	for try := range 10 {
		for i := range items {
			items[i].order = -float64(items[i].units)*float64(items[i].task.Memory+512) + float64(try)*2000*r.Float64()
		}
		slices.SortFunc(items, func(a, b item) int {
			switch {
			case a.order < b.order:
				return -1
			case a.order > b.order:
				return 1
			}
			return 0
		})
		p, fits := plan.New(geo), true
		for _, i := range items {
			if _, err := p.Add(i.name, i.task); err != nil {
				fits = false
				break
			}
		}
		if fits {
			return true
		}
	}
	return false
}
