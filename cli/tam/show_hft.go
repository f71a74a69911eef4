package tam

import (
	"context"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

const highFrequency = "tamtam-hft:high-frequency-telemetry"

// ShowHFT shows the streams of statistics, and their readers.
func ShowHFT(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(highFrequency))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var below []string
	groups := found.At("groups").SortedBy("profile", "group")
	for _, e := range groups {
		state := e.At("state")
		name := state.Text("profile") + " " + state.Text("type")
		rows = append(rows, []string{
			state.Text("profile"), state.Text("type"), kit.OrDash(state.Text("interval")),
			kit.Title(kit.OrDash(state.Text("status"))), kit.OrDash(state.Text("stream-status")),
			joined(state, "object-name"), joined(state, "object-counter"),
		})
		below = append(below, kit.WhyNotLine(name, state)...)
	}
	var readers [][]string
	for _, e := range found.At("readers").SortedBy("name", "reader") {
		state := e.At("state")
		readers = append(readers, []string{
			state.Text("name"), state.Text("status"), state.Text("read"), state.Text("unread"), state.Text("records"),
			state.Text("lost"), kit.OrDash(state.Text("delay")),
		})
		if why := state.Text("reason"); why != "" {
			below = append(below, state.Text("name")+": "+why)
		}
	}
	return kit.Framed(kit.One(highFrequency, found), func(p *kit.Printout) {
		p.Table([]kit.Column{
			kit.Col("Profile", 8, 2), kit.Col("Type", 8, 2), kit.Col("Interval us", 11, 2), kit.Col("Status", 7, 2),
			kit.Col("Stream", 8, 2), kit.Col("Objects", 20, 2), kit.Col("Statistics", 20, 0),
		}, rows)
		p.Line("")
		p.Table([]kit.Column{
			kit.Col("Reader", 24, 2), kit.Col("Status", 6, 2), kit.Col("Read", 10, 2), kit.Col("Unread", 8, 2),
			kit.Col("Sent", 10, 2), kit.Col("Lost", 8, 2), kit.Col("Delay us", 8, 0),
		}, readers)
		p.After(below)
	}), nil
}

// joined returns the values of a leaf-list as text.
func joined(t tree.Node, leaf string) string { return kit.OrDash(strings.Join(t.Texts(leaf), ",")) }
