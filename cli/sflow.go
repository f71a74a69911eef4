package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// sflowRoot is where sFlow is in the tree.
const sflowRoot = "tamtam-sflow:sflow"

// directionKind is of which packets samples are.
var directionKind = oneOf(
	choice{"rx", "Packets that come in"}, choice{"tx", "Packets that leave"}, choice{"both", "Both"})

// adminKind is whether something is.
var adminKind = oneOf(choice{"up", "It is"}, choice{"down", "It is not"})

// sflowLeaves are those of the switch.
var sflowLeaves = []leaf{
	{word: "admin-state", help: "Whether there is sFlow; default down", kind: adminKind,
		value: "up or down", label: "Admin State"},
	{word: "sample-direction", help: "Of which packets samples are; default rx", kind: directionKind, value: "Which",
		label: "Sample Direction", def: "rx"},
	{word: "polling-interval", help: "Seconds between two counter samples of a port; 0: none; default 20",
		kind: number(0, 300), value: "Seconds", label: "Polling Interval", def: "20"},
	{word: "agent-id", help: "Whose address the switch is called by; default one is chosen", value: "Interface",
		kind: &argKind{label: "<interface>", parse: parseName, live: liveInterfaces}, label: "Agent ID"},
	{word: "drop-monitor-limit", help: "Notifications of dropped packets in a second; default 0, none",
		kind: number(0, 500), value: "Notifications", label: "Drop Monitor Limit", def: "0"},
}

// sflowCollector and sflowSession are the objects of sFlow.
var (
	sflowCollector = object{
		tamList: tamList{"sFlow collector", sflowRoot + "/collectors", "collector"}, table: "SFLOW_COLLECTOR",
		word: "collector", help: "Where datagrams are sent", replace: true, title: "Name", width: sflowWidth,
		leaves: []leaf{
			{word: "ip", help: "Its address", name: "collector-ip", kind: ipAddress, value: "Address", need: true,
				label: "IP Address"},
			{word: "port", help: "Its port of UDP; default 6343", name: "collector-port", kind: number(1, 65535), value: "Port",
				label: "Port", def: "6343"},
			{word: "vrf", help: "Where its address is; default default", name: "collector-vrf", label: "VRF", def: "default",
				kind: oneOf(choice{"default", "Where the switch routes"}, choice{"mgmt", "Behind the management interface"})},
		},
	}
	sflowSession = object{
		tamList: tamList{"sFlow of interface", sflowRoot + "/sessions", "session"}, table: "SFLOW_SESSION",
		word: "interface", help: "How a port is sampled, or all that do not say it", title: "Interface", width: sflowWidth,
		leaves: []leaf{
			{word: "admin-state", help: "Whether it is; default as of all, or up", kind: adminKind, value: "up or down",
				label: "Admin State"},
			{word: "sample-rate", help: "One packet in so many; default a millionth of the speed", value: "Packets",
				kind: number(256, 8388608), label: "Sampling Rate"},
			{word: "sample-direction", help: "Of which packets; default as of all, or of the switch", kind: directionKind,
				value: "Which", label: "Sampling Direction"},
		},
	}
)

// sflowWidth is the column of the colon.
const sflowWidth = 22

func sflowCommands() []*command {
	sflow := kw("sflow", "Samples of packets, counters and drops to collectors")
	out := []*command{sflowCollector.command(inConfig, sflow), sflowInterface(sflow)}
	for _, l := range sflowLeaves {
		out = append(out, l.single(inConfig, func(*call) (*gpb.Path, error) { return gpath(sflowRoot), nil }, sflow))
	}
	return out
}

// sflowInterface is the command of a port, or of all: "no" takes back what is named, or the whole.
func sflowInterface(sflow element) *command {
	o := sflowSession
	c := o.command(inConfig, sflow)
	for _, l := range o.leaves {
		c.no.options = append(c.no.options, opt(kw(l.word, l.help)))
	}
	c.do = func(ctx context.Context, c *call) error {
		if !c.no {
			return o.set(ctx, c)
		}
		var changes []change
		for _, l := range o.leaves {
			if c.has(l.word) {
				changes = append(changes, change{path: o.path(c.args["name"], "config", l.leafName())})
			}
		}
		if len(changes) == 0 {
			return o.remove(ctx, c)
		}
		return c.sh.client.set(ctx, changes...)
	}
	return c
}

// sflow writes what is configured of it.
func (r *running) sflow(found tree) {
	if r.says("SFLOW", "global") {
		r.singles("sflow ", found, sflowLeaves...)
	}
	for _, o := range []object{sflowCollector, sflowSession} {
		r.objects(&r.printout, "sflow ", o, o.entries(found))
	}
}

// showSFlow shows sFlow of the switch and its collectors, in the order of SONiC's command, and what became of them; and
// below them the rules that sample, if there are any.
func showSFlow(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(sflowRoot))
	if err != nil {
		return nil, err
	}
	return framed(one(sflowRoot, found), func(p *printout) {
		none := map[string]string{"admin-state": "down", "agent-id": "default"}
		for _, l := range sflowLeaves {
			p.field(sflowWidth, l.label, cmp.Or(l.shown(found), l.def, none[l.word]))
		}
		state, counters := found.at("state"), found.at("state", "counters")
		p.field(sflowWidth, "Agent Address", orDash(state.text("agent-address")))
		p.optional(sflowWidth, "Status", title(state.text("status")), "Reason", state.text("reason"))
		for _, l := range [][2]string{
			{"datagrams", "Datagrams"}, {"flow-samples", "Flow Samples"}, {"counter-samples", "Counter Samples"},
			{"discards", "Drop Notifications"}, {"discards-suppressed", "Drops Suppressed"}, {"drop-queue-full", "Samples Lost"},
		} {
			p.field(sflowWidth, l[1], counted(counters, l[0]))
		}
		p.line("")
		p.sflowCollectors(sflowCollector.entries(found))
		p.sflowRules(sortedTrees(found.items("rules", "rule"), ruleOfTable))
	}), nil
}

// ruleOfTable is what a rule of an access list is called.
func ruleOfTable(e tree) string {
	return e.text("state", "table-name") + "|" + e.text("state", "rule-name")
}

// sflowRules writes what rules sample.
func (p *printout) sflowRules(rules []tree) {
	var rows [][]string
	var below []string
	for _, e := range rules {
		state, counters := e.at("state"), e.at("state", "counters")
		rows = append(rows, []string{
			ruleOfTable(e), orDash(state.text("data-source")), orDash(state.text("ingress-sample-rate")),
			orDash(state.text("egress-sample-rate")), orDash(title(state.word("status"))), counted(counters, "sample-pool"),
			counted(counters, "flow-samples"), counted(counters, "drops"),
		})
		below = append(below, whyNotLine(ruleOfTable(e), state)...)
	}
	if len(rows) == 0 {
		return
	}
	p.line("")
	p.table([]column{
		{"Rule", 16, 2}, {"Data Source", 11, 2}, {"Ingress Rate", 12, 2}, {"Egress Rate", 11, 2}, {"Status", 8, 2},
		{"Packets", 9, 2}, {"Samples", 7, 2}, {"Drops", 5, 0},
	}, rows)
	p.after(below)
}

func (p *printout) sflowCollectors(entries []tree) {
	var rows [][]string
	for _, e := range entries {
		counters := e.at("state", "counters")
		rows = append(rows, []string{
			e.name(), e.text("config", "collector-ip"), cmp.Or(e.text("config", "collector-port"), "6343"),
			cmp.Or(e.text("config", "collector-vrf"), "default"), orDash(title(e.text("state", "status"))),
			counted(counters, "datagrams"), counted(counters, "errors"),
		})
	}
	if len(rows) == 0 {
		p.line("No collectors")
		return
	}
	p.table([]column{
		{"Collector", 12, 2}, {"IP Address", 16, 2}, {"Port", 5, 2}, {"VRF", 7, 2}, {"Status", 8, 2}, {"Datagrams", 9, 2},
		{"Errors", 6, 0},
	}, rows)
	p.after(whyNots(entries))
}

// showSFlowInterfaces shows how ports are sampled, and of what is configured what is not so.
func showSFlowInterfaces(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(sflowRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	ports := found.sorted("interfaces", "interface")
	for _, e := range ports {
		s := e.at("state")
		rows = append(rows, []string{
			e.name(), orDash(s.text("admin-state")), orDash(s.text("sample-rate")), orDash(s.text("sample-direction")),
			orDash(title(s.text("status"))),
		})
	}
	var below []string
	if len(rows) == 0 {
		below = append(below, "No port is sampled")
	}
	for _, e := range append(ports, sflowSession.entries(found)...) {
		s := e.at("state")
		if why := s.text("reason"); why != "" && s.text("status") != "active" {
			below = append(below, fmt.Sprintf("%s: %s: %s", e.name(), s.text("status"), why))
		}
	}
	return tableView(one(sflowRoot, found), []column{
		{"Interface", 12, 2}, {"Admin State", 11, 2}, {"Sampling Rate", 13, 2}, {"Sampling Direction", 18, 2},
		{"Status", 8, 0},
	}, rows, slices.Compact(below)), nil
}
