package sflow

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// MaxDatagram is the maximum length of a datagram in bytes: UDP allows no more.
const MaxDatagram = 65535

// A reader reads XDR within one structure. It keeps the first error.
type reader struct {
	all []byte // the datagram
	at  int
	end int // offset of the end of the current structure
	err error
}

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("sflow: byte %d: %s: %s", r.at, field, fmt.Sprintf(format, args...))
	}
}

// next returns the next n bytes, or nil if there are fewer.
func (r *reader) next(field string, n int) []byte {
	if r.err == nil && (n < 0 || n > r.end-r.at) {
		r.fail(field, "wants %d bytes, %d are left", n, r.end-r.at)
	}
	if r.err != nil {
		return nil
	}
	b := r.all[r.at : r.at+n : r.at+n]
	r.at += n
	return b
}

func (r *reader) u32(field string) uint32 {
	if b := r.next(field, 4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64(field string) uint64 {
	if b := r.next(field, 8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// opaque reads bytes with their count in front, and skips the padding to a multiple of four.
func (r *reader) opaque(field string) []byte {
	n := int64(r.u32(field + " length"))
	if r.err == nil && n > int64(r.end-r.at) {
		r.fail(field+" length", "%d, %d bytes are left", n, r.end-r.at)
	}
	b := r.next(field, int(n))
	r.next(field+" padding", int(-n&3))
	return b
}

func (r *reader) address(field string) netip.Addr {
	switch t := r.u32(field + " type"); t {
	case 0:
		return netip.Addr{}
	case 1:
		a, _ := netip.AddrFromSlice(r.next(field, 4))
		return a
	case 2:
		a, _ := netip.AddrFromSlice(r.next(field, 16))
		return a
	default:
		r.fail(field+" type", "%d, want 0 to 2", t)
	}
	return netip.Addr{}
}

// count reads the number of structures that follow.
func (r *reader) count(field string) int {
	n := r.u32(field)
	if left := r.end - r.at; r.err == nil && int64(n) > int64(left/leastSample) {
		r.fail(field, "%d in %d bytes", n, left)
		return 0
	}
	return int(n)
}

// structure reads a structure. It skips bytes after the known fields, as the specification requires for later versions.
// It returns the end of the structure, or -1 if the length is invalid.
func (r *reader) structure(field string, body func(number uint32)) (end int) {
	number := r.u32(field + " format")
	n := int64(r.u32(field + " length"))
	if r.err == nil && n > int64(r.end-r.at) {
		r.fail(field+" length", "%d, %d bytes are left", n, r.end-r.at)
	}
	if r.err != nil {
		return -1
	}
	outer := r.end
	r.end = r.at + int(n)
	end = r.end
	body(number)
	if r.err == nil {
		r.at, r.end = end, outer
	}
	return end
}

func (r *reader) rest(number uint32) Other {
	return Other{Enterprise: number >> 12, Format: number & 0xfff, Bytes: r.next("structure", r.end-r.at)}
}

// Decode decodes a datagram. The result refers to b. For a damaged datagram it returns an error and the intact samples
// before the damage. The datagram is nil if the damage is before the samples. If only the inside of a sample is
// damaged, the samples after it are still decoded.
func Decode(b []byte) (*Datagram, error) {
	if len(b) > MaxDatagram {
		return nil, fmt.Errorf("sflow: a datagram of %d bytes, want at most %d", len(b), MaxDatagram)
	}
	r := &reader{all: b, end: len(b)}
	if v := r.u32("version"); r.err == nil && v != version {
		r.fail("version", "%d, want %d", v, version)
	}
	d := &Datagram{Agent: r.address("agent address")}
	d.SubAgent, d.Sequence, d.Uptime = r.u32("sub-agent"), r.u32("sequence number"), r.u32("uptime")
	n := r.u32("samples")
	if r.err != nil {
		return nil, r.err
	}
	if left := len(b) - r.at; int64(n) > int64(left/leastSample) {
		r.fail("samples", "%d in %d bytes", n, left)
	}
	r.samples(d, min(int(n), MaxDatagram/leastSample))
	return d, r.err
}

// leastSample is the minimum length of a structure in bytes.
const leastSample = 8

// samples decodes n samples and counts those that it omits.
func (r *reader) samples(d *Datagram, n int) {
	first, sound := r.err, -1 // first error, and number of samples before the first one with a damaged inside
	r.err = nil
	read := 0
	for ; read < n; read++ {
		var s Sample
		end := r.structure("sample", func(number uint32) { s = r.sample(number) })
		if r.err == nil {
			d.Samples = append(d.Samples, s)
			continue
		}
		if end < 0 { // the begin of the next sample is unknown
			break
		}
		if sound < 0 {
			sound = len(d.Samples)
		}
		if first == nil {
			first = r.err
		}
		r.err, r.at, r.end = nil, end, len(r.all)
	}
	if behind := len(r.all) - r.at; read == n && behind > 0 {
		r.fail("end", "%d bytes behind the last sample", behind)
		d.Behind = behind
	}
	if sound >= 0 && r.err != nil { // bytes after a damaged sample cannot be trusted
		d.Samples = d.Samples[:sound]
	}
	d.Unread = n - len(d.Samples)
	if first != nil {
		r.err = first
	}
}

func (r *reader) sample(number uint32) Sample {
	switch number {
	case formatFlow, formatFlowExpanded:
		return r.flow(number == formatFlowExpanded)
	case formatCounters, formatCounterExpanded:
		return r.counters(number == formatCounterExpanded)
	case formatDiscarded:
		return r.discarded()
	}
	o := r.rest(number)
	return &o
}

func (r *reader) source(expanded bool) Source {
	if expanded {
		return Source{r.u32("source class"), r.u32("source index")}
	}
	id := r.u32("source")
	return Source{id >> 24, id & (fewest - 1)}
}

func (r *reader) in(field string, expanded bool) Interface {
	if !expanded {
		v := r.u32(field)
		return Interface{InterfaceFormat(v >> 30), v & internal}
	}
	f := r.u32(field + " format")
	if r.err == nil && f >= noFormats {
		r.fail(field+" format", "%d, want 0 to %d", f, noFormats-1)
	}
	return Interface{InterfaceFormat(f), r.u32(field)}
}

func (r *reader) flow(expanded bool) *FlowSample {
	f := &FlowSample{Sequence: r.u32("sequence number"), Source: r.source(expanded)}
	f.Rate, f.Pool, f.Drops = r.u32("sampling rate"), r.u32("sample pool"), r.u32("drops")
	f.Input, f.Output = r.in("input", expanded), r.in("output", expanded)
	r.packet(&f.Packet)
	return f
}

func (r *reader) discarded() *Discarded {
	d := &Discarded{Sequence: r.u32("sequence number"), Source: r.source(true), Drops: r.u32("drops")}
	d.Input, d.Output, d.Reason = r.u32("input"), r.u32("output"), Reason(r.u32("reason"))
	r.packet(&d.Packet)
	return d
}

func (r *reader) packet(p *Packet) {
	for range r.count("flow records") {
		r.structure("flow record", func(number uint32) { r.record(p, number) })
	}
}

// record decodes a record of a packet. A second record of the same format is kept undecoded.
func (r *reader) record(p *Packet, number uint32) {
	switch {
	case number == recordHeader && p.Header == nil:
		p.Header = &Header{Protocol: r.u32("header protocol"), Length: r.u32("frame length"), Stripped: r.u32("stripped")}
		p.Header.Bytes = r.opaque("header")
	case number == recordSwitch && p.Switch == nil:
		p.Switch = &Switch{r.u32("source VLAN"), r.u32("source priority"), r.u32("destination VLAN"),
			r.u32("destination priority")}
	case number == recordRouter && p.Router == nil:
		p.Router = &Router{r.address("next hop"), r.u32("source mask"), r.u32("destination mask")}
	case number == recordQueue && p.Queue == nil:
		p.Queue = &Queue{Number: r.u32("egress queue")}
	case number == recordDepth && p.Queue != nil && p.Queue.Depth == nil:
		n := r.u32("queue depth")
		p.Queue.Depth = &n
	case number == recordTrap && p.Trap == nil:
		p.Trap = &Trap{string(r.opaque("trap group")), string(r.opaque("trap name"))}
	default:
		p.Others = append(p.Others, r.rest(number))
	}
}

func (r *reader) counters(expanded bool) *CounterSample {
	c := &CounterSample{Sequence: r.u32("sequence number"), Source: r.source(expanded)}
	for range r.count("counter records") {
		r.structure("counter record", func(number uint32) {
			switch {
			case number == recordGeneric && c.Generic == nil:
				c.Generic = r.generic()
			case number == recordEthernet && c.Ethernet == nil:
				c.Ethernet = &Ethernet{}
				for _, w := range c.Ethernet.words() {
					*w = r.u32("ethernet counter")
				}
			default:
				c.Others = append(c.Others, r.rest(number))
			}
		})
	}
	return c
}

func (r *reader) generic() *Generic {
	n := r.u32
	g := &Generic{Index: n("ifIndex"), Type: n("ifType"), Speed: r.u64("ifSpeed"), Direction: n("ifDirection")}
	g.Status, g.InOctets = n("ifStatus"), r.u64("ifInOctets")
	g.InUnicast, g.InMulticast, g.InBroadcast = n("ifInUcastPkts"), n("ifInMulticastPkts"), n("ifInBroadcastPkts")
	g.InDiscards, g.InErrors, g.InUnknownProtocols = n("ifInDiscards"), n("ifInErrors"), n("ifInUnknownProtos")
	g.OutOctets = r.u64("ifOutOctets")
	g.OutUnicast, g.OutMulticast, g.OutBroadcast = n("ifOutUcastPkts"), n("ifOutMulticastPkts"), n("ifOutBroadcastPkts")
	g.OutDiscards, g.OutErrors, g.Promiscuous = n("ifOutDiscards"), n("ifOutErrors"), n("ifPromiscuousMode")
	return g
}
