package tam

import (
	"context"
	"maps"
	"strconv"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

func showSessions(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := stampSessions.read(ctx, c, listLevels)
	if err != nil {
		return nil, err
	}
	if entries, err = withGroups(ctx, c.Session, entries); err != nil {
		return nil, err
	}
	if c.Has("name") {
		return sessionView(ctx, c, entries[0], data)
	}
	return kit.Framed(data, func(p *kit.Printout) { writeObjects(p, stampSession, entries) }), nil
}

// sessionView shows one session with its flow group's fields and its counts.
func sessionView(ctx context.Context, c *kit.Call, session tree.Node, data map[string]any) (*kit.View, error) {
	name := kit.Configured(session, "flowgroup")
	var group tree.Node
	if name != "" { // a row that another hand wrote may have none
		var err error
		if group, err = c.Session.Client.All(ctx, FlowGroups.Path(name)); err != nil {
			return nil, err
		}
	}
	if group.Exists() {
		data["openconfig-tam:flowgroup"] = []any{group.Value}
	}
	if lingers(group) {
		group = asConfigured(group)
	}
	counters := session.At("state", "counters")
	return kit.Framed(data, func(p *kit.Printout) {
		p.Field(flowWidth, "Session", session.Name())
		p.Field(flowWidth, "Flow Group Name", name)
		writeFieldsOf(p, group)
		p.Leaves(flowWidth, session, clampMSS)
		p.Field(flowWidth, "Packet Count", kit.Counted(counters, "matched-packets"))
		p.Field(flowWidth, "Stamped Count", kit.Counted(counters, "stamped-packets"))
		writeNotStamped(p, counters.At("not-stamped"))
		if clampMSS.Shown(session) != "" {
			writeSyns(p, counters.At("syns"))
		}
		p.WhyNot(flowWidth, session.At("state"))
	}), nil
}

// writeNotStamped writes how many packets left without a record, and those reasons
// that occurred. Where one is not known the sum is not, and that reason may have occurred.
func writeNotStamped(p *kit.Printout, reasons tree.Node) {
	labels := []struct{ leaf, label string }{
		{"not-tcp-udp", "Not TCP/UDP"},
		{"not-ethernet-ii", "Not Ethernet II"},
		{"cut", "Cut"},
		{"mtu", "MTU"},
	}
	var sum uint64
	known := 0
	for _, l := range labels {
		if n, ok := reasons.Count(l.leaf); ok {
			sum += n
			known++
		}
	}
	text := kit.OrDash("")
	if known == len(labels) {
		text = strconv.FormatUint(sum, 10)
	}
	p.Field(flowWidth, "Not Stamped", text)
	for _, l := range labels {
		if n, ok := reasons.Count(l.leaf); known > 0 && (n > 0 || !ok) {
			p.Field(flowWidth, "   "+l.label, kit.Counted(reasons, l.leaf))
		}
	}
}

// writeSyns writes how many segments with SYN a clamp saw, and what became of them, as far as it occurred or is not
// known.
func writeSyns(p *kit.Printout, counts tree.Node) {
	p.Field(flowWidth, "SYN Count", kit.Counted(counts, "seen"))
	for _, l := range []struct{ leaf, label string }{
		{"clamped", "Clamped"},
		{"small", "Small Enough"},
		{"without-mss", "Without MSS"},
		{"malformed", "Malformed"},
		{"cut", "Cut"},
		{"no-room", "No Room"},
	} {
		if n, ok := counts.Count(l.leaf); n > 0 || !ok && counts.Exists() {
			p.Field(flowWidth, "   "+l.label, kit.Counted(counts, l.leaf))
		}
	}
}

func showTailStamping(ctx context.Context, c *kit.Call) (*kit.View, error) {
	feature, data, err := readFeature(ctx, c.Session, "TAILSTAMPING")
	if err != nil {
		return nil, err
	}
	found, err := c.Session.Client.All(ctx, tree.Path(TamRoot, "switch"))
	if err != nil {
		return nil, err
	}
	maps.Copy(data, kit.One("openconfig-tam:switch", found))
	return kit.Framed(data, func(p *kit.Printout) {
		writeFeatureStatus(p, flowWidth, feature)
		p.Field(flowWidth, "Switch ID", found.Text("state", "op-switch-id"))
		if id := InForce(found).At("state"); kit.Inactive(id) {
			p.Field(flowWidth, "   "+kit.Title(id.Word("status")), id.Text("reason"))
		}
	}), nil
}
