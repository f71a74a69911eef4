package switchpage

import (
	"testing"

	"tamtam/collectord/page"
	"tamtam/schema"
	"tamtam/swss"
)

// An ACL's words are SONiC's own: one that is refused has failed, as any other object.
func TestStandingOfACLs(t *testing.T) {
	for status, want := range map[string]page.Standing{
		schema.ACLActive: page.InForce, schema.ACLInactive: page.Failed, schema.ACLPendingCreation: page.Waiting,
		schema.ACLUnknown: page.InDoubt, "Sleeping": page.NotKnown,
	} {
		seen := 0
		for _, table := range schema.StatusTables() {
			if table.State != schema.StateACLTable && table.State != schema.StateACLRule {
				continue
			}
			seen++
			got := objectsOf(table, map[string]swss.FieldValues{"EDGE": {table.Status: status}})
			if len(got) != 1 || got[0].Standing != want {
				t.Errorf("%s that is %s: %+v, want that it is %s", table.State, status, got, want)
			}
		}
		if seen != 2 {
			t.Errorf("%d tables of ACLs, want 2", seen)
		}
	}
}
