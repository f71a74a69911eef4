package featuretest

import (
	"maps"
	"slices"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/orch/orchtest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Whole checks the invariants after every step. No session is dirty. The index by flow group has exactly the sessions
// with a row. Every session whose failure may be temporary is retried. COUNTERS_DB has exactly the rows of the
// feature.
func Whole[R, B any](b *orchtest.Bench, f *feature.Feature[R, B]) {
	b.T.Helper()
	s := f.Snapshot()
	if len(s.Marked) > 0 {
		b.T.Errorf("sessions %v are dirty, and no pass has handled them", s.Marked)
	}
	if len(s.Stuck) > 0 != s.RetriesStuck || len(s.Open) > 0 != s.RetriesOpen {
		b.T.Errorf("sessions %v could not be taken out, tried again: %v; windows %v could not, tried again: %v",
			s.Stuck, s.RetriesStuck, s.Open, s.RetriesOpen)
	}
	for _, name := range slices.Concat(s.Again, s.Stuck) {
		if f.Sessions[name] == nil {
			b.T.Errorf("session %s is tried again, and is not there", name)
		}
	}
	for name, x := range f.Sessions {
		refused := orch.Retryable(x.Err) || x.InASIC != nil && x.Err != nil
		if refused && !slices.Contains(s.Again, name) {
			b.T.Errorf("session %s is not tried again: %v", name, x.Err)
		}
		if stuck := slices.Contains(s.Stuck, name); stuck && x.InASIC == nil || !stuck && !x.Configured {
			b.T.Errorf("session %s, with a row: %v, in the ASIC: %v, could not be taken out: %v",
				name, x.Configured, x.InASIC != nil, stuck)
		}
	}
	wantRules(b, f, s.Rules)
	wantRows(b, f, s.Rows)
}

// wantRules checks that the index by flow group agrees with the sessions.
func wantRules[R, B any](b *orchtest.Bench, f *feature.Feature[R, B], got map[schema.ACLRuleKey][]string) {
	b.T.Helper()
	want := map[schema.ACLRuleKey][]string{}
	g, grouped := f.Logic.(feature.Grouped[R])
	for name, x := range f.Sessions {
		if x.Configured && grouped {
			rule := g.Rule(&x.Row)
			want[rule] = append(want[rule], name)
		}
	}
	for _, names := range want {
		schema.SortNames(names)
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		b.T.Errorf("the sessions of flow groups are %v, want %v", got, want)
	}
}

// wantRows checks that COUNTERS_DB, or STATE_DB for places, has exactly these rows of the feature's tables.
func wantRows[R, B any](b *orchtest.Bench, f *feature.Feature[R, B], rows []feature.Row) {
	b.T.Helper()
	for _, of := range f.Counters {
		db := swss.CountersDB
		if of.Places {
			db = swss.StateDB
		}
		got, err := swss.NewTable(b.Redis.DB(db), of.Table).Dump(b.Ctx)
		if err != nil {
			b.T.Fatal(err)
		}
		want := map[string]swss.FieldValues{}
		for _, row := range rows {
			if row.Table == of.Table {
				want[row.Key] = row.Fields
			}
		}
		if !maps.EqualFunc(got, want, maps.Equal) {
			b.T.Errorf("table %s of %s is %v, want %v", of.Table, db, got, want)
		}
	}
}

// Empty does the checks of Whole, and checks that no session left anything: none in the index, none to be retried, no
// open window, and no row of COUNTERS_DB except in tables about the switch.
func Empty[R, B any](b *orchtest.Bench, f *feature.Feature[R, B], ofSwitch ...string) {
	b.T.Helper()
	Whole(b, f)
	s := f.Snapshot()
	s.Rows = slices.DeleteFunc(s.Rows, func(r feature.Row) bool { return slices.Contains(ofSwitch, r.Table) })
	if len(f.Sessions)+len(s.Rules)+len(s.Again)+len(s.Stuck)+len(s.Open)+len(s.Rows) > 0 {
		b.T.Errorf("sessions %v and %+v are left", slices.Sorted(maps.Keys(f.Sessions)), s)
	}
}
