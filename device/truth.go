package device

import (
	"context"
	"fmt"
	"strings"

	"tamtam/saisim"
	"tamtam/saisim/truth"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A TruthReport compares the oracle's results for a flow group with the switch's measurements.
type TruthReport struct {
	truth.Report
	// Estimates holds the switch's counts by session: "s1 matched" counts frames of the flow group; "s1 left" counts
	// copies that left, stamped or not.
	Estimates map[string]Estimate `json:"estimates"`
}

// An Estimate holds a measured value, the true value, and the difference.
type Estimate struct {
	Measured uint64 `json:"measured"`
	Truth    uint64 `json:"truth"`
	Error    int64  `json:"error"`
}

// watch attaches an oracle to the chip. The oracle follows every configured flow group. Flow groups that it cannot
// follow are returned as problems.
func (s *Sim) watch(ctx context.Context) (*truth.Oracle, func(saisim.Moment), []Problem, error) {
	t := s.Redis.Reading(ctx)
	rules := flowGroupRules(t)
	var groups []truth.Group
	var problems []Problem
	for _, name := range SortedKeys(rules) {
		f, err := truth.ParseFilter(rules[name])
		if err != nil {
			object := schema.CfgACLRule + "|TAM|" + name
			problems = append(problems, Problem{Object: object, Status: "no truth", Reason: err.Error()})
			continue
		}
		groups = append(groups, truth.Group{Name: name, Filter: f})
	}
	o := truth.New(groups...)
	names := map[saisim.PortID]string{saisim.CPUPort: "CPU"}
	for _, name := range s.portNames(t) {
		if id, ok := s.Chip.PortByName(name); ok {
			names[id] = name
		}
	}
	n := o.Chip("switch", s.Chip.Profile().ClockHz, func(id saisim.PortID) string { return names[id] })
	s.natives(t, n)
	return o, n.See, problems, t.Err()
}

// flowGroupRules returns the matches of every flow group. Ports are given by name, LAGs by their members.
func flowGroupRules(t *swss.Reading) map[string]swss.FieldValues {
	all, aliases, members := t.Dump(swss.ConfigDB, schema.CfgACLRule), aliases(t), lagMembers(t)
	rules := map[string]swss.FieldValues{}
	for name := range t.Dump(swss.ConfigDB, schema.CfgTAMFlowGroup) {
		rule := swss.FieldValues{}
		for k, v := range all["TAM|"+name] {
			k = strings.ToUpper(strings.TrimSuffix(k, "@"))
			if k == "IN_PORTS" {
				var ports []string
				for _, p := range strings.Split(v, ",") {
					p = strings.TrimSpace(p)
					if real := aliases[p]; real != "" {
						p = real
					}
					ports = append(append(ports, p), members[p]...)
				}
				v = strings.Join(ports, ",")
			}
			rule[k] = v
		}
		if len(rule) > 0 { // a group without a rule matches nothing
			rules[name] = rule
		}
	}
	return rules
}

func lagMembers(t *swss.Reading) map[string][]string {
	members := map[string][]string{}
	for _, k := range byNumber(t.Keys(swss.ConfigDB, schema.CfgPortChannelMbr)) {
		lag, port, _ := strings.Cut(k, "|")
		members[lag] = append(members[lag], port)
	}
	return members
}

// natives passes the VLANs of untagged frames to the oracle.
func (s *Sim) natives(t *swss.Reading, n *truth.Node) {
	rows, members := t.Dump(swss.ConfigDB, schema.CfgVLANMember), lagMembers(t)
	for _, key := range SortedKeys(rows) {
		vlan, port, _ := strings.Cut(key, "|")
		var vid uint16
		if _, err := fmt.Sscanf(vlan, "Vlan%d", &vid); err != nil || rows[key]["tagging_mode"] != "untagged" {
			continue
		}
		for _, name := range append(members[port], port) {
			if id, ok := s.Chip.PortByName(name); ok {
				n.Native(id, vid)
			}
		}
	}
}

// addTruth adds the oracle's results to a report.
func (r *Report) addTruth(o *truth.Oracle) {
	r.Truth = map[string]TruthReport{}
	for name, t := range o.Reports() {
		r.Truth[name] = TruthReport{Report: t, Estimates: map[string]Estimate{}}
	}
	for name, s := range r.TailStamping {
		t, ok := r.Truth[s.FlowGroup]
		if !ok {
			continue
		}
		if s.Matched != nil {
			t.Estimates[name+" matched"] = estimate(*s.Matched, t.Frames)
		}
		if left, known := s.left(); known {
			t.Estimates[name+" left"] = estimate(left, t.Delivered+t.ToCPU)
		}
	}
}

// left returns how many packets of a session left the switch. known is false if some of them are not counted.
func (s SessionReport) left() (n uint64, known bool) {
	if s.Stamped == nil || len(s.NotStamped) < reasonsNotStamped {
		return 0, false
	}
	n = *s.Stamped
	for _, not := range s.NotStamped {
		n += not
	}
	return n, true
}

func estimate(measured, truth uint64) Estimate {
	return Estimate{measured, truth, int64(measured - truth)}
}
