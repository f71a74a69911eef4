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
func (p *page) altMarkState(e tree) {
	state := e.at("state")
	optional := func(label, text string) {
		if text != "" {
			p.field(flowWidth, label, text)
		}
	}
	optional("Guard", duration(state.text("guard")))
	optional("Engine", state.text("engine"))
	optional("Timing", state.text("timing"))
	if last := state.at("last-period"); last.exists() {
		p.field(flowWidth, "Last Period", orDash(last.text("number")))
		p.field(flowWidth, "   Colour", orDash(last.text("colour")))
		p.field(flowWidth, "   Packet Count", counted(last, "packets"))
		p.field(flowWidth, "   Byte Count", counted(last, "octets"))
		p.field(flowWidth, "   Captures", counted(last, "captures"))
		optional("   Timestamp", clockTime(last.text("timestamp")))
		p.field(flowWidth, "   Out of Window", counted(last, "out-of-window"))
		optional("   Foreign Marks", unless(counted(last, "foreign-marks"), "0"))
		optional("   Read at", clockTime(last.text("read-at")))
		optional("   Flags", last.text("flags"))
		optional("   Clock", last.text("clock"))
	}
}

// periodColumns are the columns of a period, as cells gives them.
var periodColumns = []column{
	{"Period", 10, 2}, {"Colour", 6, 2}, {"Packets", 10, 2}, {"Bytes", 12, 2}, {"Captures", 8, 2},
	{"Timestamp", 30, 2}, {"Out", 4, 2}, {"Flags", 5, 0},
}

func periodCells(number string, period tree) []string {
	cells := []string{orDash(number)}
	cells = append(cells, orDash(period.text("colour")))
	for _, leaf := range []string{"packets", "octets", "captures"} {
		cells = append(cells, counted(period, leaf))
	}
	return append(cells, orDash(clockTime(period.text("timestamp"))), counted(period, "out-of-window"), orDash(period.text("flags")))
}

// showAltMarkCounters shows the last period of each session.
func showAltMarkCounters(ctx context.Context, c *call) (*view, error) {
	entries, data, err := altMarkSessions.readParts(ctx, c)
	if err != nil {
		return nil, err
	}
	text := func(p *page) {
		var rows [][]string
		for _, e := range entries {
			last := e.at("state", "last-period")
			rows = append(rows, append([]string{e.name(), orDash(e.text("state", "engine"))}, periodCells(last.text("number"), last)...))
		}
		p.line("")
		p.table(append([]column{{"Session", 11, 2}, {"Engine", 6, 2}}, periodColumns...), rows)
		p.whyNots(entries)
		p.line("")
	}
	return &view{data, text}, nil
}

func showAltMarkPeriods(ctx context.Context, c *call) (*view, error) {
	name := c.args["name"]
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, altMarkSessions.path(name, "config"), altMarkSessions.path(name, "periods"), altMarkSessions.path(name, "state"))
	if err != nil {
		return nil, err
	}
	if len(withLeft(found[0].items(), found[2].items())) == 0 {
		return nil, altMarkSessions.missing(name)
	}
	text := func(p *page) {
		var rows [][]string
		for _, e := range found[1].sortedBy("number", "period") {
			rows = append(rows, periodCells(e.text("number"), e.at("state")))
		}
		p.line("")
		p.table(periodColumns, rows)
		p.line("")
	}
	return &view{one("tamtam-altmark", "periods", found[1]), text}, nil
}

// showAltMarkResults shows what a collector wrote of all paths, or of one.
func showAltMarkResults(ctx context.Context, c *call) (*view, error) {
	found, err := c.sh.client.get(ctx, gpb.GetRequest_ALL, gpath(tamRoot, altMarkResults))
	if err != nil {
		return nil, err
	}
	entries := []tree{}
	list := []any{}
	for _, e := range found[0].items("alt-mark-result") {
		if want := c.args["name"]; want == "" || e.text("path") == want {
			entries, list = append(entries, e), append(list, e.v)
		}
	}
	if want := c.args["name"]; want != "" && len(entries) == 0 {
		return nil, fmt.Errorf("there is no result of a path %s", want)
	}
	text := func(p *page) {
		var rows [][]string
		var why []string
		for _, e := range entries {
			s := e.at("state")
			rows = append(rows, []string{e.text("path"), e.text("from"), e.text("to"), orDash(s.text("period")), title(s.word("status")),
				counted(s, "sent-packets"), counted(s, "received-packets"), orDash(s.text("lost-packets")),
				orDash(duration(s.text("delay"))), orDash(duration(s.text("jitter")))})
			if reasons := s.texts("reasons"); len(reasons) > 0 {
				why = append(why, fmt.Sprintf("%s %s-%s: %s: %s", e.text("path"), e.text("from"), e.text("to"), title(s.word("status")), strings.Join(reasons, "; ")))
			}
		}
		p.line("")
		p.table([]column{
			{"Path", 8, 2}, {"From", 8, 2}, {"To", 8, 2}, {"Period", 10, 2}, {"Status", 7, 2}, {"Sent", 8, 2}, {"Received", 8, 2}, {"Lost", 6, 2},
			{"Delay", 10, 2}, {"Jitter", 10, 0},
		}, rows)
		p.after(why)
		p.line("")
	}
	return &view{map[string]any{"tamtam-altmark:alt-mark-result": list}, text}, nil
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

// clockTime writes nanoseconds since 1970 as a time of day. Clocks that were
// never set begin in 1970.
func clockTime(ns string) string {
	n, err := strconv.ParseInt(ns, 10, 64)
	if err != nil {
		return ns
	}
	return time.Unix(0, n).UTC().Format("2006-01-02T15:04:05.000000000Z")
}
