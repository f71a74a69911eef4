package orch_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// While a view is built, rows that were refused or waited before are omitted. If only rows in force are allowed, rows
// that were never tried are omitted too. All omitted rows are added when the view is applied. If a manager refused a
// row, its earlier valid version may be in force. A row without a status is unknown. A row that waits, but was in the
// ASIC, is in the view too.
func TestHoldKeepsRowsBack(t *testing.T) {
	rows := map[string]swss.FieldValues{
		"refused":        {"status": "failed", "by": "orchagent"},
		"waits":          {"status": "pending", "reason": "no port Ethernet9", "by": "orchagent"},
		"untried":        {"status": "pending", "reason": "waiting for orchagent", "by": "orchagent"},
		"in-force":       {"status": "active", "by": "orchagent"},
		"unknown":        {"status": "unknown", "by": "orchagent"},
		"without-effect": {"status": "pending", "reason": "the host does not send its reports", "by": "orchagent"},
		"manager's":      {"status": "failed", "by": "tammgrd"},
		"never-reported": nil,
	}
	for _, inForce := range []bool{false, true} {
		x := newBenchOn(t, swsstest.Start(t), "orchagent")
		for key, state := range rows {
			x.set(x.a, key)
			if state != nil {
				if err := swss.NewTable(x.r.DB(swss.StateDB), "STATE_A").Set(t.Context(), key, state); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := x.d.Hold(t.Context(), inForce); err != nil {
			t.Fatal(err)
		}
		held := x.step()
		want := []string{"SET A:in-force", "SET A:manager's", "SET A:never-reported", "SET A:unknown",
			"SET A:without-effect"}
		late := []string{"SET A:refused", "SET A:waits"}
		if inForce {
			late = []string{"SET A:refused", "SET A:untried", "SET A:waits"}
		} else {
			want = slices.Sorted(slices.Values(append(want, "SET A:untried")))
		}
		if diff := cmp.Diff(want, held); diff != "" {
			t.Errorf("only what is in force %v: held (-want +got):\n%s", inForce, diff)
		}
		x.d.Release()
		if diff := cmp.Diff(late, x.step()); diff != "" {
			t.Errorf("only what is in force %v: released (-want +got):\n%s", inForce, diff)
		}
	}
}
