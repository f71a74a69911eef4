package tam

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"tamtam/cli/kit"
	"tamtam/cli/tree"
)

const altMarkResults = "tamtam-altmark:alt-mark-results"

// writeAltMarkState writes the state of a session, and its last period.
func writeAltMarkState(p *kit.Printout, e tree.Node) {
	state := e.At("state")
	p.Optional(flowWidth,
		"Guard", duration(state.Text("guard")), "Engine", state.Text("engine"), "Timing", state.Text("timing"))
	p.Optional(flowWidth,
		"Encapsulated", state.Text("encapsulated-packets"), "Decapsulated", unless(state.Text("decapsulated-packets"), "0"),
		"Too Long For MTU", unless(state.Text("encap-too-long-packets"), "0"),
		"Damaged Headers", unless(state.Text("decap-damaged-packets"), "0"))
	last := state.At("last-period")
	if !last.Exists() {
		return
	}
	p.Optional(flowWidth,
		"Last Period", kit.OrDash(last.Text("number")), "   Colour", kit.OrDash(last.Text("colour")),
		"   Packet Count", kit.Counted(last, "packets"), "   Byte Count", kit.Counted(last, "octets"),
		"   Captures", kit.Counted(last, "captures"), "   Timestamp", clockTime(last.Text("timestamp")),
		"   Arrivals", last.Text("arrivals"), "   Arrival Sum", nanosecondsOf(last.Text("arrival-sum")),
		"   Out of Window", kit.Counted(last, "out-of-window"),
		"   Foreign Marks", unless(kit.Counted(last, "foreign-marks"), "0"), "   Read at", clockTime(last.Text("read-at")),
		"   Flags", last.Text("flags"), "   Clock", last.Text("clock"))
}

// periodColumns are the columns for a period of alternate marking, in the order of cells.
var periodColumns = []kit.Column{
	kit.Col("Period", 10, 2), kit.Col("Colour", 6, 2), kit.Col("Packets", 10, 2), kit.Col("Bytes", 12, 2),
	kit.Col("Captures", 8, 2),
	kit.Col("Timestamp", 30, 2), kit.Col("Out", 4, 2), kit.Col("Flags", 5, 0),
}

func periodCells(number string, period tree.Node) []string {
	cells := []string{kit.OrDash(number), kit.OrDash(period.Text("colour"))}
	for _, leaf := range []string{"packets", "octets", "captures"} {
		cells = append(cells, kit.Counted(period, leaf))
	}
	at := kit.OrDash(clockTime(period.Text("timestamp")))
	return append(cells, at, kit.Counted(period, "out-of-window"), kit.OrDash(period.Text("flags")))
}

// showAltMarkCounters shows the last period of each session.
func showAltMarkCounters(ctx context.Context, c *kit.Call) (*kit.View, error) {
	entries, data, err := altMarkSessions.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, e := range entries {
		last := e.At("state", "last-period")
		row := []string{e.Name(), kit.OrDash(e.Text("state", "engine"))}
		rows = append(rows, append(row, periodCells(last.Text("number"), last)...))
	}
	columns := append([]kit.Column{kit.Col("Session", 11, 2), kit.Col("Engine", 6, 2)}, periodColumns...)
	return kit.TableView(data, columns, rows, kit.WhyNots(entries)), nil
}

func showAltMarkPeriods(ctx context.Context, c *kit.Call) (*kit.View, error) {
	name := c.Args["name"]
	at := func(part string) *gpb.Path { return altMarkSessions.Path(name, part) }
	found, err := c.Session.Client.Get(ctx, gpb.GetRequest_ALL, at("config"), at("periods"), at("state"))
	if err != nil {
		return nil, err
	}
	if len(withLingering(found[0].Items(), found[2].Items())) == 0 {
		return nil, altMarkSessions.missing(ctx, c.Session, name)
	}
	var rows [][]string
	for _, e := range found[1].SortedBy("number", "period") {
		rows = append(rows, periodCells(e.Text("number"), e.At("state")))
	}
	return kit.TableView(kit.One("tamtam-altmark:periods", found[1]), periodColumns, rows, nil), nil
}

// showAltMarkResults shows the results that a collector wrote, for all paths or for one.
func showAltMarkResults(ctx context.Context, c *kit.Call) (*kit.View, error) {
	found, err := c.Session.Client.All(ctx, tree.Path(TamRoot, altMarkResults))
	if err != nil {
		return nil, err
	}
	want := c.Args["name"]
	list := []any{}
	var rows [][]string
	var why []string
	means := false // whether any session measures the mean delay
	for _, e := range found.Items("alt-mark-result") {
		s, path, from, to := e.At("state"), e.Text("path"), e.Text("from"), e.Text("to")
		if want != "" && path != want {
			continue
		}
		status := kit.Title(s.Word("status"))
		list = append(list, e.Value)
		rows = append(rows, []string{
			path, from, to, kit.OrDash(s.Text("period")), status,
			kit.Counted(s, "sent-packets"), kit.Counted(s, "received-packets"), kit.OrDash(s.Text("lost-packets")),
			kit.OrDash(duration(s.Text("delay"))), kit.OrDash(duration(s.Text("jitter"))),
			kit.OrDash(duration(s.Text("mean-delay"))),
		})
		unknown := s.Text("mean-delay-unknown")
		means = means || unknown != "" || s.Text("mean-delay") != ""
		if unknown != "" {
			why = append(why, fmt.Sprintf("%s %s-%s: mean delay unknown: %s", path, from, to, unknown))
		}
		if reasons := s.Texts("reasons"); len(reasons) > 0 {
			why = append(why, fmt.Sprintf("%s %s-%s: %s: %s", path, from, to, status, strings.Join(reasons, "; ")))
		}
	}
	if want != "" && len(list) == 0 {
		return nil, fmt.Errorf("there is no result of a path %s", want)
	}
	columns := []kit.Column{
		kit.Col("Path", 8, 2), kit.Col("From", 8, 2), kit.Col("To", 8, 2), kit.Col("Period", 10, 2), kit.Col("Status", 7, 2),
		kit.Col("Sent", 8, 2),
		kit.Col("Received", 8, 2), kit.Col("Lost", 6, 2), kit.Col("Delay", 10, 2), kit.Col("Jitter", 10, 2),
		kit.Col("Mean Delay", 10, 0),
	}
	if last := len(columns) - 1; !means {
		columns, columns[last-1].Gap = columns[:last], 0
		for i := range rows {
			rows[i] = rows[i][:last]
		}
	}
	return kit.TableView(map[string]any{"tamtam-altmark:alt-mark-result": list}, columns, rows, why), nil
}

// periodLength formats the exponent n of 2^n seconds as the length of a period.
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

// duration formats nanoseconds, for example as 15.625ms.
func duration(ns string) string {
	n, err := strconv.ParseInt(ns, 10, 64)
	if err != nil {
		return ns
	}
	return time.Duration(n).String()
}

// nanosecondsOf formats a sum in nanoseconds, which may exceed a duration.
func nanosecondsOf(sum string) string {
	if sum == "" {
		return ""
	}
	return sum + " ns"
}

// clockTime formats nanoseconds since 1970 as a time in UTC. Clocks that were never set begin in 1970.
func clockTime(ns string) string {
	n, err := strconv.ParseInt(ns, 10, 64)
	if err != nil {
		return ns
	}
	return time.Unix(0, n).UTC().Format("2006-01-02T15:04:05.000000000Z")
}
