package mgmt

import (
	"reflect"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/yang/tamyang"
)

// lagGroup is what LACP knows of a PortChannel.
func lagGroup() Group {
	return Group{Path: interfacesPath, Rows: []Row{
		{DB: swss.ConfigDB, Table: schema.CfgPortChannel, Key: "{name}", Only: "PortChannel", Leaves: []Leaf{
			{"aggregation/config/interval", words("fast_rate", "", "FAST", "true", "SLOW", "false")},
			{"aggregation/config/fallback", text("fallback")},
		}},
		{DB: swss.ApplDB, Table: schema.AppLAG, Key: "{name}", Only: "PortChannel"},
		{DB: swss.StateDB, Table: schema.StateLACP, Key: "{name}", Only: "PortChannel",
			Of: schema.AppLAG + " " + schema.FieldIncarnation, Leaves: []Leaf{
				{"aggregation/state/interval", words("runner.fast_rate", "", "FAST", "true", "SLOW", "false")},
				{"aggregation/state/fallback", text("runner.fallback")},
				{"aggregation/state/system-id-mac", text("team_device.ifinfo.dev_addr")},
				{"aggregation/state/partner-id", text("partner")},
				{"aggregation/state/lag-links", unsaid(text("links"), "0")},
				{"aggregation/state/not-up-because", unsaid(text(schema.FieldReason), neverSaid)},
			}},
	}}
}

// neverSaid is why a member of which LACP has not said anything carries no traffic.
const neverSaid = "LACP has said nothing of it since it was configured: hostd, or hostifd, speaks LACP"

// unsaid says something else of what is there while its row is one of before, or missing.
func unsaid(c Codec, then string) Codec {
	return Codec{Get: func(r Record) []string {
		if r.Outdated {
			return one(then)
		}
		return c.Get(r)
	}}
}

// lagMemberGroup is a member of a PortChannel.
func lagMemberGroup() Group {
	const actor, partner = "runner.actor_lacpdu_info.", "runner.partner_lacpdu_info."
	return Group{Path: "/interfaces/interface/aggregation/members/member", Rows: []Row{
		{DB: swss.ConfigDB, Table: schema.CfgPortChannelMbr, Key: "{name}|{interface}", Only: "PortChannel", Entry: true},
		{DB: swss.ApplDB, Table: schema.AppLAGMember, Key: "{name}:{interface}", Only: "PortChannel", Leaves: []Leaf{
			{"state/oper-status", words(schema.FieldOperStatus, "",
				"UP", schema.OperUp, "COLLECTING", schema.MemberCollecting, "DOWN", schema.OperDown)},
		}},
		{DB: swss.StateDB, Table: schema.StateLACPMember, Key: "{name}|{interface}", Only: "PortChannel",
			Of: schema.AppLAGMember + " " + schema.FieldIncarnation, Leaves: []Leaf{
				{"state/mux", unsaid(words(schema.FieldMux, "",
					"DETACHED", "detached", "WAITING", "waiting", "ATTACHED", "attached",
					"COLLECTING", schema.MuxCollecting, "DISTRIBUTING", schema.MuxDistributing), "DETACHED")},
				{"state/not-distributing-because", unsaid(text(schema.FieldReason), neverSaid)},
				{"state/receive-state", words("runner.state", "",
					"DISABLED", "disabled", "EXPIRED", "expired", "DEFAULTED", "defaulted", "CURRENT", "current")},
				{"state/selected", unsaid(text("runner.selected"), "false")},
				{"state/oper-key", text(actor + "key")}, {"state/port-num", text(actor + "port")},
				{"state/partner-id", text(partner + "system")}, {"state/partner-key", text(partner + "key")},
				{"state/partner-port-num", text(partner + "port")},
			}},
		{
			DB: swss.CountersDB, Table: schema.CountersLACP, Key: "{name}:{interface}", Only: "PortChannel", Counter: true,
			Leaves: []Leaf{
				{"state/counters/lacp-in-pkts", text("lacpdu-received")},
				{"state/counters/lacp-out-pkts", text("lacpdu-sent")},
				{"state/counters/lacp-timeouts", text("expired")},
			},
		},
	}}
}

// portsModule is tamtam-interfaces in the databases.
func portsModule() Module {
	return Module{Name: "tamtam-interfaces", Groups: []Group{
		{Path: "/interfaces/interface", Rows: []Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{name}", Only: "Ethernet", Leaves: []Leaf{
				{"state/alias", text("alias")},
				{"state/lanes", text("lanes")},
				{"state/speed", text("speed")},
				{"state/index", text("index")},
			}},
			{DB: swss.StateDB, Table: schema.StateWire, Key: "{name}", Only: "Ethernet", Counter: true, Leaves: wireLeaves()},
		}},
		{
			Path: "/interfaces/interface/breakout-mode/groups/group",
			Keys: map[string]Codec{"index": constant("1")}, Finish: finishBreakout, Makes: breakoutMakes,
			Rows: []Row{
				{
					DB: swss.ConfigDB, Table: schema.CfgBreakout, Key: "{name}", Only: "Ethernet", Entry: true,
					Leaves: append(breakoutLeaves("config"), breakoutLeaves("state")...),
				},
			},
		},
		lagGroup(), lagMemberGroup(),
		{
			Path: "/vlans/vlan", Finish: finishVLAN, Owns: append(ownedByInterface("Vlan"), Owned{Path: staticFDBPath}),
			Rows: []Row{{DB: swss.ConfigDB, Table: schema.CfgVLAN, Key: "Vlan{vlan-id}", Entry: true}},
		},
		{Path: "/vlans/vlan/members/member", Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgVLANMember, Key: "Vlan{vlan-id}|{interface}", Entry: true,
				New:    map[string]string{"tagging_mode": schema.Tagged},
				Leaves: []Leaf{{"config/tagging-mode", tagging()}},
			},
			{
				DB: swss.ApplDB, Table: schema.AppVLANMember, Key: "Vlan{vlan-id}:{interface}",
				Leaves: []Leaf{{"state/tagging-mode", tagging()}},
			},
		}},
	}}
}

// wireLeaves are those of a port's live interface: fields of the same names. A count that is not known has no leaf.
func wireLeaves() (list []Leaf) {
	state := reflect.TypeFor[tamyang.OpenconfigInterfaces_Interfaces_Interface_Wire_State]()
	for i := range state.NumField() {
		field := state.Field(i).Tag.Get("path")
		codec := readOnly(text(field))
		if state.Field(i).Type == reflect.TypeFor[*uint64]() {
			codec = sum(field)
		}
		list = append(list, Leaf{"wire/state/" + field, codec})
	}
	return list
}

// finishVLAN writes the VLAN's number into its row, as SONiC does.
func finishVLAN(c Change) error {
	if row := c.Fields(schema.CfgVLAN); row != nil && row["vlanid"] == "" {
		row["vlanid"] = c.Keys()[0]
	}
	return nil
}

func tagging() Codec {
	return words("tagging_mode", "UNTAGGED", "TAGGED", schema.Tagged, "UNTAGGED", schema.Untagged)
}

func breakoutLeaves(at string) []Leaf {
	leaves := []Leaf{{at + "/num-breakouts", breakoutPart(0)}, {at + "/breakout-speed", breakoutPart(1)}}
	if at == "state" {
		for i := range leaves {
			leaves[i].Codec = readOnly(leaves[i].Codec)
		}
	}
	return leaves
}

// breakoutPart is one side of a mode "4x25G".
func breakoutPart(side int) Codec {
	const field = "brkout_mode"
	split := func(r Record) (n, speed string) {
		n, speed, _ = strings.Cut(r.Field(field), "x")
		speed, _, _ = strings.Cut(speed, "[") // other speeds that the cage can have
		return n, speed
	}
	return Codec{
		Get: func(r Record) []string {
			n, speed := split(r)
			if side == 0 {
				return one(n)
			}
			if speed == "" {
				return nil
			}
			return one("SPEED_" + speed + "B")
		},
		Put: func(r Record, v []string) error {
			n, speed := split(r)
			if side == 0 {
				n = first(v)
			} else {
				speed = strings.TrimSuffix(strings.TrimPrefix(first(v), "SPEED_"), "B")
			}
			r.Set(field, n+"x"+speed)
			if n+speed == "" {
				r.Set(field, "")
			}
			return nil
		},
	}
}
