package cli

import (
	"context"
	"fmt"
	"strings"
)

// showPortChannels shows PortChannels and their members, in the form of SONiC's teamshow, and why members carry no
// traffic.
func showPortChannels(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(interfacesRoot))
	if err != nil {
		return nil, err
	}
	all := found.sorted("interface")
	up := map[string]bool{}
	for _, e := range all {
		up[e.name()] = e.word("state", "oper-status") == "UP"
	}
	data := []any{}
	var rows [][]string
	var notes []string
	for _, e := range all {
		number, isLAG := strings.CutPrefix(e.name(), "PortChannel")
		if !isLAG {
			continue
		}
		data = append(data, e.v)
		var ports []string
		for _, m := range e.sortedBy("interface", "aggregation", "members", "member") {
			flag, why := memberFlag(m, up)
			ports = append(ports, m.text("interface")+"("+flag+")")
			if why != "" {
				notes = append(notes, fmt.Sprintf("%s: %s", m.text("interface"), why))
			}
		}
		if why := e.text("aggregation", "state", "not-up-because"); why != "" {
			notes = append(notes, fmt.Sprintf("%s: %s", e.name(), why))
		}
		rows = append(rows, []string{number, e.name(), protocolOf(e), strings.Join(ports, " ")})
	}
	return framed(map[string]any{interfacesRoot: map[string]any{"interface": data}}, func(p *printout) {
		p.line("Flags: A - active, I - inactive, Up - up, Dw - down, N/A - not available,")
		p.line("       S - selected, D - deselected, * - not synced")
		p.table([]column{{"No.", 5, 2}, {"Team Dev", 14, 2}, {"Protocol", 12, 2}, {"Ports", 27, 0}}, rows)
		p.after(notes)
	}), nil
}

// protocolOf says how a PortChannel is aggregated, and whether it is up.
func protocolOf(e tree) string {
	name := map[string]string{"LACP": "LACP(A)", "STATIC": "Static"}[e.word("aggregation", "state", "lag-type")]
	switch e.word("state", "oper-status") {
	case "UP":
		return name + "(Up)"
	case "DOWN":
		return name + "(Dw)"
	}
	return name + "(N/A)"
}

// memberFlag says whether a member is selected, and why not.
func memberFlag(m tree, up map[string]bool) (flag, why string) {
	does := m.word("state", "oper-status") == "UP"
	may := m.word("state", "mux")
	why = m.text("state", "not-distributing-because")
	switch {
	case may == "" && does && up[m.text("interface")]:
		return "S", ""
	case may == "" && does:
		return "D", "the port is down"
	case may == "":
		return "D", "it is not in force"
	case may == "DISTRIBUTING" && does:
		return "S", why
	case may == "DISTRIBUTING":
		return "S*", "it is not in force yet"
	}
	return "D", why
}
