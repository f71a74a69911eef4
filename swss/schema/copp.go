package schema

import (
	"maps"
	"slices"
	"strings"
)

// COPPDefault is the group of all packets for the CPU that no trap of another group catches. The switch creates it.
const COPPDefault = "default"

// COPPGroup is a row of COPP_GROUP: the treatment of packets for the CPU that its traps catch. In COPP_TABLE of
// APPL_DB it also contains the traps.
type COPPGroup struct {
	Name     string
	Action   string   // trap, copy, drop, forward, deny, log, transit
	Priority uint32   // 0..65536; if several traps catch a packet, the largest wins
	Queue    uint8    // a queue to the CPU, 0..255
	Traps    []string // elements of COPPTraps, sorted
	COPPPolicer
}

// COPPPolicer limits the packets that a group passes to the CPU. If Meter is "", there is no policer, and the other
// fields are empty.
type COPPPolicer struct {
	Meter string // packets, bytes (of frames, with FCS), or ""
	Mode  string // sr_tcm (RFC 2697), tr_tcm (RFC 2698) or storm
	Color string // aware or blind
	// Rates are per second; nil if not given. With tr_tcm PIR and PBS are required. Otherwise PIR is nil; PBS is
	// optional with sr_tcm, and nil with storm.
	CIR, CBS, PIR, PBS *uint64
	// The action for packets of each colour; "" means that they pass.
	Green, Yellow, Red string
}

// The words of a policer.
const (
	MeterPackets = "packets"
	MeterBytes   = "bytes"
	ModeSRTCM    = "sr_tcm"
	ModeTRTCM    = "tr_tcm"
	ModeStorm    = "storm"
	ColorAware   = "aware"
	ColorBlind   = "blind"
)

// Policed reports whether the group has a policer.
func (p *COPPPolicer) Policed() bool { return p.Meter != "" }

// COPPTraps returns the traps that both SONiC and SAI define, by SONiC's name.
func COPPTraps() []string {
	return []string{
		"arp_req", "arp_resp", "bfd", "bfd_micro", "bfdv6", "bfdv6_micro", "bgp", "bgpv6", "cdp", "dhcp", "dhcpv6", "eapol",
		"ip2me", "isis", "l3_mtu_error", "lacp", "ldp", "lldp",
		"neigh_discovery", "neighbor_miss", "ospf", "ospfv6", "pim", "pvrst", "sample_packet", "snmp", "ssh",
		"static_fdb_move", "stp", "ttl_error", "udld", "vrrp", "vrrpv6",
	}
}

// HostTrapGroups returns the names of hostd's rows of COPP_TABLE: traps that the switch needs as a host.
func HostTrapGroups() []string { return []string{"host-arp", "host-ip2me", "host-error"} }

func (g *COPPGroup) layout() layout {
	return layout{
		table: CfgCOPPGroup,
		key:   named(&g.Name),
		fields: []field{
			word("trap_action", "trap", []string{"trap", "copy", "drop", "forward", "deny", "log", "transit"},
				&g.Action, "The action on the packets."),
			number("trap_priority", 0, 1<<16, 0, &g.Priority,
				"Of several traps that catch a packet, the one with the largest counts."),
			number("queue", 0, 255, 0, &g.Queue, "The queue to the CPU."),
			trapIDs("In APPL_DB: the traps of the group.", &g.Traps),
			word("meter_type", "", []string{MeterPackets, MeterBytes}, &g.Meter,
				"What the policer counts; bytes are those of frames, with FCS."),
			word("mode", "", []string{ModeSRTCM, ModeTRTCM, ModeStorm}, &g.Mode,
				"How the policer finds colours: by RFC 2697, by RFC 2698, or green within cir and cbs, else red."),
			word("color", "", []string{ColorAware, ColorBlind}, &g.Color,
				"Whether the policer minds the colour that a packet has already."),
			known("cir", &g.CIR, "Packets or bytes per second that are green."),
			known("cbs", &g.CBS, "How many of them may come at once."),
			known("pir", &g.PIR, "With tr_tcm: packets or bytes per second that are not red."),
			known("pbs", &g.PBS, "How many of them may come at once; with sr_tcm the excess burst, which is yellow."),
			coppAction("green", &g.Green), coppAction("yellow", &g.Yellow), coppAction("red", &g.Red),
			ignored("genetlink_name", "genetlink_mcgrp_name"),
		},
		check: func(r *reader) { g.COPPPolicer.check(r) },
	}
}

func coppAction(colour string, at *string) field {
	return word(colour+"_action", "",
		[]string{"drop", "forward", "copy", "copy_cancel", "trap", "log", "deny", "transit"}, at,
		"The action on "+colour+" packets; without it, they pass.")
}

// policerFields are the fields of a policer, in the order of SONiC.
var policerFields = []string{
	"meter_type", "mode", "color", "cir", "cbs", "pir", "pbs", "green_action", "yellow_action", "red_action",
}

// check requires a complete policer, or none. Fields without a meaning in its mode have no effect.
func (p *COPPPolicer) check(r *reader) {
	i := slices.IndexFunc(policerFields, func(f string) bool { return r.fields[f] != "" })
	if i < 0 {
		return
	}
	with := " with " + policerFields[i]
	r.needs("meter_type", MeterPackets+" or "+MeterBytes+with)
	r.needs("mode", ModeSRTCM+", "+ModeTRTCM+" or "+ModeStorm+with)
	r.needs("cir", "a rate"+with)
	r.needs("cbs", "a burst"+with)
	ignore := func(field string, at **uint64) {
		if *at != nil {
			*at = nil
			r.idle = append(r.idle, field)
		}
	}
	switch p.Mode {
	case ModeTRTCM:
		r.needs("pir", "a rate with mode "+ModeTRTCM)
		r.needs("pbs", "a burst with mode "+ModeTRTCM)
		if p.PIR != nil && p.CIR != nil && *p.PIR < *p.CIR {
			r.bad("pir", utoa(*p.PIR), "at least cir, "+utoa(*p.CIR)+", as RFC 2698 has it")
		}
	case ModeStorm:
		ignore("pbs", &p.PBS)
		ignore("pir", &p.PIR)
	default:
		ignore("pir", &p.PIR)
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

// WithKnownTraps returns the fields of a row of COPP_TRAP or COPP_TABLE without the traps that are not in [COPPTraps].
// It returns false if there are none of these, or no others.
func WithKnownTraps(fields map[string]string) (known map[string]string, ok bool) {
	all := splitList(fields["trap_ids"])
	some := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return !slices.Contains(COPPTraps(), id) })
	if len(some) == 0 || len(some) == len(all) {
		return nil, false
	}
	known = maps.Clone(fields)
	known["trap_ids"] = strings.Join(some, ",")
	return known, true
}

// COPPTrap is a row of COPP_TRAP: traps and their group. They are active while the feature of the row's name is
// enabled in FEATURE, or always.
type COPPTrap struct {
	Name   string
	Traps  []string // elements of COPPTraps, sorted; not empty
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
			ref("trap_group", CfgCOPPGroup, &t.Group, "The group whose actions apply to the packets.").
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
