package acl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

func (b *bench) table(name, typ, ports string) {
	b.Set(schema.AppACLTable, name, "TYPE", typ, "STAGE", "INGRESS", "PORTS", ports)
}

func (b *bench) rule(key string, fields ...string) { b.Set(schema.AppACLRule, key, fields...) }

// On an ASIC that makes records of packets the counter of a rule has a label, by which they know the rule.
func TestRecordsKnowRules(t *testing.T) {
	b := newBenchWith(t, saitest.Options{}, true)
	b.table("DATA", "L3", "Ethernet0")
	b.rule("DATA:R1", "PRIORITY", "1", "SRC_IP", "10.0.0.0/8", "PACKET_ACTION", "DROP")
	b.rule("DATA:R_OF_A_LONG_NAME", "PRIORITY", "2", "SRC_IP", "10.0.0.0/8", "PACKET_ACTION", "DROP")
	b.Step()
	calls := strings.Join(b.Calls(), "\n")
	for _, want := range []string{`LABEL=DATA\x7CR1`, `LABEL=DATA\x7CR\x23`} {
		if !strings.Contains(calls, want) {
			t.Errorf("no %s in\n%s", want, calls)
		}
	}
}

// The calls for a table and a rule, and for taking them away again: table, then
// per port group, binding and member; counter, ranges, entry; removal in the
// opposite order.
func TestCallsAreSONiCs(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("DATA", "L3", "Ethernet0,Ethernet4")
	b.Step()
	b.WantStatus(schema.StateACLTable, "DATA", "Active")
	b.WantCalls(
		"c|ACL_TABLE:acl_table#0|ACL_BIND_POINT_TYPE_LIST=2:PORT,"+
			"LAG|FIELD_SRC_IP=true|FIELD_DST_IP=true|FIELD_OUTER_VLAN_ID=true|"+
			"FIELD_L4_SRC_PORT=true|FIELD_L4_DST_PORT=true|FIELD_ETHER_TYPE=true|FIELD_IP_PROTOCOL=true|FIELD_TCP_FLAGS=true|"+
			"FIELD_ACL_IP_TYPE=true|FIELD_ICMP_TYPE=true|FIELD_ICMP_CODE=true|"+
			"FIELD_ACL_RANGE_TYPE=2:L4_SRC_PORT_RANGE,L4_DST_PORT_RANGE|ACL_STAGE=INGRESS",
		"c|ACL_TABLE_GROUP:acl_table_group#0|ACL_STAGE=INGRESS|ACL_BIND_POINT_TYPE_LIST=1:PORT|TYPE=PARALLEL",
		"s|PORT:port#1|INGRESS_ACL=acl_table_group#0",
		"c|ACL_TABLE_GROUP_MEMBER:acl_table_group_member#0|ACL_TABLE_GROUP_ID=acl_table_group#0|ACL_TABLE_ID=acl_table#0|"+
			"PRIORITY=100",
		"c|ACL_TABLE_GROUP:acl_table_group#1|ACL_STAGE=INGRESS|ACL_BIND_POINT_TYPE_LIST=1:PORT|TYPE=PARALLEL",
		"s|PORT:port#2|INGRESS_ACL=acl_table_group#1",
		"c|ACL_TABLE_GROUP_MEMBER:acl_table_group_member#1|ACL_TABLE_GROUP_ID=acl_table_group#1|ACL_TABLE_ID=acl_table#0|"+
			"PRIORITY=100")
	b.rule("DATA:R1", "PRIORITY", "100", "SRC_IP", "10.0.0.0/8", "L4_DST_PORT_RANGE", "80-90", "TCP_FLAGS", "0x2/0x12",
		"PACKET_ACTION", "DROP")
	b.Step()
	b.WantStatus(schema.StateACLRule, "DATA|R1", "Active")
	b.WantCalls(
		"c|ACL_COUNTER:acl_counter#0|TABLE_ID=acl_table#0|ENABLE_BYTE_COUNT=true|ENABLE_PACKET_COUNT=true",
		"c|ACL_RANGE:acl_range#0|TYPE=L4_DST_PORT_RANGE|LIMIT=80,90",
		"c|ACL_ENTRY:acl_entry#0|TABLE_ID=acl_table#0|PRIORITY=100|ADMIN_STATE=true|ACTION_COUNTER=acl_counter#0|"+
			"FIELD_ACL_RANGE_TYPE=1:acl_range#0|FIELD_SRC_IP=10.0.0.0&mask:255.0.0.0|FIELD_IP_PROTOCOL=6&mask:0xff|"+
			"FIELD_TCP_FLAGS=2&mask:0x12|ACTION_PACKET_ACTION=DROP")
	b.Del(schema.AppACLRule, "DATA:R1")
	b.Step()
	b.WantStatus(schema.StateACLRule, "DATA|R1", "")
	b.WantCalls("r|ACL_ENTRY:acl_entry#0", "r|ACL_RANGE:acl_range#0", "r|ACL_COUNTER:acl_counter#0")
	b.Del(schema.AppACLTable, "DATA")
	b.Step()
	b.WantCalls(
		"r|ACL_TABLE_GROUP_MEMBER:acl_table_group_member#0", "s|PORT:port#1|INGRESS_ACL=null",
		"r|ACL_TABLE_GROUP:acl_table_group#0",
		"r|ACL_TABLE_GROUP_MEMBER:acl_table_group_member#1", "s|PORT:port#2|INGRESS_ACL=null",
		"r|ACL_TABLE_GROUP:acl_table_group#1",
		"r|ACL_TABLE:acl_table#0")
}

// A batch of rules is one bulk of counters and one of entries, the highest
// priority first; ranges are shared; one that fails is undone alone.
func TestBatch(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("DATA", "L3", "")
	b.Step()
	b.Calls()
	b.rule("DATA:R1", "PRIORITY", "10", "L4_DST_PORT_RANGE", "1-2", "PACKET_ACTION", "DROP")
	b.rule("DATA:R2", "PRIORITY", "30", "L4_DST_PORT_RANGE", "1-2", "PACKET_ACTION", "DROP")
	b.rule("DATA:R3", "PRIORITY", "20", "SRC_IP", "1.2.3.4", "PACKET_ACTION", "FORWARD")
	b.Rec.FailAt(6, sai.StatusInvalidParameter) // 3 counters, 1 range, R2, R3, R1
	b.Step()
	b.WantCalls(
		"C|ACL_COUNTER:acl_counter#0|TABLE_ID=acl_table#0|ENABLE_BYTE_COUNT=true|ENABLE_PACKET_COUNT=true",
		"C|ACL_COUNTER:acl_counter#1|TABLE_ID=acl_table#0|ENABLE_BYTE_COUNT=true|ENABLE_PACKET_COUNT=true",
		"C|ACL_COUNTER:acl_counter#2|TABLE_ID=acl_table#0|ENABLE_BYTE_COUNT=true|ENABLE_PACKET_COUNT=true",
		"c|ACL_RANGE:acl_range#0|TYPE=L4_DST_PORT_RANGE|LIMIT=1,2",
		"C|ACL_ENTRY:acl_entry#0|TABLE_ID=acl_table#0|PRIORITY=30|ADMIN_STATE=true|ACTION_COUNTER=acl_counter#0|"+
			"FIELD_ACL_RANGE_TYPE=1:acl_range#0|ACTION_PACKET_ACTION=DROP",
		"C|ACL_ENTRY:null|TABLE_ID=acl_table#0|PRIORITY=20|ADMIN_STATE=true|ACTION_COUNTER=acl_counter#1|"+
			"FIELD_SRC_IP=1.2.3.4&mask:255.255.255.255|ACTION_PACKET_ACTION=FORWARD",
		"E|INVALID_PARAMETER",
		"C|ACL_ENTRY:acl_entry#1|TABLE_ID=acl_table#0|PRIORITY=10|ADMIN_STATE=true|ACTION_COUNTER=acl_counter#2|"+
			"FIELD_ACL_RANGE_TYPE=1:acl_range#0|ACTION_PACKET_ACTION=DROP",
		"r|ACL_COUNTER:acl_counter#1")
	b.WantStatus(schema.StateACLRule, "DATA|R1", "Active")
	b.WantStatus(schema.StateACLRule, "DATA|R3",
		"Inactive: create the entry of ACL rule DATA|R3: the switch refused a value (SAI_STATUS_INVALID_PARAMETER)")
	b.Del(schema.AppACLRule, "DATA:R2")
	b.Step()
	b.WantCalls("r|ACL_ENTRY:acl_entry#0", "r|ACL_COUNTER:acl_counter#0") // R1 still uses the range
	if got := b.Poller.Count(""); got != 1 {
		t.Errorf("%d counters are polled, want 1", got)
	}
}

// Only the ports of a table that keeps type and stage are changed; otherwise it is recreated, with
// its rules.
func TestTableUpdate(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("DATA", "L3", "Ethernet0,Ethernet4")
	b.rule("DATA:R1", "PRIORITY", "10", "SRC_IP", "1.2.3.4", "PACKET_ACTION", "DROP")
	b.Step()
	b.Calls()
	b.table("DATA", "L3", "Ethernet4,Ethernet8")
	b.Step()
	b.WantCalls(
		"r|ACL_TABLE_GROUP_MEMBER:acl_table_group_member#0", "s|PORT:port#1|INGRESS_ACL=null",
		"r|ACL_TABLE_GROUP:acl_table_group#0",
		"c|ACL_TABLE_GROUP:acl_table_group#2|ACL_STAGE=INGRESS|ACL_BIND_POINT_TYPE_LIST=1:PORT|TYPE=PARALLEL",
		"s|PORT:port#3|INGRESS_ACL=acl_table_group#2",
		"c|ACL_TABLE_GROUP_MEMBER:acl_table_group_member#2|ACL_TABLE_GROUP_ID=acl_table_group#2|ACL_TABLE_ID=acl_table#0|"+
			"PRIORITY=100")
	b.Set(schema.AppACLTable, "DATA", "TYPE", "L3", "STAGE", "EGRESS", "PORTS", "Ethernet4")
	b.Step()
	b.WantStatus(schema.StateACLRule, "DATA|R1", "Active")
	if live := b.Rec.LiveOf(sai.ObjectTypeACLTable); len(live) != 1 {
		t.Errorf("tables: %v", live)
	}
	if live := b.Rec.LiveOf(sai.ObjectTypeACLTableGroup); len(live) != 1 {
		t.Errorf("groups: %v", live)
	}
}

// Two tables on a port share its group, which goes with the second.
func TestGroupIsShared(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("A", "L3", "Ethernet0")
	b.table("B", "L3V6", "Ethernet0")
	b.Step()
	if live := b.Rec.LiveOf(sai.ObjectTypeACLTableGroup); len(live) != 1 {
		t.Fatalf("groups: %v", live)
	}
	b.Del(schema.AppACLTable, "A")
	b.Step()
	if live := b.Rec.LiveOf(sai.ObjectTypeACLTableGroup); len(live) != 1 {
		t.Errorf("groups: %v", live)
	}
	b.Del(schema.AppACLTable, "B")
	b.Step()
	if live := b.Rec.Live(); len(live) != 1 { // the switch
		t.Errorf("left behind: %v", live)
	}
}

func TestStatuses(t *testing.T) {
	tests := []struct {
		name  string
		rows  func(b *bench)
		table string
		rule  string // of T|R
	}{
		{"rule without table", func(b *bench) {
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "PACKET_ACTION",
				"DROP")
		},
			"", "Pending creation: no ACL table T"},
		{"table without its type", func(b *bench) {
			b.table("T", "MINE", "")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
		}, "Pending creation: no ACL table type MINE", "Pending creation: ACL table T: no ACL table type MINE"},
		{"ports that do not exist yet", func(b *bench) {
			b.table("T", "L3", "Ethernet0,Ethernet99,PortChannel1")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
		}, "Active: to be bound when they exist: Ethernet99,PortChannel1", "Active"},
		{"LAG member", func(b *bench) {
			b.ports.LAGs["PortChannel1"], b.ports.LAGOf["Ethernet0"] = b.lag(), "PortChannel1"
			b.table("T", "L3", "Ethernet0,Ethernet4")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
		}, "Inactive: port Ethernet0 is a member of PortChannel1: bind the table to PortChannel1 instead",
			"Pending creation: ACL table T: port Ethernet0"},
		{"table type that binds ports only", func(b *bench) {
			b.ports.LAGs["PortChannel1"] = b.lag()
			b.table("T", "MUX", "PortChannel1")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
		}, "Inactive: tables of type MUX cannot be bound to a PortChannel such as PortChannel1", "Pending creation"},
		{"unknown field", func(b *bench) {
			b.Set(schema.AppACLTable, "T", "TYPE", "L3", "COLOUR", "red")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
		}, `Inactive: COLOUR "red"`, "Pending creation"},
		{"control plane table", func(b *bench) {
			b.table("T", "CTRLPLANE", "")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
		}, "Active: kept out of the ASIC", "Active: kept out of the ASIC"},
		{"invalid rule", func(b *bench) {
			b.table("T", "L3", "")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1/33", "L4_SRC_PORT", "x", "PACKET_ACTION", "DROP")
		}, "Active",
			`Inactive: SRC_IP "1.1.1.1/33": want an IPv4 address or prefix such as 192.0.2.1 or 192.0.2.0/24; L4_SRC_PORT "x"`},
		{"priority beyond the switch's", func(b *bench) {
			b.table("T", "L3", "")
			b.rule("T:R", "PRIORITY", "20000", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
		}, "Active", `Inactive: PRIORITY "20000": want 1..16000`},
		{"redirect to a port", func(b *bench) {
			b.table("T", "L3", "")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "REDIRECT:Ethernet8")
		}, "Active", "Active"},
		{"redirect to a port that is not there", func(b *bench) {
			b.table("T", "L3", "")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "REDIRECT_ACTION", "PortChannel7")
		}, "Active", "Pending creation: no port or PortChannel PortChannel7"},
		{"redirect to a next hop", func(b *bench) {
			b.table("T", "L3", "")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "REDIRECT_ACTION", "10.0.0.1@Ethernet0")
		}, "Active", "Pending creation: no next hop 10.0.0.1@Ethernet0"},
		{"redirect to a next hop that is there", func(b *bench) {
			b.table("T", "L3", "")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "REDIRECT_ACTION", "10.0.0.9@Ethernet0")
		}, "Active", "Active"},
		{"redirect to two next hops", func(b *bench) {
			b.table("T", "L3", "")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "REDIRECT_ACTION", "10.0.0.1@Ethernet0,10.0.0.9@Ethernet0")
		}, "Active",
			"Inactive: redirect to 10.0.0.1@Ethernet0,10.0.0.9@Ethernet0: only redirection to one next hop can be done"},
		{"mirror", func(b *bench) {
			b.table("T", "MIRROR", "")
			b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "MIRROR_ACTION", "session1")
		}, "Active", "Pending creation: mirror session session1 is not active"},
		{"IN_PORTS of an empty PortChannel", func(b *bench) {
			b.ports.LAGs["PortChannel1"] = b.lag()
			b.table("T", "MUX", "")
			b.rule("T:R", "PRIORITY", "1", "IN_PORTS", "PortChannel1", "PACKET_ACTION", "DROP")
		}, "Active", "Pending creation: IN_PORTS: PortChannel1 has no members"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, saitest.Options{})
			tt.rows(b)
			b.Step()
			b.WantStatus(schema.StateACLTable, "T", tt.table)
			b.WantStatus(schema.StateACLRule, "T|R", tt.rule)
			if n := len(b.Rec.LiveOf(sai.ObjectTypeACLEntry)); (n == 1) != (tt.rule == "Active") {
				t.Errorf("%d entries", n)
			}
		})
	}
}

func (b *bench) lag() sai.OID {
	b.T.Helper()
	oid, err := b.Fake.Create(b.Ctx, sai.ObjectTypeLAG, nil)
	if err != nil {
		b.T.Fatal(err)
	}
	return oid
}

// A table type that is a row gives the table its list of actions.
func TestCustomType(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("T", "MINE", "")
	b.Step()
	b.WantCalls()
	b.Set(schema.AppACLTableType, "MINE", "MATCHES", "SRC_IP,IN_PORTS", "ACTIONS", "PACKET_ACTION,COUNTER", "BIND_POINTS",
		"PORT")
	b.Step()
	b.WantStatus(schema.StateACLTableType, "MINE", "active")
	b.WantCalls("c|ACL_TABLE:acl_table#0|ACL_BIND_POINT_TYPE_LIST=1:PORT|FIELD_SRC_IP=true|FIELD_IN_PORTS=true|" +
		"ACL_ACTION_TYPE_LIST=2:PACKET_ACTION,COUNTER|ACL_STAGE=INGRESS")
	b.Del(schema.AppACLTableType, "MINE")
	b.Step()
	b.WantStatus(schema.StateACLTable, "T", "Pending creation: no ACL table type MINE")
	b.WantCalls("r|ACL_TABLE:acl_table#0")
}

// A table that comes back brings its rules back, without a word from anybody.
func TestTableComesBack(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("T", "L3", "Ethernet0")
	b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
	b.Step()
	before := b.Content()
	b.Del(schema.AppACLTable, "T")
	b.Step()
	b.WantStatus(schema.StateACLRule, "T|R", "Pending creation: no ACL table T")
	b.table("T", "L3", "Ethernet0")
	b.Step()
	b.WantStatus(schema.StateACLRule, "T|R", "Active")
	if got := b.Content(); !slices.Equal(got, before) {
		t.Errorf("got  %v\nwant %v", got, before)
	}
}

// Whatever call fails, the table, or the rule, is undone wholly and says why,
// and succeeds when its row is written again.
func TestEveryFailureIsUndone(t *testing.T) {
	for n := 1; ; n++ {
		b := newBench(t, saitest.Options{})
		b.Rec.FailAt(n, sai.StatusFailure)
		b.table("T", "L3", "Ethernet0,Ethernet4")
		b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "L4_DST_PORT_RANGE", "1-2", "PACKET_ACTION", "DROP")
		b.Step()
		table, rule := b.Status(schema.StateACLTable+"|T"), b.Status(schema.StateACLRule+"|T|R")
		if table == "Active" && rule == "Active" {
			break
		}
		want := 0
		switch {
		case strings.HasPrefix(table, "Inactive: ") && strings.Contains(table, "SAI_STATUS_FAILURE"):
		case strings.HasPrefix(rule, "Inactive: ") && strings.Contains(rule, "SAI_STATUS_FAILURE"):
			want = 1
		default:
			t.Errorf("call %d failed: table %q, rule %q", n, table, rule)
		}
		if n := len(b.Rec.LiveOf(sai.ObjectTypeACLTable)); n != want {
			t.Errorf("%d tables, want %d", n, want)
		}
		for _, typ := range []sai.ObjectType{sai.ObjectTypeACLEntry, sai.ObjectTypeACLCounter, sai.ObjectTypeACLRange} {
			if live := b.Rec.LiveOf(typ); len(live) > 0 {
				t.Errorf("call %d failed: %v", n, live)
			}
		}
		b.Rec.FailAt(0, 0)
		b.table("T", "L3", "Ethernet0,Ethernet4")
		b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "L4_DST_PORT_RANGE", "1-2", "PACKET_ACTION", "DROP")
		b.Step()
		b.WantStatus(schema.StateACLRule, "T|R", "Active")
		b.Del(schema.AppACLTable, "T")
		b.Del(schema.AppACLRule, "T:R")
		b.Step()
		if live := b.Rec.Live(); len(live) != 1 { // the switch
			t.Errorf("call %d failed; left behind: %v", n, live)
		}
	}
}

// A rule that did not fit comes in when another goes.
func TestTableFull(t *testing.T) {
	b := newBench(t, saitest.Options{ACLEntries: 1})
	b.table("T", "L3", "")
	b.rule("T:R1", "PRIORITY", "2", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
	b.rule("T:R2", "PRIORITY", "1", "SRC_IP", "1.1.1.2", "PACKET_ACTION", "DROP")
	b.Step()
	b.WantStatus(schema.StateACLRule, "T|R2",
		"Pending creation: create the entry of ACL rule T|R2: the switch has no room for it (SAI_STATUS_TABLE_FULL")
	b.Del(schema.AppACLRule, "T:R1")
	b.Step()
	b.WantStatus(schema.StateACLRule, "T|R2", "Active")
}

func TestCountersAndCRM(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("T", "L3", "Ethernet0")
	b.rule("T:R", "PRIORITY", "1", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
	b.Step()
	db := b.Redis.DB(swss.CountersDB)
	oid := b.Rec.LiveOf(sai.ObjectTypeACLCounter)[0].OID
	names, _, err := swss.NewTable(db, schema.CountersACLRuleMap).Get(b.Ctx, "")
	if err != nil || names["T:R"] != oid.String() || !b.Poller.Polls(oid) {
		t.Errorf("names %v, polled %v, err %v", names, b.Poller.Polls(oid), err)
	}
	b.Now = b.Now.Add(schema.DefaultCRM().Interval)
	b.Step()
	crm, err := swss.NewTable(db, schema.CountersCRM).Dump(b.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r := crm["ACL_STATS:INGRESS:PORT"]; r["crm_stats_acl_table_used"] != "1" ||
		r["crm_stats_acl_table_available"] != "3" || r["crm_stats_acl_group_used"] != "1" {
		t.Errorf("ACL_STATS:INGRESS:PORT = %v", r)
	}
	table := fmt.Sprintf("ACL_TABLE_STATS:0x%x", uint64(b.Rec.LiveOf(sai.ObjectTypeACLTable)[0].OID))
	if r := crm[table]; r["crm_stats_acl_entry_used"] != "1" || r["crm_stats_acl_entry_available"] != "999" ||
		r["crm_stats_acl_counter_used"] != "1" {
		t.Errorf("%s = %v", table, r)
	}
	rows := swss.NewTable(db, schema.CountersTable)
	if err := rows.Set(b.Ctx, oid.String(), swss.FieldValues{"SAI_ACL_COUNTER_ATTR_PACKETS": "1"}); err != nil {
		t.Fatal(err)
	}
	b.Del(schema.AppACLRule, "T:R")
	b.Step()
	if _, found, err := rows.Get(b.Ctx, oid.String()); found || err != nil || b.Poller.Count("") > 0 {
		t.Errorf("the counter's row stays: %v, %v; polled: %v", found, err, b.Poller.Count(""))
	}
	config := swss.NewTable(b.Redis.DB(swss.ConfigDB), schema.CfgFlexCounter)
	if err := config.Set(b.Ctx, "ACL", swss.FieldValues{"FLEX_COUNTER_STATUS": "enable",
		"POLL_INTERVAL": "2500"}); err != nil {
		t.Fatal(err)
	}
	b.Step()
	if got := b.Poller.Groups[counterGroup].Interval; got.Milliseconds() != 2500 || b.orch.PollInterval() != got {
		t.Errorf("interval %v", got)
	}
}

func TestStageCapability(t *testing.T) {
	b := newBench(t, saitest.Options{})
	row, _, err := swss.NewTable(b.Redis.DB(swss.StateDB), schema.StateACLStageCap).Get(b.Ctx, "INGRESS")
	if err != nil || row["is_action_list_mandatory"] != "false" ||
		!strings.Contains(row["action_list"], "PACKET_ACTION,REDIRECT_ACTION,") {
		t.Errorf("INGRESS = %v, %v", row, err)
	}
}

// fewActions is a switch whose rules can do less than others', or that does not say so.
type fewActions struct {
	sai.API
	words []sai.Enum
	err   error
}

func (f fewActions) EnumCapability(ctx context.Context, id sai.AttrID) ([]sai.Enum, error) {
	if id == sai.ACLEntryAttrActionPacketAction {
		return f.words, f.err
	}
	return f.API.EnumCapability(ctx, id)
}

// SWITCH_CAPABILITY has the actions of ACL rules as SONiC's acl-loader reads them: what it does not find there it
// leaves out of the rules that it installs.
func TestSwitchCapability(t *testing.T) {
	for name, tt := range map[string]struct {
		few  fewActions
		want string
	}{
		"all":       {fewActions{words: sai.Meta(sai.ACLEntryAttrActionPacketAction).Enum.Values}, "COPY,DROP,FORWARD"},
		"some":      {fewActions{words: []sai.Enum{sai.PacketActionDrop, sai.PacketActionTrap}}, "DROP"},
		"no answer": {fewActions{err: sai.StatusNotSupported}, "COPY,DROP,FORWARD"},
	} {
		b := newBench(t, saitest.Options{})
		tt.few.API = b.orch.asic.api
		b.orch.asic.api = tt.few
		if err := b.orch.readLimits(b.Ctx, Config{Redis: b.Redis, Switch: b.orch.asic.crm.switchID}); err != nil {
			t.Fatal(err)
		}
		row, _, err := swss.NewTable(b.Redis.DB(swss.StateDB), "SWITCH_CAPABILITY").Get(b.Ctx, "switch")
		if err != nil || row["ACL_ACTION|PACKET_ACTION"] != tt.want {
			t.Errorf("%s: %v, %v, want the packet actions %s", name, row, err, tt.want)
		}
		for stage, want := range map[string]string{"INGRESS": "MIRROR_INGRESS_ACTION", "EGRESS": "MIRROR_EGRESS_ACTION"} {
			got := strings.Split(row["ACL_ACTIONS|"+stage], ",")
			if !slices.Contains(got, "PACKET_ACTION") || !slices.Contains(got, want) {
				t.Errorf("%s: the actions at %s are %v", name, stage, got)
			}
		}
	}
}

// Labels of counters are at most 15 bytes long, which is what SAI's metadata
// library takes, and tell rules apart.
func TestLabels(t *testing.T) {
	key := func(s string) schema.ACLRuleKey { return schema.ACLRuleKey{Table: "TAM", Rule: s} }
	long := strings.Repeat("x", 200)
	for _, tt := range []struct {
		key  schema.ACLRuleKey
		want string
	}{
		{key("web"), "ts:web"},
		{key(strings.Repeat("x", 12)), "ts:" + strings.Repeat("x", 12)},
		{schema.ACLRuleKey{Table: "T2", Rule: "web"}, "ts:T2:web"},
		{key(strings.Repeat("x", 13)), "ts#"},
		{key(long + "1"), "ts#"},
	} {
		got := label(entryKey{feature: schema.FeatureTailStamping}, tt.key)
		if !strings.HasPrefix(got, tt.want) || len(got) > 15 || tt.want != "ts#" && got != tt.want {
			t.Errorf("label of %s = %q, want %q", tt.key, got, tt.want)
		}
	}
	if label(entryKey{feature: schema.FeatureTailStamping}, key(long+"1")) == label(
		entryKey{feature: schema.FeatureTailStamping}, key(long+"2")) {
		t.Error("two rules have one label")
	}
}
