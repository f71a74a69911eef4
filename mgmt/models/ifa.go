package models

import (
	"strings"

	"tamtam/mgmt/tree"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// ifaModule is tamtam-ifa in the databases.
func ifaModule() tree.Module {
	const session = "{name}"
	return tree.Module{Name: "tamtam-ifa", Groups: []tree.Group{
		{Path: "/", Rows: []tree.Row{
			{DB: swss.CountersDB, Table: schema.CountersIFATransit, Key: schema.TAMDeviceKey, Counter: true,
				Leaves: ifaCounters("tam/ifa-transit/")},
		}},
		{Path: "/tam/ifa-sessions/ifa-session", Is: ofType(schema.SessionIFA), Refs: map[string][]string{
			"config/flow-group": {"/tam/match-groups/match-group", "/tam/flowgroups/flowgroup"},
			"config/collector":  {"/tam/report-collectors/report-collector", "/tam/collectors/collector"},
		}, Rows: []tree.Row{
			{DB: swss.ConfigDB, Table: schema.CfgTAMSession, Key: session, Entry: true,
				New: map[string]string{"type": schema.SessionIFA}, Leaves: ifaLeaves("config")},
			{DB: swss.ApplDB, Table: schema.AppTAMIFA, Key: session, Behind: "state/not-in-force", Wanted: wantedIFA,
				Leaves: append(ifaLeaves("state"), leaf("state/sampling-rate", text("sampling-rate")))},
			stateRow(schema.StateTAMIFA, session, "state"),
			{DB: swss.CountersDB, Table: schema.CountersIFA, Key: session, Counter: true, Leaves: ifaCounters("")},
		}},
	}}
}

// ifaLeaves are those of both rows of a session.
func ifaLeaves(at string) []tree.Leaf {
	return []tree.Leaf{
		leaf(at+"/role", text("role")), leaf(at+"/flow-group", text("flow_group")), leaf(at+"/collector", list("collector")),
		leaf(at+"/sampler", text("sampler")), leaf(at+"/hop-limit", text("hop_limit")),
		leaf(at+"/max-length", text("max_length")),
		leaf(at+"/template-interval", text("template_interval")),
	}
}

// ifaCounters are the counters of a row.
func ifaCounters(at string) (leaves []tree.Leaf) {
	for _, name := range []string{
		"matched", "unsampled", "already", "absent", "inserted", "stripped", "cut", "unsupported", "hop-limit", "max-length",
		"mtu", "reported", "messages", "unsendable", "lost",
		"counted-since",
	} {
		field := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		leaves = append(leaves, leaf(at+"state/counters/"+name, text(field)))
	}
	return leaves
}

// wantedIFA is a session without what its flow group and its sampler add.
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
