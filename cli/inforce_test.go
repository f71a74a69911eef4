package cli

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"tamtam/swss"
)

// What the modes of the shell have no commands for, or not for all of it, the running configuration has as rows; what
// would be refused as a comment: nothing is left out without a word.
func TestRunningHasAllRows(t *testing.T) {
	s, r := newSwitch(t)
	set := func(table, key string, fields swss.FieldValues) { row(t, r, swss.ConfigDB, table, key, fields) }
	set("ACL_TABLE", "A", swss.FieldValues{"type": "L3", "ports": "Ethernet0"})
	set("ACL_RULE", "A|r1", swss.FieldValues{"PRIORITY": "1", "PACKET_ACTION": "DROP", "SRC_IP": "10.0.0.0/8"})
	set("ACL_RULE", "A|r2", swss.FieldValues{"PRIORITY": "2", "PACKET_ACTION": "FORWARD"})
	set("TAM_FLOWGROUP_TABLE", "web", swss.FieldValues{"table-name": "TAM"})
	set("ACL_RULE", "TAM|web", swss.FieldValues{"PRIORITY": "100", "L4_DST_PORT": "80", "DSCP": "8/0x38", "TTL": "0/0xf0"})
	set("TAM_FLOWGROUP_TABLE", "norule", swss.FieldValues{"table-name": "TAM"})
	set("DSCP_TO_TC_MAP", "m", swss.FieldValues{"1": "1"})
	set("SOMETHING_ELSE", "*", swss.FieldValues{"f": "v"})
	set("SOMETHING_ELSE", "x|y", swss.FieldValues{"f": "v"})
	out := s.do(t, "show running-configuration")
	for _, want := range []string{
		"access-list rule A r1 priority 1 packet-action DROP src-ip 10.0.0.0/8\n",
		"! not valid, SRC_IP is missing: want at least one match: access-list rule A r2 priority 2 packet-action FORWARD\n",
		"access-list rule TAM web priority 100 l4-dst-port 80 dscp 8/0x38 ttl 0/0xf0\n",
		"row ACL_TABLE A ports=Ethernet0 type=L3\n", // its command would write ports@
		"row DEVICE_METADATA localhost hostname=sonic mac=00:11:22:33:07:e4\n",
		"qos dscp-to-tc-map m 1:1\n",
		"port Ethernet0 lanes 1,2,3,4 speed 100000 alias Eth1 index 1\n",
		"! SOMETHING_ELSE: 1 more of a key that gNMI cannot name\n",
		"row SOMETHING_ELSE \"x|y\" f=v\n",
		"row TAM_FLOWGROUP_TABLE norule table-name=TAM\n", // its command would choose an id
		"row TAM_FLOWGROUP_TABLE web table-name=TAM\n",
	} {
		if !strings.Contains(out, "\n"+want) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	if out := s.do(t, "show tam flow-groups web"); !strings.Contains(out, "Other           : DSCP=8/0x38") {
		t.Errorf("a match that no command has:\n%s", out)
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
	for _, before := range []string{"INACTIVE", "", "so so"} { // of a feature that was not wanted, or of nothing
		row(t, r, swss.StateDB, "TAM_STATE_FEATURES_TABLE", "TAILSTAMPING",
			swss.FieldValues{"op-status": before, "reason": ""})
		shows("show tam features", "tail-stamping  Pending", "the switch has not said yet")
		shows("show tam tail-stamping", "Status             : Pending", "the switch has not said yet")
	}
	row(t, r, swss.StateDB, "TAM_STATE_FEATURES_TABLE", "TAILSTAMPING",
		swss.FieldValues{"op-status": "ACTIVE", "reason": ""})
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
// said is Pending, and so is what is active of another configuration. Rows of APPL_DB
// are as the managers write them. That every leaf is told holds device's test of changes.
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
		appl       string // without table: of the same name and key
		change     string // fields and their new values; -: without
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
		shows("the switch has not said yet what became of it")
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

// deleteRows deletes rows of CONFIG_DB; restore writes them again.
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

// A session is not in force where its flow group's match is not, be it that the managers
// have not looked at it, or that orchagent has not put it into the switch.
func TestSessionsOfAMatchThatIsNotInForce(t *testing.T) {
	s, r := newSwitch(t)
	row(t, r, swss.ConfigDB, "TAM_FLOWGROUP_TABLE", "f", swss.FieldValues{"table-name": "TAM"})
	row(t, r, swss.ConfigDB, "ACL_RULE", "TAM|f", swss.FieldValues{"PRIORITY": "100", "L4_DST_PORT": "80"})
	row(t, r, swss.StateDB, "TAM_STATE_FLOWGROUP_TABLE", "f", swss.FieldValues{"status": "active"})
	sessions := map[string][]string{
		"TAM_TAILSTAMPING_TABLE": {"flowgroup=f", "acl-table-name=TAM acl-rule-name=f", "tail-stamping sessions"},
		"TAM_ALTMARK_TABLE": {
			"flowgroup=f role=transit method=step interval=0 mark=dscp0",
			"acl-table-name=TAM acl-rule-name=f role=transit method=step interval=0 mark=dscp0 clear=false slot-sync=true " +
				"mean-delay=false " +
				"foreign-marks=count clock-trust=checked clock-error=15625000 delay-min=0 delay-max=125000000", "alt-mark sessions",
		},
		"TAM_FLYMON_TASK_TABLE": {
			"flowgroup=f key=src-ip attribute=frequency",
			"algorithm=auto allocation=accurate attribute=frequency change-threshold=0 epoch=1000 filter=dst-port=80 " +
				"flowgroup=f key=src-ip memory=49152 pinned=false plan=false " +
				"readout=banked share=1 threshold=0 translation=tcam", "flymon task",
		},
		"TAM_TABLERECORD_TABLE": {
			"flowgroup=f collector=c",
			"acl-table-name=TAM acl-rule-name=f collector=10.0.0.9:5 collector-name=c sampling-rate=1 phv=16+16 mode=exec " +
				"algorithm=greedy probabilities=uniform " +
				"encapsulation=udp truncate=128 identities=false", "table-record",
		},
	}
	for table, x := range sessions {
		row(t, r, swss.ConfigDB, table, "s", fieldsOf(x[0]))
		row(t, r, swss.ApplDB, table, "s", fieldsOf(x[1]))
		row(t, r, swss.StateDB, strings.Replace(table, "TAM_", "TAM_STATE_", 1), "s",
			swss.FieldValues{"status": "active", "since": "2026-01-02T03:04:05Z"})
	}
	shows := func(want string) {
		t.Helper()
		for _, x := range sessions {
			for _, command := range []string{"show tam " + x[2], "show tam " + x[2] + " s"} {
				out := s.do(t, command)
				if want == "" && (strings.Contains(out, "Pending") || strings.Contains(out, "flow group")) ||
					!strings.Contains(out, want) {
					t.Errorf("%s, want %q:\n%s", command, want, out)
				}
				if want != "" && strings.Contains(out, "2026-01-02") {
					t.Errorf("%s: it is not Pending since then:\n%s", command, out)
				}
			}
		}
	}
	shows("flow group f: nothing of it is in force yet")
	ruleInForce(t, r, "f")
	shows("")
	row(t, r, swss.ConfigDB, "ACL_RULE", "TAM|f", swss.FieldValues{"L4_DST_PORT": "81"})
	shows("flow group f: destination-port 81 is not in force yet, 80 is")
	ruleInForce(t, r, "f")
	row(t, r, swss.StateDB, "ACL_RULE_TABLE", "TAM|f", swss.FieldValues{"status": "Pending creation",
		"reason": "the switch has no room for it"})
	shows("flow group f: its ACL rule is pending creation: the switch has no room for it")
	if out := s.do(t, "show tam flow-groups f"); !strings.Contains(out, "Pending") || !strings.Contains(out, "no room") {
		t.Errorf("the flow group itself:\n%s", out)
	}
	row(t, r, swss.StateDB, "ACL_RULE_TABLE", "TAM|f", swss.FieldValues{"status": "Active", "reason": ""})
	shows("")
}

// The answer of a query says of what it is, where that is not what the query asks for now.
func TestAnswerOfAnotherFlow(t *testing.T) {
	s, r := newSwitch(t)
	row(t, r, swss.ConfigDB, "TAM_FLYMON_QUERY_TABLE", "q", swss.FieldValues{"task": "t", "flow": "10.0.0.1"})
	row(t, r, swss.ApplDB, "TAM_FLYMON_QUERY_TABLE", "q", swss.FieldValues{"task": "t", "flow": "10.0.0.1"})
	row(t, r, swss.StateDB, "TAM_STATE_FLYMON_QUERY_TABLE", "q", swss.FieldValues{"status": "active"})
	row(t, r, swss.CountersDB, "TAM_FLYMON_ANSWERS", "q", swss.FieldValues{"TASK": "t", "FLOW": "10.0.0.1", "EPOCH": "7",
		"ESTIMATE": `{"estimate":5}`})
	if out := s.do(t, "show tam flymon query"); strings.Contains(out, "the answer is of") {
		t.Errorf("its own:\n%s", out)
	}
	row(t, r, swss.ConfigDB, "TAM_FLYMON_QUERY_TABLE", "q", swss.FieldValues{"flow": "10.0.0.2"})
	row(t, r, swss.ApplDB, "TAM_FLYMON_QUERY_TABLE", "q", swss.FieldValues{"flow": "10.0.0.2"})
	if out := s.do(t, "show tam flymon query"); !strings.Contains(out, "q: the answer is of flow 10.0.0.1 of task t") {
		t.Errorf("another flow's:\n%s", out)
	}
}

// A session whose row lacks its flow group is shown with what is wrong with it.
func TestSessionWithoutAFlowGroup(t *testing.T) {
	s, r := newSwitch(t)
	row(t, r, swss.ConfigDB, "TAM_TAILSTAMPING_TABLE", "y", swss.FieldValues{"nothing": "1"})
	row(t, r, swss.StateDB, "TAM_STATE_TAILSTAMPING_TABLE", "y",
		swss.FieldValues{"status": "failed", "reason": "flowgroup is missing"})
	if out := s.do(t, "show tam tail-stamping sessions y"); !strings.Contains(out, "flowgroup is missing") {
		t.Errorf("got\n%s", out)
	}
}

// A row that lacks what its command needs, or that the switch has said nothing of yet, is shown without what is not
// known, and not with a value that nobody gave. In the running configuration it is a comment with what is wrong.
func TestRowsThatLackFields(t *testing.T) {
	s, r := newSwitch(t)
	row(t, r, swss.ConfigDB, "TAM_COLLECTORS_TABLE", "c", swss.FieldValues{"ipaddress": "10.0.0.9"})
	row(t, r, swss.ConfigDB, "TAM_TAILSTAMPING_TABLE", "y", swss.FieldValues{"nothing": "1"})
	row(t, r, swss.ConfigDB, "TAM_FLYMON_TASK_TABLE", "t", swss.FieldValues{"key": "src-ip"})
	row(t, r, swss.ConfigDB, "TAM_FLYMON_QUERY_TABLE", "q", swss.FieldValues{"task": "t"})
	row(t, r, swss.ConfigDB, "TAM_TABLERECORD_TABLE", "r", swss.FieldValues{"collector": "c"})
	out := s.do(t, "show running-configuration tam")
	for _, want := range []string{
		"! not valid, port is missing: want the collector's L4 port, 1..65535: row TAM_COLLECTORS_TABLE c " +
			"ipaddress=10.0.0.9\n",
		": row TAM_TAILSTAMPING_TABLE y nothing=1\n", ": row TAM_FLYMON_TASK_TABLE t key=src-ip\n",
		": row TAM_FLYMON_QUERY_TABLE q task=t\n", ": row TAM_TABLERECORD_TABLE r collector=c\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	out = s.do(t, "show tam flymon task t")
	if strings.Contains(out, "Threshold") || strings.Contains(out, "Share") || strings.Contains(out, "0s") {
		t.Errorf("what nobody has said:\n%s", out)
	}
}

// What another hand wrote in the place of a plan is not shown as one.
func TestPlanThatIsNone(t *testing.T) {
	s, r := newSwitch(t)
	row(t, r, swss.ConfigDB, "TAM_TABLERECORD_TABLE", "r", swss.FieldValues{"flowgroup": "f", "collector": "c"})
	for _, plan := range []string{`{"id":"x","recorded":[{"table":7}]}`, `{"id":1}`, `{}`} {
		row(t, r, swss.CountersDB, "TAM_TABLERECORD_PLANS", "r", swss.FieldValues{"PLAN": plan})
		if got := s.fails(t, "show tam table-record plan r"); !strings.Contains(got, "plan is none") {
			t.Errorf("%s: %s", plan, got)
		}
		if out := s.do(t, "show tam table-record r"); !strings.Contains(out, "Plan               : the plan is none") {
			t.Errorf("%s:\n%s", plan, out)
		}
	}
}

// fieldsOf reads "field=value ..."; a value may have more of =.
func fieldsOf(text string) swss.FieldValues {
	f := swss.FieldValues{}
	for _, x := range strings.Fields(text) {
		name, value, _ := strings.Cut(x, "=")
		f[name] = value
	}
	return f
}

// In the list of all sessions, too, a session says that its flow group is not in force; whether any is not, the switch
// has counted.
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
