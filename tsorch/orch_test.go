package tsorch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// created shortens what a first session makes: the calls that are the same for
// every port are given for the first port only.
func created(rule string) []string {
	calls := []string{
		"c|TAM_INT:tam_int#0|TYPE=IFA1_TAILSTAMP|DEVICE_ID=7|INT_PRESENCE_TYPE=UNDEFINED|INLINE=true",
		"c|ACL_TABLE:acl_table#0|ACL_BIND_POINT_TYPE_LIST=2:PORT," +
			"LAG|FIELD_SRC_IPV6=true|FIELD_DST_IPV6=true|FIELD_SRC_MAC=true|" +
			"FIELD_DST_MAC=true|FIELD_SRC_IP=true|FIELD_DST_IP=true|FIELD_IN_PORTS=true|FIELD_OUTER_VLAN_ID=true|" +
			"FIELD_L4_SRC_PORT=true|" +
			"FIELD_L4_DST_PORT=true|FIELD_ETHER_TYPE=true|FIELD_IP_PROTOCOL=true|FIELD_DSCP=true|FIELD_TTL=true|" +
			"FIELD_TCP_FLAGS=true|" +
			"FIELD_ACL_IP_TYPE=true|FIELD_IPV6_FLOW_LABEL=true|FIELD_TC=true|FIELD_ICMP_TYPE=true|FIELD_ICMP_CODE=true|" +
			"FIELD_ICMPV6_TYPE=true|FIELD_ICMPV6_CODE=true|FIELD_ACL_RANGE_TYPE=2:L4_SRC_PORT_RANGE,L4_DST_PORT_RANGE|" +
			"FIELD_IPV6_NEXT_HEADER=true|ACL_ACTION_TYPE_LIST=3:COUNTER,INT_INSERT,TAM_INT_OBJECT|ACL_STAGE=INGRESS",
	}
	for i := range 4 {
		calls = append(calls,
			fmt.Sprintf("c|ACL_TABLE_GROUP:acl_table_group#%d|ACL_STAGE=INGRESS|ACL_BIND_POINT_TYPE_LIST=1:PORT|TYPE=PARALLEL",
				i),
			fmt.Sprintf("s|PORT:port#%d|INGRESS_ACL=acl_table_group#%d", i+1, i),
			fmt.Sprintf(
				"c|ACL_TABLE_GROUP_MEMBER:acl_table_group_member#%d|ACL_TABLE_GROUP_ID=acl_table_group#%d|"+
					"ACL_TABLE_ID=acl_table#0|PRIORITY=100", i, i))
	}
	return append(calls,
		"c|ACL_COUNTER:acl_counter#0|TABLE_ID=acl_table#0|ENABLE_BYTE_COUNT=true|ENABLE_PACKET_COUNT=true|LABEL=ts\\x3A"+rule,
		"c|ACL_ENTRY:acl_entry#0|TABLE_ID=acl_table#0|PRIORITY=100|ADMIN_STATE=true|ACTION_COUNTER=acl_counter#0|"+
			"FIELD_SRC_IP=10.0.0.1&mask:255.255.255.255|FIELD_L4_DST_PORT=80&mask:0xffff|ACTION_INT_INSERT=true|"+
			"ACTION_TAM_INT_OBJECT=tam_int#0")
}

// removed is the opposite of created, in the opposite order.
func removed() []string {
	calls := []string{"r|ACL_ENTRY:acl_entry#0", "r|ACL_COUNTER:acl_counter#0"}
	for i := range 4 {
		calls = append(calls,
			fmt.Sprintf("r|ACL_TABLE_GROUP_MEMBER:acl_table_group_member#%d", i),
			fmt.Sprintf("s|PORT:port#%d|INGRESS_ACL=null", i+1),
			fmt.Sprintf("r|ACL_TABLE_GROUP:acl_table_group#%d", i))
	}
	return append(calls, "r|ACL_TABLE:acl_table#0", "r|TAM_INT:tam_int#0")
}

var web = []string{"SRC_IP", "10.0.0.1", "L4_DST_PORT", "80"}

// Section 3.1 of the design: session and rule come in either order, and the
// calls are the same.
func TestSessionAndRuleInEitherOrder(t *testing.T) {
	t.Run("session first", func(t *testing.T) {
		b := newBench(t, saitest.Options{})
		b.activate()
		b.tamTable()
		b.session("s1", "web")
		b.Step()
		b.wantSession("s1", "pending: no ACL rule TAM|web")
		b.WantCalls()
		b.rule("web", web...)
		b.Step()
		b.wantSession("s1", "active")
		b.WantCalls(created("web")...)
	})
	t.Run("rule first", func(t *testing.T) {
		b := newBench(t, saitest.Options{})
		b.activate()
		b.tamTable()
		b.rule("web", web...)
		b.Step()
		b.WantStatus(schema.StateACLRule, "TAM|web", "Active")
		b.WantCalls() // a flow group is nothing in the ASIC until a session uses it
		b.session("s1", "web")
		b.Step()
		b.wantSession("s1", "active")
		b.WantCalls(created("web")...)
	})
}

// Rule, session, table and feature take the session out of the ASIC when they
// go, and bring it back when they return.
func TestWithdrawnAndBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		del    func(b *bench)
		set    func(b *bench)
		status string
	}{
		{"rule", func(b *bench) { b.Del(schema.AppACLRule, "TAM:web") }, func(b *bench) { b.rule("web", web...) },
			"pending: no ACL rule TAM|web"},
		{"rule becomes invalid", func(b *bench) { b.rule("web", "SRC_IP", "nonsense") },
			func(b *bench) { b.rule("web", web...) },
			`pending: ACL rule TAM|web: SRC_IP "nonsense": want`},
		{"table", func(b *bench) { b.Del(schema.AppACLTable, "TAM") }, func(b *bench) { b.tamTable() },
			"pending: ACL rule TAM|web: no ACL table TAM"},
		{"feature", func(b *bench) { b.Del(schema.AppTAMFeature, featureName) }, func(b *bench) { b.activate() },
			"pending: feature TAILSTAMPING is not active"},
		{"session", func(b *bench) { b.Del(schema.AppTAMTailStamp, "s1") }, func(b *bench) { b.session("s1", "web") }, ""},
		{"switch id", func(b *bench) { b.Del(schema.AppTAMSwitch, schema.TAMGlobalKey) },
			func(b *bench) { b.Set(schema.AppTAMSwitch, schema.TAMGlobalKey, "op-switch-id", "7") },
			"pending: the switch has no switch-id"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := activeBench(t)
			before := b.Content()
			tt.del(b)
			b.Step()
			b.wantSession("s1", tt.status)
			b.WantCalls(removed()...)
			tt.set(b)
			b.Step()
			b.wantSession("s1", "active")
			compare(t, "ASIC", b.Content(), before)
		})
	}
}

// activeBench has one session that is bound.
func activeBench(t testing.TB) *bench {
	b := newBench(t, saitest.Options{})
	b.activate()
	b.tamTable()
	b.rule("web", web...)
	b.session("s1", "web")
	b.Step()
	b.Rec.Reset()
	return b
}

// Two sessions on one flow group share the entry; sessions on others share the
// table and the TAM INT object.
func TestSharing(t *testing.T) {
	b := activeBench(t)
	b.session("s2", "web")
	b.Step()
	b.wantSession("s2", "active")
	b.WantCalls()
	b.rule("dns", "DST_IP", "8.8.8.8", "PRIORITY", "200")
	b.session("s3", "dns")
	b.Step()
	b.WantCalls(
		"c|ACL_COUNTER:acl_counter#1|TABLE_ID=acl_table#0|ENABLE_BYTE_COUNT=true|ENABLE_PACKET_COUNT=true|LABEL=ts\\x3Adns",
		"c|ACL_ENTRY:acl_entry#1|TABLE_ID=acl_table#0|PRIORITY=200|ADMIN_STATE=true|ACTION_COUNTER=acl_counter#1|"+
			"FIELD_DST_IP=8.8.8.8&mask:255.255.255.255|ACTION_INT_INSERT=true|ACTION_TAM_INT_OBJECT=tam_int#0")
	b.Del(schema.AppTAMTailStamp, "s1")
	b.Step()
	b.WantCalls() // s2 still uses the entry
	b.Del(schema.AppTAMTailStamp, "s2")
	b.Step()
	b.WantCalls("r|ACL_ENTRY:acl_entry#0", "r|ACL_COUNTER:acl_counter#0")
}

// A rule that only changes values is set in place; one that loses a match is recreated, and keeps
// its counter.
func TestRuleChanges(t *testing.T) {
	b := activeBench(t)
	b.rule("web", "SRC_IP", "10.0.0.2", "L4_DST_PORT", "80")
	b.Step()
	b.WantCalls("s|ACL_ENTRY:acl_entry#0|FIELD_SRC_IP=10.0.0.2&mask:255.255.255.255")
	b.rule("web", "SRC_IP", "10.0.0.2", "L4_DST_PORT", "443", "IP_PROTOCOL", "6", "PRIORITY", "7")
	b.Step()
	b.WantCalls(
		"s|ACL_ENTRY:acl_entry#0|PRIORITY=7",
		"s|ACL_ENTRY:acl_entry#0|FIELD_L4_DST_PORT=443&mask:0xffff",
		"s|ACL_ENTRY:acl_entry#0|FIELD_IP_PROTOCOL=6&mask:0xff")
	b.rule("web", "SRC_IP", "10.0.0.2")
	b.Step()
	b.WantCalls("r|ACL_ENTRY:acl_entry#0",
		"c|ACL_ENTRY:acl_entry#1|TABLE_ID=acl_table#0|PRIORITY=100|ADMIN_STATE=true|ACTION_COUNTER=acl_counter#0|"+
			"FIELD_SRC_IP=10.0.0.2&mask:255.255.255.255|ACTION_INT_INSERT=true|ACTION_TAM_INT_OBJECT=tam_int#0")
	b.wantSession("s1", "active")
}

// Whatever call fails, all before it are undone, the reason is shown, and the
// next attempt succeeds.
func TestEveryFailureIsUndone(t *testing.T) {
	for _, status := range []sai.Status{sai.StatusFailure, sai.StatusTableFull} {
		for n := 1; ; n++ {
			b := newBench(t, saitest.Options{})
			b.activate()
			b.tamTable()
			b.rule("web", append(web, "L4_SRC_PORT_RANGE", "1000-2000")...)
			b.Step()
			before := b.Content()
			b.Rec.FailAt(n, status)
			b.session("s1", "web")
			b.Step()
			if b.Status(schema.StateTAMTailStamp+"|s1") == "active" {
				if n < 10 {
					t.Errorf("only %d calls", n-1)
				}
				break
			}
			compare(t, fmt.Sprintf("%s at call %d: ASIC", status, n), b.Content(), before)
			featureName := "UNSUPPORTED: 1 of 1 sessions are refused by the switch, the first is s1: "
			if status == sai.StatusTableFull {
				b.wantSession("s1", "pending: ")
				featureName = "INSUFFICIENT_RESOURCES: 1 of 1 sessions do not fit into the switch, the first is s1: "
			} else {
				b.wantSession("s1", "failed: ")
			}
			b.wantSession("s1", status.String())
			b.WantStatus(schema.StateTAMFeature, schema.FeatureTailStamping, featureName)
			b.Rec.FailAt(0, 0)
			b.session("s1", "web")
			b.Step()
			b.wantSession("s1", "active")
			b.WantStatus(schema.StateTAMFeature, schema.FeatureTailStamping, "ACTIVE")
		}
	}
}

// Whatever call of a change or a removal fails: nothing is lost from the books,
// and once the switch obliges, everything goes.
func TestEveryFailureOfChangesAndRemovals(t *testing.T) {
	for n := 1; ; n++ {
		b := activeBench(t)
		b.Rec.FailAt(n, sai.StatusFailure)
		b.rule("web", "SRC_IP", "10.0.0.2", "L4_DST_PORT_RANGE", "1-2")
		b.Step()
		b.Del(schema.AppTAMTailStamp, "s1")
		b.Step()
		done := b.Rec.Changes() < n
		b.Rec.FailAt(0, 0)
		b.session("s1", "web")
		b.Step()
		b.Del(schema.AppTAMTailStamp, "s1")
		b.Step()
		b.Del(schema.AppACLRule, "TAM:web")
		b.Step()
		for _, k := range b.Fake.Created() {
			if k.Type != sai.ObjectTypeHostif {
				t.Errorf("call %d failed, and %s stays", n, k)
			}
		}
		featuretest.Empty(b.Bench, b.ts.Feature)
		if done {
			break
		}
	}
}

// Sessions beyond the room of the switch wait, and come in when there is room.
func TestTableFull(t *testing.T) {
	b := newBench(t, saitest.Options{ACLEntries: 2})
	b.activate()
	b.tamTable()
	for i := range 4 {
		b.rule(fmt.Sprintf("F%d", i), "L4_DST_PORT", fmt.Sprint(80+i))
		b.session(fmt.Sprintf("s%d", i), fmt.Sprintf("F%d", i))
	}
	b.Step()
	b.wantSession("s1", "active")
	b.wantSession("s2", "pending: create the entry of ACL rule TAM|F2: ")
	b.wantSession("s2", "SAI_STATUS_TABLE_FULL")
	b.wantSession("s2", "tried again when something is removed from the switch")
	b.WantStatus(schema.StateTAMFeature, featureName,
		"INSUFFICIENT_RESOURCES: 2 of 4 sessions do not fit into the switch, the first is s2")
	b.Del(schema.AppTAMTailStamp, "s0")
	b.Step()
	b.wantSession("s2", "active")
	b.wantSession("s3", "pending")
	b.Del(schema.AppACLRule, "TAM:F1")
	b.Step()
	b.wantSession("s3", "active")
	b.WantStatus(schema.StateTAMFeature, featureName, "ACTIVE")
}

// A switch id that changes while sessions are bound makes a new TAM INT object.
func TestSwitchID(t *testing.T) {
	b := activeBench(t)
	b.Set(schema.AppTAMSwitch, schema.TAMGlobalKey, "op-switch-id", "4294967295")
	b.Step()
	b.wantSession("s1", "active")
	got := b.Fake.Attrs(b.Rec.LiveOf(sai.ObjectTypeTAMInt)[0])
	if id, _ := sai.Find(got, sai.TAMIntAttrDeviceID); id != sai.Uint(4294967295) ||
		len(b.Rec.LiveOf(sai.ObjectTypeTAMInt)) != 1 {
		t.Errorf("device id %v of %d objects", id, len(b.Rec.LiveOf(sai.ObjectTypeTAMInt)))
	}
}

func TestUnsupported(t *testing.T) {
	b := newBench(t, saitest.Options{Unsupported: []sai.AttrID{sai.ACLEntryAttrActionTAMIntObject}})
	row := b.Row(swss.ApplDB, schema.AppSwitch, "switch")
	if row["tam-tailstamping-capable"] != "false" || !strings.Contains(row["tam-tailstamping-reason"],
		"SAI_ACL_ENTRY_ATTR_ACTION_TAM_INT_OBJECT") {
		t.Errorf("SWITCH_TABLE:switch = %v", row)
	}
	b.activate()
	b.tamTable()
	b.rule("web", web...)
	b.session("s1", "web")
	b.Step()
	b.WantStatus(schema.StateTAMFeature, featureName, "UNSUPPORTED: the switch does not implement")
	b.wantSession("s1", "failed: the switch does not implement")
	b.WantCalls()
}

// Ports that come, go, are broken out or join a LAG take the bindings along.
func TestPortsChange(t *testing.T) {
	b := activeBench(t)
	b.rule("web", append(web, "IN_PORTS", "PortChannel1")...)
	b.Step()
	b.wantSession("s1", "pending: ACL rule TAM|web: IN_PORTS: no port or PortChannel PortChannel1")
	b.Set(schema.AppLAG, "PortChannel1", "admin_status", "up")
	b.Step()
	b.wantSession("s1", "pending: ACL rule TAM|web: IN_PORTS: PortChannel1 has no members")
	b.Set(schema.AppLAGMember, "PortChannel1:Ethernet0", "status", "enabled")
	b.Step()
	b.wantSession("s1", "active")
	b.Calls()
	b.Set(schema.AppLAGMember, "PortChannel1:Ethernet4", "status", "enabled")
	b.Step()
	calls := b.Calls()
	joined := slices.IndexFunc(calls, func(c string) bool { return strings.HasPrefix(c, "c|LAG_MEMBER") })
	unbound := slices.Index(calls, "s|PORT:port#2|INGRESS_ACL=null")
	if unbound < 0 || joined < unbound {
		t.Errorf("the port must be unbound before it joins:\n%s", strings.Join(calls, "\n"))
	}
	if !slices.Contains(calls, "s|ACL_ENTRY:acl_entry#1|FIELD_IN_PORTS=2:port#1,port#2") {
		t.Errorf("IN_PORTS must get the new member:\n%s", strings.Join(calls, "\n"))
	}
	b.Del(schema.AppPort, "Ethernet4")
	b.port(4, "5,6")
	b.port(6, "7,8")
	b.Step()
	b.wantSession("s1", "active")
	b.WantStatus(schema.StatePort, "Ethernet6", "active")
}

// What a previous run left in COUNTERS_DB and nobody claims goes when the view is applied.
func TestRestart(t *testing.T) {
	b := activeBench(t)
	before := b.Content()
	counters := b.Redis.DB(swss.CountersDB)
	stale := swss.NewTable(counters, schema.CountersTailStamp)
	if err := stale.Set(b.Ctx, "gone", swss.FieldValues{"MATCHED_PACKETS": "1"}); err != nil {
		t.Fatal(err)
	}
	if err := swss.NewTable(counters, schema.CountersACLRuleMap).Set(b.Ctx, "",
		swss.FieldValues{"TAM:old": "oid:0x9000000000abc"}); err != nil {
		t.Fatal(err)
	}
	b.restart()
	b.wantSession("s1", "active")
	compare(t, "ASIC", b.Content(), before)
	compare(t, "counter names", b.counterNames(), []string{"TAM:web"})
	if keys, err := stale.Keys(b.Ctx); err != nil || len(keys) > 0 {
		t.Errorf("counters of sessions: %v, %v", keys, err)
	}
}
