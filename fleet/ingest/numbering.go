package ingest

import "time"

// A numbering is of who numbers what it sends, one after the other.
type numbering struct {
	begun bool
	next  uint32    // the number that is due
	late  int       // how many in a row came later than the one before
	last  time.Time // when the last one came
}

// A hole is what numbers say of what did not come.
type hole struct {
	lost  int64     // how many are missing, at least
	doubt bool      // more may be
	since time.Time // they were sent from then on
	anew  bool      // the sender began anew
}

// Who is so many numbers behind at least, or behind in so many numbers in a row, began anew.
const (
	anewBehind = 1 << 10
	anewInRow  = 8
)

// came takes a number that came at a time; anew: its sender began anew if it is behind, by what else is known. A number
// that comes late was counted as missing, and stays so. It may also be of a sender that began anew, of which is not
// known what is missing until that is certain: so all is in doubt. Of one that began anew and whose first is not there,
// one is missing at least.
func (n *numbering) came(number uint32, at time.Time, anew bool) hole {
	gap, h := int32(number-n.next), hole{since: n.last, doubt: n.late > 0}
	n.last = at
	switch {
	case !n.begun:
		gap, h.since = 0, at
	case number <= 1 && (anew || gap < -anewBehind):
		gap, h.anew = 0, true
	case gap < 0 && (anew || gap < -anewBehind || n.late+1 == anewInRow):
		gap, h.anew = 1, true
	case gap < 0:
		n.late++
		h.doubt = true
		return h
	}
	n.begun, n.next, n.late, h.lost = true, number+1, 0, int64(gap)
	return h
}

// tell says what is missing by numbers of which the last came at a time.
func (s *Sender) tell(h hole, at time.Time) {
	s.LoseSince(h.lost, h.since, at)
	if h.doubt {
		s.doubt(h.since, at)
	}
}

// unnumbered are those beyond the ones that are told apart: what they sent between two that came is not known.
type unnumbered struct{ last time.Time }

// came takes one that came at a time, and is left out.
func (u *unnumbered) came(at time.Time) hole {
	h := hole{lost: 1, since: u.last}
	if u.last.IsZero() {
		h.since = at
	}
	u.last = at
	return h
}
