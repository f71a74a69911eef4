package ingest

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"

	"tamtam/collector"
	"tamtam/fleet/event"
)

// Records turns copies of records into events. It must be used by one goroutine, except Counts.
type Records struct {
	to     *Sender
	counts struct{ copies, short, others atomic.Int64 }
}

// RecordCounts counts what arrived. Losses, including Short and Others, are in the Stats of the sender.
type RecordCounts struct {
	Copies int64
	Short  int64 // copies that cannot be joined: too little of the frame, or too much in front of its payload
	Others int64 // datagrams to its own socket without a record
}

// NewRecords returns a reader of copies of records.
func NewRecords(to *Sender) *Records { return &Records{to: to} }

// Counts returns the counts so far.
func (r *Records) Counts() RecordCounts {
	return RecordCounts{Copies: r.counts.copies.Load(), Short: r.counts.short.Load(), Others: r.counts.others.Load()}
}

// UDP processes the payload of a datagram that came at a time. Errors are those of the sender.
func (r *Records) UDP(ctx context.Context, _ netip.AddrPort, payload []byte, at time.Time) error {
	p, ok := collector.FindRecordIn(payload)
	if !ok {
		r.counts.others.Add(1)
		r.to.Lose(1, at)
		return nil
	}
	return r.Copy(ctx, &p, at)
}

// Copy processes a copy that arrived at a time. Errors are those of the sender.
func (r *Records) Copy(ctx context.Context, p *collector.RecordedPacket, at time.Time) error {
	r.counts.copies.Add(1)
	c, whole := collector.CopyOf(p)
	if !whole || len(c.Key) > event.MaxKey {
		r.counts.short.Add(1)
		r.to.Lose(1, at)
		return nil
	}
	return r.to.Record(ctx, at.UnixNano(), &c)
}

// numbers tracks the sequence numbers of ERSPAN copies, by mirror session.
type numbers struct {
	of     map[mirror]*numbering
	beyond unnumbered
}

// A mirror identifies a session of a switch.
type mirror struct {
	from    netip.Addr
	session uint16
}

// missing returns the hole before a numbered copy of a session that came at a time. For sessions beyond the first
// MaxExporters the losses are unknown: each of their copies counts as one that is missing.
func (s *numbers) missing(c *collector.MirrorCopy, at time.Time) hole {
	if !c.Numbered {
		return hole{}
	}
	key := mirror{c.From, c.Session}
	n := s.of[key]
	if n == nil {
		if len(s.of) == MaxExporters {
			return s.beyond.came(at)
		}
		if s.of == nil {
			s.of = map[mirror]*numbering{}
		}
		n = &numbering{}
		s.of[key] = n
	}
	return n.came(c.Sequence, at, false)
}
