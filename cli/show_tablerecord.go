package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// showTableRecord shows the feature and its sessions, or all of one session.
func showTableRecord(ctx context.Context, c *call) (*view, error) {
	entries, data, err := recordSessions.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.has("name") {
		return framed(data, func(p *printout) {
			p.field(flowWidth, recordSession.title, entries[0].name())
			p.leaves(flowWidth, entries[0], recordSession.leaves...)
			p.recordState(entries[0])
		}), nil
	}
	feature, reported, err := c.sh.feature(ctx, "TABLERECORD")
	if err != nil {
		return nil, err
	}
	maps.Copy(data, reported)
	return framed(data, func(p *printout) {
		p.featureStatus(flowWidth, feature)
		p.line("")
		p.recordSessions(entries)
	}), nil
}

// recordSessions writes a line for each session.
func (p *printout) recordSessions(entries []tree) {
	var rows [][]string
	for _, e := range entries {
		plan, counters := e.at("state", "plan"), e.at("state", "counters")
		tables := "-"
		if plan.exists() {
			tables = strconv.Itoa(len(plan.texts("tables")))
		}
		rows = append(rows, []string{
			e.name(), config(e, "flowgroup"), e.text("config", "collector"), orDash(title(e.text("state", "status"))),
			config(e, "phv"), tables, orDash(ofPossible(plan)), orDash(percent(plan, "recovery")),
			counted(counters, "matched"), counted(counters, "recorded"), counted(counters, "lost"),
		})
	}
	p.table([]column{
		{"Name", 11, 2}, {"Flow Group", 11, 2}, {"Collector", 9, 2}, {"Status", 7, 2}, {"PHV", 5, 2},
		{"Tables", 6, 2}, {"Entropy", 12, 2}, {"Recovery", 8, 2}, {"Matched", 8, 2}, {"Recorded", 8, 2}, {"Lost", 4, 0},
	}, rows)
	p.after(whyNots(entries))
}

// ofPossible is a plan's entropy beside that of recording everything.
func ofPossible(plan tree) string {
	entropy, full := quantity(plan, "entropy"), quantity(plan, "entropy-full")
	if entropy == "" || full == "" {
		return entropy
	}
	return entropy + " of " + full
}

// recordState writes what became of a session, what it has recorded, and by which plan.
func (p *printout) recordState(e tree) {
	state, counters := e.at("state"), e.at("state", "counters")
	notSampled := ""
	if counters.exists() {
		notSampled = unless(counted(counters, "not-sampled"), "0")
	}
	p.optional(flowWidth,
		"Status", title(state.text("status")), "Reason", state.text("reason"), "Since", state.text("since"),
		"Matched", counted(counters, "matched"), "   Not Sampled", notSampled,
		"Recorded", counted(counters, "recorded"), "   Lost", counted(counters, "lost"))
	if text, _ := state.at("plan", "json").v.(string); text != "" {
		if plan, err := readPlan(text); err != nil {
			p.field(flowWidth, "Plan", err.Error())
		} else {
			p.recordPlan(plan, false)
		}
	}
}

// collectorOf is where the records of a session go.
func collectorOf(e tree) string {
	collector := e.text("config", "collector")
	if at := e.text("state", "collector-address"); at != "" {
		collector += ", " + at
	}
	return collector
}

// sent says how much of a packet a session sends, and in what encapsulation.
func sent(e tree) string {
	text := orDash(config(e, "truncate")) + " bytes of a packet, " + orDash(config(e, "encapsulation"))
	if config(e, "truncate") == "0" {
		text = "whole packets, " + orDash(config(e, "encapsulation"))
	}
	if from := config(e, "source-ip"); from != "" {
		text += ", from " + from
	}
	return text
}

// sampling says how many of its packets a session records.
func sampling(e tree) string {
	name, rate := e.text("config", "sampler"), e.text("state", "sampling-rate")
	switch {
	case name == "" || rate == "1":
		return "every packet"
	case rate == "":
		return name
	}
	return name + ", one packet in " + rate
}

// showTableRecordPlan shows the plan of a session. As JSON it is the plan itself, as
// readers of records take it.
func showTableRecordPlan(ctx context.Context, c *call) (*view, error) {
	name := c.args["name"]
	config, state := recordSessions.path(name, "config"), recordSessions.path(name, "state")
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, config, state)
	if err != nil {
		return nil, err
	}
	if len(withLingering(found[0].items(), found[1].items())) == 0 {
		return nil, recordSessions.missing(name)
	}
	text, _ := found[1].at("plan", "json").v.(string)
	if text == "" {
		return nil, fmt.Errorf("%s %s has no plan%s", recordSessions.what, name, because(found[1]))
	}
	plan, err := readPlan(text)
	if err != nil {
		return nil, err
	}
	data, _ := plan.v.(map[string]any)
	return framed(data, func(p *printout) {
		p.field(flowWidth, "Session", name)
		p.recordPlan(plan, true)
	}), nil
}

// because returns why an object is not in effect, as the end of a sentence.
func because(state tree) string {
	status, reason := state.text("status"), state.text("reason")
	switch {
	case status == "" || status == "active":
		return " yet"
	case reason == "":
		return ": it is " + status
	}
	return ": it is " + status + ": " + reason
}

// readPlan reads the plan's JSON.
func readPlan(text string) (tree, error) {
	v, err := decodeJSON(text)
	if err != nil {
		return tree{}, fmt.Errorf("the plan is no JSON: %w", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return tree{}, fmt.Errorf("the plan is no JSON object")
	}
	plan := tree{v}
	if _, ok := plan.count("id"); !ok || plan.text("phv") == "" {
		return tree{}, fmt.Errorf("the plan is none: want a number as id, and the containers as phv")
	}
	return plan, nil
}

// recordPlan writes how much a plan reveals, and which tables write which bits; with all, also what
// it was made from.
func (p *printout) recordPlan(plan tree, all bool) {
	id, _ := plan.count("id")
	p.field(flowWidth, "Plan", fmt.Sprintf("%d (0x%08x)", id, id))
	if all {
		tables := tablesOf(plan.at("graph"))
		pipeline := fmt.Sprintf("%s, %d tables, %s stages", plan.text("pipeline"), tables, plan.text("stages"))
		p.optional(flowWidth,
			"   Program", plan.text("program"), "   Pipeline", pipeline, "   Stages From", plan.text("stages_why"))
		p.field(flowWidth, "   Mode", plan.text("mode"))
		p.field(flowWidth, "   Algorithm", plan.text("algorithm"))
		p.optional(flowWidth, "   Must Record", plan.text("must_record"))
	}
	p.optional(flowWidth, "   Probabilities", plan.text("probabilities_from"))
	tables := plan.items("recorded")
	var bits, room uint64
	for _, t := range tables {
		n, _ := t.count("bits")
		bits += n
	}
	for w := range strings.SplitSeq(plan.text("phv"), "+") {
		n, _ := strconv.ParseUint(w, 10, 8)
		room += n
	}
	p.field(flowWidth, "   Bits", fmt.Sprintf("%d of %d", bits, room))
	p.field(flowWidth, "   Entropy", entropyText(plan))
	p.field(flowWidth, "   Bound", boundOfPlan(plan))
	p.field(flowWidth, "   Recovery", orDash(percent(plan, "recovery")))
	if all {
		weighed := plan.text("sets") + " sets, " + plan.text("solves") + " held against the constraints"
		p.optional(flowWidth, "   Equation 2", quantity(plan, "entropy_equation2"), "   Weighed", weighed)
	}
	p.recordedTables(tables)
}

func tablesOf(graph tree) int {
	n := 0
	for _, node := range graph.items("nodes") {
		if node.text("kind") == "table" {
			n++
		}
	}
	return n
}

// entropyText is a plan's entropy beside that of recording everything.
func entropyText(plan tree) string {
	text := quantity(plan, "entropy")
	got, _ := number64(plan, "entropy")
	if full, ok := number64(plan, "entropy_full"); ok && full > 0 {
		text += fmt.Sprintf(" of %s bits (%.1f %%)", plain(full), 100*got/full)
	}
	return text
}

// boundOfPlan says how much another plan might reveal.
func boundOfPlan(plan tree) string {
	got, _ := number64(plan, "entropy")
	bound, ok := number64(plan, "bound")
	switch {
	case plan.text("optimal") == "true":
		return "optimal: no plan in these containers tells more"
	case !ok || bound < got:
		return "not known"
	}
	return fmt.Sprintf("no plan in these containers tells more than %s bits", plain(bound))
}

// recordedTables writes the tables that write into the record, by container and bit.
func (p *printout) recordedTables(tables []tree) {
	slices.SortStableFunc(tables, func(a, b tree) int {
		return cmp.Or(natural(a.text("container"), b.text("container")), natural(firstBit(a), firstBit(b)))
	})
	var rows [][]string
	acts := false
	for _, t := range tables {
		rows = append(rows, []string{
			t.text("table"), t.text("stage"), t.text("container"), orDash(t.text("ran")), orDash(t.text("hit")),
		})
		acts = acts || len(t.items("actions")) > 0
	}
	columns := []column{
		{"Table", 20, 2}, {"Stage", 5, 2}, {"Container", 9, 2}, {"Bit If Run", 10, 2}, {"Bit If Hit", 10, 0},
	}
	if acts {
		columns[len(columns)-1].gap = 2
		columns = append(columns, column{"Bits If Hit With", 24, 0})
		for i, t := range tables {
			rows[i] = append(rows[i], orDash(actionBits(t)))
		}
	}
	p.line("")
	p.table(columns, rows)
}

// actionBits says which bit says that an entry was hit that has one of some actions.
func actionBits(t tree) string {
	var list []string
	for _, b := range t.items("actions") {
		names := b.texts("of")
		for i := range names {
			names[i] = cmp.Or(names[i], "no action")
		}
		list = append(list, b.text("bit")+": "+strings.Join(names, " or "))
	}
	return strings.Join(list, "; ")
}

func firstBit(t tree) string {
	if b := t.text("ran"); b != "" {
		return b
	}
	return t.text("hit")
}
