package ingest

import "time"

// A numbering tracks the consecutive sequence numbers of one sender.
type numbering struct {
	begun bool
	next  uint32    // expected number
	late  int       // consecutive numbers that were late
	last  time.Time // arrival time of the last one
}

// A hole describes the missing numbers before one that came.
type hole struct {
	lost      int64     // minimum number of missing ones
	uncertain bool      // more may be missing
	since     time.Time // they were sent after this time
	restarted bool      // the sender restarted
}

// A sender whose number is this far behind, or behind this many times in a row, has restarted.
const (
	restartBehind = 1 << 10
	restartInRow  = 8
)

// came processes a number that came at a time. The last parameter is true if other information shows that a number
// behind is due to a restart. A late number was counted as missing, and stays so. It may also be of a restarted sender:
// until that is certain its losses are unknown, so the whole time is uncertain. If the first number of a restarted
// sender is not there, at least one is missing.
func (n *numbering) came(number uint32, at time.Time, anew bool) hole {
	gap, h := int32(number-n.next), hole{since: n.last, uncertain: n.late > 0}
	n.last = at
	switch {
	case !n.begun:
		gap, h.since = 0, at
	case number <= 1 && (anew || gap < -restartBehind):
		gap, h.restarted = 0, true
	case gap < 0 && (anew || gap < -restartBehind || n.late+1 == restartInRow):
		gap, h.restarted = 1, true
	case gap < 0:
		n.late++
		h.uncertain = true
		return h
	}
	n.begun, n.next, n.late, h.lost = true, number+1, 0, int64(gap)
	return h
}

// report reports a hole before something that came at a time.
func (s *Sender) report(h hole, at time.Time) {
	s.LoseSince(h.lost, h.since, at)
	if h.uncertain {
		s.suspect(h.since, at)
	}
}

// unnumbered tracks the senders beyond the limit: what they sent between two messages is unknown.
type unnumbered struct{ last time.Time }

// came returns the hole for a message that came at a time, and is left out.
func (u *unnumbered) came(at time.Time) hole {
	h := hole{lost: 1, since: u.last}
	if u.last.IsZero() {
		h.since = at
	}
	u.last = at
	return h
}
