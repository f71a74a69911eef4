package models

import (
	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

// ifaModule returns the mapping of tamtam-ifa.
func ifaModule() tree.Module {
	const session = "{name}"
	sessions := schema.TablesOf(schema.CfgTAMSession)[1] // the first one is the drop monitor's
	entry := configRow(sessions, session)
	entry.New = map[string]string{"type": schema.SessionIFA}
	return tree.Module{Name: "tamtam-ifa", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			countersRow(schema.CountersIFATransit, schema.TAMDeviceKey, "tam/ifa-transit/state/counters"),
		}},
		{Path: "/tam/ifa-sessions/ifa-session", Is: ofType(schema.SessionIFA), Refs: map[string][]string{
			"config/flow-group": {"/tam/match-groups/match-group", "/tam/flowgroups/flowgroup"},
			"config/collector":  {"/tam/report-collectors/report-collector", "/tam/collectors/collector"},
		}, Rows: []tree.Row{
			entry, appliedRow(sessions, session, wantedIFA), stateRow(schema.StateTAMIFA, session, "state"),
			countersRow(schema.CountersIFA, session, "state/counters"),
		}},
	}}
}

// wantedIFA returns the target state of a session, without the fields from its flow group and its sampler.
func wantedIFA(c tree.Configured) (map[string]string, error) {
	s, err := schema.ParseIFASession(c.Name(), c.Row(schema.CfgTAMSession))
	if err != nil {
		return nil, err
	}
	return schema.IFAFlow{
		Name: s.Name, FlowGroup: s.FlowGroup, Collectors: s.Collectors, Sampler: s.Sampler, Sampling: 1,
		IFASettings: s.IFASettings,
	}.Fields(), nil
}
