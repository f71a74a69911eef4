package tammgr

import (
	"cmp"
	"fmt"

	"tamtam/swss/schema"
)

// dropSession is a row of TAM_SESSION.
type dropSession struct{ schema.DropSession }

func (s dropSession) refs() refs {
	return refs{group: s.FlowGroup, collectors: s.Collectors, sampler: s.Sampler}
}

// described returns the description in its status row.
func (s dropSession) described() map[string]string { return s.Described() }

// check requires collectors that accept IPFIX over UDP, the rules of the flow group, and the sampler.
func (s dropSession) check(m *Manager) (wrong string, lacks []string) {
	return checkReporting(m, s.refs())
}

// checkReporting checks the rows that a reporting session names.
func checkReporting(m *Manager, r refs) (wrong string, lacks []string) {
	for _, name := range r.collectors {
		c, missing := m.collector(name)
		if missing == nil && c.Protocol != schema.ProtocolUDP {
			return fmt.Sprintf("collector %q: protocol %q: want %s: the switch sends reports by it", name, c.Protocol,
				schema.ProtocolUDP), nil
		}
		lacks = append(lacks, missing...)
	}
	if r.group != "" {
		rules, reason := m.flowRules(r.group)
		if n := len(rules); n > schema.MaxDropRules {
			return fmt.Sprintf("flow group %q has %d rules: want at most %d", r.group, n, schema.MaxDropRules), nil
		}
		if reason != "" {
			lacks = append(lacks, reason)
		}
	}
	if r.sampler != "" {
		lacks = append(lacks, m.missing(kindSampler, "sampler", r.sampler)...)
	}
	return "", lacks
}

func (s dropSession) appl(m *Manager, _ schema.ACLRuleKey) map[string]string {
	flow := schema.DropFlow{
		Name: s.Name, FlowGroup: s.FlowGroup, Collectors: s.Collectors, Sampler: s.Sampler, Sampling: rateOf(m, s.Sampler),
		OwnAging: s.Aging, Aging: s.Aging, DropSettings: s.DropSettings,
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

// rateOf returns the rate of a sampler. If there is none or it is invalid, the rate is 1, which means every packet.
func rateOf(m *Manager, sampler string) uint32 {
	if r, ok := m.valid(kindSampler, sampler).(plain[schema.Sampler]); ok {
		return r.row.Rate
	}
	return 1
}
