package flymonorch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tamtam/flymonorch/plan"
	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// placement returns a task's row of TAM_FLYMON_PLACEMENT.
func placement(geo *flymon.Geometry, p *plan.Placed, planned bool) schema.FlyMonPlacement {
	l := &p.Layout
	row := schema.FlyMonPlacement{
		Planned: planned, Algorithm: p.Sketch.Algorithm, Rows: uint32(len(p.Sketch.Rows)), Buckets: p.Buckets,
		Banks: l.Banks(),
		Rules: uint32(l.Rules(geo)), Expected: p.Expected, Translation: p.Translation,
	}
	groups := map[int]bool{}
	for i := range l.Units {
		u := &l.Units[i]
		groups[u.Group] = true
		row.Bytes += uint64(u.Size) * uint64(row.Banks) * uint64(geo.Width) / 8
		row.Tcam += uint32(u.Translation(geo) + len(u.Map))
		row.Units = append(row.Units, fmt.Sprintf("%d.%d:%d+%d", u.Group, u.CMU, u.Base, u.Size))
	}
	row.Groups = slices.Sorted(maps.Keys(groups))
	masks := slices.SortedFunc(slices.Values(l.Masks), func(a, b flymon.MaskRule) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Unit, b.Unit))
	})
	for _, m := range masks {
		row.Keys = append(row.Keys, strconv.Itoa(m.Group)+"."+strconv.Itoa(m.Unit)+"="+m.Key.String())
	}
	return row
}

// reportGroups writes the usage of the CMU groups.
func (o *Orch) reportGroups() {
	if o.pool == nil {
		return
	}
	for i := range o.reader.geo.All() {
		use := o.pool.Group(i)
		row := schema.FlyMonGroup{Tasks: uint32(use.Tasks), Free: use.Free, Most: use.Largest}
		for h, k := range use.Keys {
			text := ""
			if use.Used[h] {
				text = k.String()
			}
			row.Keys = append(row.Keys, text)
		}
		name, fields := strconv.Itoa(i), row.Fields()
		o.counters.groups.Put(name, fields)
	}
}
