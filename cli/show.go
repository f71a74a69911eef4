package cli

import (
	"context"
	"errors"
	"fmt"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/buffers"
	"tamtam/cli/forwarding"
	"tamtam/cli/kit"
	"tamtam/cli/sflow"
	"tamtam/cli/subport"
	"tamtam/cli/tam"
	"tamtam/cli/tree"
	"tamtam/cli/trimming"
	"tamtam/cli/vrf"
)

func showCommands() []*kit.Command {
	var (
		acl   = &kit.Kind{Label: "<table>", Parse: kit.ParseName}
		iface = &kit.Kind{Label: "<EthernetN | PortChannelN | alias>", Parse: kit.ParseName, Live: kit.LiveInterfaces}
		ip    = kit.Keyword("ip", "Internet protocol")
		ipv6  = kit.Keyword("ipv6", "Internet protocol")
		names []kit.Choice
		out   []*kit.Command
	)
	for _, f := range tam.Features() {
		names = append(names, kit.Pick(f.Word, f.Help))
	}
	add := func(show func(context.Context, *kit.Call) (*kit.View, error), parts ...any) {
		out = append(out, &kit.Command{Modes: kit.InExec, Form: kit.Seq(parts...), Show: show})
	}
	add(showSwitch, "show tam", kit.Keyword("switch", "Attributes of the switch that are in use"))
	add(tam.ShowSummary, "show tam", kit.Keyword("summary", "All of it on one page"))
	add(tam.Collector.Shown, "show tam", kit.Keyword("collectors", "Where reports go"), kit.Only(tam.Collectors.Names()))
	add(tam.Sampler.Shown, "show tam", kit.Keyword("samplers", "One packet in how many"), kit.Only(tam.Samplers.Names()))
	add(tam.ShowFlowGroups, "show tam", kit.Keyword("flow-groups", "Which packets are meant"), kit.Only(tam.GroupName))
	add(tam.ShowFeatures, "show tam", kit.Keyword("features", "What is active"), kit.Only(kit.OneOf(names...)))
	for _, f := range tam.Features() {
		f.Shows(func(show func(context.Context, *kit.Call) (*kit.View, error), parts ...any) {
			add(show, append([]any{"show tam", f.Keyword()}, parts...)...)
		})
	}
	add(showConsistency, "show tam", kit.Keyword("consistency", "Whether what is configured is active"))
	add(showAlarms, "show", kit.Keyword("alarms", "What is wrong now, and since when"))
	add(showNotInForce("FAILED", "No object has failed"), "show",
		kit.Keyword("failed", "Objects that are configured and have failed, and why"))
	add(showNotInForce("PENDING", "No object waits"), "show", kit.Keyword("pending", "Objects that wait, and for what"))
	add(showUnapplied, "show", kit.Keyword("unapplied", "Parts of the configuration that the switch does not apply"))
	add(showOutputs, "show", kit.Keyword("outputs", "What is sent to collectors and servers, and what could not be"))
	add(showInterface, "show interface", kit.Arg("name", iface, "All about this one"))
	add(showInterfaceBrief, "show interface", kit.Keyword("brief", "State and addresses of all interfaces"))
	add(showInterfaceStatus, "show interface", kit.Keyword("status", "State of the ports"), kit.Only(iface))
	add(showInterfaceDescription, "show interface", kit.Keyword("description", "The ports' descriptions"),
		kit.Only(iface))
	add(showInterfaceCounters, "show interface counters", kit.Only(iface))
	add(showPortChannels, "show interface", kit.Keyword("portchannel",
		"PortChannels, members, and why these carry no traffic"))
	add(showPortChannels, "show", kit.Alias("interfaces", "The same as interface, as in SONiC"),
		kit.Keyword("portchannel", "The same"))
	add(showWires, "show interface", kit.Keyword("wires", "Live interfaces behind ports, and frames lost there"),
		kit.Only(iface))
	add(showBreakout, "show interface breakout")
	add(showVLAN, "show", kit.Keyword("vlan", "VLANs and their members"))
	add(showVLANConfig, "show", kit.Keyword("vlan", "VLANs and their members"),
		kit.Keyword("config", "As they are configured"))
	add(showACL, "show", kit.Keyword("access-list", "ACL tables and rules"), kit.Maybe(acl, "Only this table"))
	add(showACL, "show", kit.Keyword("acl", "The same as access-list"), kit.Maybe(acl, "Only this table"))
	add(vrf.Show(routingRoot), "show", kit.Keyword("vrf", "VRFs and their interfaces"))
	add(subport.Show(routingRoot), "show", kit.Keyword("subinterfaces", "Sub-ports: interfaces of ports for one VLAN"),
		kit.Keyword("status", "VLAN, MTU, administrative state and status"))
	add(showRoutes(4), "show", ip, kit.Keyword("route", "IPv4 routes"))
	add(showRoutes(6), "show", ipv6, kit.Keyword("route", "IPv6 routes"))
	add(showIPInterfaces(4), "show", ip, "interface")
	add(showIPInterfaces(6), "show", ipv6, "interface")
	forwarding.Shows(add)
	trimming.Shows(add, iface, resolveInterface)
	add(showNeighbors(4), "show", kit.Keyword("arp", "IPv4 neighbours"))
	add(showNeighbors(6), "show", ipv6, kit.Keyword("neighbors", "IPv6 neighbours"))
	add(showNeighbors(6), "show", kit.Keyword("ndp", "IPv6 neighbours"))
	add(showNeighbors(0), "show", kit.Keyword("neighbors", "Neighbours of both families"))
	add(showLLDP, "show", kit.Keyword("lldp", "LLDP data of neighbours"),
		kit.Keyword("neighbors", "The neighbour at each port"))
	add(showMACs, "show", kit.Keyword("mac", "Ethernet addresses"), kit.Keyword("address-table", "Where addresses are"))
	add(buffers.ShowQueues(resolveInterface), "show", kit.Keyword("queue", "Egress queues"), "counters",
		kit.Maybe(iface, "Only of this port"))
	add(showSchedulers, "show", kit.Keyword("qos", "Quality of service"),
		kit.Keyword("scheduler", "How queues are served"))
	buffers.Shows(add)
	add(showCOPP, "show", kit.Keyword("copp", "What goes to the CPU, and how much of it"))
	add(showMirrorSessions, "show", kit.Keyword("mirror-session", "SPAN and ERSPAN sessions"))
	drops := kit.Keyword("dropcounters", "Drops by SAI's reasons")
	group := kit.Opt(kit.Keyword("group", "Only of this group"),
		kit.Arg("group", &kit.Kind{Label: "<name>", Parse: kit.ParseName}, "Its name"))
	kind := kit.Opt(kit.Keyword("type", "Only of this type"), kit.Arg("type", dropCounterType, "Type"))
	add(showDropConfiguration, "show", drops, kit.Keyword("configuration", "What is counted"), group)
	add(showDropCounts, "show", drops, kit.Keyword("counts", "What was counted"), group, kind)
	add(showPersistentDrops, "show", drops,
		kit.Keyword("persistent-drops", "Alerts of drops that came again and again"),
		kit.Arg("name", &kit.Kind{Label: "<name>", Parse: kit.ParseName}, "Of this counter"))
	add(showDropCapabilities, "show", drops, kit.Keyword("capabilities", "What can be counted"))
	add(tam.ShowHFT, "show", kit.Keyword("hft", "Streams of statistics (high-frequency telemetry), and their readers"))
	samples := kit.Keyword("sflow", "Samples of packets, counters and drops to collectors")
	add(sflow.Show, "show", samples)
	add(sflow.ShowInterfaces, "show", samples, kit.Keyword("interface", "How ports are sampled"))
	add(showRunning, "show running-configuration")
	add(showRunningTAM, "show running-configuration tam")
	out = append(out, &kit.Command{Modes: kit.InExec, Do: techSupport,
		Form: kit.Seq("show", kit.Keyword("tech-support", "Pack what is to be known into an archive, here"))})
	configuration := kit.Keyword("configuration", "Configurations that are kept")
	add(showHistory, "show", configuration, kit.Keyword("history", "Those that were saved, committed or replaced"))
	add(showDiff, "show", configuration, kit.Keyword("diff", "What was changed since the last was saved"))
	add(showDiff, "show", configuration, kit.Keyword("diff", "What was changed since the last was saved"),
		kit.Arg("number", configurationNumber, "Since this one: 0 is the newest"))
	add(showDiff, "show", configuration, kit.Keyword("diff", "What was changed since the last was saved"),
		kit.Keyword("startup", "Since the last was saved"))
	add(showLines, "show", kit.Keyword("history", "Lines that were typed, the newest last"))
	add(showClock, "show", kit.Keyword("clock", "The time of day at the switch"))
	add(showUptime, "show", kit.Keyword("uptime", "How long the machine is up"))
	add(showPlatform, "show", kit.Keyword("platform", "What the switch is"), kit.Keyword("summary", "On one page"))
	add(showVersion, "show", kit.Keyword("version", "Versions of client and server"))
	return out
}

func showSwitch(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(tam.TamRoot, "switch"))
	if err != nil {
		return nil, err
	}
	state := tam.InForce(found).At("state")
	return kit.Framed(kit.One("openconfig-tam:switch", found), func(p *kit.Printout) {
		p.Line("TAM Device information")
		p.Line("----------------------")
		p.Field(15, "Switch ID", state.Text("op-switch-id"))
		p.Field(15, "Enterprise ID", state.Text("op-enterprise-id"))
		p.WhyNot(15, state)
	}), nil
}

// techSupport makes an archive with diagnostic data.
func techSupport(ctx context.Context, c *kit.Call) error {
	if c.Session.Config.TechSupport == nil {
		return errors.New("not from here: run tamtam techsupport on the switch's machine")
	}
	name, err := c.Session.Config.TechSupport(ctx)
	if err == nil {
		_, err = fmt.Fprintln(c.Session.Config.Out, name)
	}
	return err
}

// showVersion shows the program's version and the server's capabilities.
func showVersion(ctx context.Context, c *kit.Call) (*kit.View, error) {
	ctx, cancel := c.Session.Client.Request(ctx)
	defer cancel()
	reply, err := c.Session.Client.GNMI.Capabilities(ctx, &gpb.CapabilityRequest{})
	if err != nil {
		return nil, c.Session.Client.Explain(err)
	}
	var models []any
	var rows [][]string
	for _, m := range reply.GetSupportedModels() {
		models = append(models, map[string]any{
			"name": m.GetName(), "organization": m.GetOrganization(), "version": m.GetVersion(),
		})
		rows = append(rows, []string{m.GetName(), m.GetVersion(), m.GetOrganization()})
	}
	client := c.Session.Config.Version
	if client == "" {
		client = "unknown"
	}
	data := map[string]any{"client-version": client, "gnmi-version": reply.GetGNMIVersion(), "models": models}
	return kit.Framed(data, func(p *kit.Printout) {
		p.Field(15, "Client version", client)
		p.Field(15, "gNMI version", reply.GetGNMIVersion())
		p.Line("")
		p.Table([]kit.Column{kit.Col("Model", 24, 2), kit.Col("Version", 10, 2), kit.Col("Organization", 12, 0)}, rows)
	}), nil
}
