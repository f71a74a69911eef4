package cli

import (
	"context"
	"strings"
)

// Where QoS and mirror sessions are in the tree.
const (
	qosRoot    = "tamtam-qos:qos"
	mirrorRoot = "tamtam-qos:mirror-sessions"
)

// showQueues shows what the queues of all ports, or of one, have counted.
func showQueues(ctx context.Context, c *call) (*view, error) {
	port := ""
	if text := c.args["name"]; text != "" {
		name, err := c.sh.resolve(ctx, text)
		if err != nil {
			return nil, err
		}
		port = name
	}
	qos, err := c.sh.client.all(ctx, gpath(qosRoot))
	if err != nil {
		return nil, err
	}
	leaves := []string{
		"transmitted-packets", "transmitted-octets", "dropped-packets", "wred-dropped-packets", "ecn-marked-packets",
		"occupancy", "watermark",
	}
	var rows [][]string
	for _, e := range qos.sorted("queues", "queue") {
		owner, index, _ := strings.Cut(e.name(), ":")
		if port != "" && port != owner {
			continue
		}
		row := []string{owner, index}
		for _, leaf := range leaves {
			row = append(row, counted(e, "state", leaf))
		}
		rows = append(rows, row)
	}
	return tableView(one(qosRoot, qos), []column{
		{"Port", 12, 2}, {"Queue", 5, 2}, {"Packets", 10, 2}, {"Bytes", 12, 2}, {"Dropped", 9, 2}, {"WRED", 9, 2},
		{"ECN", 9, 2}, {"Holds", 8, 2}, {"Most", 8, 0},
	}, rows, nil), nil
}

func showSchedulers(ctx context.Context, c *call) (*view, error) {
	qos, err := c.sh.client.all(ctx, gpath(qosRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range qos.sorted("schedulers", "scheduler") {
		s := e.at("state")
		rows = append(rows, []string{
			e.name(), orDash(s.text("type")), orDash(s.text("weight")), orDash(s.text("status")), s.text("reason"),
		})
	}
	columns := []column{{"Name", 14, 2}, {"Type", 7, 2}, {"Weight", 6, 2}, {"Status", 8, 2}, {"Reason", 10, 0}}
	return tableView(one(qosRoot, qos), columns, rows, nil), nil
}

func showMirrorSessions(ctx context.Context, c *call) (*view, error) {
	sessions, err := c.sh.client.all(ctx, gpath(mirrorRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range sessions.sorted("mirror-session") {
		s := e.at("state")
		rows = append(rows, []string{
			e.name(), s.text("type"), orDash(s.text("source-address")), orDash(s.text("destination-address")),
			orDash(s.text("source-ports")), orDash(s.text("monitor-port")), orDash(s.text("status")), s.text("reason"),
		})
	}
	return tableView(one(mirrorRoot, sessions), []column{
		{"Name", 12, 2}, {"Type", 6, 2}, {"Source", 15, 2}, {"Destination", 15, 2}, {"Ports", 10, 2},
		{"Monitor", 11, 2}, {"Status", 8, 2}, {"Reason", 10, 0},
	}, rows, nil), nil
}
