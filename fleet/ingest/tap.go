package ingest

import (
	"context"
	"encoding/binary"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"tamtam/collector"
	"tamtam/fleet/event"
	"tamtam/saisim/tailstamp"
)

// A Tap finds what there is to tell in frames. It is for one goroutine, but for Counts.
type Tap struct {
	// Stamps sends the tail-stamps of frames, also of those that came as copies in ERSPAN. nil: they are not looked for.
	Stamps *Sender
	// Records sends copies of records that are in frames, in UDP to any port and in ERSPAN. nil: they are not looked for.
	Records *Records
	// Reports reads datagrams to the ports IPFIX and SFlow. nil: they are not looked for.
	Reports      *Reports
	IPFIX, SFlow uint16
	// Sockets are where others read what comes to this host: of what is sent there nothing is looked for. One without an
	// address has all of its port.
	Sockets []netip.AddrPort
	// Ahead is how far the times of captures may be ahead of this host's clock, so that their windows do not hold the log
	// (0: as far as they like). A capture is read up to a frame that is farther.
	Ahead time.Duration

	join                  *collector.Joiner // nil: no frame came
	hops                  []event.Hop
	numbers               numbers
	copies                twice // that are numbered
	frames, cut, mirrored atomic.Int64
	doubled, unjoined     atomic.Int64
	skipped, searched     atomic.Int64
	noLength              atomic.Int64
}

// TapCounts are of frames.
type TapCounts struct {
	Frames   int64
	Cut      int64 // by a capture or a mirror session: what stood at their ends is lost
	Mirrored int64 // copies in ERSPAN
	// Unjoined are fragments of packets of which others are missing. Of the packet at most the beginning was read.
	Unjoined int64
	Twice    int64 // of them, those whose number and bytes came before: they are not read again
	Skipped  int64 // bytes behind stamped datagrams that belong to no record
	Searched int64 // records that were found by search because of such bytes
	NoLength int64 // frames of IP whose length cannot be right: records are not looked for in them
}

// Counts returns the counts so far.
func (t *Tap) Counts() TapCounts {
	return TapCounts{Frames: t.frames.Load(), Cut: t.cut.Load(), Mirrored: t.mirrored.Load(),
		Twice: t.doubled.Load(), Unjoined: t.unjoined.Load(), Skipped: t.skipped.Load(), Searched: t.searched.Load(),
		NoLength: t.noLength.Load()}
}

// Frame takes a frame without FCS, captured at a time; length is its length on the wire.
func (t *Tap) Frame(ctx context.Context, frame []byte, length int, at time.Time) error {
	t.frames.Add(1)
	if len(frame) < length {
		t.cut.Add(1)
		t.tellCopies(hole{lost: 1, since: at}, at)
		return nil
	}
	if t.join == nil {
		t.join = collector.NewJoiner(collector.LiveWait)
	}
	before := t.join.Counts().Fragments
	list := t.join.Add(frame, at)
	if t.join.Counts().Fragments > before && t.Stamps != nil { // which may be stamped itself
		if err := t.stamps(ctx, frame, at); err != nil {
			return err
		}
	}
	return t.joined(ctx, list)
}

// joined takes frames whose fragments were joined. Of a packet of which fragments are missing a report that begins in
// it is read up to there, and counted as damaged.
func (t *Tap) joined(ctx context.Context, list []collector.Joined) error {
	t.unjoined.Store(t.join.Counts().Unjoined)
	for _, x := range list {
		if !x.Incomplete {
			if err := t.whole(ctx, x.Frame, x.At); err != nil {
				return err
			}
			continue
		}
		u, ok := collector.ParseUDP(x.Frame)
		if !ok || t.Reports == nil || t.elsewhere(u.To) {
			continue
		}
		if _, err := t.report(ctx, u, x.At); err != nil {
			return err
		}
	}
	return nil
}

// End takes what waited for fragments. It is called behind the last frame.
func (t *Tap) End(ctx context.Context) error {
	if t.join == nil {
		return nil
	}
	return t.joined(ctx, t.join.Flush())
}

// whole takes a frame, or a packet that was joined.
func (t *Tap) whole(ctx context.Context, frame []byte, at time.Time) error {
	if c, ok := collector.ReadMirrorCopy(frame); ok {
		t.mirrored.Add(1)
		numbers := uint64(c.Session)<<32 | uint64(c.Sequence)
		if c.Numbered && t.copies.came(netip.AddrPortFrom(c.From, 0), numbers, c.Frame) {
			t.doubled.Add(1)
			return nil
		}
		t.tellCopies(t.numbers.missing(&c, at), at)
		if took, err := t.recorded(ctx, c.Frame, at); took {
			return err
		}
		if frame = c.Frame; tailstamp.Shortened(frame) { // by its session: at the end were stamps
			t.cut.Add(1)
			if t.Stamps != nil {
				t.Stamps.Lose(1, at)
			}
			return nil
		}
	} else if took, err := t.datagram(ctx, frame, at); took {
		return err
	}
	if t.Stamps == nil {
		return nil
	}
	return t.stamps(ctx, frame, at)
}

// datagram takes a datagram in a frame; false: it is none that is read.
func (t *Tap) datagram(ctx context.Context, frame []byte, at time.Time) (took bool, err error) {
	if t.Reports == nil && t.Records == nil {
		return false, nil
	}
	u, ok := collector.ParseUDP(frame)
	if !ok {
		return false, nil
	}
	if t.elsewhere(u.To) {
		return true, nil
	}
	if !begins(u.Payload) { // no report: records may come to the same ports
		if took, err := t.recorded(ctx, u.Payload, at); took {
			return true, err
		}
	}
	return t.report(ctx, u, at)
}

// report takes a datagram to a port of reports; false: it is to another.
func (t *Tap) report(ctx context.Context, u collector.UDP, at time.Time) (took bool, err error) {
	switch port := u.To.Port(); {
	case t.Reports != nil && port != 0 && port == t.IPFIX:
		return true, t.Reports.IPFIX(ctx, u.From, u.Payload, at)
	case t.Reports != nil && port != 0 && port == t.SFlow:
		return true, t.Reports.SFlow(ctx, u.From, u.Payload, at)
	}
	return false, nil
}

// elsewhere reports whether what is sent to an address is read there.
func (t *Tap) elsewhere(to netip.AddrPort) bool {
	return slices.ContainsFunc(t.Sockets, func(s netip.AddrPort) bool {
		return s.Port() == to.Port() && (s.Addr().IsUnspecified() || s.Addr().Unmap() == to.Addr().Unmap())
	})
}

// begins reports whether a datagram begins as IPFIX or sFlow does: with version 10 and its length, or version 5 and a
// kind of address.
func begins(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	const ipfix, sflow = 10, 5
	return binary.BigEndian.Uint16(b) == ipfix && int(binary.BigEndian.Uint16(b[2:])) == len(b) ||
		binary.BigEndian.Uint32(b) == sflow && binary.BigEndian.Uint32(b[4:]) <= 2
}

// recorded takes the copy of a record that UDP or ERSPAN carries; false: it carries none, or nobody wants it. Stamps in
// the frame of a copy were told of, or will be, by who has the frame.
func (t *Tap) recorded(ctx context.Context, payload []byte, at time.Time) (took bool, err error) {
	if t.Records == nil {
		return false, nil
	}
	p, ok := collector.FindRecordIn(payload)
	if !ok {
		return false, nil
	}
	return true, t.Records.Copy(ctx, &p, at)
}

// tellCopies says which frames of up to a time, or copies of them, did not come.
func (t *Tap) tellCopies(h hole, upTo time.Time) {
	if t.Stamps != nil {
		t.Stamps.tell(h, upTo)
	}
	if t.Records != nil {
		t.Records.to.tell(h, upTo)
	}
}

// senders are those that it sends by.
func (t *Tap) senders() (list []*Sender) {
	if t.Stamps != nil {
		list = append(list, t.Stamps)
	}
	if t.Records != nil {
		list = append(list, t.Records.to)
	}
	if t.Reports != nil {
		list = append(list, t.Reports.drops)
	}
	return list
}

// lose says that so many frames of up to a time did not come.
func (t *Tap) lose(n int64, upTo time.Time) {
	t.tellCopies(hole{lost: n, since: upTo}, upTo)
	if t.Reports != nil {
		t.Reports.drops.Lose(n, upTo)
	}
}

// doubt says that frames of up to a time may be missing, which are counted already.
func (t *Tap) doubt(upTo time.Time) {
	for _, s := range t.senders() {
		s.doubt(upTo, upTo)
	}
}

// flush sends what waits: see [Sender.Flush].
func (t *Tap) flush(ctx context.Context) error {
	for _, s := range t.senders() {
		if err := s.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// now is the time by the clock of those that it sends by.
func (t *Tap) now() time.Time {
	if all := t.senders(); len(all) > 0 {
		return all[0].options.Now()
	}
	return time.Now()
}

func (t *Tap) stamps(ctx context.Context, frame []byte, at time.Time) error {
	tail := tailstamp.ReadTail(frame)
	if len(tail.Records) == 0 {
		if tailstamp.EndUnknown(frame) {
			t.noLength.Add(1)
		}
		return nil
	}
	t.skipped.Add(int64(tail.Skipped))
	flow, _ := collector.ParseFlow(frame) // records are found behind IP only
	t.hops = t.hops[:0]
	for _, r := range tail.Records {
		if r.Flags&tailstamp.Searched != 0 {
			t.searched.Add(1)
		}
		t.hops = append(t.hops, event.HopOf(r))
	}
	return t.Stamps.Frame(ctx, &event.Frame{Time: at.UnixNano(), Flow: event.FlowOf(flow), Hops: t.hops})
}
