package switchpage

import (
	"fmt"
	"slices"
	"testing"

	"tamtam/mgmt/web"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
	"tamtam/tam/words"
)

// The page lists parts that no daemon applies. If a row has a status, they are shown with it. Rows without status, and
// tables that the switch does not implement, are listed separately.
func TestUnappliedObjects(t *testing.T) {
	r := swsstest.Start(t)
	state := r.DB(swss.StateDB).Client()
	for key, fields := range map[string][]any{
		"PORT_TABLE|Ethernet0":            {"status", "active", "by", "orchagent"},
		"PORT_TABLE|Ethernet4":            {"status", "failed", "reason", "a", "by", "orchagent"},
		"PORT_TABLE|Ethernet8":            {"status", "active", "by", "orchagent"},
		"TAMTAM_UNAPPLIED|PORT|Ethernet0": {schema.UnappliedNoEffect, "b", schema.UnappliedUnknown, "c"},
		"TAMTAM_UNAPPLIED|PORT|Ethernet4": {schema.UnappliedNoEffect, "b"},
		"TAMTAM_UNAPPLIED|CRM|Config":     {schema.UnappliedUnknown, "d"},
		"TAMTAM_UNAPPLIED|VRF":            {schema.UnappliedNotImplemented, "e"},
	} {
		if err := state.HSet(t.Context(), key, fields...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	reading := r.Reading(t.Context())
	list, err := Objects(reading), reading.Err()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range list {
		got = append(got, fmt.Sprint(o.Name, " ", o.Status, " ", o.Unapplied))
	}
	slices.Sort(got)
	want := []string{
		"CRM|Config unapplied [unknown: d]", "PORT|Ethernet0 active in part [unknown: c no-effect: b]",
		"PORT|Ethernet4 failed [no-effect: b]", "PORT|Ethernet8 active []",
		"VRF unapplied [not-implemented: e]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// ACLs use SONiC's own status words. A rejected ACL counts as failed, like any other object.
func TestStatusOfACLs(t *testing.T) {
	for status, want := range map[string]web.Status{
		schema.ACLActive: words.Active, schema.ACLInactive: words.Failed, schema.ACLPendingCreation: words.Pending,
		schema.ACLUnknown: words.Unknown, "Sleeping": words.Unknown,
	} {
		seen := 0
		for _, table := range schema.StatusTables() {
			if table.State != schema.StateACLTable && table.State != schema.StateACLRule {
				continue
			}
			seen++
			got := objectsOf(table, map[string]swss.FieldValues{"EDGE": {table.Status: status}})
			if len(got) != 1 || got[0].Status != want {
				t.Errorf("%s that is %s: %+v, want that it is %s", table.State, status, got, want)
			}
		}
		if seen != 2 {
			t.Errorf("%d tables of ACLs, want 2", seen)
		}
	}
}
