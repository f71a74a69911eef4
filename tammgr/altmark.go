package tammgr

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/altmark"
)

// altMark is a row of TAM_ALTMARK_TABLE.
type altMark struct{ schema.AltMarkSession }

func (s altMark) refs() refs { return refs{group: s.FlowGroup} }

// check finds marks that QoS uses. A conflict matters where the session writes marks. It also matters where the flow
// group matches the traffic class, because the mark may then decide whether a packet matches.
func (s altMark) check(m *Manager) (wrong string, lacks []string) {
	of := "want a mark on which no queue depends"
	if rule := m.ruleOf(s.FlowGroup); rule != nil && slices.ContainsFunc(rule.fields, isTC) {
		of = fmt.Sprintf("TC of ACL rule %s would match some of the marked packets only: want a rule without TC, "+
			"or another mark", rule.key)
	} else if s.Role != altmark.Initiator && !s.Clear {
		return "", nil // writes no mark, and matches none
	}
	var reasons []string
	for _, mark := range []altmark.Mark{s.Mark, s.Mark2} {
		if bit := mark.DSCPBit(); bit != 0 {
			if used := m.qos.conflict(bit); used != "" {
				reasons = append(reasons,
					fmt.Sprintf("mark %s is in use by QoS: %s; %s", mark, used, of))
			}
		}
	}
	return strings.Join(reasons, "; "), nil
}

func isTC(field swss.Pair) bool { return field.Field == schema.MatchTC.String() }

func (s altMark) appl(_ *Manager, rule schema.ACLRuleKey) map[string]string {
	return schema.AltMarkFlow{Name: s.Name, Rule: rule, Session: s.Session}.Fields()
}

// qos determines which bits of the DSCP affect the traffic class.
type qos struct {
	maps    map[string]*[64]uint8 // valid rows of DSCP_TO_TC_MAP: the class of each DSCP
	ports   map[string]schema.PortQoS
	known   map[uint8]string // remembered results of conflict, by bit
	changed bool
}

func newQoS() qos {
	return qos{maps: map[string]*[64]uint8{}, ports: map[string]schema.PortQoS{}, known: map[uint8]string{}}
}

func (q *qos) forget() {
	clear(q.known)
	q.changed = true
}

// dscpMap applies a row of DSCP_TO_TC_MAP. An invalid row maps nothing.
func (q *qos) dscpMap(key string, fields swss.FieldValues) {
	delete(q.maps, key)
	if fields != nil {
		if row, err := schema.ParseQoSMap(schema.CfgDSCPToTC, key, fields); err == nil {
			classes := new([64]uint8)
			for _, p := range row.Pairs {
				classes[p.From] = p.To
			}
			q.maps[key] = classes
		}
	}
	q.forget()
}

// portQoS applies a row of PORT_QOS_MAP. An invalid row binds nothing.
func (q *qos) portQoS(key string, fields swss.FieldValues) {
	delete(q.ports, key)
	if fields != nil {
		if row, err := schema.ParsePortQoS(key, fields); err == nil && row.DSCPToTC != "" {
			q.ports[key] = row
		}
	}
	q.forget()
}

// conflict returns a text that names a map and port where changing a bit of the DSCP changes the traffic class. It
// returns "" if there is none.
func (q *qos) conflict(bit uint8) string {
	if reason, ok := q.known[bit]; ok {
		return reason
	}
	reason := ""
	keys := make([]string, 0, len(q.ports))
	for key := range q.ports {
		keys = append(keys, key)
	}
	schema.SortNames(keys)
	for _, key := range keys {
		row := q.ports[key]
		if classes := q.maps[row.DSCPToTC]; classes != nil {
			if reason = differ(classes, bit); reason != "" {
				reason = fmt.Sprintf("DSCP_TO_TC_MAP %q of %s %s", row.DSCPToTC, portsInWords(row.Ports), reason)
				break
			}
		}
	}
	q.known[bit] = reason
	return reason
}

// differ returns a text with the first two DSCPs that differ only in the given bit and have different traffic classes.
// It returns "" if there are none.
func differ(classes *[64]uint8, bit uint8) string {
	for d := range uint8(len(classes)) {
		if e := d | bit; d != e && classes[d] != classes[e] {
			return fmt.Sprintf("has DSCP %d in traffic class %d and DSCP %d in %d", d, classes[d], e, classes[e])
		}
	}
	return ""
}

// portsInWords returns a text with the first port and the number of further ports.
func portsInWords(ports []string) string {
	if len(ports) == 1 {
		return "port " + ports[0]
	}
	return fmt.Sprintf("port %s and %d more", ports[0], len(ports)-1)
}
