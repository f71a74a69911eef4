package cli

import (
	"context"
	"strconv"
	"strings"
)

// Where QoS and mirror sessions are in the tree.
const (
	queuesRoot = "tamtam-qos:queues"
	schedRoot  = "tamtam-qos:schedulers"
	coppRoot   = "tamtam-qos:copp"
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
	queues, err := c.sh.client.all(ctx, gpath(queuesRoot))
	if err != nil {
		return nil, err
	}
	leaves := []string{
		"transmitted-packets", "transmitted-octets", "dropped-packets", "wred-dropped-packets", "ecn-marked-packets",
		"occupancy", "watermark",
	}
	var rows [][]string
	for _, e := range queues.sorted("queue") {
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
	return tableView(one(queuesRoot, queues), []column{
		{"Port", 12, 2}, {"Queue", 5, 2}, {"Packets", 10, 2}, {"Bytes", 12, 2}, {"Dropped", 9, 2}, {"WRED", 9, 2},
		{"ECN", 9, 2}, {"Holds", 8, 2}, {"Most", 8, 0},
	}, rows, nil), nil
}

func showSchedulers(ctx context.Context, c *call) (*view, error) {
	schedulers, err := c.sh.client.all(ctx, gpath(schedRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range schedulers.sorted("scheduler") {
		s := e.at("state")
		rows = append(rows, []string{
			e.name(), orDash(s.text("type")), orDash(s.text("weight")), orDash(s.text("status")), s.text("reason"),
		})
	}
	columns := []column{{"Name", 14, 2}, {"Type", 7, 2}, {"Weight", 6, 2}, {"Status", 8, 2}, {"Reason", 10, 0}}
	return tableView(one(schedRoot, schedulers), columns, rows, nil), nil
}

// showCOPP shows what traps and their policers are, and what they did.
func showCOPP(ctx context.Context, c *call) (*view, error) {
	copp, err := c.sh.client.all(ctx, gpath(coppRoot))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range copp.sorted("groups", "group") {
		s := e.at("state")
		passed, dropped := policed(s)
		configured := s.text("configured")
		if configured == "" {
			configured = "by default"
		}
		rows = append(rows, []string{
			e.name(), orDash(s.text("traps")), orDash(s.text("trap-action")), orDash(s.text("queue")), limit(s), passed, dropped,
			configured, orDash(s.text("status")), s.text("reason"),
		})
	}
	return tableView(one(coppRoot, copp), []column{
		{"Group", 14, 2}, {"Traps", 10, 2}, {"Action", 6, 2}, {"Queue", 5, 2}, {"Limit", 8, 2}, {"Passed", 8, 2},
		{"Dropped", 8, 2}, {"Configured", 10, 2}, {"Status", 8, 2}, {"Reason", 10, 0},
	}, rows, nil), nil
}

// limit is what a policer lets pass, in words.
func limit(s tree) string {
	if s.text("meter-type") == "" {
		return "none"
	}
	rate, burst := s.text("cir"), s.text("cbs")
	if peak := s.text("pir"); peak != "" {
		rate += " to " + peak
	}
	if more := s.text("pbs"); more != "" {
		burst += " and " + more
	}
	return rate + " " + s.text("meter-type") + "/s, burst " + burst
}

// policed returns how many packets a policer has let pass and dropped; "-" while nobody has counted them.
func policed(s tree) (passed, dropped string) {
	var n [2]uint64
	for _, colour := range []string{"green", "yellow", "red"} {
		packets, ok := s.count(colour + "-packets")
		if !ok {
			return orDash(""), orDash("")
		}
		if s.text(colour+"-action") == "drop" {
			n[1] += packets
		} else {
			n[0] += packets
		}
	}
	return strconv.FormatUint(n[0], 10), strconv.FormatUint(n[1], 10)
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
