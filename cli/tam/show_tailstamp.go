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

// sessionView shows one session with its flow group's fields and its counters.
func sessionView(ctx context.Context, c *kit.Call, session tree.Node, data map[string]any) (*kit.View, error) {
	name := kit.Configured(session, "flowgroup")
	var group tree.Node
	if name != "" { // a row written by another tool may have none
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
		for _, c := range countersIn("TAM_TAILSTAMPING_COUNTERS", "") {
			if c.label != "" { // counters of bytes have no label, and are not shown
				p.Field(flowWidth, c.label, kit.Counted(counters, c.leaf))
			}
		}
		writeNotStamped(p, counters.At("not-stamped"))
		if clampMSS.Shown(session) != "" {
			writeSyns(p, counters.At("syns"))
		}
		p.WhyNot(flowWidth, session.At("state"))
	}), nil
}

// writeNotStamped writes how many packets left without a record, and the reasons that occurred. If one count is
// unknown, the sum is unknown too, and the reason with the unknown count is also shown.
func writeNotStamped(p *kit.Printout, reasons tree.Node) {
	labels := countersIn("TAM_TAILSTAMPING_COUNTERS", "not-stamped")
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

// writeSyns writes how many SYN segments an MSS clamp saw, and how many of them had each outcome. It omits outcomes
// whose count is 0.
func writeSyns(p *kit.Printout, counts tree.Node) {
	syns := countersIn("TAM_TAILSTAMPING_COUNTERS", "syns")
	p.Field(flowWidth, syns[0].label, kit.Counted(counts, syns[0].leaf))
	for _, c := range syns[1:] {
		if n, ok := counts.Count(c.leaf); n > 0 || !ok && counts.Exists() {
			p.Field(flowWidth, "   "+c.label, kit.Counted(counts, c.leaf))
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
