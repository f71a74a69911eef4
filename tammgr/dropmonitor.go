package tammgr

import (
	"cmp"
	"fmt"

	"tamtam/schema"
)

// dropSession is a row of TAM_SESSION.
type dropSession struct{ schema.DropSession }

func (s dropSession) refs() refs {
	return refs{group: s.FlowGroup, collectors: s.Collectors, sampler: s.Sampler}
}

// check requires collectors that take IPFIX by UDP, the rules of the flow group, and the sampler.
func (s dropSession) check(m *Manager) (wrong string, lacks []string) {
	for _, name := range s.Collectors {
		c, missing := m.collector(name)
		if missing == nil && c.Protocol != schema.ProtocolUDP {
			return fmt.Sprintf("collector %q: protocol %q: want %s: the switch sends reports by it", name, c.Protocol,
				schema.ProtocolUDP), nil
		}
		lacks = append(lacks, missing...)
	}
	if s.FlowGroup != "" {
		rules, reason := m.flowRules(s.FlowGroup)
		if n := len(rules); n > schema.MaxDropRules {
			reason = fmt.Sprintf("flow group %q has %d rules: want at most %d", s.FlowGroup, n, schema.MaxDropRules)
		}
		if reason != "" {
			lacks = append(lacks, reason)
		}
	}
	if s.Sampler != "" {
		lacks = append(lacks, m.missing(kindSampler, "sampler", s.Sampler)...)
	}
	return "", lacks
}

func (s dropSession) appl(m *Manager, _ schema.ACLRuleKey) map[string]string {
	flow := schema.DropFlow{
		Name: s.Name, FlowGroup: s.FlowGroup, Collectors: s.Collectors, Sampler: s.Sampler, Sampling: 1,
		OwnAging: s.Aging, Aging: s.Aging, DropSettings: s.DropSettings,
	}
	if r, ok := m.valid(kindSampler, s.Sampler).(plain[schema.Sampler]); ok {
		flow.Sampling = r.row.Rate
	}
	if s.FlowGroup != "" {
		flow.Rules, _ = m.flowRules(s.FlowGroup)
	}
	if g, ok := m.valid(kindTAMGroup, s.FlowGroup).(tamGroup); ok && m.groups[s.FlowGroup] == nil {
		flow.Aging = cmp.Or(flow.Aging, g.Aging)
	}
	flow.Aging = cmp.Or(flow.Aging, schema.DefaultAging)
	return flow.Fields()
}
