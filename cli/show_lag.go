package cli

import (
	"context"
	"fmt"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// showPortChannels shows PortChannels and their members in the form of SONiC's teamshow. It also shows why a member
// carries no traffic.
func showPortChannels(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(kit.InterfacesRoot))
	if err != nil {
		return nil, err
	}
	all := found.Sorted("interface")
	up := map[string]bool{}
	for _, e := range all {
		up[e.Name()] = e.Word("state", "oper-status") == "UP"
	}
	data := []any{}
	var rows [][]string
	var notes []string
	for _, e := range all {
		number, isLAG := strings.CutPrefix(e.Name(), "PortChannel")
		if !isLAG {
			continue
		}
		data = append(data, e.Value)
		var ports []string
		for _, m := range e.SortedBy("interface", "aggregation", "members", "member") {
			flag, why := memberFlag(m, up)
			ports = append(ports, m.Text("interface")+"("+flag+")")
			if why != "" {
				notes = append(notes, fmt.Sprintf("%s: %s", m.Text("interface"), why))
			}
		}
		if why := e.Text("aggregation", "state", "not-up-because"); why != "" {
			notes = append(notes, fmt.Sprintf("%s: %s", e.Name(), why))
		}
		rows = append(rows, []string{number, e.Name(), protocolOf(e), strings.Join(ports, " ")})
	}
	return kit.Framed(map[string]any{kit.InterfacesRoot: map[string]any{"interface": data}}, func(p *kit.Printout) {
		p.Line("Flags: A - active, I - inactive, Up - up, Dw - down, N/A - not available,")
		p.Line("       S - selected, D - deselected, * - not synced")
		p.Table([]kit.Column{kit.Col("No.", 5, 2), kit.Col("Team Dev", 14, 2), kit.Col("Protocol", 12, 2),
			kit.Col("Ports", 27, 0)}, rows)
		p.After(notes)
	}), nil
}

// protocolOf returns the aggregation protocol of a PortChannel, and whether it is up.
func protocolOf(e tree.Node) string {
	name := map[string]string{"LACP": "LACP(A)", "STATIC": "Static"}[e.Word("aggregation", "state", "lag-type")]
	switch e.Word("state", "oper-status") {
	case "UP":
		return name + "(Up)"
	case "DOWN":
		return name + "(Dw)"
	}
	return name + "(N/A)"
}

// memberFlag returns a member's flag: S means selected, S* selected but not yet in force, and D not selected. why is
// the reason if the member carries no traffic.
func memberFlag(m tree.Node, up map[string]bool) (flag, why string) {
	does := m.Word("state", "oper-status") == "UP"
	may := m.Word("state", "mux")
	why = m.Text("state", "not-distributing-because")
	switch {
	case may == "" && does && up[m.Text("interface")]:
		return "S", ""
	case may == "" && does:
		return "D", "the port is down"
	case may == "":
		return "D", "it is not active"
	case may == "DISTRIBUTING" && does:
		return "S", why
	case may == "DISTRIBUTING":
		return "S*", "it is not active yet"
	}
	return "D", why
}
