package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// showWires shows the live interfaces that ports are wired to, and what was lost there and in the chip, by reason.
func showWires(ctx context.Context, c *call) (*view, error) {
	entries, data, err := c.sh.interfaces(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var below []string
	for _, e := range entries {
		state := e.at("wire", "state")
		if state.text("interface") == "" {
			continue
		}
		if why := state.text("reason"); why != "" {
			below = append(below, e.name()+": "+why)
		}
		rows = append(rows, []string{
			e.name(), state.text("interface"), orDash(state.word("status")), orDash(state.text("mtu")),
			counted(state, "received"), counted(state, "sent"), counted(state, "cut"), counted(state, "joined"),
			frames(state, "lost-"), frames(state, "dropped-"),
		})
	}
	return tableView(data, []column{
		{"Port", 14, 2}, {"Interface", 12, 2}, {"Status", 7, 2}, {"MTU", 5, 2}, {"Received", 10, 2}, {"Sent", 10, 2},
		{"Cut", 8, 2}, {"Joined", 8, 2}, {"Lost", 4, 2}, {"Dropped", 7, 0},
	}, rows, below), nil
}

// frames are the counts of a wire that are not 0, of the leaves that begin so, by reason: "0" if there are none, and a
// dash if nobody knows.
func frames(state tree, prefix string) string {
	leaves, _ := state.v.(map[string]any)
	var counts []string
	known := false
	for _, leaf := range slices.Sorted(maps.Keys(leaves)) {
		if _, local, ok := strings.Cut(leaf, ":"); ok {
			leaf = local
		}
		why, is := strings.CutPrefix(leaf, prefix)
		known = known || is
		if n := state.text(leaf); is && n != "0" {
			counts = append(counts, n+" "+why)
		}
	}
	if known && len(counts) == 0 {
		return "0"
	}
	return orDash(strings.Join(counts, ", "))
}
