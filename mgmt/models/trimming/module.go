// Package trimming is the mapping of the module tamtam-trimming: how the switch trims packets, and how many.
//
// What belongs here: that module. The rows belong to schema.
package trimming

import (
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Module returns the mapping of tamtam-trimming.
func Module() tree.Module {
	const root, key = "switch-trimming/", schema.TrimmingKey
	settings := func(at string, codec func(field string) tree.Codec) (leaves []tree.Leaf) {
		for _, f := range schema.TrimmingFields() {
			leaves = append(leaves, kit.Leaf(root+at+"/"+strings.ReplaceAll(f, "_", "-"), codec(f)))
		}
		return leaves
	}
	plain := func(field string) tree.Codec { return kit.ReadOnly(kit.Text(field)) }
	counted := func(at, prefix string, names ...string) (leaves []tree.Leaf) {
		for i := 0; i < len(names); i += 2 {
			leaves = append(leaves, kit.Leaf(at+names[i], plain(prefix+names[i+1])))
		}
		return leaves
	}
	copies := []string{"out-trim-pkts", "TX_TRIM_PACKETS", "dropped-trim-pkts", "DROPPED_TRIM_PACKETS"}
	all := append([]string{"trim-pkts", "TRIM_PACKETS"}, copies...)
	return tree.Module{Name: "tamtam-trimming", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTrimming, Key: key, Leaves: settings("config", kit.Text)},
			{DB: swss.ApplDB, Table: schema.AppTrimming, Key: key, Leaves: settings("state", plain)},
			{DB: swss.StateDB, Table: schema.AppTrimming, Key: key, Leaves: []tree.Leaf{
				kit.Leaf(root+"state/status", plain(schema.FieldStatus)),
				kit.Leaf(root+"state/reason", plain(schema.FieldReason))}},
			{DB: swss.StateDB, Table: schema.StateSwitchCap, Key: schema.SwitchKey, Leaves: capabilities(root)},
			kit.ObjectRow(schema.CountersSwitchNameMap, schema.SwitchName,
				counted(root+"state/counters/", "SAI_SWITCH_STAT_", copies...)...),
		}},
		{Path: "/interfaces/interface", Rows: []tree.Row{kit.ObjectRow(schema.CountersPortNameMap, "{name}",
			counted("state/counters/", "SAI_PORT_STAT_", all...)...)}},
		{Path: "/qos/interfaces/interface/output/queues/queue", Rows: []tree.Row{
			kit.QueueRow("{interface-id}:{name}", all...)}},
	}}
}

// capabilities returns the leaves with what the ASIC can do. What it does not report has no leaf.
func capabilities(root string) []tree.Leaf {
	known := func(name, field string) tree.Leaf {
		return kit.Leaf(root+"capabilities/state/"+name, tree.Codec{Get: func(r tree.Record) []string {
			v := r.Field(field)
			if v == schema.SwitchHashUnknown {
				return nil
			}
			return strings.FieldsFunc(v, func(c rune) bool { return c == ',' })
		}})
	}
	return []tree.Leaf{
		known("capable", schema.FieldTrimmingCapable), known("dscp-mode", schema.FieldTrimDSCPModes),
		known("queue-mode", schema.FieldTrimQueueModes), known("traffic-classes", schema.FieldTrafficClasses),
		known("unicast-queues", schema.FieldUnicastQueues),
	}
}
