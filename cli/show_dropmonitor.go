package cli

import (
	"context"
	"maps"
	"strings"
)

// showDropMonitor shows the feature and its sessions, or all of one session.
func showDropMonitor(ctx context.Context, c *call) (*view, error) {
	entries, data, err := dropSessions.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.has("name") {
		return framed(data, func(p *printout) {
			e := entries[0]
			p.field(flowWidth, dropSession.title, e.name())
			p.leaves(flowWidth, e, dropSession.leaves...)
			p.optional(flowWidth, "Status", title(e.text("state", "status")), "Reason", e.text("state", "reason"),
				"Since", e.text("state", "since"))
			p.dropCounters(e.at("state", "counters"))
		}), nil
	}
	feature, reported, err := c.sh.feature(ctx, "DROPMONITOR")
	if err != nil {
		return nil, err
	}
	maps.Copy(data, reported)
	return framed(data, func(p *printout) {
		p.featureStatus(flowWidth, feature)
		p.line("")
		p.dropSessions(entries)
	}), nil
}

// dropLeaves are the counters of a session with their labels.
func dropLeaves() [][2]string {
	return [][2]string{
		{"dropped", "Dropped Packets"}, {"trapped", "Trapped Packets"}, {"reports", "Reports"}, {"messages", "Messages"},
		{"suppressed", "Suppressed"}, {"sampled-out", "Sampled Out"}, {"unsendable", "Unsendable"}, {"lost", "Lost"},
		{"evicted", "Evicted Flows"}, {"flows", "Flows"},
	}
}

// dropCounters writes what became of the dropped packets of a session. What is not known is shown so.
func (p *printout) dropCounters(counters tree) {
	for _, l := range dropLeaves() {
		p.field(flowWidth, l[1], counted(counters, l[0]))
	}
	p.optional(flowWidth, "Counted Since", counters.text("counted-since"))
}

// dropSessions writes a line for each session.
func (p *printout) dropSessions(entries []tree) {
	var rows [][]string
	for _, e := range entries {
		counters := e.at("state", "counters")
		rows = append(rows, []string{
			e.name(), orDash(config(e, "flow-group")), strings.Join(e.texts("config", "collector"), ","),
			orDash(title(e.text("state", "status"))), config(e, "drop-type"), counted(counters, "dropped"),
			counted(counters, "trapped"), counted(counters, "reports"), counted(counters, "suppressed"),
			counted(counters, "sampled-out"), counted(counters, "unsendable"),
		})
	}
	p.table([]column{
		{"Name", 12, 2}, {"Flow Group", 10, 2}, {"Collectors", 12, 2}, {"Status", 7, 2}, {"Type", 9, 2}, {"Dropped", 8, 2},
		{"Trapped", 8, 2}, {"Reports", 8, 2}, {"Suppressed", 10, 2}, {"Sampled Out", 11, 2}, {"Unsendable", 10, 0},
	}, rows)
	p.after(whyNots(entries))
}
