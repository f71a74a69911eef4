package event

import (
	"encoding/binary"
	"net/netip"

	"tamtam/collector"
	"tamtam/collector/result"
	"tamtam/saisim/tailstamp"
)

// A Flow is a collector.Flow without pointers, as a key for large maps.
type Flow struct {
	Source, Destination  [16]byte // an IPv4 address is in its last four bytes
	SourcePort, DestPort uint16
	Protocol             uint8
	Form                 Form
}

// Form defines how to read a Flow.
type Form uint8

// The bits of a Form. With neither IPv4 nor IPv6 a frame's flow is unknown.
const (
	IPv4 Form = 1 << iota
	IPv6
	LaterFragment
)

// FlowOf returns the key of a flow.
func FlowOf(f collector.Flow) Flow {
	k := Flow{SourcePort: f.SourcePort, DestPort: f.DestPort, Protocol: f.Protocol}
	switch {
	case !f.Source.IsValid():
		return k
	case f.Source.Is4():
		k.Form = IPv4
		from, to := f.Source.As4(), f.Destination.As4()
		copy(k.Source[12:], from[:])
		copy(k.Destination[12:], to[:])
	default:
		k.Form = IPv6
		k.Source, k.Destination = f.Source.As16(), f.Destination.As16()
	}
	if f.LaterFragment {
		k.Form |= LaterFragment
	}
	return k
}

// Flow returns the flow of a key.
func (k Flow) Flow() collector.Flow {
	f := collector.Flow{Protocol: k.Protocol, SourcePort: k.SourcePort, DestPort: k.DestPort,
		LaterFragment: k.Form&LaterFragment != 0}
	switch {
	case k.Form&IPv4 != 0:
		f.Source, f.Destination = netip.AddrFrom4([4]byte(k.Source[12:])), netip.AddrFrom4([4]byte(k.Destination[12:]))
	case k.Form&IPv6 != 0:
		f.Source, f.Destination = netip.AddrFrom16(k.Source), netip.AddrFrom16(k.Destination)
	}
	return f
}

// String returns the flow as collector.Flow prints it.
func (k Flow) String() string {
	if k.Form&(IPv4|IPv6) == 0 {
		return "not known"
	}
	return k.Flow().String()
}

// HopFlags qualify the fields of a Hop.
type HopFlags uint8

// The flags of a hop.
const (
	Unsynchronised HopFlags = 1 << iota // the clock of the switch is not synchronised
	NoArrival                           // Arrival is unknown
	NoDeparture                         // Departure is unknown
	ClockSet                            // the clock was set between Arrival and Departure
	Searched       HopFlags = 1 << 4    // the record was found by search: other bytes stood where it should be
	hopFlags                = Unsynchronised | NoArrival | NoDeparture | ClockSet | Searched
)

// A Hop is one tail-stamp.
type Hop struct {
	Switch             uint32
	In, Out            uint16
	Flags              HopFlags
	Arrival, Departure int64 // nanoseconds since 1970; 0 if unknown
}

// HopOf returns the hop of a tail-stamp. Invalid times, and those after MaxTime, are unknown.
func HopOf(r tailstamp.Record) Hop {
	h := Hop{Switch: r.SwitchID, In: r.InPort, Out: r.OutPort}
	if r.Flags&tailstamp.Unsynchronised != 0 {
		h.Flags |= Unsynchronised
	}
	if r.Flags&tailstamp.ClockSet != 0 {
		h.Flags |= ClockSet
	}
	if r.Flags&tailstamp.Searched != 0 {
		h.Flags |= Searched
	}
	var ok bool
	if h.Arrival, ok = nanoseconds(r.Ingress); !ok {
		h.Flags |= NoArrival
	}
	if h.Departure, ok = nanoseconds(r.Egress); !ok || r.Flags&tailstamp.NoEgress != 0 {
		h.Flags |= NoDeparture
		h.Departure = 0
	}
	return h
}

func nanoseconds(t tailstamp.Timestamp) (int64, bool) {
	const most = MaxTime/1_000_000_000 - 1 // in seconds
	if t.IsZero() || t.Seconds > most || t.Nanoseconds >= 1e9 {
		return 0, false
	}
	return int64(t.Seconds)*1e9 + int64(t.Nanoseconds), true
}

// A Frame is one frame with the stamps of the switches that it passed, the first one first.
type Frame struct {
	Time int64
	Flow Flow
	Hops []Hop
}

// MaxHops is the maximum number of stamps of a frame: a packet has 255 hops at most.
const MaxHops = 255

// maximum encoded sizes of a frame and a hop, in bytes
const (
	frameMost = 2*binary.MaxVarintLen64 + 2 + 2*16 + 4
	hopMost   = 5 + 3 + 3 + 1 + 2*binary.MaxVarintLen64
)

// Stamped adds a frame. It returns false if the batch is full: the frame fits into the next. Only the first MaxHops
// hops are added.
func (w *Writer) Stamped(f *Frame) bool {
	w.begin()
	hops := f.Hops[:min(len(f.Hops), MaxHops)]
	if w.header.Kind != result.Stamps || !w.room(frameMost+len(hops)*hopMost) {
		return false
	}
	w.event(f.Time)
	b := append(w.buf, byte(f.Flow.Form), f.Flow.Protocol)
	if f.Flow.Form&IPv6 != 0 {
		b = append(append(b, f.Flow.Source[:]...), f.Flow.Destination[:]...)
	} else if f.Flow.Form&IPv4 != 0 {
		b = append(append(b, f.Flow.Source[12:]...), f.Flow.Destination[12:]...)
	}
	b = binary.BigEndian.AppendUint16(b, f.Flow.SourcePort)
	b = binary.BigEndian.AppendUint16(b, f.Flow.DestPort)
	b = binary.AppendUvarint(b, uint64(len(hops)))
	last := f.Time
	for i := range hops {
		h := &hops[i]
		b = binary.AppendUvarint(b, uint64(h.Switch))
		b = binary.AppendUvarint(b, uint64(h.In))
		b = binary.AppendUvarint(b, uint64(h.Out))
		b = append(b, byte(h.Flags&hopFlags))
		if h.Flags&NoArrival == 0 {
			b = binary.AppendVarint(b, h.Arrival-last)
			last = h.Arrival
		}
		if h.Flags&NoDeparture == 0 {
			b = binary.AppendVarint(b, h.Departure-last)
			last = h.Departure
		}
	}
	w.buf = b
	return true
}

// Frames returns the events of a batch of Stamps. They are valid until the next call of a method.
func (r *Reader) Frames() ([]Frame, error) {
	d := decoder{b: r.rest}
	r.frames, r.hops = r.frames[:0], r.hops[:0]
	if r.Kind == result.Stamps {
		for range r.events() {
			r.frame(&d)
			if d.bad {
				break
			}
		}
	}
	if err := r.end(&d, len(r.frames)); err != nil {
		return nil, err
	}
	at := 0 // sets the hops again: r.hops may have been reallocated
	for i := range r.frames {
		n := len(r.frames[i].Hops)
		r.frames[i].Hops = r.hops[at : at+n : at+n]
		at += n
	}
	return r.frames, nil
}

func (r *Reader) frame(d *decoder) {
	f := Frame{Time: d.time()}
	if head := d.bytes(2); !d.bad {
		f.Flow.Form, f.Flow.Protocol = Form(head[0]), head[1]
	}
	switch {
	case f.Flow.Form&(IPv4|IPv6) == IPv4|IPv6 || f.Flow.Form > IPv4|IPv6|LaterFragment:
		d.fail()
	case f.Flow.Form&IPv6 != 0:
		copy(f.Flow.Source[:], d.bytes(16))
		copy(f.Flow.Destination[:], d.bytes(16))
	case f.Flow.Form&IPv4 != 0:
		copy(f.Flow.Source[12:], d.bytes(4))
		copy(f.Flow.Destination[12:], d.bytes(4))
	}
	if ports := d.bytes(4); !d.bad {
		f.Flow.SourcePort, f.Flow.DestPort = binary.BigEndian.Uint16(ports), binary.BigEndian.Uint16(ports[2:])
	}
	n := d.uvarint()
	if n > MaxHops {
		d.fail()
		return
	}
	begin, last := len(r.hops), f.Time
	for range n {
		last = r.hop(d, last)
		if d.bad {
			return
		}
	}
	f.Hops = r.hops[begin:]
	r.frames = append(r.frames, f)
}

// hop reads a hop, whose times are encoded as differences to the previous one.
func (r *Reader) hop(d *decoder, last int64) int64 {
	id, in, out := d.uvarint(), d.uvarint(), d.uvarint()
	flags := d.bytes(1)
	if d.bad || id > 1<<32-1 || in > 1<<16-1 || out > 1<<16-1 || HopFlags(flags[0])&^hopFlags != 0 {
		d.fail()
		return 0
	}
	h := Hop{Switch: uint32(id), In: uint16(in), Out: uint16(out), Flags: HopFlags(flags[0])}
	if h.Flags&NoArrival == 0 {
		last += d.varint()
		h.Arrival = last
	}
	if h.Flags&NoDeparture == 0 {
		last += d.varint()
		h.Departure = last
	}
	if h.Arrival < 0 || h.Arrival > MaxTime || h.Departure < 0 || h.Departure > MaxTime {
		d.fail()
		return 0
	}
	r.hops = append(r.hops, h)
	return last
}
