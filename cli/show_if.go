package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// readInterfaces returns all interfaces, or only the interface that the call names.
func readInterfaces(ctx context.Context, s *kit.Session, c *kit.Call) ([]tree.Node, map[string]any, error) {
	if text := c.Args["name"]; text != "" {
		name, err := resolveInterface(ctx, s, text)
		if err != nil {
			return nil, nil, err
		}
		found, err := s.Client.All(ctx, interfacePath(name))
		return []tree.Node{found}, kit.Entry("openconfig-interfaces:interface", found), err
	}
	found, err := s.Client.All(ctx, tree.Path(kit.InterfacesRoot))
	entries := links(found)
	return entries, kit.InterfacesData(entries), err
}

// links returns the ports and port channels among the interfaces. VLAN interfaces and loopbacks are shown by show ip.
func links(interfaces tree.Node) []tree.Node {
	return slices.DeleteFunc(interfaces.Sorted("interface"), func(i tree.Node) bool { return !kit.IsLink(i.Name()) })
}

func showInterfaceStatus(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := readInterfaces(ctx, c.Session, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range entries {
		state := e.At("state")
		rows = append(rows, []string{
			e.Name(), kit.OrDash(kit.Configured(e, "description")), operOf(e),
			kit.OrDash(adminOf(e)), kit.OrDash(speedText(state.Text("speed"))),
			kit.OrDash(cmp.Or(state.Text("mtu"), kit.Configured(e, "mtu"))),
			kit.OrDash(state.Text("alias")), kit.OrDash(state.Text("lanes")),
		})
	}
	return kit.TableView(data, []kit.Column{
		kit.Col("Name", 14, 2), kit.Col("Description", 14, 2), kit.Col("Oper", 6, 2), kit.Col("Admin", 6, 2),
		kit.Col("Speed", 7, 2), kit.Col("MTU", 6, 2),
		kit.Col("Alternate Name", 14, 2), kit.Col("Lanes", 8, 0),
	}, rows, kit.WhyNots(entries)), nil
}

// showInterfaceDescription shows the columns of SONiC's command.
func showInterfaceDescription(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := readInterfaces(ctx, c.Session, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, []string{
			e.Name(), operOf(e), kit.OrDash(adminOf(e)),
			kit.OrDash(e.Text("state", "alias")), kit.OrDash(kit.Configured(e, "description")),
		})
	}
	columns := []kit.Column{kit.Col("Interface", 14, 2), kit.Col("Oper", 6, 2), kit.Col("Admin", 6, 2),
		kit.Col("Alias", 14, 2), kit.Col("Description", 11, 0)}
	return kit.TableView(data, columns, rows, nil), nil
}

// operOf returns the operational state of an interface as SONiC shows it, or "-" if there is none. A VLAN without a
// member that is up is down.
func operOf(e tree.Node) string {
	word := strings.ToLower(e.Word("state", "oper-status"))
	if word == "lower_layer_down" {
		return "down"
	}
	return kit.OrDash(word)
}

// adminOf returns whether an interface is configured up: "up", "down" or "".
func adminOf(e tree.Node) string {
	if status := e.Word("state", "admin-status"); status != "" {
		return strings.ToLower(status)
	}
	switch e.Text("config", "enabled") {
	case "true":
		return "up"
	case "false":
		return "down"
	}
	return ""
}

// speedText formats a speed in Mbit/s in the customary unit.
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

func showInterfaceCounters(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := readInterfaces(ctx, c.Session, c)
	if err != nil {
		return nil, err
	}
	leaves := []string{
		"in-pkts", "in-octets", "in-errors", "in-discards", "out-pkts", "out-octets", "out-errors", "out-discards",
	}
	var rows [][]string
	var since kit.Sinces
	for _, e := range entries {
		if at := e.At("state", "counters"); at.Text("in-pkts") != "" {
			since.Add("", []string{e.Name()}, map[string]string{e.Name(): at.Text("counted-since")})
		}
		row := []string{e.Name(), stateLetter(e)}
		for _, leaf := range leaves {
			row = append(row, kit.Counted(e, "state", "counters", leaf))
		}
		rows = append(rows, row)
	}
	return kit.TableView(data, []kit.Column{
		kit.Col("Interface", 14, 2), kit.Col("State", 5, 2), kit.Col("RX_OK", 10, 2), kit.Col("RX_BYTES", 12, 2),
		kit.Col("RX_ERR", 6, 2),
		kit.Col("RX_DRP", 6, 2), kit.Col("TX_OK", 10, 2), kit.Col("TX_BYTES", 12, 2), kit.Col("TX_ERR", 6, 2),
		kit.Col("TX_DRP", 6, 0),
	}, rows, since.Lines()), nil
}

// stateLetter returns SONiC's letter for an interface's state: up, down or disabled. It returns "?" if the state is
// unknown.
func stateLetter(e tree.Node) string {
	switch {
	case adminOf(e) == "down":
		return "X"
	case strings.EqualFold(e.Word("state", "oper-status"), "UP"):
		return "U"
	case strings.EqualFold(e.Word("state", "oper-status"), "UNKNOWN"):
		return "?"
	}
	return "D"
}

// breakoutOf returns a port's breakout mode in the form of the command, or "".
func breakoutOf(group tree.Node) string {
	speed := strings.TrimSuffix(strings.TrimPrefix(kit.Configured(group, "breakout-speed"), "SPEED_"), "B")
	if speed == "" {
		return ""
	}
	return kit.Configured(group, "num-breakouts") + "x" + speed
}

func showBreakout(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, _, err := readInterfaces(ctx, c.Session, c)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e tree.Node) bool { return !e.At("breakout-mode", "groups").Exists() })
	var rows [][]string
	for _, e := range entries {
		for _, g := range e.Items("breakout-mode", "groups", "group") {
			s := g.At("state")
			rows = append(rows, []string{e.Name(), breakoutOf(g), kit.OrDash(kit.Title(s.Word("status"))), s.Text("reason")})
		}
	}
	columns := []kit.Column{kit.Col("Port", 14, 2), kit.Col("Breakout Mode", 13, 2), kit.Col("Status", 9, 2),
		kit.Col("Reason", 6, 0)}
	return kit.TableView(kit.InterfacesData(entries), columns, rows, nil), nil
}

func showVLAN(ctx context.Context, c *kit.Call) (*kit.View, error) {
	vlans, err := c.Session.Client.All(ctx, tree.Path(vlansRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var why []string
	for _, v := range vlans.SortedBy("vlan-id", "vlan") {
		id := v.Text("vlan-id")
		why = append(why, kit.WhyNotLine("Vlan"+id, v.At("state"))...)
		members := v.SortedBy("interface", "members", "member")
		if len(members) == 0 {
			rows = append(rows, []string{id, "-", "-"})
		}
		for _, m := range members {
			rows = append(rows, []string{id, m.Text("interface"), strings.ToLower(kit.Configured(m, "tagging-mode"))})
			why = append(why, kit.WhyNotLine("Vlan"+id+" "+m.Text("interface"), m.At("state"))...)
		}
	}
	return kit.TableView(kit.One(vlansRoot, vlans), []kit.Column{kit.Col("VLAN", 6, 2), kit.Col("Member", 14, 2),
		kit.Col("Tagging", 8, 0)}, rows, why), nil
}

// showVLANConfig shows the configuration of VLANs, whether it is in force or not.
func showVLANConfig(ctx context.Context, c *kit.Call) (*kit.View, error) {
	vlans, err := c.Session.Client.Configured(ctx, tree.Path(vlansRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, v := range vlans.SortedBy("vlan-id", "vlan") {
		id := v.Text("vlan-id")
		members := v.SortedBy("interface", "members", "member")
		if len(members) == 0 {
			rows = append(rows, []string{"Vlan" + id, id, "-", "-"})
		}
		for _, m := range members {
			mode := strings.ToLower(m.Text("config", "tagging-mode"))
			rows = append(rows, []string{"Vlan" + id, id, m.Text("interface"), kit.OrDash(mode)})
		}
	}
	columns := []kit.Column{kit.Col("Name", 8, 2), kit.Col("VID", 4, 2), kit.Col("Member", 14, 2), kit.Col("Mode", 8, 0)}
	return kit.TableView(kit.One(vlansRoot, vlans), columns, rows, nil), nil
}

func showACL(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(aclRoot, "tables"))
	if err != nil {
		return nil, err
	}
	tables := found.Sorted("table")
	data := kit.One("tamtam-acl:tables", found)
	if want := c.Args["name"]; want != "" {
		var names []string
		for _, t := range tables {
			names = append(names, t.Name())
		}
		if tables = slices.DeleteFunc(tables, func(t tree.Node) bool { return t.Name() != want }); len(tables) == 0 {
			return nil, fmt.Errorf("ACL table %s does not exist%s", want, kit.Suggest(want, names))
		}
		data = kit.Entry("tamtam-acl:table", tables[0])
	}
	var rows [][]string
	for _, t := range tables {
		state := t.At("state")
		rows = append(rows, []string{
			t.Name(), "", kit.OrDash(state.Text("type")), "", "", kit.OrDash(state.Text("status")), state.Text("reason"),
		})
		for _, r := range t.SortedBy("rule-name", "rules", "rule") {
			state := r.At("state")
			rows = append(rows, []string{
				"", r.Text("rule-name"), kit.OrDash(state.Text("priority")), kit.Counted(state, "matched-packets"),
				kit.Counted(state, "matched-octets"), kit.OrDash(state.Text("status")), state.Text("reason"),
			})
		}
	}
	return kit.TableView(data, []kit.Column{
		kit.Col("Table", 10, 2), kit.Col("Rule", 14, 2), kit.Col("Type/Prio", 9, 2), kit.Col("Packets", 10, 2),
		kit.Col("Bytes", 12, 2),
		kit.Col("Status", 8, 2), kit.Col("Reason", 6, 0),
	}, rows, nil), nil
}

// showLLDP shows the neighbour at each port, as announced by the neighbour.
func showLLDP(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(lldpRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, i := range found.Sorted("interfaces", "interface") {
		for _, n := range i.Items("neighbors", "neighbor") {
			row := []string{i.Name()}
			for _, leaf := range []string{"system-name", "port-id", "port-description", "chassis-id"} {
				row = append(row, kit.OrDash(n.Text("state", leaf)))
			}
			rows = append(rows, row)
		}
	}
	columns := []kit.Column{
		kit.Col("LocalPort", 12, 2), kit.Col("RemoteDevice", 16, 2), kit.Col("RemotePortID", 14, 2),
		kit.Col("RemotePortDescr", 16, 2),
		kit.Col("ChassisID", 17, 0),
	}
	return kit.TableView(kit.One(lldpRoot, found), columns, rows, nil), nil
}
