package orch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/orch"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// The capabilities of all features are published together. If only some were listed, the managers would assume that
// the switch does not offer the others.
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
