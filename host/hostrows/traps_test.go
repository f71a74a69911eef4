package hostrows

import (
	"slices"
	"testing"

	"tamtam/swss/schema"
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
