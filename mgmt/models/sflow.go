package models

import (
	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// sflowModule returns the mapping of tamtam-sflow.
func sflowModule() tree.Module {
	const name, rule = "{name}", "{table-name}|{rule-name}"
	all, collector := schema.TableOf(schema.CfgSFlow), schema.TableOf(schema.CfgSFlowCollector)
	session := schema.TableOf(schema.CfgSFlowSession)
	return tree.Module{Name: "tamtam-sflow", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgSFlow, Key: schema.SFlowGlobal,
				Leaves: fieldLeaves("sflow/config", all.Fields, nil)},
			{DB: swss.ApplDB, Table: schema.AppSFlow, Key: schema.SFlowGlobal, Behind: "sflow/state/not-in-force",
				Wanted: wantedSFlow, Leaves: fieldLeaves("sflow/state", all.Fields, nil)},
			stateRow(schema.AppSFlow, schema.SFlowGlobal, "sflow/state"),
			{DB: swss.CountersDB, Table: schema.CountersSFlow, Key: schema.SFlowAgent, Counter: true, Leaves: append(
				numbers("sflow/state/counters", "datagrams", "flow-samples", "counter-samples", "discards",
					"discards-suppressed", "drop-too-long", "drop-unknown-port", "drop-queue-full"),
				leaf("sflow/state/agent-address", readOnly(text(schema.SFlowAddress))))},
		}},
		{Path: "/sflow/collectors/collector", Rows: []tree.Row{
			configRow(collector, name),
			appliedRow(collector, name,
				wanted(schema.CfgSFlowCollector, schema.ParseSFlowCollector, schema.SFlowCollector.Fields)),
			{DB: swss.CountersDB, Table: schema.CountersSFlowCollector, Key: name, Counter: true, Leaves: append(
				numbers("state/counters", schema.SFlowDatagrams, "bytes", "errors"),
				leaf("state/last-error", readOnly(text(schema.SFlowLastError))))},
		}},
		{Path: "/sflow/sessions/session", Rows: []tree.Row{
			configRow(session, name),
		}},
		{Path: "/sflow/interfaces/interface", Rows: []tree.Row{
			{DB: swss.ApplDB, Table: schema.AppSFlowSession, Key: name, Entry: true,
				Leaves: fieldLeaves("state", session.Applied, nil)},
			stateRow(schema.AppSFlowSession, name, "state"),
		}},
		{Path: "/sflow/rules/rule", Is: samples, Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgACLRule, Key: rule, Entry: true},
			{DB: swss.ApplDB, Table: schema.AppACLRule, Key: "{table-name}:{rule-name}", Leaves: []tree.Leaf{
				leaf("state/ingress-sample-rate", readOnly(text(schema.ActionSampleIngress.String()))),
				leaf("state/egress-sample-rate", readOnly(text(schema.ActionSampleEgress.String()))),
			}},
			stateRow(schema.StateACLRule, rule, "state"),
			{DB: swss.CountersDB, Table: schema.CountersSFlowRule, Key: rule, Counter: true, Leaves: append(
				numbers("state/counters", "sample-pool", "flow-samples", "drops"),
				leaf("state/data-source", readOnly(text(schema.SFlowSource))))},
		}},
	}}
}

// samples reports whether an ACL rule has a sampling action.
func samples(fields map[string]string) bool {
	r := tree.Record{Fields: fields}
	return r.Field(schema.ActionSampleIngress.String()) != "" || r.Field(schema.ActionSampleEgress.String()) != ""
}

// numbers returns leaves for fields of the same names; a value that is no number is omitted.
func numbers(at string, fields ...string) (list []tree.Leaf) {
	for _, f := range fields {
		list = append(list, leaf(at+"/"+f, readOnly(number(f, "%d"))))
	}
	return list
}

func wantedSFlow(c tree.Configured) (map[string]string, error) {
	row := c.Row(schema.CfgSFlow)
	if row == nil {
		return nil, nil
	}
	s, err := schema.ParseSFlow(schema.SFlowGlobal, row)
	return s.Fields(), err
}
