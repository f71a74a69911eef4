package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// showWires shows the live interfaces of ports, and how many frames were lost there and in the chip, by reason.
func showWires(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, _, err := readInterfaces(ctx, c.Session, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var below []string
	entries = slices.DeleteFunc(entries, func(e tree.Node) bool { return e.Text("wire", "state", "interface") == "" })
	for _, e := range entries {
		state := e.At("wire", "state")
		if why := state.Text("reason"); why != "" {
			below = append(below, e.Name()+": "+why)
		}
		rows = append(rows, []string{
			e.Name(), state.Text("interface"), kit.OrDash(state.Word("status")), kit.OrDash(state.Text("mtu")),
			kit.Counted(state, "received"), kit.Counted(state, "sent"), kit.Counted(state, "cut"), kit.Counted(state, "joined"),
			frames(state, "lost-"), frames(state, "dropped-"),
		})
	}
	return kit.TableView(kit.InterfacesData(entries), []kit.Column{
		kit.Col("Port", 14, 2), kit.Col("Interface", 12, 2), kit.Col("Status", 7, 2), kit.Col("MTU", 5, 2),
		kit.Col("Received", 10, 2), kit.Col("Sent", 10, 2),
		kit.Col("Cut", 8, 2), kit.Col("Joined", 8, 2), kit.Col("Lost", 4, 2), kit.Col("Dropped", 7, 0),
	}, rows, below), nil
}

// frames returns the nonzero counts of a wire whose leaves have a prefix, by reason. It returns "0" if there are none,
// and a dash if they are unknown.
func frames(state tree.Node, prefix string) string {
	leaves, _ := state.Value.(map[string]any)
	var counts []string
	known := false
	for _, leaf := range slices.Sorted(maps.Keys(leaves)) {
		if _, local, ok := strings.Cut(leaf, ":"); ok {
			leaf = local
		}
		why, is := strings.CutPrefix(leaf, prefix)
		known = known || is
		if n := state.Text(leaf); is && n != "0" {
			counts = append(counts, n+" "+why)
		}
	}
	if known && len(counts) == 0 {
		return "0"
	}
	return kit.OrDash(strings.Join(counts, ", "))
}
