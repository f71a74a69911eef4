package cli

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"tamtam/swss"
)

// After a change, all objects of the features without a report are shown as Pending. So are objects that are active
// with an older configuration. Rows of APPL_DB are as the managers write them. A test of package device checks that
// every leaf is reported.
func TestShowAllKindsRightAfterAChange(t *testing.T) {
	s, r := newSwitch(t)
	for _, g := range []string{"f1", "f2"} {
		row(t, r, swss.ConfigDB, "TAM_FLOWGROUP_TABLE", g, swss.FieldValues{"table-name": "TAM"})
		row(t, r, swss.ConfigDB, "ACL_RULE", "TAM|"+g,
			fieldsOf("PRIORITY=100 SRC_IP=10.1.2.3/16 SRC_MAC=00:11:22:33:44:55/ff:ff:00:00:00:00 IN_PORTS=Eth2,Ethernet0"))
	}
	const other = "ipaddress=10.0.0.9 ipaddress-type=ipv4 port=5 protocol=UDP"
	row(t, r, swss.ConfigDB, "TAM_COLLECTORS_TABLE", "other", fieldsOf(other))
	row(t, r, swss.ApplDB, "TAM_COLLECTORS_TABLE", "other", fieldsOf(other))
	row(t, r, swss.StateDB, "TAM_STATE_COLLECTORS_TABLE", "other", swss.FieldValues{"status": "active"})
	for _, c := range []struct {
		table, key string
		Configured string
		appl       string // row of APPL_DB; without table if table and key are those of CONFIG_DB
		change     string // fields with new values; - removes a field
		command    string
		says       string
		state      string // table and key
	}{
		{
			"TAM_COLLECTORS_TABLE", "c", "ipaddress=2001:db8:0::1 port=9",
			"ipaddress=2001:db8::1 ipaddress-type=ipv6 port=9 protocol=UDP",
			"port=10", "collectors", "port 10 is not in force yet, 9 is", "TAM_STATE_COLLECTORS_TABLE|c",
		},
		{"TAM_SAMPLINGRATE_TABLE", "s", "sampling-rate=100", "sampling-rate=100", "sampling-rate=7", "samplers",
			"sampling-rate 7 is not in force yet, 100 is", "TAM_STATE_SAMPLINGRATE_TABLE|s"},
		{
			"ACL_RULE", "TAM|f1", "PRIORITY=100 SRC_IP=10.1.2.3/16 IN_PORTS=Eth2,Ethernet0 DSCP=8/0x38",
			"ACL_RULE_TABLE:TAM:f1 PRIORITY=100 SRC_IP=10.1.0.0/16 SRC_MAC=00:11:00:00:00:00/ff:ff:00:00:00:00 DSCP=8/0x38 " +
				"IN_PORTS=Ethernet0,Ethernet4",
			"SRC_IP=10.2.0.0/16 IN_PORTS=Ethernet0 DSCP=8/0x28", "flow-groups f1",
			"source-address 10.2.0.0/16 is not in force yet, 10.1.0.0/16 is; " +
				"interfaces Ethernet0 is not in force yet, Ethernet0,Ethernet4 is; other-fields DSCP=8/0x28 is not in force yet, " +
				"DSCP=8/0x38 is", "TAM_STATE_FLOWGROUP_TABLE|f1",
		},
		{
			"TAM_TAILSTAMPING_TABLE", "t", "flowgroup=f1", "acl-table-name=TAM acl-rule-name=f1", "flowgroup=f2",
			"tail-stamping sessions",
			"flow group f2 is not in force yet, f1 is", "TAM_STATE_TAILSTAMPING_TABLE|t",
		},
		{
			"TAM_ALTMARK_TABLE", "a", "flowgroup=f1 role=transit method=double interval=0 mark=dscp0 mark2=dscp1 clock-error=5",
			"acl-table-name=TAM acl-rule-name=f1 role=transit method=double interval=0 mark=dscp0 mark2=dscp1 clear=false " +
				"slot-sync=true mean-delay=false foreign-marks=count clock-trust=checked " +
				"clock-error=5 delay-min=0 delay-max=125000000", "method=step -mark2 -clock-error", "alt-mark sessions",
			"clock-error 15625000 is not in force yet, 5 is; mark2 dscp1 is in force still; method step is not in force yet, " +
				"double is", "TAM_STATE_ALTMARK_TABLE|a",
		},
		{
			"TAM_FLYMON_TASK_TABLE", "t",
			"key=dst-port,src-ip attribute=distinct(dst-ip) filter=dst-port=80,src-ip=10.0.0.1 memory=1000 threshold=9",
			"algorithm=auto allocation=accurate attribute=distinct(dst-ip) change-threshold=0 epoch=1000 " +
				"filter=src-ip=10.0.0.1/32,dst-port=80 key=src-ip,dst-port memory=1000 pinned=false plan=false readout=banked " +
				"share=1 threshold=9 translation=tcam", "key=dst-port filter=any attribute=frequency rows=2", "flymon task",
			"attribute frequency is not in force yet, distinct(dst-ip) is; filter any is not in force yet, " +
				"src-ip=10.0.0.1/32,dst-port=80 is; key dst-port is not in force yet, src-ip,dst-port is; " +
				"rows 2 is not in force yet", "TAM_STATE_FLYMON_TASK_TABLE|t",
		},
		{"TAM_FLYMON_QUERY_TABLE", "q", "task=t flow=10.0.0.1", "task=t flow=10.0.0.1", "flow=10.0.0.2", "flymon query",
			"flow 10.0.0.2 is not in force yet, 10.0.0.1 is", "TAM_STATE_FLYMON_QUERY_TABLE|q"},
		{
			"TAM_TABLERECORD_TABLE", "r", "flowgroup=f1 collector=other sampler=s phv=16 must-record=b,a",
			"acl-table-name=TAM acl-rule-name=f1 collector=10.0.0.9:5 collector-name=other sampling-rate=100 sampler-name=s " +
				"phv=16 must-record=a,b mode=exec algorithm=greedy probabilities=uniform " +
				"encapsulation=udp truncate=128 identities=false", "phv=32 collector=c -sampler", "table-record",
			"collector c is not in force yet, other is; phv 32 is not in force yet, 16 is; sampler s is in force still",
			"TAM_STATE_TABLERECORD_TABLE|r",
		},
	} {
		command := "show tam " + c.command
		shows := func(want string) {
			t.Helper()
			if out := s.do(t, command); !strings.Contains(out, want) {
				t.Errorf("%s does not say %q:\n%s", command, want, out)
			}
		}
		stateTable, stateKey, _ := strings.Cut(c.state, "|")
		row(t, r, swss.ConfigDB, c.table, c.key, fieldsOf(c.Configured))
		shows("Pending")
		shows("the switch has not reported its status yet")
		row(t, r, swss.StateDB, stateTable, stateKey, swss.FieldValues{"status": "active"})
		shows("nothing of it is in force yet")
		appl, key, fields := c.table, c.key, c.appl
		if name, rest, _ := strings.Cut(fields, " "); strings.Contains(name, "TABLE:") {
			appl, key, _ = strings.Cut(name, ":")
			fields = rest
		}
		row(t, r, swss.ApplDB, appl, key, fieldsOf(fields))
		if out := s.do(t, command); strings.Contains(out, "Pending") || strings.Contains(out, "in force") {
			t.Errorf("%s: what is in force:\n%s", command, out)
		}
		for field := range fieldsOf(c.change) {
			if name, gone := strings.CutPrefix(field, "-"); gone {
				r.DB(swss.ConfigDB).Client().HDel(t.Context(), c.table+"|"+c.key, name)
			}
		}
		changed := fieldsOf(c.change)
		maps.DeleteFunc(changed, func(field, _ string) bool { return strings.HasPrefix(field, "-") })
		row(t, r, swss.ConfigDB, c.table, c.key, changed)
		shows("Pending")
		shows(c.says)
		row(t, r, swss.StateDB, stateTable, stateKey, swss.FieldValues{"status": "failed", "reason": "no"})
		shows("Failed")
		row(t, r, swss.StateDB, stateTable, stateKey, swss.FieldValues{"status": "active"})
		restore := deleteRows(t, r, c.table+"|"+c.key, strings.Replace(c.state, "STATE_", "", 1))
		shows("it is deleted, and in force still")
		shows("Pending")
		r.DB(swss.StateDB).Client().Del(t.Context(), c.state)
		shows("it is deleted, and may be in force still")
		r.DB(swss.ApplDB).Client().Del(t.Context(), appl+":"+key)
		s.out.Reset()
		if err := s.Exec(t.Context(), command); err == nil && strings.Contains(s.out.String(), "it is deleted") {
			t.Errorf("%s of what is gone:\n%s", command, s.out)
		}
		restore()
		row(t, r, swss.StateDB, stateTable, stateKey, swss.FieldValues{"status": "active"})
		row(t, r, swss.ApplDB, appl, key, fieldsOf(fields))
		row(t, r, swss.ConfigDB, c.table, c.key, fieldsOf(c.Configured))
	}
}

// deleteRows deletes rows of CONFIG_DB. restore writes them again.
func deleteRows(t *testing.T, r *swss.Redis, keys ...string) (restore func()) {
	t.Helper()
	client := r.DB(swss.ConfigDB).Client()
	rows := map[string]map[string]string{}
	for _, key := range slices.Compact(keys) {
		fields, err := client.HGetAll(t.Context(), key).Result()
		if err != nil || len(fields) == 0 {
			t.Fatalf("%s: %v %v", key, fields, err)
		}
		rows[key] = fields
		client.Del(t.Context(), key)
	}
	return func() {
		for key, fields := range rows {
			if err := client.HSet(t.Context(), key, fields).Err(); err != nil {
				t.Error(err)
			}
		}
	}
}

// fieldsOf parses "field=value ...". A value may contain further =.
func fieldsOf(text string) swss.FieldValues {
	f := swss.FieldValues{}
	for _, x := range strings.Fields(text) {
		name, value, _ := strings.Cut(x, "=")
		f[name] = value
	}
	return f
}

// The list of all sessions also shows that a session's flow group is not in force. The switch's own counters show
// whether any flow group is not in force.
func TestSessionsOfGroupsNotInForce(t *testing.T) {
	s, r := newSwitch(t)
	fill(t, r, 3)
	const list = "show tam tail-stamping sessions"
	if out := s.do(t, list); strings.Contains(out, "flow group") {
		t.Errorf("all are in force:\n%s", out)
	}
	row(t, r, swss.StateDB, "TAM_STATE_FLOWGROUP_TABLE", "f1", swss.FieldValues{"status": "pending", "reason": "no room"})
	if out := s.do(t, list); !strings.Contains(out, "s1: Pending: flow group f1: no room\n") ||
		strings.Contains(out, "s2:") {
		t.Errorf("f1 alone is pending:\n%s", out)
	}
	row(t, r, swss.StateDB, "TAM_STATE_FLOWGROUP_TABLE", "f1", swss.FieldValues{"status": "active", "reason": ""})
	row(t, r, swss.ConfigDB, "ACL_RULE", "TAM|f2", swss.FieldValues{"L4_DST_PORT": "77"})
	if out := s.do(t, list); !strings.Contains(out, "s2: Pending: flow group f2: ") || strings.Contains(out, "s1:") {
		t.Errorf("f2 alone is not in force as it is configured:\n%s", out)
	}
	row(t, r, swss.CountersDB, "TAM_TAILSTAMPING_COUNTERS", "s1", swss.FieldValues{"MATCHED_PACKETS": "41"})
	if out := s.do(t, list+" | json"); !strings.Contains(out, `"matched-packets": "41"`) {
		t.Errorf("as data the list is whole:\n%s", out)
	}
}
