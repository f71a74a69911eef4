package cli

import (
	"context"
	"strconv"
)

// outputsRoot is where it is told what the switch sends by itself.
const outputsRoot = "tamtam-outputs:outputs"

// outputLosses are the reasons for which messages were never sent.
var outputLosses = []string{"dropped-full", "dropped-old", "dropped-refused", "dropped-too-large"}

// showOutputs shows how each output is, and what it could not send.
func showOutputs(ctx context.Context, c *call) (*view, error) {
	outputs, err := c.sh.client.all(ctx, gpath(outputsRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var below []string
	for _, e := range outputs.sorted("output") {
		s := e.at("state")
		rows = append(rows, []string{
			e.name(), title(orDash(s.text("status"))), orDash(s.text("sent")), lostBy(s), orDash(s.text("waiting")),
			orDash(s.text("failures")),
		})
		if why := s.text("reason"); why != "" {
			below = append(below, e.name()+since("reason", s)+": "+why)
		}
	}
	if len(rows) == 0 {
		below = []string{"No outputs"}
	}
	return tableView(one(outputsRoot, outputs), []column{
		{"Output", 24, 2}, {"Status", 10, 2}, {"Sent", 8, 2}, {"Dropped", 8, 2}, {"Waiting", 8, 2}, {"Failures", 8, 0},
	}, rows, below), nil
}

// lostBy is how many messages of an output were never sent; - if nothing is known of them.
func lostBy(s tree) string {
	var sum uint64
	known := false
	for _, leaf := range outputLosses {
		n, err := strconv.ParseUint(s.text(leaf), 10, 64)
		sum, known = sum+n, known || err == nil
	}
	if !known {
		return "-"
	}
	return strconv.FormatUint(sum, 10)
}
