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

// A Tap finds stamps, records and reports in frames. It must be used by one goroutine, except Counts.
type Tap struct {
	// Stamps sends the tail-stamps of frames, also of those in ERSPAN copies. nil means that stamps are ignored.
	Stamps *Sender
	// Records sends copies of records in frames, in UDP to any port and in ERSPAN. nil means that they are ignored.
	Records *Records
	// Reports reads datagrams to the ports IPFIX and SFlow. nil means that they are ignored.
	Reports      *Reports
	IPFIX, SFlow uint16
	// Sockets are the addresses at which this host receives datagrams from a socket. A Tap ignores datagrams to them. A
	// port without an IP address stands for all addresses with this port.
	Sockets []netip.AddrPort
	// Ahead is the maximum time by which a frame of a capture may be ahead of this host's clock, so that its window
	// does not hold the log. A capture is read up to the first frame that is farther ahead. 0 means no limit.
	Ahead time.Duration

	join                  *collector.Joiner // nil before the first frame
	hops                  []event.Hop
	numbers               numbers
	copies                twice // numbered copies
	frames, cut, mirrored atomic.Int64
	doubled, unjoined     atomic.Int64
	skipped, searched     atomic.Int64
	noLength              atomic.Int64
}

// TapCounts counts frames.
type TapCounts struct {
	Frames   int64
	Cut      int64 // truncated by a capture or a mirror session: stamps at their ends are lost
	Mirrored int64 // ERSPAN copies
	// Unjoined counts fragments of incomplete packets. At most the beginning of such a packet was read.
	Unjoined int64
	Twice    int64 // copies whose number and bytes came before: they are not read again
	Skipped  int64 // bytes after stamped datagrams that belong to no record
	Searched int64 // records that were found by search because of such bytes
	NoLength int64 // IP frames with an invalid length: records are not looked for in them
}

// Counts returns the counts so far.
func (t *Tap) Counts() TapCounts {
	return TapCounts{Frames: t.frames.Load(), Cut: t.cut.Load(), Mirrored: t.mirrored.Load(),
		Twice: t.doubled.Load(), Unjoined: t.unjoined.Load(), Skipped: t.skipped.Load(), Searched: t.searched.Load(),
		NoLength: t.noLength.Load()}
}

// Frame processes a frame without FCS, captured at a time; length is its length on the wire.
func (t *Tap) Frame(ctx context.Context, frame []byte, length int, at time.Time) error {
	t.frames.Add(1)
	if len(frame) < length {
		t.cut.Add(1)
		t.reportCopies(hole{lost: 1, since: at}, at)
		if t.Reports != nil && t.mayReport(frame) {
			t.Reports.drops.Lose(1, at)
		}
		return nil
	}
	if t.join == nil {
		t.join = collector.NewJoiner(collector.LiveWait)
	}
	before := t.join.Counts().Fragments
	list := t.join.Add(frame, at)
	if t.join.Counts().Fragments > before && t.Stamps != nil { // a fragment may be stamped itself
		if err := t.stamps(ctx, frame, at); err != nil {
			return err
		}
	}
	return t.joined(ctx, list)
}

// joined processes reassembled frames, and packets whose fragments are missing.
func (t *Tap) joined(ctx context.Context, list []collector.Joined) error {
	t.unjoined.Store(t.join.Counts().Unjoined)
	for i := range list {
		x := &list[i]
		var err error
		switch {
		case !x.Incomplete:
			err = t.whole(ctx, x.Frame, x.At)
		case x.Protocol == protocolGRE:
			t.incompleteCopy(x)
		case x.Protocol == protocolUDP:
			err = t.incompleteDatagram(ctx, x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const protocolGRE, protocolUDP = 47, 17

// incompleteCopy reports a packet in GRE as a lost copy, unless its beginning shows that it is none.
func (t *Tap) incompleteCopy(x *collector.Joined) {
	if x.Frame != nil {
		c, ok := collector.ReadMirrorCopy(x.Frame)
		if !ok {
			return
		}
		t.reportCopies(t.numbers.missing(&c, x.At), x.At)
	}
	t.reportCopies(hole{lost: 1, since: x.First}, x.At)
}

// incompleteDatagram reports a datagram as a lost copy of a record, because any datagram may end in one. A report at
// its beginning is read up to the gap, and counted as damaged. If the beginning is missing, it may be of a report.
func (t *Tap) incompleteDatagram(ctx context.Context, x *collector.Joined) (err error) {
	u, begins := collector.ParseUDP(x.Frame)
	if begins && t.elsewhere(u.To) {
		return nil
	}
	lost := hole{lost: 1, since: x.First}
	if t.Records != nil {
		t.Records.to.report(lost, x.At)
	}
	if begins {
		_, err = t.report(ctx, u, x.At)
	} else if t.Reports != nil && t.IPFIX|t.SFlow != 0 {
		t.Reports.drops.report(lost, x.At)
	}
	return err
}

// End processes the packets that waited for fragments. Call it after the last frame.
func (t *Tap) End(ctx context.Context) error {
	if t.join == nil {
		return nil
	}
	return t.joined(ctx, t.join.Flush())
}

// whole processes a frame, or a reassembled packet.
func (t *Tap) whole(ctx context.Context, frame []byte, at time.Time) error {
	if c, ok := collector.ReadMirrorCopy(frame); ok {
		t.mirrored.Add(1)
		numbers := uint64(c.Session)<<32 | uint64(c.Sequence)
		if c.Numbered && t.copies.came(netip.AddrPortFrom(c.From, 0), numbers, c.Frame) {
			t.doubled.Add(1)
			return nil
		}
		t.reportCopies(t.numbers.missing(&c, at), at)
		if took, err := t.recorded(ctx, c.Frame, at); took {
			return err
		}
		if frame = c.Frame; tailstamp.Shortened(frame) { // truncated by its session: stamps at its end are lost
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

// datagram processes a datagram in a frame. took is false if the datagram is ignored.
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
	if !begins(u.Payload) { // not a report: records may come to the same ports
		if took, err := t.recorded(ctx, u.Payload, at); took {
			return true, err
		}
	}
	return t.report(ctx, u, at)
}

// report processes a datagram to a port of reports. took is false if it is to another port.
func (t *Tap) report(ctx context.Context, u collector.UDP, at time.Time) (took bool, err error) {
	switch port := u.To.Port(); {
	case t.Reports != nil && port != 0 && port == t.IPFIX:
		return true, t.Reports.IPFIX(ctx, u.From, u.Payload, at)
	case t.Reports != nil && port != 0 && port == t.SFlow:
		return true, t.Reports.SFlow(ctx, u.From, u.Payload, at)
	}
	return false, nil
}

// mayReport reports whether a cut frame may be a report, or a part of one, by the headers that it still has.
func (t *Tap) mayReport(frame []byte) bool {
	const addresses = 14 + 40
	f, ok := collector.ParseFlow(frame)
	switch {
	case !ok: // not IP, or cut before the end of the addresses
		return len(frame) < addresses
	case f.Protocol != protocolUDP:
		return false
	case f.LaterFragment || f.DestPort == 0: // the ports are unknown
		return true
	}
	return (f.DestPort == t.IPFIX || f.DestPort == t.SFlow) && !t.elsewhere(netip.AddrPortFrom(f.Destination, f.DestPort))
}

// elsewhere reports whether datagrams to an address are read from a socket instead.
func (t *Tap) elsewhere(to netip.AddrPort) bool {
	return slices.ContainsFunc(t.Sockets, func(s netip.AddrPort) bool {
		return s.Port() == to.Port() && (s.Addr().IsUnspecified() || s.Addr().Unmap() == to.Addr().Unmap())
	})
}

// begins reports whether a datagram begins as IPFIX or sFlow does: with version 10 and its length, or version 5 and an
// address type.
func begins(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	const ipfix, sflow = 10, 5
	return binary.BigEndian.Uint16(b) == ipfix && int(binary.BigEndian.Uint16(b[2:])) == len(b) ||
		binary.BigEndian.Uint32(b) == sflow && binary.BigEndian.Uint32(b[4:]) <= 2
}

// recorded processes the copy of a record in UDP or ERSPAN. took is false if there is none, or if records are ignored.
// Stamps in the frame of a copy are handled where the frame itself is received.
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

// reportCopies reports a hole of frames, or copies of them, up to a time.
func (t *Tap) reportCopies(h hole, upTo time.Time) {
	if t.Stamps != nil {
		t.Stamps.report(h, upTo)
	}
	if t.Records != nil {
		t.Records.to.report(h, upTo)
	}
}

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

// lose reports that n frames up to a time did not come.
func (t *Tap) lose(n int64, upTo time.Time) {
	t.reportCopies(hole{lost: n, since: upTo}, upTo)
	if t.Reports != nil {
		t.Reports.drops.Lose(n, upTo)
	}
}

// suspect reports that frames up to a time may be missing. These frames are counted already.
func (t *Tap) suspect(upTo time.Time) {
	for _, s := range t.senders() {
		s.suspect(upTo, upTo)
	}
}

// flush sends the buffered events: see [Sender.Flush].
func (t *Tap) flush(ctx context.Context) error {
	for _, s := range t.senders() {
		if err := s.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// now returns the time by the clock of its senders.
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
	flow, _ := collector.ParseFlow(frame) // records are found only in IP frames
	t.hops = t.hops[:0]
	for _, r := range tail.Records {
		if r.Flags&tailstamp.Searched != 0 {
			t.searched.Add(1)
		}
		t.hops = append(t.hops, event.HopOf(r))
	}
	return t.Stamps.Frame(ctx, &event.Frame{Time: at.UnixNano(), Flow: event.FlowOf(flow), Hops: t.hops})
}
