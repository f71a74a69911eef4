package models

import (
	"strconv"
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// writtenInAggregation is the reason why openconfig-lacp is read-only. It states where the data is written.
const writtenInAggregation = "it is written in /interfaces/interface/aggregation"

const lacpPath = "/lacp/interfaces/interface"

// lacpModule returns the mapping of openconfig-lacp: the port channels that speak LACP, with the state that the LACP
// daemon reports.
func lacpModule() tree.Module {
	const actor, partner = "runner.actor_lacpdu_info.", "runner.partner_lacpdu_info."
	// Rows of an earlier port channel or member of the same name are ignored.
	const lagRow = schema.AppLAG + " " + schema.FieldIncarnation
	const memberKey = "{name}|{interface}"
	const memberRow = schema.AppLAGMember + " " + schema.FieldIncarnation
	return tree.Module{Name: "openconfig-lacp", Groups: []tree.Group{
		{Path: lacpPath, View: writtenInAggregation, Second: true, Through: lacpThrough(), Is: speaksLACP, Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppLAG, Key: "{name}"},
			{DB: swss.StateDB, Table: schema.StateLACP, Key: "{name}", Entry: true, Of: lagRow, Leaves: []tree.Leaf{
				leaf("state/lacp-mode", constant("ACTIVE")),
				leaf("state/interval", lacpInterval("runner.fast_rate")), leaf("state/fallback", text("runner.fallback")),
				leaf("state/system-id-mac", text("team_device.ifinfo.dev_addr")),
			}},
			{DB: swss.ConfigDB, Table: schema.CfgPortChannel, Key: "{name}", Entry: true, Leaves: []tree.Leaf{
				leaf("config/lacp-mode", constant("ACTIVE")),
				leaf("config/interval", readOnly(words("fast_rate", "", "FAST", "true", "SLOW", "false"))),
				leaf("config/fallback", readOnly(text("fallback"))),
				leaf("config/system-id-mac", readOnly(text("system_mac"))),
			}},
		}},
		{Path: lacpPath + "/members/member", View: writtenInAggregation, Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppLAGMember, Key: "{name}:{interface}"},
			{DB: swss.StateDB, Table: schema.StateLACPMember, Key: memberKey, Entry: true, Of: memberRow, Leaves: []tree.Leaf{
				leaf("state/activity", lacpBit(actor, 0, "PASSIVE", "ACTIVE")),
				leaf("state/timeout", lacpBit(actor, 1, "LONG", "SHORT")),
				leaf("state/aggregatable", lacpBit(actor, 2, "false", "true")),
				leaf("state/synchronization", lacpBit(actor, 3, "OUT_SYNC", "IN_SYNC")),
				leaf("state/collecting", lacpBit(actor, 4, "false", "true")),
				leaf("state/distributing", lacpBit(actor, 5, "false", "true")),
				leaf("state/system-id", text(actor+"system")), leaf("state/oper-key", text(actor+"key")),
				leaf("state/port-num", text(actor+"port")), leaf("state/port-priority", text(actor+"port_priority")),
				leaf("state/partner-id", text(partner+"system")), leaf("state/partner-key", text(partner+"key")),
				leaf("state/partner-port-num", text(partner+"port")),
				leaf("state/partner-port-priority", text(partner+"port_priority")),
			}},
			{DB: swss.CountersDB, Table: schema.CountersLACP, Key: "{name}:{interface}", Counter: true, Leaves: []tree.Leaf{
				leaf("state/counters/lacp-in-pkts", text("lacpdu-received")),
				leaf("state/counters/lacp-out-pkts", text("lacpdu-sent")),
				leaf("state/counters/lacp-rx-errors", tree.Codec{Get: lacpLeftOut}),
				leaf("state/counters/lacp-timeout-transitions", text("expired")),
			}},
		}},
	}}
}

// speaksLACP reports whether a row is one of a PortChannel that speaks LACP: all do, unless they are static.
func speaksLACP(fields map[string]string) bool { return fields["static"] != "true" }

// lacpInterval returns the codec of the interval of LACP frames; SLOW if the row has no value.
func lacpInterval(field string) tree.Codec {
	return words(field, "SLOW", "FAST", "true", "SLOW", "false")
}

// lacpBit returns the codec of one bit of a system's LACP state, as a word.
func lacpBit(who string, bit int, zero, one string) tree.Codec {
	return tree.Codec{Get: func(r tree.Record) []string {
		state, err := strconv.ParseUint(r.Field(who+"state"), 10, 8)
		switch {
		case err != nil:
			return nil
		case state>>bit&1 == 1:
			return []string{one}
		}
		return []string{zero}
	}}
}

// lacpLeftOut returns the sum of the discarded frames, whatever the reason, or nil if one of the counts is unknown.
func lacpLeftOut(r tree.Record) []string {
	sum, known := uint64(0), false
	for name, text := range r.Fields {
		if !strings.HasPrefix(name, "discarded-") {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil
		}
		sum, known = sum+n, true
	}
	if !known {
		return nil
	}
	return tree.One(strconv.FormatUint(sum, 10))
}
