package tammgr

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/cfgmgr/forward"
	"tamtam/schema"
	"tamtam/swss"
)

// groupRow is a row of TAM_FLOWGROUP_TABLE.
type groupRow struct {
	group  schema.FlowGroup
	err    error
	valid  bool   // sessions may use it
	reason string // why they may not
}

func (m *Manager) flowGroup(key string, fields swss.FieldValues) {
	if old := m.groups[key]; old != nil {
		m.groupsOfTable.remove(old.group.Table, key)
		m.unclaim(old.group.ID, key)
		delete(m.groups, key)
	}
	if fields != nil {
		g, err := schema.ParseFlowGroup(key, fields)
		m.groups[key] = &groupRow{group: g, err: err}
		if err == nil {
			m.groupsOfTable.add(g.Table, key)
			m.claim(g.ID, key)
		}
	}
	m.mark(kindGroup, key)
}

// claim enters a valid row's wish for an id.
func (m *Manager) claim(id uint32, key string) {
	if id == 0 {
		return
	}
	if m.claims[id] == nil {
		m.claims[id] = set{}
	}
	m.claims[id][key] = struct{}{}
	m.claimsChanged[id] = struct{}{}
}

func (m *Manager) unclaim(id uint32, key string) {
	if _, ok := m.claims[id][key]; !ok {
		return
	}
	delete(m.claims[id], key)
	if len(m.claims[id]) == 0 {
		delete(m.claims, id)
	}
	m.claimsChanged[id] = struct{}{}
}

// owner is the flow group that has an id: of those that want it the first.
func (m *Manager) owner(id uint32) string {
	if w, ok := m.winner[id]; ok {
		return w
	}
	first := ""
	for key := range m.claims[id] {
		if first == "" || schema.CompareNames(key, first) < 0 {
			first = key
		}
	}
	m.winner[id] = first
	return first
}

func (m *Manager) settleGroup(key string) {
	state := forward.Row{Table: schema.StateTAMFlowGroup, Key: key}
	m.markAll(kindSession, m.sessionsOfGroup[key])
	m.markAll(kindAltMark, m.altMarksOfGroup[key])
	m.markAll(kindTask, m.tasksOfGroup[key])
	m.markAll(kindRecord, m.recordsOfGroup[key])
	row := m.groups[key]
	if row == nil {
		m.book.Forget(state)
		return
	}
	status, reason := m.checkGroup(key, row)
	row.valid, row.reason = status == "", reason
	if status == "" {
		status, reason = m.groupRule(row.group)
		// Sessions may come before the rule; they need not wait to hear from
		// orchagent that a rule which cannot be applied is not there.
		if rule := m.rules[row.group.Rule().Config()]; rule != nil && !rule.usable {
			row.valid, row.reason = false, reason
		}
	}
	m.book.Tell(state, status, reason)
}

// checkGroup returns no status for a group that sessions may use.
func (m *Manager) checkGroup(key string, row *groupRow) (status, reason string) {
	if row.err != nil {
		return schema.StatusFailed, schema.Reason(row.err)
	}
	if id := row.group.ID; id != 0 && m.owner(id) != key {
		return schema.StatusFailed, fmt.Sprintf("id %d is already used by flow group %q", id, m.owner(id))
	}
	typ, reason := m.usableTable(row.group.Table)
	if reason != "" {
		return schema.StatusPending, reason
	}
	if typ.Name != schema.ACLTypeTAM {
		return schema.StatusPending, fmt.Sprintf("ACL table %q is of type %s: want type %s", row.group.Table, typ.Name, schema.ACLTypeTAM)
	}
	return "", ""
}

// groupRule says whether a valid group's match is there.
func (m *Manager) groupRule(g schema.FlowGroup) (status, reason string) {
	row := m.rules[g.Rule().Config()]
	switch {
	case row == nil:
		return schema.StatusPending, fmt.Sprintf("no ACL rule %s", g.Rule())
	case !row.usable:
		return schema.StatusPending, fmt.Sprintf("ACL rule %s: %s", g.Rule(), row.reason)
	default:
		return schema.StatusActive, ""
	}
}

// sessionRow is a row of TAM_TAILSTAMPING_TABLE.
type sessionRow struct {
	session schema.TailStampSession
	err     error
}

func (m *Manager) session(key string, fields swss.FieldValues) {
	if old := m.sessions[key]; old != nil {
		m.sessionsOfGroup.remove(old.session.FlowGroup, key)
		delete(m.sessions, key)
	}
	if fields != nil {
		s, err := schema.ParseTailStampSession(key, fields)
		m.sessions[key] = &sessionRow{s, err}
		m.sessionsOfGroup.add(s.FlowGroup, key)
	}
	m.mark(kindSession, key)
	m.checkTAM(schema.TAMTable)
}

func (m *Manager) settleSession(key string) {
	appl := forward.Row{Table: schema.AppTAMTailStamp, Key: key}
	state := forward.Row{Table: schema.StateTAMTailStamp, Key: key}
	row := m.sessions[key]
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
	if reasons := m.needs(schema.FeatureTailStamping, row.session.FlowGroup); len(reasons) > 0 {
		m.book.Drop(appl)
		m.book.Tell(state, schema.StatusPending, strings.Join(reasons, "; "))
		return
	}
	flow := schema.TailStampFlow{Name: key, Rule: m.groups[row.session.FlowGroup].group.Rule()}
	m.book.Forward(appl, flow.Fields(), state)
}

// needs lists what a valid session of a feature lacks.
func (m *Manager) needs(feature, group string) []string {
	var out []string
	switch g := m.groups[group]; {
	case g == nil:
		out = append(out, fmt.Sprintf("flow group %q does not exist", group))
	case !g.valid:
		out = append(out, fmt.Sprintf("flow group %q: %s", group, g.reason))
	}
	if _, ok := m.active[feature]; !ok {
		out = append(out, fmt.Sprintf("feature %s is not active", feature))
	}
	return slices.Clip(out)
}
