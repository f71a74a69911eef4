package mgmt

import (
	"cmp"
	"slices"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// qosModule is tamtam-qos in the databases.
func qosModule() Module {
	counter := func(leaf, stat string) Leaf { return Leaf{"state/" + leaf, readOnly(text("SAI_QUEUE_STAT_" + stat))} }
	outcome := func(table string) Row {
		return Row{DB: swss.StateDB, Table: table, Key: "{name}", Leaves: []Leaf{
			{"state/status", readOnly(text(schema.FieldStatus))}, {"state/reason", readOnly(text(schema.FieldReason))},
			{"state/monitor-port", readOnly(text("monitor_port"))}, {"state/next-hop", readOnly(text("next_hop_ip"))},
		}}
	}
	schedulers, sessions := outcome(schema.AppScheduler), outcome(schema.AppMirrorSession)
	groups := outcome(schema.AppCOPP)
	schedulers.Leaves, groups.Leaves = schedulers.Leaves[:2], groups.Leaves[:2]
	return Module{Name: "tamtam-qos", Groups: []Group{
		{Path: "/queues/queue", Rows: []Row{
			{
				DB: swss.CountersDB, Table: schema.CountersTable, Map: schema.CountersQueueNameMap, Key: "{name}", Entry: true,
				Counter: true,
				Leaves: []Leaf{
					counter("transmitted-packets", "PACKETS"), counter("transmitted-octets", "BYTES"),
					counter("dropped-packets", "DROPPED_PACKETS"),
					counter("wred-dropped-packets", "WRED_DROPPED_PACKETS"), counter("ecn-marked-packets", "WRED_ECN_MARKED_PACKETS"),
					counter("occupancy", "CURR_OCCUPANCY_BYTES"), counter("watermark", "WATERMARK_BYTES"),
				},
			},
		}},
		{Path: "/schedulers/scheduler", Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgScheduler, Key: "{name}", Entry: true,
				Leaves: []Leaf{{"state/type", readOnly(text("type"))}, {"state/weight", readOnly(text("weight"))}},
			},
			schedulers,
		}},
		{Path: "/copp/groups/group", Rows: append(coppRows(), groups)},
		{Path: "/mirror-sessions/mirror-session", Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgMirrorSession, Key: "{name}", Entry: true,
				Leaves: []Leaf{
					{"state/type", Codec{Get: func(r Record) []string { return one(cmp.Or(r.Field("type"), "ERSPAN")) }}},
					{"state/source-address", readOnly(text("src_ip"))}, {"state/destination-address", readOnly(text("dst_ip"))},
					{"state/source-ports", readOnly(text("src_port"))}, {"state/direction", readOnly(text("direction"))},
				},
			},
			sessions,
		}},
	}}
}

// coppRows are those of a group of traps: as it is configured, as it should be, and what its policer has counted.
func coppRows() []Row {
	var wanted, counted []Leaf
	for leaf, field := range map[string]string{
		"traps": "trap_ids", "trap-action": "trap_action", "queue": "queue", "meter-type": "meter_type", "mode": "mode",
		"cir": "cir", "cbs": "cbs", "pir": "pir", "pbs": "pbs",
		"green-action": "green_action", "yellow-action": "yellow_action", "red-action": "red_action",
	} {
		wanted = append(wanted, Leaf{"state/" + leaf, readOnly(text(field))})
	}
	for _, colour := range []string{"green", "yellow", "red"} {
		stat := "SAI_POLICER_STAT_" + strings.ToUpper(colour)
		counted = append(counted, Leaf{"state/" + colour + "-packets", readOnly(text(stat + "_PACKETS"))},
			Leaf{"state/" + colour + "-octets", readOnly(text(stat + "_BYTES"))})
	}
	slices.SortFunc(wanted, func(a, b Leaf) int { return cmp.Compare(a.Path, b.Path) })
	configured := Codec{Get: func(r Record) []string {
		var fields []string
		for f, v := range r.Fields {
			fields = append(fields, f+"="+v)
		}
		slices.Sort(fields)
		return one(strings.Join(fields, " "))
	}}
	return []Row{
		{DB: swss.ConfigDB, Table: schema.CfgCOPPGroup, Key: "{name}", Entry: true,
			Leaves: []Leaf{{"state/configured", configured}}},
		{DB: swss.ApplDB, Table: schema.AppCOPP, Key: "{name}", Entry: true, Leaves: wanted},
		{DB: swss.CountersDB, Table: schema.CountersTable, Map: schema.CountersPolicerNameMap, Key: "{name}",
			Counter: true, Leaves: counted},
	}
}

// queuesModule is openconfig-qos in the databases: what the egress queues of ports have counted.
func queuesModule() Module {
	const ports = "/qos/interfaces/interface"
	const fixed = "QoS is written in CONFIG_DB"
	counter := func(leaf, stat string) Leaf { return Leaf{"state/" + leaf, readOnly(text("SAI_QUEUE_STAT_" + stat))} }
	id := Codec{Get: func(r Record) []string { return one(r.Keys[0]) }}
	return Module{Name: "openconfig-qos", Groups: []Group{
		{Path: ports, View: fixed, Rows: []Row{
			{DB: swss.ApplDB, Table: schema.AppPort, Key: "{interface-id}", Only: "Ethernet", Entry: true,
				Leaves: []Leaf{{"interface-ref/state/interface", id}}},
		}},
		{Path: ports + "/output/queues/queue", View: fixed, Rows: []Row{
			{
				DB: swss.CountersDB, Table: schema.CountersTable, Map: schema.CountersQueueNameMap, Key: "{interface-id}:{name}",
				Entry: true, Counter: true, Leaves: []Leaf{
					counter("transmit-pkts", "PACKETS"), counter("transmit-octets", "BYTES"),
					counter("dropped-pkts", "DROPPED_PACKETS"), counter("dropped-octets", "DROPPED_BYTES"),
					counter("ecn-marked-pkts", "WRED_ECN_MARKED_PACKETS"),
					counter("max-queue-len", "WATERMARK_BYTES"),
				},
			},
		}},
	}}
}
