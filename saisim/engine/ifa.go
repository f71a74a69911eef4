// # Inband Flow Analyzer
//
// The parser skips the IFA header of packets in which [ifa.Locate] finds the parts, within the captured part of the
// datagram. Protocol, ports and TCP flags are those of the transport header after it. The parser also does so on a chip
// without any IFA object. So a flow is the same flow at each switch, with or without IFA in its packets.
//
// Among the ingress tables whose entries initiate or terminate IFA, the deciding hit counts the packet as matched. An
// initiator skips packets in which the parser has found IFA, and counts them as already. It chooses the first packet
// that it has matched and each n-th after it. All other matched packets are unsampled, even if they have IFA. A
// terminator skips packets in which the parser has found no IFA, and counts them as absent. A skipped packet is treated
// as if it had hit nothing. The values of the object are those at that time. A terminator handles the mirror sessions
// of its entry.
//
// In the egress pipe, before the MTU check, each copy that is not for the CPU or a mirror session gets at most one
// operation. The operation is the insertion or removal that the hit requires. Otherwise, it is one more hop, if the
// switch is transit and the packet is of protocol 253 or has IFA. The result is the first of these that holds:
//
//   - cut: the frame was cut by a capture, or shortened by trimming
//   - unsupported: to initiate, the packet is no TCP or UDP with its complete header directly after that of IP, or a
//     fragment; to add a hop, the parser has found no IFA, or the global name space is not 15
//   - hop limit: it is 0
//   - max length: the stack with 8 more words would be longer than the header allows
//   - MTU: longer by 40 bytes to initiate, by 32 to add a hop, the frame with FCS exceeds the maximum of the port with
//     a record, or the datagram the MTU of the router interface out, or 65535 bytes
//   - inserted, stripped
//
// The result is counted when the copy leaves, by the ACL counter of the entry, or for transit.
//
// A stripped copy is also copied for the entry's mirror sessions when it leaves the egress pipe. These copies are like
// the frame that leaves, but with IFA. They have one more hop if hop limit and max length allow it, with the time at
// which the stripped copy leaves. After these, if the object has collectors by then, it sends that frame to each of
// them. The frame is in an IPFIX record, in a message of its own, as for TAM events, and is counted as reported. A hop
// has the headers as they leave, the queue of the copy, and the queue's contents when the copy reached it.
package engine

import (
	"tamtam/saisim/config"
	"tamtam/tam/ifa"
)

// analysing does IFA in the egress pipe and at the MACs.
type analysing struct {
	*core
	programs *programs
	transit  *ifaInt                 // object whose hops the switch adds as a transit; nil if it is no transit
	bound    []config.ID             // TAM objects bound to the switch
	byTAM    map[config.ID]config.ID // TAM INT objects by TAM object
}

func (c *analysing) reset() { *c = analysing{core: c.core, programs: c.programs} }

// applyIFA compiles an IFA object.
func (c *core) applyIFA(r config.TAMInt) {
	x := at[*ifaInt](c, r.ID)
	if x == nil {
		x = &ifaInt{}
		c.ids[r.ID] = x
	}
	x.values = &ifaValues{r.IFA, r.SwitchID}
}

// applyTransit notes the IFA object of a TAM object.
func (c *analysing) applyTransit(r config.TAM, gone bool) {
	if c.byTAM == nil {
		c.byTAM = map[config.ID]config.ID{}
	}
	if delete(c.byTAM, r.ID); !gone && r.IFA != config.None {
		c.byTAM[r.ID] = r.IFA
	}
	c.bind(c.bound)
}

// bind binds TAM objects to the switch. Only the first one with an IFA object has an effect.
func (c *analysing) bind(tams []config.ID) {
	c.bound, c.transit = tams, nil
	for _, id := range tams {
		if x := at[*ifaInt](c.core, c.byTAM[id]); x != nil && c.transit == nil {
			c.transit = x
		}
	}
}

// bindIFA completes the IFA action of an entry that has all other actions.
func (e *aclEntry) bindIFA() {
	if e.ifa.ends {
		e.ifa.reports, e.mirrors = e.mirrors, 0
		e.does &^= doesMirror
	}
	if x := e.counter; x != nil {
		if x.ifa == nil {
			x.ifa = new(IFACounts)
		}
		e.ifa.counts = x.ifa
	}
}

func (a *ifaAction) count(what ifa.Count) {
	if a.counts != nil {
		a.counts[what]++
	}
}

// meetsIFA reports whether IFA may apply to a packet's copies.
func (pk *packet) meetsIFA() bool {
	return pk.ifa.action != nil || pk.h.ifa != 0 || pk.h.proto == ifa.Protocol
}

// meetIFA notes the IFA action of the entry that a packet has hit.
func (pk *packet) meetIFA(a *ifaAction) {
	a.count(ifa.Matched)
	if a.ends {
		if pk.h.ifa == 0 {
			a.count(ifa.Absent)
			return
		}
	} else {
		a.of.matched++
		switch {
		case (a.of.matched-1)%uint64(a.of.values.Sample) != 0:
			a.count(ifa.Unsampled)
			return
		case pk.h.ifa != 0:
			a.count(ifa.Already)
			return
		}
	}
	pk.ifa = ifaMatch{a, a.of.values}
}

func (w *ifaWork) count() {
	if w.counts != nil {
		w.counts[w.result]++
	}
}

// decideIFA decides what IFA does to a copy in the egress pipe of a port.
func (c *analysing) decideIFA(p *port, cp *copyOf) {
	pk := cp.pk
	m := pk.ifa
	if m.action == nil && (c.transit == nil || !pk.meetsIFA()) || cp.mirror != nil || cp.raw {
		return
	}
	length := cp.leavingLen()
	w := c.spares.ifa.get()
	*w = ifaWork{out: p.number, speed: ifa.SpeedOf(p.mbps), queue: cp.queue, depth: cp.depth}
	switch {
	case m.action == nil:
		w.values, w.counts = c.transit.values, &c.transit.counts
		w.result = w.add(pk)
	case m.action.ends:
		w.values, w.counts, w.reports, w.of = m.values, m.action.counts, m.action.reports, m.action.of
		w.result = w.end(pk)
	default:
		w.values, w.counts = m.values, m.action.counts
		w.result = w.begin(pk)
	}
	if cp.shortened() {
		w.result, w.longer = ifa.Cut, 0
	}
	if w.longer > 0 && (uint32(length+w.longer)+fcsLen > p.stampMTU || uint32(int(pk.h.ipLen)+w.longer) > pk.datagrams()) {
		w.result, w.longer = ifa.MTU, 0
	}
	cp.ifa = w
}

// datagrams returns the maximum length, in bytes, of the packet after its Ethernet header as it leaves.
func (pk *packet) datagrams() uint32 {
	if pk.ipMTU != 0 {
		return min(pk.ipMTU, 1<<16-1)
	}
	return 1<<16 - 1
}

// begin inserts IFA if possible, and returns the result.
func (w *ifaWork) begin(pk *packet) ifa.Count {
	if pk.endUnknown() {
		return ifa.Cut
	}
	h := &pk.h
	if !h.stampable() || h.flags&flagFragment != 0 {
		return ifa.Unsupported
	}
	ip := h.datagram(pk.data)
	at := 40
	if h.flags&flagIPv4 != 0 {
		at = int(ip[0]&15) * 4
	} else if ip[6] != h.proto { // the protocol follows extension headers
		return ifa.Unsupported
	}
	n, err := ifa.TransportSize(h.proto, ip[at:])
	if err != nil {
		return ifa.Unsupported
	}
	w.place, w.longer = ifa.Place{Header: at, Transport: at, Metadata: at + n}, ifa.Overhead
	return ifa.Inserted
}

// add adds a hop if possible, and returns the result.
func (w *ifaWork) add(pk *packet) ifa.Count {
	switch {
	case pk.endUnknown():
		return ifa.Cut
	case pk.h.ifa == 0:
		return ifa.Unsupported
	}
	ip := pk.h.datagram(pk.data)
	w.place, _ = ifa.Locate(ip)
	h, m := ifa.ReadHeader(ip[w.place.Header:]), ifa.ReadMetadata(ip[w.place.Metadata:])
	switch {
	case h.GNS != ifa.PerHop:
		return ifa.Unsupported
	case m.HopLimit == 0:
		return ifa.HopLimit
	case int(m.Length)+ifa.HopWords > int(h.MaxLength):
		return ifa.MaxLength
	}
	w.longer = ifa.HopSize
	return ifa.Inserted
}

// end removes IFA if possible, and returns the result.
func (w *ifaWork) end(pk *packet) ifa.Count {
	if pk.cut() {
		return ifa.Cut
	}
	w.place, _ = ifa.Locate(pk.h.datagram(pk.data))
	w.longer = -w.place.Size()
	return ifa.Stripped
}

// timeIFA notes the time at which a copy leaves. A stripped copy is also copied for collectors.
func (c *analysing) timeIFA(cp *copyOf) {
	w := cp.ifa
	w.leaves = cp.at
	if w.result != ifa.Stripped {
		return
	}
	n := c.spares.ifa.get()
	*n = *w
	n.longer = 0
	n.result = n.add(cp.pk)
	if int(cp.pk.h.ipLen)+n.longer > 1<<16-1 {
		n.result, n.longer = ifa.MTU, 0
	}
	m := mirroring{set: w.reports, copy: *cp}
	m.copy.head, m.copy.ifa, m.copy.met = c.programs.copyHeading(cp.head), n, nil
	c.leave(m)
}

// reportIFA returns the IFA work for one collector's copy, and counts it as reported.
func (c *core) reportIFA(w *ifaWork) *ifaWork {
	n := c.spares.ifa.get()
	*n = *w
	if n.counts != nil {
		n.counts[ifa.Reported]++
	}
	return n
}

// putIFA applies the decided IFA work to the frame of a copy. The frame is in c.spares.scratch, with its IP header at
// l3.
func (c *core) putIFA(b []byte, l3 int, cp *copyOf) []byte {
	w := cp.ifa
	if w.longer == 0 {
		return b
	}
	ip := b[l3:]
	if w.result == ifa.Stripped {
		return append(b[:l3], w.place.Strip(ip)...)
	}
	hop := c.hopIFA(cp, ip)
	if cp.pk.h.ifa != 0 {
		return append(b[:l3], w.place.Push(ip, &hop)...)
	}
	h := ifa.Header{GNS: ifa.PerHop, Next: cp.pk.h.proto, Flags: ifa.Inband, MaxLength: w.values.MaxLength}
	m := ifa.Metadata{Request: w.values.Request, Action: w.values.Action, HopLimit: w.values.HopLimit}
	return append(b[:l3], ifa.Insert(ip, w.place.Transport, w.place.Metadata-w.place.Transport, h, m, &hop)...)
}

// hopIFA returns the chip's hop for a copy. ip is its IP packet as it leaves.
func (c *core) hopIFA(cp *copyOf, ip []byte) ifa.Hop {
	w, pk := cp.ifa, cp.pk
	t := c.stayFrom(pk.rx, w.leaves)
	hop := ifa.Hop{
		Device: w.values.device, Speed: w.speed, Queue: w.queue, Seconds: uint32(t.in.Seconds), Nanoseconds: t.in.Nanoseconds,
		OutPort: w.out, InPort: pk.inN, QueueBytes: w.depth, Residence: t.residence(),
	}
	if t.unsync {
		hop.Trust = ifa.Unsynchronised
	}
	if t.set {
		hop.Trust |= ifa.ClockSet
	}
	if ip[0]>>4 == 4 {
		hop.TTL, hop.Congestion = ip[8], ip[1]&3
	} else {
		hop.TTL, hop.Congestion = ip[7], ip[1]>>4&3
	}
	return hop
}

// residence returns the time that the packet spent in the chip, as a hop contains it.
func (s *stay) residence() uint32 {
	if d := s.out.Sub(s.in); !s.set && d >= 0 && d < ifa.Longest {
		return uint32(d)
	}
	return ifa.Longest
}
