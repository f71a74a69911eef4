package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// healthRoot is the path of the daemons' health in the tree.
const healthRoot = "tamtam-health:health"

// showConsistency shows the comparisons of each daemon, and below them the alarms.
func showConsistency(ctx context.Context, c *kit.Call) (*kit.View, error) {
	health, err := c.Session.Client.All(ctx, tree.Path(healthRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var below []string
	for _, e := range health.Sorted("daemons", "daemon") {
		s := e.At("state")
		ready := "no"
		if s.Text("ready") == "true" {
			ready = "yes"
		}
		rows = append(rows, []string{
			e.Name(), ready, kit.Title(kit.OrDash(s.Text("consistency"))), kit.OrDash(s.Text("objects")),
			kit.OrDash(s.Text("drift")),
			kit.OrDash(s.Text("healed")), kit.OrDash(s.Text("last-pass")),
		})
		for _, leaf := range []string{"reason", "differences"} {
			if text := s.Text(leaf); text != "" && !(leaf == "differences" && text == s.Text("reason")) {
				below = append(below, e.Name()+since(leaf, s)+": "+text)
			}
		}
	}
	for _, e := range health.Sorted("alarms", "alarm") {
		s := e.At("state")
		below = append(below, alarmLine(s))
	}
	return kit.TableView(kit.One(healthRoot, health), []kit.Column{
		kit.Col("Daemon", 10, 2), kit.Col("Ready", 5, 2), kit.Col("Consistency", 11, 2), kit.Col("Objects", 8, 2),
		kit.Col("Drift", 6, 2), kit.Col("Healed", 6, 2),
		kit.Col("Last pass", 9, 0),
	}, rows, below), nil
}

// since returns when a daemon began to wait, if that is known.
func since(leaf string, s tree.Node) string {
	at := s.Text("since")
	if leaf != "reason" || at == "" {
		return ""
	}
	if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
		at = t.UTC().Format(time.RFC3339)
	}
	return " since " + at
}

// showAlarms shows the present alarms.
func showAlarms(ctx context.Context, c *kit.Call) (*kit.View, error) {
	health, err := c.Session.Client.All(ctx, tree.Path(healthRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range health.Sorted("alarms", "alarm") {
		s := e.At("state")
		rows = append(rows, []string{raised(s), s.Text("severity"), s.Text("resource"), s.Text("type-id"), s.Text("text")})
	}
	var below []string
	if len(rows) == 0 {
		below = []string{"No alarms"}
	}
	data := kit.One(healthRoot, health.Keep(tree.Part{Path: []string{"alarms"}}))
	return kit.TableView(data, []kit.Column{
		kit.Col("Since", 20, 2), kit.Col("Severity", 8, 2), kit.Col("Resource", 10, 2), kit.Col("Kind", 9, 2),
		kit.Col("What", 4, 0),
	}, rows, below), nil
}

// raised returns the time at which an alarm was raised.
func raised(s tree.Node) string {
	at := s.Text("time-created")
	if ns, err := strconv.ParseInt(at, 10, 64); err == nil {
		at = time.Unix(0, ns).UTC().Format(time.RFC3339)
	}
	return at
}

// alarmLine returns an alarm as a line.
func alarmLine(s tree.Node) string {
	return strings.Join([]string{"Alarm", raised(s), s.Text("severity"), s.Text("resource") + ":", s.Text("text")}, " ")
}
