package debugcounter_test

import (
	"slices"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tamtamtest"
)

// Rows of counters and of their reasons may be written in any order. The status of each names what is missing or wrong.
func TestDebugCounterRows(t *testing.T) {
	sw := tamtamtest.Start(t, `{"DEBUG_COUNTER_DROP_REASON": {"a|TTL": {}, "b|TTL": {}, "c|ttl": {}}, "DEBUG_COUNTER": {
		"b": {"type": "PORT_DROPS"}, "c": {"type": "PORT_INGRESS_DROPS"}, "d": {"type": "SWITCH_EGRESS_DROPS",
		 "drop_monitor_status": "enabled"}, "e": {"type": "PORT_EGRESS_DROPS", "window": "-1"}}}`)
	problems := func() (list []string) {
		for _, p := range sw.Problems() {
			list = append(list, p.Object+" "+p.Status+": "+p.Reason)
		}
		slices.Sort(list)
		return list
	}
	want := []string{
		"DEBUG_COUNTER_DROP_REASON|a|TTL pending: DEBUG_COUNTER|a does not exist, or is not valid",
		"DEBUG_COUNTER_DROP_REASON|b|TTL pending: DEBUG_COUNTER|b does not exist, or is not valid",
		`DEBUG_COUNTER_DROP_REASON|c|ttl failed: key "c|ttl": want counter|reason, the reason as SAI has it, such as ` +
			`DEBUG_COUNTER_DROP_REASON|drops|L3_ANY`,
		`DEBUG_COUNTER|b failed: type "PORT_DROPS": want PORT_EGRESS_DROPS, PORT_INGRESS_DROPS, SWITCH_EGRESS_DROPS or ` +
			`SWITCH_INGRESS_DROPS`,
		"DEBUG_COUNTER|c pending: there is no reason to count, want a row DEBUG_COUNTER_DROP_REASON|c|REASON",
		`DEBUG_COUNTER|d failed: drop_monitor_status "enabled": want disabled: only counters of ports ` +
			`(PORT_INGRESS_DROPS, PORT_EGRESS_DROPS) are watched for persistent drops`,
		`DEBUG_COUNTER|e failed: window "-1": want a number in 0..4294967295`,
	}
	if got := problems(); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	config := sw.Sim().Redis.DB(swss.ConfigDB)
	for _, err := range []error{
		swss.NewTable(config, schema.CfgDebugCounter).Set(t.Context(), "a",
			swss.FieldValues{"type": schema.PortIngressDrops}),
		swss.NewTable(config, schema.CfgDebugCounter).Set(t.Context(), "b",
			swss.FieldValues{"type": schema.SwitchIngressDrops}),
		swss.NewTable(config, schema.CfgDebugReason).Set(t.Context(), "c|L2_ANY", swss.FieldValues{"NULL": "NULL"}),
		swss.NewTable(config, schema.CfgDebugReason).Del(t.Context(), "c|ttl"),
		swss.NewTable(config, schema.CfgDebugCounter).Del(t.Context(), "d"),
		swss.NewTable(config, schema.CfgDebugCounter).Del(t.Context(), "e"),
		sw.Sim().RunUntilIdle(t.Context()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := problems(); len(got) > 0 {
		t.Errorf("when all is right: %q", got)
	}
}
