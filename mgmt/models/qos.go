package models

import (
	"cmp"
	"slices"
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/models/qos"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// qosModule returns the mapping of tamtam-qos.
func qosModule() tree.Module {
	queue := kit.QueueRow("{name}",
		"transmitted-packets", "PACKETS", "transmitted-octets", "BYTES", "dropped-packets", "DROPPED_PACKETS",
		"wred-dropped-packets", "WRED_DROPPED_PACKETS", "ecn-marked-packets", "WRED_ECN_MARKED_PACKETS",
		"trimmed-packets", "TRIM_PACKETS", "trim-sent-packets", "TX_TRIM_PACKETS",
		"trim-dropped-packets", "DROPPED_TRIM_PACKETS", "occupancy", "CURR_OCCUPANCY_BYTES", "watermark", "WATERMARK_BYTES")
	outcome := func(table string) tree.Row {
		return tree.Row{DB: swss.StateDB, Table: table, Key: "{name}", Leaves: []tree.Leaf{
			leaf("state/status", readOnly(text(schema.FieldStatus))), leaf("state/reason", readOnly(text(schema.FieldReason))),
			leaf("state/monitor-port", readOnly(text("monitor_port"))), leaf("state/next-hop", readOnly(text("next_hop_ip"))),
		}}
	}
	schedulers, sessions := outcome(schema.AppScheduler), outcome(schema.AppMirrorSession)
	groups := outcome(schema.AppCOPP)
	schedulers.Leaves, groups.Leaves = schedulers.Leaves[:2], groups.Leaves[:2]
	return tree.Module{Name: "tamtam-qos", Groups: append(qos.BufferGroups(), []tree.Group{
		{Path: "/queues/queue", Rows: append([]tree.Row{queue}, qos.QueueWatermarks()...)},
		{Path: "/schedulers/scheduler", Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgScheduler, Key: "{name}", Entry: true,
				Leaves: []tree.Leaf{leaf("state/type", readOnly(text("type"))), leaf("state/weight", readOnly(text("weight")))},
			},
			schedulers,
		}},
		{Path: "/copp/groups/group", Rows: append(coppRows(), groups)},
		{Path: "/mirror-sessions/mirror-session", Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgMirrorSession, Key: "{name}", Entry: true,
				Leaves: []tree.Leaf{
					leaf("state/type", tree.Codec{Get: func(r tree.Record) []string {
						return tree.One(cmp.Or(r.Field("type"), "ERSPAN"))
					}}),
					leaf("state/source-address", readOnly(text("src_ip"))),
					leaf("state/destination-address", readOnly(text("dst_ip"))),
					leaf("state/source-ports", readOnly(text("src_port"))), leaf("state/direction", readOnly(text("direction"))),
				},
			},
			sessions,
		}},
	}...)}
}

// coppRows returns the rows of a group of traps: its configuration, its target state, and the counters of its policer.
func coppRows() []tree.Row {
	var wanted, counted []tree.Leaf
	for name, field := range map[string]string{
		"traps": "trap_ids", "trap-action": "trap_action", "queue": "queue", "meter-type": "meter_type", "mode": "mode",
		"cir": "cir", "cbs": "cbs", "pir": "pir", "pbs": "pbs",
		"green-action": "green_action", "yellow-action": "yellow_action", "red-action": "red_action",
	} {
		wanted = append(wanted, leaf("state/"+name, readOnly(text(field))))
	}
	for _, colour := range []string{"green", "yellow", "red"} {
		stat := "SAI_POLICER_STAT_" + strings.ToUpper(colour)
		counted = append(counted, leaf("state/"+colour+"-packets", readOnly(text(stat+"_PACKETS"))),
			leaf("state/"+colour+"-octets", readOnly(text(stat+"_BYTES"))))
	}
	slices.SortFunc(wanted, func(a, b tree.Leaf) int { return cmp.Compare(a.Path, b.Path) })
	configured := tree.Codec{Get: func(r tree.Record) []string {
		var fields []string
		for f, v := range r.Fields {
			fields = append(fields, f+"="+v)
		}
		slices.Sort(fields)
		return tree.One(strings.Join(fields, " "))
	}}
	return []tree.Row{
		{DB: swss.ConfigDB, Table: schema.CfgCOPPGroup, Key: "{name}", Entry: true,
			Leaves: []tree.Leaf{leaf("state/configured", configured)}},
		{DB: swss.ApplDB, Table: schema.AppCOPP, Key: "{name}", Entry: true, Leaves: wanted},
		objectRow(schema.CountersPolicerNameMap, "{name}", counted...),
	}
}
