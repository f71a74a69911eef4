package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

func showCommands() []*command {
	var (
		acl   = &argKind{label: "<table>", parse: parseName}
		iface = &argKind{label: "<EthernetN | PortChannelN | alias>", parse: parseName, live: liveInterfaces}
		ip    = kw("ip", "Internet protocol")
		ipv6  = kw("ipv6", "Internet protocol")
		names []choice
		out   []*command
	)
	for _, f := range features() {
		names = append(names, choice{f.word, f.help})
	}
	add := func(show func(context.Context, *call) (*view, error), parts ...any) {
		out = append(out, &command{modes: inExec, form: seq(parts...), show: show})
	}
	add(showSwitch, "show tam", kw("switch", "Attributes of the switch that are in use"))
	add(showSummary, "show tam", kw("summary", "All of it on one page"))
	add(collector.shown, "show tam", kw("collectors", "Where reports go"), only(collectors.names()))
	add(sampler.shown, "show tam", kw("samplers", "One packet in how many"), only(samplers.names()))
	add(showFlowGroups, "show tam", kw("flow-groups", "Which packets are meant"), only(groupName))
	add(showFeatures, "show tam", kw("features", "What is active"), only(oneOf(names...)))
	for _, f := range features() {
		f.shows(func(show func(context.Context, *call) (*view, error), parts ...any) {
			add(show, append([]any{"show tam", f.keyword()}, parts...)...)
		})
	}
	add(showConsistency, "show tam", kw("consistency", "Whether what is configured is in force"))
	add(showAlarms, "show", kw("alarms", "What is wrong now, and since when"))
	add(showNotInForce("FAILED", "No object has failed"), "show",
		kw("failed", "Objects that are configured and have failed, and why"))
	add(showNotInForce("PENDING", "No object waits"), "show", kw("pending", "Objects that wait, and for what"))
	add(showUnapplied, "show", kw("unapplied", "Parts of the configuration that the switch does not apply"))
	add(showOutputs, "show", kw("outputs", "What is sent to collectors and servers, and what could not be"))
	add(showInterfaceStatus, "show interface", kw("status", "State of the ports"), only(iface))
	add(showInterfaceDescription, "show interface", kw("description", "What users say of the ports"), only(iface))
	add(showInterfaceCounters, "show interface counters", only(iface))
	add(showPortChannels, "show interface", kw("portchannel", "PortChannels, members, and why these carry no traffic"))
	add(showPortChannels, "show", alias("interfaces", "The same as interface, as in SONiC"), kw("portchannel", "The same"))
	add(showWires, "show interface", kw("wires", "Live interfaces behind ports, and frames lost there"), only(iface))
	add(showBreakout, "show interface breakout")
	add(showVLAN, "show", kw("vlan", "VLANs and their members"))
	add(showVLANConfig, "show", kw("vlan", "VLANs and their members"), kw("config", "As they are configured"))
	add(showACL, "show", kw("access-list", "ACL tables and rules"), maybe(acl, "Only this table"))
	add(showACL, "show", kw("acl", "The same as access-list"), maybe(acl, "Only this table"))
	add(showRoutes(4), "show", ip, kw("route", "IPv4 routes"))
	add(showRoutes(6), "show", ipv6, kw("route", "IPv6 routes"))
	add(showIPInterfaces(4), "show", ip, "interface")
	add(showIPInterfaces(6), "show", ipv6, "interface")
	add(showNeighbors(4), "show", kw("arp", "IPv4 neighbours"))
	add(showNeighbors(6), "show", ipv6, kw("neighbors", "IPv6 neighbours"))
	add(showNeighbors(6), "show", kw("ndp", "IPv6 neighbours"))
	add(showNeighbors(0), "show", kw("neighbors", "Neighbours of both families"))
	add(showLLDP, "show", kw("lldp", "What others say by LLDP"), kw("neighbors", "Who is at which port"))
	add(showMACs, "show", kw("mac", "Ethernet addresses"), kw("address-table", "Where addresses are"))
	add(showQueues, "show", kw("queue", "Egress queues"), "counters", maybe(iface, "Only of this port"))
	add(showSchedulers, "show", kw("qos", "Quality of service"), kw("scheduler", "How queues are served"))
	add(showCOPP, "show", kw("copp", "What goes to the CPU, and how much of it"))
	add(showMirrorSessions, "show", kw("mirror-session", "SPAN and ERSPAN sessions"))
	drops := kw("dropcounters", "Drops by SAI's reasons")
	group := opt(kw("group", "Only of this group"), arg("group", &argKind{label: "<name>", parse: parseName}, "Its name"))
	kind := opt(kw("type", "Only of this type"), arg("type", dropCounterType, "Type"))
	add(showDropConfiguration, "show", drops, kw("configuration", "What is counted"), group)
	add(showDropCounts, "show", drops, kw("counts", "What was counted"), group, kind)
	add(showDropCapabilities, "show", drops, kw("capabilities", "What can be counted"))
	sflow := kw("sflow", "Samples of packets, counters and drops to collectors")
	add(showSFlow, "show", sflow)
	add(showSFlowInterfaces, "show", sflow, kw("interface", "How ports are sampled"))
	add(showRunning, "show running-configuration")
	add(showRunningTAM, "show running-configuration tam")
	out = append(out, &command{modes: inExec, do: techSupport,
		form: seq("show", kw("tech-support", "Pack what is to be known into an archive, here"))})
	configuration := kw("configuration", "Configurations that are kept")
	add(showHistory, "show", configuration, kw("history", "Those that were saved, committed or replaced"))
	add(showDiff, "show", configuration, kw("diff", "What was changed since the last was saved"))
	add(showDiff, "show", configuration, kw("diff", "What was changed since the last was saved"),
		arg("number", configurationNumber, "Since this one: 0 is the newest"))
	add(showDiff, "show", configuration, kw("diff", "What was changed since the last was saved"),
		kw("startup", "Since the last was saved"))
	add(showUptime, "show", kw("uptime", "How long the machine is up"))
	add(showPlatform, "show", kw("platform", "What the switch is"), kw("summary", "On one page"))
	add(showVersion, "show", kw("version", "Versions of client and server"))
	return out
}

// maybe is a name that may be given.
func maybe(kind *argKind, help string) []element { return opt(arg("name", kind, help)) }

// only is the name of the one that is shown, where that is not all.
func only(kind *argKind) []element { return maybe(kind, "Only this one") }

// one returns a view's data for a container, whose name has its module in front.
func one(name string, t tree) map[string]any {
	if !t.exists() {
		return map[string]any{}
	}
	return map[string]any{name: t.v}
}

// entry is a view's data for one entry of a list.
func entry(list string, t tree) map[string]any { return map[string]any{list: []any{t.v}} }

// framed is a view whose text stands between blank lines.
func framed(data map[string]any, text func(p *printout)) *view {
	return &view{data, func(p *printout) {
		p.line("")
		text(p)
		p.line("")
	}}
}

// tableView is a table, with lines below it.
func tableView(data map[string]any, columns []column, rows [][]string, below []string) *view {
	return framed(data, func(p *printout) {
		p.table(columns, rows)
		p.after(below)
	})
}

// config returns a leaf of the entry as configured or, failing that, the state.
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

// inactive reports whether a state says that its object is not in effect.
func inactive(state tree) bool {
	status := state.word("status")
	return status != "" && !strings.EqualFold(status, "active")
}

// whyNot writes status and reason of an object that is not in effect.
func (p *printout) whyNot(width int, state tree) {
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
func (p *printout) after(lines []string) {
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
	return framed(one("openconfig-tam:switch", found), func(p *printout) {
		p.line("TAM Device information")
		p.line("----------------------")
		p.field(15, "Switch ID", state.text("op-switch-id"))
		p.field(15, "Enterprise ID", state.text("op-enterprise-id"))
		p.whyNot(15, state)
	}), nil
}

// techSupport makes the archive that others can find faults by.
func techSupport(ctx context.Context, c *call) error {
	if c.sh.conf.TechSupport == nil {
		return errors.New("not from here: run tamtam techsupport on the switch's machine")
	}
	name, err := c.sh.conf.TechSupport(ctx)
	if err == nil {
		_, err = fmt.Fprintln(c.sh.conf.Out, name)
	}
	return err
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
	return framed(data, func(p *printout) {
		p.field(15, "Client version", client)
		p.field(15, "gNMI version", reply.GetGNMIVersion())
		p.line("")
		p.table([]column{{"Model", 24, 2}, {"Version", 10, 2}, {"Organization", 12, 0}}, rows)
	}), nil
}
