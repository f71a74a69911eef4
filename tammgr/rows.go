package tammgr

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A kind is a kind of rows. Kinds are decided in this order.
type kind uint8

const (
	kindFeature kind = iota
	kindSwitch
	kindDevice
	kindCollector
	kindDestination
	kindSampler
	kindTAMGroup
	kindTAMRule
	kindType
	kindTable
	kindRule
	kindGroup
	kindSession
	kindAltMark
	kindTask
	kindQuery
	kindRecord
	kindDrop
	kindIFA
	kindPort // names of ports in ACLs, which need no decision
	kindCount
)

// tables returns the tables with outcomes, in the order in which they are written.
func tables() []forward.Table {
	list := []schema.Table{schema.TableOf(schema.CfgTAMSwitch)}
	for k, what := range kinds {
		if kind(k) == kindTable {
			for _, config := range []string{schema.CfgACLTable, schema.CfgACLRule, schema.CfgTAMFlowGroup} {
				list = append(list, schema.TableOf(config))
			}
		}
		if what != nil && kind(k) != kindTAMRule { // a rule shares the table of the flow groups
			list = append(list, what.table())
		}
	}
	// Features are last, so that the first status of an activation reflects the existing sessions.
	list = append(list, schema.TableOf(schema.CfgTAMFeature))
	out := make([]forward.Table, len(list))
	for i, t := range list {
		out[i] = forward.Table{Appl: t.Appl, State: t.State}
		if t.State == schema.StateTAMDropMonitor {
			out[i].Says = schema.DropMonitorFields
		}
	}
	return out
}

// A kindOfRow is a kind of rows that are decided by the same steps. A row is parsed, waits for its feature, its flow
// group and the other rows that it names, and is then written to APPL_DB.
type kindOfRow struct {
	config  string // table of CONFIG_DB
	state   string // table of STATE_DB if several kinds share the table of CONFIG_DB; "" means the schema's table
	feature string // feature that must be active; "" if there is none
	// parse returns a row. If there is an error, the row contains the fields that could be read.
	parse func(key string, fields swss.FieldValues) (content, error)
	// refusal is set if a flow group can have only one row of the kind. The first valid row by name gets the flow group.
	// refusal is the reason for refusing other rows, with %q for the name of the first.
	refusal string
	// group describes the flow group that the rows need.
	group groupUse
	// alone is true if the row is in force without a report of orchagent.
	alone bool
}

// A groupUse describes the flow group that rows of a kind need.
type groupUse uint8

const (
	anyRules groupUse = iota // no requirement; the row may have a flow group, and determines its rules itself
	oneRule                  // each row has a flow group with one rule, which may appear later
	// oneMatch means that the row may have a flow group. Its single rule must exist, and its match is part of the row.
	oneMatch
)

// table returns the kind's entry in the schema.
func (what *kindOfRow) table() schema.Table {
	if t, ok := schema.StatusTable(what.state); ok {
		return t
	}
	return schema.TableOf(what.config)
}

// content is the content of a row.
type content interface {
	// refs returns the rows that the row names.
	refs() refs
	// check returns an error that a change of other rows cannot remove, and the things that the row waits for besides
	// its feature and flow group.
	check(m *Manager) (wrong string, lacks []string)
	// appl returns the row for APPL_DB, once nothing is wrong or missing. rule is the rule of the flow group.
	appl(m *Manager, rule schema.ACLRuleKey) map[string]string
}

// refs contains the names of other rows in a row, or "" for a missing one. Collectors and flow groups may be in either
// of two tables.
type refs struct {
	group, sampler    string
	collectors, ports []string
	within            string // for a rule: its group
}

// kinds contains the kinds of rows that are decided by the same steps.
var kinds = [kindCount]*kindOfRow{
	kindCollector: {config: schema.CfgTAMCollector, parse: parser(schema.ParseCollector), alone: true},
	kindDevice: {config: schema.CfgTAMDevice,
		parse: of(schema.ParseTAMDevice, func(row schema.TAMDevice) content { return tamDevice{row} })},
	kindDestination: {config: schema.CfgTAMDestination,
		parse: of(schema.ParseTAMDestination, func(row schema.TAMDestination) content { return destination{row} })},
	kindTAMGroup: {config: schema.CfgTAMGroup, alone: true,
		parse: of(schema.ParseTAMGroup, func(row schema.TAMGroup) content { return tamGroup{row} })},
	kindTAMRule: {config: schema.CfgTAMGroup, alone: true,
		parse: of(schema.ParseTAMGroupRule, func(row schema.TAMGroupRule) content { return tamRule{row} })},
	kindSampler: {config: schema.CfgTAMSampler, parse: parser(schema.ParseSampler), alone: true},
	kindType:    {config: schema.CfgACLTableType, parse: parser(schema.ParseACLTableType)},
	kindSession: {
		config: schema.CfgTAMTailStamp, feature: schema.FeatureTailStamping, group: oneRule,
		parse: of(schema.ParseTailStampSession, func(row schema.TailStampSession) content { return tailStamp{row} }),
	},
	kindAltMark: {
		config: schema.CfgTAMAltMark, feature: schema.FeatureAltMark, group: oneRule,
		refusal: "is already marked by session %q: one session measures a flow group here",
		parse:   of(schema.ParseAltMarkSession, func(row schema.AltMarkSession) content { return altMark{row} }),
	},
	kindTask: {
		config: schema.CfgTAMFlyMonTask, feature: schema.FeatureFlyMon, group: oneMatch,
		parse: func(key string, fields swss.FieldValues) (content, error) {
			t, err := schema.ParseFlyMonTask(key, fields)
			return task{t, key}, err
		},
	},
	kindQuery: {config: schema.CfgTAMFlyMonQuery, parse: parser(schema.ParseFlyMonQuery)},
	kindRecord: {
		config: schema.CfgTAMTableRecord, feature: schema.FeatureTableRecord, group: oneRule,
		refusal: "is already recorded by session %q: one session records a flow group here",
		parse:   of(schema.ParseRecordSession, func(row schema.RecordSession) content { return recording{row} }),
	},
	kindDrop: {
		config: schema.CfgTAMSession, feature: schema.FeatureDropMonitor,
		refusal: "is already watched by session %q: one session of the drop monitor watches a flow group here",
		parse:   of(schema.ParseDropSession, func(row schema.DropSession) content { return dropSession{row} }),
	},
	kindIFA: {
		config: schema.CfgTAMSession, state: schema.StateTAMIFA, feature: schema.FeatureIFA,
		refusal: "is already that of session %q: a flow group has one session of IFA",
		parse:   of(schema.ParseIFASession, func(row schema.IFASession) content { return ifaSession{row} }),
	},
}

// plain is the content of rows that name no other rows.
type plain[T interface{ Fields() map[string]string }] struct{ row T }

func parser[T interface{ Fields() map[string]string }](
	parse func(string, map[string]string) (T, error),
) func(string, swss.FieldValues) (content, error) {
	return of(parse, func(row T) content { return plain[T]{row} })
}

// of returns a parse function that converts its result to the content of a kind.
func of[T any](
	parse func(string, map[string]string) (T, error), make func(T) content,
) func(string, swss.FieldValues) (content, error) {
	return func(key string, fields swss.FieldValues) (content, error) {
		row, err := parse(key, fields)
		return make(row), err
	}
}

func (plain[T]) refs() refs                        { return refs{} }
func (plain[T]) check(*Manager) (string, []string) { return "", nil }

func (p plain[T]) appl(*Manager, schema.ACLRuleKey) map[string]string { return p.row.Fields() }

// A row is an existing row.
type row struct {
	content
	err error
}

// valid returns the content of a valid row of a kind, or nil if there is none.
func (m *Manager) valid(k kind, name string) content {
	if r := m.rows[k][name]; r != nil && r.err == nil {
		return r.content
	}
	return nil
}

// handler returns the handler of rows of a kind.
func (m *Manager) handler(k kind) func(key string, fields swss.FieldValues) {
	return func(key string, fields swss.FieldValues) {
		if old := m.rows[k][key]; old != nil {
			m.link(k, key, old.content, -1)
			delete(m.rows[k], key)
		}
		if fields != nil {
			c, err := kinds[k].parse(key, fields)
			m.rows[k][key] = &row{c, err}
			m.link(k, key, c, 1)
		}
		m.mark(k, key)
		markTwin(m, k, key)
		m.checkTAM(schema.TAMTable)
	}
}

// markTwin marks two sorts of rows dirty: the row with the same meaning in another table, and rows that depend on
// whether rows of a kind exist.
func markTwin(m *Manager, k kind, key string) {
	switch k {
	case kindType:
		if key == schema.ACLTypeTAM { // also of the table that exists without a row
			m.mark(kindTable, schema.TAMTable)
		}
	case kindDevice:
		m.mark(kindSwitch, schema.TAMGlobalKey)
	case kindCollector:
		m.markIfThere(kindDestination, key)
	case kindDrop:
		m.mark(kindFeature, schema.FeatureDropMonitor)
	case kindIFA:
		m.mark(kindFeature, schema.FeatureIFA)
	}
}

func (m *Manager) markIfThere(k kind, key string) {
	if m.rows[k][key] != nil {
		m.mark(k, key)
	}
}

// link records the rows that a row names. With n = -1 it removes the record.
func (m *Manager) link(k kind, key string, c content, n int) {
	r := c.refs()
	names := []id{{kindGroup, r.group}, {kindSampler, r.sampler}, {kindTAMGroup, r.within}}
	for _, c := range r.collectors {
		names = append(names, id{kindCollector, c}, id{kindDestination, c})
	}
	for _, p := range r.ports {
		names = append(names, id{kindPort, p})
	}
	for _, to := range names {
		switch {
		case to.key == "":
		case n > 0:
			m.users.add(to, id{k, key})
		default:
			m.users.remove(to, id{k, key})
		}
	}
	if r.group != "" || kinds[k].group == oneRule {
		m.ofTAM += n
	}
	if kinds[k].refusal != "" { // another row may get the flow group now
		for u := range m.users[id{kindGroup, r.group}].All() {
			if u.kind == k {
				m.mark(k, u.key)
			}
		}
	}
}

// decideRow decides on a row of the kinds that kinds contains.
func (m *Manager) decideRow(k kind, key string) {
	m.markUsers(id{k, key})
	what := kinds[k]
	table := m.tableOf[k]
	appl, state := forward.Row{Table: table.Appl, Key: applKey(key)}, forward.Row{Table: table.State, Key: key}
	r := m.rows[k][key]
	if r == nil {
		m.out.Drop(appl)
		m.out.Unreport(state)
		holds(m, k, key, nil)
		return
	}
	if said, ok := r.content.(interface{ described() map[string]string }); ok {
		var fields map[string]string
		if r.err == nil {
			fields = said.described()
		}
		m.out.Describe(state, fields)
	}
	wrong, lacks := m.examine(k, key, r)
	if wrong != "" || len(lacks) > 0 {
		holds(m, k, key, nil)
	} else {
		holds(m, k, key, r.content)
	}
	switch {
	case wrong != "":
		m.out.Drop(appl)
		m.out.Report(state, schema.StatusFailed, wrong)
	case len(lacks) > 0:
		if rest, ok := r.content.(interface{ meanwhile() map[string]string }); ok {
			m.out.Keep(appl, rest.meanwhile())
		} else {
			m.out.Drop(appl)
		}
		m.out.Report(state, table.Waiting, strings.Join(lacks, "; "))
	default:
		var rule schema.ACLRuleKey
		if rules, _ := m.flowRules(r.refs().group); len(rules) > 0 {
			rule = rules[0]
		}
		fields := r.appl(m, rule)
		if what.alone {
			m.out.Keep(appl, fields)
			m.out.Report(state, schema.StatusActive, "")
		} else {
			m.out.Forward(appl, fields, state)
		}
	}
}

// applKey returns the key in APPL_DB for a key of CONFIG_DB.
func applKey(key string) string { return strings.Replace(key, "|", ":", 1) }

// holds updates the definition that a row of a kind gives under a key. nil content means that the row was deleted.
func holds(m *Manager, k kind, key string, c content) {
	if k == kindTAMGroup || k == kindTAMRule {
		becomeACL(m, key, c)
	}
}

// examine returns the error in a row, or else the things that it waits for.
func (m *Manager) examine(k kind, key string, r *row) (wrong string, lacks []string) {
	if r.err != nil {
		return schema.Reason(r.err), nil
	}
	if wrong := m.tooMany(k, key); wrong != "" {
		return wrong, nil
	}
	what, group := kinds[k], r.refs().group
	if what.refusal != "" && group != "" {
		if first := m.firstOf(k, group); first != key {
			return fmt.Sprintf("flow group %q "+what.refusal, group, first), nil
		}
	}
	wrong, more := r.check(m)
	if wrong != "" {
		return wrong, nil
	}
	if group != "" && what.group != anyRules {
		lacks = m.lacks(group, what.group == oneMatch)
	}
	if _, ok := m.active[what.feature]; !ok && what.feature != "" {
		lacks = append(lacks, fmt.Sprintf("feature %s is not active", what.feature))
	}
	return "", append(lacks, more...)
}

// firstOf returns the row of a kind that has a flow group: the first valid one by name.
func (m *Manager) firstOf(k kind, group string) (first string) {
	for u := range m.users[id{kindGroup, group}].All() {
		if u.kind == k && m.rows[k][u.key].err == nil && (first == "" || schema.CompareNames(u.key, first) < 0) {
			first = u.key
		}
	}
	return first
}

// lacks returns the reasons why rows cannot use a flow group or its match.
func (m *Manager) lacks(group string, match bool) []string {
	switch g := m.groups[group]; {
	case g == nil && m.rows[kindTAMGroup][group] != nil:
		rules, reason := m.flowRules(group)
		if reason == "" && len(rules) > 1 {
			reason = fmt.Sprintf("flow group %q has %d rules: this feature takes flow groups of one rule", group, len(rules))
		}
		return slices.DeleteFunc([]string{reason}, func(s string) bool { return s == "" })
	case g == nil:
		return []string{fmt.Sprintf("flow group %q does not exist", group)}
	case !g.valid:
		return []string{fmt.Sprintf("flow group %q: %s", group, g.reason)}
	case match && m.ruleOf(group) == nil:
		return []string{fmt.Sprintf("flow group %q: no ACL rule %s", group, g.group.Rule())}
	}
	return nil
}

// missing returns the reasons why a row that another row names cannot be used, or nil if it can be used.
func (m *Manager) missing(k kind, what, name string) []string {
	switch r := m.rows[k][name]; {
	case r == nil:
		return []string{fmt.Sprintf("%s %q does not exist", what, name)}
	case r.err != nil:
		return []string{fmt.Sprintf("%s %q is not valid", what, name)}
	}
	return nil
}
