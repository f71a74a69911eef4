package tam

import (
	"fmt"
	"strconv"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// flyMon returns the feature that measures flows by sketches.
func flyMon() Feature {
	return Feature{
		Ref: "FLYMON", Word: "flymon", Help: "Sketches", about: "FlyMon: sketches that are reconfigured on the fly",
		Prompt: "fm", Objects: []Object{flyMonTask, flyMonQuery}, inline: true,
		Shows: func(add addShow) {
			add(showFeature("FLYMON"))
			add(showFlyMonTasks, kit.Keyword("task", "What is measured"), kit.Maybe(flyMonTasks.Names(), "All of this one"))
			add(showFlyMonQueries, kit.Keyword("query", "Flows that are answered for"), kit.Only(flyMonQueries.Names()))
			add(showFlyMonGroups, kit.Keyword("groups", "What of the CMU groups is in use"))
		},
	}
}

var (
	flyMonTasks   = List{"FlyMon task", "tamtam-flymon:flymon-tasks", "flymon-task"}
	flyMonQueries = List{"FlyMon query", "tamtam-flymon:flymon-queries", "flymon-query"}
)

// flyMonText returns the kind of a text that the switch parses: keys, filters, attributes, flows.
func flyMonText(label string, choices ...kit.Choice) *kit.Kind {
	return &kit.Kind{Label: label, Choices: choices, Parse: func(text string) (string, error) { return text, nil }}
}

// flyMonShare is the kind of a share of the packets. Its words are not choices, since choices may be abbreviated and
// 1/3 is not 1/32.
var flyMonShare = &kit.Kind{Label: "<1 | 1/2 | 1/4 ... 1/128>", Parse: func(text string) (string, error) {
	for n := range 8 {
		if share := strconv.Itoa(1 << n); text == "1/"+share && n > 0 || text == "1" {
			return text, nil
		}
	}
	return "", fmt.Errorf("%q is not a share of the packets: 1, 1/2, 1/4 ... 1/128", text)
}}

var flyMonTask = Object{
	List: flyMonTasks, Table: "TAM_FLYMON_TASK_TABLE", Word: "task", Help: "What is measured of which packets",
	Replace: true, tally: "FlyMon Tasks", Title: "Task", Width: flowWidth, more: writeFlyMonState,
	Leaves: declaredIn("TAM_FLYMON_TASK_TABLE", []kit.Leaf{
		{
			Word: "flowgroup", Help: "Only packets of this flow group", Kind: GroupName,
			Label: "Flow Group Name", Show: func(e tree.Node) string { return e.Text("config", "flowgroup") },
		},
		{
			Word: "filter",
			Help: "Only packets with src-ip=PREFIX, dst-ip=PREFIX, src-port=N-M, dst-port=N-M, protocol=N, ip=4",
			Kind: flyMonText("<FIELD=VALUE,...>", kit.Pick("any", "All packets")), Default: noDefault,
			Label: "Filter",
		},
		{
			Word: "key", Help: "The packet fields that identify a flow", Value: "Fields", Need: true,
			Kind: flyMonText("<FIELD,...>", kit.Pick("none", "All packets are one"), kit.Pick("5-tuple", ""),
				kit.Pick("ip-pair", ""),
				kit.Pick("src-ip", "Or src-ip/24 and the like"), kit.Pick("dst-ip", ""), kit.Pick("src-port", ""),
				kit.Pick("dst-port", ""),
				kit.Pick("protocol", ""), kit.Pick("timestamp", "")),
			Label: "Key",
		},
		{
			Word: "attribute", Help: "What is measured of each flow", Value: "Of a key such as src-ip,dst-port", Need: true,
			Kind: flyMonText("<distinct(KEY) | existence(KEY) | similarity(KEY)>",
				kit.Pick("frequency", "Packets"), kit.Pick("frequency(bytes)", "Bytes of frames, FCS included"),
				kit.Pick("max(queue-length)", "Bytes in the queue, without FCS"),
				kit.Pick("max(queue-delay)", "Nanoseconds in the queue"),
				kit.Pick("max(size)", "Bytes of a frame, FCS included"),
				kit.Pick("max(interval)", "Nanoseconds between two packets")),
			Label: "Attribute",
		},
		{
			Word: "algorithm", Help: "How it is measured", Label: "Algorithm", Always: true,
			Kind: kit.OneOf(kit.Pick("auto", "Default"), kit.Pick("cms", "Count-Min Sketch"),
				kit.Pick("sumax-sum", "SuMax(Sum)"),
				kit.Pick("sumax-max", "SuMax(Max)"), kit.Pick("mrac", "Distribution of flow sizes, and entropy"),
				kit.Pick("tower", "TowerSketch"), kit.Pick("counter-braids", "Counter Braids"), kit.Pick("hll", "HyperLogLog"),
				kit.Pick("linear-counting", "Linear Counting"), kit.Pick("beaucoup", "BeauCoup"), kit.Pick("bloom", "Bloom filter"),
				kit.Pick("max-interval", "Maximum inter-arrival time"), kit.Pick("odd-sketch", "Odd Sketch")),
		},
		{
			Word: "memory", Help: "Buckets of all rows; default 49152",
			Label: "Memory", Show: func(e tree.Node) string {
				return kit.OrDash(kit.Configured(e, "memory")) + " buckets, " + kit.OrDash(kit.Configured(e, "allocation"))
			},
		},
		{
			Word: "rows", Help: "Rows of the sketch; default those that the algorithm has",
			Label: "Rows",
		},
		{
			Word: "allocation", Help: "How memory is rounded",
			Kind: kit.OneOf(kit.Pick("accurate", "At least what is wanted; default"), kit.Pick("efficient", "What is nearest")),
		},
		{
			Word: "epoch", Help: "Milliseconds that are counted at a time; default 1000, 0: no end",
			Label: "Epoch", Always: true, Show: func(e tree.Node) string { return flyMonEpoch(kit.Configured(e, "epoch")) },
		},
		{
			Word: "threshold", Help: "From where on a flow is heavy, or has too many values",
			Label: "Threshold",
		},
		{
			Word: "change-threshold", Help: "From where on the change of a flow's count from one epoch to the next is heavy",
			Label: "Change Threshold",
		},
		{
			Word: "readout", Help: "What is read", Label: "Readout", Always: true,
			Kind: kit.OneOf(kit.Pick("banked", "One bank is read while the other counts; default"),
				kit.Pick("live", "Read while it counts")),
		},
		{
			Word: "translation", Help: "How addresses are translated", Label: "Translation",
			Kind: kit.OneOf(kit.Pick("tcam", "TCAM entries; default"),
				kit.Pick("shift", "Shifted keys: no TCAM, but instructions and PHV")),
		},
		{
			Word: "share", Help: "Part of the packets that is looked at, for tasks of the same packets; default 1",
			Kind: flyMonShare, Label: "Share",
		},
		{Word: "pinned", Help: "Never move it to make room for another task", Label: "Pinned"},
		{Word: "plan", Help: "Only report the place and resources that it would need"},
	}),
}

var flyMonQuery = Object{
	List: flyMonQueries, Table: "TAM_FLYMON_QUERY_TABLE", Word: "query",
	Help: "A flow that is answered for in each epoch", Replace: true,
	Leaves: []kit.Leaf{
		{Word: "task", Help: "The task that is asked", Kind: flyMonTasks.Names(), Value: "Name of the task", Need: true},
		{
			Word: "flow", Help: "Values of the fields of the task's key", Need: true,
			Kind: flyMonText("<VALUE,...>"), Value: "Values, in the order of the key",
		},
	},
}
