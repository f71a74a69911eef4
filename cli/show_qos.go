package cli

import (
	"context"
	"strconv"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

// Paths of QoS and mirror sessions in the tree.
const (
	schedRoot  = "tamtam-qos:schedulers"
	coppRoot   = "tamtam-qos:copp"
	mirrorRoot = "tamtam-qos:mirror-sessions"
)

func showSchedulers(ctx context.Context, c *kit.Call) (*kit.View, error) {
	schedulers, err := c.Session.Client.All(ctx, tree.Path(schedRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range schedulers.Sorted("scheduler") {
		s := e.At("state")
		rows = append(rows, []string{
			e.Name(), kit.OrDash(s.Text("type")), kit.OrDash(s.Text("weight")), kit.OrDash(s.Text("status")), s.Text("reason"),
		})
	}
	columns := []kit.Column{kit.Col("Name", 14, 2), kit.Col("Type", 7, 2), kit.Col("Weight", 6, 2),
		kit.Col("Status", 8, 2), kit.Col("Reason", 10, 0)}
	return kit.TableView(kit.One(schedRoot, schedulers), columns, rows, nil), nil
}

// showCOPP shows the settings and counters of traps and their policers.
func showCOPP(ctx context.Context, c *kit.Call) (*kit.View, error) {
	copp, err := c.Session.Client.All(ctx, tree.Path(coppRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range copp.Sorted("groups", "group") {
		s := e.At("state")
		passed, dropped := policed(s)
		configured := s.Text("configured")
		if configured == "" {
			configured = "by default"
		}
		rows = append(rows, []string{
			e.Name(), kit.OrDash(s.Text("traps")), kit.OrDash(s.Text("trap-action")), kit.OrDash(s.Text("queue")), limit(s),
			passed, dropped,
			configured, kit.OrDash(s.Text("status")), s.Text("reason"),
		})
	}
	return kit.TableView(kit.One(coppRoot, copp), []kit.Column{
		kit.Col("Group", 14, 2), kit.Col("Traps", 10, 2), kit.Col("Action", 6, 2), kit.Col("Queue", 5, 2),
		kit.Col("Limit", 8, 2), kit.Col("Passed", 8, 2),
		kit.Col("Dropped", 8, 2), kit.Col("Configured", 10, 2), kit.Col("Status", 8, 2), kit.Col("Reason", 10, 0),
	}, rows, nil), nil
}

// limit returns the limit of a policer as text.
func limit(s tree.Node) string {
	if s.Text("meter-type") == "" {
		return "none"
	}
	rate, burst := s.Text("cir"), s.Text("cbs")
	if peak := s.Text("pir"); peak != "" {
		rate += " to " + peak
	}
	if more := s.Text("pbs"); more != "" {
		burst += " and " + more
	}
	return rate + " " + s.Text("meter-type") + "/s, burst " + burst
}

// policed returns how many packets a policer has passed and dropped. Both are "-" if they have not been counted yet.
func policed(s tree.Node) (passed, dropped string) {
	var n [2]uint64
	for _, colour := range []string{"green", "yellow", "red"} {
		packets, ok := s.Count(colour + "-packets")
		if !ok {
			return kit.OrDash(""), kit.OrDash("")
		}
		if s.Text(colour+"-action") == "drop" {
			n[1] += packets
		} else {
			n[0] += packets
		}
	}
	return strconv.FormatUint(n[0], 10), strconv.FormatUint(n[1], 10)
}

func showMirrorSessions(ctx context.Context, c *kit.Call) (*kit.View, error) {
	sessions, err := c.Session.Client.All(ctx, tree.Path(mirrorRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range sessions.Sorted("mirror-session") {
		s := e.At("state")
		rows = append(rows, []string{
			e.Name(), s.Text("type"), kit.OrDash(s.Text("source-address")), kit.OrDash(s.Text("destination-address")),
			kit.OrDash(s.Text("source-ports")), kit.OrDash(s.Text("monitor-port")), kit.OrDash(s.Text("status")),
			s.Text("reason"),
		})
	}
	return kit.TableView(kit.One(mirrorRoot, sessions), []kit.Column{
		kit.Col("Name", 12, 2), kit.Col("Type", 6, 2), kit.Col("Source", 15, 2), kit.Col("Destination", 15, 2),
		kit.Col("Ports", 10, 2),
		kit.Col("Monitor", 11, 2), kit.Col("Status", 8, 2), kit.Col("Reason", 10, 0),
	}, rows, nil), nil
}
