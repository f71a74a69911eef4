package qos

import (
	"strconv"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Flex counter groups of watermarks and drops.
const (
	queueGroup = "QUEUE_WATERMARK"
	groupGroup = "PG_WATERMARK"
	poolGroup  = "BUFFER_POOL_WATERMARK"
)

// QueueWatermarks returns the rows with the watermarks of a queue of tamtam-qos.
func QueueWatermarks() []tree.Row {
	return watermarkRows(schema.CountersQueueNameMap, queueGroup, "watermark", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES")
}

// BufferGroups returns the lists of tamtam-qos with the counters of ingress priority groups, buffer pools and flow
// control.
func BufferGroups() []tree.Group {
	const group, pool = "SAI_INGRESS_PRIORITY_GROUP_STAT_", "SAI_BUFFER_POOL_STAT_"
	dropped := kit.ReadOnly(kit.Text(group + "DROPPED_PACKETS"))
	dropped.Group = "PG_DROP"
	groups := []tree.Row{entries(schema.CountersPGNameMap, kit.Leaf("state/dropped-packets", dropped))}
	groups = append(groups, watermarkRows(schema.CountersPGNameMap, groupGroup,
		"shared-watermark", group+"SHARED_WATERMARK_BYTES", "headroom-watermark", group+"XOFF_ROOM_WATERMARK_BYTES")...)
	pools := append([]tree.Row{entries(schema.CountersPoolNameMap)}, watermarkRows(schema.CountersPoolNameMap, poolGroup,
		"watermark", pool+"WATERMARK_BYTES", "headroom-watermark", pool+"XOFF_ROOM_WATERMARK_BYTES")...)
	return []tree.Group{
		{Path: "/priority-groups/priority-group", Rows: groups},
		{Path: "/buffer-pools/buffer-pool", Rows: pools},
		{Path: "/flow-control/ports/port", Rows: []tree.Row{
			entries(schema.CountersPortNameMap, pfcLeaves()...),
			state.all(state.maps, kit.Leaf("state/enabled-priority", tree.Codec{Get: func(r tree.Record) (list []string) {
				for _, n := range readPorts(decoded(r.Fields))[r.Keys[0]].PFC {
					list = append(list, number(n))
				}
				return list
			}})),
		}},
	}
}

// entries returns the row of counters of objects that make up a list.
func entries(names string, leaves ...tree.Leaf) tree.Row {
	row := kit.ObjectRow(names, "{name}", leaves...)
	row.Entry = true
	return row
}

// watermarkRows returns the rows of the tables of watermarks. pairs holds the ends of the names of leaves and the
// statistics in turn.
func watermarkRows(names, group string, pairs ...string) (rows []tree.Row) {
	for _, t := range []struct{ table, leaf string }{
		{schema.UserWatermarks, "user"}, {schema.PersistentWatermarks, "persistent"},
		{schema.PeriodicWatermarks, "periodic"},
	} {
		row := tree.Row{DB: swss.CountersDB, Table: t.table, Map: names, Key: "{name}", Counter: true, Entry: true}
		for i := 0; i < len(pairs); i += 2 {
			c := kit.ReadOnly(kit.Text(pairs[i+1]))
			c.Group = group
			row.Leaves = append(row.Leaves, kit.Leaf("state/"+t.leaf+"-"+pairs[i], c))
		}
		rows = append(rows, row)
	}
	return rows
}

// pfcLeaves returns the leaves with the frames of flow control that a port received and sent, by priority.
func pfcLeaves() (leaves []tree.Leaf) {
	for _, d := range []struct{ leaf, stat string }{{"received", "RX"}, {"sent", "TX"}} {
		for n := range 8 {
			i := strconv.Itoa(n)
			leaves = append(leaves, kit.Leaf("state/"+d.leaf+"-frames-"+i,
				kit.ReadOnly(kit.Text("SAI_PORT_STAT_PFC_"+i+"_"+d.stat+"_PKTS"))))
		}
	}
	return leaves
}
