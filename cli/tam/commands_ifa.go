package tam

import (
	"tamtam/cli/kit"
)

// inbandFlowAnalyzer returns the feature that adds data of switches to packets. Its collectors and flow groups are
// defined with the drop monitor.
func inbandFlowAnalyzer() Feature {
	return Feature{
		Ref: "IFA", Word: "ifa", Help: "Inband Flow Analyzer",
		about: "Packets that carry metadata of each switch on their path", Prompt: "ifa", implied: true,
		Objects: []Object{ifaSession},
		Shows: func(add addShow) {
			session := ifaSessions.Names()
			add(showIFA)
			add(showIFA, kit.Keyword("sessions", "What the switch does"), kit.Only(session))
			add(showIFACounters, kit.Keyword("counters", "Packets of sessions and of the transit, by outcome"),
				kit.Only(session))
		},
	}
}

var ifaSessions = List{"IFA session", "tamtam-ifa:ifa-sessions", "ifa-session"}

var ifaSession = Object{
	List: ifaSessions, Table: "TAM_SESSION", Word: "session", Help: "What the switch does", Replace: true,
	tally: "IFA Sessions", Title: "Session", Width: flowWidth, head: kit.Col("Name", 12, 2),
	Leaves: declaredIn("TAM_IFA_SESSION_TABLE", []kit.Leaf{
		{Word: "role", Help: "What the switch does", Value: "The role", Need: true, Label: "Role",
			Kind: kit.OneOf(kit.Pick("initiator", "It puts IFA into the packets of a flow group"),
				kit.Pick("transit", "It adds a hop to all packets with IFA"),
				kit.Pick("terminator", "It takes IFA out of the packets of a flow group"))},
		{Word: "flow-group", Help: "Of initiators and terminators: whose packets", Value: "Name of a flow group",
			Kind: &kit.Kind{Label: "<name>", Parse: kit.ParseName, Live: matchGroups.Names().Live}, Label: "Flow Group"},
		{Word: "sampler", Help: "Of an initiator: one packet in how many; default every one", Kind: Samplers.Names(),
			Label: "Sampler"},
		{Word: "hop-limit", Help: "Of an initiator: hops of other switches at most; default any number",
			Label: "Hop Limit"},
		{Word: "max-length", Help: "Of an initiator: words of 4 bytes that hops take at most, 8 each; default 255",
			Label: "Max Length"},
		{Word: "collector", Help: "Of a terminator: where reports go; default nowhere", Value: "Names of collectors",
			Label: "Collectors", Kind: nameList("collectors", reportCollectors.Names)},
		{Word: "template-interval", Help: "Of a terminator: seconds until templates are sent again; default 15",
			Label: "Template Interval"},
	}),
}
