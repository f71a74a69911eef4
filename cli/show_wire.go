package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// showWires shows the live interfaces that ports are wired to, and what was lost there, by reason.
func showWires(ctx context.Context, c *call) (*view, error) {
	entries, data, err := c.sh.interfaces(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range entries {
		state := e.at("wire", "state")
		if state.text("interface") == "" {
			continue
		}
		var lost []string
		leaves, _ := state.v.(map[string]any)
		for _, leaf := range slices.Sorted(maps.Keys(leaves)) {
			if _, local, ok := strings.Cut(leaf, ":"); ok {
				leaf = local
			}
			why, is := strings.CutPrefix(leaf, "lost-")
			if n := state.text(leaf); is && n != "0" {
				lost = append(lost, n+" "+why)
			}
		}
		rows = append(rows, []string{
			e.name(), state.text("interface"), orDash(state.word("status")), orDash(state.text("mtu")),
			counted(state, "received"), counted(state, "sent"), counted(state, "cut"), counted(state, "joined"),
			orDash(strings.Join(lost, ", ")),
		})
	}
	return tableView(data, []column{
		{"Port", 14, 2}, {"Interface", 12, 2}, {"Status", 7, 2}, {"MTU", 5, 2}, {"Received", 10, 2}, {"Sent", 10, 2},
		{"Cut", 8, 2}, {"Joined", 8, 2}, {"Lost", 4, 0},
	}, rows, nil), nil
}
