package models

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// interfaceKinds lists the kinds of interfaces by the prefix of their names.
var interfaceKinds = []struct {
	name, typ string
	index     int // the SNMP index of interface N minus N, as in SONiC's agent; -1 means no index
}{
	{"Ethernet", "ethernetCsmacd", 1},
	{"PortChannel", "ieee8023adLag", 1000},
	{"Vlan", "l3ipvlan", 2000},
	{"Loopback", "softwareLoopback", -1},
}

// interfacesModule returns the mapping of openconfig-interfaces. The rows of VLAN interfaces and loopbacks belong to
// tamtam-routing.
func interfacesModule() tree.Module {
	routed := func(table, kind, oper string) tree.Row {
		return tree.Row{
			DB: swss.ConfigDB, Table: table, Key: "{name}", Only: kind, Entry: true,
			Elsewhere: routedPath,
			Leaves: append(append(namedLeaves(), alwaysEnabled(kind)...), withNumbers(
				leaf("state/admin-status", constant("UP")), leaf("state/oper-status", constant(oper)))...),
		}
	}
	port := tree.Row{
		DB: swss.ConfigDB, Table: schema.CfgPort, Key: "{name}", Only: "Ethernet", Entry: true,
		Fixed: "ports are made and removed by the breakout-mode of their cage", Leaves: interfaceLeaves("config", "false"),
	}
	channel := tree.Row{
		DB: swss.ConfigDB, Table: schema.CfgPortChannel, Key: "{name}", Only: "PortChannel", Entry: true,
		New: map[string]string{"admin_status": "up", "mtu": "9100"}, Leaves: interfaceLeaves("config", "true"),
	}
	inForce := func(table, kind, up string) tree.Row {
		return tree.Row{DB: swss.ApplDB, Table: table, Key: "{name}", Only: kind,
			Leaves: append(interfaceLeaves("state", up), withNumbers(operLeaves("state")...)...)}
	}
	// If there is no row in APPL_DB, only the configuration is known.
	port.Leaves = append(append(port.Leaves, namedLeaves()...), withNumbers(notInForceLeaves("state", "DOWN")...)...)
	channel.Leaves = append(append(channel.Leaves, namedLeaves()...), withNumbers(notInForceLeaves("state", "UP")...)...)
	ports, channels := inForce(schema.AppPort, "Ethernet", "false"), inForce(schema.AppLAG, "PortChannel", "true")
	for _, name := range []string{"carrier-transitions", "interface-transitions", "link-transitions"} {
		ports.Leaves = append(ports.Leaves, leaf("state/counters/"+name, readOnly(number("flap_count", "%d"))))
	}
	counted := objectRow(schema.CountersPortNameMap, "{name}")
	counted.Only = "Ethernet"
	for _, s := range schema.PortStatistics() {
		counted.Leaves = append(counted.Leaves, leaf("state/counters/"+s.Leaf, statistic(s)))
	}
	counted.Leaves = append(counted.Leaves,
		leaf("state/counters/in-unknown-protos", readOnly(text("SAI_PORT_STAT_IF_IN_UNKNOWN_PROTOS"))),
		leaf("state/counters/in-fcs-errors", readOnly(text(crcErrors))), lastClear(),
		leaf("state/counters/counted-since", readOnly(text(schema.FieldCountedSince+schema.GroupPort))))
	return tree.Module{Name: "openconfig-interfaces", Groups: []tree.Group{
		{Path: interfacesPath, Owns: ownedByInterface(""), Rows: []tree.Row{
			ports, channels,
			{
				DB: swss.ApplDB, Table: schema.AppInterface, Key: "{name}",
				Leaves: withNumbers(leaf("state/oper-status", of("Loopback", constant("UP")))),
			},
			port, channel,
			{DB: swss.ApplDB, Table: schema.AppVLAN, Key: "{name}", Only: "Vlan", Leaves: withNumbers(vlanOper()...)},
			routed(schema.CfgVLANInterface, "Vlan", "UNKNOWN"), routed(schema.CfgLoopbackInterface, "Loopback", "DOWN"),
			{
				DB: swss.ConfigDB, Table: schema.CfgVLAN, Key: "{name}", Only: "Vlan", Elsewhere: vlanListPath,
				Leaves: enabledLeaves(fixed(vlanEnabled(), "it follows config/status of its VLAN in the network instance")),
			},
			counted,
		}},
		subinterfaces(),
	}}
}

// crcErrors is the statistic of frames that a port received with a wrong FCS.
const crcErrors = "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS"

// lastClear returns the leaf with the time when counters were last cleared.
func lastClear() tree.Leaf {
	return leaf("state/counters/last-clear", tree.Codec{Get: func(r tree.Record) []string {
		at, err := time.Parse(time.RFC3339Nano, r.Field(tree.ClearedField))
		if err != nil || at.UnixNano() < 0 {
			return nil
		}
		return tree.One(strconv.FormatInt(at.UnixNano(), 10))
	}})
}

// alwaysEnabled returns the leaves that state that a loopback is enabled, and none for other kinds of interfaces.
func alwaysEnabled(kind string) []tree.Leaf {
	if kind != "Loopback" {
		return nil
	}
	return enabledLeaves(fixed(constant("true"), "a loopback has nothing that could take it down"))
}

// enabledLeaves returns both leaves enabled of an interface, with the codec of that in config.
func enabledLeaves(c tree.Codec) []tree.Leaf {
	return []tree.Leaf{leaf("config/enabled", c), leaf("state/enabled", readOnly(c))}
}

// vlanEnabled returns the codec of whether the VLAN of an interface is wanted up.
func vlanEnabled() tree.Codec { return words("admin_status", "true", "true", "up", "false", "down") }

func interfaceLeaves(at, up string) []tree.Leaf {
	return []tree.Leaf{
		leaf(at+"/type", interfaceType()),
		leaf(at+"/mtu", orElse(text("mtu"), "9100")),
		leaf(at+"/description", text("description")),
		leaf(at+"/enabled", enabled(up)),
	}
}

// enabled returns the codec of the administrative status; absent is the value of a row without it. Such a port is down
// in SONiC, but OpenConfig's default is true: a Set that removes the leaf writes that.
func enabled(absent string) tree.Codec {
	c := words("admin_status", absent, "true", "up", "false", "down")
	if absent == "false" {
		c.Default = tree.One("true")
	}
	return c
}

// namedLeaves returns the leaves that follow from the name.
func namedLeaves() []tree.Leaf {
	logical := func(r tree.Record) []string {
		return tree.One(strconv.FormatBool(!strings.HasPrefix(r.Keys[0], "Ethernet")))
	}
	return []tree.Leaf{
		leaf("config/type", interfaceType()), leaf("state/type", readOnly(interfaceType())),
		leaf("state/ifindex", tree.Codec{Get: interfaceIndex}), leaf("state/logical", tree.Codec{Get: logical}),
		leaf("state/cpu", constant("false")), leaf("state/management", constant("false")),
	}
}

func operLeaves(at string) []tree.Leaf {
	return []tree.Leaf{
		leaf(at+"/admin-status", words("admin_status", "DOWN", "UP", "up", "DOWN", "down")),
		leaf(at+"/oper-status", words(schema.FieldOperStatus, "UNKNOWN", "UP", schema.OperUp, "DOWN", schema.OperDown)),
		leaf(at+"/last-change", text(schema.FieldLastChange)),
	}
}

// vlanOper returns the leaves with the state of a VLAN interface. Without a member that is up, its lower layer is down.
func vlanOper() []tree.Leaf {
	list := operLeaves("state")
	list[0].Codec = words("admin_status", "UP", "UP", "up", "DOWN", "down")
	oper := list[1].Codec
	list[1].Codec = tree.Codec{Get: func(r tree.Record) []string {
		if r.Field(schema.FieldOperStatus) == schema.OperDown && r.Field("admin_status") != "down" {
			return tree.One("LOWER_LAYER_DOWN")
		}
		return oper.Get(r)
	}}
	return list
}

// notInForceLeaves returns the leaves of an interface that only CONFIG_DB has.
func notInForceLeaves(at, admin string) []tree.Leaf {
	return []tree.Leaf{
		leaf(at+"/admin-status", words("admin_status", admin, "UP", "up", "DOWN", "down")),
		leaf(at+"/oper-status", constant("UNKNOWN")),
	}
}

// withNumbers adds, for each status among the leaves, a leaf with RFC 2863's number of that status.
func withNumbers(leaves ...tree.Leaf) []tree.Leaf {
	list := slices.Clone(leaves)
	for _, l := range leaves {
		if !strings.HasSuffix(l.Path, "-status") {
			continue
		}
		name := l.Codec
		list = append(list, leaf(l.Path+"-number", tree.Codec{Get: func(r tree.Record) []string {
			return tree.One(map[string]string{"UP": "1", "DOWN": "2", "UNKNOWN": "4",
				"LOWER_LAYER_DOWN": "7"}[tree.First(name.Get(r))])
		}}))
	}
	return list
}

// interfaceType returns the codec of the type, which follows from the name. Writing the same value is allowed.
func interfaceType() tree.Codec {
	name := func(r tree.Record) string {
		for _, k := range interfaceKinds {
			if strings.HasPrefix(r.Keys[0], k.name) {
				return k.typ
			}
		}
		return ""
	}
	return fixed(tree.Codec{Get: func(r tree.Record) []string { return tree.One(name(r)) }}, "it follows from the name")
}

func interfaceIndex(r tree.Record) []string {
	for _, k := range interfaceKinds {
		number, ok := strings.CutPrefix(r.Keys[0], k.name)
		if n, err := strconv.ParseUint(number, 10, 31); ok && err == nil && k.index >= 0 {
			return tree.One(strconv.FormatUint(n+uint64(k.index), 10))
		}
	}
	return nil
}

// subinterfaces returns the group of the routed interfaces other than those of VLANs.
func subinterfaces() tree.Group {
	g := tree.Group{
		Path: interfacesPath + "/subinterfaces/subinterface", View: inRouting, Through: subinterfaceThrough(),
		Keys: map[string]tree.Codec{"index": constant("0")},
	}
	oper := func(table, kind string, leaves []tree.Leaf) {
		g.Rows = append(g.Rows, tree.Row{DB: swss.ApplDB, Table: table, Key: "{name}", Only: kind, Leaves: leaves})
	}
	oper(schema.AppPort, "Ethernet", append(operLeaves("state"),
		leaf("state/counters/carrier-transitions", readOnly(number(schema.FieldFlapCount, "%d")))))
	oper(schema.AppLAG, "PortChannel", operLeaves("state"))
	oper(schema.AppInterface, "", []tree.Leaf{leaf("state/oper-status", of("Loopback", constant("UP")))})
	for _, table := range schema.InterfaceTables {
		if table == schema.CfgVLANInterface {
			continue
		}
		name := tree.Codec{Get: func(r tree.Record) []string { return tree.One(r.Keys[0]) }}
		oper := "UNKNOWN"
		if table == schema.CfgLoopbackInterface {
			oper = "DOWN"
		}
		g.Rows = append(g.Rows, tree.Row{
			DB: swss.ConfigDB, Table: table, Key: "{name}", Only: routedKind[table], Entry: true, Leaves: []tree.Leaf{
				leaf("config/enabled", constant("true")), leaf("state/enabled", constant("true")),
				leaf("state/name", name), leaf("state/ifindex", tree.Codec{Get: interfaceIndex}),
				leaf("state/admin-status", constant("UP")), leaf("state/oper-status", constant(oper)),
			},
		})
	}
	counted := objectRow(countersRIFNameMap, "{name}")
	for leafName, stat := range map[string]string{
		"in-octets": "IN_OCTETS", "in-pkts": "IN_PACKETS", "in-errors": "IN_ERROR_PACKETS",
		"out-octets": "OUT_OCTETS", "out-pkts": "OUT_PACKETS", "out-errors": "OUT_ERROR_PACKETS",
	} {
		counted.Leaves = append(counted.Leaves,
			leaf("state/counters/"+leafName, readOnly(text("SAI_ROUTER_INTERFACE_STAT_"+stat))))
	}
	slices.SortFunc(counted.Leaves, func(a, b tree.Leaf) int { return strings.Compare(a.Path, b.Path) })
	counted.Leaves = append(counted.Leaves, lastClear())
	g.Rows = append(g.Rows, counted)
	return g
}

// countersRIFNameMap is SONiC's hash with the object of each router interface in COUNTERS_DB.
const countersRIFNameMap = "COUNTERS_RIF_NAME_MAP"

// speeds maps OpenConfig's words for the rate of a port to Mbit/s.
var speeds = []string{
	"SPEED_10MB", "10", "SPEED_100MB", "100", "SPEED_1GB", "1000", "SPEED_2500MB", "2500", "SPEED_5GB", "5000",
	"SPEED_10GB", "10000", "SPEED_25GB", "25000", "SPEED_40GB", "40000", "SPEED_50GB", "50000", "SPEED_100GB", "100000",
	"SPEED_200GB", "200000", "SPEED_400GB", "400000", "SPEED_800GB", "800000", "SPEED_1600GB", "1600000",
}

// ethernetModule returns the mapping of openconfig-if-ethernet.
func ethernetModule() tree.Module {
	counted := objectRow(schema.CountersPortNameMap, "{name}")
	counted.Only = "Ethernet"
	for _, s := range [][2]string{
		{"in-maxsize-exceeded", "ETHER_RX_OVERSIZE_PKTS"}, {"in-undersize-frames", "ETHER_STATS_UNDERSIZE_PKTS"},
		{"in-crc-errors", "ETHER_STATS_CRC_ALIGN_ERRORS"},
		{"in-jabber-frames", "ETHER_STATS_JABBERS"}, {"in-fragment-frames", "ETHER_STATS_FRAGMENTS"},
	} {
		counted.Leaves = append(counted.Leaves,
			leaf("ethernet/state/counters/"+s[0], readOnly(text("SAI_PORT_STAT_"+s[1]))))
	}
	rows := []tree.Row{
		{DB: swss.ConfigDB, Table: schema.CfgPort, Key: "{name}", Only: "Ethernet", Leaves: []tree.Leaf{
			leaf("ethernet/config/port-speed", kept(words("speed", "", speeds...))),
			leaf("ethernet/config/auto-negotiate", words("autoneg", "", "true", "on", "false", "off")),
			leaf("ethernet/config/duplex-mode", fixed(constant("FULL"), "ports have no other mode")),
		}},
		{DB: swss.ApplDB, Table: schema.AppPort, Key: "{name}", Only: "Ethernet", Leaves: []tree.Leaf{
			leaf("ethernet/state/port-speed", words("speed", "", speeds...)),
			leaf("ethernet/state/auto-negotiate", words("autoneg", "false", "true", "on", "false", "off")),
			leaf("ethernet/state/duplex-mode", constant("FULL")),
		}},
		{DB: swss.ConfigDB, Table: schema.CfgInterface, Key: "{name}", Only: "Ethernet", Leaves: []tree.Leaf{
			leaf("ethernet/config/mac-address", tree.Codec{Get: mac("mac_addr").Get, Through: macThrough()})}},
		{DB: swss.ApplDB, Table: schema.AppInterface, Key: "{name}",
			Leaves: []tree.Leaf{leaf("ethernet/state/mac-address", of("Ethernet", mac("mac_addr"))),
				leaf("ethernet/state/mac-address", of("PortChannel", mac("mac_addr")))}},
		{DB: swss.ConfigDB, Table: schema.CfgDeviceMetadata, Key: schema.MetadataKey, Leaves: []tree.Leaf{
			leaf("ethernet/state/mac-address", of("Ethernet", mac("mac"))),
			leaf("ethernet/state/mac-address", of("PortChannel", mac("mac"))),
			leaf("ethernet/state/hw-mac-address", of("Ethernet", mac("mac"))),
		}},
		counted,
	}
	return tree.Module{Name: "openconfig-if-ethernet",
		Groups: []tree.Group{{Path: interfacesPath, Finish: finishSpeed, Rows: rows}}}
}

// ratesModule returns the mapping of openconfig-if-rates: SONiC's rates, which are decimal fractions.
func ratesModule() tree.Module {
	row := objectRow(schema.CountersPortNameMap, "{name}")
	row.Table, row.Only = "RATES", "Ethernet"
	rate := func(field string, factor float64) tree.Codec {
		return tree.Codec{Get: func(r tree.Record) []string {
			v, err := strconv.ParseFloat(r.Field(field), 64)
			if err != nil || !(v >= 0 && v*factor < math.MaxInt64) {
				return nil
			}
			return tree.One(strconv.FormatUint(uint64(math.Round(v*factor)), 10))
		}}
	}
	const bits = 8 // SONiC's BPS are bytes per second
	row.Leaves = []tree.Leaf{
		leaf("rates/state/in-bits-rate", rate("RX_BPS", bits)), leaf("rates/state/out-bits-rate", rate("TX_BPS", bits)),
		leaf("rates/state/in-pkts-rate", rate("RX_PPS", 1)), leaf("rates/state/out-pkts-rate", rate("TX_PPS", 1)),
	}
	return tree.Module{Name: "openconfig-if-rates", Groups: []tree.Group{{Path: interfacesPath, Rows: []tree.Row{row}}}}
}

// kept returns the codec of a leaf that does not change when its container is replaced or deleted: a port always has a
// rate.
func kept(c tree.Codec) tree.Codec {
	c.Kept = true
	return c
}

// aggregateModule returns the mapping of openconfig-if-aggregate. Members are written in tamtam-interfaces.
func aggregateModule() tree.Module {
	static := words("static", "LACP", "STATIC", "true", "LACP", "false")
	channel := tree.Codec{Get: func(r tree.Record) []string { return parts(r) }}
	// In the published model this leaf lists members of STATIC channels. With LACP the ports name their channel.
	members := tree.Codec{Get: func(r tree.Record) []string {
		if tree.First(static.Get(tree.Record{Fields: r.Own})) != "STATIC" {
			return nil
		}
		return parts(r)
	}}
	return tree.Module{Name: "openconfig-if-aggregate", Groups: []tree.Group{{Path: interfacesPath, Rows: []tree.Row{
		{DB: swss.ConfigDB, Table: schema.CfgPortChannel, Key: "{name}", Only: "PortChannel", Leaves: []tree.Leaf{
			leaf("aggregation/config/lag-type", static), leaf("aggregation/config/min-links", text("min_links")),
		}},
		{DB: swss.ApplDB, Table: schema.AppLAG, Key: "{name}", Only: "PortChannel", Leaves: []tree.Leaf{
			leaf("aggregation/state/lag-type", words(schema.FieldProtocol, "STATIC", "LACP", schema.ProtocolLACP)),
			leaf("aggregation/state/min-links", orElse(text("min_links"), "1")),
			leaf("aggregation/state/lag-speed", tree.Codec{Get: func(r tree.Record) []string {
				if r.Field(schema.FieldOperStatus) == schema.OperUnknown {
					return nil
				}
				return tree.One(r.Field(schema.FieldActiveSpeed))
			}}),
		}},
		{DB: swss.ConfigDB, Table: schema.CfgPortChannelMbr, Key: "{*}|{name}", Only: "Ethernet",
			Leaves: []tree.Leaf{leaf("ethernet/config/aggregate-id", tree.Codec{Get: channel.Get, Through: memberThrough()})}},
		{DB: swss.ApplDB, Table: schema.AppLAGMember, Key: "{*}:{name}", Only: "Ethernet",
			Leaves: []tree.Leaf{leaf("ethernet/state/aggregate-id", channel)}},
		{DB: swss.ApplDB, Table: schema.AppLAGMember, Key: "{name}:{*}", Only: "PortChannel",
			Leaves: []tree.Leaf{leaf("aggregation/state/member", members)}},
	}}}}
}

// parts returns, sorted, the parts of row keys that {*} matched. values, if given, selects rows with one of these
// values.
func parts(r tree.Record, values ...string) []string {
	var out []string
	for part, v := range r.Fields {
		if len(values) == 0 || slices.Contains(values, v) {
			out = append(out, part)
		}
	}
	slices.SortFunc(out, schema.CompareNames)
	return out
}
