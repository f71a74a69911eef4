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
				below = append(below, e.name()+": "+text)
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

// alarmLine is an alarm as a line.
func alarmLine(s tree) string {
	at := s.text("time-created")
	if ns, err := strconv.ParseInt(at, 10, 64); err == nil {
		at = time.Unix(0, ns).UTC().Format(time.RFC3339)
	}
	return strings.Join([]string{"Alarm", at, s.text("severity"), s.text("resource") + ":", s.text("text")}, " ")
}
