package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const altMarkResults = "tamtam-altmark:alt-mark-results"

// altMarkState writes what is in effect of a session, and its last period.
func (p *printout) altMarkState(e tree) {
	state := e.at("state")
	p.optional(flowWidth,
		"Guard", duration(state.text("guard")), "Engine", state.text("engine"), "Timing", state.text("timing"))
	last := state.at("last-period")
	if !last.exists() {
		return
	}
	p.optional(flowWidth,
		"Last Period", orDash(last.text("number")), "   Colour", orDash(last.text("colour")),
		"   Packet Count", counted(last, "packets"), "   Byte Count", counted(last, "octets"),
		"   Captures", counted(last, "captures"), "   Timestamp", clockTime(last.text("timestamp")),
		"   Arrivals", last.text("arrivals"), "   Arrival Sum", nanosecondsOf(last.text("arrival-sum")),
		"   Out of Window", counted(last, "out-of-window"),
		"   Foreign Marks", unless(counted(last, "foreign-marks"), "0"), "   Read at", clockTime(last.text("read-at")),
		"   Flags", last.text("flags"), "   Clock", last.text("clock"))
}

// periodColumns are the columns of a period, as cells gives them.
var periodColumns = []column{
	{"Period", 10, 2}, {"Colour", 6, 2}, {"Packets", 10, 2}, {"Bytes", 12, 2}, {"Captures", 8, 2},
	{"Timestamp", 30, 2}, {"Out", 4, 2}, {"Flags", 5, 0},
}

func periodCells(number string, period tree) []string {
	cells := []string{orDash(number), orDash(period.text("colour"))}
	for _, leaf := range []string{"packets", "octets", "captures"} {
		cells = append(cells, counted(period, leaf))
	}
	at := orDash(clockTime(period.text("timestamp")))
	return append(cells, at, counted(period, "out-of-window"), orDash(period.text("flags")))
}

// showAltMarkCounters shows the last period of each session.
func showAltMarkCounters(ctx context.Context, c *call) (*view, error) {
	entries, data, err := altMarkSessions.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range entries {
		last := e.at("state", "last-period")
		row := []string{e.name(), orDash(e.text("state", "engine"))}
		rows = append(rows, append(row, periodCells(last.text("number"), last)...))
	}
	columns := append([]column{{"Session", 11, 2}, {"Engine", 6, 2}}, periodColumns...)
	return tableView(data, columns, rows, whyNots(entries)), nil
}

func showAltMarkPeriods(ctx context.Context, c *call) (*view, error) {
	name := c.args["name"]
	at := func(part string) *gpb.Path { return altMarkSessions.path(name, part) }
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, at("config"), at("periods"), at("state"))
	if err != nil {
		return nil, err
	}
	if len(withLingering(found[0].items(), found[2].items())) == 0 {
		return nil, altMarkSessions.missing(name)
	}
	var rows [][]string
	for _, e := range found[1].sortedBy("number", "period") {
		rows = append(rows, periodCells(e.text("number"), e.at("state")))
	}
	return tableView(one("tamtam-altmark:periods", found[1]), periodColumns, rows, nil), nil
}

// showAltMarkResults shows what a collector wrote of all paths, or of one.
func showAltMarkResults(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.all(ctx, gpath(tamRoot, altMarkResults))
	if err != nil {
		return nil, err
	}
	want := c.args["name"]
	list := []any{}
	var rows [][]string
	var why []string
	means := false // results of sessions that ask for the mean delay
	for _, e := range found.items("alt-mark-result") {
		s, path, from, to := e.at("state"), e.text("path"), e.text("from"), e.text("to")
		if want != "" && path != want {
			continue
		}
		status := title(s.word("status"))
		list = append(list, e.v)
		rows = append(rows, []string{
			path, from, to, orDash(s.text("period")), status,
			counted(s, "sent-packets"), counted(s, "received-packets"), orDash(s.text("lost-packets")),
			orDash(duration(s.text("delay"))), orDash(duration(s.text("jitter"))), orDash(duration(s.text("mean-delay"))),
		})
		unknown := s.text("mean-delay-unknown")
		means = means || unknown != "" || s.text("mean-delay") != ""
		if unknown != "" {
			why = append(why, fmt.Sprintf("%s %s-%s: mean delay not known: %s", path, from, to, unknown))
		}
		if reasons := s.texts("reasons"); len(reasons) > 0 {
			why = append(why, fmt.Sprintf("%s %s-%s: %s: %s", path, from, to, status, strings.Join(reasons, "; ")))
		}
	}
	if want != "" && len(list) == 0 {
		return nil, fmt.Errorf("there is no result of a path %s", want)
	}
	columns := []column{
		{"Path", 8, 2}, {"From", 8, 2}, {"To", 8, 2}, {"Period", 10, 2}, {"Status", 7, 2}, {"Sent", 8, 2},
		{"Received", 8, 2}, {"Lost", 6, 2}, {"Delay", 10, 2}, {"Jitter", 10, 2}, {"Mean Delay", 10, 0},
	}
	if last := len(columns) - 1; !means {
		columns, columns[last-1].gap = columns[:last], 0
		for i := range rows {
			rows[i] = rows[i][:last]
		}
	}
	return tableView(map[string]any{"tamtam-altmark:alt-mark-result": list}, columns, rows, why), nil
}

// periodLength writes n of 2^n seconds as the length of a period.
func periodLength(n string) string {
	v, err := strconv.Atoi(n)
	if err != nil || v < -10 || v > 8 {
		return n
	}
	if v >= 0 {
		return strconv.Itoa(1<<v) + " s"
	}
	return "1/" + strconv.Itoa(1<<-v) + " s"
}

// duration writes nanoseconds, as 15.625ms.
func duration(ns string) string {
	n, err := strconv.ParseInt(ns, 10, 64)
	if err != nil {
		return ns
	}
	return time.Duration(n).String()
}

// nanosecondsOf writes a sum in nanoseconds, which may be too long for a duration.
func nanosecondsOf(sum string) string {
	if sum == "" {
		return ""
	}
	return sum + " ns"
}

// clockTime writes nanoseconds since 1970 as a time of day. Clocks that were
// never set begin in 1970.
func clockTime(ns string) string {
	n, err := strconv.ParseInt(ns, 10, 64)
	if err != nil {
		return ns
	}
	return time.Unix(0, n).UTC().Format("2006-01-02T15:04:05.000000000Z")
}
