package tammgr

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// tableType returns a table type, or the reason why it cannot be used. A row of the type TAM limits its matches.
func (m *Manager) tableType(name string) (typ schema.ACLTableType, reason string) {
	row := m.rows[kindType][name]
	typ, builtin := schema.BuiltinACLType(name)
	switch {
	case builtin && (row == nil || name != schema.ACLTypeTAM):
		return typ, ""
	case row == nil:
		return typ, fmt.Sprintf("ACL table type %q does not exist", name)
	case row.err != nil:
		return typ, fmt.Sprintf("ACL table type %q is not valid: %s", name, schema.Reason(row.err))
	default:
		return row.content.(plain[schema.ACLTableType]).row, ""
	}
}

// tableRow is a row of ACL_TABLE.
type tableRow struct {
	table schema.ACLTable
	err   error
}

func (m *Manager) aclTable(key string, fields swss.FieldValues) {
	if old := m.tables[key]; old != nil {
		m.users.remove(id{kindType, old.table.Type}, id{kindTable, key})
		for _, p := range old.table.Ports {
			m.users.remove(id{kindPort, p}, id{kindTable, key})
		}
		delete(m.tables, key)
	}
	if fields != nil {
		table, err := schema.ParseACLTable(key, fields)
		m.tables[key] = &tableRow{table, err}
		m.users.add(id{kindType, table.Type}, id{kindTable, key})
		for _, p := range table.Ports {
			m.users.add(id{kindPort, p}, id{kindTable, key})
		}
	}
	m.mark(kindTable, key)
}

// table returns an ACL table, or nil. The table of flow groups exists even if it is not configured.
func (m *Manager) table(key string) *tableRow {
	if row := m.tables[key]; row != nil || key != schema.TAMTable {
		return row
	}
	return &tableRow{table: schema.ImplicitTAMTable()}
}

// needsTAM reports whether the implicit table TAM is needed.
func (m *Manager) needsTAM() bool { return m.ofTAM > 0 }

func (m *Manager) decideTable(key string) {
	appl := forward.Row{Table: schema.AppACLTable, Key: key}
	state := forward.Row{Table: schema.StateACLTable, Key: key}
	row := m.table(key)
	if m.tables[key] == nil && !m.needsTAM() {
		row = nil
	}
	m.markUsers(id{kindTable, key})
	if row == nil {
		m.out.Drop(appl)
		m.out.Unreport(state)
		return
	}
	_, missing := m.tableType(row.table.Type)
	switch {
	case row.err != nil:
		m.out.Drop(appl)
		m.out.Report(state, schema.ACLInactive, schema.Reason(row.err))
	case missing != "":
		m.out.Drop(appl)
		m.out.Report(state, schema.ACLPendingCreation, missing)
	case row.table.Type == schema.ACLTypeControlPlane:
		m.out.Drop(appl)
		m.out.Report(state, schema.ACLActive, "a control plane ACL is kept out of the ASIC")
	default:
		// A port that does not exist yet is bound when it appears, as in SONiC.
		t := row.table
		t.Ports, _ = m.ports.resolveAll(t.Ports)
		m.out.Forward(appl, t.Fields(), state)
	}
}

// usableTable returns the type of a table whose rules can be applied, or the reason why they cannot.
func (m *Manager) usableTable(key string) (typ schema.ACLTableType, reason string) {
	row := m.table(key)
	if row == nil {
		return typ, fmt.Sprintf("ACL table %q does not exist", key)
	}
	if row.err != nil {
		return typ, fmt.Sprintf("ACL table %q is not valid: %s", key, schema.Reason(row.err))
	}
	typ, reason = m.tableType(row.table.Type)
	if reason != "" {
		reason = fmt.Sprintf("ACL table %q: %s", key, reason)
	}
	return typ, reason
}

// ruleRow is a row of ACL_RULE.
type ruleRow struct {
	key    schema.ACLRuleKey
	fields []swss.Pair
	ports  []string // as written
	usable bool     // true if the rule is forwarded
	reason string   // why the rule is not forwarded
}

func (m *Manager) aclRule(key string, fields swss.FieldValues) {
	k, ok := schema.ParseACLRuleKey(key)
	row := m.rules[key]
	switch {
	case row == nil && fields != nil:
		row = &ruleRow{key: k}
		m.rules[key] = row
		if ok {
			m.ruleOfTable(k.Table, key, 1)
		}
	case row != nil && fields == nil:
		m.forgetPorts(row)
		m.ruleOfTable(k.Table, key, -1)
		delete(m.rules, key)
	}
	if row != nil {
		row.fields = swss.Pairs(fields)
	}
	m.mark(kindRule, key)
	m.checkTAM(k.Table)
}

// ruleOfTable records that a table has a rule. With n = -1 it removes the record.
func (m *Manager) ruleOfTable(table, rule string, n int) {
	if n > 0 {
		m.users.add(id{kindTable, table}, id{kindRule, rule})
	} else {
		m.users.remove(id{kindTable, table}, id{kindRule, rule})
	}
	if table == schema.TAMTable {
		m.ofTAM += n
	}
}

// checkTAM marks the implicit table TAM dirty when it must be created or removed.
func (m *Manager) checkTAM(table string) {
	appl := forward.Row{Table: schema.AppACLTable, Key: schema.TAMTable}
	if table == schema.TAMTable && m.tables[schema.TAMTable] == nil && m.needsTAM() != (m.out.Written(appl) != nil) {
		m.mark(kindTable, schema.TAMTable)
	}
}

func (m *Manager) decideRule(key string) {
	row := m.rules[key]
	k, ok := schema.ParseACLRuleKey(key)
	appl := forward.Row{Table: schema.AppACLRule, Key: k.Appl()}
	state := forward.Row{Table: schema.StateACLRule, Key: key}
	if group, of := schema.TAMGroupOf(k.Table); of {
		m.markUsers(id{kindGroup, group})
	}
	if ok && m.groups[k.Rule] != nil && m.groups[k.Rule].group.Table == k.Table {
		m.mark(kindGroup, k.Rule)
	}
	if row == nil {
		m.out.Drop(appl)
		m.out.Unreport(state)
		return
	}
	rule, status, reason := m.checkedRule(key, row)
	row.usable, row.reason = status == "", reason
	switch status {
	case "":
		m.out.Forward(appl, rule.Fields(), state)
	default:
		m.out.Drop(appl)
		m.out.Report(state, status, reason)
	}
}

// checkedRule returns the rule to forward, or a status and the reason why there is none.
func (m *Manager) checkedRule(key string, row *ruleRow) (rule schema.ACLRule, status, reason string) {
	m.forgetPorts(row)
	if _, ok := schema.ParseACLRuleKey(key); !ok {
		_, err := schema.ParseACLRule(schema.ACLTableType{Name: schema.ACLTypeTAM}, key, nil)
		return rule, schema.ACLInactive, schema.Reason(err)
	}
	typ, reason := m.usableTable(row.key.Table)
	if reason != "" {
		return rule, schema.ACLPendingCreation, reason
	}
	rule, err := schema.ParseACLRule(typ, key, swss.ToFieldValues(row.fields))
	if err != nil {
		return rule, schema.ACLInactive, schema.Reason(err)
	}
	m.notePorts(row, rule)
	var missing []string
	for i := range rule.Matches {
		var lost []string
		rule.Matches[i].Ports, lost = m.ports.resolveAll(rule.Matches[i].Ports)
		missing = append(missing, lost...)
	}
	for i, a := range rule.Actions {
		rule.Actions[i].Redirect = m.resolveRedirect(a.Redirect)
	}
	if len(missing) > 0 {
		return rule, schema.ACLPendingCreation, missingPorts(missing)
	}
	if typ.Name == schema.ACLTypeControlPlane {
		return rule, schema.ACLActive, "a control plane ACL is kept out of the ASIC"
	}
	return rule, "", ""
}

func missingPorts(names []string) string {
	const most = 8
	var parts []string
	for _, n := range names[:min(len(names), most)] {
		parts = append(parts, fmt.Sprintf("port %q does not exist", n))
	}
	if more := len(names) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("nor do %d more", more))
	}
	return strings.Join(parts, "; ")
}

func (m *Manager) resolveRedirect(r schema.Redirect) schema.Redirect {
	r.Name, _ = m.ports.resolve(r.Name)
	r.NextHops = slices.Clone(r.NextHops)
	for i, h := range r.NextHops {
		r.NextHops[i].Interface, _ = m.ports.resolve(h.Interface)
	}
	return r
}

// notePorts records the port names in the rule as they are written.
func (m *Manager) notePorts(row *ruleRow, rule schema.ACLRule) {
	for _, match := range rule.Matches {
		row.ports = append(row.ports, match.Ports...)
	}
	for _, a := range rule.Actions {
		if a.Redirect.Name != "" {
			row.ports = append(row.ports, a.Redirect.Name)
		}
		for _, h := range a.Redirect.NextHops {
			row.ports = append(row.ports, h.Interface)
		}
	}
	for _, p := range row.ports {
		m.users.add(id{kindPort, p}, id{kindRule, row.key.Config()})
	}
}

func (m *Manager) forgetPorts(row *ruleRow) {
	for _, p := range row.ports {
		m.users.remove(id{kindPort, p}, id{kindRule, row.key.Config()})
	}
	row.ports = nil
}
