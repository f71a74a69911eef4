package tammgr

import (
	"fmt"
	"strings"

	"tamtam/cfgmgr/forward"
	"tamtam/schema"
	"tamtam/swss"
	"tamtam/tam/altmark"
)

// altMarkRow is a row of TAM_ALTMARK_TABLE.
type altMarkRow struct {
	session schema.AltMarkSession
	err     error
}

func (m *Manager) altMark(key string, fields swss.FieldValues) {
	if old := m.altMarks[key]; old != nil {
		m.altMarksOfGroup.remove(old.session.FlowGroup, key)
		m.markAll(kindAltMark, m.altMarksOfGroup[old.session.FlowGroup])
		delete(m.altMarks, key)
	}
	if fields != nil {
		s, err := schema.ParseAltMarkSession(key, fields)
		m.altMarks[key] = &altMarkRow{s, err}
		m.altMarksOfGroup.add(s.FlowGroup, key)
		m.markAll(kindAltMark, m.altMarksOfGroup[s.FlowGroup])
	}
	m.mark(kindAltMark, key)
	m.checkTAM(schema.TAMTable)
}

func (m *Manager) settleAltMark(key string) {
	appl := forward.Row{Table: schema.AppTAMAltMark, Key: key}
	state := forward.Row{Table: schema.StateTAMAltMark, Key: key}
	row := m.altMarks[key]
	if row == nil {
		m.book.Drop(appl)
		m.book.Forget(state)
		return
	}
	if reason := m.altMarkRefusal(row); reason != "" {
		m.book.Drop(appl)
		m.book.Tell(state, schema.StatusFailed, reason)
		return
	}
	if reasons := m.needs(schema.FeatureAltMark, row.session.FlowGroup); len(reasons) > 0 {
		m.book.Drop(appl)
		m.book.Tell(state, schema.StatusPending, strings.Join(reasons, "; "))
		return
	}
	flow := schema.AltMarkFlow{Name: key, Rule: m.groups[row.session.FlowGroup].group.Rule(), Session: row.session.Session}
	m.book.Forward(appl, flow.Fields(), state)
}

// altMarkRefusal says why a session cannot be beside what else is configured: ""
// if it can. Of valid sessions of one flow group the first by name has it.
func (m *Manager) altMarkRefusal(row *altMarkRow) string {
	if row.err != nil {
		return schema.Reason(row.err)
	}
	s := row.session
	first := s.Name
	for key := range m.altMarksOfGroup[s.FlowGroup] {
		if m.altMarks[key].err == nil && schema.CompareNames(key, first) < 0 {
			first = key
		}
	}
	if first != s.Name {
		return fmt.Sprintf("flow group %q is already marked by session %q: one session measures a flow group here", s.FlowGroup, first)
	}
	if s.Role != altmark.Initiator && !s.Clear {
		return "" // writes no mark
	}
	var reasons []string
	for _, mark := range []altmark.Mark{s.Mark, s.Mark2} {
		if bit := mark.DSCPBit(); bit != 0 {
			if used := m.qos.conflict(bit); used != "" {
				reasons = append(reasons, fmt.Sprintf("mark %s is in use by QoS: %s; want a mark on which no queue depends", mark, used))
			}
		}
	}
	return strings.Join(reasons, "; ")
}

// qos knows which bits of the DSCP decide about traffic classes.
type qos struct {
	maps    map[string]*[64]uint8 // valid rows of DSCP_TO_TC_MAP: the class of each DSCP
	ports   map[string]schema.PortQoS
	known   map[uint8]string // what conflict said, by bit
	changed bool
}

func newQoS() qos {
	return qos{maps: map[string]*[64]uint8{}, ports: map[string]schema.PortQoS{}, known: map[uint8]string{}}
}

func (q *qos) forget() {
	clear(q.known)
	q.changed = true
}

// dscpMap takes a row of DSCP_TO_TC_MAP. One that is not valid maps nothing.
func (m *Manager) dscpMap(key string, fields swss.FieldValues) {
	delete(m.qos.maps, key)
	if fields != nil {
		if row, err := schema.ParseQoSMap(schema.CfgDSCPToTC, key, fields); err == nil {
			classes := new([64]uint8)
			for _, p := range row.Pairs {
				classes[p.From] = p.To
			}
			m.qos.maps[key] = classes
		}
	}
	m.qos.forget()
}

// portQoS takes a row of PORT_QOS_MAP. One that is not valid binds nothing.
func (m *Manager) portQoS(key string, fields swss.FieldValues) {
	delete(m.qos.ports, key)
	if fields != nil {
		if row, err := schema.ParsePortQoS(key, fields); err == nil && row.DSCPToTC != "" {
			m.qos.ports[key] = row
		}
	}
	m.qos.forget()
}

// conflict says which map of which port has packets in another traffic class
// when a bit of their DSCP changes; "" if none has.
func (q *qos) conflict(bit uint8) string {
	if said, ok := q.known[bit]; ok {
		return said
	}
	said := ""
	keys := make([]string, 0, len(q.ports))
	for key := range q.ports {
		keys = append(keys, key)
	}
	schema.SortNames(keys)
	for _, key := range keys {
		row := q.ports[key]
		if classes := q.maps[row.DSCPToTC]; classes != nil {
			if said = differ(classes, bit); said != "" {
				said = fmt.Sprintf("DSCP_TO_TC_MAP %q of %s %s", row.DSCPToTC, portsInWords(row.Ports), said)
				break
			}
		}
	}
	q.known[bit] = said
	return said
}

// differ names the first two DSCPs that a bit tells apart and whose traffic
// classes differ; "" if there are none.
func differ(classes *[64]uint8, bit uint8) string {
	for d := range uint8(len(classes)) {
		if e := d | bit; d != e && classes[d] != classes[e] {
			return fmt.Sprintf("has DSCP %d in traffic class %d and DSCP %d in %d", d, classes[d], e, classes[e])
		}
	}
	return ""
}

// portsInWords names the first of some ports.
func portsInWords(ports []string) string {
	if len(ports) == 1 {
		return "port " + ports[0]
	}
	return fmt.Sprintf("port %s and %d more", ports[0], len(ports)-1)
}
