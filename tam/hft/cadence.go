package hft

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// An EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events.
const (
	Gap        EventKind = iota // a number of intervals without a record
	Irregular                   // a gap that is no number of intervals
	Duplicate                   // a second record of a template for one time
	Late                        // a record whose time is before that of the record before it
	Partial                     // a time for which not all templates of the stream had a record
	Switched                    // the stream has another template
	Mixed                       // templates take turns: these are several streams, and their cadence is unknown
	Redefined                   // a template has other fields than before, with the same id
	Relabelled                  // a label is that of another object than before
	numEventKinds
)

var eventNames = [numEventKinds]string{"gap", "irregular", "duplicate", "late", "partial", "switched", "mixed",
	"redefined", "relabelled"}

// String returns the word of the kind.
func (k EventKind) String() string { return eventNames[k] }

// An Event is something about a stream that its records alone do not show.
type Event struct {
	Kind     EventKind
	Domain   uint32
	Type     uint32 // object type of the stream; zero for Redefined
	Template uint16
	Before   uint16 // Switched: the template before
	At       int64  // time of the record, in nanoseconds since 1970
	Gap      int64  // Gap, Irregular, Late: time since the record before; Late: less than zero
	Interval int64  // Gap, Irregular: the interval that was expected
	Missing  uint64 // Gap: number of missing times; Partial: of missing records
}

// Text returns the event in words.
func (e *Event) Text() string {
	switch e.Kind {
	case Gap:
		return fmt.Sprintf("%v since the record before, want %v: %d times are missing",
			time.Duration(e.Gap), time.Duration(e.Interval), e.Missing)
	case Irregular:
		return fmt.Sprintf("%v since the record before, want %v", time.Duration(e.Gap), time.Duration(e.Interval))
	case Duplicate:
		return "another record of this time"
	case Late:
		return fmt.Sprintf("%v before the latest record", time.Duration(-e.Gap))
	case Partial:
		return fmt.Sprintf("%d of the stream's templates had no record of the time before", e.Missing)
	case Switched:
		return fmt.Sprintf("replaces template %d, %v after its last record", e.Before, time.Duration(e.Gap))
	case Mixed:
		return "was replaced, and is there again: several streams share domain and object type, so their cadence is unknown"
	case Redefined:
		return "has other fields than before"
	}
	return "a label is that of another object than before"
}

// Limits of what a stream keeps.
const (
	maxGaps  = 64 // different gaps
	maxParts = 64 // templates at one time
)

// A stream is the state of a received stream.
type stream struct {
	given, announced int64 // intervals, from the user and the exporter; zero if unknown

	records, samples  uint64
	first, last       int64
	at                []uint16 // templates with a record at last
	current, replaced []uint16 // templates of the stream, and those before the last switch
	mixed             bool
	gaps              []gapCount // in the order of their first occurrence
	otherGaps         uint64     // number of gaps beyond the first maxGaps different ones
	counts            [numEventKinds]uint64
	objects           map[uint16]string // object of each label
}

type gapCount struct {
	gap int64
	n   uint64
}

// interval returns the interval, and where it is known from. It is zero before the second time.
func (s *stream) interval() (ns int64, from string) {
	switch {
	case s.given > 0:
		return s.given, "given"
	case s.announced > 0:
		return s.announced, "announced"
	}
	most := gapCount{}
	for _, g := range s.gaps {
		if g.n > most.n {
			most = g
		}
	}
	return most.gap, "most frequent"
}

// add adds a record, and reports what is wrong with its time. It returns templates that are used no more.
func (s *stream) add(template uint16, at int64, report func(Event)) (left []uint16) {
	event := func(e Event) {
		e.Template, e.At = template, at
		s.counts[e.Kind]++
		report(e)
	}
	s.records++
	switch {
	case s.samples == 0:
		s.samples, s.first, s.last = 1, at, at
		s.current, s.at = []uint16{template}, []uint16{template}
		return nil
	case at < s.last:
		event(Event{Kind: Late, Gap: at - s.last})
		return nil
	case at == s.last:
		if slices.Contains(s.at, template) {
			event(Event{Kind: Duplicate})
			return nil
		}
		if len(s.at) < maxParts {
			s.at = append(s.at, template)
		}
		if !slices.Contains(s.current, template) && !slices.Contains(s.replaced, template) && len(s.current) < maxParts {
			s.current = append(s.current, template)
		}
		return nil
	}
	gap := at - s.last
	if n := len(s.current) - len(s.at); n > 0 && !s.mixed {
		event(Event{Kind: Partial, Missing: uint64(n)})
	}
	switch {
	case slices.Contains(s.current, template):
	case slices.Contains(s.replaced, template):
		if !s.mixed {
			event(Event{Kind: Mixed})
		}
		s.mixed = true
	default:
		event(Event{Kind: Switched, Before: s.current[0], Gap: gap})
		left, s.replaced, s.current = s.replaced, s.current, []uint16{template}
		if s.mixed { // those that take turns are not known to have ended
			left, s.replaced = nil, append(s.replaced, left...)
			if len(s.replaced) > maxParts {
				s.replaced = s.replaced[:maxParts]
			}
		}
	}
	s.samples++
	s.last, s.at = at, append(s.at[:0], template)
	s.gap(gap, event)
	return left
}

// gap counts a gap, and reports one that differs from the interval.
func (s *stream) gap(gap int64, event func(Event)) {
	i := slices.IndexFunc(s.gaps, func(g gapCount) bool { return g.gap == gap })
	switch {
	case i >= 0:
		s.gaps[i].n++
	case len(s.gaps) < maxGaps:
		s.gaps = append(s.gaps, gapCount{gap, 1})
	default:
		s.otherGaps++
	}
	if interval, _ := s.interval(); gap != interval && !s.mixed {
		event(verdict(gap, interval))
	}
}

// verdict returns the event of a gap that differs from the interval.
func verdict(gap, interval int64) Event {
	if gap%interval == 0 {
		return Event{Kind: Gap, Gap: gap, Interval: interval, Missing: uint64(gap/interval - 1)}
	}
	return Event{Kind: Irregular, Gap: gap, Interval: interval}
}

// Cadence is what was received of a stream.
type Cadence struct {
	Domain    uint32   `json:"domain"`
	Type      uint32   `json:"object_type"`
	Templates []uint16 `json:"templates"` // the present ones
	Records   uint64   `json:"records"`
	Samples   uint64   `json:"samples"` // different times
	First     int64    `json:"first_ns"`
	Last      int64    `json:"last_ns"`
	Interval  int64    `json:"interval_ns"` // zero if it is unknown
	// From is the source of the interval: given, announced, or most frequent.
	From string `json:"interval_from"`
	// Known is false if several streams share domain and object type. The numbers of gaps then are zero.
	Known      bool   `json:"cadence_known"`
	Exact      uint64 `json:"gaps_exact"` // gaps that are the interval
	Gaps       uint64 `json:"gaps"`       // gaps of several intervals
	Missing    uint64 `json:"samples_missing"`
	Irregular  uint64 `json:"gaps_irregular"`
	Duplicates uint64 `json:"duplicates"`
	Late       uint64 `json:"late"`
	Partial    uint64 `json:"partial"`
	Switches   uint64 `json:"switches"`
	Relabelled uint64 `json:"relabelled"`
}

func (s *stream) report(k streamKey) Cadence {
	c := Cadence{Domain: k.domain, Type: k.objectType, Templates: slices.Clone(s.current), Records: s.records,
		Samples: s.samples, First: s.first, Last: s.last, Known: !s.mixed, Duplicates: s.counts[Duplicate],
		Late: s.counts[Late], Partial: s.counts[Partial], Switches: s.counts[Switched], Relabelled: s.counts[Relabelled]}
	c.Interval, c.From = s.interval()
	if s.mixed || c.Interval == 0 {
		return c
	}
	c.Irregular = s.otherGaps
	for _, g := range s.gaps {
		if g.gap == c.Interval {
			c.Exact += g.n
			continue
		}
		if e := verdict(g.gap, c.Interval); e.Kind == Gap {
			c.Gaps += g.n
			c.Missing += g.n * e.Missing
		} else {
			c.Irregular += g.n
		}
	}
	return c
}

// Text returns the cadence in words.
func (c *Cadence) Text() string {
	text := fmt.Sprintf("%d times", c.Samples)
	switch {
	case !c.Known:
		text += ", several streams share domain and object type: their cadence is unknown"
	case c.Interval == 0:
		text += ", interval unknown"
	default:
		text += fmt.Sprintf(" every %v (%s), %d of %d gaps exact", time.Duration(c.Interval), c.From, c.Exact,
			c.Exact+c.Gaps+c.Irregular)
	}
	var b strings.Builder
	for _, more := range []struct {
		n    uint64
		what string
	}{
		{c.Missing, "times missing"}, {c.Irregular, "irregular gaps"}, {c.Duplicates, "duplicates"}, {c.Late, "late"},
		{c.Partial, "incomplete"}, {c.Switches, "changes of templates"}, {c.Relabelled, "changes of a label's object"},
	} {
		if more.n > 0 {
			fmt.Fprintf(&b, ", %d %s", more.n, more.what)
		}
	}
	return text + b.String()
}
