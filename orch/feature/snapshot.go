package feature

import (
	"cmp"
	"maps"
	"slices"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Snapshot is what a feature keeps beside its sessions: tests hold it against the sessions, and
// want at the end that nothing is left.
type Snapshot struct {
	Rules  map[schema.ACLRuleKey][]string // the sessions that name a flow group
	Marked []string                       // sessions that are looked at when the feature is settled next
	Again  []string                       // refused: retried when something changes
	Stuck  []string                       // those that could not be taken out of the ASIC
	Open   []string                       // windows that are in the ASIC
	Rows   []Row                          // of COUNTERS_DB, as they are to be

	RetriesStuck, RetriesOpen bool // there is a time when these are tried again
}

// A Row is a row of a table of COUNTERS_DB.
type Row struct {
	Table, Key string
	Fields     swss.FieldValues
}

// Snapshot returns what there is now.
func (f *Feature[R, B]) Snapshot() Snapshot {
	names := func(of map[string]*Session[R, B]) []string {
		return slices.SortedFunc(maps.Keys(of), schema.CompareNames)
	}
	s := Snapshot{
		Rules:  map[schema.ACLRuleKey][]string{},
		Marked: names(f.work.marked), Again: names(f.work.again), Stuck: names(f.work.stuck),
		Open:         slices.Sorted(maps.Keys(f.Windows.open)),
		RetriesStuck: !f.work.retryAt.IsZero(), RetriesOpen: !f.Windows.dropAt.IsZero(),
	}
	for rule, users := range f.byRule {
		s.Rules[rule] = names(users)
	}
	for _, rows := range f.Counters {
		s.Rows = append(s.Rows, rows.all()...)
	}
	return s
}

// all returns the rows as they are to be.
func (r *Rows) all() (list []Row) {
	keys := map[string]bool{}
	for _, rows := range []map[string]swss.FieldValues{r.has, r.put} {
		for key := range rows {
			keys[key] = true
		}
	}
	for key := range keys {
		if row := r.Get(key); len(row) > 0 {
			list = append(list, Row{r.Table, key, row})
		}
	}
	slices.SortFunc(list, func(a, b Row) int { return cmp.Compare(a.Key, b.Key) })
	return list
}
