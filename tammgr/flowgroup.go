package tammgr

import (
	"fmt"

	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// groupRow is a row of TAM_FLOWGROUP_TABLE.
type groupRow struct {
	group  schema.FlowGroup
	err    error
	valid  bool   // true if sessions may use the group
	reason string // why sessions may not use the group
}

func (m *Manager) flowGroup(key string, fields swss.FieldValues) {
	if old := m.groups[key]; old != nil {
		m.users.remove(id{kindTable, old.group.Table}, id{kindGroup, key})
		m.ids.unclaim(old.group.ID, key)
		delete(m.groups, key)
	}
	if fields != nil {
		g, err := schema.ParseFlowGroup(key, fields)
		m.groups[key] = &groupRow{group: g, err: err}
		if err == nil {
			m.users.add(id{kindTable, g.Table}, id{kindGroup, key})
			m.ids.claim(g.ID, key)
		}
	}
	m.mark(kindGroup, key)
	m.markIfThere(kindTAMGroup, key)
}

// ids contains the ids that flow groups request, and the owner of each id.
type ids struct {
	wanted  map[uint32]orch.SmallSet[string]
	changed map[uint32]struct{}
	winner  map[uint32]string // the owners found in this pass
}

// claim records that a valid row requests an id.
func (x *ids) claim(id uint32, key string) {
	if id == 0 {
		return
	}
	x.wanted[id] = x.wanted[id].With(key)
	x.changed[id] = struct{}{}
}

func (x *ids) unclaim(id uint32, key string) {
	if !x.wanted[id].Has(key) {
		return
	}
	if x.wanted[id] = x.wanted[id].Without(key); x.wanted[id].Empty() {
		delete(x.wanted, id)
	}
	x.changed[id] = struct{}{}
}

// owner returns the flow group that owns an id: the first of those that request it.
func (x *ids) owner(id uint32) string {
	if w, ok := x.winner[id]; ok {
		return w
	}
	first := ""
	for key := range x.wanted[id].All() {
		if first == "" || schema.CompareNames(key, first) < 0 {
			first = key
		}
	}
	x.winner[id] = first
	return first
}

func (m *Manager) decideGroup(key string) {
	state := forward.Row{Table: schema.StateTAMFlowGroup, Key: key}
	m.markUsers(id{kindGroup, key})
	row := m.groups[key]
	if row == nil {
		m.out.Unreport(state)
		return
	}
	status, reason := m.checkGroup(key, row)
	row.valid, row.reason = status == "", reason
	if status == "" {
		status, reason = m.groupRule(row.group)
		// Sessions may exist before the rule. If the rule cannot be applied, they need not wait until orchagent reports
		// that it is missing.
		if rule := m.rules[row.group.Rule().Config()]; rule != nil && !rule.usable {
			row.valid, row.reason = false, reason
		}
	}
	m.out.Report(state, status, reason)
}

// checkGroup returns an empty status if sessions may use the group.
func (m *Manager) checkGroup(key string, row *groupRow) (status, reason string) {
	if row.err != nil {
		return schema.StatusFailed, schema.Reason(row.err)
	}
	if id := row.group.ID; id != 0 && m.ids.owner(id) != key {
		return schema.StatusFailed, fmt.Sprintf("id %d is already used by flow group %q", id, m.ids.owner(id))
	}
	typ, reason := m.usableTable(row.group.Table)
	if reason != "" {
		return schema.StatusPending, reason
	}
	if typ.Name != schema.ACLTypeTAM {
		return schema.StatusPending, fmt.Sprintf("ACL table %q is of type %s: want type %s",
			row.group.Table, typ.Name, schema.ACLTypeTAM)
	}
	return "", ""
}

// groupRule returns the status of a valid group, which depends on its rule: active if the rule is usable, otherwise
// pending.
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
