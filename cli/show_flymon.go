package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

func showFlyMonTasks(ctx context.Context, c *call) (*view, error) {
	var more []string
	if c.has("name") {
		more = []string{"metrics", "flows", "changes", "distribution"}
	}
	entries, data, err := flyMonTasks.readParts(ctx, c, more...)
	if err != nil {
		return nil, err
	}
	return framed(data, func(p *printout) {
		if c.has("name") {
			p.object(flyMonTask, entries[0])
			p.flyMonEstimates(entries[0])
		} else {
			p.flyMonTasks(entries)
		}
	}), nil
}

// flyMonTasks writes a line for each task.
func (p *printout) flyMonTasks(entries []tree) {
	var rows [][]string
	for _, e := range entries {
		place := e.at("state", "placement")
		groups := orDash(place.text("groups"))
		if config(e, "plan") == "true" {
			groups += " (plan)"
		}
		packets := config(e, "filter")
		if g := e.text("config", "flowgroup"); g != "" {
			packets = "group " + g
		}
		if packets == "" {
			packets = "any"
		}
		last := e.at("state", "last-epoch")
		rows = append(rows, []string{
			e.name(), packets, config(e, "key"), config(e, "attribute"), flyMonAlgorithm(e), orDash(place.text("buckets")),
			flyMonEpoch(config(e, "epoch")), groups, orDash(last.text("epoch")),
			orDash(percent(last, "load")), orDash(last.text("flags")),
		})
	}
	p.table([]column{
		{"Name", 11, 2}, {"Packets", 10, 2}, {"Key", 8, 2}, {"Attribute", 9, 2}, {"Algorithm", 9, 2},
		{"Buckets", 7, 2}, {"Epoch", 6, 2}, {"Groups", 6, 2}, {"Last Epoch", 10, 2}, {"Load", 6, 2}, {"Flags", 5, 0},
	}, rows)
	p.after(whyNots(entries))
}

// flyMonAlgorithm is the algorithm that was chosen or, failing that, wanted.
func flyMonAlgorithm(task tree) string {
	if a := task.text("state", "placement", "algorithm"); a != "" {
		return a
	}
	return config(task, "algorithm")
}

// flyMonEpoch writes milliseconds.
func flyMonEpoch(ms string) string {
	switch ms {
	case "":
		return ""
	case "0":
		return "none"
	}
	return duration(ms + "000000")
}

// flyMonState writes where a task is, and the results of the last epoch.
func (p *printout) flyMonState(e tree) {
	switch place := e.at("state", "placement"); {
	case place.exists():
		p.flyMonPlacement(place)
	case config(e, "plan") == "true":
		p.field(flowWidth, "Plan", "none")
	}
	p.flyMonLastEpoch(e.at("state", "last-epoch"))
}

// flyMonEstimates writes what was measured.
func (p *printout) flyMonEstimates(e tree) {
	if metrics := e.sortedBy("quantity", "metrics", "metric"); len(metrics) > 0 {
		p.estimates("Metric", "quantity", metrics)
	}
	if flows := greatestFirst(e.items("flows", "flow")); len(flows) > 0 {
		p.estimates("Flow", "flow", flows)
	}
	if changes := greatestFirst(e.items("changes", "change")); len(changes) > 0 {
		p.estimates("Changed Flow", "flow", changes, "Before", "before", "After", "after")
	}
	if bins := e.sortedBy("size", "distribution", "bin"); len(bins) > 0 {
		p.estimates("Size From", "size", bins)
	}
}

// greatestFirst sorts entries by their estimates.
func greatestFirst(flows []tree) []tree {
	slices.SortStableFunc(flows, func(a, b tree) int {
		x, _ := number64(a.at("state"), "estimate")
		y, _ := number64(b.at("state"), "estimate")
		if x != y {
			return int(math.Copysign(1, y-x))
		}
		return natural(a.text("flow"), b.text("flow"))
	})
	return flows
}

// flyMonPlacement writes where a task is, or would go, and what it takes.
func (p *printout) flyMonPlacement(place tree) {
	head, in := "Placement", "group"
	if place.text("planned") == "true" {
		head = "Plan"
	}
	if len(place.texts("groups")) > 1 {
		in = "groups"
	}
	p.field(flowWidth, head, fmt.Sprintf("%s in %s %s", place.text("algorithm"), in, place.text("groups")))
	translation := place.text("translation")
	if !strings.HasPrefix(translation, "shift") {
		translation = ""
	}
	p.optional(flowWidth,
		"   Rows", place.text("rows"), "   Buckets", place.text("buckets"), "   Banks", place.text("banks"),
		"   Bytes", place.text("bytes"), "   Rules", place.text("rules"), "   TCAM Entries", place.text("tcam-entries"),
		"   Units", strings.Join(place.texts("units"), "  "),
		"   Hash Units", strings.Join(place.texts("hash-units"), "  "),
		"   Translation", translation, "   Expected", place.text("expected"))
}

func (p *printout) flyMonLastEpoch(last tree) {
	if !last.exists() {
		return
	}
	p.field(flowWidth, "Last Epoch", last.text("epoch"))
	p.optional(flowWidth,
		"   Start", clockTime(last.text("start")), "   End", clockTime(last.text("end")), "   Flags", last.text("flags"),
		"   Load", percent(last, "load"), "   Full", percent(last, "full"), "   Flows From", last.text("flows-from"),
		"   Digests Lost", unless(counted(last, "digests-lost"), "0"),
		"   Flows Cut", unless(counted(last, "flows-cut"), "0"),
		"   Changes Cut", unless(last.text("changes-cut"), "0"))
}

// unless returns a text, or nothing if it equals word.
func unless(text, word string) string {
	if text == word {
		return ""
	}
	return text
}

func showFlyMonQueries(ctx context.Context, c *call) (*view, error) {
	entries, data, err := flyMonQueries.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var bounds theories
	var others []string
	for _, e := range entries {
		answer := e.at("state", "answer")
		others = append(others, answerOfAnother(e, answer)...)
		row := []string{e.name(), config(e, "task"), config(e, "flow"), orDash(answer.text("epoch"))}
		cells := estimateCells(answer)
		rows = append(rows, append(append(row, cells...), orDash(answer.text("flags"))))
		bounds.add(e.name(), cells, answer.text("bound"))
	}
	columns := append([]column{{"Name", 11, 2}, {"Task", 11, 2}, {"Flow", 16, 2}, {"Epoch", 10, 2}}, estimateColumns...)
	return framed(data, func(p *printout) {
		p.table(withFlags(columns), rows)
		p.after(bounds.lines())
		p.after(others)
		p.after(whyNots(entries))
	}), nil
}

// answerOfAnother returns a line for a query whose last answer is of another flow than the
// configured one, because it was changed after the epoch ended.
func answerOfAnother(query, answer tree) []string {
	task, flow := answer.text("task"), answer.text("flow")
	if flow == "" || task == query.text("config", "task") && flow == query.text("config", "flow") {
		return nil
	}
	return []string{fmt.Sprintf("%s: the answer is of flow %s of task %s", query.name(), flow, task)}
}

// showFlyMonGroups shows the CMU groups, a line for each CMU or hash unit.
func showFlyMonGroups(ctx context.Context, c *call) (*view, error) {
	const container = "tamtam-flymon:flymon-groups"
	found, err := c.sh.client.all(ctx, gpath(tamRoot, container))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, g := range found.sortedBy("number", "flymon-group") {
		s := g.at("state")
		units, free, most := s.texts("hash-units"), s.texts("free-buckets"), s.texts("largest-free")
		for i := range max(1, len(units), len(free)) {
			row := []string{"", ""}
			if i == 0 {
				row = []string{g.text("number"), orDash(s.text("tasks"))}
			}
			cmu, buckets := place(free, i)
			_, largest := place(most, i)
			unit, key := place(units, i)
			rows = append(rows, append(row, cmu, buckets, largest, unit, key))
		}
	}
	return tableView(one(container, found), []column{
		{"Group", 5, 2}, {"Tasks", 5, 2}, {"CMU", 3, 2}, {"Free", 7, 2}, {"Largest", 7, 2}, {"Hash", 4, 2}, {"Key", 16, 0},
	}, rows, nil), nil
}

// place is the i-th of values that are number=value.
func place(values []string, i int) (number, value string) {
	if i >= len(values) {
		return "", ""
	}
	number, value, _ = strings.Cut(values[i], "=")
	return number, value
}
