package tam

import (
	"context"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// showIFA shows the feature and its sessions, or the details of one session.
func showIFA(ctx context.Context, c *kit.Call) (*kit.View, error) {
	return sessionTable{ref: "IFA", object: ifaSession, columns: []sessionColumn{
		{kit.Col("Name", 12, 2), tree.Node.Name}, {kit.Col("Role", 10, 2), configured("role")},
		{kit.Col("Flow Group", 10, 2), configured("flow-group")}, {kit.Col("Collectors", 12, 2), configured("collector")},
		{kit.Col("Status", 7, 2), statusOf}, {kit.Col("Matched", 8, 2), countedAs("matched")},
		{kit.Col("Inserted", 8, 2), countedAs("inserted")}, {kit.Col("Stripped", 8, 2), countedAs("stripped")},
		{kit.Col("Reported", 8, 0), countedAs("reported")},
	}, whole: func(p *kit.Printout, e tree.Node) {
		writeStatus(p, e.At("state"))
		writeCounters(p, "TAM_IFA_COUNTERS", e.At("state", "counters"), false)
	}}.show(ctx, c)
}

// ifaCounted returns the counters of IFA.
func ifaCounted() []counter { return countersIn("TAM_IFA_COUNTERS", "") }

// showIFACounters shows all counters of sessions and of the switch as transit, with a column for each.
func showIFACounters(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := ifaSessions.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	heads, columns := []kit.Column{kit.Col("Counter", 12, 2)}, []tree.Node{}
	for _, e := range entries {
		heads, columns = append(heads, kit.Col(e.Name(), 12, 2)), append(columns, e.At("state", "counters"))
	}
	if !c.Has("name") {
		transit, err := c.Session.Client.Get(ctx, gpb.GetRequest_ALL, tree.Path(TamRoot, "tamtam-ifa:ifa-transit"))
		if err != nil {
			return nil, err
		}
		data["tamtam-ifa:ifa-transit"] = transit[0].Value
		heads, columns = append(heads, kit.Col("(transit)", 12, 0)), append(columns, transit[0].At("state", "counters"))
	}
	return kit.Framed(data, func(p *kit.Printout) {
		ifaCounts(p, heads[0], heads[1:], columns)
	}), nil
}

// ifaCounts prints a column for each counting object, as many side by side as fit in a line.
func ifaCounts(p *kit.Printout, first kit.Column, heads []kit.Column, columns []tree.Node) {
	for len(heads) > 0 {
		rows, n := make([][]string, len(ifaCounted())), 0
		for width := first.Width + first.Gap; n < len(heads); n++ {
			for i, l := range ifaCounted() {
				cell := kit.Counted(columns[n], l.leaf)
				heads[n].Width = max(heads[n].Width, len(heads[n].Head), len(cell))
				rows[i] = append(rows[i], cell)
			}
			if width += heads[n].Width; n > 0 && width > lineWidth {
				break
			}
			width += heads[n].Gap
		}
		for i, l := range ifaCounted() {
			rows[i] = append([]string{l.label}, rows[i][:n]...)
		}
		p.Table(append([]kit.Column{first}, heads[:n]...), rows)
		if heads, columns = heads[n:], columns[n:]; len(heads) > 0 {
			p.Line("")
		}
	}
}

// lineWidth is the maximum width of a printout, if it can be arranged to fit.
const lineWidth = 120
