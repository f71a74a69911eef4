package models

import (
	"reflect"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/yang/tamyang"
)

// lagGroup returns the LACP configuration and state of a PortChannel.
func lagGroup() tree.Group {
	return tree.Group{Path: interfacesPath, Rows: []tree.Row{
		{DB: swss.ConfigDB, Table: schema.CfgPortChannel, Key: "{name}", Only: "PortChannel", Leaves: []tree.Leaf{
			leaf("aggregation/config/interval", words("fast_rate", "", "FAST", "true", "SLOW", "false")),
			leaf("aggregation/config/fallback", text("fallback")),
		}},
		{DB: swss.ApplDB, Table: schema.AppLAG, Key: "{name}", Only: "PortChannel"},
		{DB: swss.StateDB, Table: schema.StateLACP, Key: "{name}", Only: "PortChannel",
			Of: schema.AppLAG + " " + schema.FieldIncarnation, Leaves: []tree.Leaf{
				leaf("aggregation/state/interval", words("runner.fast_rate", "", "FAST", "true", "SLOW", "false")),
				leaf("aggregation/state/fallback", text("runner.fallback")),
				leaf("aggregation/state/system-id-mac", text("team_device.ifinfo.dev_addr")),
				leaf("aggregation/state/partner-id", text("partner")),
				leaf("aggregation/state/lag-links", unsaid(text("links"), "0")),
				leaf("aggregation/state/not-up-because", unsaid(text(schema.FieldReason), neverSaid)),
			}},
	}}
}

// neverSaid is the reason why a member carries no traffic before LACP has reported on it.
const neverSaid = "LACP has not reported on it since it was configured: hostd, or hostifd, runs LACP"

// unsaid returns a codec whose value is then while LACP's row is missing, or belongs to an earlier object of that name.
func unsaid(c tree.Codec, then string) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		if r.Outdated {
			return tree.One(then)
		}
		return c.Get(r)
	}}
}

// lagMemberGroup returns the group of the members of a PortChannel.
func lagMemberGroup() tree.Group {
	const actor, partner = "runner.actor_lacpdu_info.", "runner.partner_lacpdu_info."
	const path = "/interfaces/interface/aggregation/members/member"
	return tree.Group{Path: path, Second: true, Unique: []string{"config/interface"}, Rows: []tree.Row{
		{DB: swss.ConfigDB, Table: schema.CfgPortChannelMbr, Key: "{name}|{interface}", Only: "PortChannel", Entry: true},
		{DB: swss.ApplDB, Table: schema.AppLAGMember, Key: "{name}:{interface}", Only: "PortChannel", Leaves: []tree.Leaf{
			leaf("state/oper-status", words(schema.FieldOperStatus, "",
				"UP", schema.OperUp, "COLLECTING", schema.MemberCollecting, "DOWN", schema.OperDown)),
		}},
		{DB: swss.StateDB, Table: schema.StateLACPMember, Key: "{name}|{interface}", Only: "PortChannel",
			Of: schema.AppLAGMember + " " + schema.FieldIncarnation, Leaves: []tree.Leaf{
				leaf("state/mux", unsaid(words(schema.FieldMux, "",
					"DETACHED", "detached", "WAITING", "waiting", "ATTACHED", "attached",
					"COLLECTING", schema.MuxCollecting, "DISTRIBUTING", schema.MuxDistributing), "DETACHED")),
				leaf("state/not-distributing-because", unsaid(text(schema.FieldReason), neverSaid)),
				leaf("state/receive-state", words("runner.state", "",
					"DISABLED", "disabled", "EXPIRED", "expired", "DEFAULTED", "defaulted", "CURRENT", "current")),
				leaf("state/selected", unsaid(text("runner.selected"), "false")),
				leaf("state/oper-key", text(actor+"key")), leaf("state/port-num", text(actor+"port")),
				leaf("state/partner-id", text(partner+"system")), leaf("state/partner-key", text(partner+"key")),
				leaf("state/partner-port-num", text(partner+"port")),
			}},
		{
			DB: swss.CountersDB, Table: schema.CountersLACP, Key: "{name}:{interface}", Only: "PortChannel", Counter: true,
			Leaves: []tree.Leaf{
				leaf("state/counters/lacp-in-pkts", text("lacpdu-received")),
				leaf("state/counters/lacp-out-pkts", text("lacpdu-sent")),
				leaf("state/counters/lacp-timeouts", text("expired")),
			},
		},
	}}
}

// portsModule returns the mapping of tamtam-interfaces.
func portsModule() tree.Module {
	return tree.Module{Name: "tamtam-interfaces", Groups: []tree.Group{
		{Path: "/interfaces/interface", Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{name}", Only: "Ethernet", Leaves: []tree.Leaf{
				leaf("state/alias", text("alias")),
				leaf("state/lanes", text("lanes")),
				leaf("state/speed", text("speed")),
				leaf("state/index", text("index")),
			}},
			{DB: swss.StateDB, Table: schema.StateWire, Key: "{name}", Only: "Ethernet", Counter: true, Leaves: wireLeaves()},
		}},
		{
			Path: "/interfaces/interface/breakout-mode/groups/group",
			Keys: map[string]tree.Codec{"index": constant("1")}, Finish: finishBreakout, Makes: breakoutMakes,
			Rows: []tree.Row{
				{
					DB: swss.ConfigDB, Table: schema.CfgBreakout, Key: "{name}", Only: "Ethernet", Entry: true,
					Leaves: append(breakoutLeaves("config"), breakoutLeaves("state")...),
				},
			},
		},
		lagGroup(), lagMemberGroup(),
		{
			Path: "/vlans/vlan", Finish: finishVLAN, Owns: append(ownedByInterface("Vlan"), tree.Owned{Path: staticFDBPath}),
			Rows: []tree.Row{{DB: swss.ConfigDB, Table: schema.CfgVLAN, Key: "Vlan{vlan-id}", Entry: true}},
		},
		{Path: "/vlans/vlan/members/member", Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgVLANMember, Key: "Vlan{vlan-id}|{interface}", Entry: true,
				New:    map[string]string{"tagging_mode": schema.Tagged},
				Leaves: []tree.Leaf{leaf("config/tagging-mode", tagging())},
			},
			{
				DB: swss.ApplDB, Table: schema.AppVLANMember, Key: "Vlan{vlan-id}:{interface}",
				Leaves: []tree.Leaf{leaf("state/tagging-mode", tagging())},
			},
		}},
	}}
}

// wireLeaves returns the leaves of a port's live interface, from fields of the same names. An unknown count has no
// leaf.
func wireLeaves() (list []tree.Leaf) {
	state := reflect.TypeFor[tamyang.OpenconfigInterfaces_Interfaces_Interface_Wire_State]()
	for i := range state.NumField() {
		field := state.Field(i).Tag.Get("path")
		codec := readOnly(text(field))
		if state.Field(i).Type == reflect.TypeFor[*uint64]() {
			codec = readOnly(number(field, "%d"))
		}
		list = append(list, leaf("wire/state/"+field, codec))
	}
	return list
}

// finishVLAN writes the VLAN's number into its row, as SONiC does.
func finishVLAN(c tree.Change) error {
	if row := c.Fields(schema.CfgVLAN); row != nil && row["vlanid"] == "" {
		row["vlanid"] = c.Keys()[0]
	}
	return nil
}

func tagging() tree.Codec {
	return words("tagging_mode", "UNTAGGED", "TAGGED", schema.Tagged, "UNTAGGED", schema.Untagged)
}

func breakoutLeaves(at string) []tree.Leaf {
	leaves := []tree.Leaf{leaf(at+"/num-breakouts", breakoutPart(0)), leaf(at+"/breakout-speed", breakoutPart(1))}
	if at == "state" {
		for i := range leaves {
			leaves[i].Codec = readOnly(leaves[i].Codec)
		}
	}
	return leaves
}

// breakoutPart returns the codec of one side of a mode "4x25G".
func breakoutPart(side int) tree.Codec {
	const field = "brkout_mode"
	split := func(r tree.Record) (n, speed string) {
		n, speed, _ = strings.Cut(r.Field(field), "x")
		speed, _, _ = strings.Cut(speed, "[") // cut the other speeds that the cage can have
		return n, speed
	}
	return tree.Codec{
		Get: func(r tree.Record) []string {
			n, speed := split(r)
			if side == 0 {
				return tree.One(n)
			}
			if speed == "" {
				return nil
			}
			return tree.One("SPEED_" + speed + "B")
		},
		Put: func(r tree.Record, v []string) error {
			n, speed := split(r)
			if side == 0 {
				n = tree.First(v)
			} else {
				speed = strings.TrimSuffix(strings.TrimPrefix(tree.First(v), "SPEED_"), "B")
			}
			r.Set(field, n+"x"+speed)
			if n+speed == "" {
				r.Set(field, "")
			}
			return nil
		},
	}
}
