package web

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Load is the part of a port's rate that was used, from 0 to 1. It lies between two values: counters are read every
// now and then, and so it is not known to which time a difference belongs.
type Load struct {
	Low, High float64
	Over      time.Duration // about: the time that it is of
}

// A Book is what a switch says of the packets that it has dropped.
type Book struct {
	Error string // nothing of it is known, and why
	// Since is from when on all drops are counted.
	Since time.Time
	Total uint64
	// Kept are the last of them, of which all is known; of the Forgotten rule and packet are not.
	Kept, Forgotten uint64
	Reasons, Ports  []Count // of all
	Rules           []Count // of those that are kept
	Last            []Death // the newest first
}

// A Count is how many packets have something in common.
type Count struct {
	Name    string
	Packets uint64
	Words   string // more of it; "": there is nothing to say
}

// A Death is how a packet ended that was dropped.
type Death struct {
	Time                               time.Time
	In, Out, Queue, Reason, Text, Rule string // "": none, but for In
	Flow                               string // "": no IP, or not whole
	Bytes                              int
	Tables                             []string // that it ran
	Unknown                            []string // what of these is not known
}

// A MarkingSession is alternate marking at one switch: what it has counted itself. What was lost on the way takes two.
type MarkingSession struct {
	Name   string
	Error  string // it cannot be read, and why
	Role   string // "": not known
	Method string
	Engine string // who switches the colour
	Timing string // how exact, in words
	Guard  time.Duration
	// Periods are the last ones, the latest first.
	Periods []MarkingPeriod
}

// A MarkingPeriod is what a switch has counted in a period.
type MarkingPeriod struct {
	Error       string // it cannot be read, and why
	Number      uint64
	Colour      uint8
	Packets     uint64
	Bytes       uint64
	OutOfWindow uint64 // packets where the guard allows none
	Foreign     uint64 // packets that came with a mark
	Captures    uint32 // pulses whose time was taken
	Read        string // when, in s since 1970
	Clock       string // what vouches for the clock; "": not said
	Flags       []string
}

// A StampingSession is a session of tail-stamping at one switch.
type StampingSession struct {
	Name  string
	Error string // it cannot be read, and why
	// Counters by their names; one that is missing is not known.
	Counters map[string]uint64
}

// texts is all that a page shows of a switch's own, so that a change of it is seen.
func (s *Switch) texts() string {
	var b strings.Builder
	for _, port := range s.Ports {
		fmt.Fprintln(&b, port.Name, port.Oper, port.Admin, port.Mbps, port.Counters, port.In, port.Out)
	}
	if s.Book != nil {
		fmt.Fprintf(&b, "%+v", *s.Book)
	}
	fmt.Fprintf(&b, "%+v %+v %q", s.Marking, s.Stamping, s.Troubles)
	return b.String()
}

// String is a load in words, also of one that is not known (nil).
func (l *Load) String() string {
	switch {
	case l == nil:
		return notKnown
	case percentText(l.Low) == percentText(l.High):
		return percentText(l.Low)
	}
	return percentText(l.Low) + " to " + percentText(l.High)
}

type bookRow struct {
	Switch string
	*Book
	Tallies []bookTally
}

// A bookTally is one way to count a book's drops.
type bookTally struct {
	By, Of string
	Rows   []Count
	More   int
}

// books are those of the switches that have one.
func (p *Page) books(q *request) (rows []bookRow, err error) {
	list, err := p.allSwitches(q)
	if err != nil {
		return nil, err
	}
	for i := range list {
		b := list[i].Book
		if b == nil || !matches(q, "switch", list[i].Name) {
			continue
		}
		r := bookRow{Switch: list[i].Name, Book: b}
		kept := "the last " + countAny(b.Kept) + " drops, of which all is known"
		for _, t := range []bookTally{
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

// ownMarking are the sessions of the switches that tell of them.
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

// mostSessions is how many sessions of alternate marking a page has.
const mostSessions = 64

// columnsOf are those of some columns that some row has.
func columnsOf(columns []string, counters func(yield func(map[string]uint64) bool)) (list []string) {
	have := map[string]bool{}
	for c := range counters {
		for name := range c {
			have[name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return !have[c] })
}

// Counter is a counter of a session in words.
func (s StampingSession) Counter(name string) string {
	if v, ok := s.Counters[name]; ok {
		return countAny(v)
	}
	return notKnown
}
