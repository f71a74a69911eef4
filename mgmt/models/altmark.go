package models

import (
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// altMarkModule is tamtam-altmark in the databases. Periods and results are events, one per period,
// not counters that change with each packet: they are sent on change.
func altMarkModule() tree.Module {
	return tree.Module{Name: "tamtam-altmark", Groups: []tree.Group{
		{Path: "/tam/alt-mark-sessions/alt-mark-session", Unique: []string{"config/flowgroup"}, Rows: []tree.Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgTAMAltMark, Key: "{name}", Entry: true,
				Leaves: append(altMarkLeaves("config"), leaf("config/flowgroup", text("flowgroup"))),
			},
			{
				DB: swss.ApplDB, Table: schema.AppTAMAltMark, Key: "{name}",
				Behind: "state/not-in-force", Wanted: wanted(schema.CfgTAMAltMark, schema.ParseAltMarkSession, altMarkWanted),
				Leaves: append(altMarkLeaves("state"), leaf("state/flowgroup", text("acl-rule-name"))),
			},
			{
				DB: swss.CountersDB, Table: schema.CountersAltMark, Key: "{name}",
				Leaves: append(periodLeaves("state/last-period"), leaf("state/last-period/number", text("PERIOD")),
					leaf("state/engine", text("ENGINE")), leaf("state/timing", text("TIMING")), leaf("state/guard", text("GUARD")),
					leaf("state/encapsulated-packets", text("ENCAPSULATED")), leaf("state/decapsulated-packets", text("DECAPSULATED")),
					leaf("state/encap-too-long-packets", text("ENCAP_TOO_LONG")),
					leaf("state/decap-damaged-packets", text("DECAP_DAMAGED"))),
			},
		}},
		{Path: "/tam/alt-mark-sessions/alt-mark-session/periods/period", Rows: []tree.Row{
			{DB: swss.CountersDB, Table: schema.CountersAltMarkPast, Key: "{name}", Each: "number", Entry: true,
				Leaves: periodLeaves("state")},
		}},
		{Path: "/tam/alt-mark-results/alt-mark-result", Rows: []tree.Row{
			{DB: swss.CountersDB, Table: schema.CountersAltMarkPath, Key: "{path}:{from}:{to}", Entry: true,
				Leaves: resultLeaves()},
		}},
	}}
}

func altMarkWanted(s schema.AltMarkSession) map[string]string {
	return schema.AltMarkFlow{Name: s.Name, Rule: schema.ACLRuleKey{Rule: s.FlowGroup}, Session: s.Session}.Fields()
}

func altMarkLeaves(at string) []tree.Leaf { return fieldLeaves(at, schema.CfgTAMAltMark, "flowgroup") }

func periodLeaves(at string) []tree.Leaf {
	return []tree.Leaf{
		leaf(at+"/colour", text("COLOUR")), leaf(at+"/packets", text("PACKETS")), leaf(at+"/octets", text("BYTES")),
		leaf(at+"/captures", text("CAPTURES")), leaf(at+"/timestamp", nanoseconds("TIMESTAMP")),
		leaf(at+"/digest", text("DIGEST")),
		leaf(at+"/arrivals", text("ARRIVALS")), leaf(at+"/arrival-sum", text("ARRIVAL_SUM")),
		leaf(at+"/out-of-window", text("OUT_OF_WINDOW")), leaf(at+"/foreign-marks", text("FOREIGN_MARKS")),
		leaf(at+"/read-at", nanoseconds("READ_AT")), leaf(at+"/flags", list("FLAGS")),
		leaf(at+"/match", text("MATCH")),
		leaf(at+"/clock", text("CLOCK")), leaf(at+"/kernel-clock", text("KERNEL_CLOCK")),
		leaf(at+"/kernel-clock-offset", text("KERNEL_CLOCK_OFFSET")),
		leaf(at+"/kernel-clock-error", text("KERNEL_CLOCK_ERROR")),
	}
}

func resultLeaves() []tree.Leaf {
	leaves := []tree.Leaf{
		leaf("state/start", nanoseconds("START")),
		leaf("state/reasons", tree.Codec{Get: func(r tree.Record) []string {
			return strings.FieldsFunc(strings.ReplaceAll(r.Field("REASONS"), "; ", "\n"), func(c rune) bool { return c == '\n' })
		}}),
	}
	for name, field := range map[string]string{
		"period": "PERIOD", "status": "STATUS", "revised": "REVISED",
		"sent-packets": "SENT", "received-packets": "RECEIVED", "sent-octets": "SENT_BYTES",
		"received-octets": "RECEIVED_BYTES",
		"lost-packets":    "LOST", "delay": "DELAY", "raw-delay": "RAW_DELAY", "jitter": "JITTER",
		"mean-delay": "MEAN_DELAY", "delay-sum": "DELAY_SUM", "mean-delay-unknown": "MEAN_DELAY_UNKNOWN",
		"window/delays":    "WINDOW_DELAYS",
		"window/min-delay": "WINDOW_MIN_DELAY", "window/mean-delay": "WINDOW_MEAN_DELAY",
		"window/max-delay": "WINDOW_MAX_DELAY",
	} {
		leaves = append(leaves, leaf("state/"+name, readOnly(text(field))))
	}
	return leaves
}

// nanoseconds is a time of day as nanoseconds since 1970; one that does not fit into 64 bits, from
// the year 2554 on, is left out.
func nanoseconds(field string) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		t, err := altmark.ParseTime(r.Field(field))
		if err != nil {
			return nil
		}
		if t.Seconds >= (1<<64-1)/1_000_000_000 {
			return nil
		}
		return tree.One(strconv.FormatUint(t.Seconds*1e9+uint64(t.Nanoseconds), 10))
	}}
}
