package cli

import (
	"fmt"
	"strconv"
)

// flyMon measures flows by sketches.
func flyMon() feature {
	return feature{
		ref: "FLYMON", word: "flymon", help: "Sketches", about: "FlyMon: sketches that are reconfigured on the fly",
		prompt: "fm", objects: []object{flyMonTask, flyMonQuery}, inline: true,
		shows: func(add addShow) {
			add(showFeature("FLYMON"))
			add(showFlyMonTasks, kw("task", "What is measured"), maybe(flyMonTasks.names(), "All of this one"))
			add(showFlyMonQueries, kw("query", "Flows that are answered for"), only(flyMonQueries.names()))
			add(showFlyMonGroups, kw("groups", "What of the CMU groups is in use"))
		},
	}
}

var (
	flyMonTasks   = tamList{"FlyMon task", "tamtam-flymon:flymon-tasks", "flymon-task"}
	flyMonQueries = tamList{"FlyMon query", "tamtam-flymon:flymon-queries", "flymon-query"}
)

// flyMonText is text that the switch reads: of keys, filters, attributes, flows.
func flyMonText(label string, choices ...choice) *argKind {
	return &argKind{label: label, choices: choices, parse: func(text string) (string, error) { return text, nil }}
}

// flyMonShare is a part of the packets. Its words are not choices, which may be abbreviated: 1/3 is
// not 1/32.
var flyMonShare = &argKind{label: "<1 | 1/2 | 1/4 ... 1/128>", parse: func(text string) (string, error) {
	for n := range 8 {
		if share := strconv.Itoa(1 << n); text == "1/"+share && n > 0 || text == "1" {
			return text, nil
		}
	}
	return "", fmt.Errorf("%q is not a share of the packets: 1, 1/2, 1/4 ... 1/128", text)
}}

var flyMonTask = object{
	tamList: flyMonTasks, table: "TAM_FLYMON_TASK_TABLE", word: "task", help: "What is measured of which packets",
	replace: true, tally: "FlyMon Tasks", title: "Task", width: flowWidth, more: (*printout).flyMonState,
	leaves: []leaf{
		{
			word: "flowgroup", help: "Only packets of this flow group", kind: groupName,
			label: "Flow Group Name", show: func(e tree) string { return e.text("config", "flowgroup") },
		},
		{
			word:  "filter",
			help:  "Only packets with src-ip=PREFIX, dst-ip=PREFIX, src-port=N-M, dst-port=N-M, protocol=N, ip=4",
			kind:  flyMonText("<FIELD=VALUE,...>", choice{"any", "All packets"}),
			label: "Filter",
		},
		{
			word: "key", help: "What tells flows apart", value: "Fields", need: true,
			kind: flyMonText("<FIELD,...>", choice{"none", "All packets are one"}, choice{"5-tuple", ""}, choice{"ip-pair", ""},
				choice{"src-ip", "Or src-ip/24 and the like"}, choice{"dst-ip", ""}, choice{"src-port", ""}, choice{"dst-port", ""},
				choice{"protocol", ""}, choice{"timestamp", ""}),
			label: "Key",
		},
		{
			word: "attribute", help: "What is measured of each flow", value: "Of a key such as src-ip,dst-port", need: true,
			kind: flyMonText("<distinct(KEY) | existence(KEY) | similarity(KEY)>",
				choice{"frequency", "Packets"}, choice{"frequency(bytes)", "Bytes of frames, FCS included"},
				choice{"max(queue-length)", "Bytes in the queue, without FCS"},
				choice{"max(queue-delay)", "Nanoseconds in the queue"},
				choice{"max(size)", "Bytes of a frame, FCS included"}, choice{"max(interval)", "Nanoseconds between two packets"}),
			label: "Attribute",
		},
		{
			word: "algorithm", help: "How it is measured", def: "auto", label: "Algorithm", always: true,
			kind: oneOf(choice{"auto", "Default"}, choice{"cms", "Count-Min Sketch"}, choice{"sumax-sum", "SuMax(Sum)"},
				choice{"sumax-max", "SuMax(Max)"}, choice{"mrac", "Distribution of flow sizes, and entropy"},
				choice{"tower", "TowerSketch"}, choice{"counter-braids", "Counter Braids"}, choice{"hll", "HyperLogLog"},
				choice{"linear-counting", "Linear Counting"}, choice{"beaucoup", "BeauCoup"}, choice{"bloom", "Bloom filter"},
				choice{"max-interval", "Maximum inter-arrival time"}, choice{"odd-sketch", "Odd Sketch"}),
		},
		{
			word: "memory", help: "Buckets of all rows; default 49152", kind: number(1, 1<<26), def: "49152",
			label: "Memory", show: func(e tree) string {
				return orDash(config(e, "memory")) + " buckets, " + orDash(config(e, "allocation"))
			},
		},
		{
			word: "rows", help: "Rows of the sketch; default those that the algorithm has", kind: number(1, 3), label: "Rows",
		},
		{
			word: "allocation", help: "How memory is rounded", def: "accurate",
			kind: oneOf(choice{"accurate", "At least what is wanted; default"}, choice{"efficient", "What is nearest"}),
		},
		{
			word: "epoch", help: "Milliseconds that are counted at a time; default 1000, 0: no end",
			kind: number(0, 3_600_000), def: "1000",
			label: "Epoch", always: true, show: func(e tree) string { return flyMonEpoch(config(e, "epoch")) },
		},
		{
			word: "threshold", help: "From where on a flow is heavy, or has too many values", kind: number(0, maxUint32),
			def: "0", label: "Threshold",
		},
		{
			word: "change-threshold", help: "From where on the change of a flow's count from one epoch to the next is heavy",
			kind: number(0, maxUint32), def: "0", label: "Change Threshold",
		},
		{
			word: "readout", help: "What is read", def: "banked", label: "Readout", always: true,
			kind: oneOf(choice{"banked", "One bank is read while the other counts; default"},
				choice{"live", "Read while it counts"}),
		},
		{
			word: "translation", help: "How addresses are translated", def: "tcam", label: "Translation",
			kind: oneOf(choice{"tcam", "TCAM entries; default"},
				choice{"shift", "Shifted keys: no TCAM, but instructions and PHV"}),
		},
		{
			word: "share", help: "Part of the packets that is looked at, for tasks of the same packets; default 1",
			kind: flyMonShare, def: "1", label: "Share",
		},
		{word: "pinned", help: "Never move it to make room for another task", def: "false", label: "Pinned"},
		{word: "plan", help: "Only say where it would go and what it would take", def: "false"},
	},
}

var flyMonQuery = object{
	tamList: flyMonQueries, table: "TAM_FLYMON_QUERY_TABLE", word: "query",
	help: "A flow that is answered for in each epoch", replace: true,
	leaves: []leaf{
		{word: "task", help: "The task that is asked", kind: flyMonTasks.names(), value: "Name of the task", need: true},
		{
			word: "flow", help: "Values of the fields of the task's key", need: true,
			kind: flyMonText("<VALUE,...>"), value: "Values, in the order of the key",
		},
	},
}
