package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// recordSessions is the list of sessions of table recording.
var recordSessions = listEntry{"table recording session", "tamtam-tablerecord:tablerecord-sessions", "tablerecord-session"}

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
var truncation = &argKind{label: "<0 | 64-9216>", parse: func(text string) (string, error) {
	if v, err := number(64, 9216).parse(text); err == nil {
		return v, nil
	}
	if text != "0" {
		return "", fmt.Errorf("%q is not a number of bytes from 64 to 9216, or 0 for whole packets", text)
	}
	return text, nil
}}

// tableNames are tables of the pipeline.
var tableNames = &argKind{label: "<TABLE,...>", list: true, live: liveTables, parse: func(text string) (string, error) {
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
	found, err := s.client.get(ctx, gpb.GetRequest_ALL, recordSessions.path("*", "state", "plan", "json"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range found[0].items() {
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

// recordOption is an option of a session: its leaf, and what it is without it.
type recordOption struct {
	leaf, def string
	kind      *argKind
	help      string
}

func recordOptions() []recordOption {
	return []recordOption{
		{"sampler", "", nameKind(liveNames("samplers", "sampler")), "One packet in how many; default every one"},
		{"phv", "16+16", containers, "Containers of the record; default 16+16"},
		{"mode", "exec", oneOf(choice{"exec", "Which tables a packet ran; default"}, choice{"exec+hit", "And which of them hit"}), "What is recorded"},
		{"algorithm", "greedy", oneOf(choice{"greedy", "Table by table, the one that adds most; default"}, choice{"greedy-restarts", "Greedy, from several first tables"},
			choice{"bnb", "Branch and bound: the best plan; not with exec+hit"}), "How tables are chosen"},
		{"must-record", "", tableNames, "Tables that are recorded whatever they add"},
		{"probabilities", "uniform", oneOf(choice{"uniform", "All ways that leave a table are equally likely; default"},
			choice{"counted", "As the switch has counted"}), "How likely the paths are"},
		{"encapsulation", "udp", oneOf(choice{"udp", "To the collector's port; default"}, choice{"erspan", "In GRE"}), "What copies travel in"},
		{"truncate", "128", truncation, "Bytes of a packet that are sent; default 128, 0: all"},
		{"source-ip", "", ipAddress, "Source of what is sent; default the switch's own address"},
	}
}

func recordCommands() []*command {
	var (
		session   = nameKind(liveNames(recordSessions.container, recordSessions.list))
		group     = nameKind(liveNames("flowgroups", "flowgroup"))
		collector = nameKind(liveNames("collectors", "collector"))
		options   [][]element
	)
	for _, o := range recordOptions() {
		options = append(options, opt(kw(o.leaf, o.help), arg(o.leaf, o.kind, o.help)))
	}
	const sessionHelp = "A flow group whose paths are recorded"
	out := []*command{
		{modes: inTAM, form: seq("table-record"), do: enter(modeTableRecord)},
		{
			modes: inTableRecord, do: setFeature("TABLERECORD"),
			form: seq(kw("enable", "Activate the feature")), no: noForm(kw("enable", "Deactivate the feature")),
		},
	}
	for _, at := range []struct {
		modes  []mode
		phrase string
	}{{inTableRecord, ""}, {inConfig, "tam table-record"}} {
		out = append(out, &command{
			modes: at.modes, do: setRecordSession,
			form: seq(at.phrase, kw("session", sessionHelp), arg("name", session, "Name of the session"),
				kw("flow-group", "The flow group to record"), arg("flowgroup", group, "Name of the flow group"),
				kw("collector", "Where the records go"), arg("collector", collector, "Name of the collector"), options),
			no: noForm(at.phrase, kw("session", sessionHelp), arg("name", session, "Name of the session")),
		})
	}
	return out
}

// setRecordSession writes a whole session: what the command does not name has its
// default.
func setRecordSession(ctx context.Context, c *call) error {
	if c.no {
		return recordSessions.remove(ctx, c)
	}
	config := map[string]any{"flowgroup": c.args["flowgroup"], "collector": c.args["collector"]}
	for _, o := range recordOptions() {
		if !c.has(o.leaf) {
			continue
		}
		switch v := c.args[o.leaf]; o.leaf {
		case "must-record":
			config[o.leaf] = strings.Split(v, ",")
		case "truncate":
			config[o.leaf] = json.Number(v)
		default:
			config[o.leaf] = v
		}
	}
	return recordSessions.write(ctx, c, "tamtam-tablerecord", config)
}

// runningTableRecord comes last, so that nothing is recorded before all is said.
func (p *page) runningTableRecord(tam tree) {
	var lines page
	for _, e := range tam.sorted("tablerecord-sessions", "tablerecord-session") {
		words := strings.Replace(leafWords(e, "flowgroup", "collector"), " flowgroup ", " flow-group ", 1)
		for _, o := range recordOptions() {
			if v := e.text("config", o.leaf); v != "" && v != o.def {
				words += " " + o.leaf + " " + quote(v)
			}
		}
		lines.line("  session %s%s", quote(e.name()), words)
	}
	for _, f := range tam.items("features", "feature") {
		if f.name() == "TABLERECORD" && f.word("config", "status") == "ACTIVE" {
			lines.line("  enable")
		}
	}
	p.block("tam\n table-record", &lines)
}
