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
		names   []choice
	)
	for _, f := range features() {
		names = append(names, choice{f.word, f.help})
	}
	rows := []struct {
		form form
		show func(context.Context, *call) (*view, error)
	}{
		{seq("show tam", kw("switch", "Attributes of the switch that are in use")), showSwitch},
		{seq("show tam", kw("summary", "All of it on one page")), showSummary},
		{seq("show tam", kw("collectors", "Where reports go"), opt(arg("name", collectors.names(), "Only this one"))), collector.shown},
		{seq("show tam", kw("samplers", "One packet in how many"), opt(arg("name", samplers.names(), "Only this one"))), sampler.shown},
		{seq("show tam", kw("flow-groups", "Which packets are meant"), opt(arg("name", groupName, "Only this one"))), showFlowGroups},
		{seq("show tam", kw("features", "What is active"), opt(arg("name", oneOf(names...), "Only this one"))), showFeatures},
		{seq("show tam tail-stamping"), showTailStamping},
		{seq("show tam tail-stamping", kw("sessions", "Flow groups that are stamped"), opt(arg("name", session, "Only this one"))), showSessions},
		{seq("show tam alt-mark"), showFeature("ALTMARK")},
		{seq("show tam alt-mark", kw("sessions", "Flow groups that are marked"), opt(arg("name", altMark, "Only this one"))), altMarkSession.shown},
		{seq("show tam alt-mark counters", opt(arg("name", altMark, "Only of this session"))), showAltMarkCounters},
		{seq("show tam alt-mark", kw("periods", "The last periods of a session"), arg("name", altMark, "Name of the session")), showAltMarkPeriods},
		{seq("show tam alt-mark", kw("results", "What a collector made of the reports"), opt(arg("name", altMarkPathName, "Only of this path"))), showAltMarkResults},
		{seq("show tam flymon"), showFeature("FLYMON")},
		{seq("show tam flymon", kw("task", "What is measured"), opt(arg("name", flyMonTasks.names(), "All of this one"))), showFlyMonTasks},
		{seq("show tam flymon", kw("query", "Flows that are answered for"), opt(arg("name", flyMonQueries.names(), "Only this one"))), showFlyMonQueries},
		{seq("show tam flymon", kw("groups", "What of the CMU groups is in use")), showFlyMonGroups},
		{seq("show tam table-record", opt(arg("name", record, "All of this session"))), showTableRecord},
		{seq("show tam table-record", kw("plan", "Which tables write which bits of the record"), arg("name", record, "Name of the session")), showTableRecordPlan},
		{seq("show interface", kw("status", "State of the ports"), opt(arg("name", iface, "Only this one"))), showInterfaceStatus},
		{seq("show interface counters", opt(arg("name", iface, "Only this one"))), showInterfaceCounters},
		{seq("show interface breakout"), showBreakout},
		{seq("show", kw("vlan", "VLANs and their members")), showVLAN},
		{seq("show", kw("access-list", "ACL tables and rules"), opt(arg("name", acl, "Only this table"))), showACL},
		{seq("show", kw("acl", "The same as access-list"), opt(arg("name", acl, "Only this table"))), showACL},
		{seq("show", kw("ip", "Internet protocol"), kw("route", "IPv4 routes")), showRoutes(4)},
		{seq("show", kw("ipv6", "Internet protocol"), kw("route", "IPv6 routes")), showRoutes(6)},
		{seq("show", kw("ip", "Internet protocol"), "interface"), showIPInterfaces(4)},
		{seq("show", kw("ipv6", "Internet protocol"), "interface"), showIPInterfaces(6)},
		{seq("show", kw("arp", "IPv4 neighbours")), showNeighbors(4)},
		{seq("show", kw("ipv6", "Internet protocol"), kw("neighbors", "IPv6 neighbours")), showNeighbors(6)},
		{seq("show", kw("neighbors", "Neighbours of both families")), showNeighbors(0)},
		{seq("show", kw("mac", "Ethernet addresses"), kw("address-table", "Where addresses are")), showMACs},
		{seq("show", kw("queue", "Egress queues"), "counters", opt(arg("name", iface, "Only of this port"))), showQueues},
		{seq("show", kw("qos", "Quality of service"), kw("scheduler", "How queues are served")), showSchedulers},
		{seq("show", kw("mirror-session", "SPAN and ERSPAN sessions")), showMirrorSessions},
		{seq("show running-configuration"), showRunning},
		{seq("show running-configuration tam"), showRunningTAM},
		{seq("show", kw("version", "Versions of client and server")), showVersion},
	}
	out := make([]*command, len(rows))
	for i, r := range rows {
		out[i] = &command{modes: inExec, form: r.form, show: r.show}
	}
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
