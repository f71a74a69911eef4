package tam

import (
	"context"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// showDropMonitor shows the feature and its sessions, or the details of one session.
func showDropMonitor(ctx context.Context, c *kit.Call) (*kit.View, error) {
	return sessionTable{ref: "DROPMONITOR", object: dropSession, columns: []sessionColumn{
		{kit.Col("Name", 12, 2), tree.Node.Name}, {kit.Col("Flow Group", 10, 2), configured("flow-group")},
		{kit.Col("Collectors", 12, 2), configured("collector")}, {kit.Col("Status", 7, 2), statusOf},
		{kit.Col("Type", 9, 2), configured("drop-type")}, {kit.Col("Dropped", 8, 2), countedAs("dropped")},
		{kit.Col("Trapped", 8, 2), countedAs("trapped")}, {kit.Col("Reports", 8, 2), countedAs("reports")},
		{kit.Col("Suppressed", 10, 2), countedAs("suppressed")}, {kit.Col("Sampled Out", 11, 2), countedAs("sampled-out")},
		{kit.Col("Unsendable", 10, 0), countedAs("unsendable")},
	}, whole: func(p *kit.Printout, e tree.Node) {
		writeStatus(p, e.At("state"))
		writeCounters(p, "TAM_DROP_MONITOR_COUNTERS", e.At("state", "counters"), true)
	}}.show(ctx, c)
}
