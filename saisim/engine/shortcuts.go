package engine

import (
	"encoding/binary"
	"math/bits"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tm"
)

// Most packets are untagged. Either they go from one host in the FDB to another, and only the bridge decides, or they
// go to a known neighbour, and only the router decides. Each part of the chip has a shortcut for them. This file has
// all shortcuts, and everything that closes them:
//
//   - to every packet: the table in [Engine.closed]
//   - to packets that arrive or leave by a port: the table in [port.closed]
//   - to one packet: the conditions at the beginning of each shortcut
//
// The tables are evaluated when something may have changed. A packet only tests the resulting bits. A new feature that
// affects packets or observes them must add its line to a table, or its condition to a shortcut. The event path takes
// no shortcut and the reference has none. Tests compare the shortcuts with both, and count the packets on each.
type shortcuts uint16

const (
	// cutBridging skips the whole ingress pipe for bridged packets, if there is no program or a passive one.
	cutBridging shortcuts = 1 << iota
	// cutRouting does the same for routed packets.
	cutRouting
	// cutAdmission skips parser, traps and admission of the pipe with a program, and learning and forwarding.
	cutAdmission
	// cutPassage is for packets that do not need their program after the ingress pipe.
	cutPassage
	// cutReplication makes no copies: the packet itself is the only one.
	cutReplication
	// cutEgress runs the egress pipe for a copy at once, and skips the queue if that is empty.
	cutEgress
	// cutMAC is for frames that leave as received, or edited in their Ethernet and IPv4 headers only.
	cutMAC
	// cutPassive runs a passive program after its packets have left the ingress pipe. It is closed without such a program.
	cutPassive
	// cutACL looks a packet of cutBridging or cutRouting up in a single ACL table, without parsing its headers. If the
	// entry that it hits only counts or stamps, the packet stays usual.
	cutACL

	everyCut   = 1<<iota - 1
	cutIngress = cutBridging | cutRouting
)

// shortcutNames holds the names of the shortcuts, in the order of their bits. A new shortcut, such as one for other
// packets, needs a name here and a call of took, so that tests count its packets.
var shortcutNames = [...]string{
	"bridging", "routing", "admission", "passage", "replication", "egress", "MAC", "passive program",
	"single ACL table",
}

// Each shortcut has a name, and each name a shortcut.
var _ = [1]struct{}{}[1<<len(shortcutNames)-1-everyCut]

// took counts a packet on a shortcut. Tests require that each shortcut carries packets: see [Engine.Shortcuts].
func (c *core) took(x shortcuts) { c.carried[bits.TrailingZeros16(uint16(x))&15]++ }

// A ShortcutCount holds the number of packets that have taken a shortcut.
type ShortcutCount struct {
	Name    string
	Packets uint64
}

// Shortcuts returns the counts of all shortcuts.
func (c *Engine) Shortcuts() (counts []ShortcutCount) {
	for i, name := range shortcutNames {
		counts = append(counts, ShortcutCount{name, c.carried[i]})
	}
	return counts
}

// A closing is a condition that closes some shortcuts.
type closing struct {
	off  shortcuts
	when bool
}

// sum returns all shortcuts that at least one of the closings closes.
func sum(closings ...closing) (off shortcuts) {
	for _, x := range closings {
		if x.when {
			off |= x.off
		}
	}
	return off
}

// closed returns the shortcuts that are closed to all packets.
func (c *Engine) closed() shortcuts {
	program := c.programs.program
	passive := !c.stepping && !c.tracking && c.programs.watches(c.noting || c.found != nil)
	return sum(
		closing{everyCut, c.stepping},
		closing{cutReplication | cutMAC, c.observer != nil}, // an observer receives every step
		closing{cutIngress | cutAdmission | cutPassage, c.tracking},
		closing{cutIngress | cutAdmission, c.choosing},
		closing{cutIngress | cutAdmission, c.skips != 0},
		closing{cutIngress | cutAdmission, len(c.acl.preIngress) > 0},
		closing{cutIngress, c.acl.vlanACLs[stageIngress]},
		closing{cutIngress, program != nil && !passive},
		closing{cutPassive, !passive},
		closing{cutACL, c.acl.marking.used > 0}, // the key has the time
		closing{cutACL, c.acl.ranges.used != 0}, // the key has bits of parsed headers
		closing{cutRouting, !isUsual(&c.router.ecmpHash)},
		closing{cutPassage, program != nil && !program.Empty(true)}, // the program has stages in the egress pipe
		closing{cutPassage, program != nil && (program.Writes(true)|program.Writes(false))&headerWords != 0},
		closing{cutEgress, c.acl.vlanACLs[stageEgress]},
	)
}

// closed returns the shortcuts that are closed at a port. The port's derived fields must be up to date.
func (p *port) closed(recorders uint64) shortcuts {
	v, source := p.in.untagged, p.in.source
	bridged := v != nil && !v.noLearn && source != nil && source.learning == config.Learn
	return sum(
		// Untagged frames must be in a VLAN and at a port that learns, or at a router interface of a port or LAG.
		closing{cutBridging, !bridged},
		closing{cutRouting, p.in.untaggedRIF == nil || v != nil && !bridged},
		closing{cutAdmission, !bridged || p.in.untaggedRIF != nil},
		closing{cutIngress | cutAdmission, p.mirror[stageIngress]&^recorders != 0},
		closing{cutIngress | cutAdmission, p.class.colours != (colourMaps{})},
		closing{cutACL, len(p.tables[stageIngress]) != 1 || p.in.lag != nil},
		closing{cutEgress, len(p.tables[stageEgress]) > 0 || p.mirror[stageEgress] != 0},
		closing{cutEgress, p.shaped}, // frames may have to wait in their queue
		closing{cutEgress | cutMAC, !p.up},
	)
}

// usual runs the ingress pipe, except a program, for an unsampled, untagged packet. The packet must be from an address
// known at its port to one known at another port, or routed to a known neighbour. It returns false for any other
// packet, without any effect.
func (c *ingressPipe) usual(p *port, pk *packet, at Cycle) bool {
	data := pk.data
	if !usualIPv4(data, pk.length) || c.clamps.wants(data) {
		return false
	}
	dmac, smac := binary.BigEndian.Uint64(data)>>16, binary.BigEndian.Uint64(data[6:])>>16
	r := p.in.untaggedRIF
	if r != nil {
		if dmac == r.mac || dmac == c.switchMAC && dmac != 0 {
			return (c.off|p.off)&cutRouting == 0 && c.usualRoute(p, pk, at, smac)
		}
		if p.off&cutBridging != 0 {
			return false
		}
	}
	if c.traps.udp && !routable(binary.BigEndian.Uint32(data[ethernetHeader+16:])) {
		return false // DHCP may be trapped
	}
	from, out := c.between(&p.in, dmac, smac)
	if from == nil {
		return false
	}
	c.took(cutBridging)
	c.admitted(p, pk)
	if c.off&cutPassive == 0 {
		c.took(cutPassive)
		c.programs.seeUsual(pk, at)
	}
	pk.from = p.in.source.number
	if r != nil || !p.unlisted() {
		if !c.unhindered(p, pk, at) {
			return true
		}
		if c.noting {
			pk.noted |= notedKnown
		}
	} else {
		pk.usual = true
	}
	from.seen = at
	pk.plain, pk.to, pk.why = true, out, drop.NoDestination
	c.pipe.Push(timed{at + c.ingressCycles, pk})
	return true
}

// usualRoute does usual for a packet to its router interface, p.in.untaggedRIF.
func (c *ingressPipe) usualRoute(p *port, pk *packet, at Cycle, smac uint64) bool {
	in := &p.in
	r := in.untaggedRIF
	d, hop := c.router.usual(r, pk.data[ethernetHeader:])
	if hop == nil || smac>>40&1 != 0 {
		return false
	}
	var from, to *fdbEntry
	if r.vlan != nil {
		if from = c.bridge.fdb.find(fdbKey(in.pvid, smac)); from == nil || from.to != in.source {
			return false
		}
	}
	out := hop.rif
	if out.vlan != nil {
		to = c.bridge.fdb.find(fdbKey(out.vlan.id, hop.mac))
		if to == nil || to.act != 0 || !to.to.member(out.vlan.id) || !to.to.admin {
			return false
		}
	}
	c.took(cutRouting)
	c.admitted(p, pk)
	if c.off&cutPassive == 0 {
		c.took(cutPassive)
		c.programs.seeUsual(pk, at)
	}
	if p.unlisted() {
		pk.usual = true
		pk.note(r)
	} else if !c.unhindered(p, pk, at) {
		return true
	}
	r.count(rifIn, pk.length+fcsLen)
	out.count(rifOut, pk.length+fcsLen)
	if from != nil {
		from.seen = at
		if c.noting {
			pk.noteLearnt(from, smac)
		}
	}
	if c.noting {
		pk.noteRouted(d, hop)
	}
	pk.edited, pk.edit.routed, pk.edit.dmac, pk.edit.smac = true, true, hop.mac, out.mac
	pk.edit.prefix, pk.edit.hop = uint8(d.prefix.Bits()), hop
	pk.source, pk.vid, pk.plain, pk.out, pk.why = nil, 0, true, out.port, drop.NoDestination
	switch {
	case to != nil:
		pk.vid, pk.to = out.vlan.id, to.to
		if c.noting {
			pk.noteFDB(pk.vid, hop.mac, to)
		}
	case out.lag != nil:
		pk.whole()
		pk.plain, pk.verdict.kind, pk.verdict.lag = false, toLAG, out.lag
	}
	c.pipe.Push(timed{at + c.ingressCycles, pk})
	return true
}

// unlisted reports whether packets that arrive at a port are looked up in no ingress ACL table, and have no LAG, which
// an egress ACL table may match.
func (p *port) unlisted() bool { return len(p.tables[stageIngress]) == 0 && p.in.lag == nil }

// between returns the FDB entry of a source address and the destination's bridge port, for an untagged packet. It
// returns nil unless both addresses are known, at different ports, and only the bridge decides.
func (c *ingressPipe) between(in *admission, dmac, smac uint64) (*fdbEntry, *bridgePort) {
	if (dmac|smac)>>40&1 != 0 || dmac == c.switchMAC {
		return nil, nil
	}
	from, to := c.bridge.fdb.find(fdbKey(in.pvid, smac)), c.bridge.fdb.find(fdbKey(in.pvid, dmac))
	if from == nil || from.to != in.source || from.act != 0 || to == nil || to.act != 0 {
		return nil, nil
	}
	if out := to.to; out != in.source && out.admin && out.member(in.pvid) {
		return from, out
	}
	return nil, nil
}

// admitted notes the results of admission for an untagged packet that usualIPv4 accepted.
func (c *ingressPipe) admitted(p *port, pk *packet) {
	tos := pk.data[ethernetHeader+1]
	pk.vid, pk.inN, pk.tc, pk.pushPriority = p.in.pvid, p.number, p.class.defaultTC, p.in.priority
	if p.in.router != nil {
		pk.vid = 0
	}
	if p.class.dscp != nil {
		pk.tc = p.class.dscp[tos>>2]
	}
	pk.ecn, pk.untaggedIPv4 = tos&3 != 0, true
}

// unhindered runs ACL for a packet that is usual so far. If an entry affects the packet's destination or its headers,
// it forwards the packet and returns false.
func (c *ingressPipe) unhindered(p *port, pk *packet, at Cycle) bool {
	c.now = at
	var l *lookup
	var e *aclEntry
	if (c.off|p.off)&cutACL == 0 {
		var k aclKey
		k.usualKey(pk)
		l = &p.tables[stageIngress][0]
		e = l.table.space.lookup(&k, &crossing{in: pk.in, out: CPUPort})
		if e == nil || e.act == 0 && !e.noLearn && e.does&^doesStamp == 0 {
			c.passed(p, pk, l, e)
			return true
		}
	}
	pk.h.usual(pk.data)
	pk.source, pk.router, pk.lag = p.in.source, p.in.untaggedRIF, p.in.lag
	if c.noting {
		pk.note(pk.router)
	}
	if len(p.tables[stageIngress]) > 0 {
		if l != nil {
			c.acl.hitOne(pk, l, e, markTime{})
		} else {
			c.acl.lookupIngress(p, pk)
		}
		if c.off&cutPassive == 0 {
			c.programs.seeACL(pk)
		}
	}
	if pk.free() && !pk.accompanied() && pk.ifa.action == nil && pk.noted&notedOuter == 0 {
		pk.own.session = pk.stamp
		return true
	}
	c.decide(p, pk)
	return false
}

// passed notes the lookup of a packet whose entry, if there is one, does no more than stamp and count. The packet stays
// usual.
func (c *ingressPipe) passed(p *port, pk *packet, l *lookup, e *aclEntry) {
	c.took(cutACL)
	pk.usual = true
	if r := p.in.untaggedRIF; c.noting || r != nil {
		pk.note(r)
		pk.looked(l.table, e)
	}
	if e == nil {
		return
	}
	if e.counter != nil {
		e.counter.hit(pk.length + fcsLen)
	}
	pk.own.session = e.stamp
}

// free reports whether no trap and no ACL entry affects a packet's destination.
func (p *packet) free() bool { return p.act == 0 && !p.aclDrop && !p.noLearn && p.redirect == nil }

// accompanied reports whether mirror sessions, records or samplers need copies of a packet.
func (p *passing) accompanied() bool { return p.mirrors != 0 || p.record != nil || p.sampled() }

// admitUsual does the work of begin for a packet with a program. If the packet is not usual, it returns false and has
// no effect.
func (c *ingressPipe) admitUsual(p *port, pk *packet) bool {
	data := pk.data
	if !usualIPv4(data, pk.length) || (data[0]|data[6])&1 != 0 || binary.BigEndian.Uint64(data)>>16 == c.switchMAC {
		return false
	}
	if c.traps.udp && !routable(binary.BigEndian.Uint32(data[ethernetHeader+16:])) {
		return false // DHCP may be trapped
	}
	c.took(cutAdmission)
	pk.h.usual(data)
	pk.source, pk.lag = p.in.source, p.in.lag
	c.admitted(p, pk)
	if c.noting {
		pk.note(nil)
	}
	return true
}

// toKnown does the work of forward for a packet that admitUsual has admitted. If an address is unknown, it returns
// false and has no effect.
func (c *ingressPipe) toKnown(in *admission, pk *packet) bool {
	if !pk.free() {
		return false
	}
	from, out := c.between(in, pk.h.dmac, pk.h.smac)
	if from == nil {
		return false
	}
	if c.noting {
		pk.noteKnown(in.source, out)
	}
	from.seen, pk.why = c.now, drop.NoDestination
	pk.verdict.kind, pk.verdict.to = toBridgePort, out
	return true
}

// single reports whether a packet at the end of the ingress pipe has one port or bridge port as its only destination,
// and no state that only copies have.
func (p *packet) single() bool {
	v := &p.verdict
	return (v.kind == toBridgePort || v.kind == toPort) && !v.cpu && !p.accompanied() &&
		p.run == nil && p.graph == nil && !p.meetsIFA() && !p.chosen && p.colour == tm.Green
}

// onlyCopy makes the only copy of a packet, which is in the packet itself, for a bridge port, or nil for a routed port.
func (p *packet) onlyCopy(to *bridgePort) { p.copies, p.own.number, p.own.tag = 1, 1, to.tagging(p) }

// replicate makes the copies of a packet that leaves the ingress pipe. A single copy is in the packet itself.
func (c *ingressPipe) replicate(pk *packet) {
	p, to := pk.out, pk.to
	switch {
	case !pk.plain || c.off&cutReplication != 0 || to != nil && to.port == nil || c.queues.accounts.on > 0:
		c.copies(pk)
		return
	case to != nil:
		p = to.port
	default:
		to = p.bridgePort
	}
	c.took(cutReplication)
	pk.onlyCopy(to)
	if !c.queues.straight(p, pk) {
		c.queues.enqueue(p, &pk.own)
	}
}

// charged does replicate for a packet that is charged to an ingress priority group, if its only copy need not wait. It
// returns false, without any effect, if it must, or if there may be another copy. A packet that leaves where it arrived
// may have to wait for the frame that pauses its own group.
func (c *ingressPipe) charged(pk *packet) bool {
	p, to := pk.out, pk.to
	if to != nil {
		p = to.port
	}
	if !pk.plain || c.off&cutReplication != 0 || p == nil || p.id == pk.in || !c.queues.mayPass(p) {
		return false
	}
	if to == nil {
		to = p.bridgePort
	}
	if !c.queues.charge(pk) {
		pk.whole()
		pk.plain = false
		pk.refused()
		c.dropHere(pk, pk.why)
		return true
	}
	c.took(cutReplication)
	pk.onlyCopy(to)
	in, group, n, held := pk.in, int(pk.group-1), pk.length, pk.held > 0
	pk.held = 0
	c.queues.straight(p, pk)
	if held { // the packet may be gone
		c.queues.release(in, group, n, 0)
	}
	return true
}

// mayPass reports whether a frame need not wait for a port, and may take the shortcut through the egress pipe.
func (c *queues) mayPass(p *port) bool {
	return p.queues.Len() == 0 && c.egressFree <= c.now && p.txFree.cycle <= c.now+c.egressCycles && c.passes(p)
}

// straight does enqueue, and everything up to the MAC, for the only copy of a packet that need not wait. No frame may
// be queued at the port, and its scheduler and the egress pipe must be free. It returns false if the copy must wait,
// or may not take the shortcut through the egress pipe, without any effect. If it were inlined, the compiler would not
// inline the functions that it calls.
//
//go:noinline
func (c *queues) straight(p *port, pk *packet) bool {
	if !c.mayPass(p) {
		return false
	}
	cp := &pk.own
	cp.queued, cp.queue, cp.asked = c.now, p.class.queueOf(pk.tc, p.queues.Queues()), true
	v := p.queues.Pass(int(cp.queue), uint32(pk.length), pk.ecn)
	if v > tm.Marked {
		c.refused(p, cp, v)
		return true
	}
	cp.ce = v == tm.Marked
	c.pass(p, cp)
	return true
}

// passes reports whether the egress pipe of a port does nothing with the only copy of a plain packet besides sketches,
// the MTU, a sampler that skips it, and the stamp requested by the ingress pipe.
func (c *queues) passes(p *port) bool {
	sampler := p.sampled[stageEgress]
	return (c.off|p.off)&cutEgress == 0 && (sampler == nil || sampler.left > 0)
}

// pass does launch for the only copy of a plain packet, at a port for which passes is true.
func (c *queues) pass(p *port, cp *copyOf) {
	c.took(cutEgress)
	pk := cp.pk
	c.egressFree = c.now + 1
	c.egress.sketch.copies++
	if c.egress.sketch.on {
		c.egress.sketch.measure(cp)
	}
	length := cp.taggedLen()
	if uint32(length)+fcsLen > p.mtu {
		cp.tooLong()
		c.fates.dropCopy(p, cp, drop.EgressMTU)
		return
	}
	if x := p.sampled[stageEgress]; x != nil {
		x.left--
	}
	if cp.session != nil {
		if cp.result = stampable(pk, length, p.stampMTU); cp.result == stampDone {
			length = stampedLen(length)
		}
	}
	cp.same = !cp.ce && (!pk.edited || pk.untaggedIPv4) && cp.tag.op == tagKeep
	c.send(p, cp, length)
}

// pass does transmit for a complete copy without a change of its own, as a fast path. The packet's edit may apply, and
// a record may be appended.
func (c *wires) pass(p *port, cp *copyOf) {
	c.took(cutMAC)
	pk := cp.pk
	data, length, stamped := pk.data, pk.length, false
	if pk.edited || cp.session != nil {
		data, length, stamped = c.finished(p, cp)
	}
	c.output(p, pk, data, length, stamped)
	c.free(pk)
}

// finished returns the frame of a copy that pass sends, its length, and whether it has a record.
func (c *wires) finished(p *port, cp *copyOf) (data []byte, length int, stamped bool) {
	pk, s := cp.pk, cp.session
	if s != nil {
		s.count(cp.result)
		stamped = cp.result == stampDone
	}
	if pk.edited { // in place, because the packet ends here
		if pk.usual { // only routed
			pk.edit.route(pk.data, ethernetHeader, true)
		} else {
			pk.edit.apply(pk.data, ethernetHeader, true, 0)
		}
	}
	if !stamped {
		return pk.data, pk.length, false
	}
	data = c.spares.scratch[:len(pk.data)]
	copy(data, pk.data)
	data = c.appendRecord(data, s, pk, p.number, c.now)
	return data, len(data), true
}
