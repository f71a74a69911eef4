package tammgr

import (
	"fmt"
	"net/netip"
	"strings"

	"tamtam/cfgmgr/forward"
	"tamtam/schema"
	"tamtam/swss"
)

// recordRow is a row of TAM_TABLERECORD_TABLE.
type recordRow struct {
	session schema.RecordSession
	err     error
}

func (m *Manager) recording(key string, fields swss.FieldValues) {
	if old := m.records[key]; old != nil {
		m.indexRecord(old.session, index.remove)
		m.markAll(kindRecord, m.recordsOfGroup[old.session.FlowGroup])
		delete(m.records, key)
	}
	if fields != nil {
		s, err := schema.ParseRecordSession(key, fields)
		s.Name = key
		m.records[key] = &recordRow{s, err}
		m.indexRecord(s, index.add)
		m.markAll(kindRecord, m.recordsOfGroup[s.FlowGroup])
	}
	m.mark(kindRecord, key)
	m.checkTAM(schema.TAMTable)
}

// indexRecord notes what a session refers to, or forgets it.
func (m *Manager) indexRecord(s schema.RecordSession, note func(x index, name, key string)) {
	note(m.recordsOfGroup, s.FlowGroup, s.Name)
	note(m.recordsOfCollector, s.Collector, s.Name)
	note(m.recordsOfSampler, s.Sampler, s.Name)
}

// settleRecord forwards a session with its flow group's rule, its collector's address
// and its sampler's rate, or says which of them it lacks.
func (m *Manager) settleRecord(key string) {
	appl := forward.Row{Table: schema.AppTAMTableRecord, Key: key}
	state := forward.Row{Table: schema.StateTAMTableRecord, Key: key}
	row := m.records[key]
	if row == nil {
		m.book.Drop(appl)
		m.book.Forget(state)
		return
	}
	flow, wrong := m.recordFlow(row)
	if wrong != "" {
		m.book.Drop(appl)
		m.book.Tell(state, schema.StatusFailed, wrong)
		return
	}
	reasons := m.needs(schema.FeatureTableRecord, row.session.FlowGroup)
	if !flow.Collector.IsValid() {
		reasons = append(reasons, m.lacking(kindCollector, "collector", row.session.Collector))
	}
	if flow.Sampling == 0 {
		reasons = append(reasons, m.lacking(kindSampler, "sampler", row.session.Sampler))
	}
	if len(reasons) > 0 {
		m.book.Drop(appl)
		m.book.Tell(state, schema.StatusPending, strings.Join(reasons, "; "))
		return
	}
	flow.Rule = m.groups[row.session.FlowGroup].group.Rule()
	m.book.Forward(appl, flow.Fields(), state)
}

// recordFlow resolves the names of a session but for its flow group, and says what in
// it can never be applied. What is not there stays zero.
func (m *Manager) recordFlow(row *recordRow) (flow schema.RecordFlow, wrong string) {
	if row.err != nil {
		return flow, schema.Reason(row.err)
	}
	s := row.session
	if first := m.firstRecord(s.FlowGroup); first != s.Name {
		return flow, fmt.Sprintf("flow group %q is already recorded by session %q: one session records a flow group here", s.FlowGroup, first)
	}
	flow = schema.RecordFlow{Name: s.Name, Sampling: 1, CollectorName: s.Collector, SamplerName: s.Sampler, RecordSettings: s.RecordSettings}
	if s.Sampler != "" {
		flow.Sampling = 0
		if r, err := schema.ParseSampler(s.Sampler, m.plain[kindSampler][s.Sampler]); err == nil {
			flow.Sampling = r.Rate
		}
	}
	c, err := schema.ParseCollector(s.Collector, m.plain[kindCollector][s.Collector])
	if err != nil {
		return flow, ""
	}
	if c.Protocol != schema.ProtocolUDP {
		return flow, fmt.Sprintf("collector %q: protocol %q: want %s: records are sent as they are mirrored", s.Collector, c.Protocol, schema.ProtocolUDP)
	}
	if s.Source.IsValid() && s.Source.Is4() != c.Addr.Is4() {
		return flow, fmt.Sprintf("source-ip %q: want an address of the same version as that of collector %q, %s", s.Source, s.Collector, c.Addr)
	}
	flow.Collector = netip.AddrPortFrom(c.Addr, c.Port)
	return flow, ""
}

// firstRecord is the session that has a flow group: of the valid ones the first by
// name.
func (m *Manager) firstRecord(group string) (first string) {
	for key := range m.recordsOfGroup[group] {
		if m.records[key].err == nil && (first == "" || schema.CompareNames(key, first) < 0) {
			first = key
		}
	}
	return first
}

// lacking says why a row that a session names cannot be used.
func (m *Manager) lacking(k kind, what, name string) string {
	if m.plain[k][name] == nil {
		return fmt.Sprintf("%s %q does not exist", what, name)
	}
	return fmt.Sprintf("%s %q is not valid", what, name)
}
