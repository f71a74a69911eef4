package web

import (
	"fmt"
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
	*DropAccount
	Tallies []accountTally
}

// An accountTally counts the drops of an account by one criterion, such as the reason.
type accountTally struct {
	By, Of string
	Rows   []Count
	More   int
}

// dropAccounts returns the drop records of the switches that have one.
func (p *Page) dropAccounts(q *request) (rows []accountRow, err error) {
	list, err := p.allSwitches(q)
	if err != nil {
		return nil, err
	}
	for i := range list {
		b := list[i].DropAccount
		if b == nil || !matches(q, "switch", list[i].Name) {
			continue
		}
		r := accountRow{Switch: list[i].Name, DropAccount: b}
		kept := "the last " + countAny(b.Kept) + " drops, of which all is known"
		for _, t := range []accountTally{
			{"reason", "all drops", b.Reasons, 0}, {"port", "all drops", b.Ports, 0}, {"rule", kept, b.Rules, 0},
		} {
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

// ownMarking returns the sessions that the switches report.
func (p *Page) ownMarking(q *request) (rows []ownMarkingRow, err error) {
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
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// mostSessions bounds the sessions of alternate marking on a page.
const mostSessions = 64

// columnsOf returns those columns for which some row has a counter.
func columnsOf(columns []string, counters func(yield func(map[string]uint64) bool)) (list []string) {
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
