package tammgr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// SONiC's own design of TAM has tables for objects that also have a table of ours. Both tables of such a pair define
// the same objects, and names are looked up in both. If both have a name with different contents, the row of SONiC's
// own design is refused. So the result depends on the existing rows, not on their order.

// tamDevice is the row TAM|device.
type tamDevice struct{ schema.TAMDevice }

func (tamDevice) refs() refs { return refs{} }

// check compares the ids with those of TAM_SWITCH_TABLE, which have precedence if both are given.
func (d tamDevice) check(m *Manager) (wrong string, lacks []string) {
	s := configuredSwitch(m)
	for _, id := range []struct {
		device, other string
		mine, its     uint32
	}{
		{"device-id", "switch-id", d.DeviceID, s.SwitchID},
		{"enterprise-id", "enterprise-id", d.EnterpriseID, s.EnterpriseID},
	} {
		if id.mine != 0 && id.its != 0 && id.mine != id.its {
			return fmt.Sprintf("%s %d: want %d, which %s|%s has as its %s, or one of the two rows alone", id.device, id.mine,
				id.its, schema.CfgTAMSwitch, schema.TAMGlobalKey, id.other), nil
		}
	}
	if d.IFA && d.DeviceID > schema.MaxIFADevice {
		return fmt.Sprintf("device-id %q: want at most %d with ifa: a hop has 20 bits for it", strconv.Itoa(int(d.DeviceID)),
			schema.MaxIFADevice), nil
	}
	if m.idsWait != "" && (d.DeviceID != 0 || d.EnterpriseID != 0) {
		lacks = []string{m.idsWait}
	}
	return "", lacks
}

// meanwhile returns the row for APPL_DB while its configured ids wait. The other fields apply, together with the ids in
// use.
func (d tamDevice) meanwhile() map[string]string {
	d.DeviceID, d.EnterpriseID = 0, 0
	return d.Fields()
}

func (d tamDevice) appl(*Manager, schema.ACLRuleKey) map[string]string { return d.Fields() }

// configuredSwitch returns the row of TAM_SWITCH_TABLE, or the zero value if it is invalid.
func configuredSwitch(m *Manager) (s schema.TAMSwitch) {
	if m.sw == nil {
		return s
	}
	s, err := schema.ParseTAMSwitch(schema.TAMGlobalKey, m.sw)
	if err != nil {
		return schema.TAMSwitch{}
	}
	return s
}

// deviceOf returns TAM|device, as far as it applies.
func deviceOf(m *Manager) (d schema.TAMDevice) {
	row, ok := m.valid(kindDevice, schema.TAMDeviceKey).(tamDevice)
	if !ok {
		return d
	}
	if wrong, _ := row.check(m); wrong != "" {
		return d
	}
	return row.TAMDevice
}

// destination is a row of TAM_COLLECTOR.
type destination struct{ schema.TAMDestination }

func (destination) refs() refs { return refs{} }

func (d destination) check(m *Manager) (wrong string, lacks []string) {
	if c, ok := m.valid(kindCollector, d.Name).(plain[schema.Collector]); ok {
		c := c.row
		if c.Addr != d.Addr || c.Port != d.Port || c.Protocol != schema.ProtocolUDP {
			return fmt.Sprintf("%s|%s has this name with %s port %d of %s: want the same, or another name",
				schema.CfgTAMCollector, d.Name, c.Addr, c.Port, c.Protocol), nil
		}
	}
	if d.VRF != schema.VRFDefault && d.VRF != schema.VRFMgmt {
		lacks = []string{fmt.Sprintf("there is no VRF %q: the switch has default and mgmt", d.VRF)}
	}
	return "", lacks
}

func (d destination) appl(*Manager, schema.ACLRuleKey) map[string]string { return d.Fields() }

// collector returns a collector of either table that can receive reports, or the reasons why it cannot.
func (m *Manager) collector(name string) (c schema.Collector, missing []string) {
	if row, ok := m.valid(kindCollector, name).(plain[schema.Collector]); ok {
		return row.row, nil
	}
	row := m.rows[kindDestination][name]
	if row == nil {
		return c, m.missing(kindCollector, "collector", name)
	}
	if wrong, lacks := m.examine(kindDestination, name, row); wrong != "" {
		return c, []string{fmt.Sprintf("collector %q is not valid", name)}
	} else if len(lacks) > 0 {
		return c, []string{fmt.Sprintf("collector %q: %s", name, strings.Join(lacks, "; "))}
	}
	d := row.content.(destination)
	return schema.Collector{Name: name, Addr: d.Addr, Port: d.Port, Protocol: schema.ProtocolUDP}, nil
}

// tamGroup is a row TAM_FLOW_GROUP|name. It is an ACL table of type TAM.
type tamGroup struct{ schema.TAMGroup }

func (g tamGroup) refs() refs { return refs{ports: g.Ports} }

func (g tamGroup) check(m *Manager) (wrong string, lacks []string) {
	if m.groups[g.Name] != nil {
		return fmt.Sprintf("%s|%s has this name: want another", schema.CfgTAMFlowGroup, g.Name), nil
	}
	if _, missing := m.ports.resolveAll(g.Ports); len(missing) > 0 {
		lacks = []string{missingPorts(missing)}
	}
	return "", lacks
}

func (g tamGroup) appl(m *Manager, _ schema.ACLRuleKey) map[string]string {
	g.Ports, _ = m.ports.resolveAll(g.Ports)
	return g.Fields()
}

// tamRule is a row TAM_FLOW_GROUP|name|rule: a rule of that table.
type tamRule struct{ schema.TAMGroupRule }

func (u tamRule) refs() refs { return refs{within: u.Group} }

func (u tamRule) check(m *Manager) (wrong string, lacks []string) {
	switch g := m.rows[kindTAMGroup][u.Group]; {
	case g == nil:
		lacks = []string{fmt.Sprintf("flow group %q does not exist", u.Group)}
	case g.err != nil:
		lacks = []string{fmt.Sprintf("flow group %q is not valid", u.Group)}
	}
	return "", lacks
}

func (u tamRule) appl(*Manager, schema.ACLRuleKey) map[string]string { return u.Fields() }

// becomeACL creates or removes the ACL table or the rule that a row of TAM_FLOW_GROUP defines. Rows that use flow
// groups find it as if it were configured.
func becomeACL(m *Manager, key string, c content) {
	group, rule := schema.ParseTAMGroupKey(key)
	table := schema.TAMGroup{Name: group}.Table().Name
	switch c := c.(type) {
	case tamGroup:
		m.aclTable(table, c.Table().Fields())
	case tamRule:
		_, fields := c.ACLRule()
		m.aclRule(schema.ACLRuleKey{Table: table, Rule: rule}.Config(), fields)
	default:
		if rule == "" {
			m.aclTable(table, nil)
		} else {
			m.aclRule(schema.ACLRuleKey{Table: table, Rule: rule}.Config(), nil)
		}
	}
	m.markUsers(id{kindGroup, group})
}

// tamGroupRow returns the handler of rows of TAM_FLOW_GROUP, both of groups and of their rules.
func tamGroupRow(m *Manager) func(string, swss.FieldValues) {
	group, rule := m.handler(kindTAMGroup), m.handler(kindTAMRule)
	return func(key string, fields swss.FieldValues) {
		if strings.Contains(key, "|") {
			rule(key, fields)
		} else {
			group(key, fields)
		}
	}
}

// configuredACL returns the handler of rows of ACL_TABLE or ACL_RULE. It refuses table names that are names of flow
// groups.
func configuredACL(
	m *Manager, config string, handle func(string, swss.FieldValues),
) func(string, swss.FieldValues) {
	state := schema.TableOf(config).State
	return func(key string, fields swss.FieldValues) {
		table, _, _ := strings.Cut(key, "|")
		group, of := schema.TAMGroupOf(table)
		if !of {
			handle(key, fields)
			return
		}
		m.refused = true
		row := forward.Row{Table: state, Key: schema.StatusKey(config, key)}
		if fields == nil {
			m.out.Unreport(row)
			return
		}
		m.out.Report(row, schema.ACLInactive, fmt.Sprintf("an ACL table of this name is the flow group %s|%s: "+
			"want that row, or another name", schema.CfgTAMGroup, group))
	}
}

// flowRules returns the sorted usable rules of a flow group of either table, or the reason why there are none.
func (m *Manager) flowRules(group string) (rules []schema.ACLRuleKey, reason string) {
	row := m.rows[kindTAMGroup][group]
	if g := m.groups[group]; g != nil || row == nil {
		if lacks := m.lacks(group, false); lacks != nil {
			return nil, lacks[0]
		}
		return []schema.ACLRuleKey{g.group.Rule()}, ""
	}
	if wrong, lacks := m.examine(kindTAMGroup, group, row); wrong != "" {
		return nil, fmt.Sprintf("flow group %q is not valid", group)
	} else if len(lacks) > 0 {
		return nil, fmt.Sprintf("flow group %q: %s", group, strings.Join(lacks, "; "))
	}
	table, unusable := schema.TAMGroup{Name: group}.Table().Name, ""
	for u := range m.users[id{kindTable, table}].All() {
		if r := m.rules[u.key]; u.kind == kindRule && r != nil {
			if r.usable {
				rules = append(rules, r.key)
			} else {
				unusable = r.key.Rule + ": " + r.reason
			}
		}
	}
	slices.SortFunc(rules, func(a, b schema.ACLRuleKey) int { return schema.CompareNames(a.Rule, b.Rule) })
	switch {
	case unusable != "":
		return nil, fmt.Sprintf("flow group %q: rule %s", group, unusable)
	case len(rules) == 0:
		return nil, fmt.Sprintf("flow group %q has no rules, so no packet is of it", group)
	}
	return rules, ""
}
