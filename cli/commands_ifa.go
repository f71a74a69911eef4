package cli

// inbandFlowAnalyzer puts into packets what switches say of them. Collectors and flow groups stand with the drop
// monitor.
func inbandFlowAnalyzer() feature {
	return feature{
		ref: "IFA", word: "ifa", help: "Inband Flow Analyzer",
		about: "Packets that carry what each switch on their way says of them", prompt: "ifa", implied: true,
		objects: []object{ifaSession},
		shows: func(add addShow) {
			session := ifaSessions.names()
			add(showIFA)
			add(showIFA, kw("sessions", "What the switch does"), only(session))
			add(showIFACounters, kw("counters", "What became of packets, of sessions and of the transit"), only(session))
		},
	}
}

var ifaSessions = tamList{"IFA session", "tamtam-ifa:ifa-sessions", "ifa-session"}

var ifaSession = object{
	tamList: ifaSessions, table: "TAM_SESSION", word: "session", help: "What the switch does", replace: true,
	tally: "IFA Sessions", title: "Session", width: flowWidth, head: column{"Name", 12, 2},
	leaves: []leaf{
		{word: "role", help: "What the switch does", value: "The role", need: true, label: "Role",
			kind: oneOf(choice{"initiator", "It puts IFA into the packets of a flow group"},
				choice{"transit", "It adds a hop to all packets with IFA"},
				choice{"terminator", "It takes IFA out of the packets of a flow group"})},
		{word: "flow-group", help: "Of initiators and terminators: whose packets", value: "Name of a flow group",
			kind: &argKind{label: "<name>", parse: parseName, live: matchGroups.names().live}, label: "Flow Group"},
		{word: "sampler", help: "Of an initiator: one packet in how many; default every one", kind: samplers.names(),
			label: "Sampler"},
		{word: "hop-limit", help: "Of an initiator: hops of other switches at most; default any number", kind: number(1, 254),
			label: "Hop Limit"},
		{word: "max-length", help: "Of an initiator: words of 4 bytes that hops take at most, 8 each; default 255",
			kind: number(8, 255), label: "Max Length"},
		{word: "collector", help: "Of a terminator: where reports go; default nowhere", value: "Names of collectors",
			label: "Collectors", kind: nameList("collectors", reportCollectors.names)},
		{word: "template-interval", help: "Of a terminator: seconds until templates are sent again; default 15",
			kind: number(1, 86400), label: "Template Interval"},
	},
}
