package tammgr

import (
	"fmt"

	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// tailStamp is a row of TAM_TAILSTAMPING_TABLE. If it clamps the MSS, it is forwarded with a filter for SYN segments:
// the reversed match of its flow group.
type tailStamp struct{ schema.TailStampSession }

func (s tailStamp) refs() refs { return refs{group: s.FlowGroup} }

// syns returns the filter, or the zero value if the flow group's rule does not exist.
func (s tailStamp) syns(m *Manager) (f flymon.Filter, err error) {
	if rule := m.ruleOf(s.FlowGroup); rule != nil {
		match, _, _ := m.checkedRule(rule.key.Config(), rule)
		return schema.ClampFilter(match)
	}
	return f, nil
}

func (s tailStamp) check(m *Manager) (wrong string, lacks []string) {
	if s.ClampMSS == 0 {
		return "", nil
	}
	if _, err := s.syns(m); err != nil {
		return fmt.Sprintf("flow group %q: %s", s.FlowGroup, schema.Reason(err)), nil
	}
	if m.lacks(s.FlowGroup, false) == nil {
		lacks = m.lacks(s.FlowGroup, true)
	}
	return "", lacks
}

func (s tailStamp) appl(m *Manager, rule schema.ACLRuleKey) map[string]string {
	flow := schema.TailStampFlow{Name: s.Name, Rule: rule, ClampMSS: s.ClampMSS}
	if s.ClampMSS > 0 {
		flow.SYNs, _ = s.syns(m)
	}
	return flow.Fields()
}
