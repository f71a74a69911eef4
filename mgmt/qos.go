package mgmt

import (
	"cmp"

	"tamtam/schema"
	"tamtam/swss"
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
	schedulers.Leaves = schedulers.Leaves[:2]
	return Module{Name: "tamtam-qos", Groups: []Group{
		{Path: "/qos/queues/queue", Rows: []Row{
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
		{Path: "/qos/schedulers/scheduler", Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgScheduler, Key: "{name}", Entry: true,
				Leaves: []Leaf{{"state/type", readOnly(text("type"))}, {"state/weight", readOnly(text("weight"))}},
			},
			schedulers,
		}},
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
