package tam

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

func showFlyMonTasks(ctx context.Context, c *kit.Call) (*kit.View, error) {
	var more []string
	if c.Has("name") {
		more = []string{"metrics", "flows", "changes", "distribution"}
	}
	entries, data, err := flyMonTasks.readParts(ctx, c, more...)
	if err != nil {
		return nil, err
	}
	return kit.Framed(data, func(p *kit.Printout) {
		if c.Has("name") {
			writeObject(p, flyMonTask, entries[0])
			writeFlyMonEstimates(p, entries[0])
		} else {
			writeFlyMonTasks(p, entries)
		}
	}), nil
}

// writeFlyMonTasks writes a line for each task.
func writeFlyMonTasks(p *kit.Printout, entries []tree.Node) {
	var rows [][]string
	for _, e := range entries {
		place := e.At("state", "placement")
		groups := kit.OrDash(place.Text("groups"))
		if kit.Configured(e, "plan") == "true" {
			groups += " (plan)"
		}
		packets := kit.Configured(e, "filter")
		if g := e.Text("config", "flowgroup"); g != "" {
			packets = "group " + g
		}
		if packets == "" {
			packets = "any"
		}
		last := e.At("state", "last-epoch")
		rows = append(rows, []string{
			e.Name(), packets, kit.Configured(e, "key"), kit.Configured(e, "attribute"), flyMonAlgorithm(e),
			kit.OrDash(place.Text("buckets")),
			flyMonEpoch(kit.Configured(e, "epoch")), groups, kit.OrDash(last.Text("epoch")),
			kit.OrDash(percent(last, "load")), kit.OrDash(last.Text("flags")),
		})
	}
	p.Table([]kit.Column{
		kit.Col("Name", 11, 2), kit.Col("Packets", 10, 2), kit.Col("Key", 8, 2), kit.Col("Attribute", 9, 2),
		kit.Col("Algorithm", 9, 2),
		kit.Col("Buckets", 7, 2), kit.Col("Epoch", 6, 2), kit.Col("Groups", 6, 2), kit.Col("Last Epoch", 10, 2),
		kit.Col("Load", 6, 2), kit.Col("Flags", 5, 0),
	}, rows)
	p.After(kit.WhyNots(entries))
}

// flyMonAlgorithm returns the algorithm that was chosen or, if there is none, the requested one.
func flyMonAlgorithm(task tree.Node) string {
	if a := task.Text("state", "placement", "algorithm"); a != "" {
		return a
	}
	return kit.Configured(task, "algorithm")
}

// flyMonEpoch formats milliseconds.
func flyMonEpoch(ms string) string {
	switch ms {
	case "":
		return ""
	case "0":
		return "none"
	}
	return duration(ms + "000000")
}

// writeFlyMonState writes the placement of a task, and the results of the last epoch.
func writeFlyMonState(p *kit.Printout, e tree.Node) {
	switch place := e.At("state", "placement"); {
	case place.Exists():
		writeFlyMonPlacement(p, place)
	case kit.Configured(e, "plan") == "true":
		p.Field(flowWidth, "Plan", "none")
	}
	writeFlyMonLastEpoch(p, e.At("state", "last-epoch"))
}

// writeFlyMonEstimates writes the measured values.
func writeFlyMonEstimates(p *kit.Printout, e tree.Node) {
	if metrics := e.SortedBy("quantity", "metrics", "metric"); len(metrics) > 0 {
		writeEstimates(p, "Metric", "quantity", metrics)
	}
	if flows := greatestFirst(e.Items("flows", "flow")); len(flows) > 0 {
		writeEstimates(p, "Flow", "flow", flows)
	}
	if changes := greatestFirst(e.Items("changes", "change")); len(changes) > 0 {
		writeEstimates(p, "Changed Flow", "flow", changes, "Before", "before", "After", "after")
	}
	if bins := e.SortedBy("size", "distribution", "bin"); len(bins) > 0 {
		writeEstimates(p, "Size From", "size", bins)
	}
}

// greatestFirst sorts entries by their estimates, the largest first.
func greatestFirst(flows []tree.Node) []tree.Node {
	slices.SortStableFunc(flows, func(a, b tree.Node) int {
		x, _ := number64(a.At("state"), "estimate")
		y, _ := number64(b.At("state"), "estimate")
		if x != y {
			return int(math.Copysign(1, y-x))
		}
		return tree.Natural(a.Text("flow"), b.Text("flow"))
	})
	return flows
}

// writeFlyMonPlacement writes the actual or planned placement of a task, and the resources that it uses.
func writeFlyMonPlacement(p *kit.Printout, place tree.Node) {
	head, in := "Placement", "group"
	if place.Text("planned") == "true" {
		head = "Plan"
	}
	if len(place.Texts("groups")) > 1 {
		in = "groups"
	}
	p.Field(flowWidth, head, fmt.Sprintf("%s in %s %s", place.Text("algorithm"), in, place.Text("groups")))
	translation := place.Text("translation")
	if !strings.HasPrefix(translation, "shift") {
		translation = ""
	}
	p.Optional(flowWidth,
		"   Rows", place.Text("rows"), "   Buckets", place.Text("buckets"), "   Banks", place.Text("banks"),
		"   Bytes", place.Text("bytes"), "   Rules", place.Text("rules"), "   TCAM Entries", place.Text("tcam-entries"),
		"   Units", strings.Join(place.Texts("units"), "  "),
		"   Hash Units", strings.Join(place.Texts("hash-units"), "  "),
		"   Translation", translation, "   Expected", place.Text("expected"))
}

func writeFlyMonLastEpoch(p *kit.Printout, last tree.Node) {
	if !last.Exists() {
		return
	}
	p.Field(flowWidth, "Last Epoch", last.Text("epoch"))
	p.Optional(flowWidth,
		"   Start", clockTime(last.Text("start")), "   End", clockTime(last.Text("end")), "   Flags", last.Text("flags"),
		"   Load", percent(last, "load"), "   Full", percent(last, "full"), "   Flows From", last.Text("flows-from"),
		"   Digests Lost", unless(kit.Counted(last, "digests-lost"), "0"),
		"   Flows Cut", unless(kit.Counted(last, "flows-cut"), "0"),
		"   Changes Cut", unless(last.Text("changes-cut"), "0"))
}

// unless returns text, or "" if it equals word.
func unless(text, word string) string {
	if text == word {
		return ""
	}
	return text
}

func showFlyMonQueries(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := flyMonQueries.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var bounds theories
	var others []string
	for _, e := range entries {
		answer := e.At("state", "answer")
		others = append(others, answerOfAnother(e, answer)...)
		row := []string{e.Name(), kit.Configured(e, "task"), kit.Configured(e, "flow"), kit.OrDash(answer.Text("epoch"))}
		cells := estimateCells(answer)
		rows = append(rows, append(append(row, cells...), kit.OrDash(answer.Text("flags"))))
		bounds.add(e.Name(), cells, answer.Text("bound"))
	}
	columns := append([]kit.Column{kit.Col("Name", 11, 2), kit.Col("Task", 11, 2), kit.Col("Flow", 16, 2),
		kit.Col("Epoch", 10, 2)}, estimateColumns...)
	return kit.Framed(data, func(p *kit.Printout) {
		p.Table(withFlags(columns), rows)
		p.After(bounds.lines())
		p.After(others)
		p.After(kit.WhyNots(entries))
	}), nil
}

// answerOfAnother returns a line for a query whose last answer is about another flow, because the query was changed
// after the epoch ended.
func answerOfAnother(query, answer tree.Node) []string {
	task, flow := answer.Text("task"), answer.Text("flow")
	if flow == "" || task == query.Text("config", "task") && flow == query.Text("config", "flow") {
		return nil
	}
	return []string{fmt.Sprintf("%s: the answer is of flow %s of task %s", query.Name(), flow, task)}
}

// showFlyMonGroups shows the CMU groups, with a line for each CMU or hash unit.
func showFlyMonGroups(ctx context.Context, c *kit.Call) (*kit.View, error) {
	const container = "tamtam-flymon:flymon-groups"
	found, err := c.Session.Client.All(ctx, tree.Path(TamRoot, container))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, g := range found.SortedBy("number", "flymon-group") {
		s := g.At("state")
		units, free, most := s.Texts("hash-units"), s.Texts("free-buckets"), s.Texts("largest-free")
		for i := range max(1, len(units), len(free)) {
			row := []string{"", ""}
			if i == 0 {
				row = []string{g.Text("number"), kit.OrDash(s.Text("tasks"))}
			}
			cmu, buckets := place(free, i)
			_, largest := place(most, i)
			unit, key := place(units, i)
			rows = append(rows, append(row, cmu, buckets, largest, unit, key))
		}
	}
	return kit.TableView(kit.One(container, found), []kit.Column{
		kit.Col("Group", 5, 2), kit.Col("Tasks", 5, 2), kit.Col("CMU", 3, 2), kit.Col("Free", 7, 2), kit.Col("Largest", 7, 2),
		kit.Col("Hash", 4, 2), kit.Col("Key", 16, 0),
	}, rows, nil), nil
}

// place splits the i-th value, which has the form number=value.
func place(values []string, i int) (number, value string) {
	if i >= len(values) {
		return "", ""
	}
	number, value, _ = strings.Cut(values[i], "=")
	return number, value
}
