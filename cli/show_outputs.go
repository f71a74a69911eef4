package cli

import (
	"context"
	"strconv"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// outputsRoot is the path of the outputs, which are connections over which the switch sends messages without a request.
const outputsRoot = "tamtam-outputs:outputs"

// outputLosses contains the reasons for which messages were never sent.
var outputLosses = []string{"dropped-full", "dropped-old", "dropped-refused", "dropped-too-large"}

// showOutputs shows the state of each output, and the messages that it could not send.
func showOutputs(ctx context.Context, c *kit.Call) (*kit.View, error) {
	outputs, err := c.Session.Client.All(ctx, tree.Path(outputsRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var below []string
	for _, e := range outputs.Sorted("output") {
		s := e.At("state")
		rows = append(rows, []string{
			e.Name(), kit.Title(kit.OrDash(s.Text("status"))), kit.OrDash(s.Text("sent")), lostBy(s),
			kit.OrDash(s.Text("waiting")),
			kit.OrDash(s.Text("failures")),
		})
		if why := s.Text("reason"); why != "" {
			below = append(below, e.Name()+since("reason", s)+": "+why)
		}
	}
	if len(rows) == 0 {
		below = []string{"No outputs"}
	}
	return kit.TableView(kit.One(outputsRoot, outputs), []kit.Column{
		kit.Col("Output", 24, 2), kit.Col("Status", 10, 2), kit.Col("Sent", 8, 2), kit.Col("Dropped", 8, 2),
		kit.Col("Waiting", 8, 2), kit.Col("Failures", 8, 0),
	}, rows, below), nil
}

// lostBy returns how many messages of an output were never sent, or "-" if that is unknown.
func lostBy(s tree.Node) string {
	var sum uint64
	known := false
	for _, leaf := range outputLosses {
		n, err := strconv.ParseUint(s.Text(leaf), 10, 64)
		sum, known = sum+n, known || err == nil
	}
	if !known {
		return "-"
	}
	return strconv.FormatUint(sum, 10)
}
