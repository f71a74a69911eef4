// Package sflow configures and shows the samples of sFlow.
//
// What belongs here: these commands. What does not: the running configuration, which package cli writes from the leaves
// and objects here.
package sflow

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tam"
	"tamtam/cli/tree"
)

// Root is the path of sFlow in the tree.
const Root = "tamtam-sflow:sflow"

// directionKind is the kind of the direction of sampled packets.
var directionKind = kit.OneOf(
	kit.Pick("rx", "Packets that come in"), kit.Pick("tx", "Packets that leave"), kit.Pick("both", "Both"))

// adminKind is the kind of an administrative state.
var adminKind = kit.OneOf(kit.Pick("up", "It is"), kit.Pick("down", "It is not"))

// Leaves are the leaves of the switch.
var Leaves = []kit.Leaf{
	{Word: "admin-state", Help: "Whether there is sFlow; default down", Kind: adminKind,
		Value: "up or down", Label: "Admin State"},
	{Word: "sample-direction", Help: "Of which packets samples are; default rx", Kind: directionKind, Value: "Which",
		Label: "Sample Direction", Default: "rx"},
	{Word: "polling-interval", Help: "Seconds between two counter samples of a port; 0: none; default 20",
		Kind: kit.Number(0, 300), Value: "Seconds", Label: "Polling Interval", Default: "20"},
	{Word: "agent-id", Help: "Whose address the switch is called by; default one is chosen", Value: "Interface",
		Kind: &kit.Kind{Label: "<interface>", Parse: kit.ParseName, Live: kit.LiveInterfaces}, Label: "Agent ID"},
	{Word: "drop-monitor-limit", Help: "Notifications of dropped packets in a second; default 0, none",
		Kind: kit.Number(0, 500), Value: "Notifications", Label: "Drop Monitor Limit", Default: "0"},
}

// Collector and Session are the objects of sFlow.
var (
	Collector = tam.Object{
		List: tam.NewList("sFlow collector", Root+"/collectors", "collector"), Table: "SFLOW_COLLECTOR",
		Word: "collector", Help: "Where datagrams are sent", Replace: true, Title: "Name", Width: width,
		Leaves: []kit.Leaf{
			{Word: "ip", Help: "Its address", Name: "collector-ip", Kind: kit.IPAddress, Value: "Address", Need: true,
				Label: "IP Address"},
			{Word: "port", Help: "Its port of UDP; default 6343", Name: "collector-port", Kind: kit.Number(1, 65535),
				Value: "Port",
				Label: "Port", Default: "6343"},
			{Word: "vrf", Help: "Where its address is; default default", Name: "collector-vrf", Label: "VRF", Default: "default",
				Kind: kit.OneOf(kit.Pick("default", "Where the switch routes"),
					kit.Pick("mgmt", "Behind the management interface"))},
		},
	}
	Session = tam.Object{
		List: tam.NewList("sFlow of interface", Root+"/sessions", "session"), Table: "SFLOW_SESSION",
		Word: "interface", Help: "Sampling of a port, or of all without a setting", Title: "Interface", Width: width,
		Leaves: []kit.Leaf{
			{Word: "admin-state", Help: "Whether it is; default as of all, or up", Kind: adminKind, Value: "up or down",
				Label: "Admin State"},
			{Word: "sample-rate", Help: "One packet in so many; default a millionth of the speed", Value: "Packets",
				Kind: kit.Number(256, 8388608), Label: "Sampling Rate"},
			{Word: "sample-direction", Help: "Of which packets; default as of all, or of the switch", Kind: directionKind,
				Value: "Which", Label: "Sampling Direction"},
		},
	}
)

// width is the column of the colon.
const width = 22

// Commands returns the commands that configure sFlow.
func Commands() []*kit.Command {
	sflow := kit.Keyword("sflow", "Samples of packets, counters and drops to collectors")
	out := []*kit.Command{Collector.Command(kit.InConfig, sflow), ofInterface(sflow)}
	for _, l := range Leaves {
		out = append(out, l.Single(kit.InConfig, func(*kit.Call) (*gpb.Path, error) { return tree.Path(Root), nil },
			sflow))
	}
	return out
}

// ofInterface returns the command of a port, or of all ports. "no" removes the named settings, or all.
func ofInterface(sflow kit.Element) *kit.Command {
	o := Session
	c := o.Command(kit.InConfig, sflow)
	for _, l := range o.Leaves {
		c.No.Options = append(c.No.Options, kit.Opt(kit.Keyword(l.Word, l.Help)))
	}
	c.Do = func(ctx context.Context, c *kit.Call) error {
		if !c.No {
			return o.Set(ctx, c)
		}
		var changes []kit.Change
		for _, l := range o.Leaves {
			if c.Has(l.Word) {
				changes = append(changes, kit.Change{Path: o.Path(c.Args["name"], "config", l.TreeName())})
			}
		}
		if len(changes) == 0 {
			return o.Remove(ctx, c)
		}
		return c.Session.Client.Set(ctx, changes...)
	}
	return c
}

// Show shows the state of sFlow on the switch and of its collectors, in the order of SONiC's command. Below are
// the rules that sample, if there are any.
func Show(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(Root))
	if err != nil {
		return nil, err
	}
	var parts []tree.Part
	for _, shown := range []string{"config", "state", "collectors", "rules"} {
		parts = append(parts, tree.Part{Path: []string{shown}})
	}
	return kit.Framed(kit.One(Root, found.Keep(parts...)), func(p *kit.Printout) {
		none := map[string]string{"admin-state": "down", "agent-id": "default"}
		for _, l := range Leaves {
			p.Field(width, l.Label, cmp.Or(l.Shown(found), l.Default, none[l.Word]))
		}
		state, counters := found.At("state"), found.At("state", "counters")
		p.Field(width, "Agent Address", kit.OrDash(state.Text("agent-address")))
		p.Optional(width, "Status", kit.Title(state.Text("status")), "Reason", state.Text("reason"))
		for _, l := range [][2]string{
			{"datagrams", "Datagrams"}, {"flow-samples", "Flow Samples"}, {"counter-samples", "Counter Samples"},
			{"discards", "Drop Notifications"}, {"discards-suppressed", "Drops Suppressed"}, {"drop-queue-full", "Samples Lost"},
		} {
			p.Field(width, l[1], kit.Counted(counters, l[0]))
		}
		p.Line("")
		writeCollectors(p, Collector.Entries(found))
		writeRules(p, tree.SortNodes(found.Items("rules", "rule"), ruleOfTable))
	}), nil
}

// ruleOfTable returns the name of a rule of an access list, with its table.
func ruleOfTable(e tree.Node) string {
	return e.Text("state", "table-name") + "|" + e.Text("state", "rule-name")
}

// writeRules writes the sampling by rules.
func writeRules(p *kit.Printout, rules []tree.Node) {
	var rows [][]string
	var below []string
	for _, e := range rules {
		state, counters := e.At("state"), e.At("state", "counters")
		rows = append(rows, []string{
			ruleOfTable(e), kit.OrDash(state.Text("data-source")), kit.OrDash(state.Text("ingress-sample-rate")),
			kit.OrDash(state.Text("egress-sample-rate")), kit.OrDash(kit.Title(state.Word("status"))),
			kit.Counted(counters, "sample-pool"),
			kit.Counted(counters, "flow-samples"), kit.Counted(counters, "drops"),
		})
		below = append(below, kit.WhyNotLine(ruleOfTable(e), state)...)
	}
	if len(rows) == 0 {
		return
	}
	p.Line("")
	p.Table([]kit.Column{
		kit.Col("Rule", 16, 2), kit.Col("Data Source", 11, 2), kit.Col("Ingress Rate", 12, 2), kit.Col("Egress Rate", 11, 2),
		kit.Col("Status", 8, 2),
		kit.Col("Packets", 9, 2), kit.Col("Samples", 7, 2), kit.Col("Drops", 5, 0),
	}, rows)
	p.After(below)
}

func writeCollectors(p *kit.Printout, entries []tree.Node) {
	var rows [][]string
	for _, e := range entries {
		counters := e.At("state", "counters")
		rows = append(rows, []string{
			e.Name(), e.Text("config", "collector-ip"), cmp.Or(e.Text("config", "collector-port"), "6343"),
			cmp.Or(e.Text("config", "collector-vrf"), "default"), kit.OrDash(kit.Title(e.Text("state", "status"))),
			kit.Counted(counters, "datagrams"), kit.Counted(counters, "errors"),
		})
	}
	if len(rows) == 0 {
		p.Line("No collectors")
		return
	}
	p.Table([]kit.Column{
		kit.Col("Collector", 12, 2), kit.Col("IP Address", 16, 2), kit.Col("Port", 5, 2), kit.Col("VRF", 7, 2),
		kit.Col("Status", 8, 2), kit.Col("Datagrams", 9, 2),
		kit.Col("Errors", 6, 0),
	}, rows)
	p.After(kit.WhyNots(entries))
}

// ShowInterfaces shows how ports are sampled, and which configured sampling is not in force.
func ShowInterfaces(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(Root))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	ports := found.Sorted("interfaces", "interface")
	for _, e := range ports {
		s := e.At("state")
		rows = append(rows, []string{
			e.Name(), kit.OrDash(s.Text("admin-state")), kit.OrDash(s.Text("sample-rate")),
			kit.OrDash(s.Text("sample-direction")),
			kit.OrDash(kit.Title(s.Text("status"))),
		})
	}
	var below []string
	if len(rows) == 0 {
		below = append(below, "No port is sampled")
	}
	for _, e := range append(ports, Session.Entries(found)...) {
		s := e.At("state")
		if why := s.Text("reason"); why != "" && s.Text("status") != "active" {
			below = append(below, fmt.Sprintf("%s: %s: %s", e.Name(), s.Text("status"), why))
		}
	}
	data := found.Keep(tree.Part{Path: []string{"interfaces"}}, tree.Part{Path: []string{"sessions"}})
	return kit.TableView(kit.One(Root, data), []kit.Column{
		kit.Col("Interface", 12, 2), kit.Col("Admin State", 11, 2), kit.Col("Sampling Rate", 13, 2),
		kit.Col("Sampling Direction", 18, 2),
		kit.Col("Status", 8, 0),
	}, rows, slices.Compact(below)), nil
}
