// Package hft is the mapping of the module tamtam-hft: streams of statistics, their last records, and their readers.
//
// What belongs here: that module. The rows belong to schema.
package hft

import (
	"strings"

	"tamtam/mgmt/models/kit"
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// Sources of rows that are in no database: the counts of groups, and the values of their last records. Their keys have
// colons, because the names of queues contain a bar.
const (
	SourceCounts = "hft-counts" // PROFILE:TYPE, with FieldReceived and FieldMissed
	SourceValues = "hft-values" // PROFILE:TYPE:STATISTIC:OBJECT, with FieldValue and [tree.CollectedField]
)

// Fields of these rows.
const (
	FieldReceived = "received"
	FieldMissed   = "missed"
	FieldValue    = "value"
)

// Paths of the module.
const (
	PathValues = "/high-frequency-telemetry/groups/group/values"
	PathValue  = PathValues + "/value/state/value"
	PathMissed = "/high-frequency-telemetry/groups/group/state/records-missed"
)

// Module returns the mapping of tamtam-hft.
func Module() tree.Module {
	const key = "{profile}|{type}"
	state := func(name, field string) tree.Leaf { return kit.Leaf("state/"+name, kit.ReadOnly(kit.Text(field))) }
	words := func(name, field string) tree.Leaf {
		return kit.Leaf("state/"+name, tree.Codec{Get: func(r tree.Record) []string {
			return strings.FieldsFunc(r.Field(field), func(c rune) bool { return c == ',' })
		}})
	}
	return tree.Module{Name: "tamtam-hft", Groups: []tree.Group{
		{Path: "/high-frequency-telemetry/groups/group", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgHFTGroup, Key: key, Entry: true, Leaves: []tree.Leaf{
				words("object-name", "object_names"), words("object-counter", "object_counters")}},
			{DB: swss.ConfigDB, Table: schema.CfgHFTProfile, Key: "{profile}", Leaves: []tree.Leaf{
				kit.Leaf("state/interval", tree.Codec{Get: func(r tree.Record) []string {
					p, err := schema.ParseHFTProfile("p", r.Fields)
					if err != nil || p.Micros == 0 {
						return nil
					}
					return []string{r.Field("poll_interval")}
				}})}},
			{DB: swss.StateDB, Table: schema.AppHFTGroup, Key: key, Leaves: []tree.Leaf{
				state("status", schema.FieldStatus), state("reason", schema.FieldReason)}},
			{DB: swss.StateDB, Table: schema.StateHFTSession, Key: key, Leaves: []tree.Leaf{
				state("stream-status", schema.HFTStreamStatus), words("streamed-object", schema.HFTObjectNames)}},
			{DB: swss.ApplDB, Source: SourceCounts, Key: "{profile}:{type}", Counter: true, Leaves: []tree.Leaf{
				state("records-received", FieldReceived), state("records-missed", FieldMissed)}},
		}},
		{Path: PathValues + "/value", Rows: []tree.Row{{DB: swss.ApplDB, Source: SourceValues,
			Key: "{profile}:{type}:{statistic}:{object}", Entry: true, Counter: true,
			Leaves: []tree.Leaf{state("value", FieldValue)}}}},
		{Path: "/high-frequency-telemetry/readers/reader", Rows: []tree.Row{
			{DB: swss.StateDB, Table: schema.StateHFTReader, Key: "{name}", Entry: true, Leaves: []tree.Leaf{
				state("status", schema.HFTReaderStatus), state("reason", schema.HFTReaderReason),
				state("read", schema.HFTReaderRead), state("unread", schema.HFTReaderUnread),
				state("messages", schema.HFTReaderMessages), state("records", schema.HFTReaderRecords),
				state("lost", schema.HFTReaderLost), state("delay", schema.HFTReaderDelay)}},
		}},
	}}
}
