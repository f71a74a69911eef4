package mgmt

import (
	"strconv"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
)

// writtenInAggregation says where what openconfig-lacp has as configuration is written.
const writtenInAggregation = "it is written in /interfaces/interface/aggregation"

const lacpPath = "/lacp/interfaces/interface"

// lacpModule is openconfig-lacp in the databases: the port channels that speak it, as whoever speaks it tells.
func lacpModule() Module {
	const actor, partner = "runner.actor_lacpdu_info.", "runner.partner_lacpdu_info."
	// What was said of another of that name, before, counts for nothing.
	const lagRow = schema.AppLAG + " " + schema.FieldIncarnation
	const memberKey = "{name}|{interface}"
	const memberRow = schema.AppLAGMember + " " + schema.FieldIncarnation
	return Module{Name: "openconfig-lacp", Groups: []Group{
		{Path: lacpPath, View: writtenInAggregation, Rows: []Row{
			{DB: swss.ApplDB, Table: schema.AppLAG, Key: "{name}"},
			{DB: swss.StateDB, Table: schema.StateLACP, Key: "{name}", Entry: true, Of: lagRow, Leaves: []Leaf{
				{"config/lacp-mode", constant("ACTIVE")}, {"state/lacp-mode", constant("ACTIVE")},
				{"state/interval", lacpInterval("runner.fast_rate")}, {"state/fallback", text("runner.fallback")},
				{"state/system-id-mac", text("team_device.ifinfo.dev_addr")},
			}},
			{DB: swss.ConfigDB, Table: schema.CfgPortChannel, Key: "{name}", Leaves: []Leaf{
				{"config/interval", readOnly(lacpInterval("fast_rate"))},
				{"config/fallback", readOnly(orElse(text("fallback"), "false"))},
				{"config/system-id-mac", readOnly(text("system_mac"))},
			}},
		}},
		{Path: lacpPath + "/members/member", View: writtenInAggregation, Rows: []Row{
			{DB: swss.ApplDB, Table: schema.AppLAGMember, Key: "{name}:{interface}"},
			{DB: swss.StateDB, Table: schema.StateLACPMember, Key: memberKey, Entry: true, Of: memberRow, Leaves: []Leaf{
				{"state/activity", lacpBit(actor, 0, "PASSIVE", "ACTIVE")}, {"state/timeout", lacpBit(actor, 1, "LONG", "SHORT")},
				{"state/aggregatable", lacpBit(actor, 2, "false", "true")},
				{"state/synchronization", lacpBit(actor, 3, "OUT_SYNC", "IN_SYNC")},
				{"state/collecting", lacpBit(actor, 4, "false", "true")},
				{"state/distributing", lacpBit(actor, 5, "false", "true")},
				{"state/system-id", text(actor + "system")}, {"state/oper-key", text(actor + "key")},
				{"state/port-num", text(actor + "port")}, {"state/port-priority", text(actor + "port_priority")},
				{"state/partner-id", text(partner + "system")}, {"state/partner-key", text(partner + "key")},
				{"state/partner-port-num", text(partner + "port")},
				{"state/partner-port-priority", text(partner + "port_priority")},
			}},
			{DB: swss.CountersDB, Table: schema.CountersLACP, Key: "{name}:{interface}", Counter: true, Leaves: []Leaf{
				{"state/counters/lacp-in-pkts", text("lacpdu-received")}, {"state/counters/lacp-out-pkts", text("lacpdu-sent")},
				{"state/counters/lacp-rx-errors", Codec{Get: lacpLeftOut}},
				{"state/counters/lacp-timeout-transitions", text("expired")},
			}},
		}},
	}}
}

// lacpInterval is how often the partner is asked to speak; SLOW where the row does not say.
func lacpInterval(field string) Codec { return words(field, "SLOW", "FAST", "true", "SLOW", "false") }

// lacpBit is a bit of what a system says of itself in LACP, in words.
func lacpBit(who string, bit int, zero, one string) Codec {
	return Codec{Get: func(r Record) []string {
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

// lacpLeftOut adds up the frames that were left out, whatever the reason; none if one of the counts is not known.
func lacpLeftOut(r Record) []string {
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
	return one(strconv.FormatUint(sum, 10))
}
