package acl

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tamtam/orch"
	"tamtam/schema"
)

// A seat is a table that the ASIC is to have: that of a row of ACL_TABLE, or of a TAM feature for
// the flow groups of a row. Where a stage of the ASIC does not have room for all, seats are given in
// the order of compare, whoever came first: rows by their names, then features in the order in which
// schema lists them. So the ASIC follows from the configuration, and is what a start with it makes;
// what an operator filters comes before what is measured.
//
// Nobody asks the ASIC how many tables it has room for. A table that is refused for lack of room
// has the last of those behind it removed, and is tried again.
type seat struct{ table, feature string }

func (s seat) compare(o seat) int {
	return cmp.Or(compareFeatures(s.feature, o.feature), schema.CompareNames(s.table, o.table))
}

func (s seat) String() string {
	if s.feature == "" {
		return s.table
	}
	return s.table + " for " + s.feature
}

func (in *instance) seat() seat { return seat{in.table.name, in.feature} }

// seated are the tables that the ASIC has at a stage and is to keep, in the order of their seats.
func (o *Orch) seated(stage string) (list []*instance) {
	for _, t := range o.tables {
		for _, in := range t.instances {
			if in.def.stage == stage && !in.doomed && !in.yields {
				list = append(list, in)
			}
		}
	}
	slices.SortFunc(list, func(a, b *instance) int { return a.seat().compare(b.seat()) })
	return list
}

// noTable is the error of a table that the ASIC refused. Where that is for lack of room, others may
// give way.
func (o *Orch) noTable(s seat, stage string, err error) error {
	err = fmt.Errorf("create ACL table %s: %w", s.table, err)
	if !orch.Retryable(err) {
		return err
	}
	o.crowded = append(o.crowded, s)
	if o.pushed[s] {
		return fmt.Errorf("%w; another table gave way to it, which did not help", err)
	}
	return fmt.Errorf("%w%s", err, o.before(s, stage))
}

// before says who has the room that a table was refused: those whose seats come before its own.
func (o *Orch) before(s seat, stage string) string {
	const most = 8
	var names []string
	for _, in := range o.seated(stage) {
		if in.seat().compare(s) < 0 {
			names = append(names, in.seat().String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("; the room at %s is taken by tables that come first: %s", strings.ToLower(stage), text)
}

// giveWay chooses the tables that the next pass removes, each for one that this pass found no room
// for. A table makes another give way only once, until it is in use or something else has changed:
// where it cannot be used all the same, both would come and go for ever.
func (o *Orch) giveWay() (some bool) {
	crowded := o.crowded
	o.crowded = nil
	for _, s := range crowded {
		t := o.tables[s.table]
		if t == nil || o.pushed[s] {
			continue
		}
		list := o.seated(o.stageOf(t, s.feature))
		if len(list) == 0 || list[len(list)-1].seat().compare(s) <= 0 {
			continue
		}
		o.yield(list[len(list)-1])
		o.pushed[s], some = true, true
	}
	return some
}

// yield has the next pass remove a table. Features that used it wait for it from now on.
func (o *Orch) yield(in *instance) {
	in.yields = true
	o.dirtyTables[in.table.name] = in.table
	for _, r := range in.table.rules {
		if !r.has(in.feature) {
			continue
		}
		o.dirtyRules[r.key] = r
		if in.feature != "" {
			r.uses.drop(in.feature)
			o.news[r.key] = true
		}
	}
	o.log.Warn("ACL table gives way to one that comes first", "table", in.seat().String())
}

// inUse forgets that tables made others give way which are in use now.
func (a *agenda) inUse(in *instance) {
	if in.feature == "" || in.entries > 0 {
		delete(a.pushed, in.seat())
	}
}
