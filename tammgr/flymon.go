package tammgr

import (
	"fmt"
	"strings"

	"tamtam/cfgmgr/forward"
	"tamtam/schema"
	"tamtam/swss"
)

// taskRow is a row of TAM_FLYMON_TASK_TABLE.
type taskRow struct {
	task schema.FlyMonTask
	err  error
}

func (m *Manager) task(key string, fields swss.FieldValues) {
	if old := m.tasks[key]; old != nil {
		m.tasksOfGroup.remove(old.task.FlowGroup, key)
		delete(m.tasks, key)
	}
	if fields != nil {
		t, err := schema.ParseFlyMonTask(key, fields)
		m.tasks[key] = &taskRow{t, err}
		if t.FlowGroup != "" {
			m.tasksOfGroup.add(t.FlowGroup, key)
		}
	}
	m.mark(kindTask, key)
	m.checkTAM(schema.TAMTable)
}

// settleTask forwards a task with the match of its flow group as filter. A task
// takes no ACL entry: flow groups of higher priority take no packets from it.
func (m *Manager) settleTask(key string) {
	appl := forward.Row{Table: schema.AppTAMFlyMonTask, Key: key}
	state := forward.Row{Table: schema.StateTAMFlyMonTask, Key: key}
	row := m.tasks[key]
	if row == nil {
		m.book.Drop(appl)
		m.book.Forget(state)
		return
	}
	if row.err != nil {
		m.book.Drop(appl)
		m.book.Tell(state, schema.StatusFailed, schema.Reason(row.err))
		return
	}
	t := row.task
	var reasons []string
	if _, ok := m.active[schema.FeatureFlyMon]; !ok {
		reasons = append(reasons, fmt.Sprintf("feature %s is not active", schema.FeatureFlyMon))
	}
	if t.FlowGroup != "" {
		reasons = append(m.lacks(t.FlowGroup), reasons...)
		if rule := m.ruleOf(t.FlowGroup); rule != nil {
			var err error
			if t.Filter, err = schema.FlyMonFilter(rule.rule); err != nil {
				m.book.Drop(appl)
				m.book.Tell(state, schema.StatusFailed, fmt.Sprintf("flow group %q: %s", t.FlowGroup, schema.Reason(err)))
				return
			}
		}
	}
	if len(reasons) > 0 {
		m.book.Drop(appl)
		m.book.Tell(state, schema.StatusPending, strings.Join(reasons, "; "))
		return
	}
	m.book.Forward(appl, schema.FlyMonFlow{Name: key, Of: t.FlowGroup, Task: t.Task}.Fields(), state)
}

// lacks says why a flow group's match cannot be a task's filter.
func (m *Manager) lacks(group string) []string {
	switch g := m.groups[group]; {
	case g == nil:
		return []string{fmt.Sprintf("flow group %q does not exist", group)}
	case !g.valid:
		return []string{fmt.Sprintf("flow group %q: %s", group, g.reason)}
	case m.ruleOf(group) == nil:
		return []string{fmt.Sprintf("flow group %q: no ACL rule %s", group, g.group.Rule())}
	}
	return nil
}

// ruleOf is the rule of a valid flow group; nil if there is none that can be used.
func (m *Manager) ruleOf(group string) *ruleRow {
	g := m.groups[group]
	if g == nil || !g.valid {
		return nil
	}
	if rule := m.rules[g.group.Rule().Config()]; rule != nil && rule.usable {
		return rule
	}
	return nil
}

func (m *Manager) settleQuery(key string) {
	appl := forward.Row{Table: schema.AppTAMFlyMonQuery, Key: key}
	state := forward.Row{Table: schema.StateTAMFlyMonQuery, Key: key}
	fields, ok := m.plain[kindQuery][key]
	if !ok {
		m.book.Drop(appl)
		m.book.Forget(state)
		return
	}
	q, err := schema.ParseFlyMonQuery(key, fields)
	if err != nil {
		m.book.Drop(appl)
		m.book.Tell(state, schema.StatusFailed, schema.Reason(err))
		return
	}
	m.book.Forward(appl, q.Fields(), state)
}
