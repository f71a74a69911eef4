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

// ParseCOPPGroup reads COPP_GROUP and COPP_TABLE. Fields of policers have no effect, as the
// switch has none; Ignored names them.
func ParseCOPPGroup(key string, fields map[string]string) (COPPGroup, error) {
	r := newReader(CfgCOPPGroup, key, fields)
	r.named(key)
	g := COPPGroup{
		Name:     key,
		Action:   r.word("trap_action", "trap", "trap", "copy", "drop", "forward", "deny", "log", "transit"),
		Priority: uint32(r.number("trap_priority", 0, 1<<16, 0)),
		Queue:    uint8(r.number("queue", 0, 255, 0)),
		Traps:    r.trapIDs(),
		Ignored: r.ignore("meter_type", "mode", "color", "cir", "cbs", "pir", "pbs",
			"green_action", "yellow_action", "red_action",
			"genetlink_name", "genetlink_mcgrp_name"),
	}
	r.unknown()
	return g, r.err()
}

func (r *reader) trapIDs() []string {
	ids := r.list("trap_ids")
	for _, id := range ids {
		if !slices.Contains(COPPTraps(), id) {
			r.badWord("trap_ids", id, "traps", COPPTraps())
		}
	}
	slices.Sort(ids)
	return ids
}

// Fields formats the row.
func (g COPPGroup) Fields() map[string]string {
	f := map[string]string{"trap_action": g.Action, "trap_priority": utoa(g.Priority), "queue": utoa(g.Queue)}
	put(f, "trap_ids", strings.Join(g.Traps, ","))
	put(f, FieldIgnored, strings.Join(g.Ignored, ","))
	return f
}

// COPPTrap is a row of COPP_TRAP: traps, and the group that they belong to. They
// count while the feature of the row's name is enabled in FEATURE, or always.
type COPPTrap struct {
	Name   string
	Traps  []string // of COPPTraps, sorted; not empty
	Group  string   // name of a COPPGroup
	Always bool
}

// ParseCOPPTrap reads COPP_TRAP.
func ParseCOPPTrap(key string, fields map[string]string) (COPPTrap, error) {
	r := newReader(CfgCOPPTrap, key, fields)
	r.named(key)
	t := COPPTrap{Name: key, Traps: r.trapIDs(), Group: r.ref("trap_group", CfgCOPPGroup)}
	t.Always = r.flag("always_enabled", false, "true", "false")
	if len(t.Traps) == 0 {
		r.bad("trap_ids", "", "traps such as arp_req,arp_resp")
	}
	if t.Group == "" {
		r.bad("trap_group", "", "the name of a row of "+CfgCOPPGroup)
	}
	r.unknown()
	return t, r.err()
}

// Fields formats the row.
func (t COPPTrap) Fields() map[string]string {
	return map[string]string{
		"trap_ids": strings.Join(t.Traps, ","), "trap_group": t.Group, "always_enabled": boolWord(t.Always),
	}
}
