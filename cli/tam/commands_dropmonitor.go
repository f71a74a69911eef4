package tam

import (
	"errors"
	"slices"
	"strings"

	"tamtam/cli/kit"
)

// dropMonitor returns the feature that reports packets dropped by the switch. It also defines the collectors and flow
// groups of SONiC's own design, which other features share.
func dropMonitor() Feature {
	return Feature{
		Ref: "DROPMONITOR", Word: "drop-monitor", Help: "Reports of dropped packets",
		about: "Reports of packets that the switch drops, by IPFIX", Prompt: "dm", implied: true,
		Objects: []Object{reportCollector, matchGroup, dropSession},
		Shows: func(add addShow) {
			session := dropSessions.Names()
			add(showDropMonitor)
			add(showDropMonitor, kit.Keyword("sessions", "What is reported, and where"), kit.Only(session))
			add(reportCollector.Shown, kit.Keyword("collectors", "Where reports go"), kit.Only(reportCollectors.Names()))
			add(matchGroup.Shown, kit.Keyword("groups", "Flow groups of ports and rules"), kit.Only(matchGroups.Names()))
		},
	}
}

// Lists of the tree that belong to the drop monitor.
var (
	dropSessions     = List{"drop monitor session", "tamtam-dropmonitor:drop-monitor-sessions", "drop-monitor-session"}
	reportCollectors = List{"report collector", "tamtam-dropmonitor:report-collectors", "report-collector"}
	matchGroups      = List{"match group", "tamtam-dropmonitor:match-groups", "match-group"}
)

// nameList returns the kind of a list of names, separated by commas.
func nameList(what string, live func() *kit.Kind) *kit.Kind {
	k := &kit.Kind{Label: "<NAME[,NAME]>", List: true, ToTree: func(text string) any { return strings.Split(text, ",") }}
	k.Parse = func(text string) (string, error) {
		if slices.Contains(strings.Split(text, ","), "") {
			return "", errors.New(what + " are names with commas between")
		}
		return text, nil
	}
	if live != nil {
		k.Live = live().Live
	}
	return k
}

var reportCollector = Object{
	List: reportCollectors, Table: "TAM_COLLECTOR", Word: "collector", Help: "Where reports go", Replace: true,
	tally: "Report Collectors", Title: "Name", Width: flowWidth, head: kit.Col("Name", 12, 2),
	Leaves: declaredIn("TAM_COLLECTOR", []kit.Leaf{
		{Word: "ip", Help: "Its address", Kind: kit.IPAddress, Value: "Address", Need: true, Label: "IP Address",
			Cell: kit.Col("IP Address", 16, 2)},
		{Word: "port", Help: "Its port of UDP", Value: "Port", Need: true, Label: "Port",
			Cell: kit.Col("Port", 5, 2)},
		{Word: "source-ip", Help: "Source of the reports; default the address of the interface", Kind: kit.IPAddress,
			Label: "Source", Cell: kit.Col("Source", 16, 2)},
		{Word: "dscp", Help: "DSCP of the reports; default 32", Label: "DSCP",
			Always: true,
			Cell:   kit.Col("DSCP", 4, 2)},
		{Word: "vrf", Help: "default, or mgmt behind the management interface", Label: "VRF",
			Always: true,
			Kind: kit.OneOf(kit.Pick("default", "Behind the ports that route; default"),
				kit.Pick("mgmt", "Behind the management interface")), Cell: kit.Col("VRF", 8, 0)},
		{Word: "truncate", Help: "Bytes of a dropped frame in a report; default 0, as many as there is room for",
			Label: "Truncate"},
	}),
}

var matchGroup = Object{
	List: matchGroups, Table: "TAM_FLOW_GROUP", Word: "match-group", Help: "A flow group of ports and rules",
	Replace: false, tally: "Match Groups", Title: "Name", Width: flowWidth, head: kit.Col("Name", 12, 2),
	Leaves: declaredIn("TAM_FLOW_GROUP", []kit.Leaf{
		{Word: "ports", Help: "Ports and PortChannels; default all", Kind: nameList("ports", nil), Label: "Ports",
			Cell: kit.Col("Ports", 24, 2)},
		{Word: "aging-interval", Help: "Seconds, of stateful sessions", Label: "Aging Interval",
			Cell: kit.Col("Aging Interval", 14, 0)},
	}),
}

var dropSession = Object{
	List: dropSessions, Table: "TAM_SESSION", Word: "session", Help: "What is reported, and where", Replace: true,
	tally: "Drop Sessions", Title: "Session", Width: flowWidth, head: kit.Col("Name", 12, 2),
	Leaves: declaredIn("TAM_SESSION", []kit.Leaf{
		{Word: "collector", Help: "Where reports go", Value: "Names of collectors", Need: true, Label: "Collectors",
			Kind: nameList("collectors", reportCollectors.Names)},
		{Word: "flow-group", Help: "Whose drops are meant; default those of all packets", Value: "Name of a flow group",
			Kind: &kit.Kind{Label: "<name>", Parse: kit.ParseName, Live: matchGroups.Names().Live}, Label: "Flow Group"},
		{Word: "sampler", Help: "One dropped packet in how many; default every one", Kind: Samplers.Names(),
			Label: "Sampler"},
		{Word: "drop-type", Help: "What is reported", Label: "Drop Type", Always: true,
			Kind: kit.OneOf(kit.Pick("stateless", "Each packet; default"),
				kit.Pick("stateful", "Each flow and reason, with counts"))},
		{Word: "aging-interval", Help: "Seconds, of a stateful session; default: the flow group's value, or 60",
			Label: "Aging Interval"},
		{Word: "report-layout", Help: "How messages are laid out", Label: "Layout", Always: true,
			Kind: kit.OneOf(kit.Pick("ipfix", "As RFC 7011 has it; default"),
				kit.Pick("mod", "As sonic-mgmt's tests read them"))},
		{Word: "max-report-rate", Help: "Reports in a second at most; default all",
			Label: "Max Report Rate"},
		{Word: "max-report-burst", Help: "Reports at once at most; default those of a second",
			Label: "Max Report Burst"},
		{Word: "template-interval", Help: "Seconds until templates are sent again; default 15",
			Label: "Template Interval"},
	}),
}
