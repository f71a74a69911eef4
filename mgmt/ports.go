package mgmt

import (
	"strings"

	"tamtam/schema"
	"tamtam/swss"
)

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
		{Path: "/interfaces/interface/aggregation/members/member", Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgPortChannelMbr, Key: "{name}|{interface}", Only: "PortChannel", Entry: true,
			},
		}},
		{Path: "/vlans/vlan", Finish: finishVLAN, Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgVLAN, Key: "Vlan{vlan-id}", Entry: true,
			},
		}},
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

// wireLeaves are those of a port's live interface.
func wireLeaves() (list []Leaf) {
	for _, field := range []string{
		schema.WireInterface, schema.WireStatus, schema.WireReason, schema.WireMTU, schema.WireReceived, schema.WireSent,
		schema.WireCut, schema.WireSummed, schema.WireJoined, schema.WireLate,
	} {
		list = append(list, Leaf{"wire/state/" + field, readOnly(text(field))})
	}
	for _, why := range schema.WireLosses {
		list = append(list, Leaf{"wire/state/" + schema.WireLost + why, readOnly(text(schema.WireLost + why))})
	}
	return list
}

// finishVLAN writes the VLAN's number into its row, as SONiC does.
func finishVLAN(c *Change) error {
	if row := c.Fields(schema.CfgVLAN); row != nil && row["vlanid"] == "" {
		row["vlanid"] = c.Keys()[0]
	}
	return nil
}

func tagging() Codec {
	return words("tagging_mode", "", "TAGGED", schema.Tagged, "UNTAGGED", schema.Untagged)
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
