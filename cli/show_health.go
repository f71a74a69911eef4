package cli

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// healthRoot is where it is told how the daemons are.
const healthRoot = "tamtam-health:health"

// showConsistency shows what each daemon has compared, and below it the alarms.
func showConsistency(ctx context.Context, c *call) (*view, error) {
	health, err := c.sh.client.all(ctx, gpath(healthRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var below []string
	for _, e := range health.sorted("daemons", "daemon") {
		s := e.at("state")
		ready := "no"
		if s.text("ready") == "true" {
			ready = "yes"
		}
		rows = append(rows, []string{
			e.name(), ready, title(orDash(s.text("consistency"))), orDash(s.text("objects")), orDash(s.text("drift")),
			orDash(s.text("healed")), orDash(s.text("last-pass")),
		})
		for _, leaf := range []string{"reason", "differences"} {
			if text := s.text(leaf); text != "" && !(leaf == "differences" && text == s.text("reason")) {
				below = append(below, e.name()+since(leaf, s)+": "+text)
			}
		}
	}
	for _, e := range health.sorted("alarms", "alarm") {
		s := e.at("state")
		below = append(below, alarmLine(s))
	}
	return tableView(one(healthRoot, health), []column{
		{"Daemon", 10, 2}, {"Ready", 5, 2}, {"Consistency", 11, 2}, {"Objects", 8, 2}, {"Drift", 6, 2}, {"Healed", 6, 2},
		{"Last pass", 9, 0},
	}, rows, below), nil
}

// since says when what a daemon waits for began, as far as that is told.
func since(leaf string, s tree) string {
	at := s.text("since")
	if leaf != "reason" || at == "" {
		return ""
	}
	if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
		at = t.UTC().Format(time.RFC3339)
	}
	return " since " + at
}

// showAlarms shows what is wrong now.
func showAlarms(ctx context.Context, c *call) (*view, error) {
	health, err := c.sh.client.all(ctx, gpath(healthRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range health.sorted("alarms", "alarm") {
		s := e.at("state")
		rows = append(rows, []string{raised(s), s.text("severity"), s.text("resource"), s.text("type-id"), s.text("text")})
	}
	var below []string
	if len(rows) == 0 {
		below = []string{"No alarms"}
	}
	return tableView(one(healthRoot, health), []column{
		{"Since", 20, 2}, {"Severity", 8, 2}, {"Resource", 10, 2}, {"Kind", 9, 2}, {"What", 4, 0},
	}, rows, below), nil
}

// raised is when an alarm was.
func raised(s tree) string {
	at := s.text("time-created")
	if ns, err := strconv.ParseInt(at, 10, 64); err == nil {
		at = time.Unix(0, ns).UTC().Format(time.RFC3339)
	}
	return at
}

// alarmLine is an alarm as a line.
func alarmLine(s tree) string {
	return strings.Join([]string{"Alarm", raised(s), s.text("severity"), s.text("resource") + ":", s.text("text")}, " ")
}
