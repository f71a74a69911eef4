package tam

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// tableRecording returns the feature that records which tables packets passed.
func tableRecording() Feature {
	return Feature{
		Ref: "TABLERECORD", Word: "table-record", Help: "Table recording",
		about: "Table recording: the path of each packet in a few bits", Prompt: "tr",
		Objects: []Object{recordSession}, inline: true,
		Shows: func(add addShow) {
			session := recordSessions.Names()
			add(showTableRecord, kit.Maybe(session, "All of this session"))
			add(showTableRecordPlan, kit.Keyword("plan", "Which tables write which bits of the record"),
				kit.Arg("name", session, "Name of the session"))
		},
	}
}

var recordSessions = List{
	"table recording session", "tamtam-tablerecord:tablerecord-sessions", "tablerecord-session",
}

// containers is the kind of the PHV containers of a record.
var containers = &kit.Kind{Label: "<WIDTH+WIDTH...>", Parse: func(text string) (string, error) {
	for _, w := range strings.Split(text, "+") {
		if w != "8" && w != "16" && w != "32" {
			return "", fmt.Errorf("%q are no containers: want widths of 8, 16 or 32 bits joined by +, as in 16+16", text)
		}
	}
	return text, nil
}}

// truncation is the kind of the number of bytes of a packet that are sent.
var truncation = &kit.Kind{Label: "<0 | 64-9216>", ToTree: kit.Decimal, Parse: func(text string) (string, error) {
	if v, err := kit.Number(64, 9216).Parse(text); err == nil {
		return v, nil
	}
	if text != "0" {
		return "", fmt.Errorf("%q is not a number of bytes from 64 to 9216, or 0 for whole packets", text)
	}
	return text, nil
}}

// tableNames is the kind of a list of tables in the pipeline.
var tableNames = &kit.Kind{Label: "<TABLE,...>", List: true, Live: liveTables, ToTree: func(text string) any {
	return strings.Split(text, ",")
}, Parse: func(text string) (string, error) {
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

// liveTables returns the tables in the graphs of existing plans, for completion.
func liveTables(ctx context.Context, s *kit.Session) ([]string, error) {
	found, err := s.Client.All(ctx, recordSessions.Path("*", "state", "plan", "json"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range found.Items() {
		text, _ := e.Value.(string)
		plan, err := readPlan(text)
		if err != nil {
			continue // the plan of another session may be usable
		}
		for _, n := range plan.Items("graph", "nodes") {
			if n.Text("kind") == "table" {
				names = append(names, n.Text("id"))
			}
		}
	}
	return slices.Compact(tree.SortNaturally(names)), nil
}

var recordSession = Object{
	List: recordSessions, Table: "TAM_TABLERECORD_TABLE", Word: "session",
	Help: "A flow group whose paths are recorded", Replace: true, tally: "Recording Sessions",
	Title: "Session", Width: flowWidth,
	Leaves: declaredIn("TAM_TABLERECORD_TABLE", []kit.Leaf{
		{
			Word: "flow-group", Help: "The flow group to record", Name: "flowgroup", Kind: GroupName,
			Value: "Name of the flow group", Need: true, Label: "Flow Group Name",
		},
		{
			Word: "collector", Help: "Where the records go", Kind: Collectors.Names(), Value: "Name of the collector",
			Need: true, Label: "Collector", Show: collectorOf,
		},
		{Label: "Sent", Show: sent},
		{
			Word: "sampler", Help: "One packet in how many; default every one", Kind: Samplers.Names(),
			Label: "Sampling", Show: sampling,
		},
		{
			Word: "phv", Help: "Containers of the record; default 16+16", Kind: containers,
			Label: "PHV", Always: true,
		},
		{
			Word: "mode", Help: "What is recorded", Label: "Mode", Always: true,
			Kind: kit.OneOf(kit.Pick("exec", "Which tables a packet ran; default"),
				kit.Pick("exec+hit", "And which of them hit"),
				kit.Pick("exec+action", "And which action the entry has that was hit")),
		},
		{
			Word: "algorithm", Help: "How tables are chosen", Label: "Algorithm", Always: true,
			Kind: kit.OneOf(kit.Pick("greedy", "Table by table, the one that adds most; default"),
				kit.Pick("greedy-restarts", "Greedy, from several first tables"),
				kit.Pick("bnb", "Branch and bound: the best plan; only with exec")),
		},
		{Label: "Probabilities", Show: func(e tree.Node) string { return kit.Configured(e, "probabilities") }, Always: true},
		{Word: "must-record", Help: "Tables that are recorded whatever they add", Kind: tableNames, Label: "Must Record"},
		{
			Word: "probabilities", Help: "How likely the paths are",
			Kind: kit.OneOf(kit.Pick("uniform", "All ways that leave a table are equally likely; default"),
				kit.Pick("counted", "As the switch has counted")),
		},
		{
			Word: "encapsulation", Help: "What copies travel in",
			Kind: kit.OneOf(kit.Pick("udp", "To the collector's port; default"), kit.Pick("erspan", "In GRE")),
		},
		{
			Word: "truncate", Help: "Bytes of a packet that are sent; default 128, 0: all", Kind: truncation,
		},
		{Word: "source-ip", Help: "Source of what is sent; default the switch's own address", Kind: kit.IPAddress},
		{
			Word: "identities", Help: "Whether records name the entries that a packet hit; default false",
			Kind: kit.Whether("ACL rule, route, next hop, neighbour, FDB entries, and queue with its depth",
				"Tables only; default"),
		},
	}),
}
