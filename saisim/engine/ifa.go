// # Inband Flow Analyzer
//
// The parser looks through the IFA header of packets in which [ifa.Locate] finds the parts, in what was captured of the
// datagram: protocol, ports and flags of TCP are those of the transport header behind it. It does so on a chip without
// any object of IFA too, so that a flow is the same flow at each switch, with IFA in its packets and without.
//
// The hit that decides among those of the ingress tables whose entries initiate or terminate IFA counts the packet as
// matched. An initiator then leaves alone packets that the parser has looked through (already), and of all that it
// has matched takes the first and each n-th behind it (else, and before that: unsampled); a terminator leaves alone
// those that the parser has not looked through (absent). A packet that is left alone is as if it had hit nothing.
// The values of the object are those of that instant; a terminator takes the mirror sessions of its entry for itself.
//
// In the egress pipe, in front of the MTU, each copy that is neither one for the CPU nor for a mirror session is
// given one thing to do: what the hit has begun or ended; else, if the switch is transit and the packet is
// of protocol 253 or was looked through, one more hop. The first that holds becomes of it:
//
//   - cut: the frame was cut by a capture
//   - unsupported: to initiate, the packet is no TCP or UDP with its whole header right behind that of IP, or a
//     fragment; to add a hop, the parser has not looked through, or the global name space is not 15
//   - hop limit: it is 0
//   - max length: the stack with 8 more words would be longer than the header says
//   - MTU: longer by 40 bytes to initiate, by 32 to add a hop, the frame with FCS exceeds what the port takes with a
//     record, or the datagram what the router interface takes that it is routed to, or 65535 bytes
//   - inserted, stripped
//
// That is counted when the copy leaves, by the ACL counter of the entry, or for transit.
//
// A copy that is stripped is also copied for the sessions that the entry mirrors to, when it is through the egress
// pipe: as it leaves, with IFA, and with one more hop if hop limit and max length allow it, which says the time
// that the stripped copy leaves. After these the object itself, if it has collectors by then, sends each of them that
// frame in a record of IPFIX, in a message of its own, as TAM events send theirs (reported, too). A hop has the headers
// as they leave, the queue that the copy came to, and what was in it then.
package engine

import (
	"tamtam/saisim/config"
	"tamtam/tam/ifa"
)

// analysing is what the egress pipe and the MACs do for IFA.
type analysing struct {
	*core
	programs *programs
	transit  *ifaInt                 // whose hops the switch adds as a transit; nil: it is none
	bound    []config.ID             // TAM objects of the switch
	byTAM    map[config.ID]config.ID // TAM INT objects of TAM objects
}

func (c *analysing) reset() { *c = analysing{core: c.core, programs: c.programs} }

// applyIFA compiles an object of IFA.
func (c *core) applyIFA(r config.TAMInt) {
	x := at[*ifaInt](c, r.ID)
	if x == nil {
		x = &ifaInt{}
		c.ids[r.ID] = x
	}
	x.values = &ifaValues{r.IFA, r.SwitchID}
}

// applyTransit notes the object of IFA in a TAM object.
func (c *analysing) applyTransit(r config.TAM, gone bool) {
	if c.byTAM == nil {
		c.byTAM = map[config.ID]config.ID{}
	}
	if delete(c.byTAM, r.ID); !gone && r.IFA != config.None {
		c.byTAM[r.ID] = r.IFA
	}
	c.bind(c.bound)
}

// bind binds TAM objects to the switch. Of those with an object of IFA the first one counts.
func (c *analysing) bind(tams []config.ID) {
	c.bound, c.transit = tams, nil
	for _, id := range tams {
		if x := at[*ifaInt](c.core, c.byTAM[id]); x != nil && c.transit == nil {
			c.transit = x
		}
	}
}

// bindIFA completes the action of an entry that has all others.
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

// meetsIFA reports whether a packet may have something of IFA done to its copies.
func (pk *packet) meetsIFA() bool {
	return pk.ifa.action != nil || pk.h.ifa != 0 || pk.h.proto == ifa.Protocol
}

// meetIFA notes the action of the entry that a packet has hit.
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

// decideIFA decides what is done to a copy in the egress pipe of a port.
func (c *analysing) decideIFA(p *port, cp *copyOf) {
	pk := cp.pk
	m := pk.ifa
	if m.action == nil && (c.transit == nil || !pk.meetsIFA()) || cp.mirror != nil || cp.raw {
		return
	}
	length := cp.leavingLen()
	w := c.spares.ifa.take()
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
	if w.longer > 0 && (uint32(length+w.longer)+fcsLen > p.stampMTU || uint32(int(pk.h.ipLen)+w.longer) > pk.datagrams()) {
		w.result, w.longer = ifa.MTU, 0
	}
	cp.ifa = w
}

// datagrams is how long the packet may be behind its Ethernet header as it leaves.
func (pk *packet) datagrams() uint32 {
	if pk.ipMTU != 0 {
		return min(pk.ipMTU, 1<<16-1)
	}
	return 1<<16 - 1
}

// begin has IFA begin, if it can.
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
	} else if ip[6] != h.proto { // behind extension headers
		return ifa.Unsupported
	}
	n, err := ifa.TransportSize(h.proto, ip[at:])
	if err != nil {
		return ifa.Unsupported
	}
	w.place, w.longer = ifa.Place{Header: at, Transport: at, Metadata: at + n}, ifa.Overhead
	return ifa.Inserted
}

// add has a hop added, if it can.
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

// end has IFA taken out.
func (w *ifaWork) end(pk *packet) ifa.Count {
	if pk.cut() {
		return ifa.Cut
	}
	w.place, _ = ifa.Locate(pk.h.datagram(pk.data))
	w.longer = -w.place.Size()
	return ifa.Stripped
}

// timeIFA notes when a copy leaves, and has it copied for collectors.
func (c *analysing) timeIFA(cp *copyOf) {
	w := cp.ifa
	w.leaves = cp.at
	if w.result != ifa.Stripped {
		return
	}
	n := c.spares.ifa.take()
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

// reportIFA is what is done to the copy of one collector.
func (c *core) reportIFA(w *ifaWork) *ifaWork {
	n := c.spares.ifa.take()
	*n = *w
	if n.counts != nil {
		n.counts[ifa.Reported]++
	}
	return n
}

// putIFA does to the frame of a copy, in c.spares.scratch with its IP header at l3, what was decided.
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

// hopIFA is what the chip says of a copy whose IP packet, as it leaves, is ip.
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

// residence returns how long the packet was in the chip, as a hop says it.
func (s *stay) residence() uint32 {
	if d := s.out.Sub(s.in); !s.set && d >= 0 && d < ifa.Longest {
		return uint32(d)
	}
	return ifa.Longest
}
