package ingest

import "time"

// A numbering tracks the consecutive sequence numbers of one sender.
type numbering struct {
	begun bool
	next  uint32    // expected number
	late  int       // number of consecutive late numbers
	last  time.Time // arrival time of the last number
}

// A hole describes the missing numbers before a received one.
type hole struct {
	lost      int64     // minimum count of missing numbers
	uncertain bool      // true if more numbers may be missing
	since     time.Time // the missing numbers were sent after this time
	restarted bool      // true if the sender restarted
}

// A sender has restarted if its number is at least this far behind, or if this many numbers in a row are late.
const (
	restartBehind = 1 << 10
	restartInRow  = 8
)

// came processes a number that came at a time. The last parameter is true if other information shows that a lower
// number is due to a restart. A late number was counted as missing, and stays so. It may also come from a restarted
// sender: until that is certain its losses are unknown, so the whole time is uncertain. If the first number of a
// restarted sender does not come, at least one is missing.
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
