package tammgr

import (
	"fmt"

	"tamtam/swss/schema"
	"tamtam/tam/flymon"
)

// task is a row of TAM_FLYMON_TASK_TABLE. It is forwarded with the match of its flow group as filter, and uses no ACL
// entry. So a flow group of higher priority does not hide packets from the task.
type task struct {
	schema.FlyMonTask
	key string
}

func (t task) refs() refs { return refs{group: t.FlowGroup} }

// filter returns the match of the flow group, or the row's own filter if the rule does not exist.
func (t task) filter(m *Manager) (f flymon.Filter, err error) {
	if rule := m.ruleOf(t.FlowGroup); rule != nil {
		match, _, _ := m.checkedRule(rule.key.Config(), rule)
		return schema.FlyMonFilter(match)
	}
	return t.Filter, nil
}

func (t task) check(m *Manager) (wrong string, lacks []string) {
	if _, err := t.filter(m); err != nil {
		return fmt.Sprintf("flow group %q: %s", t.FlowGroup, schema.Reason(err)), nil
	}
	return "", nil
}

func (t task) appl(m *Manager, _ schema.ACLRuleKey) map[string]string {
	t.Filter, _ = t.filter(m)
	return schema.FlyMonFlow{Name: t.key, Of: t.FlowGroup, Task: t.Task}.Fields()
}

// ruleOf returns the rule of a valid flow group, or nil if no rule can be used.
func (m *Manager) ruleOf(group string) *ruleRow {
	if g := m.groups[group]; g != nil && !g.valid {
		return nil
	}
	rules, _ := m.flowRules(group)
	if len(rules) != 1 {
		return nil
	}
	if rule := m.rules[rules[0].Config()]; rule != nil && rule.usable {
		return rule
	}
	return nil
}
