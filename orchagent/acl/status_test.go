package acl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A table of type TAM and its rules are in the ASIC only while a session uses them. Otherwise their status reports
// this.
func TestStatusOfFlowGroups(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("TAM", "TAM", "")
	b.rule("TAM:F1", "PRIORITY", "1", "SRC_IP", "1.1.1.1")
	b.Step()
	want := func(table, rule string) {
		t.Helper()
		b.WantStatus(schema.StateACLTable, "TAM", table)
		b.WantStatus(schema.StateACLRule, "TAM|F1", rule)
	}
	want("Active: not in the ASIC: no TAM session uses its rules", "Active: not in the ASIC: no TAM session uses it")
	f1 := []schema.ACLRuleKey{{Table: "TAM", Rule: "F1"}}
	actions := []sai.Attr{{ID: sai.ACLEntryAttrActionIntInsert, Value: sai.Do(sai.Bool(true))}}
	if errs := b.orch.BindMany(b.Ctx, schema.FeatureTailStamping, actions, f1, []string{"s1"}); errs[0] != nil {
		t.Fatal(errs)
	}
	b.Step()
	want("Active", "Active")
	if errs := b.orch.UnbindMany(b.Ctx, schema.FeatureTailStamping, f1, []string{"s1"}); errs[0] != nil {
		t.Fatal(errs)
	}
	b.Step()
	want("Active: not in the ASIC: no TAM session uses its rules", "Active: not in the ASIC: no TAM session uses it")
}

// The status names some of many ports that do not exist.
func TestManyAbsentPorts(t *testing.T) {
	b := newBench(t, saitest.Options{})
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("Ethernet%d", i))
	}
	b.table("T", "L3", strings.Join(names, ","))
	b.Step()
	b.WantStatus(schema.StateACLTable, "T",
		"Active: to be bound when they exist: "+
			"Ethernet1,Ethernet2,Ethernet3,Ethernet5,Ethernet6,Ethernet7,Ethernet9,Ethernet10 and 988 more")
}

// Invalid rows of FLEX_COUNTER_TABLE and CRM have no effect, and their status reports this. If there are several rows
// of CRM, the first valid one counts.
func TestConfigRows(t *testing.T) {
	b := newBench(t, saitest.Options{})
	config := b.Redis.DB(swss.ConfigDB)
	set := func(table, key string, fields swss.FieldValues) {
		t.Helper()
		rows := swss.NewTable(config, table)
		if err := errors.Join(rows.Del(b.Ctx, key), rows.Set(b.Ctx, key, fields)); err != nil {
			t.Fatal(err)
		}
		b.Step()
	}
	want := func(ms, crm int64) {
		t.Helper()
		if got := b.orch.PollInterval().Milliseconds(); got != ms {
			t.Errorf("ACL counters every %d ms, want %d", got, ms)
		}
		if got := b.orch.asic.crm.interval().Milliseconds() / 1000; got != crm {
			t.Errorf("CRM every %d s, want %d", got, crm)
		}
	}
	set(schema.CfgFlexCounter, "ACL", swss.FieldValues{"POLL_INTERVAL": "2000"})
	set(schema.CfgCRM, "Config", swss.FieldValues{"polling_interval": "7"})
	want(2000, 7)
	b.WantStatus(schema.StateFlexCounter, "ACL", "active")
	b.WantStatus(schema.StateCRM, "Config", "active")
	set(schema.CfgFlexCounter, "ACL", swss.FieldValues{"POLL_INTERVAL": "1"})
	set(schema.CfgCRM, "Config", swss.FieldValues{"polling_interval": "never"})
	want(10000, 300)
	b.WantStatus(schema.StateFlexCounter, "ACL", `failed: POLL_INTERVAL "1": want a number in 10..3600000`)
	b.WantStatus(schema.StateCRM, "Config", `failed: polling_interval "never": want a number in 1..9999`)
	set(schema.CfgCRM, "b", swss.FieldValues{"polling_interval": "9"})
	set(schema.CfgCRM, "a", swss.FieldValues{"polling_interval": "8"})
	want(10000, 8)
	b.WantStatus(schema.StateCRM, "a", "active")
	b.WantStatus(schema.StateCRM, "b", "pending: CRM|a comes first, and one row applies")
	for _, key := range []string{"a", "b", "Config"} {
		if err := swss.NewTable(config, schema.CfgCRM).Del(b.Ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	if err := swss.NewTable(config, schema.CfgFlexCounter).Del(b.Ctx, "ACL"); err != nil {
		t.Fatal(err)
	}
	b.Step()
	want(10000, 300)
	b.WantStatus(schema.StateFlexCounter, "ACL", "")
	b.WantStatus(schema.StateCRM, "Config", "")
}

// If reading an attribute fails once, it is read again. An attribute that the ASIC does not support is not read again.
func TestCRMAsksAgain(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("T", "L3", "")
	b.Step()
	available := sai.ACLTableAttrAvailableACLEntry
	table := b.Rec.LiveOf(sai.ObjectTypeACLTable)[0]
	for _, tt := range []struct {
		status sai.Status
		asked  bool
	}{{sai.StatusFailure, true}, {sai.StatusUninitialized, true}, {sai.StatusNotImplemented, false}} {
		b.orch.asic.crm.api = failing{b.Rec, tt.status}
		if _, ok := b.orch.asic.crm.get(b.Ctx, table, sai.Want(available, 0)); ok {
			t.Fatal("the read did not fail")
		}
		if asked := !b.orch.asic.crm.unsupported[available]; asked != tt.asked {
			t.Errorf("%s: asked again %v, want %v", tt.status, asked, tt.asked)
		}
	}
}

// attrUnknown is an ASIC that does not return an attribute.
type attrUnknown struct {
	sai.API
	attr sai.AttrID
}

func (a attrUnknown) Get(ctx context.Context, k sai.Key, want []sai.Attr) ([]sai.Attr, error) {
	if want[0].ID == a.attr {
		return nil, sai.StatusFailure
	}
	return a.API.Get(ctx, k, want)
}

// A number that the ASIC does not report any more disappears from the row. The other numbers stay.
func TestCRMForgetsUnknownNumbers(t *testing.T) {
	b := newBench(t, saitest.Options{})
	b.table("T", "L3", "")
	b.Step()
	c := &b.orch.asic.crm
	key := fmt.Sprintf("ACL_TABLE_STATS:0x%x", uint64(b.Rec.LiveOf(sai.ObjectTypeACLTable)[0].OID))
	poll := func(counters bool) {
		t.Helper()
		if err := c.poll(b.Ctx, b.Now); err != nil {
			t.Fatal(err)
		}
		row := b.Row(swss.CountersDB, schema.CountersCRM, key)
		_, has := row["crm_stats_acl_counter_available"]
		if _, entries := row["crm_stats_acl_entry_available"]; !entries || has != counters {
			t.Errorf("the row is %v, with counters: %v", row, counters)
		}
	}
	poll(true)
	c.api = attrUnknown{b.Rec, sai.ACLTableAttrAvailableACLCounter}
	poll(false)
	c.api = b.Rec
	poll(true)
}

// A resource is exceeded from its high threshold on, until it is down to its low one. Thresholds that are no
// percentages are not shown.
func TestCRMThresholds(t *testing.T) {
	c := newBench(t, saitest.Options{}).orch.asic.crm
	want := func(used int, high, low, exceeded string) {
		t.Helper()
		rows := map[string]swss.FieldValues{}
		c.write(rows, crmStats, "ipv4_route", used, uint64(100-used))
		is := swss.FieldValues{"ipv4_route_high": high, "ipv4_route_low": low, "ipv4_route_exceeded": exceeded}
		if diff := cmp.Diff(is, rows[schema.CRMThresholds]); diff != "" {
			t.Errorf("%d in use (-want +got):\n%s", used, diff)
		}
	}
	want(84, "85", "70", "false")
	want(85, "85", "70", "true")
	want(71, "85", "70", "true")
	want(70, "85", "70", "false")
	c.config.Thresholds = map[string]schema.CRMThreshold{"ipv4_route": {Type: schema.CRMUsed, High: 50}}
	want(71, "", "", "")
}
