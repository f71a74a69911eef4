package dial

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// A Session is an alternate-marking session of a switch.
type Session struct {
	Point
	FlowGroup, Role string
	FlowMonID       string // "" means none
	Encap           bool   // true if the session adds or removes headers
	// Match describes the packets that its flow group matches, in gNMI terms and sorted. It excludes the DSCP, which
	// marks change, and the ingress interfaces.
	Match string
}

// ReadSessions reads the alternate-marking sessions of a switch.
func ReadSessions(ctx context.Context, name, target string, o Options) (all []Session, err error) {
	var sessions struct {
		Session []struct {
			Name   string `json:"name"`
			Config struct {
				FlowGroup string `json:"flowgroup"`
				Role      string `json:"role"`
				FlowMonID any    `json:"flow-mon-id"`
				EncapDst  string `json:"encap-dst"`
			} `json:"config"`
		} `json:"alt-mark-session"`
	}
	var groups struct {
		Group []map[string]any `json:"flowgroup"`
	}
	err = o.ask(target, func(g getter) error {
		_, err := g.get(ctx, &sessions, "tam", "alt-mark-sessions")
		if err == nil && len(sessions.Session) > 0 {
			_, err = g.get(ctx, &groups, "tam", "flowgroups")
		}
		return err
	})
	matches := map[string]string{}
	for _, g := range groups.Group {
		matches[strings.Join(valuesOf(g["name"]), "")] = matchOf(g)
	}
	for _, s := range sessions.Session {
		match, ok := matches[s.Config.FlowGroup]
		if !ok {
			match = "nothing: there is no such flow group"
		}
		all = append(all, Session{Point{name, target, s.Name}, s.Config.FlowGroup, s.Config.Role,
			strings.Join(valuesOf(s.Config.FlowMonID), ""), s.Config.EncapDst != "", match})
	}
	return all, err
}

// matchOf returns the match of a flow group by its config containers.
func matchOf(group map[string]any) string {
	var all []string
	add := func(of map[string]any) {
		config, _ := of["config"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(config)) {
			if slices.Contains([]string{"name", "id", "priority", "interfaces", "dscp"}, name) {
				continue
			}
			values := slices.DeleteFunc(valuesOf(config[name]), func(v string) bool { return strings.HasPrefix(v, "DSCP=") })
			for i, v := range values {
				values[i] = asPrefix(v)
			}
			slices.Sort(values)
			if len(values) > 0 {
				all = append(all, name+" "+strings.Join(values, " "))
			}
		}
	}
	add(group)
	for _, name := range slices.Sorted(maps.Keys(group)) {
		if part, ok := group[name].(map[string]any); ok {
			add(part)
		}
	}
	return cmp.Or(strings.Join(all, ", "), "every packet")
}

// asPrefix returns an address as a prefix in canonical form, so that different spellings compare equal. Other texts are
// unchanged.
func asPrefix(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()).String()
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked().String()
	}
	return text
}

// alike returns an error if sessions of one flow group match different packets: a packet that only some of them count
// would look lost. If some sessions add headers, initiators match the inner packets, and all others the headers.
func alike(sessions []Session) error {
	encap := slices.ContainsFunc(sessions, func(s Session) bool { return s.Encap })
	inside := func(s Session) bool { return encap && s.Role == "initiator" }
	for _, s := range sessions {
		first := sessions[slices.IndexFunc(sessions, func(o Session) bool { return inside(o) == inside(s) })]
		if s.Match != first.Match {
			return fmt.Errorf("it matches %s at switch %s, and %s at %s: want the same packets", first.Match, first.Switch,
				s.Match, s.Switch)
		}
		if a := sessions[0]; s.FlowMonID != a.FlowMonID {
			return fmt.Errorf("flow-mon-id is %s at switch %s, and %s at %s: want the same", cmp.Or(a.FlowMonID, "none"),
				a.Switch, cmp.Or(s.FlowMonID, "none"), s.Switch)
		}
	}
	return nil
}
