package cli

import (
	"context"
	"maps"
	"strconv"
)

func showSessions(ctx context.Context, c *call) (*view, error) {
	entries, data, err := stampSessions.read(ctx, c, listLevels)
	if err != nil {
		return nil, err
	}
	if entries, err = c.sh.withGroups(ctx, entries); err != nil {
		return nil, err
	}
	if c.has("name") {
		return sessionView(ctx, c, entries[0], data)
	}
	return framed(data, func(p *printout) { p.objects(stampSession, entries) }), nil
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
	return framed(data, func(p *printout) {
		p.field(flowWidth, "Session", session.name())
		p.field(flowWidth, "Flow Group Name", name)
		p.fieldsOf(group)
		p.leaves(flowWidth, session, clampMSS)
		p.field(flowWidth, "Packet Count", counted(counters, "matched-packets"))
		p.field(flowWidth, "Stamped Count", counted(counters, "stamped-packets"))
		p.notStamped(counters.at("not-stamped"))
		if clampMSS.shown(session) != "" {
			p.syns(counters.at("syns"))
		}
		p.whyNot(flowWidth, session.at("state"))
	}), nil
}

// notStamped writes how many packets left without a record, and those reasons
// that occurred. Where one is not known the sum is not, and that reason may have occurred.
func (p *printout) notStamped(reasons tree) {
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

// syns writes how many segments with SYN a clamp saw, and what became of them, as far as it occurred or is not known.
func (p *printout) syns(counts tree) {
	p.field(flowWidth, "SYN Count", counted(counts, "seen"))
	for _, l := range []struct{ leaf, label string }{
		{"clamped", "Clamped"},
		{"small", "Small Enough"},
		{"without-mss", "Without MSS"},
		{"malformed", "Malformed"},
		{"cut", "Cut"},
		{"no-room", "No Room"},
	} {
		if n, ok := counts.count(l.leaf); n > 0 || !ok && counts.exists() {
			p.field(flowWidth, "   "+l.label, counted(counts, l.leaf))
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
	return framed(data, func(p *printout) {
		p.featureStatus(flowWidth, feature)
		p.field(flowWidth, "Switch ID", found.text("state", "op-switch-id"))
		if id := inForce(found).at("state"); inactive(id) {
			p.field(flowWidth, "   "+title(id.word("status")), id.text("reason"))
		}
	}), nil
}
