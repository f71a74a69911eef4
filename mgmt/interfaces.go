package mgmt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// interfaceKinds are the interfaces that there are, by what their names begin with.
var interfaceKinds = []struct {
	name, typ string
	index     int // of interface N in SNMP, less N: as SONiC's agent counts; -1: it has none
}{
	{"Ethernet", "ethernetCsmacd", 1},
	{"PortChannel", "ieee8023adLag", 1000},
	{"Vlan", "l3ipvlan", 2000},
	{"Loopback", "softwareLoopback", -1},
}

// interfacesModule is openconfig-interfaces in the databases. Which VLANs and loopbacks are interfaces is written in
// tamtam-routing.
func interfacesModule() Module {
	routed := func(table, kind, oper string) Row {
		return Row{
			DB: swss.ConfigDB, Table: table, Key: "{name}", Only: kind, Entry: true,
			Fixed: "VLAN interfaces and loopbacks are made and removed in /routing/interfaces", Elsewhere: routedPath,
			Leaves: append(namedLeaves(), withNumbers(
				Leaf{"state/admin-status", constant("UP")}, Leaf{"state/oper-status", constant(oper)})...),
		}
	}
	port := Row{
		DB: swss.ConfigDB, Table: schema.CfgPort, Key: "{name}", Only: "Ethernet", Entry: true,
		Fixed: "ports are made and removed by the breakout-mode of their cage", Leaves: interfaceLeaves("config", "false"),
	}
	channel := Row{
		DB: swss.ConfigDB, Table: schema.CfgPortChannel, Key: "{name}", Only: "PortChannel", Entry: true,
		New: map[string]string{"admin_status": "up", "mtu": "9100"}, Leaves: interfaceLeaves("config", "true"),
	}
	inForce := func(table, kind, up string) Row {
		return Row{DB: swss.ApplDB, Table: table, Key: "{name}", Only: kind,
			Leaves: append(interfaceLeaves("state", up), withNumbers(operLeaves("state")...)...)}
	}
	// What is not in APPL_DB yet, or again, is known to be configured, and no more.
	port.Leaves = append(append(port.Leaves, namedLeaves()...), withNumbers(notInForceLeaves("state", "DOWN")...)...)
	channel.Leaves = append(append(channel.Leaves, namedLeaves()...), withNumbers(notInForceLeaves("state", "UP")...)...)
	ports, channels := inForce(schema.AppPort, "Ethernet", "false"), inForce(schema.AppLAG, "PortChannel", "true")
	return Module{Name: "openconfig-interfaces", Groups: []Group{
		{Path: interfacesPath, Owns: ownedByInterface(""), Rows: []Row{
			ports, channels,
			{
				DB: swss.ApplDB, Table: schema.AppInterface, Key: "{name}", Only: "Loopback",
				Leaves: withNumbers(Leaf{"state/oper-status", constant("UP")}),
			},
			port, channel,
			routed(schema.CfgVLANInterface, "Vlan", "UNKNOWN"), routed(schema.CfgLoopbackInterface, "Loopback", "DOWN"),
			{
				DB: swss.CountersDB, Table: schema.CountersTable, Map: schema.CountersPortNameMap, Key: "{name}", Only: "Ethernet",
				Counter: true,
				Leaves: append(append(portCounters("in", "IN"), portCounters("out", "OUT")...),
					Leaf{"state/counters/counted-since", readOnly(text(schema.FieldCountedSince + schema.GroupPort))}),
			},
		}},
		subinterfaces(),
	}}
}

func interfaceLeaves(at, up string) []Leaf {
	return []Leaf{
		{at + "/type", interfaceType()},
		{at + "/mtu", orElse(text("mtu"), "9100")},
		{at + "/description", text("description")},
		{at + "/enabled", words("admin_status", up, "true", "up", "false", "down")},
	}
}

// namedLeaves are those that follow from the name.
func namedLeaves() []Leaf {
	logical := func(r Record) []string { return one(strconv.FormatBool(!strings.HasPrefix(r.Keys[0], "Ethernet"))) }
	return []Leaf{
		{"config/type", interfaceType()}, {"state/type", readOnly(interfaceType())},
		{"state/ifindex", Codec{Get: interfaceIndex}}, {"state/logical", Codec{Get: logical}},
		{"state/cpu", constant("false")}, {"state/management", constant("false")},
	}
}

func operLeaves(at string) []Leaf {
	return []Leaf{
		{at + "/admin-status", words("admin_status", "DOWN", "UP", "up", "DOWN", "down")},
		{at + "/oper-status", words(schema.FieldOperStatus, "UNKNOWN", "UP", schema.OperUp, "DOWN", schema.OperDown)},
		{at + "/last-change", text(schema.FieldLastChange)},
	}
}

// notInForceLeaves are those of a row of CONFIG_DB that no other has.
func notInForceLeaves(at, admin string) []Leaf {
	return []Leaf{
		{at + "/admin-status", words("admin_status", admin, "UP", "up", "DOWN", "down")},
		{at + "/oper-status", constant("UNKNOWN")},
	}
}

// withNumbers adds to the statuses among leaves the numbers that RFC 2863 has for their names.
func withNumbers(leaves ...Leaf) []Leaf {
	list := slices.Clone(leaves)
	for _, l := range leaves {
		if !strings.HasSuffix(l.Path, "-status") {
			continue
		}
		name := l.Codec
		list = append(list, Leaf{l.Path + "-number", Codec{Get: func(r Record) []string {
			return one(map[string]string{"UP": "1", "DOWN": "2", "UNKNOWN": "4"}[first(name.Get(r))])
		}}})
	}
	return list
}

// interfaceType follows from the name; writing the same value is allowed.
func interfaceType() Codec {
	of := func(r Record) string {
		for _, k := range interfaceKinds {
			if strings.HasPrefix(r.Keys[0], k.name) {
				return k.typ
			}
		}
		return ""
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

func interfaceIndex(r Record) []string {
	for _, k := range interfaceKinds {
		number, ok := strings.CutPrefix(r.Keys[0], k.name)
		if n, err := strconv.ParseUint(number, 10, 31); ok && err == nil && k.index >= 0 {
			return one(strconv.FormatUint(n+uint64(k.index), 10))
		}
	}
	return nil
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

// subinterfaces are the interfaces that route, but for those of VLANs.
func subinterfaces() Group {
	g := Group{
		Path: interfacesPath + "/subinterfaces/subinterface", View: inRouting, Through: subinterfaceThrough(),
		Keys: map[string]Codec{"index": constant("0")},
	}
	oper := func(table, kind string, leaves []Leaf) {
		g.Rows = append(g.Rows, Row{DB: swss.ApplDB, Table: table, Key: "{name}", Only: kind, Leaves: leaves})
	}
	oper(schema.AppPort, "Ethernet", operLeaves("state"))
	oper(schema.AppLAG, "PortChannel", operLeaves("state"))
	oper(schema.AppInterface, "Loopback", []Leaf{{"state/oper-status", constant("UP")}})
	for _, table := range schema.InterfaceTables {
		if table == schema.CfgVLANInterface {
			continue
		}
		name := Codec{Get: func(r Record) []string { return one(r.Keys[0]) }}
		oper := "UNKNOWN"
		if table == schema.CfgLoopbackInterface {
			oper = "DOWN"
		}
		g.Rows = append(g.Rows, Row{
			DB: swss.ConfigDB, Table: table, Key: "{name}", Only: routedKind[table], Entry: true, Leaves: []Leaf{
				{"state/name", name}, {"state/ifindex", Codec{Get: interfaceIndex}},
				{"state/admin-status", constant("UP")}, {"state/oper-status", constant(oper)},
			},
		})
	}
	return g
}

// speeds are OpenConfig's words for the rate of a port, by Mbit/s.
var speeds = []string{
	"SPEED_10MB", "10", "SPEED_100MB", "100", "SPEED_1GB", "1000", "SPEED_2500MB", "2500", "SPEED_5GB", "5000",
	"SPEED_10GB", "10000", "SPEED_25GB", "25000", "SPEED_40GB", "40000", "SPEED_50GB", "50000", "SPEED_100GB", "100000",
	"SPEED_200GB", "200000", "SPEED_400GB", "400000", "SPEED_800GB", "800000", "SPEED_1600GB", "1600000",
}

// ethernetModule is openconfig-if-ethernet in the databases.
func ethernetModule() Module {
	return Module{Name: "openconfig-if-ethernet", Groups: []Group{{Path: interfacesPath, Rows: []Row{
		{DB: swss.ConfigDB, Table: schema.CfgPort, Key: "{name}", Only: "Ethernet", Leaves: []Leaf{
			{"ethernet/config/port-speed", kept(words("speed", "", speeds...))},
			{"ethernet/config/auto-negotiate", kept(words("autoneg", "", "true", "on", "false", "off"))},
		}},
		{DB: swss.ApplDB, Table: schema.AppPort, Key: "{name}", Only: "Ethernet", Leaves: []Leaf{
			{"ethernet/state/port-speed", words("speed", "", speeds...)},
			{"ethernet/state/auto-negotiate", words("autoneg", "false", "true", "on", "false", "off")},
		}},
	}}}}
}

// kept is a leaf that belongs to how a port is made.
func kept(c Codec) Codec {
	c.Kept = true
	return c
}

// aggregateModule is openconfig-if-aggregate in the databases: members are written in tamtam-interfaces.
func aggregateModule() Module {
	static := words("static", "LACP", "STATIC", "true", "LACP", "false")
	channel := Codec{Get: func(r Record) []string { return parts(r) }}
	// The published model has members of STATIC channels here; of those with LACP the ports name their channel.
	members := Codec{Get: func(r Record) []string {
		if first(static.Get(Record{Fields: r.Own})) != "STATIC" {
			return nil
		}
		return parts(r)
	}}
	return Module{Name: "openconfig-if-aggregate", Groups: []Group{{Path: interfacesPath, Rows: []Row{
		{DB: swss.ConfigDB, Table: schema.CfgPortChannel, Key: "{name}", Only: "PortChannel", Leaves: []Leaf{
			{"aggregation/config/lag-type", static}, {"aggregation/config/min-links", text("min_links")},
		}},
		{DB: swss.ApplDB, Table: schema.AppLAG, Key: "{name}", Only: "PortChannel", Leaves: []Leaf{
			{"aggregation/state/lag-type", words(schema.FieldProtocol, "STATIC", "LACP", schema.ProtocolLACP)},
			{"aggregation/state/min-links", orElse(text("min_links"), "1")},
		}},
		{DB: swss.ConfigDB, Table: schema.CfgPortChannelMbr, Key: "{*}|{name}", Only: "Ethernet",
			Leaves: []Leaf{{"ethernet/config/aggregate-id", Codec{Get: channel.Get, Through: memberThrough()}}}},
		{DB: swss.ApplDB, Table: schema.AppLAGMember, Key: "{*}:{name}", Only: "Ethernet",
			Leaves: []Leaf{{"ethernet/state/aggregate-id", channel}}},
		{DB: swss.ApplDB, Table: schema.AppLAGMember, Key: "{name}:{*}", Only: "PortChannel",
			Leaves: []Leaf{{"aggregation/state/member", members}}},
	}}}}
}

// vlanModule is openconfig-vlan in the databases, read-only: members are written in tamtam-interfaces.
func vlanModule() Module {
	vlans := func(kind, at string) Row {
		return Row{DB: swss.ApplDB, Table: schema.AppVLANMember, Key: "Vlan{*}:{name}", Of: "tagging_mode", Only: kind,
			Leaves: switchedLeaves(at + "/switched-vlan/state/")}
	}
	id := Codec{Get: func(r Record) []string { return one(strings.TrimPrefix(r.Keys[0], "Vlan")) }}
	return Module{Name: "openconfig-vlan", Groups: []Group{{Path: interfacesPath, Rows: []Row{
		vlans("Ethernet", "ethernet"), vlans("PortChannel", "aggregation"),
		{DB: swss.ConfigDB, Table: schema.CfgVLANInterface, Key: "{name}", Only: "Vlan",
			Leaves: []Leaf{{"routed-vlan/state/vlan", id}}},
	}}}}
}

// parts are what {*} stands for in the rows of a record, in order.
func parts(r Record, values ...string) []string {
	var out []string
	for part, v := range r.Fields {
		if len(values) == 0 || slices.Contains(values, v) {
			out = append(out, part)
		}
	}
	slices.SortFunc(out, schema.CompareNames)
	return out
}

// switchedLeaves are the VLANs of an interface: those of frames with a tag, and that of frames without.
func switchedLeaves(at string) []Leaf {
	tagged := func(r Record) []string { return parts(r, schema.Tagged) }
	plain := func(r Record) []string { return parts(r, schema.Untagged) }
	only := func(trunk bool) Codec {
		return Codec{Get: func(r Record) []string {
			// Of several, OpenConfig has no place for all.
			if v := plain(r); len(v) == 1 && (len(tagged(r)) > 0) == trunk {
				return v
			}
			return nil
		}}
	}
	mode := func(r Record) []string {
		switch {
		case len(tagged(r)) > 0:
			return one("TRUNK")
		case len(plain(r)) > 0:
			return one("ACCESS")
		}
		return nil
	}
	return []Leaf{
		{at + "interface-mode", Codec{Get: mode}}, {at + "native-vlan", only(true)}, {at + "access-vlan", only(false)},
		{at + "trunk-vlans", Codec{Get: tagged}},
	}
}
