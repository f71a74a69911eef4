package cli

import (
	"strings"
	"testing"

	"tamtam/swss"
)

// What the running configuration has no commands for it names, with the number
// of rows: nothing is left out without a word.
func TestRunningNamesWhatItLeavesOut(t *testing.T) {
	s, r := newSwitch(t)
	set := func(table, key string, fields swss.FieldValues) { row(t, r, swss.ConfigDB, table, key, fields) }
	set("ACL_TABLE", "A", swss.FieldValues{"type": "L3", "ports": "Ethernet0"})
	set("ACL_RULE", "A|r1", swss.FieldValues{"PRIORITY": "1", "PACKET_ACTION": "DROP"})
	set("ACL_RULE", "A|r2", swss.FieldValues{"PRIORITY": "2", "PACKET_ACTION": "FORWARD"})
	set("TAM_FLOWGROUP_TABLE", "web", swss.FieldValues{"table-name": "TAM"})
	set("ACL_RULE", "TAM|web", swss.FieldValues{"PRIORITY": "100", "L4_DST_PORT": "80", "DSCP": "8/0x38", "TTL": "0/0xf0"})
	set("TAM_FLOWGROUP_TABLE", "norule", swss.FieldValues{"table-name": "TAM"})
	set("DSCP_TO_TC_MAP", "m", swss.FieldValues{"1": "1"})
	set("SOMETHING_ELSE", "x|y", swss.FieldValues{"f": "v"})
	out := s.do(t, "show running-configuration")
	const want = `! not shown here, in CONFIG_DB:
! ACL_RULE: 2 rows
! ACL_TABLE: 1 row
! DEVICE_METADATA: 1 row
! DSCP_TO_TC_MAP: 1 row
! SOMETHING_ELSE: 1 row
! ACL_RULE of flow group web: DSCP=8/0x38 TTL=0/0xf0
!
end
`
	if !strings.HasSuffix(out, want) {
		t.Errorf("got\n%s\nwant at its end\n%s", out, want)
	}
	if out := s.do(t, "show tam flow-groups web"); !strings.Contains(out, "Other           : DSCP=8/0x38") {
		t.Errorf("a match that no command has:\n%s", out)
	}
	if strings.Contains(out, "! TAM") || strings.Contains(out, "! PORT") {
		t.Errorf("it names what it shows:\n%s", out)
	}
}

// A show right after a change, before the daemons have done anything, does not
// pass off what was before, or nothing, as being in force.
func TestShowRightAfterAChange(t *testing.T) {
	s, r := newSwitch(t)
	shows := func(command string, want ...string) {
		t.Helper()
		out := s.do(t, command)
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s does not say %q:\n%s", command, w, out)
			}
		}
	}
	shows("show tam features", "alt-mark       Inactive", "tail-stamping  Inactive")
	shows("show tam features flymon", "Status        : Inactive")

	row(t, r, swss.ConfigDB, "TAM_FEATURES_TABLE", "TAILSTAMPING", swss.FieldValues{"status": "ACTIVE"})
	shows("show tam features", "tail-stamping  Pending", "the switch has not said yet")
	row(t, r, swss.StateDB, "TAM_STATE_FEATURES_TABLE", "TAILSTAMPING", swss.FieldValues{"op-status": "ACTIVE", "reason": ""})
	shows("show tam features", "tail-stamping  Active")
	row(t, r, swss.ConfigDB, "TAM_FEATURES_TABLE", "TAILSTAMPING", swss.FieldValues{"status": "INACTIVE"})
	shows("show tam features", "tail-stamping  Active", "not configured any more")

	for _, g := range []string{"f1", "f2"} {
		row(t, r, swss.ConfigDB, "TAM_FLOWGROUP_TABLE", g, swss.FieldValues{"table-name": "TAM"})
	}
	row(t, r, swss.ConfigDB, "TAM_TAILSTAMPING_TABLE", "s", swss.FieldValues{"flowgroup": "f1"})
	shows("show tam tail-stamping sessions", "s: Pending: the switch has not said yet")
	row(t, r, swss.ApplDB, "TAM_TAILSTAMPING_TABLE", "s", swss.FieldValues{"acl-table-name": "TAM", "acl-rule-name": "f1"})
	row(t, r, swss.StateDB, "TAM_STATE_TAILSTAMPING_TABLE", "s", swss.FieldValues{"status": "active", "reason": ""})
	row(t, r, swss.ConfigDB, "TAM_TAILSTAMPING_TABLE", "s", swss.FieldValues{"flowgroup": "f2"})
	shows("show tam tail-stamping sessions s", "Pending", "flow group f2 is not in force yet, f1 is")
	row(t, r, swss.ApplDB, "TAM_TAILSTAMPING_TABLE", "s", swss.FieldValues{"acl-table-name": "TAM", "acl-rule-name": "f2"})
	if out := s.do(t, "show tam tail-stamping sessions s"); strings.Contains(out, "Status") {
		t.Errorf("what is in force:\n%s", out)
	}
}
