package cli

import (
	"context"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
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
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, gpath(qosRoot))
	if err != nil {
		return nil, err
	}
	text := func(p *page) {
		var rows [][]string
		for _, e := range found[0].sorted("queues", "queue") {
			owner, index, _ := strings.Cut(e.name(), ":")
			if port != "" && port != owner {
				continue
			}
			state := e.at("state")
			r := []string{owner, index}
			for _, leaf := range []string{
				"transmitted-packets", "transmitted-octets", "dropped-packets", "wred-dropped-packets", "ecn-marked-packets", "occupancy", "watermark",
			} {
				r = append(r, counted(state, leaf))
			}
			rows = append(rows, r)
		}
		p.line("")
		p.table([]column{
			{"Port", 12, 2}, {"Queue", 5, 2}, {"Packets", 10, 2}, {"Bytes", 12, 2}, {"Dropped", 9, 2}, {"WRED", 9, 2},
			{"ECN", 9, 2}, {"Holds", 8, 2}, {"Most", 8, 0},
		}, rows)
		p.line("")
	}
	return &view{one("tamtam-qos", "qos", found[0]), text}, nil
}

func showSchedulers(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, gpath(qosRoot))
	if err != nil {
		return nil, err
	}
	text := func(p *page) {
		var rows [][]string
		for _, e := range found[0].sorted("schedulers", "scheduler") {
			state := e.at("state")
			rows = append(rows, []string{e.name(), orDash(state.text("type")), orDash(state.text("weight")), orDash(state.text("status")), state.text("reason")})
		}
		p.line("")
		p.table([]column{{"Name", 14, 2}, {"Type", 7, 2}, {"Weight", 6, 2}, {"Status", 8, 2}, {"Reason", 10, 0}}, rows)
		p.line("")
	}
	return &view{one("tamtam-qos", "qos", found[0]), text}, nil
}

func showMirrorSessions(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, gpath(mirrorRoot))
	if err != nil {
		return nil, err
	}
	text := func(p *page) {
		var rows [][]string
		for _, e := range found[0].sorted("mirror-session") {
			state := e.at("state")
			rows = append(rows, []string{
				e.name(), state.text("type"), orDash(state.text("source-address")), orDash(state.text("destination-address")),
				orDash(state.text("source-ports")), orDash(state.text("monitor-port")), orDash(state.text("status")), state.text("reason"),
			})
		}
		p.line("")
		p.table([]column{
			{"Name", 12, 2}, {"Type", 6, 2}, {"Source", 15, 2}, {"Destination", 15, 2}, {"Ports", 10, 2}, {"Monitor", 11, 2}, {"Status", 8, 2}, {"Reason", 10, 0},
		}, rows)
		p.line("")
	}
	return &view{one("tamtam-qos", "mirror-sessions", found[0]), text}, nil
}
