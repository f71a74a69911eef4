package mgmt

import (
	"strings"
	"testing"

	"tamtam/swss"
)

// One list holds all that is not in force: failed and pending rows, and fields of other rows that no daemon applies.
func TestNotInForce(t *testing.T) {
	b := newBed(t, nil)
	b.rows(map[string]string{"CONFIG_DB PORT|Ethernet0": "lanes=0 speed=100000 mtuu=1500",
		"CONFIG_DB PROT|Ethernet0": "lanes=0"})
	state := b.redis.DB(swss.StateDB).Client()
	for key, fields := range map[string][]any{
		"PORT_TABLE|Ethernet0": {"status", "failed", "reason", "speed is wrong", "since", "2026-01-02T03:04:05Z", "by",
			"orchagent"},
		"PORT_TABLE|Ethernet4":       {"status", "active", "reason", ""},
		"ACL_RULE_TABLE|A|R":         {"status", "Pending creation", "reason", "there is no table A"},
		"TAMTAM_UNAPPLIED|PROT":      {"unknown", "there is no table PROT; the nearest is PORT"},
		"TAMTAM_UNAPPLIED|VLAN|Vlan": {"no-effect", "alias has no effect in this switch", "unknown", "there is no field a"},
	} {
		if err := state.HSet(t.Context(), key, fields...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.get("/not-in-force")
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, got, `{"tamtam-configuration:object": [
		{"table": "ACL_RULE", "key": "A|R", "state": {"table": "ACL_RULE", "key": "A|R", "reason": "there is no table A",
		 "status": "PENDING"}},
		{"table": "PORT", "key": "Ethernet0", "state": {"table": "PORT", "key": "Ethernet0", "reason": "speed is wrong",
		 "since": "2026-01-02T03:04:05Z",
			"status": "FAILED"}},
		{"table": "PROT", "key": "(all)", "state": {"table": "PROT", "key": "(all)",
		 "unapplied": ["unknown: there is no table PROT; the nearest is PORT"]}},
		{"table": "VLAN", "key": "Vlan", "state": {"table": "VLAN", "key": "Vlan",
		 "unapplied": ["unknown: there is no field a",
			"no-effect: alias has no effect in this switch"]}}]}`)
	if got, err = b.get("/not-in-force/object[table=PORT][key=Ethernet0]/state/status"); err != nil || got != `"FAILED"` {
		t.Errorf("the status of one: %s, %v", got, err)
	}
	got, err = b.get("/config-rows/row[table=PORT][key=Ethernet0]/state/unapplied")
	if err != nil || got != `["unknown: there is no field mtuu; the nearest is mtu"]` {
		t.Errorf("of a row: %s, %v", got, err)
	}
	if got, err = b.get("/"); err != nil || strings.Contains(got, "not-in-force") {
		t.Errorf("the root has the list, %v", err)
	}
}
