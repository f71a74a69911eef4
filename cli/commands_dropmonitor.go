package cli

import (
	"errors"
	"slices"
	"strings"
)

// dropMonitor reports packets that the switch drops. Collectors and flow groups of SONiC's own design stand with it;
// those that all features share do as well.
func dropMonitor() feature {
	return feature{
		ref: "DROPMONITOR", word: "drop-monitor", help: "Reports of dropped packets",
		about: "Reports of packets that the switch drops, by IPFIX", prompt: "dm", implied: true,
		objects: []object{reportCollector, matchGroup, dropSession},
		shows: func(add addShow) {
			session := dropSessions.names()
			add(showDropMonitor)
			add(showDropMonitor, kw("sessions", "What is reported, and where"), only(session))
			add(reportCollector.shown, kw("collectors", "Where reports go"), only(reportCollectors.names()))
			add(matchGroup.shown, kw("groups", "Flow groups of ports and rules"), only(matchGroups.names()))
		},
	}
}

// Lists of the drop monitor.
var (
	dropSessions     = tamList{"drop monitor session", "tamtam-dropmonitor:drop-monitor-sessions", "drop-monitor-session"}
	reportCollectors = tamList{"report collector", "tamtam-dropmonitor:report-collectors", "report-collector"}
	matchGroups      = tamList{"match group", "tamtam-dropmonitor:match-groups", "match-group"}
)

// nameList are names with commas between.
func nameList(what string, live func() *argKind) *argKind {
	k := &argKind{label: "<NAME[,NAME]>", list: true, toTree: func(text string) any { return strings.Split(text, ",") }}
	k.parse = func(text string) (string, error) {
		if slices.Contains(strings.Split(text, ","), "") {
			return "", errors.New(what + " are names with commas between")
		}
		return text, nil
	}
	if live != nil {
		k.live = live().live
	}
	return k
}

var reportCollector = object{
	tamList: reportCollectors, table: "TAM_COLLECTOR", word: "collector", help: "Where reports go", replace: true,
	tally: "Report Collectors", title: "Name", width: flowWidth, head: column{"Name", 12, 2},
	leaves: []leaf{
		{word: "ip", help: "Its address", kind: ipAddress, value: "Address", need: true, label: "IP Address",
			cell: column{"IP Address", 16, 2}},
		{word: "port", help: "Its port of UDP", kind: number(1, 65535), value: "Port", need: true, label: "Port",
			cell: column{"Port", 5, 2}},
		{word: "source-ip", help: "Source of the reports; default the address of the interface", kind: ipAddress,
			label: "Source", cell: column{"Source", 16, 2}},
		{word: "dscp", help: "DSCP of the reports; default 32", kind: number(0, 63), def: "32", label: "DSCP", always: true,
			cell: column{"DSCP", 4, 2}},
		{word: "vrf", help: "default, or mgmt behind the management interface", def: "default", label: "VRF", always: true,
			kind: oneOf(choice{"default", "Behind the ports that route; default"},
				choice{"mgmt", "Behind the management interface"}), cell: column{"VRF", 8, 0}},
		{word: "truncate", help: "Bytes of a dropped frame in a report; default 0, as many as there is room for",
			kind: number(0, 9216), def: "0", label: "Truncate"},
	},
}

var matchGroup = object{
	tamList: matchGroups, table: "TAM_FLOW_GROUP", word: "match-group", help: "A flow group of ports and rules",
	replace: false, tally: "Match Groups", title: "Name", width: flowWidth, head: column{"Name", 12, 2},
	leaves: []leaf{
		{word: "ports", help: "Ports and PortChannels; default all", kind: nameList("ports", nil), label: "Ports",
			cell: column{"Ports", 24, 2}},
		{word: "aging-interval", help: "Seconds, of stateful sessions", kind: number(1, 2592000), label: "Aging Interval",
			cell: column{"Aging Interval", 14, 0}},
	},
}

var dropSession = object{
	tamList: dropSessions, table: "TAM_SESSION", word: "session", help: "What is reported, and where", replace: true,
	tally: "Drop Sessions", title: "Session", width: flowWidth, head: column{"Name", 12, 2},
	leaves: []leaf{
		{word: "collector", help: "Where reports go", value: "Names of collectors", need: true, label: "Collectors",
			kind: nameList("collectors", reportCollectors.names)},
		{word: "flow-group", help: "Whose drops are meant; default those of all packets", value: "Name of a flow group",
			kind: &argKind{label: "<name>", parse: parseName, live: matchGroups.names().live}, label: "Flow Group"},
		{word: "sampler", help: "One dropped packet in how many; default every one", kind: samplers.names(),
			label: "Sampler"},
		{word: "drop-type", help: "What is reported", def: "stateless", label: "Drop Type", always: true,
			kind: oneOf(choice{"stateless", "Each packet; default"}, choice{"stateful", "Each flow and reason, with counts"})},
		{word: "aging-interval", help: "Seconds, of a stateful session; default as the flow group says, or 60",
			kind: number(1, 2592000), label: "Aging Interval"},
		{word: "report-layout", help: "How messages are laid out", def: "ipfix", label: "Layout", always: true,
			kind: oneOf(choice{"ipfix", "As RFC 7011 has it; default"}, choice{"mod", "As sonic-mgmt's tests read them"})},
		{word: "max-report-rate", help: "Reports in a second at most; default all", kind: number(1, 1e9),
			label: "Max Report Rate"},
		{word: "max-report-burst", help: "Reports at once at most; default those of a second", kind: number(1, 1e9),
			label: "Max Report Burst"},
		{word: "template-interval", help: "Seconds until templates are sent again; default 15", kind: number(1, 86400),
			def: "15", label: "Template Interval"},
	},
}
