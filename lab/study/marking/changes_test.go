package marking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tamtam/lab"
	"tamtam/swss"
)

// Changes to the rules and marks of a network, in addition to its fault.
const (
	changeNothing    = "no change"
	changeRuleSame   = "a rule edited in place, of the same packets"
	changeRuleOne    = "a rule edited in place at one point"
	changeRuleBack   = "a rule edited in place at one point, and back"
	changeRuleAll    = "rules edited in place at all points, in random order"
	changeRuleFrom   = "a rule of other packets at one point from the start"
	changeOverlapOne = "an overlapping session at one point"
	changeOverlapAll = "overlapping sessions at all points"
	changeOverlapNew = "overlapping sessions that start and stop, in random order"
	changeSession    = "sessions deleted and added again, in random order"
	changeRemark     = "marks written in transit"
	changeRemarkPart = "marks of some packets written in transit"
	changeDSCP       = "a rule matches the bit of the mark"
)

// apartPort is the source port of the traffic sources of a flow group that a rule can match separately.
const apartPort = 3000

// A variant is a rule that may replace that of a network's flow group.
type variant struct {
	row swss.FieldValues
	has func(s *sender) bool // whether the packets of a traffic source match
}

// A sender is a traffic source that may be measured.
type sender struct {
	number int // number of the traffic source
	apart  bool
	other  bool // true if it is not in the flow group
}

// rule returns the row of the network's flow group with some fields changed. The value none removes a field.
func (n *network) rule(fields ...string) swss.FieldValues {
	row := swss.FieldValues{"PRIORITY": fmt.Sprint(10 + n.nth),
		map[string]string{"4": "IP_PROTOCOL", "6": "NEXT_HEADER"}[n.family]: "17", "L4_DST_PORT": fmt.Sprint(5000 + n.nth)}
	for i := 0; i < len(fields); i += 2 {
		if row[fields[i]] = fields[i+1]; fields[i+1] == "none" {
			delete(row, fields[i])
		}
	}
	return row
}

// variants returns rules that match other packets.
func (n *network) variants() []variant {
	address := map[string]string{"4": "DST_IP", "6": "DST_IPV6"}[n.family]
	return []variant{
		{n.rule("L4_SRC_PORT", fmt.Sprint(apartPort)), func(s *sender) bool { return s.apart && !s.other }},
		{n.rule("L4_DST_PORT", fmt.Sprint(6000+n.nth)), func(s *sender) bool { return s.other }},
		{n.rule("L4_DST_PORT", "7"), func(*sender) bool { return false }},
		{n.rule("L4_DST_PORT", "none", address, n.addressOf(2)), func(*sender) bool { return true }},
		{n.rule("IN_PORTS", "Ethernet7"), func(*sender) bool { return false }},
	}
}

func flowGroup(s *sender) bool { return !s.other }
func notApart(s *sender) bool  { return !s.other && !s.apart }

// addressOf returns the address of one of the network's hosts.
func (n *network) addressOf(host int) string {
	return fmt.Sprintf(map[string]string{"4": "10.0.%d.%d", "6": "2001:db8:%x::%d"}[n.family], n.nth, host)
}

// counts returns the traffic sources whose packets the points may have counted, by the match that they were configured
// with.
func (n *network) counts(has func(*sender) bool) map[int]bool {
	set := map[int]bool{}
	for i := range n.senders {
		set[n.senders[i].number] = has(&n.senders[i])
	}
	return set
}

// switches returns the switches that a network's packets pass.
func (n *network) switches() []int { return slices.Concat(n.steps...) }

// points returns the switches with a session.
func (f *fabric) points(n *network) (list []int) {
	for _, sw := range n.switches() {
		if f.top.Switches[sw].Config.Tables["TAM_ALTMARK_TABLE"][n.name] != nil {
			list = append(list, sw)
		}
	}
	return list
}

// set writes a row at the start, or replaces the row at some time of the run.
func (f *fabric) set(sw int, at lab.Time, table, key string, row swss.FieldValues) {
	if at == 0 {
		t := f.top.Switches[sw].Config.Tables
		if t[table] == nil {
			t[table] = map[string]swss.FieldValues{}
		}
		t[table][key] = row
		return
	}
	f.top.Events = append(f.top.Events, lab.Event{At: at, Do: "config", Switch: f.top.Switches[sw].Name,
		Delete: []string{table + "|" + key}, Set: map[string]map[string]string{table + "|" + key: row}})
}

func (f *fabric) delete(sw int, at lab.Time, rows ...string) {
	f.top.Events = append(f.top.Events, lab.Event{At: at, Do: "config", Switch: f.top.Switches[sw].Name, Delete: rows})
}

// sometime returns a random time in the middle half of the run.
func (f *fabric) sometime() lab.Time {
	return f.top.Duration/4 + lab.Time(f.rnd.Int64N(int64(f.top.Duration/2)))
}

// randomChange draws the change to a network's rules.
func randomChange(rnd *rand.Rand) string {
	return pick(rnd, []weighted{{changeNothing, 50}, {changeRuleSame, 3}, {changeRuleOne, 5}, {changeRuleBack, 5},
		{changeRuleAll, 6},
		{changeRuleFrom, 4}, {changeOverlapOne, 4}, {changeOverlapAll, 4}, {changeOverlapNew, 5}, {changeSession, 5},
		{changeRemark, 5},
		{changeRemarkPart, 5}, {changeDSCP, 3}})
}

// change configures the change.
func (f *fabric) change(n *network) {
	rnd, points := f.rnd, f.points(n)
	v := n.variants()[rnd.IntN(5)]
	if slices.ContainsFunc(points, func(sw int) bool { return f.ports[sw] == fabricPorts }) && v.row["IN_PORTS"] != "" {
		v = n.variants()[2] // all ports have links, and a part of a LAG's packets would match
	}
	rnd.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	rule := "TAM|" + n.name
	switch n.change {
	case changeRuleSame:
		f.set(points[0], f.sometime(), "ACL_RULE", rule, n.rule("PRIORITY", fmt.Sprint(60+n.nth)))
	case changeRuleOne:
		f.set(points[0], f.sometime(), "ACL_RULE", rule, v.row)
	case changeRuleBack:
		at := f.sometime()
		f.set(points[0], at, "ACL_RULE", rule, v.row)
		f.set(points[0], at+1+lab.Time(rnd.Int64N(int64(2*f.l))), "ACL_RULE", rule, n.rule())
	case changeRuleFrom:
		f.set(points[0], 0, "ACL_RULE", rule, v.row)
	case changeRuleAll:
		at := f.sometime()
		for _, sw := range points {
			f.set(sw, at, "ACL_RULE", rule, v.row)
			at += lab.Time(rnd.Int64N(int64(f.l)))
		}
	case changeSession:
		at := f.sometime()
		for _, sw := range points {
			f.delete(sw, at, "TAM_ALTMARK_TABLE|"+n.name)
			row := f.top.Switches[sw].Config.Tables["TAM_ALTMARK_TABLE"][n.name]
			f.set(sw, at+1+lab.Time(rnd.Int64N(int64(2*f.l))), "TAM_ALTMARK_TABLE", n.name, row)
			at += lab.Time(rnd.Int64N(int64(f.l)))
		}
	case changeDSCP:
		bits := int(n.session.Mark.DSCPBit() | n.session.Mark2.DSCPBit() | uint8(rnd.IntN(64)))
		for _, sw := range points[:1+rnd.IntN(len(points))] {
			f.set(sw, 0, "ACL_RULE", rule, n.rule("DSCP", fmt.Sprintf("0/%d", bits)))
		}
		return
	case changeRemark, changeRemarkPart:
		f.remark(n)
		return
	case changeOverlapOne, changeOverlapAll, changeOverlapNew:
		f.overlap(n, points)
		v.has = notApart
	}
	if n.change != changeRuleSame {
		n.matched = append(n.matched, v.has)
	}
}

// overlap adds sessions that match the packets of one traffic source instead.
func (f *fabric) overlap(n *network, points []int) {
	for i, sw := range points {
		if i > 0 && n.change == changeOverlapOne {
			return
		}
		name, at := n.name+"o", lab.Time(0)
		if n.change == changeOverlapNew || n.change == changeOverlapOne && f.rnd.IntN(2) == 0 {
			at = f.sometime()
		}
		role := f.top.Switches[sw].Config.Tables["TAM_ALTMARK_TABLE"][n.name]["role"]
		row := n.row(role, false)
		row["flowgroup"] = name
		f.set(sw, at, "TAM_FLOWGROUP_TABLE", name, swss.FieldValues{"id": fmt.Sprint(101 + n.nth)})
		f.set(sw, at, "ACL_RULE", "TAM|"+name, n.rule("PRIORITY", fmt.Sprint(900+n.nth), "L4_SRC_PORT",
			fmt.Sprint(apartPort)))
		f.set(sw, at, "TAM_ALTMARK_TABLE", name, row)
		if n.change == changeOverlapNew && f.rnd.IntN(3) == 0 {
			f.delete(sw, at+1+lab.Time(f.rnd.Int64N(int64(4*f.l))), "TAM_ALTMARK_TABLE|"+name)
		}
	}
}

// remark makes a switch after the first rewrite the DSCP of all of the network's packets, or of some.
func (f *fabric) remark(n *network) {
	sw := n.steps[1+f.rnd.IntN(n.hops())][0]
	name, at := "Q"+n.name, lab.Time(0)
	if f.rnd.IntN(3) == 0 {
		at = f.sometime()
	}
	row := swss.FieldValues{"PRIORITY": "10", "L4_DST_PORT": fmt.Sprint(5000 + n.nth),
		"DSCP_ACTION": fmt.Sprint(f.rnd.IntN(64))}
	if n.change == changeRemarkPart {
		row["L4_SRC_PORT"] = fmt.Sprint(apartPort)
	}
	f.set(sw, 0, "ACL_TABLE_TYPE", name, swss.FieldValues{"MATCHES": "L4_DST_PORT,L4_SRC_PORT", "ACTIONS": "DSCP_ACTION",
		"BIND_POINTS": "PORT"})
	f.set(sw, 0, "ACL_TABLE", name, swss.FieldValues{"type": name, "stage": "ingress",
		"ports": strings.Join(n.ports[sw], ",")})
	f.set(sw, at, "ACL_RULE", name+"|r", row)
	if at > 0 && f.rnd.IntN(2) == 0 {
		f.delete(sw, at+1+lab.Time(f.rnd.Int64N(int64(4*f.l))), "ACL_RULE|"+name+"|r")
	}
}

// Other features of the switches that act on a network's packets.
const (
	featureStamps = "tail stamps"
	featureIFA    = "IFA"
	featureMirror = "mirror copies"
	featureTags   = "VLAN tags"
)

// randomFeatures draws the other features of a network.
func randomFeatures(rnd *rand.Rand) (list []string) {
	if rnd.IntN(2) == 0 {
		return nil
	}
	for _, name := range []string{featureStamps, featureIFA, featureMirror, featureTags} {
		if rnd.IntN(2) == 0 {
			list = append(list, name)
		}
	}
	return list
}

// combine configures the features.
func (f *fabric) combine(n *network) {
	if slices.Contains(n.features, featureStamps) {
		for _, sw := range n.switches() {
			if f.rnd.IntN(4) > 0 {
				f.set(sw, 0, "TAM_FEATURES_TABLE", "TAILSTAMPING", swss.FieldValues{"status": "ACTIVE"})
				f.set(sw, 0, "TAM_TAILSTAMPING_TABLE", n.name, swss.FieldValues{"flowgroup": n.name})
			}
		}
	}
	if slices.Contains(n.features, featureIFA) {
		f.measureInband(n)
	}
	if sw := n.first(); slices.Contains(n.features, featureMirror) && f.ports[sw] < fabricPorts {
		to := fmt.Sprint("Ethernet", f.ports[sw])
		f.set(sw, 0, "PORT", to, swss.FieldValues{"lanes": fmt.Sprint(f.ports[sw]), "speed": "10000", "admin_status": "up"})
		f.ports[sw]++
		f.set(sw, 0, "MIRROR_SESSION", n.name, swss.FieldValues{"type": "SPAN", "dst_port": to, "src_port": n.ports[sw][0],
			"direction": "BOTH"})
	}
}

// measureInband makes packets get an IFA header at one switch of the path, and lose it at a later one.
func (f *fabric) measureInband(n *network) {
	from := f.rnd.IntN(n.hops())
	to := from + 1 + f.rnd.IntN(n.hops()-from)
	prefix := map[string]string{"4": "10.0.%d.0/24", "6": "2001:db8:%x::/64"}[n.family]
	for r := from; r <= to; r++ {
		for _, sw := range n.steps[r] {
			f.set(sw, 0, "TAM", "device", swss.FieldValues{"device-id": fmt.Sprint(1 + sw), "ifa": "true"})
			role := map[int]string{from: "initiator", to: "terminator"}[r]
			if role == "" {
				continue
			}
			f.set(sw, 0, "TAM_FLOW_GROUP", n.name, swss.FieldValues{"NULL": "NULL"})
			prefix := fmt.Sprintf(prefix, n.nth)
			f.set(sw, 0, "TAM_FLOW_GROUP", n.name+"|r", swss.FieldValues{"src_ip_prefix": prefix, "dst_ip_prefix": prefix})
			f.set(sw, 0, "TAM_SESSION", n.name, swss.FieldValues{"type": "ifa", "role": role, "flow_group": n.name})
		}
	}
}
