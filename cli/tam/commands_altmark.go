package tam

import (
	"fmt"
	"strconv"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// alternateMarking returns the feature that marks packets alternately, and counts them by their mark.
func alternateMarking() Feature {
	return Feature{
		Ref: "ALTMARK", Word: "alt-mark", Help: "Alternate marking",
		about: "Alternate marking: loss and delay of flow groups", Prompt: "am", Objects: []Object{altMarkSession},
		Shows: func(add addShow) {
			session := altMarkSessions.Names()
			add(showFeature("ALTMARK"))
			add(altMarkSession.Shown, kit.Keyword("sessions", "Flow groups that are marked"), kit.Only(session))
			add(showAltMarkCounters, "counters", kit.Maybe(session, "Only of this session"))
			add(showAltMarkPeriods, kit.Keyword("periods", "The last periods of a session"),
				kit.Arg("name", session, "Name of the session"))
			add(showAltMarkResults, kit.Keyword("results", "What a collector made of the reports"),
				kit.Maybe(altMarkPathName, "Only of this path"))
		},
	}
}

var altMarkSessions = List{"alternate marking session", "tamtam-altmark:alt-mark-sessions", "alt-mark-session"}

// altMarkPathName is the kind of the name of a path that a collector watches.
var altMarkPathName = &kit.Kind{Label: "<path>", Parse: kit.ParseName}

// intervalExponent is the kind of the exponent n of a period of 2^n seconds.
var intervalExponent = &kit.Kind{Label: "<-10-8>", ToTree: kit.Decimal, Parse: func(text string) (string, error) {
	n, err := strconv.ParseInt(text, 10, 8)
	if err != nil || n < -10 || n > 8 {
		return "", fmt.Errorf("%q is not n of 2^n seconds, a number from -10 to 8", text)
	}
	return strconv.FormatInt(n, 10), nil
}}

// markBit is the kind of a bit that can be marked.
var markBit = kit.OneOf(
	kit.Pick("dscp0", "Lowest bit of the DSCP"), kit.Pick("dscp1", ""), kit.Pick("dscp2", ""), kit.Pick("dscp3", ""),
	kit.Pick("dscp4", ""), kit.Pick("dscp5", "Highest bit of the DSCP"),
	kit.Pick("ipv4-reserved", "Reserved flag of the IPv4 header"),
	kit.Pick("ipv6-altmark-l", "L of the AltMark option"), kit.Pick("ipv6-altmark-d", "D of the AltMark option"))

// nanoseconds is the kind of a time up to the longest period, 2^8 s.
var nanoseconds = kit.Number(0, 256_000_000_000)

// slotSync is the kind of a boolean whose default is true.
var slotSync = &kit.Kind{
	Label: "{on|off}", Choices: []kit.Choice{kit.Pick("on", "Default"),
		kit.Pick("off", "Steps are found in the mark itself")},
	ToTree: func(text string) any {
		if text == "on" {
			return nil
		}
		return false
	},
	FromTree: func(text string) string {
		if text == "false" {
			return "off"
		}
		return "on"
	},
}

var altMarkSession = Object{
	List: altMarkSessions, Table: "TAM_ALTMARK_TABLE", Word: "session", Help: "A flow group that is marked",
	Replace: true, tally: "Alt-Mark Sessions", Title: "Session", Width: flowWidth, head: kit.Col("Name", 11, 2),
	more: writeAltMarkState,
	Leaves: declaredIn("TAM_ALTMARK_TABLE", []kit.Leaf{
		{
			Word: "flowgroup", Help: "The flow group to mark", Kind: GroupName, Value: "Name of the flow group", Need: true,
			Label: "Flow Group Name", Cell: kit.Col("Flow Group", 16, 2),
		},
		{
			Word: "role", Help: "What this switch does with the mark", Value: "Role", Need: true,
			Kind: kit.OneOf(kit.Pick("initiator", "Writes the mark"), kit.Pick("transit", "Reads it"),
				kit.Pick("terminator", "Reads it, and may clear it")),
			Label: "Role", Cell: kit.Col("Role", 10, 2),
		},
		{
			Word: "method", Help: "How the mark is used", Value: "Method", Need: true,
			Kind: kit.OneOf(kit.Pick("step", "The mark alternates: loss"),
				kit.Pick("pulse", "One packet of a period is marked: delay"),
				kit.Pick("double", "Step and pulse in two bits"), kit.Pick("muxed", "Step and pulse in one bit")),
			Label: "Method", Cell: kit.Col("Method", 6, 2),
		},
		{
			Word: "interval", Help: "Period of 2^n seconds", Kind: intervalExponent, Value: "n of 2^n seconds", Need: true,
			Label: "Period", Cell: kit.Col("Period", 7, 2),
			Show: func(e tree.Node) string { return periodLength(kit.Configured(e, "interval")) },
		},
		{
			Word: "mark", Help: "The bit", Kind: markBit, Value: "Bit", Need: true,
			Label: "Mark", Cell: kit.Col("Mark", 14, 2),
		},
		{
			Word: "mark2", Help: "The bit of the pulse, of double marking", Kind: markBit, Value: "Bit",
			Label: "Mark 2", Cell: kit.Col("Mark 2", 6, 0),
		},
		{
			Word: "flow-mon-id", Help: "Only packets with this FlowMonID in their AltMark option",
			Value: "FlowMonID", Label: "FlowMonID",
		},
		{
			Word: "encap-src", Help: "Source of a header with an AltMark option that is put around packets, or taken off",
			Kind: kit.IPAddress, Value: "IPv6 address of the initiator", Label: "Header From",
		},
		{
			Word: "encap-dst", Help: "Destination of that header", Kind: kit.IPAddress, Value: "IPv6 address of the terminator",
			Label: "Header To",
		},
		{
			Word: "encap-header", Help: "Header of options that has the option", Value: "Header",
			Kind: kit.OneOf(kit.Pick("destination", "Destination options; default"),
				kit.Pick("hop-by-hop", "Hop-by-hop options")), Label: "Header Of Options",
		},
		{
			Word: "encap-hop-limit", Help: "Hop limit with which packets leave; default 64",
			Value: "Hop limit", Label: "Header Hop Limit",
		},
		{Word: "clear", Help: "The terminator clears the marks", Label: "Clear"},
		{
			Word: "slot-sync", Help: "Clocks separate the slots of muxed marking", Kind: slotSync, Value: "Whether they do",
			Default: "on", Label: "Slot Sync",
		},
		{
			Word: "mean-delay", Help: "Arrivals of all packets are summed up: their mean delay",
			Label: "Mean Delay",
		},
		{
			Word: "foreign-marks", Help: "What an initiator does with packets that come marked", Value: "What it does",
			Kind: kit.OneOf(kit.Pick("count", "Marked as all others, and the period is flagged; default"),
				kit.Pick("clean", "Marked as all others: it is known that they come"), kit.Pick("drop", "Dropped")),
			Label: "Foreign Marks",
		},
		{
			Word: "clock-trust", Help: "What vouches for this switch's clock", Value: "What does",
			Kind: kit.OneOf(kit.Pick("checked", "The chip and its kernel; default"),
				kit.Pick("declared", "The operator: it is within clock-error")),
			Label: "Clock Trust",
		},
		{
			Word: "clock-error", Help: "Greatest error between two clocks; default 1/64 of the period", Kind: nanoseconds,
			Value: "Nanoseconds", Label: "Clock Error", Show: inEffect("clock-error"),
		},
		{
			Word: "delay-min", Help: "Least delay from the initiator; default 0", Kind: nanoseconds,
			Value: "Nanoseconds", Label: "Least Delay", Default: noDefault, Show: inEffect("delay-min"),
		},
		{
			Word: "delay-max", Help: "Greatest delay from the initiator; default 1/8 of the period", Kind: nanoseconds,
			Value: "Nanoseconds", Label: "Greatest Delay", Show: inEffect("delay-max"),
		},
	}),
}

// inEffect returns a function for the value in effect, which may be a default. Without one, the function returns the
// configured value.
func inEffect(leaf string) func(tree.Node) string {
	return func(e tree.Node) string {
		v := e.Text("state", leaf)
		if v == "" {
			v = e.Text("config", leaf)
		}
		return duration(v)
	}
}
