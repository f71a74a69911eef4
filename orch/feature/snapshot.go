package feature

import (
	"cmp"
	"maps"
	"slices"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Snapshot is a feature's data besides its sessions. Tests compare it with the sessions, and check at the end that
// nothing is left.
type Snapshot struct {
	Rules  map[schema.ACLRuleKey][]string // names of the sessions that name a flow group, by rule
	Marked []string                       // sessions that the next Reconcile handles
	Again  []string                       // refused sessions that are retried when something changes
	Stuck  []string                       // sessions that could not be removed from the ASIC
	Open   []string                       // windows that are in the ASIC
	Rows   []Row                          // target rows of COUNTERS_DB

	RetriesStuck, RetriesOpen bool // true if a retry is scheduled for stuck sessions, or for open windows
}

// A Row is a row of a table of COUNTERS_DB.
type Row struct {
	Table, Key string
	Fields     swss.FieldValues
}

// Snapshot returns the current data.
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

// all returns the target rows.
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
