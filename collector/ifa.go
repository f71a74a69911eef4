package collector

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"tamtam/saisim/tailstamp"
	"tamtam/tam/dropreport"
	"tamtam/tam/ifa"
)

// NewIFA returns a collector like [NewTailStamp], but for packets of Inband Flow Analyzer. Each hop counts as a
// tail-stamp record.
func NewIFA(paths int, memory int64, exact bool) *TailStamp {
	c := NewTailStamp(paths, memory, exact)
	c.read, c.reports = analysed, true
	return c
}

// new returns the collector for these options.
func (o *DecodeOptions) new() *TailStamp {
	if o.IFA {
		return NewIFA(o.Paths, o.Memory, o.Exact)
	}
	return NewTailStamp(o.Paths, o.Memory, o.Exact)
}

// unwrap returns the frame inside a mirror copy or report.
func (o *DecodeOptions) unwrap(frame []byte) ([]byte, bool) {
	inner, ok := Mirrored(frame)
	if !ok && o.IFA {
		return Reported(frame)
	}
	return inner, ok
}

// describe sets the flow of a frame with records. It also sets the IFA hops of the records, oldest first, or the number
// of skipped bytes.
func (o *DecodeOptions) describe(f *StampedFrame, frame []byte) {
	if o.IFA {
		_, f.hops, frame, _ = analysed(frame, time.Time{})
	} else {
		f.Skipped = tailstamp.ReadTail(frame).Skipped
	}
	f.Flow, _ = ParseFlow(frame)
}

// stamps reads tail-stamp records.
func stamps(frame []byte, _ time.Time) (tailstamp.Tail, []ifa.Hop, []byte, bool) {
	return tailstamp.ReadTail(frame), nil, frame, true
}

// Reported returns the frame in a report of a tamtam terminator. Such a report is one IPFIX record in the layout of
// [dropreport.IFA]. Its template has a fixed number and form, so the collector need not wait for it.
func Reported(frame []byte) ([]byte, bool) {
	u, ok := ParseUDP(frame)
	b := u.Payload
	if !ok || !beginsReport(b) || int(binary.BigEndian.Uint16(b[2:])) != len(b) {
		return nil, false
	}
	const header, set, fixed, variable = 16, 4, 8 + 1 + 4 + 4 + 2, 3
	if b = b[header:]; len(b) < set+fixed+variable || int(binary.BigEndian.Uint16(b[2:])) != len(b) {
		return nil, false
	}
	b = b[set:]
	section := b[fixed+variable:]
	if b[8] != dropreport.StatusForwarded || b[fixed] != 0xff ||
		int(binary.BigEndian.Uint16(b[fixed+1:])) != len(section) {
		return nil, false
	}
	return section, true
}

// beginsReport reports whether a datagram begins as a report does: with IPFIX's version, and the fixed template.
func beginsReport(b []byte) bool {
	const header, version = 16, 10
	return len(b) >= header+2 && binary.BigEndian.Uint16(b) == version &&
		binary.BigEndian.Uint16(b[header:]) == dropreport.IFATemplate
}

// analysed reads the hops of a frame with this capture time. It returns them as records and as hops, oldest first, and
// the frame without IFA. A frame without IFA has no hops. ok is false if the frame has IFA's protocol number, but its
// hops cannot be read.
func analysed(frame []byte, captured time.Time) (tail tailstamp.Tail, hops []ifa.Hop, inner []byte, ok bool) {
	l3, ok := networkOf(frame)
	if !ok {
		return tailstamp.Tail{}, nil, frame, true
	}
	p, err := ifa.Decode(frame[l3:])
	if err != nil {
		return tailstamp.Tail{}, nil, frame, errors.Is(err, ifa.ErrNotIP) || errors.Is(err, ifa.ErrProtocol)
	}
	records := make([]tailstamp.Record, 0, len(p.Hops))
	for i := range p.Hops {
		records = append(records, recordOf(&p.Hops[i], captured))
	}
	slices.Reverse(records)
	hops = slices.Clone(p.Hops)
	slices.Reverse(hops)
	plain := slices.Clone(frame)
	return tailstamp.Tail{Records: records}, hops, append(plain[:l3], p.Strip(plain[l3:])...), true
}

// recordOf returns a hop as a record. The times of an unknown layout count as unsynchronised.
func recordOf(h *ifa.Hop, captured time.Time) tailstamp.Record {
	r := tailstamp.Record{SwitchID: h.Device, InPort: h.InPort, OutPort: h.OutPort, Flags: tailstamp.Flags(h.Trust)}
	if h.LNS != ifa.LNS {
		r.Flags |= tailstamp.Unsynchronised
	}
	at, ok := h.Received(captured)
	d, taken := h.Residing()
	if ok && at.Unix() >= 0 {
		r.Ingress = tailstamp.At(at)
		if taken {
			r.Egress = tailstamp.At(at.Add(d))
		}
	}
	if !taken {
		r.Flags |= tailstamp.NoEgress
	}
	return r
}

// networkOf returns the offset of a frame's IP header. It returns false if there is none.
func networkOf(frame []byte) (int, bool) {
	for at, tags := 12, 0; len(frame) >= at+2 && tags <= tailstamp.MaxTags; at, tags = at+4, tags+1 {
		switch binary.BigEndian.Uint16(frame[at:]) {
		case etherCTag, etherSTag:
		case etherIPv4, etherIPv6:
			return at + 2, true
		default:
			return 0, false
		}
	}
	return 0, false
}
