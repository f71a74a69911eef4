package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// tableRecording records which tables packets ran.
func tableRecording() feature {
	return feature{
		ref: "TABLERECORD", word: "table-record", help: "Table recording",
		about: "Table recording: the path of each packet in a few bits", prompt: "tr",
		objects: []object{recordSession}, inline: true,
		shows: func(add addShow) {
			session := recordSessions.names()
			add(showTableRecord, maybe(session, "All of this session"))
			add(showTableRecordPlan, kw("plan", "Which tables write which bits of the record"),
				arg("name", session, "Name of the session"))
		},
	}
}

var recordSessions = tamList{
	"table recording session", "tamtam-tablerecord:tablerecord-sessions", "tablerecord-session",
}

// containers are the PHV containers of a record.
var containers = &argKind{label: "<WIDTH+WIDTH...>", parse: func(text string) (string, error) {
	for _, w := range strings.Split(text, "+") {
		if w != "8" && w != "16" && w != "32" {
			return "", fmt.Errorf("%q are no containers: want widths of 8, 16 or 32 bits joined by +, as in 16+16", text)
		}
	}
	return text, nil
}}

// truncation is how much of a packet is sent.
var truncation = &argKind{label: "<0 | 64-9216>", toTree: decimal, parse: func(text string) (string, error) {
	if v, err := number(64, 9216).parse(text); err == nil {
		return v, nil
	}
	if text != "0" {
		return "", fmt.Errorf("%q is not a number of bytes from 64 to 9216, or 0 for whole packets", text)
	}
	return text, nil
}}

// tableNames are tables of the pipeline.
var tableNames = &argKind{label: "<TABLE,...>", list: true, live: liveTables, toTree: func(text string) any {
	return strings.Split(text, ",")
}, parse: func(text string) (string, error) {
	for t := range strings.SplitSeq(text, ",") {
		if t == "" {
			return "", errors.New("tables are names with commas between, as in chip.acl,chip.fdb")
		}
		if strings.ContainsFunc(t, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return "", fmt.Errorf("%q is no name of a table: want visible ASCII characters", t)
		}
	}
	return text, nil
}}

// liveTables completes from the tables of the graphs that plans were made for.
func liveTables(ctx context.Context, s *Shell) ([]string, error) {
	found, err := s.client.all(ctx, recordSessions.path("*", "state", "plan", "json"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range found.items() {
		text, _ := e.v.(string)
		plan, err := readPlan(text)
		if err != nil {
			continue // the plan of another session may do
		}
		for _, n := range plan.items("graph", "nodes") {
			if n.text("kind") == "table" {
				names = append(names, n.text("id"))
			}
		}
	}
	return slices.Compact(naturally(names)), nil
}

var recordSession = object{
	tamList: recordSessions, table: "TAM_TABLERECORD_TABLE", word: "session",
	help: "A flow group whose paths are recorded", replace: true, tally: "Recording Sessions",
	title: "Session", width: flowWidth,
	leaves: []leaf{
		{
			word: "flow-group", help: "The flow group to record", name: "flowgroup", kind: groupName,
			value: "Name of the flow group", need: true, label: "Flow Group Name",
		},
		{
			word: "collector", help: "Where the records go", kind: collectors.names(), value: "Name of the collector",
			need: true, label: "Collector", show: collectorOf,
		},
		{label: "Sent", show: sent},
		{
			word: "sampler", help: "One packet in how many; default every one", kind: samplers.names(),
			label: "Sampling", show: sampling,
		},
		{
			word: "phv", help: "Containers of the record; default 16+16", kind: containers, def: "16+16",
			label: "PHV", always: true,
		},
		{
			word: "mode", help: "What is recorded", def: "exec", label: "Mode", always: true,
			kind: oneOf(choice{"exec", "Which tables a packet ran; default"}, choice{"exec+hit", "And which of them hit"},
				choice{"exec+action", "And which action the entry has that was hit"}),
		},
		{
			word: "algorithm", help: "How tables are chosen", def: "greedy", label: "Algorithm", always: true,
			kind: oneOf(choice{"greedy", "Table by table, the one that adds most; default"},
				choice{"greedy-restarts", "Greedy, from several first tables"},
				choice{"bnb", "Branch and bound: the best plan; only with exec"}),
		},
		{label: "Probabilities", show: func(e tree) string { return config(e, "probabilities") }, always: true},
		{word: "must-record", help: "Tables that are recorded whatever they add", kind: tableNames, label: "Must Record"},
		{
			word: "probabilities", help: "How likely the paths are", def: "uniform",
			kind: oneOf(choice{"uniform", "All ways that leave a table are equally likely; default"},
				choice{"counted", "As the switch has counted"}),
		},
		{
			word: "encapsulation", help: "What copies travel in", def: "udp",
			kind: oneOf(choice{"udp", "To the collector's port; default"}, choice{"erspan", "In GRE"}),
		},
		{
			word: "truncate", help: "Bytes of a packet that are sent; default 128, 0: all", kind: truncation, def: "128",
		},
		{word: "source-ip", help: "Source of what is sent; default the switch's own address", kind: ipAddress},
		{
			word: "identities", help: "Whether records name the entries that a packet hit; default false", def: "false",
			kind: whether("ACL rule, route, next hop, neighbour, FDB entries, and queue with its depth", "Tables only; default"),
		},
	},
}
