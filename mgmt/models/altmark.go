package models

import (
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// altMarkModule returns the mapping of tamtam-altmark. Periods and results are not counters but events, one per period,
// sent on change.
func altMarkModule() tree.Module {
	session := schema.TableOf(schema.CfgTAMAltMark)
	result := measuredRow(schema.CountersAltMarkPath, "{path}:{from}:{to}", "state", map[string]tree.Codec{
		"start":   nanoseconds("START"),
		"reasons": {Get: func(r tree.Record) []string { return reasonsIn(r.Field("REASONS")) }},
	})
	result.Entry = true
	return tree.Module{Name: "tamtam-altmark", Groups: []tree.Group{
		{Path: "/tam/alt-mark-sessions/alt-mark-session", Unique: []string{"config/flowgroup"}, Rows: []tree.Row{
			configRow(session, "{name}"),
			appliedRow(session, "{name}", wanted(schema.CfgTAMAltMark, schema.ParseAltMarkSession, altMarkWanted)),
			measuredRow(schema.CountersAltMark, "{name}", "state", map[string]tree.Codec{
				"last-period/timestamp": nanoseconds("TIMESTAMP"), "last-period/read-at": nanoseconds("READ_AT")}),
		}},
		{Path: "/tam/alt-mark-sessions/alt-mark-session/periods/period", Rows: []tree.Row{
			{DB: swss.CountersDB, Table: schema.CountersAltMarkPast, Key: "{name}", Each: "number", Entry: true,
				Leaves: periodLeaves("state")},
		}},
		{Path: "/tam/alt-mark-results/alt-mark-result", Rows: []tree.Row{result}},
	}}
}

func altMarkWanted(s schema.AltMarkSession) map[string]string {
	return schema.AltMarkFlow{Name: s.Name, Rule: schema.ACLRuleKey{Rule: s.FlowGroup}, Session: s.Session}.Fields()
}

// periodLeaves returns the leaves of a period, except its number, from the fields of the session's last period.
func periodLeaves(at string) []tree.Leaf {
	const last = "last-period/"
	var fields []schema.Field
	for _, f := range schema.CountersIn(schema.CountersAltMark) {
		if name, is := strings.CutPrefix(f.Leaf, last); is && name != "number" {
			f.Leaf = name
			fields = append(fields, f)
		}
	}
	return fieldLeaves(at, fields, map[string]tree.Codec{
		"timestamp": nanoseconds("TIMESTAMP"), "read-at": nanoseconds("READ_AT")})
}

// reasonsIn splits a text of reasons.
func reasonsIn(text string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(text, "; ", "\n"), func(c rune) bool { return c == '\n' })
}

// nanoseconds returns the codec of a time of day as nanoseconds since 1970. A time that does not fit into 64 bits, from
// the year 2554 on, is omitted.
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
