package mgmt

import (
	"strconv"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// altMarkModule is tamtam-altmark in the databases. Periods and results are events, one per period,
// not counters that change with each packet: they are sent on change.
func altMarkModule() Module {
	return Module{Name: "tamtam-altmark", Groups: []Group{
		{Path: "/tam/alt-mark-sessions/alt-mark-session", Unique: []string{"config/flowgroup"}, Rows: []Row{
			{
				DB: swss.ConfigDB, Table: schema.CfgTAMAltMark, Key: "{name}", Entry: true,
				Leaves: append(altMarkLeaves("config"), Leaf{"config/flowgroup", text("flowgroup")}),
			},
			{
				DB: swss.ApplDB, Table: schema.AppTAMAltMark, Key: "{name}",
				Behind: "state/not-in-force", Wanted: wanted(schema.CfgTAMAltMark, schema.ParseAltMarkSession, altMarkWanted),
				Leaves: append(altMarkLeaves("state"), Leaf{"state/flowgroup", text("acl-rule-name")}),
			},
			{
				DB: swss.CountersDB, Table: schema.CountersAltMark, Key: "{name}",
				Leaves: append(periodLeaves("state/last-period"), Leaf{"state/last-period/number", text("PERIOD")},
					Leaf{"state/engine", text("ENGINE")}, Leaf{"state/timing", text("TIMING")}, Leaf{"state/guard", text("GUARD")},
					Leaf{"state/encapsulated-packets", text("ENCAPSULATED")}, Leaf{"state/decapsulated-packets", text("DECAPSULATED")},
					Leaf{"state/encap-too-long-packets", text("ENCAP_TOO_LONG")},
					Leaf{"state/decap-damaged-packets", text("DECAP_DAMAGED")}),
			},
		}},
		{Path: "/tam/alt-mark-sessions/alt-mark-session/periods/period", Rows: []Row{
			{DB: swss.CountersDB, Table: schema.CountersAltMarkPast, Key: "{name}", Each: "number", Entry: true,
				Leaves: periodLeaves("state")},
		}},
		{Path: "/tam/alt-mark-results/alt-mark-result", Rows: []Row{
			{DB: swss.CountersDB, Table: schema.CountersAltMarkPath, Key: "{path}:{from}:{to}", Entry: true,
				Leaves: resultLeaves()},
		}},
	}}
}

func altMarkWanted(s schema.AltMarkSession) map[string]string {
	return schema.AltMarkFlow{Name: s.Name, Rule: schema.ACLRuleKey{Rule: s.FlowGroup}, Session: s.Session}.Fields()
}

func altMarkLeaves(at string) []Leaf { return fieldLeaves(at, schema.CfgTAMAltMark, "flowgroup") }

func periodLeaves(at string) []Leaf {
	return []Leaf{
		{at + "/colour", text("COLOUR")}, {at + "/packets", text("PACKETS")}, {at + "/octets", text("BYTES")},
		{at + "/captures", text("CAPTURES")}, {at + "/timestamp", nanoseconds("TIMESTAMP")}, {at + "/digest", text("DIGEST")},
		{at + "/arrivals", text("ARRIVALS")}, {at + "/arrival-sum", text("ARRIVAL_SUM")},
		{at + "/out-of-window", text("OUT_OF_WINDOW")}, {at + "/foreign-marks", text("FOREIGN_MARKS")},
		{at + "/read-at", nanoseconds("READ_AT")}, {at + "/flags", list("FLAGS")},
		{at + "/match", text("MATCH")},
		{at + "/clock", text("CLOCK")}, {at + "/kernel-clock", text("KERNEL_CLOCK")},
		{at + "/kernel-clock-offset", text("KERNEL_CLOCK_OFFSET")}, {at + "/kernel-clock-error", text("KERNEL_CLOCK_ERROR")},
	}
}

func resultLeaves() []Leaf {
	leaves := []Leaf{
		{"state/start", nanoseconds("START")},
		{"state/reasons", Codec{Get: func(r Record) []string {
			return strings.FieldsFunc(strings.ReplaceAll(r.Field("REASONS"), "; ", "\n"), func(c rune) bool { return c == '\n' })
		}}},
	}
	for leaf, field := range map[string]string{
		"period": "PERIOD", "status": "STATUS", "revised": "REVISED",
		"sent-packets": "SENT", "received-packets": "RECEIVED", "sent-octets": "SENT_BYTES",
		"received-octets": "RECEIVED_BYTES",
		"lost-packets":    "LOST", "delay": "DELAY", "raw-delay": "RAW_DELAY", "jitter": "JITTER",
		"mean-delay": "MEAN_DELAY", "delay-sum": "DELAY_SUM", "mean-delay-unknown": "MEAN_DELAY_UNKNOWN",
		"window/delays":    "WINDOW_DELAYS",
		"window/min-delay": "WINDOW_MIN_DELAY", "window/mean-delay": "WINDOW_MEAN_DELAY",
		"window/max-delay": "WINDOW_MAX_DELAY",
	} {
		leaves = append(leaves, Leaf{"state/" + leaf, readOnly(text(field))})
	}
	return leaves
}

// nanoseconds is a time of day as nanoseconds since 1970; one that does not fit into 64 bits, from
// the year 2554 on, is left out.
func nanoseconds(field string) Codec {
	return Codec{Get: func(r Record) []string {
		t, err := altmark.ParseTime(r.Field(field))
		if err != nil {
			return nil
		}
		if t.Seconds >= (1<<64-1)/1_000_000_000 {
			return nil
		}
		return one(strconv.FormatUint(t.Seconds*1e9+uint64(t.Nanoseconds), 10))
	}}
}
