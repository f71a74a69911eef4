package cli

import (
	"fmt"
	"strconv"
)

// alternateMarking marks packets in turn, and counts them by their mark.
func alternateMarking() feature {
	return feature{
		ref: "ALTMARK", word: "alt-mark", help: "Alternate marking",
		about: "Alternate marking: loss and delay of flow groups", prompt: "am", objects: []object{altMarkSession},
		shows: func(add addShow) {
			session := altMarkSessions.names()
			add(showFeature("ALTMARK"))
			add(altMarkSession.shown, kw("sessions", "Flow groups that are marked"), only(session))
			add(showAltMarkCounters, "counters", maybe(session, "Only of this session"))
			add(showAltMarkPeriods, kw("periods", "The last periods of a session"),
				arg("name", session, "Name of the session"))
			add(showAltMarkResults, kw("results", "What a collector made of the reports"),
				maybe(altMarkPathName, "Only of this path"))
		},
	}
}

var altMarkSessions = tamList{"alternate marking session", "tamtam-altmark:alt-mark-sessions", "alt-mark-session"}

// altMarkPathName is the name of a path that a collector watches.
var altMarkPathName = &argKind{label: "<path>", parse: parseName}

// intervalExponent is n of a period of 2^n seconds.
var intervalExponent = &argKind{label: "<-10-8>", toTree: decimal, parse: func(text string) (string, error) {
	n, err := strconv.ParseInt(text, 10, 8)
	if err != nil || n < -10 || n > 8 {
		return "", fmt.Errorf("%q is not n of 2^n seconds, a number from -10 to 8", text)
	}
	return strconv.FormatInt(n, 10), nil
}}

// markBit is a bit that can be marked.
var markBit = oneOf(
	choice{"dscp0", "Lowest bit of the DSCP"}, choice{"dscp1", ""}, choice{"dscp2", ""}, choice{"dscp3", ""},
	choice{"dscp4", ""}, choice{"dscp5", "Highest bit of the DSCP"},
	choice{"ipv4-reserved", "Reserved flag of the IPv4 header"},
	choice{"ipv6-altmark-l", "L of the AltMark option"}, choice{"ipv6-altmark-d", "D of the AltMark option"})

// nanoseconds are at most the longest period: 2^8 s.
var nanoseconds = number(0, 256_000_000_000)

// slotSync is true where nothing is configured.
var slotSync = &argKind{
	label: "{on|off}", choices: []choice{{"on", "Default"}, {"off", "Steps are found in the mark itself"}},
	toTree: func(text string) any {
		if text == "on" {
			return nil
		}
		return false
	},
	fromTree: func(text string) string {
		if text == "false" {
			return "off"
		}
		return "on"
	},
}

var altMarkSession = object{
	tamList: altMarkSessions, table: "TAM_ALTMARK_TABLE", word: "session", help: "A flow group that is marked",
	replace: true, tally: "Alt-Mark Sessions", title: "Session", width: flowWidth, head: column{"Name", 11, 2},
	more: (*printout).altMarkState,
	leaves: []leaf{
		{
			word: "flowgroup", help: "The flow group to mark", kind: groupName, value: "Name of the flow group", need: true,
			label: "Flow Group Name", cell: column{"Flow Group", 16, 2},
		},
		{
			word: "role", help: "What this switch does with the mark", value: "Role", need: true,
			kind: oneOf(choice{"initiator", "Writes the mark"}, choice{"transit", "Reads it"},
				choice{"terminator", "Reads it, and may clear it"}),
			label: "Role", cell: column{"Role", 10, 2},
		},
		{
			word: "method", help: "How the mark is used", value: "Method", need: true,
			kind: oneOf(choice{"step", "The mark alternates: loss"}, choice{"pulse", "One packet of a period is marked: delay"},
				choice{"double", "Step and pulse in two bits"}, choice{"muxed", "Step and pulse in one bit"}),
			label: "Method", cell: column{"Method", 6, 2},
		},
		{
			word: "interval", help: "Period of 2^n seconds", kind: intervalExponent, value: "n of 2^n seconds", need: true,
			label: "Period", cell: column{"Period", 7, 2},
			show: func(e tree) string { return periodLength(config(e, "interval")) },
		},
		{
			word: "mark", help: "The bit", kind: markBit, value: "Bit", need: true,
			label: "Mark", cell: column{"Mark", 14, 2},
		},
		{
			word: "mark2", help: "The bit of the pulse, of double marking", kind: markBit, value: "Bit",
			label: "Mark 2", cell: column{"Mark 2", 6, 0},
		},
		{
			word: "flow-mon-id", help: "Only packets with this FlowMonID in their AltMark option", kind: number(0, 1<<20-1),
			value: "FlowMonID", label: "FlowMonID",
		},
		{word: "clear", help: "The terminator clears the marks", def: "false", label: "Clear"},
		{
			word: "slot-sync", help: "Clocks tell the slots of muxed marking", kind: slotSync, value: "Whether they do",
			def: "on", label: "Slot Sync",
		},
		{
			word: "mean-delay", help: "Arrivals of all packets are summed up: their mean delay", def: "false",
			label: "Mean Delay",
		},
		{
			word: "foreign-marks", help: "What an initiator does with packets that come marked", value: "What it does",
			def: "count",
			kind: oneOf(choice{"count", "Marked as all others, and the period is flagged; default"},
				choice{"clean", "Marked as all others: it is known that they come"}, choice{"drop", "Dropped"}),
			label: "Foreign Marks",
		},
		{
			word: "clock-trust", help: "What vouches for this switch's clock", value: "What does", def: "checked",
			kind: oneOf(choice{"checked", "The chip and its kernel; default"},
				choice{"declared", "The operator: it is within clock-error"}),
			label: "Clock Trust",
		},
		{
			word: "clock-error", help: "Greatest error between two clocks; default 1/64 of the period", kind: nanoseconds,
			value: "Nanoseconds", label: "Clock Error", show: inEffect("clock-error"),
		},
		{
			word: "delay-min", help: "Least delay from the initiator; default 0", kind: nanoseconds,
			value: "Nanoseconds", label: "Least Delay", show: inEffect("delay-min"),
		},
		{
			word: "delay-max", help: "Greatest delay from the initiator; default 1/8 of the period", kind: nanoseconds,
			value: "Nanoseconds", label: "Greatest Delay", show: inEffect("delay-max"),
		},
	},
}

// inEffect shows the time in effect, which may be a default, or else the configured one.
func inEffect(leaf string) func(tree) string {
	return func(e tree) string {
		v := e.text("state", leaf)
		if v == "" {
			v = e.text("config", leaf)
		}
		return duration(v)
	}
}
