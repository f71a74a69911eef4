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

// The same for all that the features and their parts are configured by: nothing
// said is Pending, and so is what is active of another configuration.
func TestShowAllKindsRightAfterAChange(t *testing.T) {
	s, r := newSwitch(t)
	for _, g := range []string{"f1", "f2"} {
		row(t, r, swss.ConfigDB, "TAM_FLOWGROUP_TABLE", g, swss.FieldValues{"table-name": "TAM"})
		row(t, r, swss.ConfigDB, "ACL_RULE", "TAM|"+g, swss.FieldValues{"PRIORITY": "100", "SRC_IP": "10.1.2.3/16", "SRC_MAC": "00:11:22:33:44:55/ff:ff:00:00:00:00"})
	}
	row(t, r, swss.ConfigDB, "TAM_COLLECTORS_TABLE", "other", swss.FieldValues{"ipaddress": "10.0.0.9", "port": "5"})
	row(t, r, swss.StateDB, "TAM_STATE_COLLECTORS_TABLE", "other", swss.FieldValues{"status": "active"})
	for _, c := range []struct {
		table, key   string
		config, appl string // fields; of appl those that differ
		change       string // a field and its new value
		command      string
		says         string
		applTable    string
		stateTable   string
	}{
		{"TAM_COLLECTORS_TABLE", "c", "ipaddress=2001:db8:0::1 port=9", "ipaddress=2001:db8::1", "port=10", "collectors", "port 10 is not in force yet, 9 is", "", "TAM_STATE_COLLECTORS_TABLE"},
		{"TAM_SAMPLINGRATE_TABLE", "s", "sampling-rate=100", "", "sampling-rate=7", "samplers", "sampling-rate 7 is not in force yet, 100 is", "", "TAM_STATE_SAMPLINGRATE_TABLE"},
		{
			"ACL_RULE", "TAM|f1", "PRIORITY=100", "SRC_IP=10.1.0.0/16 SRC_MAC=00:11:00:00:00:00/ff:ff:00:00:00:00", "DSCP=46 SRC_IP=10.2.0.0/16", "flow-groups f1",
			"source-address 10.2.0.0/16 is not in force yet, 10.1.0.0/16 is", "ACL_RULE_TABLE", "TAM_STATE_FLOWGROUP_TABLE",
		},
		{
			"TAM_ALTMARK_TABLE", "a", "flowgroup=f1 role=transit method=step interval=0 mark=dscp0", "acl-rule-name=f1 clock-error=5", "interval=1", "alt-mark sessions",
			"interval 1 is not in force yet, 0 is", "", "TAM_STATE_ALTMARK_TABLE",
		},
		{
			"TAM_FLYMON_TASK_TABLE", "t", "key=src-ip/32 attribute=frequency memory=1000 rows=2", "key=src-ip", "memory=2000", "flymon task",
			"memory 2000 is not in force yet, 1000 is", "", "TAM_STATE_FLYMON_TASK_TABLE",
		},
		{"TAM_FLYMON_QUERY_TABLE", "q", "task=t flow=10.0.0.1", "", "flow=10.0.0.2", "flymon query", "flow 10.0.0.2 is not in force yet, 10.0.0.1 is", "", "TAM_STATE_FLYMON_QUERY_TABLE"},
		{
			"TAM_TABLERECORD_TABLE", "r", "flowgroup=f1 collector=other phv=16 must-record=b,a", "acl-rule-name=f1 must-record=a,b", "phv=32", "table-record",
			"phv 32 is not in force yet, 16 is", "", "TAM_STATE_TABLERECORD_TABLE",
		},
	} {
		command := "show tam " + c.command
		shows := func(want string) {
			t.Helper()
			if out := s.do(t, command); !strings.Contains(out, want) {
				t.Errorf("%s does not say %q:\n%s", command, want, out)
			}
		}
		fields := func(text string) swss.FieldValues {
			f := swss.FieldValues{}
			for _, x := range strings.Fields(text) {
				name, value, _ := strings.Cut(x, "=")
				f[name] = value
			}
			return f
		}
		appl, state := c.applTable, c.key
		if appl == "" {
			appl = c.table
		}
		if strings.HasPrefix(state, "TAM|") {
			state = strings.TrimPrefix(state, "TAM|")
		}
		row(t, r, swss.ConfigDB, c.table, c.key, fields(c.config))
		shows("Pending")
		shows(notYet)
		row(t, r, swss.ApplDB, appl, strings.ReplaceAll(c.key, "|", ":"), fields(c.config+" "+c.appl))
		row(t, r, swss.StateDB, c.stateTable, state, fields("status=active"))
		if out := s.do(t, command); strings.Contains(out, "Pending") || strings.Contains(out, "in force") {
			t.Errorf("%s: what is in force:\n%s", command, out)
		}
		row(t, r, swss.ConfigDB, c.table, c.key, fields(c.change))
		shows("Pending")
		shows(c.says)
		row(t, r, swss.StateDB, c.stateTable, state, fields("status=failed reason=no"))
		shows("Failed")
	}
}
