package mgmt

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"tamtam/schema"
	"tamtam/swss"
	"tamtam/yang/tamyang"
)

// interfacesModule is openconfig-interfaces in the databases.
func interfacesModule() Module {
	return Module{Name: "openconfig-interfaces", Groups: []Group{
		{Path: "/interfaces/interface", Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgPort, Key: "{name}", Only: "Ethernet", Entry: true,
				Fixed: "ports are made and removed by the breakout-mode of their cage", Leaves: interfaceLeaves("config", "false"),
			},
			{
				DB: swss.ConfigDB, Table: schema.CfgPortChannel, Key: "{name}", Only: "PortChannel", Entry: true,
				New:    map[string]string{"admin_status": "up", "mtu": "9100"},
				Leaves: interfaceLeaves("config", "true"),
			},
			{
				DB: swss.ApplDB, Table: schema.AppPort, Key: "{name}", Only: "Ethernet",
				Leaves: append(interfaceLeaves("state", "false"), operLeaves()...),
			},
			{
				DB: swss.ApplDB, Table: schema.AppLAG, Key: "{name}", Only: "PortChannel",
				Leaves: append(interfaceLeaves("state", "true"), operLeaves()...),
			},
			{
				DB: swss.CountersDB, Table: schema.CountersTable, Map: schema.CountersPortNameMap, Key: "{name}", Only: "Ethernet",
				Counter: true,
				Leaves:  append(portCounters("in", "IN"), portCounters("out", "OUT")...),
			},
		}},
	}}
}

func interfaceLeaves(at, up string) []Leaf {
	return []Leaf{
		{at + "/type", interfaceType()},
		{at + "/mtu", text("mtu")},
		{at + "/description", text("description")},
		{at + "/enabled", words("admin_status", up, "true", "up", "false", "down")},
	}
}

func operLeaves() []Leaf {
	return []Leaf{
		{"state/admin-status", words("admin_status", "DOWN", "UP", "up", "DOWN", "down")},
		{"state/oper-status", words(schema.FieldOperStatus, "",
			"UP", schema.OperUp, "DOWN", schema.OperDown, "UNKNOWN", schema.OperUnknown)},
	}
}

// interfaceType follows from the name; writing the same value is allowed.
func interfaceType() Codec {
	of := func(r Record) string {
		if strings.HasPrefix(r.Keys[0], "PortChannel") {
			return "ieee8023adLag"
		}
		return "ethernetCsmacd"
	}
	return Codec{
		Get: func(r Record) []string { return one(of(r)) },
		Put: func(r Record, v []string) error {
			if len(v) > 0 && v[0] != of(r) {
				return fmt.Errorf("%s is of type %s", r.Keys[0], of(r))
			}
			return nil
		},
	}
}

func portCounters(way, sai string) []Leaf {
	stat := func(name string) string { return "SAI_PORT_STAT_IF_" + sai + "_" + name }
	at := "state/counters/" + way + "-"
	return []Leaf{
		{at + "octets", text(stat("OCTETS"))},
		{at + "pkts", sum(stat("UCAST_PKTS"), stat("MULTICAST_PKTS"), stat("BROADCAST_PKTS"))},
		{at + "unicast-pkts", text(stat("UCAST_PKTS"))},
		{at + "multicast-pkts", text(stat("MULTICAST_PKTS"))},
		{at + "broadcast-pkts", text(stat("BROADCAST_PKTS"))},
		{at + "discards", text(stat("DISCARDS"))},
		{at + "errors", text(stat("ERRORS"))},
	}
}

// lagGroup is what is said of a PortChannel beside its being an interface.
func lagGroup() Group {
	return Group{Path: "/interfaces/interface", Rows: []Row{
		{DB: swss.ApplDB, Table: schema.AppLAG, Key: "{name}", Only: "PortChannel", Leaves: []Leaf{
			{"aggregation/state/lag-type", words(schema.FieldProtocol, "STATIC", "LACP", schema.ProtocolLACP)},
			{"aggregation/state/min-links", Codec{Get: func(r Record) []string {
				return one(cmp.Or(r.Field("min_links"), "1"))
			}}},
		}},
		{DB: swss.StateDB, Table: schema.StateLACP, Key: "{name}", Only: "PortChannel", Leaves: []Leaf{
			{"aggregation/state/interval", words("runner.fast_rate", "", "FAST", "true", "SLOW", "false")},
			{"aggregation/state/fallback", text("runner.fallback")},
			{"aggregation/state/system-id-mac", text("team_device.ifinfo.dev_addr")},
			{"aggregation/state/partner-id", text("partner")},
			{"aggregation/state/lag-links", text("links")},
			{"aggregation/state/not-up-because", text(schema.FieldReason)},
		}},
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
		{DB: swss.StateDB, Table: schema.StateLACPMember, Key: "{name}|{interface}", Only: "PortChannel", Leaves: []Leaf{
			{"state/mux", words(schema.FieldMux, "", "DETACHED", "detached", "WAITING", "waiting", "ATTACHED", "attached",
				"COLLECTING", schema.MuxCollecting, "DISTRIBUTING", schema.MuxDistributing)},
			{"state/not-distributing-because", text(schema.FieldReason)},
			{"state/receive-state", words("runner.state", "",
				"DISABLED", "disabled", "EXPIRED", "expired", "DEFAULTED", "defaulted", "CURRENT", "current")},
			{"state/selected", text("runner.selected")},
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
		{Path: "/lldp/neighbors/neighbor", Rows: []Row{
			{
				DB: swss.ApplDB, Table: schema.AppLLDPEntry, Key: "{port}", Entry: true,
				Leaves: []Leaf{
					{"state/chassis-id", text("lldp_rem_chassis_id")}, {"state/port-id", text("lldp_rem_port_id")},
					{"state/port-description", text("lldp_rem_port_desc")}, {"state/system-name", text("lldp_rem_sys_name")},
					{"state/system-description", text("lldp_rem_sys_desc")},
					{"state/management-address", text("lldp_rem_man_addr")},
				},
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
func finishVLAN(c *Change) error {
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
