package tammgr

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// If there are too many sessions, the first by name are accepted, whatever their order of arrival. The status of the
// other sessions contains the reason. When an accepted session is deleted, the next one replaces it.
func TestTooManySessions(t *testing.T) {
	b := forwardtest.New(t, swsstest.Start(t), func(d *orch.Daemon, r *swss.Redis) { New(d, r).MostRows = 2 })
	check := func(when string, taken ...int) {
		t.Helper()
		b.Step()
		var got []int
		for i := range 5 {
			switch s := b.Status(fmt.Sprintf("TAM_STATE_TAILSTAMPING_TABLE|s%d", i)); s {
			case pending:
				got = append(got, i)
			case "", "failed: the table has too many rows: the first 2 by name are taken (tammgrd)":
			default:
				t.Errorf("%s: s%d is %q", when, i, s)
			}
		}
		if d := cmp.Diff(taken, got); d != "" {
			t.Errorf("%s: sessions taken (-want +got): %s", when, d)
		}
	}
	session := func(i int) string { return fmt.Sprintf("TAM_TAILSTAMPING_TABLE|s%d flowgroup=F1", i) }
	b.Do(metadata, capable, active, group1, rule1, session(3), session(4))
	check("two", 3, 4)
	b.Do(session(1))
	check("a third, first by name", 1, 3)
	b.Do(session(0), session(2))
	check("five", 0, 1)
	b.Restart()
	check("after a restart", 0, 1)
	b.Do("-TAM_TAILSTAMPING_TABLE|s0")
	check("one is gone", 1, 2)
	b.Do("-TAM_TAILSTAMPING_TABLE|s1", "-TAM_TAILSTAMPING_TABLE|s3")
	check("room for all", 2, 4)
}

// The limited tables are those of the schema. The schema's limits decide whether a configuration is refused before it
// is loaded.
func TestLimitedTables(t *testing.T) {
	for _, table := range schema.Tables() {
		limited := false
		for _, what := range kinds {
			limited = limited || what != nil && what.config == table.Config
		}
		if got := schema.Limited(table.Config); table.Config != "" && got != limited {
			t.Errorf("schema says of %s that it is limited: %t, want %t", table.Config, got, limited)
		}
	}
}
