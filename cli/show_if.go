package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// interfaces reads all interfaces, or the one that the call names.
func (s *Shell) interfaces(ctx context.Context, c *call) ([]tree, map[string]any, error) {
	if text := c.args["name"]; text != "" {
		name, err := s.resolve(ctx, text)
		if err != nil {
			return nil, nil, err
		}
		found, err := s.client.all(ctx, interfacePath(name))
		return []tree{found}, entry("openconfig-interfaces:interface", found), err
	}
	found, err := s.client.all(ctx, gpath(interfacesRoot))
	return links(found), one(interfacesRoot, found), err
}

// links are the ports and port channels among the interfaces: VLAN interfaces and loopbacks are shown by show ip.
func links(interfaces tree) []tree {
	return slices.DeleteFunc(interfaces.sorted("interface"), func(i tree) bool { return !isLink(i.name()) })
}

func isLink(name string) bool {
	return strings.HasPrefix(name, "Ethernet") || strings.HasPrefix(name, "PortChannel")
}

// orDash replaces an empty value by a dash.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func showInterfaceStatus(ctx context.Context, c *call) (*view, error) {
	entries, data, err := c.sh.interfaces(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range entries {
		state := e.at("state")
		rows = append(rows, []string{
			e.name(), orDash(config(e, "description")), orDash(strings.ToLower(state.word("oper-status"))),
			orDash(adminOf(e)), orDash(speedText(state.text("speed"))), orDash(cmp.Or(state.text("mtu"), config(e, "mtu"))),
			orDash(state.text("alias")), orDash(state.text("lanes")),
		})
	}
	return tableView(data, []column{
		{"Name", 14, 2}, {"Description", 14, 2}, {"Oper", 6, 2}, {"Admin", 6, 2}, {"Speed", 7, 2}, {"MTU", 6, 2},
		{"Alternate Name", 14, 2}, {"Lanes", 8, 0},
	}, rows, whyNots(entries)), nil
}

// showInterfaceDescription has the columns of SONiC's command.
func showInterfaceDescription(ctx context.Context, c *call) (*view, error) {
	entries, data, err := c.sh.interfaces(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, []string{
			e.name(), orDash(strings.ToLower(e.word("state", "oper-status"))), orDash(adminOf(e)),
			orDash(e.text("state", "alias")), orDash(config(e, "description")),
		})
	}
	columns := []column{{"Interface", 14, 2}, {"Oper", 6, 2}, {"Admin", 6, 2}, {"Alias", 14, 2}, {"Description", 11, 0}}
	return tableView(data, columns, rows, nil), nil
}

// adminOf says whether an interface is configured up.
func adminOf(e tree) string {
	if status := e.word("state", "admin-status"); status != "" {
		return strings.ToLower(status)
	}
	switch e.text("config", "enabled") {
	case "true":
		return "up"
	case "false":
		return "down"
	}
	return ""
}

// speedText writes Mbit/s in the customary unit.
func speedText(mbps string) string {
	n, err := strconv.ParseUint(mbps, 10, 32)
	if err != nil || n == 0 {
		return ""
	}
	if n%1000 == 0 {
		return fmt.Sprintf("%dG", n/1000)
	}
	return fmt.Sprintf("%dM", n)
}

func showInterfaceCounters(ctx context.Context, c *call) (*view, error) {
	entries, data, err := c.sh.interfaces(ctx, c)
	if err != nil {
		return nil, err
	}
	leaves := []string{
		"in-pkts", "in-octets", "in-errors", "in-discards", "out-pkts", "out-octets", "out-errors", "out-discards",
	}
	var rows [][]string
	var since sinces
	for _, e := range entries {
		if at := e.at("state", "counters"); at.text("in-pkts") != "" {
			since.add("", []string{e.name()}, map[string]string{e.name(): at.text("counted-since")})
		}
		row := []string{e.name(), stateLetter(e)}
		for _, leaf := range leaves {
			row = append(row, counted(e, "state", "counters", leaf))
		}
		rows = append(rows, row)
	}
	return tableView(data, []column{
		{"Interface", 14, 2}, {"State", 5, 2}, {"RX_OK", 10, 2}, {"RX_BYTES", 12, 2}, {"RX_ERR", 6, 2},
		{"RX_DRP", 6, 2}, {"TX_OK", 10, 2}, {"TX_BYTES", 12, 2}, {"TX_ERR", 6, 2}, {"TX_DRP", 6, 0},
	}, rows, since.lines()), nil
}

// stateLetter is SONiC's letter for an interface's state: up, down or disabled; where nobody knows, "?".
func stateLetter(e tree) string {
	switch {
	case adminOf(e) == "down":
		return "X"
	case strings.EqualFold(e.word("state", "oper-status"), "UP"):
		return "U"
	case strings.EqualFold(e.word("state", "oper-status"), "UNKNOWN"):
		return "?"
	}
	return "D"
}

// breakoutOf is a port's breakout mode as the command spells it, or empty.
func breakoutOf(group tree) string {
	speed := strings.TrimSuffix(strings.TrimPrefix(config(group, "breakout-speed"), "SPEED_"), "B")
	if speed == "" {
		return ""
	}
	return config(group, "num-breakouts") + "x" + speed
}

func showBreakout(ctx context.Context, c *call) (*view, error) {
	entries, data, err := c.sh.interfaces(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range entries {
		for _, g := range e.items("breakout-mode", "groups", "group") {
			s := g.at("state")
			rows = append(rows, []string{e.name(), breakoutOf(g), orDash(title(s.word("status"))), s.text("reason")})
		}
	}
	columns := []column{{"Port", 14, 2}, {"Breakout Mode", 13, 2}, {"Status", 9, 2}, {"Reason", 6, 0}}
	return tableView(data, columns, rows, nil), nil
}

func showVLAN(ctx context.Context, c *call) (*view, error) {
	vlans, err := c.sh.client.all(ctx, gpath(vlansRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var why []string
	for _, v := range vlans.sortedBy("vlan-id", "vlan") {
		id := v.text("vlan-id")
		why = append(why, whyNotLine("Vlan"+id, v.at("state"))...)
		members := v.sortedBy("interface", "members", "member")
		if len(members) == 0 {
			rows = append(rows, []string{id, "-", "-"})
		}
		for _, m := range members {
			rows = append(rows, []string{id, m.text("interface"), strings.ToLower(config(m, "tagging-mode"))})
			why = append(why, whyNotLine("Vlan"+id+" "+m.text("interface"), m.at("state"))...)
		}
	}
	return tableView(one(vlansRoot, vlans), []column{{"VLAN", 6, 2}, {"Member", 14, 2}, {"Tagging", 8, 0}}, rows, why), nil
}

// showVLANConfig is what is configured of VLANs, whether it is in force or not.
func showVLANConfig(ctx context.Context, c *call) (*view, error) {
	vlans, err := c.sh.client.config(ctx, gpath(vlansRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, v := range vlans.sortedBy("vlan-id", "vlan") {
		id := v.text("vlan-id")
		members := v.sortedBy("interface", "members", "member")
		if len(members) == 0 {
			rows = append(rows, []string{"Vlan" + id, id, "-", "-"})
		}
		for _, m := range members {
			mode := strings.ToLower(m.text("config", "tagging-mode"))
			rows = append(rows, []string{"Vlan" + id, id, m.text("interface"), orDash(mode)})
		}
	}
	columns := []column{{"Name", 8, 2}, {"VID", 4, 2}, {"Member", 14, 2}, {"Mode", 8, 0}}
	return tableView(one(vlansRoot, vlans), columns, rows, nil), nil
}

func showACL(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(aclRoot, "tables"))
	if err != nil {
		return nil, err
	}
	tables := found.sorted("table")
	data := one("tamtam-acl:tables", found)
	if want := c.args["name"]; want != "" {
		if tables = slices.DeleteFunc(tables, func(t tree) bool { return t.name() != want }); len(tables) == 0 {
			return nil, fmt.Errorf("ACL table %s does not exist", want)
		}
		data = entry("tamtam-acl:table", tables[0])
	}
	var rows [][]string
	for _, t := range tables {
		state := t.at("state")
		rows = append(rows, []string{
			t.name(), "", orDash(state.text("type")), "", "", orDash(state.text("status")), state.text("reason"),
		})
		for _, r := range t.sortedBy("rule-name", "rules", "rule") {
			state := r.at("state")
			rows = append(rows, []string{
				"", r.text("rule-name"), orDash(state.text("priority")), counted(state, "matched-packets"),
				counted(state, "matched-octets"), orDash(state.text("status")), state.text("reason"),
			})
		}
	}
	return tableView(data, []column{
		{"Table", 10, 2}, {"Rule", 14, 2}, {"Type/Prio", 9, 2}, {"Packets", 10, 2}, {"Bytes", 12, 2},
		{"Status", 8, 2}, {"Reason", 6, 0},
	}, rows, nil), nil
}

// showLLDP writes who is at which port, by his own word.
func showLLDP(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(lldpRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, i := range found.sorted("interfaces", "interface") {
		for _, n := range i.items("neighbors", "neighbor") {
			row := []string{i.name()}
			for _, leaf := range []string{"system-name", "port-id", "port-description", "chassis-id"} {
				row = append(row, orDash(n.text("state", leaf)))
			}
			rows = append(rows, row)
		}
	}
	columns := []column{
		{"LocalPort", 12, 2}, {"RemoteDevice", 16, 2}, {"RemotePortID", 14, 2}, {"RemotePortDescr", 16, 2},
		{"ChassisID", 17, 0},
	}
	return tableView(one(lldpRoot, found), columns, rows, nil), nil
}
