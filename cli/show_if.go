package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// interfaces reads all interfaces, or the one that the call names.
func (s *Shell) interfaces(ctx context.Context, c *call) ([]tree, map[string]any, error) {
	if text := c.args["name"]; text != "" {
		name, err := s.resolve(ctx, text)
		if err != nil {
			return nil, nil, err
		}
		found, err := s.client.get(ctx, gpb.GetRequest_ALL, interfacePath(name))
		if err != nil {
			return nil, nil, err
		}
		return found, entry("openconfig-interfaces", "interface", found[0]), nil
	}
	found, err := s.client.get(ctx, gpb.GetRequest_ALL, gpath(interfacesRoot))
	if err != nil {
		return nil, nil, err
	}
	return found[0].sorted("interface"), one("openconfig-interfaces", "interfaces", found[0]), nil
}

// orDash stands for a value that there is none of.
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
	text := func(p *page) {
		var rows [][]string
		for _, e := range entries {
			state := e.at("state")
			rows = append(rows, []string{
				e.name(), orDash(config(e, "description")), orDash(strings.ToLower(state.word("oper-status"))), orDash(adminOf(e)),
				orDash(speedText(state.text("speed"))), orDash(config(e, "mtu")), orDash(state.text("alias")), orDash(state.text("lanes")),
			})
		}
		p.line("")
		p.table([]column{
			{"Name", 14, 2}, {"Description", 14, 2}, {"Oper", 6, 2}, {"Admin", 6, 2}, {"Speed", 7, 2}, {"MTU", 6, 2},
			{"Alternate Name", 14, 2}, {"Lanes", 8, 0},
		}, rows)
		p.whyNots(entries)
		p.line("")
	}
	return &view{data, text}, nil
}

// adminOf is whether an interface is wanted up.
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

// speedText writes Mbit/s in the unit that people use.
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
	leaves := []string{"in-pkts", "in-octets", "in-errors", "in-discards", "out-pkts", "out-octets", "out-errors", "out-discards"}
	text := func(p *page) {
		var rows [][]string
		for _, e := range entries {
			row := []string{e.name(), stateLetter(e)}
			for _, leaf := range leaves {
				row = append(row, counted(e, "state", "counters", leaf))
			}
			rows = append(rows, row)
		}
		p.line("")
		p.table([]column{
			{"Interface", 14, 2}, {"State", 5, 2}, {"RX_OK", 10, 2}, {"RX_BYTES", 12, 2}, {"RX_ERR", 6, 2}, {"RX_DRP", 6, 2},
			{"TX_OK", 10, 2}, {"TX_BYTES", 12, 2}, {"TX_ERR", 6, 2}, {"TX_DRP", 6, 0},
		}, rows)
		p.line("")
	}
	return &view{data, text}, nil
}

// stateLetter is SONiC's letter for an interface's state: up, down or disabled.
func stateLetter(e tree) string {
	switch {
	case adminOf(e) == "down":
		return "X"
	case strings.EqualFold(e.word("state", "oper-status"), "UP"):
		return "U"
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
	text := func(p *page) {
		var rows [][]string
		for _, e := range entries {
			for _, g := range e.items("breakout-mode", "groups", "group") {
				state := g.at("state")
				rows = append(rows, []string{e.name(), breakoutOf(g), orDash(title(state.word("status"))), state.text("reason")})
			}
		}
		p.line("")
		p.table([]column{{"Port", 14, 2}, {"Breakout Mode", 13, 2}, {"Status", 9, 2}, {"Reason", 6, 0}}, rows)
		p.line("")
	}
	return &view{data, text}, nil
}

func showVLAN(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, gpath(vlansRoot))
	if err != nil {
		return nil, err
	}
	text := func(p *page) {
		var rows [][]string
		var why []string
		for _, v := range found[0].sortedBy("vlan-id", "vlan") {
			name := "Vlan" + v.text("vlan-id")
			why = append(why, whyNotLine(name, v.at("state"))...)
			members := v.sortedBy("interface", "members", "member")
			if len(members) == 0 {
				rows = append(rows, []string{v.text("vlan-id"), "-", "-"})
			}
			for _, m := range members {
				rows = append(rows, []string{v.text("vlan-id"), m.text("interface"), strings.ToLower(config(m, "tagging-mode"))})
				why = append(why, whyNotLine(name+" "+m.text("interface"), m.at("state"))...)
			}
		}
		p.line("")
		p.table([]column{{"VLAN", 6, 2}, {"Member", 14, 2}, {"Tagging", 8, 0}}, rows)
		p.after(why)
		p.line("")
	}
	return &view{one("tamtam-interfaces", "vlans", found[0]), text}, nil
}

func showACL(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, gpath(aclRoot, "acl-sets"))
	if err != nil {
		return nil, err
	}
	sets := found[0].sorted("acl-set")
	data := one("openconfig-acl", "acl-sets", found[0])
	if want := c.args["name"]; want != "" {
		var only []tree
		var raw []any
		for _, s := range sets {
			if s.name() == want {
				only, raw = append(only, s), append(raw, s.v)
			}
		}
		if len(only) == 0 {
			return nil, fmt.Errorf("ACL table %s does not exist", want)
		}
		sets, data = only, map[string]any{"openconfig-acl:acl-set": raw}
	}
	text := func(p *page) {
		var rows [][]string
		for _, s := range sets {
			entries := s.sortedBy("sequence-id", "acl-entries", "acl-entry")
			rows = append(rows, []string{s.name(), "", s.text("type"), "", "", orDash(s.text("state", "status")), s.text("state", "reason")})
			for _, e := range entries {
				rows = append(rows, []string{
					"", e.text("sequence-id"), orDash(e.text("state", "priority")), counted(e, "state", "matched-packets"),
					counted(e, "state", "matched-octets"), orDash(e.text("state", "status")), e.text("state", "reason"),
				})
			}
		}
		p.line("")
		p.table([]column{
			{"Table", 10, 2}, {"Rule", 14, 2}, {"Type/Prio", 9, 2}, {"Packets", 10, 2}, {"Bytes", 12, 2}, {"Status", 8, 2}, {"Reason", 6, 0},
		}, rows)
		p.line("")
	}
	return &view{data, text}, nil
}
