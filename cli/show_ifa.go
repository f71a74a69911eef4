package cli

import (
	"context"
	"maps"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// showIFA shows the feature and its sessions, or all of one session.
func showIFA(ctx context.Context, c *call) (*view, error) {
	entries, data, err := ifaSessions.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.has("name") {
		return framed(data, func(p *printout) {
			e := entries[0]
			p.field(flowWidth, ifaSession.title, e.name())
			p.leaves(flowWidth, e, ifaSession.leaves...)
			p.optional(flowWidth, "Status", title(e.text("state", "status")), "Reason", e.text("state", "reason"),
				"Since", e.text("state", "since"))
			for _, l := range ifaCounted() {
				if v := e.at("state", "counters").text(l[0]); v != "" {
					p.field(flowWidth, l[1], v)
				}
			}
			p.optional(flowWidth, "Counted Since", e.at("state", "counters").text("counted-since"))
		}), nil
	}
	feature, reported, err := c.sh.feature(ctx, "IFA")
	if err != nil {
		return nil, err
	}
	maps.Copy(data, reported)
	return framed(data, func(p *printout) {
		p.featureStatus(flowWidth, feature)
		p.line("")
		var rows [][]string
		for _, e := range entries {
			counters := e.at("state", "counters")
			rows = append(rows, []string{
				e.name(), config(e, "role"), orDash(config(e, "flow-group")),
				orDash(strings.Join(e.texts("config", "collector"), ",")),
				orDash(title(e.text("state", "status"))), counted(counters, "matched"), counted(counters, "inserted"),
				counted(counters, "stripped"), counted(counters, "reported"),
			})
		}
		p.table([]column{
			{"Name", 12, 2}, {"Role", 10, 2}, {"Flow Group", 10, 2}, {"Collectors", 12, 2}, {"Status", 7, 2}, {"Matched", 8, 2},
			{"Inserted", 8, 2}, {"Stripped", 8, 2}, {"Reported", 8, 0},
		}, rows)
		p.after(whyNots(entries))
	}), nil
}

// ifaCounted are the counters with their labels.
func ifaCounted() [][2]string {
	return [][2]string{
		{"matched", "Matched"}, {"unsampled", "Unsampled"}, {"already", "Already"}, {"absent", "Absent"},
		{"inserted", "Inserted"}, {"stripped", "Stripped"}, {"cut", "Cut"}, {"unsupported", "Unsupported"},
		{"hop-limit", "Hop Limit"}, {"max-length", "Max Length"}, {"mtu", "MTU"}, {"reported", "Reported"},
		{"messages", "Messages"}, {"unsendable", "Unsendable"}, {"lost", "Lost"},
	}
}

// showIFACounters shows all that is counted, of sessions and of the switch as transit: a column for each.
func showIFACounters(ctx context.Context, c *call) (*view, error) {
	entries, data, err := ifaSessions.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	heads, columns := []column{{"Counter", 12, 2}}, []tree{}
	for _, e := range entries {
		heads, columns = append(heads, column{e.name(), 12, 2}), append(columns, e.at("state", "counters"))
	}
	if !c.has("name") {
		transit, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, gpath(tamRoot, "tamtam-ifa:ifa-transit"))
		if err != nil {
			return nil, err
		}
		data["tamtam-ifa:ifa-transit"] = transit[0].v
		heads, columns = append(heads, column{"(transit)", 12, 0}), append(columns, transit[0].at("state", "counters"))
	}
	return framed(data, func(p *printout) {
		ifaCounts(p, heads[0], heads[1:], columns)
	}), nil
}

// ifaCounts prints a column for each of those that count, as many beside each other as a line has room for.
func ifaCounts(p *printout, first column, heads []column, columns []tree) {
	for len(heads) > 0 {
		rows, n := make([][]string, len(ifaCounted())), 0
		for width := first.width + first.gap; n < len(heads); n++ {
			for i, l := range ifaCounted() {
				cell := counted(columns[n], l[0])
				heads[n].width = max(heads[n].width, len(heads[n].head), len(cell))
				rows[i] = append(rows[i], cell)
			}
			if width += heads[n].width; n > 0 && width > lineWidth {
				break
			}
			width += heads[n].gap
		}
		for i, l := range ifaCounted() {
			rows[i] = append([]string{l[1]}, rows[i][:n]...)
		}
		p.table(append([]column{first}, heads[:n]...), rows)
		if heads, columns = heads[n:], columns[n:]; len(heads) > 0 {
			p.line("")
		}
	}
}

// lineWidth is how wide a printout is at most, where it can be made to fit.
const lineWidth = 120
