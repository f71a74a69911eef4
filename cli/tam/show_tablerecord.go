package tam

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
	"tamtam/tam/words"
)

// showTableRecord shows the feature and its sessions, or the details of one session.
func showTableRecord(ctx context.Context, c *kit.Call) (*kit.View, error) {
	plan := func(text func(plan tree.Node) string) func(tree.Node) string {
		return func(e tree.Node) string { return kit.OrDash(text(e.At("state", "plan"))) }
	}
	return sessionTable{ref: "TABLERECORD", object: recordSession, columns: []sessionColumn{
		{kit.Col("Name", 11, 2), tree.Node.Name}, {kit.Col("Flow Group", 11, 2), configured("flowgroup")},
		{kit.Col("Collector", 9, 2), configured("collector")}, {kit.Col("Status", 7, 2), statusOf},
		{kit.Col("PHV", 5, 2), configured("phv")},
		{kit.Col("Tables", 6, 2), plan(func(plan tree.Node) string {
			if !plan.Exists() {
				return ""
			}
			return strconv.Itoa(len(plan.Texts("tables")))
		})},
		{kit.Col("Entropy", 12, 2), plan(ofPossible)},
		{kit.Col("Recovery", 8, 2), plan(func(plan tree.Node) string { return percent(plan, "recovery") })},
		{kit.Col("Matched", 8, 2), countedAs("matched")}, {kit.Col("Recorded", 8, 2), countedAs("recorded")},
		{kit.Col("Lost", 4, 0), countedAs("lost")},
	}, whole: writeRecordState}.show(ctx, c)
}

// ofPossible returns a plan's entropy, together with the entropy of recording everything.
func ofPossible(plan tree.Node) string {
	entropy, full := quantity(plan, "entropy"), quantity(plan, "entropy-full")
	if entropy == "" || full == "" {
		return entropy
	}
	return entropy + " of " + full
}

// writeRecordState writes the status, the counters and the plan of a session.
func writeRecordState(p *kit.Printout, e tree.Node) {
	state, counters := e.At("state"), e.At("state", "counters")
	writeStatus(p, state)
	for _, c := range countersIn("TAM_TABLERECORD_COUNTERS", "") {
		label, text := "   "+c.label, kit.Counted(counters, c.leaf)
		switch c.leaf {
		case "matched", "recorded":
			label = c.label
		case "not-sampled":
			if text = unless(text, "0"); !counters.Exists() {
				text = ""
			}
		}
		p.Optional(flowWidth, label, text)
	}
	if text, _ := state.At("plan", "json").Value.(string); text != "" {
		if plan, err := readPlan(text); err != nil {
			p.Field(flowWidth, "Plan", err.Error())
		} else {
			writeRecordPlan(p, plan, false)
		}
	}
}

// collectorOf returns the destination of a session's records.
func collectorOf(e tree.Node) string {
	collector := e.Text("config", "collector")
	if at := e.Text("state", "collector-address"); at != "" {
		collector += ", " + at
	}
	return collector
}

// sent returns how much of a packet a session sends, and the encapsulation.
func sent(e tree.Node) string {
	text := kit.OrDash(kit.Configured(e, "truncate")) + " bytes of a packet, " + kit.OrDash(kit.Configured(e,
		"encapsulation"))
	if kit.Configured(e, "truncate") == "0" {
		text = "whole packets, " + kit.OrDash(kit.Configured(e, "encapsulation"))
	}
	if from := kit.Configured(e, "source-ip"); from != "" {
		text += ", from " + from
	}
	return text
}

// sampling returns the share of its packets that a session records.
func sampling(e tree.Node) string {
	name, rate := e.Text("config", "sampler"), e.Text("state", "sampling-rate")
	switch {
	case name == "" || rate == "1":
		return "every packet"
	case rate == "":
		return name
	}
	return name + ", one packet in " + rate
}

// showTableRecordPlan shows the plan of a session. As JSON it is the plan itself, in the form that readers of records
// accept.
func showTableRecordPlan(ctx context.Context, c *kit.Call) (*kit.View, error) {
	name := c.Args["name"]
	config, state := recordSessions.Path(name, "config"), recordSessions.Path(name, "state")
	found, err := c.Session.Client.Get(ctx, gpb.GetRequest_ALL, config, state)
	if err != nil {
		return nil, err
	}
	if len(withLingering(found[0].Items(), found[1].Items())) == 0 {
		return nil, recordSessions.missing(ctx, c.Session, name)
	}
	text, _ := found[1].At("plan", "json").Value.(string)
	if text == "" {
		return nil, fmt.Errorf("%s %s has no plan%s", recordSessions.what, name, because(found[1]))
	}
	plan, err := readPlan(text)
	if err != nil {
		return nil, err
	}
	data, _ := plan.Value.(map[string]any)
	return kit.Framed(data, func(p *kit.Printout) {
		p.Field(flowWidth, "Session", name)
		writeRecordPlan(p, plan, true)
	}), nil
}

// because returns the reason why an object is not in effect, as the end of a sentence.
func because(state tree.Node) string {
	status, reason := state.Text("status"), state.Text("reason")
	switch {
	case status == "" || status == words.Active:
		return " yet"
	case reason == "":
		return ": it is " + status
	}
	return ": it is " + status + ": " + reason
}

// readPlan decodes the JSON of a plan.
func readPlan(text string) (tree.Node, error) {
	v, err := tree.DecodeJSON(text)
	if err != nil {
		return tree.Node{}, fmt.Errorf("the plan is no JSON: %w", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return tree.Node{}, fmt.Errorf("the plan is no JSON object")
	}
	plan := tree.Of(v)
	if _, ok := plan.Count("id"); !ok || plan.Text("phv") == "" {
		return tree.Node{}, fmt.Errorf("the plan is none: want a number as id, and the containers as phv")
	}
	return plan, nil
}

// writeRecordPlan writes how much a plan reveals, and which tables write which bits. With all, it also writes the input
// of the planner.
func writeRecordPlan(p *kit.Printout, plan tree.Node, all bool) {
	id, _ := plan.Count("id")
	p.Field(flowWidth, "Plan", fmt.Sprintf("%d (0x%08x)", id, id))
	if all {
		tables := tablesOf(plan.At("graph"))
		pipeline := fmt.Sprintf("%s, %d tables, %s stages", plan.Text("pipeline"), tables, plan.Text("stages"))
		p.Optional(flowWidth,
			"   Program", plan.Text("program"), "   Pipeline", pipeline, "   Stages From", plan.Text("stages_why"))
		p.Field(flowWidth, "   Mode", plan.Text("mode"))
		p.Field(flowWidth, "   Algorithm", plan.Text("algorithm"))
		p.Optional(flowWidth, "   Must Record", plan.Text("must_record"))
	}
	p.Optional(flowWidth, "   Probabilities", plan.Text("probabilities_from"))
	tables := plan.Items("recorded")
	var bits, room uint64
	for _, t := range tables {
		n, _ := t.Count("bits")
		bits += n
	}
	for w := range strings.SplitSeq(plan.Text("phv"), "+") {
		n, _ := strconv.ParseUint(w, 10, 8)
		room += n
	}
	p.Field(flowWidth, "   Bits", fmt.Sprintf("%d of %d", bits, room))
	p.Field(flowWidth, "   Entropy", entropyText(plan))
	p.Field(flowWidth, "   Bound", boundOfPlan(plan))
	p.Field(flowWidth, "   Recovery", kit.OrDash(percent(plan, "recovery")))
	if all {
		weighed := plan.Text("sets") + " sets, " + plan.Text("solves") + " held against the constraints"
		p.Optional(flowWidth, "   Equation 2", quantity(plan, "entropy_equation2"), "   Weighed", weighed)
	}
	writeRecordedTables(p, tables)
}

func tablesOf(graph tree.Node) int {
	n := 0
	for _, node := range graph.Items("nodes") {
		if node.Text("kind") == "table" {
			n++
		}
	}
	return n
}

// entropyText returns a plan's entropy, together with the entropy of recording everything.
func entropyText(plan tree.Node) string {
	text := quantity(plan, "entropy")
	got, _ := number64(plan, "entropy")
	if full, ok := number64(plan, "entropy_full"); ok && full > 0 {
		text += fmt.Sprintf(" of %s bits (%.1f %%)", plain(full), 100*got/full)
	}
	return text
}

// boundOfPlan returns a text about the maximum entropy of any plan in these containers. The text states that this plan
// reaches it, or contains the upper bound if that is known.
func boundOfPlan(plan tree.Node) string {
	got, _ := number64(plan, "entropy")
	bound, ok := number64(plan, "bound")
	switch {
	case plan.Text("optimal") == "true":
		return "optimal: no plan in these containers records more"
	case !ok || bound < got:
		return words.Unknown
	}
	return fmt.Sprintf("no plan in these containers records more than %s bits", plain(bound))
}

// writeRecordedTables writes the tables that write into the record, by container and bit.
func writeRecordedTables(p *kit.Printout, tables []tree.Node) {
	slices.SortStableFunc(tables, func(a, b tree.Node) int {
		return cmp.Or(tree.Natural(a.Text("container"), b.Text("container")), tree.Natural(firstBit(a), firstBit(b)))
	})
	var rows [][]string
	acts := false
	for _, t := range tables {
		rows = append(rows, []string{
			t.Text("table"), t.Text("stage"), t.Text("container"), kit.OrDash(t.Text("ran")), kit.OrDash(t.Text("hit")),
		})
		acts = acts || len(t.Items("actions")) > 0
	}
	columns := []kit.Column{
		kit.Col("Table", 20, 2), kit.Col("Stage", 5, 2), kit.Col("Container", 9, 2), kit.Col("Bit If Run", 10, 2),
		kit.Col("Bit If Hit", 10, 0),
	}
	if acts {
		columns[len(columns)-1].Gap = 2
		columns = append(columns, kit.Col("Bits If Hit With", 24, 0))
		for i, t := range tables {
			rows[i] = append(rows[i], kit.OrDash(actionBits(t)))
		}
	}
	p.Line("")
	p.Table(columns, rows)
}

// actionBits returns a text with the bits that show that the packet hit an entry with one of some actions.
func actionBits(t tree.Node) string {
	var list []string
	for _, b := range t.Items("actions") {
		names := b.Texts("of")
		for i := range names {
			names[i] = cmp.Or(names[i], "no action")
		}
		list = append(list, b.Text("bit")+": "+strings.Join(names, " or "))
	}
	return strings.Join(list, "; ")
}

func firstBit(t tree.Node) string {
	if b := t.Text("ran"); b != "" {
		return b
	}
	return t.Text("hit")
}
