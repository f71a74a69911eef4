package tam

import (
	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// GroupName is the kind of the name of a flow group.
var GroupName = FlowGroups.Names()

// SwitchLeaves are the leaves of the switch as a whole.
var SwitchLeaves = declaredIn("TAM_SWITCH_TABLE", []kit.Leaf{
	{Word: "switch-id", Help: kit.WordHelp["switch-id"], Value: "Identifier"},
	{Word: "enterprise-id", Help: kit.WordHelp["enterprise-id"], Value: "Identifier"},
	{
		Word: "keep-packets", Help: "Packets that are kept for queries; default drops", Value: "Which",
		Kind: kit.OneOf(kit.Pick("drops", "Those that are dropped, and those of flows that were asked for; default"),
			kit.Pick("all", "All packets, wherever they end")),
	},
})

// Collector describes collectors.
var Collector = Object{
	List: Collectors, Table: "TAM_COLLECTORS_TABLE", Word: "collector", Help: "Where reports go", tally: "Collectors",
	Title: "Name", Width: 14, head: kit.Col("Name", 16, 3),
	Leaves: declaredIn("TAM_COLLECTORS_TABLE", []kit.Leaf{
		{
			Word: "ip", Help: "Its address", Kind: kit.IPAddress, Value: "Address", Need: true,
			Label: "IP Address", Cell: kit.Col("IP Address", 14, 3),
		},
		{
			Word: "port", Help: "Its transport port", Value: "Port", Need: true,
			Label: "Port", Cell: kit.Col("Port", 6, 2),
		},
		{
			Word: "protocol", Help: "Transport of the reports", Value: "Transport", Fill: "UDP",
			Kind:  kit.OneOf(kit.Pick("UDP", "Default"), kit.Pick("TCP", "")),
			Label: "Protocol", Always: true, Cell: kit.Col("Protocol", 8, 0),
		},
	}),
}

// Sampler describes samplers.
var Sampler = Object{
	List: Samplers, Table: "TAM_SAMPLINGRATE_TABLE", Word: "sampler", Help: "One packet in how many", tally: "Samplers",
	Title: "Name", Width: 14, head: kit.Col("Name", 11, 2),
	Leaves: declaredIn("TAM_SAMPLINGRATE_TABLE", []kit.Leaf{{
		Word: "rate", Help: "One packet in this many", Name: "sampling-rate",
		Value: "Packets",
		Need:  true, Label: "Sample Rate", Cell: kit.Col("Sample Rate", 11, 0),
	}}),
}

// Commands returns the commands of the mode config-tam and of the modes below it.
func Commands() []*kit.Command {
	out := []*kit.Command{{Modes: kit.InConfig, Form: kit.Seq("tam"), Do: kit.Enter(kit.ModeTAM)}}
	for _, l := range SwitchLeaves {
		cmd := l.Single(kit.InTAM, func(*kit.Call) (*gpb.Path, error) { return tree.Path(TamRoot, "switch"), nil })
		cmd.No.Options = [][]kit.Element{kit.Opt(kit.Arg("value", l.Kind, l.Value))}
		out = append(out, cmd)
	}
	out = append(out, Collector.Command(kit.InTAM), Sampler.Command(kit.InTAM), flowGroupCommand())
	out = append(out, clearCommands()...)
	return append(out, featureCommands()...)
}
