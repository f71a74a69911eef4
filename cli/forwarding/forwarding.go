// Package forwarding shows how the switch spreads flows, and the tunnels that end at it.
//
// What belongs here: these commands, with SONiC's words for the hashes. What does not: routes and interfaces, which
// package cli shows.
package forwarding

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Paths in the tree.
const (
	hashRoot    = "tamtam-forwarding:switch-hash"
	tunnelsRoot = "tamtam-forwarding:tunnels"
)

// Shows adds the commands that show.
func Shows(add func(show func(context.Context, *kit.Call) (*kit.View, error), parts ...any)) {
	hash := kit.Keyword("switch-hash", "What spreads flows over next hops and ports of PortChannels")
	add(showHash, "show", hash, kit.Keyword("global", "Fields of packets and algorithms"))
	add(showCapabilities, "show", hash, kit.Keyword("capabilities", "What the switch can do"))
	add(showTunnels, "show", kit.Keyword("tunnels", "Tunnels of IP in IP that end at the switch"))
}

// kinds returns SONiC's names of the two hashes, with the beginnings of their leaves.
func kinds() [][2]string { return [][2]string{{"ECMP", "ecmp"}, {"LAG", "lag"}} }

// lines returns rows with one word of each list in a row, and the hash only in the first.
func lines(hash string, fields, algorithms []string) (rows [][]string) {
	for i := range max(len(fields), len(algorithms), 1) {
		row := []string{"", "", ""}
		if i == 0 {
			row = []string{hash, "-", "-"}
		}
		for column, list := range [][]string{fields, algorithms} {
			if i < len(list) {
				row[1+column] = list[i]
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func hashColumns() []kit.Column {
	return []kit.Column{kit.Col("Hash", 6, 2), kit.Col("Hash Field", 17, 2), kit.Col("Algorithm", 9, 0)}
}

// showHash shows what is configured, or the defaults.
func showHash(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(hashRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	state := found.At("state")
	for _, k := range kinds() {
		rows = append(rows, lines(k[0], state.Texts(k[1]+"-field"), []string{kit.OrDash(state.Text(k[1] + "-algorithm"))})...)
	}
	below := kit.WhyNotLine("SWITCH_HASH", state)
	if state.Text("status") == "failed" {
		below = append(below, "Until then the defaults hold.")
	}
	return kit.TableView(kit.One(hashRoot, found), hashColumns(), rows, below), nil
}

// showCapabilities shows the fields and algorithms that can be configured.
func showCapabilities(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(hashRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	can := found.At("capabilities", "state")
	for _, k := range kinds() {
		of := func(leaf, settable string) []string {
			switch list := can.Texts(leaf); {
			case can.Text(k[1]+settable) == "false":
				return []string{"not supported"}
			case len(list) == 0 && can.Text(k[1]+settable) == "true":
				return []string{"N/A"}
			default:
				return list
			}
		}
		rows = append(rows, lines(k[0], of("field", "-fields"), of(k[1]+"-algorithm", "-algorithms"))...)
	}
	return kit.TableView(kit.One(hashRoot, found), hashColumns(), rows, nil), nil
}

// showTunnels shows each tunnel with its ends.
func showTunnels(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(tunnelsRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	tunnels := found.Sorted("tunnel")
	below := kit.WhyNots(tunnels)
	for _, t := range tunnels {
		state := t.At("state")
		first := []string{t.Name(), kit.OrDash(state.Text("type")), kit.OrDash(state.Text("dscp-mode")),
			kit.OrDash(state.Text("ttl-mode")), kit.OrDash(state.Text("ecn-mode")),
			kit.OrDash(kit.Title(state.Text("status"))), "-", "-", "-"}
		for _, e := range t.SortedBy("address", "ends", "end") {
			end := e.At("state")
			copy(first[6:], []string{e.Plain("address"), kit.OrDash(end.Text("source")), kit.OrDash(end.Text("type"))})
			rows, first = append(rows, first), make([]string, len(first))
			below = append(below, kit.WhyNotLine(t.Name()+" "+e.Plain("address"), end)...)
		}
		if first[0] != "" {
			rows = append(rows, first)
		}
	}
	return kit.TableView(kit.One(tunnelsRoot, found), []kit.Column{
		kit.Col("Tunnel", 16, 2), kit.Col("Type", 6, 2), kit.Col("DSCP", 7, 2), kit.Col("TTL", 7, 2), kit.Col("ECN", 15, 2),
		kit.Col("Status", 7, 2), kit.Col("End", 15, 2), kit.Col("Source", 15, 2), kit.Col("Kind", 4, 0),
	}, rows, below), nil
}

// ClickedHash returns the lines for SONiC's "config switch-hash global", behind which there is a word for what is set,
// and one or several values.
func ClickedHash(words []string) ([]string, error) {
	known := []string{"ecmp-hash", "lag-hash", "ecmp-hash-algorithm", "lag-hash-algorithm"}
	switch {
	case len(words) == 0 || !slices.Contains(known, words[0]):
		return nil, fmt.Errorf("%q is not understood: want %s", strings.Join(words, " "), strings.Join(known, ", "))
	case len(words) == 1:
		return nil, fmt.Errorf("%s has no value", words[0])
	case strings.HasSuffix(words[0], "algorithm") && len(words) > 2:
		return nil, fmt.Errorf("%d algorithms: want one", len(words)-1)
	}
	return []string{"configure", "switch-hash global " + words[0] + " " + kit.Quote(strings.Join(words[1:], ","))}, nil
}
