package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// What SONiC's words of sFlow configure is in CONFIG_DB as SONiC has it, and the shell's own words do the same.
func TestSFlowCommands(t *testing.T) {
	s, r := newSwitch(t)
	global, c, port := "SFLOW|global", "SFLOW_COLLECTOR|c", "SFLOW_SESSION|Ethernet0"
	for _, tt := range []struct {
		line, key string
		want      map[string]string
	}{
		{"config sflow enable", global, map[string]string{"admin_state": "up"}},
		{"config sflow polling-interval 30", global, map[string]string{"admin_state": "up", "polling_interval": "30"}},
		{"config sflow agent-id add Loopback0", global,
			map[string]string{"admin_state": "up", "polling_interval": "30", "agent_id": "Loopback0"}},
		{"config sflow agent-id del", global, map[string]string{"admin_state": "up", "polling_interval": "30"}},
		{"configure\nno sflow polling-interval\nend", global, map[string]string{"admin_state": "up"}},
		{"config sflow sample-direction both", global, map[string]string{"admin_state": "up", "sample_direction": "both"}},
		{"config sflow drop-monitor-limit 100", global,
			map[string]string{"admin_state": "up", "sample_direction": "both", "drop_monitor_limit": "100"}},
		{"config sflow disable", global,
			map[string]string{"admin_state": "down", "sample_direction": "both", "drop_monitor_limit": "100"}},
		{"config sflow collector add c 192.0.2.1", c, map[string]string{"collector_ip": "192.0.2.1"}},
		{"config sflow collector add c --port 7000 2001:db8::1 --vrf=mgmt", c,
			map[string]string{"collector_ip": "2001:db8::1", "collector_port": "7000", "collector_vrf": "mgmt"}},
		{"config sflow collector del c", c, map[string]string{}},
		{"config sflow interface sample-rate Ethernet0 1000", port, map[string]string{"sample_rate": "1000"}},
		{"config sflow interface disable Ethernet0", port, map[string]string{"sample_rate": "1000", "admin_state": "down"}},
		{"config sflow interface sample-rate Ethernet0 default", port, map[string]string{"admin_state": "down"}},
		{"config sflow interface sample-direction Ethernet0 tx", port,
			map[string]string{"admin_state": "down", "sample_direction": "tx"}},
		{"configure\nno sflow interface Ethernet0\nend", port, map[string]string{}},
		{"config sflow interface enable all", "SFLOW_SESSION|all", map[string]string{"admin_state": "up"}},
	} {
		s.do(t, strings.Split(tt.line, "\n")...)
		if diff := cmp.Diff(tt.want, r.DB(swss.ConfigDB).Client().HGetAll(t.Context(), tt.key).Val()); diff != "" {
			t.Errorf("behind %q %s is (-want +got):\n%s", tt.line, tt.key, diff)
		}
	}
	for line, want := range map[string]string{
		"config sflow polling-interval 4":                   "polling",
		"config sflow collector add c":                      "1 words: want config sflow collector add <name> <ip>",
		"config sflow collector add c 192.0.2.1 --tos 3":    "--tos: want config sflow collector add",
		"config sflow collector add c 192.0.2.1 --port":     "--port has no value",
		"config sflow collector add c 224.0.0.1":            "224.0.0.1",
		"config sflow interface sample-rate Ethernet0 255":  "256 to 8388608",
		"config sflow interface sample-rate all 1000":       "no rate for all ports",
		"config sflow interface enable Vlan10":              "EthernetN or all",
		"config sflow interface sample-direction all sides": "rx, tx, both",
	} {
		if got := s.fails(t, line); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
		s.do(t, "end")
	}
}

// What sFlow is, what is sent, and why not; what is not known is a dash.
func TestShowSFlow(t *testing.T) {
	s, r := newSwitch(t)
	out := s.do(t, "show sflow", "show sflow interface")
	for table, rows := range map[string]map[string]swss.FieldValues{
		schema.CfgSFlow: {"global": {"admin_state": "up", "drop_monitor_limit": "100"}},
		schema.CfgSFlowCollector: {"a": {"collector_ip": "192.0.2.1"},
			"b": {"collector_ip": "2001:db8::1", "collector_port": "7000", "collector_vrf": "mgmt"}},
		schema.CfgSFlowSession: {"all": {"sample_direction": "both"}, "Ethernet99": {"sample_rate": "256"}},
		schema.CfgACLRule: {"IN|web": {"sample_ingress_action": "256"}, "IN|wrong": {"SAMPLE_INGRESS_ACTION": "255"},
			"OUT|10": {"SAMPLE_EGRESS_ACTION": "1000"}, "OUT|9": {"SAMPLE_EGRESS_ACTION": "300"},
			"OUT|other": {"PACKET_ACTION": "DROP"}},
	} {
		for key, fields := range rows {
			row(t, r, swss.ConfigDB, table, key, fields)
		}
	}
	row(t, r, swss.ApplDB, schema.AppSFlow, "global", swss.FieldValues{"admin_state": "up", "drop_monitor_limit": "100"})
	row(t, r, swss.ApplDB, schema.AppSFlowCollector, "a", swss.FieldValues{"collector_ip": "192.0.2.1"})
	row(t, r, swss.ApplDB, schema.AppSFlowSession, "Ethernet0",
		swss.FieldValues{"admin_state": "up", "sample_rate": "100000", "sample_direction": "both"})
	row(t, r, swss.ApplDB, schema.AppACLRule, "IN:web", swss.FieldValues{"SAMPLE_INGRESS_ACTION": "256"})
	row(t, r, swss.ApplDB, schema.AppACLRule, "OUT:9", swss.FieldValues{"SAMPLE_EGRESS_ACTION": "300"})
	row(t, r, swss.ApplDB, schema.AppACLRule, "OUT:other", swss.FieldValues{"PACKET_ACTION": "DROP"})
	for key, told := range map[string][2]string{
		"ACL_RULE_TABLE|IN|web":    {"Active", ""},
		"ACL_RULE_TABLE|IN|wrong":  {"Inactive", `SAMPLE_INGRESS_ACTION "255": want a number in 256..8388608`},
		"ACL_RULE_TABLE|OUT|other": {"Active", ""},
		"SFLOW_TABLE|global":       {"active", ""}, "SFLOW_COLLECTOR_TABLE|a": {"active", ""},
		"SFLOW_COLLECTOR_TABLE|b": {"pending", "the last datagram was not taken: connection refused"},
		"SFLOW_SESSION_TABLE|all": {"active", ""}, "SFLOW_SESSION_TABLE|Ethernet0": {"active", ""},
		"SFLOW_SESSION_TABLE|Ethernet99": {"pending", `port "Ethernet99" does not exist`},
	} {
		table, name, _ := strings.Cut(key, "|")
		row(t, r, swss.StateDB, table, name, swss.FieldValues{"status": told[0], "reason": told[1], "by": "tammgrd"})
	}
	row(t, r, swss.CountersDB, schema.CountersSFlow, schema.SFlowAgent, swss.FieldValues{"agent-address": "10.0.0.9",
		"datagrams": "7", "flow-samples": "20", "counter-samples": "6", "discards": "5", "discards-suppressed": "0",
		"drop-queue-full": "unknown"})
	row(t, r, swss.CountersDB, schema.CountersSFlowCollector, "a",
		swss.FieldValues{"datagrams": "7", "bytes": "900", "errors": "0", "last-error": ""})
	row(t, r, swss.CountersDB, schema.CountersSFlowRule, "IN|web",
		swss.FieldValues{"source": "3:74928", "flow-samples": "12", "sample-pool": "3100", "drops": "0"})
	row(t, r, swss.CountersDB, schema.CountersSFlowRule, "OUT|9", swss.FieldValues{"source": "3:65536"})
	golden(t, "sflow", out+s.do(t, "show sflow", "show sflow interface", "show running-configuration"))
}
