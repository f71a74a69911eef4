package ingest

import (
	"context"
	"sync/atomic"
	"time"

	"tamtam/collector"
	"tamtam/collectord/event"
	"tamtam/saisim/tailstamp"
)

// A Tap finds what there is to tell in frames. It is for one goroutine, but for Counts.
type Tap struct {
	// Stamps sends the tail-stamps of frames, also of those that came as copies in ERSPAN. nil: they are not looked for.
	Stamps *Sender
	// Reports reads datagrams to the ports IPFIX and SFlow. nil: they are not looked for.
	Reports      *Reports
	IPFIX, SFlow uint16

	hops                  []event.Hop
	frames, cut, mirrored atomic.Int64
}

// TapCounts are of frames.
type TapCounts struct {
	Frames   int64
	Cut      int64 // by a capture or a mirror session: what stood at their ends is lost
	Mirrored int64 // copies in ERSPAN
}

// Counts returns the counts so far.
func (t *Tap) Counts() TapCounts {
	return TapCounts{Frames: t.frames.Load(), Cut: t.cut.Load(), Mirrored: t.mirrored.Load()}
}

// Frame takes a frame without FCS, captured at a time; length is its length on the wire.
func (t *Tap) Frame(ctx context.Context, frame []byte, length int, at time.Time) error {
	t.frames.Add(1)
	if len(frame) < length {
		return t.short()
	}
	if inner, ok := collector.Mirrored(frame); ok {
		t.mirrored.Add(1)
		if frame = inner; shortened(frame) {
			return t.short()
		}
	} else if t.Reports != nil {
		if u, ok := collector.ParseUDP(frame); ok && u.To.Port() != 0 {
			switch u.To.Port() {
			case t.IPFIX:
				return t.Reports.IPFIX(ctx, u.From, u.Payload, at)
			case t.SFlow:
				return t.Reports.SFlow(ctx, u.From, u.Payload, at)
			}
		}
	}
	if t.Stamps == nil {
		return nil
	}
	return t.stamps(ctx, frame, at)
}

// short is a frame whose end is missing, where stamps would be.
func (t *Tap) short() error {
	t.cut.Add(1)
	if t.Stamps != nil {
		t.Stamps.Lose(1)
	}
	return nil
}

// senders are those that it sends by.
func (t *Tap) senders() (list []*Sender) {
	if t.Stamps != nil {
		list = append(list, t.Stamps)
	}
	if t.Reports != nil {
		list = append(list, t.Reports.drops)
	}
	return list
}

// lose says that so many frames did not come.
func (t *Tap) lose(n int64) {
	if t.Stamps != nil {
		t.Stamps.Lose(n)
	}
	if t.Reports != nil {
		t.Reports.drops.Lose(n)
	}
}

// shortened reports whether a frame ends before its IP datagram, as one does that a mirror session cut.
func shortened(frame []byte) bool {
	_, ip := collector.ParseFlow(frame)
	_, whole := tailstamp.DatagramEnd(frame)
	return ip && !whole
}

func (t *Tap) stamps(ctx context.Context, frame []byte, at time.Time) error {
	records, _ := tailstamp.Decode(frame)
	if len(records) == 0 {
		return nil
	}
	flow, _ := collector.ParseFlow(frame) // records are found behind IP only
	t.hops = t.hops[:0]
	for _, r := range records {
		t.hops = append(t.hops, event.HopOf(r))
	}
	return t.Stamps.Frame(ctx, &event.Frame{Time: at.UnixNano(), Flow: event.FlowOf(flow), Hops: t.hops})
}
