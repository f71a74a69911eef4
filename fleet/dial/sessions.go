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

// A Session is one of alternate marking at a switch.
type Session struct {
	Point
	FlowGroup, Role string
	FlowMonID       string // "": none
	Encap           bool   // it puts headers around packets, or takes them off
	// Match is which packets its flow group matches, in the words of gNMI and in order, but for their DSCP, which marks
	// change, and the interfaces by which they come.
	Match string
}

// ReadSessions asks a switch which sessions of alternate marking it has.
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

// matchOf is what a flow group matches by its containers of config.
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

// asPrefix writes an address as the prefix that it means, as others may have written it.
func asPrefix(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()).String()
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked().String()
	}
	return text
}

// alike returns an error if sessions of one flow group are of different packets: what one counts and another does not
// would look lost. Initiators that put headers around packets see those within, all others the headers.
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
