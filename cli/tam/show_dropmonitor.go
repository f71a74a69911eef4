package tam

import (
	"context"
	"maps"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// showDropMonitor shows the feature and its sessions, or all of one session.
func showDropMonitor(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := dropSessions.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Has("name") {
		return kit.Framed(data, func(p *kit.Printout) {
			e := entries[0]
			p.Field(flowWidth, dropSession.Title, e.Name())
			p.Leaves(flowWidth, e, dropSession.Leaves...)
			p.Optional(flowWidth, "Status", kit.Title(e.Text("state", "status")), "Reason", e.Text("state", "reason"),
				"Since", e.Text("state", "since"))
			writeCounters(p, "TAM_DROP_MONITOR_COUNTERS", e.At("state", "counters"), true)
		}), nil
	}
	feature, reported, err := readFeature(ctx, c.Session, "DROPMONITOR")
	if err != nil {
		return nil, err
	}
	maps.Copy(data, reported)
	return kit.Framed(data, func(p *kit.Printout) {
		writeFeatureStatus(p, flowWidth, feature)
		p.Line("")
		writeDropSessions(p, entries)
	}), nil
}

// writeDropSessions writes a line for each session.
func writeDropSessions(p *kit.Printout, entries []tree.Node) {
	var rows [][]string
	for _, e := range entries {
		counters := e.At("state", "counters")
		rows = append(rows, []string{
			e.Name(), kit.OrDash(kit.Configured(e, "flow-group")), strings.Join(e.Texts("config", "collector"), ","),
			kit.OrDash(kit.Title(e.Text("state", "status"))), kit.Configured(e, "drop-type"), kit.Counted(counters, "dropped"),
			kit.Counted(counters, "trapped"), kit.Counted(counters, "reports"), kit.Counted(counters, "suppressed"),
			kit.Counted(counters, "sampled-out"), kit.Counted(counters, "unsendable"),
		})
	}
	p.Table([]kit.Column{
		kit.Col("Name", 12, 2), kit.Col("Flow Group", 10, 2), kit.Col("Collectors", 12, 2), kit.Col("Status", 7, 2),
		kit.Col("Type", 9, 2), kit.Col("Dropped", 8, 2),
		kit.Col("Trapped", 8, 2), kit.Col("Reports", 8, 2), kit.Col("Suppressed", 10, 2), kit.Col("Sampled Out", 11, 2),
		kit.Col("Unsendable", 10, 0),
	}, rows)
	p.After(kit.WhyNots(entries))
}
