package qos

import (
	"maps"

	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// coppDefaults returns the rows of COPP_GROUP and COPP_TRAP that SONiC ships in copp_cfg.json. It omits the rows for
// NAT and IGMP, whose traps this switch lacks. A row of CONFIG_DB adds fields to the default row of the same name, and
// overrides its fields. A row without fields disables the default.
func coppDefaults() (groups, traps forward.Rows) {
	group := func(action, priority, queue, rate string) swss.FieldValues {
		return swss.FieldValues{
			"trap_action": action, "trap_priority": priority, "queue": queue, "meter_type": schema.MeterPackets,
			"mode": schema.ModeSRTCM, "cir": rate, "cbs": rate, "red_action": "drop",
		}
	}
	groups = forward.Rows{
		schema.COPPDefault: group("trap", "0", "0", "600"),
		"queue4_group1":    group("trap", "4", "4", "6000"),
		"queue4_group2":    group("copy", "4", "4", "600"),
		"queue4_group3":    group("trap", "4", "4", "100"),
		"queue1_group1":    group("trap", "1", "1", "6000"),
		"queue1_group2":    group("trap", "1", "1", "600"),
		"queue1_group3":    group("trap", "1", "1", "200"),
		"queue2_group1":    group("trap", "1", "2", "1000"),
	}
	trap := func(group, ids, always string) swss.FieldValues {
		return swss.FieldValues{"trap_group": group, "trap_ids": ids, "always_enabled": always}
	}
	traps = forward.Rows{
		"bgp":           trap("queue4_group1", "bgp,bgpv6", "false"),
		"lacp":          trap("queue4_group1", "lacp", "true"),
		"arp":           trap("queue4_group2", "arp_req,arp_resp,neigh_discovery", "true"),
		"lldp":          trap("queue4_group3", "lldp", "false"),
		"dhcp_relay":    trap("queue4_group3", "dhcp,dhcpv6", "false"),
		"udld":          trap("queue4_group3", "udld", "true"),
		"ip2me":         trap("queue1_group1", "ip2me", "true"),
		"macsec":        trap("queue4_group1", "eapol", "false"),
		"sflow":         trap("queue2_group1", "sample_packet", "false"),
		"neighbor_miss": trap("queue1_group3", "neighbor_miss", "true"),
	}
	return groups, traps
}

// over returns a row merged over the default row of its name. off is true if the row disables the default. given is
// empty for a row whose only field is NULL.
func over(def, given swss.FieldValues) (row swss.FieldValues, off bool) {
	if def == nil || given == nil {
		return given, false
	}
	if len(given) == 0 {
		return nil, true
	}
	row = maps.Clone(def)
	maps.Copy(row, given)
	return row, false
}
