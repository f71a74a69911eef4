package cli

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// flowWidth is where the colon stands in the blocks of flow groups and sessions.
const flowWidth = 19

// fieldsOf writes the configured fields of a flow group, indented.
func (p *page) fieldsOf(group tree) {
	p.leaves(flowWidth, group, groupMatches...)
	p.leaves(flowWidth, group, groupVersion)
	for _, f := range group.texts("config", "other-fields") {
		p.field(flowWidth, "   Other", f)
	}
	p.optional(flowWidth, "   Ingress Intf", strings.Join(naturally(group.texts("config", "interfaces")), ","))
}

// counted is a counter as it is shown. One that nobody has written yet is not 0, nor is
// what is no number.
func counted(t tree, leaf ...string) string {
	if _, ok := t.count(leaf...); !ok {
		return orDash("")
	}
	return t.text(leaf...)
}

func showFlowGroups(ctx context.Context, c *call) (*view, error) {
	entries, data, err := flowGroups.read(ctx, c)
	if err != nil {
		return nil, err
	}
	text := func(p *page) {
		p.line("")
		for _, e := range entries {
			p.field(flowWidth, "Flow Group Name", e.name())
			p.leaves(flowWidth, e, groupID, groupPriority)
			p.fieldsOf(e)
			p.field(flowWidth, "Packet Count", counted(e, "state", "packets"))
			p.whyNot(flowWidth, e.at("state"))
			p.line("")
		}
	}
	return &view{data, text}, nil
}

func showSessions(ctx context.Context, c *call) (*view, error) {
	entries, data, err := stampSessions.read(ctx, c)
	if err != nil {
		return nil, err
	}
	if entries, err = c.sh.withGroups(ctx, entries); err != nil {
		return nil, err
	}
	if c.has("name") {
		return sessionView(ctx, c, entries[0], data)
	}
	return framed(data, func(p *page) { p.objects(stampSession, entries) }), nil
}

// sessionView shows one session with its flow group's fields and its counts.
func sessionView(ctx context.Context, c *call, session tree, data map[string]any) (*view, error) {
	name := config(session, "flowgroup")
	var group tree
	if name != "" { // a row that another hand wrote may have none
		var err error
		if group, err = c.sh.client.all(ctx, flowGroups.path(name)); err != nil {
			return nil, err
		}
	}
	if group.exists() {
		data["openconfig-tam:flowgroup"] = []any{group.v}
	}
	if lingers(group) {
		group = asConfigured(group)
	}
	counters := session.at("state", "counters")
	return framed(data, func(p *page) {
		p.field(flowWidth, "Session", session.name())
		p.field(flowWidth, "Flow Group Name", name)
		p.fieldsOf(group)
		p.field(flowWidth, "Packet Count", counted(counters, "matched-packets"))
		p.field(flowWidth, "Stamped Count", counted(counters, "stamped-packets"))
		p.notStamped(counters.at("not-stamped"))
		p.whyNot(flowWidth, session.at("state"))
	}), nil
}

// notStamped writes how many packets left without a record, and those reasons
// that occurred. Where one is not known the sum is not, and that reason may have occurred.
func (p *page) notStamped(reasons tree) {
	labels := []struct{ leaf, label string }{
		{"not-tcp-udp", "Not TCP/UDP"},
		{"not-ethernet-ii", "Not Ethernet II"},
		{"cut", "Cut"},
		{"mtu", "MTU"},
	}
	var sum uint64
	known := 0
	for _, l := range labels {
		if n, ok := reasons.count(l.leaf); ok {
			sum += n
			known++
		}
	}
	text := orDash("")
	if known == len(labels) {
		text = strconv.FormatUint(sum, 10)
	}
	p.field(flowWidth, "Not Stamped", text)
	for _, l := range labels {
		if n, ok := reasons.count(l.leaf); known > 0 && (n > 0 || !ok) {
			p.field(flowWidth, "   "+l.label, counted(reasons, l.leaf))
		}
	}
}

func showTailStamping(ctx context.Context, c *call) (*view, error) {
	feature, data, err := c.sh.feature(ctx, "TAILSTAMPING")
	if err != nil {
		return nil, err
	}
	found, err := c.sh.client.all(ctx, gpath(tamRoot, "switch"))
	if err != nil {
		return nil, err
	}
	maps.Copy(data, one("openconfig-tam:switch", found))
	return framed(data, func(p *page) {
		p.featureStatus(flowWidth, feature)
		p.field(flowWidth, "Switch ID", found.text("state", "op-switch-id"))
		if id := inForce(found).at("state"); inactive(id) {
			p.field(flowWidth, "   "+title(id.word("status")), id.text("reason"))
		}
	}), nil
}

func showSummary(ctx context.Context, c *call) (*view, error) {
	tam, err := c.sh.client.all(ctx, gpath(tamRoot))
	if err != nil {
		return nil, err
	}
	return framed(one(tamRoot, tam), func(p *page) {
		p.field(flowWidth, "Switch ID", tam.text("switch", "state", "op-switch-id"))
		p.field(flowWidth, "Enterprise ID", tam.text("switch", "state", "op-enterprise-id"))
		p.whyNot(flowWidth, inForce(tam.at("switch")).at("state"))
		p.line("")
		p.features(allFeatures(tam.at("features"), tam.at("features-state")))
		p.line("")
		for _, o := range objects() {
			if o.tally != "" {
				p.tally(o.tally, o.entries(tam))
			}
		}
	}), nil
}

// tally writes how many entries there are, and how many are not in effect.
func (p *page) tally(label string, entries []tree) {
	by := map[string]int{}
	for _, e := range allInForce(entries) {
		if inactive(e.at("state")) {
			by[strings.ToLower(e.at("state").word("status"))]++
		}
	}
	text := strconv.Itoa(len(entries))
	for _, status := range []string{"pending", "failed"} {
		if by[status] > 0 {
			text += fmt.Sprintf(", %d %s", by[status], status)
		}
	}
	p.field(flowWidth, label, text)
}
