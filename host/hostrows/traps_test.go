package hostrows

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// The groups have the names that tammgrd does not touch.
func TestTrapGroupsAreKnown(t *testing.T) {
	for _, g := range needs {
		if !slices.Contains(schema.HostTrapGroups(), g.Name) {
			t.Errorf("schema does not know the group %s as a host's", g.Name)
		}
	}
	if len(needs) != len(schema.HostTrapGroups()) {
		t.Errorf("schema has the groups %v", schema.HostTrapGroups())
	}
}

// The groups are written again after another client changed or deleted them.
func TestTrapsAreRestored(t *testing.T) {
	r := swsstest.Start(t)
	db := r.DB(swss.ApplDB)
	d := orch.NewDaemon("test", r, orch.Options{})
	t.Cleanup(func() { d.Close() })
	Trap(d, r, func() bool { return true })
	agent := orch.NewDaemon("orchagent", r, orch.Options{})
	t.Cleanup(func() { agent.Close() })
	agent.Consume(func(l *swss.Listener) swss.Source { return swss.NewConsumerState(l, db, schema.AppCOPP) },
		schema.AppCOPP, orch.HandlerFunc(func(_ context.Context, tasks []orch.Task) []error {
			return make([]error, len(tasks))
		}), orch.Reporting{None: true})
	table := swss.NewTable(db, schema.AppCOPP)
	complete := func(what string) {
		t.Helper()
		for again := true; again; {
			again = false
			for _, each := range []*orch.Daemon{d, agent} {
				did, err := each.Step(t.Context(), time.Unix(1000, 0))
				if err != nil {
					t.Fatal(err)
				}
				again = again || did
			}
		}
		for _, g := range needs {
			row, _, err := table.Get(t.Context(), g.Name)
			if diff := cmp.Diff(swss.FieldValues(g.Fields()), row); err != nil || diff != "" {
				t.Errorf("%s: %s: -want +got\n%s%v", what, g.Name, diff, err)
			}
		}
	}
	complete("at the start")
	if err := table.Del(t.Context(), "host-arp"); err != nil {
		t.Fatal(err)
	}
	complete("a row was deleted")
	if err := table.Set(t.Context(), "host-ip2me", swss.FieldValues{"trap_ids": "bgp", "cir": "1"}); err != nil {
		t.Fatal(err)
	}
	complete("a row was changed")
}
