package cli

import (
	"context"
	"fmt"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

func showCommands() []*command {
	var (
		session = stampSessions.names()
		altMark = altMarkSessions.names()
		record  = recordSessions.names()
		acl     = &argKind{label: "<table>", parse: parseName}
		iface   = &argKind{label: "<EthernetN | PortChannelN | alias>", parse: parseName, live: liveInterfaces}
		ip      = kw("ip", "Internet protocol")
		ipv6    = kw("ipv6", "Internet protocol")
		names   []choice
		out     []*command
	)
	for _, f := range features() {
		names = append(names, choice{f.word, f.help})
	}
	add := func(show func(context.Context, *call) (*view, error), parts ...any) {
		out = append(out, &command{modes: inExec, form: seq(parts...), show: show})
	}
	name := func(kind *argKind, help string) []element { return opt(arg("name", kind, help)) }
	only := func(kind *argKind) []element { return name(kind, "Only this one") }
	add(showSwitch, "show tam", kw("switch", "Attributes of the switch that are in use"))
	add(showSummary, "show tam", kw("summary", "All of it on one page"))
	add(collector.shown, "show tam", kw("collectors", "Where reports go"), only(collectors.names()))
	add(sampler.shown, "show tam", kw("samplers", "One packet in how many"), only(samplers.names()))
	add(showFlowGroups, "show tam", kw("flow-groups", "Which packets are meant"), only(groupName))
	add(showFeatures, "show tam", kw("features", "What is active"), only(oneOf(names...)))
	add(showTailStamping, "show tam tail-stamping")
	add(showSessions, "show tam tail-stamping", kw("sessions", "Flow groups that are stamped"), only(session))
	add(showFeature("ALTMARK"), "show tam alt-mark")
	add(altMarkSession.shown, "show tam alt-mark", kw("sessions", "Flow groups that are marked"), only(altMark))
	add(showAltMarkCounters, "show tam alt-mark counters", name(altMark, "Only of this session"))
	add(showAltMarkPeriods, "show tam alt-mark", kw("periods", "The last periods of a session"),
		arg("name", altMark, "Name of the session"))
	add(showAltMarkResults, "show tam alt-mark", kw("results", "What a collector made of the reports"),
		name(altMarkPathName, "Only of this path"))
	add(showFeature("FLYMON"), "show tam flymon")
	add(showFlyMonTasks, "show tam flymon", kw("task", "What is measured"), name(flyMonTasks.names(), "All of this one"))
	add(showFlyMonQueries, "show tam flymon", kw("query", "Flows that are answered for"), only(flyMonQueries.names()))
	add(showFlyMonGroups, "show tam flymon", kw("groups", "What of the CMU groups is in use"))
	add(showTableRecord, "show tam table-record", name(record, "All of this session"))
	add(showTableRecordPlan, "show tam table-record", kw("plan", "Which tables write which bits of the record"),
		arg("name", record, "Name of the session"))
	add(showInterfaceStatus, "show interface", kw("status", "State of the ports"), only(iface))
	add(showInterfaceCounters, "show interface counters", only(iface))
	add(showBreakout, "show interface breakout")
	add(showVLAN, "show", kw("vlan", "VLANs and their members"))
	add(showACL, "show", kw("access-list", "ACL tables and rules"), name(acl, "Only this table"))
	add(showACL, "show", kw("acl", "The same as access-list"), name(acl, "Only this table"))
	add(showRoutes(4), "show", ip, kw("route", "IPv4 routes"))
	add(showRoutes(6), "show", ipv6, kw("route", "IPv6 routes"))
	add(showIPInterfaces(4), "show", ip, "interface")
	add(showIPInterfaces(6), "show", ipv6, "interface")
	add(showNeighbors(4), "show", kw("arp", "IPv4 neighbours"))
	add(showNeighbors(6), "show", ipv6, kw("neighbors", "IPv6 neighbours"))
	add(showNeighbors(0), "show", kw("neighbors", "Neighbours of both families"))
	add(showMACs, "show", kw("mac", "Ethernet addresses"), kw("address-table", "Where addresses are"))
	add(showQueues, "show", kw("queue", "Egress queues"), "counters", name(iface, "Only of this port"))
	add(showSchedulers, "show", kw("qos", "Quality of service"), kw("scheduler", "How queues are served"))
	add(showMirrorSessions, "show", kw("mirror-session", "SPAN and ERSPAN sessions"))
	add(showRunning, "show running-configuration")
	add(showRunningTAM, "show running-configuration tam")
	add(showVersion, "show", kw("version", "Versions of client and server"))
	return out
}

// one is a view's data for a container, which has its module in front.
func one(name string, t tree) map[string]any {
	if !t.exists() {
		return map[string]any{}
	}
	return map[string]any{name: t.v}
}

// entry is a view's data for one entry of a list.
func entry(list string, t tree) map[string]any { return map[string]any{list: []any{t.v}} }

// framed is a view whose text stands between blank lines.
func framed(data map[string]any, text func(p *page)) *view {
	return &view{data, func(p *page) {
		p.line("")
		text(p)
		p.line("")
	}}
}

// tableView is a table, with lines below it.
func tableView(data map[string]any, columns []column, rows [][]string, below []string) *view {
	return framed(data, func(p *page) {
		p.table(columns, rows)
		p.after(below)
	})
}

// config is a leaf of the entry as configured or, failing that, as it is.
func config(t tree, leaf string) string {
	if v := t.text("config", leaf); v != "" {
		return v
	}
	return t.text("state", leaf)
}

// title writes a status word as the show commands spell it: ACTIVE and active
// as Active, INSUFFICIENT_RESOURCES as Insufficient Resources.
func title(word string) string {
	parts := strings.FieldsFunc(strings.ToLower(word), func(r rune) bool { return r == '_' || r == ' ' || r == '-' })
	for i, p := range parts {
		parts[i] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, " ")
}

// inactive tells whether a state says that its object is not in effect.
func inactive(state tree) bool {
	status := state.word("status")
	return status != "" && !strings.EqualFold(status, "active")
}

// whyNot writes status and reason of an object that is not in effect.
func (p *page) whyNot(width int, state tree) {
	if !inactive(state) {
		return
	}
	p.field(width, "Status", title(state.word("status")))
	p.optional(width, "Reason", state.text("reason"))
}

// whyNots are lines for the entries that are not in effect.
func whyNots(entries []tree) []string {
	var lines []string
	for _, e := range entries {
		lines = append(lines, whyNotLine(e.name(), e.at("state"))...)
	}
	return lines
}

// whyNotLine is a line for an object that is not in effect.
func whyNotLine(name string, state tree) []string {
	if !inactive(state) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s: %s", name, title(state.word("status")), state.text("reason"))}
}

// after writes lines below a table.
func (p *page) after(lines []string) {
	if len(lines) > 0 {
		p.line("")
	}
	for _, l := range lines {
		p.line("%s", l)
	}
}

func showSwitch(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(tamRoot, "switch"))
	if err != nil {
		return nil, err
	}
	state := inForce(found).at("state")
	return framed(one("openconfig-tam:switch", found), func(p *page) {
		p.line("TAM Device information")
		p.line("----------------------")
		p.field(15, "Switch ID", state.text("op-switch-id"))
		p.field(15, "Enterprise ID", state.text("op-enterprise-id"))
		p.whyNot(15, state)
	}), nil
}

// showVersion asks for the server's capabilities.
func showVersion(ctx context.Context, c *call) (*view, error) {
	ctx, cancel := c.sh.client.request(ctx)
	defer cancel()
	reply, err := c.sh.client.gnmi.Capabilities(ctx, &gpb.CapabilityRequest{})
	if err != nil {
		return nil, c.sh.client.explain(err)
	}
	var models []any
	var rows [][]string
	for _, m := range reply.GetSupportedModels() {
		models = append(models, map[string]any{
			"name": m.GetName(), "organization": m.GetOrganization(), "version": m.GetVersion(),
		})
		rows = append(rows, []string{m.GetName(), m.GetVersion(), m.GetOrganization()})
	}
	client := c.sh.conf.Version
	if client == "" {
		client = "unknown"
	}
	data := map[string]any{"client-version": client, "gnmi-version": reply.GetGNMIVersion(), "models": models}
	return framed(data, func(p *page) {
		p.field(15, "Client version", client)
		p.field(15, "gNMI version", reply.GetGNMIVersion())
		p.line("")
		p.table([]column{{"Model", 24, 2}, {"Version", 10, 2}, {"Organization", 12, 0}}, rows)
	}), nil
}
