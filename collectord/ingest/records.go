package ingest

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"

	"tamtam/collector"
	"tamtam/collectord/event"
)

// Records makes events of copies of records. It is for one goroutine, but for Counts.
type Records struct {
	to     *Sender
	counts struct{ copies, short, others atomic.Int64 }
}

// RecordCounts are of what came. What was lost, as what is Short and Others, is in the Stats of the sender.
type RecordCounts struct {
	Copies int64
	Short  int64 // copies with too little of the frame, or too much in front of its payload, to be joined
	Others int64 // datagrams to its own socket that have no record
}

// NewRecords returns a reader of copies of records.
func NewRecords(to *Sender) *Records { return &Records{to: to} }

// Counts returns the counts so far.
func (r *Records) Counts() RecordCounts {
	return RecordCounts{Copies: r.counts.copies.Load(), Short: r.counts.short.Load(), Others: r.counts.others.Load()}
}

// UDP takes what came in a datagram at a time. Errors are those of the sender.
func (r *Records) UDP(ctx context.Context, _ netip.AddrPort, payload []byte, at time.Time) error {
	p, ok := collector.FindRecordIn(payload)
	if !ok {
		r.counts.others.Add(1)
		r.to.Lose(1)
		return nil
	}
	return r.Copy(ctx, &p, at)
}

// Copy takes a copy that came at a time. Errors are those of the sender.
func (r *Records) Copy(ctx context.Context, p *collector.RecordedPacket, at time.Time) error {
	r.counts.copies.Add(1)
	c, whole := collector.CopyOf(p)
	if !whole || len(c.Key) > event.MaxKey {
		r.counts.short.Add(1)
		r.to.Lose(1)
		return nil
	}
	return r.to.Record(ctx, at.UnixNano(), &c)
}

// numbers are those of copies that mirror sessions send as ERSPAN.
type numbers struct{ of map[mirror]*numbered }

// A numbered is the session's next number, and how many in a row came later than the one before it.
type numbered struct {
	next uint32
	late int
}

// A mirror is a session of a switch.
type mirror struct {
	from    netip.Addr
	session uint16
}

// missing is how many copies of the session are missing before this one, as its number tells, if it has one. One that
// comes late was counted as missing, and stays so. A session that seems late many times in a row began anew, and what
// was missing since then is not known: one at least is said to be. Of sessions beyond the first MaxExporters nothing
// can be said, so that each copy of theirs counts as one that is missing.
func (s *numbers) missing(c *collector.MirrorCopy) int64 {
	if !c.Numbered {
		return 0
	}
	key := mirror{c.From, c.Session}
	n := s.of[key]
	if n == nil {
		if len(s.of) == MaxExporters {
			return 1
		}
		if s.of == nil {
			s.of = map[mirror]*numbered{}
		}
		s.of[key] = &numbered{next: c.Sequence + 1}
		return 0
	}
	gap := int32(c.Sequence - n.next)
	switch {
	case gap < -anew:
		gap = 0
	case gap < 0 && n.late+1 < anewInRow:
		n.late++
		return 0
	case gap < 0:
		gap = 1
	}
	n.next, n.late = c.Sequence+1, 0
	return int64(gap)
}
