package cli

import (
	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// groupName names a flow group.
var groupName = flowGroups.names()

// switchLeaves are attributes of the whole switch.
var switchLeaves = []leaf{
	{word: "switch-id", help: wordHelp["switch-id"], kind: number(1, maxUint32), value: "Identifier"},
	{word: "enterprise-id", help: wordHelp["enterprise-id"], kind: number(1, maxUint32), value: "Identifier"},
	{
		word: "keep-packets", help: "Which packets are kept for who asks why; default drops", value: "Which",
		kind: oneOf(choice{"drops", "Those that are dropped, and those of flows that were asked for; default"},
			choice{"all", "All packets, wherever they end"}),
	},
}

var collector = object{
	tamList: collectors, table: "TAM_COLLECTORS_TABLE", word: "collector", help: "Where reports go", tally: "Collectors",
	title: "Name", width: 14, head: column{"Name", 16, 3},
	leaves: []leaf{
		{
			word: "ip", help: "Its address", kind: ipAddress, value: "Address", need: true,
			label: "IP Address", cell: column{"IP Address", 14, 3},
		},
		{
			word: "port", help: "Its transport port", kind: number(1, 65535), value: "Port", need: true,
			label: "Port", cell: column{"Port", 6, 2},
		},
		{
			word: "protocol", help: "Transport of the reports", value: "Transport", fill: "UDP",
			kind:  oneOf(choice{"UDP", "Default"}, choice{"TCP", ""}),
			label: "Protocol", always: true, cell: column{"Protocol", 8, 0},
		},
	},
}

var sampler = object{
	tamList: samplers, table: "TAM_SAMPLINGRATE_TABLE", word: "sampler", help: "One packet in how many", tally: "Samplers",
	title: "Name", width: 14, head: column{"Name", 11, 2},
	leaves: []leaf{{
		word: "rate", help: "One packet in this many", name: "sampling-rate", kind: number(1, maxUint32), value: "Packets",
		need: true, label: "Sample Rate", cell: column{"Sample Rate", 11, 0},
	}},
}

func tamCommands() []*command {
	out := []*command{{modes: inConfig, form: seq("tam"), do: enter(modeTAM)}}
	for _, l := range switchLeaves {
		cmd := l.single(inTAM, func(*call) (*gpb.Path, error) { return gpath(tamRoot, "switch"), nil })
		cmd.no.options = [][]element{opt(arg("value", l.kind, l.value))}
		out = append(out, cmd)
	}
	out = append(out, collector.command(inTAM), sampler.command(inTAM), flowGroupCommand())
	return append(out, featureCommands()...)
}
