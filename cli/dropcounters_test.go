package cli

import (
	"slices"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// Drop counters are configured in SONiC's words, or the shell's, and shown with their reasons and counts; what is
// cleared counts from there on, until the counter is another.
func TestDropCounters(t *testing.T) {
	s, r := newSwitch(t)
	for _, line := range []string{
		"config dropcounters install bad PORT_INGRESS_DROPS [TTL,LPM_MISS] -a BAD_DROPS -g edge -d \"lost on the way\"",
		"config dropcounters add-reasons bad [ACL_ANY]", "config dropcounters remove-reasons bad [TTL]",
		"config dropcounters install whole SWITCH_EGRESS_DROPS L2_ANY",
		"config dropcounters install gone PORT_EGRESS_DROPS L2_ANY",
		"config dropcounters delete gone",
	} {
		s.do(t, line)
	}
	keys := r.DB(swss.ConfigDB).Client().Keys(t.Context(), "DEBUG_COUNTER*").Val()
	slices.Sort(keys)
	if want := []string{
		"DEBUG_COUNTER_DROP_REASON|bad|ACL_ANY", "DEBUG_COUNTER_DROP_REASON|bad|LPM_MISS",
		"DEBUG_COUNTER_DROP_REASON|whole|L2_ANY",
		"DEBUG_COUNTER|bad", "DEBUG_COUNTER|whole",
	}; !slices.Equal(keys, want) {
		t.Errorf("rows %q", keys)
	}
	running := s.do(t, "show running-configuration")
	for _, line := range []string{
		"drop-counter bad type PORT_INGRESS_DROPS alias BAD_DROPS group edge desc \"lost on the way\"",
		"drop-reason bad ACL_ANY",
	} {
		if !strings.Contains(running, line) {
			t.Errorf("%q is not in the running configuration:\n%s", line, running)
		}
	}

	const in, out = "SAI_PORT_STAT_IN_CONFIGURED_DROP_REASONS_0_DROPPED_PKTS",
		"SAI_SWITCH_STAT_OUT_CONFIGURED_DROP_REASONS_0_DROPPED_PKTS"
	put := func(table, key string, fields swss.FieldValues) { row(t, r, swss.CountersDB, table, key, fields) }
	row(t, r, swss.StateDB, schema.AppDebugCounter, "bad", swss.FieldValues{"status": "active"})
	row(t, r, swss.StateDB, schema.AppDebugReason, "bad|ACL_ANY",
		swss.FieldValues{"status": "failed", "reason": "not here"})
	row(t, r, swss.StateDB, schema.StateDebugCapabilities, schema.PortIngressDrops,
		swss.FieldValues{"count": "16", "reasons": "[TTL,ACL_ANY]"})
	put(schema.CountersPortNameMap, "", swss.FieldValues{"Ethernet0": "oid:0x1000000000001",
		"Ethernet4": "oid:0x1000000000002"})
	put(schema.CountersDebugPortMap, "", swss.FieldValues{"bad": in})
	put(schema.CountersDebugSwitchMap, "", swss.FieldValues{"whole": out})
	put(schema.CountersDebugOIDMap, "", swss.FieldValues{"bad": "oid:0x55", "whole": "oid:0x56 oid:0x21"})
	put(schema.CountersTable, "oid:0x1000000000001", swss.FieldValues{in: "7"})
	put(schema.CountersTable, "oid:0x21", swss.FieldValues{out: "9"})

	want := func(line string, texts ...string) {
		t.Helper()
		got := strings.Join(strings.Fields(s.do(t, line)), " ")
		for _, text := range texts {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %s\nwant %q in it", line, got, text)
			}
		}
	}
	want("show dropcounters configuration -g edge",
		"bad BAD_DROPS edge PORT_INGRESS_DROPS Active ACL_ANY lost on the way LPM_MISS",
		"bad ACL_ANY: Failed: not here")
	want("show dropcounters counts", "BAD_DROPS", "Ethernet0 ? - - - - 7", "Ethernet4 ? - - - - -", "Device whole",
		"switch 9")
	want("show dropcounters counts -t SWITCH_EGRESS_DROPS", "Device whole", "switch 9")
	want("show dropcounters capabilities", "PORT_INGRESS_DROPS 16", "TTL ACL_ANY")
	if got := s.fails(t, "clear dropcounters other"); !strings.Contains(got, "other has no counters") {
		t.Errorf("a counter that there is not: %s", got)
	}
	s.do(t, "sonic-clear dropcounters")
	put(schema.CountersTable, "oid:0x1000000000001", swss.FieldValues{in: "10"})
	put(schema.CountersTable, "oid:0x1000000000002", swss.FieldValues{in: "2"})
	want("show dropcounters counts", "Ethernet0 ? - - - - 3", "Ethernet4 ? - - - - 2", "Device whole", "switch 0")
	put(schema.CountersDebugOIDMap, "", swss.FieldValues{"bad": "oid:0x57"})
	want("show dropcounters counts", "Ethernet0 ? - - - - 10")
}

// Since when is told once where it is the same, apart where it is not, and not at all where nobody knows.
func TestSinces(t *testing.T) {
	const early, late = "2026-01-01T00:00:00.25Z", "2026-01-01T00:00:01Z"
	for _, c := range []struct {
		a, b, counter string
		want          string
	}{
		{"", "", "", ""},
		{"soon", "", "", ""},
		{early, early, early, "Counted since 2026-01-01T00:00:00Z"},
		{early, "2026-01-01T00:00:00.75Z", early, "Counted since 2026-01-01T00:00:00Z"},
		{early, early, late, "Counted since 2026-01-01T00:00:00Z: all; Counted since 2026-01-01T00:00:01Z: ALL"},
		{late, early, late,
			"Counted since 2026-01-01T00:00:00Z: all at b; Counted since 2026-01-01T00:00:01Z: all at a, ALL"},
		{early, "", early, "Since when is not known: all at b; Counted since 2026-01-01T00:00:00Z: all at a, ALL"},
	} {
		var s sinces
		s.add("all", []string{"a", "b"}, map[string]string{"a": c.a, "b": c.b})
		s.add("ALL", []string{""}, map[string]string{"": c.counter})
		if got := strings.Join(s.lines(), "; "); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}
