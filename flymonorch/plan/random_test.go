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

// wanted returns the keys, attributes and algorithms of random tasks.
func wanted() [][3]string {
	return [][3]string{
		{"src-ip", "frequency", "cms"}, {"5-tuple", "frequency", "cms"}, {"dst-ip", "frequency(bytes)", "cms"},
		{"ip-pair", "frequency", "sumax-sum"},
		{"src-ip", "max(queue-length)", "sumax-max"}, {"src-ip/24", "max(size)", "sumax-max"},
		{"5-tuple", "frequency", "mrac"}, {"src-ip,dst-port", "frequency", "tower"},
		{"5-tuple", "frequency", "counter-braids"}, {"none", "distinct(5-tuple)", "hll"},
		{"none", "distinct(src-ip)", "linear-counting"},
		{"dst-ip", "distinct(src-ip)", "beaucoup"}, {"src-ip", "distinct(dst-port)", "beaucoup"},
		{"none", "distinct(dst-ip)", "beaucoup"},
		{"none", "existence(src-ip)", "bloom"}, {"ip-pair", "max(interval)", "max-interval"},
		{"none", "similarity(src-ip)", "odd-sketch"}, {"dst-ip", "distinct(src-ip)", "auto"},
	}
}

func randomTask(t *testing.T, r *rand.Rand) flymon.Task {
	w := wanted()[r.IntN(len(wanted()))]
	filter := fmt.Sprintf("src-ip=%d.0.0.0/8", 1+r.IntN(40))
	switch r.IntN(8) {
	case 0:
		filter = "any"
	case 1:
		filter = fmt.Sprintf("dst-port=%d-%d", r.IntN(100), 100+r.IntN(100))
	}
	x := task(t, filter, w[0], w[1], flymon.Algorithm(w[2]), uint32(1+r.IntN(6000)), uint64(16+r.IntN(500)))
	x.Accurate = r.IntN(2) == 0
	x.Rows = uint8(r.IntN(3) % 2 * (1 + r.IntN(3)))
	x.Epoch, x.Live = time.Duration(r.IntN(2))*time.Second, false
	if x.Epoch > 0 {
		x.Live = r.IntN(5) == 0
	}
	if r.IntN(3) == 0 {
		x.Share = uint8(r.IntN(4))
	}
	return x
}

// placements holds the placed tasks as a test tracks them. From these, uses computes the owner of each bucket without
// the pool.
type placements struct {
	geo   flymon.Geometry
	tasks map[string]*plan.Placed
}

// uses returns the expected result of Pool.Group for all groups, or an error if tasks overlap.
func (b *placements) uses() (all []plan.Use, err error) {
	step, parts := b.geo.MinSize(), b.geo.Partitions
	owner := make([]string, b.geo.All()*b.geo.CMUs*parts) // owner of each smallest partition
	first := func(group, cmu int) int { return (group*b.geo.CMUs + cmu) * parts }
	keys := map[[2]int]flymon.Key{}
	tasks := make([]int, b.geo.All())
	for name, p := range b.tasks {
		l := &p.Layout
		for _, m := range l.Masks {
			if k, ok := keys[[2]int{m.Group, m.Unit}]; ok && k != m.Key {
				return nil, fmt.Errorf("%s wants %s of hash unit %d/%d, which makes %s", name, m.Key, m.Group, m.Unit, k)
			}
			keys[[2]int{m.Group, m.Unit}] = m.Key
		}
		in := map[int]bool{}
		for i, u := range slices.Concat(l.Units, l.Frozen) {
			for at := u.Base; at < u.Base+u.Size*l.Banks(); at += uint32(step) {
				o := &owner[first(u.Group, u.CMU)+int(at)/step]
				if *o != "" {
					return nil, fmt.Errorf("%s and %s both have bucket %d of CMU %d of group %d", name, *o, at, u.CMU, u.Group)
				}
				*o = name
			}
			in[u.Group] = in[u.Group] || i < len(l.Units)
		}
		for g, counts := range in {
			if counts {
				tasks[g]++
			}
		}
	}
	for g := range b.geo.All() {
		u := plan.Use{Tasks: tasks[g]}
		for h := range b.geo.Units {
			k, used := keys[[2]int{g, h}]
			u.Keys, u.Used = append(u.Keys, k), append(u.Used, used)
		}
		for c := range b.geo.CMUs {
			mine := owner[first(g, c):][:parts]
			free, largest := 0, 0
			for _, o := range mine {
				if o == "" {
					free += step
				}
			}
			for n := 1; n <= parts; n *= 2 {
				for at := 0; at < parts; at += n {
					if !slices.ContainsFunc(mine[at:at+n], func(o string) bool { return o != "" }) {
						largest = n * step
					}
				}
			}
			u.Free, u.Largest = append(u.Free, uint32(free)), append(u.Largest, uint32(largest))
		}
		all = append(all, u)
	}
	return all, nil
}

func uses(p *plan.Pool, geo flymon.Geometry) (all []plan.Use) {
	for g := range geo.All() {
		all = append(all, p.Group(g))
	}
	return all
}

// After random sequences of calls, the pool's usage matches the books, tasks do not overlap, and a chip accepts each
// layout. Try returns the result of the later call and changes nothing. An error changes nothing, and is a Lack if and
// only if the task would fit alone. At the end everything is free.
func TestRandomSequences(t *testing.T) {
	fixed := randtest.Cases{Count: 3}
	done, lacks := map[string]int{}, 0
	c := randtest.Run(t, fixed, func(t *testing.T, seed uint64) {
		geo := flymon.Geometry{Groups: 9, Spliced: 3, Units: 3, CMUs: 3, Width: 32, Depth: 4096, Partitions: 32,
			MapEntries: 96, Digests: 4}
		if seed%3 == 1 {
			geo.Groups, geo.Spliced, geo.Width, geo.Units = 5, 0, 16, 2
		}
		chip, err := cmu.New(geo)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 3))
		p, again := plan.New(geo), plan.New(geo)
		b := &placements{geo, map[string]*plan.Placed{}}
		for step := range 200 {
			name := fmt.Sprintf("t%d", r.IntN(60))
			bad := func(format string, args ...any) {
				t.Helper()
				t.Fatalf("step %d, task %s: %s", step, name, fmt.Sprintf(format, args...))
			}
			old := b.tasks[name]
			var placed *plan.Placed
			what := "add"
			switch n := r.IntN(10); {
			case old == nil || n < 5:
				x := randomTask(t, r)
				if old != nil && r.IntN(3) == 0 { // change only the filter
					filter := x.Filter
					x = old.Task
					x.Filter = filter
				}
				tried, tryErr := p.Try(name, x)
				if now := uses(p, geo); !reflect.DeepEqual(now, uses(again, geo)) {
					bad("Try takes something")
				}
				do, redo := p.Add, again.Add
				if old != nil {
					what, do, redo = "change", p.Change, again.Change
				}
				placed, err = do(name, x)
				same, _ := redo(name, x)
				if !reflect.DeepEqual(placed, same) || !reflect.DeepEqual(placed, tried) || fmt.Sprint(err) != fmt.Sprint(tryErr) {
					bad("%+v, %v; again %+v; tried %+v, %v", placed, err, same, tried, tryErr)
				}
				if err != nil {
					what = "error"
					_, alone := plan.New(geo).Add(name, x)
					var lack *plan.Lack
					if short := errors.As(err, &lack); short != (alone == nil) {
						bad("%v; alone %v", err, alone)
					} else if short {
						lacks++
					}
					break
				}
				b.tasks[name] = placed
			case n < 8:
				what = "thaw"
				var ok bool
				placed, ok = p.Thaw(name)
				again.Thaw(name)
				if ok != (len(old.Layout.Frozen) > 0) || len(placed.Layout.Frozen) > 0 {
					bad("thaw %v", ok)
				}
				b.tasks[name] = placed
			default:
				what = "remove"
				p.Remove(name)
				again.Remove(name)
				delete(b.tasks, name)
				chip.Remove(name)
			}
			done[what]++
			want, err := b.uses()
			if err != nil {
				bad("%v", err)
			}
			if got := uses(p, geo); !reflect.DeepEqual(got, want) {
				bad("in use %+v, want %+v", got, want)
			}
			if placed == nil || what == "error" {
				continue
			}
			if err := placed.Layout.Check(&geo); err != nil {
				bad("%v", err)
			}
			if err := chip.Apply(placed.Layout); err != nil {
				bad("the chip: %v", err)
			}
			buckets := uint32(0)
			for _, u := range placed.Layout.Units {
				buckets += u.Size
			}
			if placed.Buckets != buckets || placed.Task.Accurate && buckets < placed.Task.Memory {
				bad("%d buckets, of %d, want %d", placed.Buckets, buckets, placed.Task.Memory)
			}
		}
		for name := range b.tasks {
			p.Remove(name)
		}
		if !reflect.DeepEqual(uses(p, geo), uses(plan.New(geo), geo)) {
			t.Error("something is left")
		}
	})
	if !c.Whole(fixed) {
		return
	}
	for _, what := range []string{"add", "change", "thaw", "remove", "error"} {
		if done[what] < 30 {
			t.Errorf("%d of %s: the test shows little", done[what], what)
		}
	}
	if lacks < 30 {
		t.Errorf("%d lacks: the test shows little", lacks)
	}
}
