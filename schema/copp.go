package schema

import (
	"slices"
	"strings"
)

// COPPGroup is a row of COPP_GROUP: what becomes of packets for the CPU that its
// traps catch. In COPP_TABLE of APPL_DB it also has the traps.
type COPPGroup struct {
	Name     string
	Action   string   // trap, copy, drop, forward, deny, log, transit
	Priority uint32   // 0..65536; of several traps that catch a packet, the one with the largest counts
	Queue    uint8    // to the CPU, 0..255
	Traps    []string // of COPPTraps, sorted
	Ignored  []string // fields that have no effect, sorted
}

// COPPTraps are the traps that SONiC and SAI both know, by SONiC's name.
func COPPTraps() []string {
	return []string{
		"arp_req", "arp_resp", "bfd", "bfdv6", "bgp", "bgpv6", "cdp", "dhcp", "dhcpv6", "eapol", "ip2me",
		"l3_mtu_error", "lacp", "lldp",
		"neigh_discovery", "neighbor_miss", "ospf", "ospfv6", "pim", "pvrst", "snmp", "ssh",
		"static_fdb_move", "stp", "ttl_error", "udld", "vrrp", "vrrpv6",
	}
}

// HostTrapGroups are the names of the rows of COPP_TABLE that are hostd's: traps that the switch needs as a host.
func HostTrapGroups() []string { return []string{"host-arp", "host-ip2me", "host-error"} }

func (g *COPPGroup) layout() layout {
	return layout{
		table: CfgCOPPGroup,
		key:   named(&g.Name),
		fields: []field{
			word("trap_action", "trap", []string{"trap", "copy", "drop", "forward", "deny", "log", "transit"},
				&g.Action, "What becomes of the packets."),
			number("trap_priority", 0, 1<<16, 0, &g.Priority,
				"Of several traps that catch a packet, the one with the largest counts."),
			number("queue", 0, 255, 0, &g.Queue, "The queue to the CPU."),
			trapIDs("In APPL_DB: the traps of the group.", &g.Traps),
			ignored(&g.Ignored,
				"meter_type", "mode", "color", "cir", "cbs", "pir", "pbs", "green_action", "yellow_action", "red_action",
				"genetlink_name", "genetlink_mcgrp_name"),
		},
	}
}

func trapIDs(words string, at *[]string) field {
	return own("trap_ids", "traps, separated by commas", words, func(r *reader) {
		ids := r.list("trap_ids")
		for _, id := range ids {
			if !slices.Contains(COPPTraps(), id) {
				r.badWord("trap_ids", id, "traps", COPPTraps())
			}
		}
		slices.Sort(ids)
		*at = ids
	}, func() string { return strings.Join(*at, ",") })
}

// ParseCOPPGroup reads COPP_GROUP and COPP_TABLE.
func ParseCOPPGroup(key string, f map[string]string) (COPPGroup, error) {
	return parse[COPPGroup](key, f)
}

// Fields formats the row.
func (g COPPGroup) Fields() map[string]string { return g.layout().row() }

// COPPTrap is a row of COPP_TRAP: traps, and the group that they belong to. They
// count while the feature of the row's name is enabled in FEATURE, or always.
type COPPTrap struct {
	Name   string
	Traps  []string // of COPPTraps, sorted; not empty
	Group  string   // name of a COPPGroup
	Always bool
}

func (t *COPPTrap) layout() layout {
	return layout{
		table: CfgCOPPTrap,
		key:   named(&t.Name),
		fields: []field{
			trapIDs("The traps, such as arp_req.", &t.Traps).
				must("").always(),
			ref("trap_group", CfgCOPPGroup, &t.Group, "The group that says what becomes of the packets.").
				must("the name of a row of " + CfgCOPPGroup),
			boolean("always_enabled", false, &t.Always,
				"Whether the traps count although the feature of the row's name is not enabled in FEATURE."),
		},
		check: func(r *reader) {
			if len(t.Traps) == 0 {
				r.bad("trap_ids", "", "traps such as arp_req,arp_resp")
			}
		},
	}
}

// ParseCOPPTrap reads COPP_TRAP.
func ParseCOPPTrap(key string, f map[string]string) (COPPTrap, error) { return parse[COPPTrap](key, f) }

// Fields formats the row.
func (t COPPTrap) Fields() map[string]string { return t.layout().row() }
