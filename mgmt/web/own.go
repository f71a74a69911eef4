package web

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
)

// A Load is the used fraction of a port's rate, from 0 to 1. It has two bounds: counters are read at intervals, so the
// exact time of a difference is unknown.
type Load struct {
	Low, High float64
	Over      time.Duration // approximate time that it covers
}

// A DropAccount is a switch's record of the packets that it has dropped.
type DropAccount struct {
	Error string // the reason if nothing is known
	// Since is the time since which all drops are counted.
	Since time.Time
	Total uint64
	// Kept is the number of the last drops, whose rule and packet are known. Forgotten is the number of earlier drops,
	// whose rule and packet are unknown.
	Kept, Forgotten uint64
	Reasons, Ports  []Count         // counts of all drops
	Rules           []Count         // counts of the kept drops
	Last            []DroppedPacket // the newest first
}

// A Count is how many packets have something in common.
type Count struct {
	Name    string
	Packets uint64
	Words   string // a description; empty if there is none
}

// A DroppedPacket describes one dropped packet: its path in the switch, and why it was dropped.
type DroppedPacket struct {
	Time                               time.Time
	In, Out, Queue, Reason, Text, Rule string // empty if there is none; an empty In or Reason is unknown
	Flow                               string // empty if it is no IP packet, or incomplete
	Bytes                              int
	Tables                             []string // the tables that it passed
	Unknown                            []string // the fields above that are unknown
}

// A MarkingSession is alternate marking at one switch, with its own counts. Two sessions are needed to measure the loss
// between switches.
type MarkingSession struct {
	Name   string
	Error  string // the reason if it cannot be read
	Role   string // empty if unknown
	Method string
	Engine string // what switches the colour
	Timing string // the accuracy, in words
	Guard  time.Duration
	// Periods holds the last periods, the latest first.
	Periods []MarkingPeriod
}

// A MarkingPeriod is the counts of a switch in a period.
type MarkingPeriod struct {
	Error       string // the reason if it cannot be read
	Number      uint64
	Colour      uint8
	Packets     uint64
	Bytes       uint64
	OutOfWindow uint64 // number of packets at times at which the guard allows none
	Foreign     uint64 // number of packets that arrived with a mark
	Captures    uint32 // number of pulses whose time was captured
	Read        string // time of the read, in s since 1970
	Clock       string // the source of synchronisation; empty if not reported
	Flags       []string
}

// A StampingSession is a session of tail-stamping at one switch.
type StampingSession struct {
	Name  string
	Error string // the reason if it cannot be read
	// Counters holds counters by name; a missing one is unknown.
	Counters map[string]uint64
}

// texts returns all that a page shows of a switch's own state, to detect changes.
func (s *Switch) texts() string {
	var b strings.Builder
	for _, port := range s.Ports {
		fmt.Fprintln(&b, port.Name, port.Oper, port.Admin, port.Mbps, port.Counters, port.In, port.Out)
	}
	if s.DropAccount != nil {
		fmt.Fprintf(&b, "%+v", *s.DropAccount)
	}
	fmt.Fprintf(&b, "%+v %+v %q %+v %d", s.Marking, s.Stamping, s.Troubles, s.Alarms, len(s.PastAlarms))
	return b.String()
}

// String returns a load as text; a nil load is unknown.
func (l *Load) String() string {
	switch {
	case l == nil:
		return notKnown
	case percentText(l.Low) == percentText(l.High):
		return percentText(l.Low)
	}
	return percentText(l.Low) + " to " + percentText(l.High)
}

type accountRow struct {
	Switch string
	DropAccount
	Tallies []accountTally
	Heads   []template.HTML // of the table of the last packets
	Sorted  bool            // the last packets have another order than that of time
}

// Reasons returns which fields of the packet are unknown.
func (d *DroppedPacket) Reasons() (list []string) {
	for _, u := range d.Unknown {
		list = append(list, "unknown: "+u)
	}
	return list
}

// droppedColumns declares the columns of dropped packets. Their headings are in the same order.
var droppedColumns = columnsOf[DroppedPacket]("last").
	count("time", func(d *DroppedPacket) int64 { return d.Time.UnixNano() }).
	text("flow", func(d *DroppedPacket) string { return d.Flow }).
	text("in", func(d *DroppedPacket) string { return d.In }).
	text("out", func(d *DroppedPacket) string { return d.Out }).
	count("bytes", func(d *DroppedPacket) int64 { return int64(d.Bytes) }).
	text("reason", func(d *DroppedPacket) string { return d.Reason }).
	text("rule", func(d *DroppedPacket) string { return d.Rule }).
	text("tables", func(d *DroppedPacket) string { return strings.Join(d.Tables, "; ") }).
	text("confidence", func(d *DroppedPacket) string { return confidence(d.Reasons()) })

var droppedHeads = []string{"Time", "Flow", "In", "Ended at", "Bytes", "Reason", "Rule", "Tables", "Confidence"}

func accountColumns(by string) *columns[Count] {
	return columnsOf[Count]("account-"+by).
		text("name", func(c *Count) string { return c.Name }).
		number("packets", func(c *Count) (float64, bool) { return float64(c.Packets), true }).
		text("why", func(c *Count) string { return c.Words })
}

// An accountTally counts the drops of an account by one criterion, such as the reason.
type accountTally struct {
	By, Of string
	Rows   []Count
	More   int
	Heads  []template.HTML
}

// dropAccounts returns the drop records of the switches that have one.
func (p *Page) dropAccounts(q *request) (rows []accountRow, err error) {
	if p.cfg.Own { // also if there is no account yet
		q.sorted = append(q.sorted, droppedColumns.table, "account-reason:", "account-port:", "account-rule:")
	}
	list, err := p.allSwitches(q)
	if err != nil {
		return nil, err
	}
	for i := range list {
		b := list[i].DropAccount
		if b == nil || !matches(q, "switch", list[i].Name) {
			continue
		}
		r := accountRow{Switch: list[i].Name, DropAccount: *b, Sorted: q.Sorted("last")}
		r.Last = slices.Clone(b.Last)
		if err := droppedColumns.sort(q, r.Last); err != nil {
			return nil, err
		}
		r.Heads = droppedColumns.heads(q, droppedHeads)
		kept := "the last " + countAny(b.Kept) + " drops, of which all is known"
		for _, t := range []accountTally{
			{By: "reason", Of: "all drops", Rows: b.Reasons}, {By: "port", Of: "all drops", Rows: b.Ports},
			{By: "rule", Of: kept, Rows: b.Rules},
		} {
			c := accountColumns(t.By)
			t.Rows = slices.Clone(t.Rows)
			if err := c.sort(q, t.Rows); err != nil {
				return nil, err
			}
			t.Heads = c.heads(q, []string{t.By, "Packets", "Why"})
			if t.More = max(0, len(t.Rows)-mostTallies); t.More > 0 {
				t.Rows = t.Rows[:mostTallies]
			}
			r.Tallies = append(r.Tallies, t)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

type ownMarkingRow struct {
	MarkingSession
	Switch string
	Rows   []ownPeriodRow
}

type ownPeriodRow struct {
	MarkingPeriod
	Class string
}

var ownPeriodColumns = func() *columns[ownPeriodRow] {
	read := func(get func(*ownPeriodRow) uint64) func(*ownPeriodRow) (float64, bool) {
		return func(r *ownPeriodRow) (float64, bool) { return float64(get(r)), r.Error == "" }
	}
	return columnsOf[ownPeriodRow]("period").
		number("number", func(r *ownPeriodRow) (float64, bool) { return float64(r.Number), true }).
		number("colour", read(func(r *ownPeriodRow) uint64 { return uint64(r.Colour) })).
		number("packets", read(func(r *ownPeriodRow) uint64 { return r.Packets })).
		number("bytes", read(func(r *ownPeriodRow) uint64 { return r.Bytes })).
		number("outside", read(func(r *ownPeriodRow) uint64 { return r.OutOfWindow })).
		number("marked", read(func(r *ownPeriodRow) uint64 { return r.Foreign })).
		number("pulses", read(func(r *ownPeriodRow) uint64 { return uint64(r.Captures) })).
		text("read", func(r *ownPeriodRow) string { return r.Read }).
		text("clock", func(r *ownPeriodRow) string { return r.Clock }).
		text("confidence", func(r *ownPeriodRow) string { return cmp.Or(r.Error, confidence(r.Flags)) })
}()

// ownMarking returns the sessions that the switches report.
func (p *Page) ownMarking(q *request) (rows []ownMarkingRow, err error) {
	q.sorted = append(q.sorted, ownPeriodColumns.table)
	list, err := p.allSwitches(q)
	if err != nil {
		return nil, err
	}
	for i := range list {
		for _, m := range list[i].Marking {
			if !strings.Contains(m.Name, q.get("q")) {
				continue
			}
			r := ownMarkingRow{MarkingSession: m, Switch: list[i].Name}
			for _, period := range m.Periods {
				x := ownPeriodRow{MarkingPeriod: period}
				if len(period.Flags) > 0 || period.Error != "" {
					x.Class = "inexact"
				}
				r.Rows = append(r.Rows, x)
			}
			if err := ownPeriodColumns.sort(q, r.Rows); err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// mostSessions bounds the sessions of alternate marking on a page.
const mostSessions = 64

// usedColumns returns those columns for which some row has a counter.
func usedColumns(columns []string, counters func(yield func(map[string]uint64) bool)) (list []string) {
	have := map[string]bool{}
	for c := range counters {
		for name := range c {
			have[name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return !have[c] })
}

// Counter returns a counter of a session as text.
func (s StampingSession) Counter(name string) string {
	if v, ok := s.Counters[name]; ok {
		return countAny(v)
	}
	return notKnown
}
