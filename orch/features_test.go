package orch_test

import (
	"context"
	"strings"
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
	table := swss.NewTable(x.r.DB(swss.StateDB), schema.StateSwitchCap)
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

// A row with a wrong value makes a feature inactive, and the reason names the field.
func TestWrongFeatureRow(t *testing.T) {
	x := newBench(t, orch.Orchagent)
	orch.NewFeatures(x.d).On(schema.FeatureTailStamping, func(_ context.Context, active bool) {
		if active {
			t.Error("the feature is active")
		}
	})
	x.set(swss.NewProducerState(x.r.DB(swss.ApplDB), schema.AppTAMFeature), schema.FeatureTailStamping, "status", "on")
	x.step()
	row, _, err := swss.NewTable(x.r.DB(swss.StateDB), schema.StateTAMFeature).Get(t.Context(), schema.FeatureTailStamping)
	if err != nil || row[schema.FieldOpStatus] != schema.FeatureInactive || !strings.Contains(row["reason"], `"on"`) {
		t.Errorf("the status is %v, %v", row, err)
	}
}
