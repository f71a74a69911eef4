package cli

import (
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// The counters of queues, schedulers and mirror sessions as the databases have
// them; what is not active says why.
func TestShowQoS(t *testing.T) {
	s, r := newSwitch(t)
	row(t, r, swss.CountersDB, schema.CountersQueueNameMap, "", swss.FieldValues{"Ethernet0:1": "oid:0x15000000000001",
		"Ethernet4:0": "oid:0x15000000000002"})
	row(t, r, swss.CountersDB, schema.CountersTable, "oid:0x15000000000002",
		swss.FieldValues{"SAI_QUEUE_STAT_PACKETS": "0"})
	row(t, r, swss.CountersDB, schema.CountersTable, "oid:0x15000000000001", swss.FieldValues{
		"SAI_QUEUE_STAT_PACKETS": "120", "SAI_QUEUE_STAT_BYTES": "122400", "SAI_QUEUE_STAT_DROPPED_PACKETS": "7",
		"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": "103", "SAI_QUEUE_STAT_WATERMARK_BYTES": "61200",
	})
	row(t, r, swss.ConfigDB, schema.CfgScheduler, "s0", swss.FieldValues{"type": "DWRR", "weight": "3", "pir": "9"})
	row(t, r, swss.StateDB, schema.AppScheduler, "s0", swss.FieldValues{"status": "failed",
		"reason": "the switch does not shape", "by": "tammgrd"})
	row(t, r, swss.ApplDB, schema.AppCOPP, "queue4_group2", swss.FieldValues{
		"trap_ids": "arp_req,arp_resp", "trap_action": "copy", "queue": "4", "meter_type": "packets", "mode": "sr_tcm",
		"cir": "10", "cbs": "20", "red_action": "drop",
	})
	row(t, r, swss.ConfigDB, schema.CfgCOPPGroup, "queue4_group2", swss.FieldValues{"cir": "10", "cbs": "20"})
	row(t, r, swss.StateDB, schema.AppCOPP, "queue4_group2", swss.FieldValues{"status": "active", "reason": "",
		"by": "orchagent"})
	row(t, r, swss.ApplDB, schema.AppCOPP, "default", swss.FieldValues{"queue": "0", "meter_type": "bytes",
		"mode": "tr_tcm", "cir": "1", "cbs": "2", "pir": "3", "pbs": "4"})
	row(t, r, swss.ConfigDB, schema.CfgCOPPGroup, "bad", swss.FieldValues{"cir": "x"})
	row(t, r, swss.StateDB, schema.AppCOPP, "bad", swss.FieldValues{"status": "failed", "reason": "cir is x",
		"by": "tammgrd"})
	row(t, r, swss.CountersDB, schema.CountersPolicerNameMap, "",
		swss.FieldValues{"queue4_group2": "oid:0x12000000000001"})
	row(t, r, swss.CountersDB, schema.CountersTable, "oid:0x12000000000001", swss.FieldValues{
		"SAI_POLICER_STAT_GREEN_PACKETS": "30", "SAI_POLICER_STAT_YELLOW_PACKETS": "2", "SAI_POLICER_STAT_RED_PACKETS": "68",
	})
	row(t, r, swss.ConfigDB, schema.CfgMirrorSession, "far", swss.FieldValues{"src_ip": "10.0.0.1", "dst_ip": "10.9.0.5"})
	row(t, r, swss.StateDB, schema.AppMirrorSession, "far", swss.FieldValues{"status": "active", "reason": "",
		"by": "orchagent", "monitor_port": "Ethernet8", "next_hop_ip": "10.2.0.2"})
	for _, tt := range []struct {
		line string
		want []string // words of one line of the output, in order
		not  string
	}{
		{"show queue counters", []string{"Ethernet0", "1", "120", "122400", "7", "-", "103", "-", "61200"}, ""},
		{"show queue counters Eth2", []string{"Ethernet4", "0", "0", "-"}, "Ethernet0"},
		{"show qos scheduler", []string{"s0", "DWRR", "3", "failed", "the switch does not shape"}, ""},
		{"show copp", []string{"queue4_group2", "arp_req,arp_resp", "copy", "4", "10 packets/s, burst 20", "32", "68",
			"cbs=20 cir=10", "active"}, ""},
		{"show copp", []string{"default", "-", "-", "0", "1 to 3 bytes/s, burst 2 and 4", "-", "-", "by default", "-"}, ""},
		{"show copp", []string{"bad", "-", "-", "-", "none", "-", "-", "cir=x", "failed", "cir is x"}, ""},
		{"show mirror-session", []string{"far", "ERSPAN", "10.0.0.1", "10.9.0.5", "-", "Ethernet8", "active"}, ""},
	} {
		out := s.do(t, tt.line)
		found := false
		for _, l := range strings.Split(out, "\n") {
			found = found || strings.HasPrefix(strings.Join(strings.Fields(l), " "), strings.Join(tt.want, " "))
		}
		if !found || tt.not != "" && strings.Contains(out, tt.not) {
			t.Errorf("%s: want a line %v\n%s", tt.line, tt.want, out)
		}
	}
}
