package tammgr

import (
	"tamtam/swss"
	"tamtam/swss/schema"
)

// ifaSession is a row of TAM_SESSION of type ifa.
type ifaSession struct{ schema.IFASession }

func (s ifaSession) refs() refs {
	return refs{group: s.FlowGroup, collectors: s.Collectors, sampler: s.Sampler}
}

// check requires collectors that accept IPFIX over UDP, the rules of the flow group, and the sampler.
func (s ifaSession) check(m *Manager) (wrong string, lacks []string) {
	return checkReporting(m, s.refs())
}

func (s ifaSession) appl(m *Manager, _ schema.ACLRuleKey) map[string]string {
	flow := schema.IFAFlow{
		Name: s.Name, FlowGroup: s.FlowGroup, Collectors: s.Collectors, Sampler: s.Sampler,
		Sampling: rateOf(m, s.Sampler), IFASettings: s.IFASettings,
	}
	if s.FlowGroup != "" {
		flow.Rules, _ = m.flowRules(s.FlowGroup)
	}
	return flow.Fields()
}

// tamSessionRow returns the handler of rows of TAM_SESSION. Each type is a separate kind, and a row replaces one of
// another type.
func tamSessionRow(m *Manager) func(string, swss.FieldValues) {
	types := map[string]kind{schema.SessionDropMonitor: kindDrop, schema.SessionIFA: kindIFA}
	return func(key string, fields swss.FieldValues) {
		for name, k := range types {
			switch {
			case fields != nil && schema.SessionType(fields) == name:
				m.handler(k)(key, fields)
			case fields == nil || m.rows[k][key] != nil:
				m.handler(k)(key, nil)
			}
		}
	}
}
