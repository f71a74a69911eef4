package cmu

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"tamtam/flymon"
)

// fits says why a layout cannot be beside the other tasks.
func (g *Groups) fits(l *flymon.Layout) error {
	var errs []error
	again := 0
	for i := range l.Units {
		if l.Units[i].Group >= g.geo.Groups {
			again++
		}
	}
	if again != 0 && again != len(l.Units) {
		errs = append(errs, fmt.Errorf("units in stacked and in spliced groups, want all in groups below %d or all in others", g.geo.Groups))
	}
	own := slices.Concat(l.Units, l.Frozen)
	for i := range own {
		for j := range own[:i] {
			if overlap(&own[i], &own[j], l.Banks(), l.Banks()) {
				errs = append(errs, fmt.Errorf("group %d, cmu %d: buckets from %d on are twice in the layout", own[i].Group, own[i].CMU, own[i].Base))
			}
		}
	}
	inGroup := make([]int, g.geo.All())
	for _, name := range slices.Sorted(maps.Keys(g.tasks)) {
		if name == l.Task {
			continue
		}
		o := &g.tasks[name].layout
		errs = append(errs, beside(l, own, o)...)
		seen := 0
		for i := range o.Units {
			if at := o.Units[i].Group; seen>>at&1 == 0 {
				seen |= 1 << at
				inGroup[at]++
			}
		}
	}
	for i := range l.Units {
		if at := l.Units[i].Group; inGroup[at] >= flymon.MaxTasks {
			errs = append(errs, fmt.Errorf("group %d has %d tasks, want at most %d", at, inGroup[at]+1, flymon.MaxTasks))
		}
	}
	return errors.Join(errs...)
}

// beside says what of a layout another task has already.
func beside(l *flymon.Layout, own []flymon.Unit, o *flymon.Layout) (errs []error) {
	for _, m := range l.Masks {
		for _, n := range o.Masks {
			if m.Group == n.Group && m.Unit == n.Unit && m.Key != n.Key {
				errs = append(errs, fmt.Errorf("group %d: hash unit %d has the mask %s for task %q, want that instead of %s", m.Group, m.Unit, n.Key, o.Task, m.Key))
			}
		}
	}
	for i := range own {
		u := &own[i]
		for j, v := range slices.Concat(o.Units, o.Frozen) {
			if overlap(u, &v, l.Banks(), o.Banks()) {
				errs = append(errs, fmt.Errorf("group %d, cmu %d: buckets %d to %d meet those of task %q, %d to %d",
					u.Group, u.CMU, u.Base, u.Base+u.Size*l.Banks()-1, o.Task, v.Base, v.Base+v.Size*o.Banks()-1))
			}
			if i < len(l.Units) && j < len(o.Units) && u.Group == v.Group && u.CMU == v.CMU && coinsMeet(u, &v) && l.Filter.Meets(&o.Filter) {
				errs = append(errs, fmt.Errorf("group %d, cmu %d: filter %s meets %s of task %q: a CMU does one task for a packet", u.Group, u.CMU, l.Filter, o.Filter, o.Task))
			}
		}
	}
	return errs
}

func overlap(u, v *flymon.Unit, ub, vb uint32) bool {
	return u.Group == v.Group && u.CMU == v.CMU && u.Base < v.Base+v.Size*vb && v.Base < u.Base+u.Size*ub
}

func coinsMeet(u, v *flymon.Unit) bool {
	return u.To == 0 || v.To == 0 || u.From < v.To && v.From < u.To
}
