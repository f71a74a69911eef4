package orch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// What the switch can do of all features is published at once: where one stands there and another
// does not, the managers take it that the switch does not offer the other.
func TestFeaturesArePublishedAtOnce(t *testing.T) {
	x := newBench(t, orch.Orchagent)
	table := swss.NewTable(x.r.DB(swss.ApplDB), schema.AppSwitch)
	published := func() map[string]string {
		t.Helper()
		row, _, err := table.Get(t.Context(), schema.SwitchKey)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	features := orch.NewFeatures(x.d)
	features.Can(schema.FeatureTailStamping, "")
	features.Can(schema.FeatureFlyMon, "its SAI has no extension sketch")
	if got := published(); len(got) > 0 {
		t.Errorf("before all have said what they can: %v", got)
	}
	if err := features.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"tam-tailstamping-capable": "true", "tam-tailstamping-reason": "",
		"tam-flymon-capable": "false", "tam-flymon-reason": "its SAI has no extension sketch",
	}
	if diff := cmp.Diff(want, published()); diff != "" {
		t.Error(diff)
	}
}
