package engine

import (
	"encoding/binary"
	"math/bits"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tm"
)

// Most packets are untagged, between two hosts in the FDB, and only the bridge decides their destination. Each part of
// the chip has a shortcut for them. This file has all shortcuts, and everything that closes them:
//
//   - to every packet: the table in [Engine.closed]
//   - to packets that arrive or leave by a port: the table in [port.closed]
//   - to one packet: the conditions at the beginning of each shortcut
//
// The tables are evaluated when something may have changed. A packet only tests the resulting bits. A new feature that
// affects packets or observes them must add its line to a table, or its condition to a shortcut. The event path takes
// no shortcut and the reference has none. Tests compare the shortcuts with both, and count the packets on each.
type shortcuts uint8

const (
	// cutIngress skips the whole ingress pipe if there is no program.
	cutIngress shortcuts = 1 << iota
	// cutAdmission skips parser, traps and admission of the pipe with a program, and learning and forwarding.
	cutAdmission
	// cutPassage is for packets that do not need their program after the ingress pipe.
	cutPassage
	// cutReplication makes no copies: the packet itself is the only one.
	cutReplication
	// cutEgress skips the queue, which must be empty, and runs the egress pipe immediately.
	cutEgress
	// cutMAC is for frames that leave as received.
	cutMAC

	everyCut = 1<<iota - 1
)

// shortcutNames holds the names of the shortcuts, in the order of their bits. A new shortcut, such as one for other
// packets, needs a name here and a call of took, so that tests count its packets.
var shortcutNames = [...]string{"ingress", "admission", "passage", "replication", "egress", "MAC"}

// Each shortcut has a name, and each name a shortcut.
var _ = [1]struct{}{}[1<<len(shortcutNames)-1-everyCut]

// took counts a packet on a shortcut. Tests require that each shortcut carries packets: see [Engine.Shortcuts].
func (c *core) took(x shortcuts) { c.carried[bits.TrailingZeros8(uint8(x))&7]++ }

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
	return sum(
		closing{everyCut, c.stepping},
		closing{cutReplication | cutMAC, c.observer != nil}, // an observer receives every step
		closing{cutIngress | cutAdmission | cutPassage, c.tracking},
		closing{cutIngress | cutAdmission, c.choosing},
		closing{cutIngress | cutAdmission, c.skips != 0},
		closing{cutIngress | cutAdmission, c.traps.udp}, // some UDP packets are trapped
		closing{cutIngress | cutAdmission, len(c.acl.preIngress) > 0},
		closing{cutIngress, c.acl.vlanACLs[stageIngress]},
		closing{cutIngress, program != nil},
		closing{cutPassage, program != nil && !program.Empty(true)}, // the program has stages in the egress pipe
		closing{cutPassage, program != nil && (program.Writes(true)|program.Writes(false))&headerWords != 0},
		closing{cutEgress, c.acl.vlanACLs[stageEgress]},
	)
}

// closed returns the shortcuts that are closed at a port. The port's derived fields must be up to date.
func (p *port) closed(recorders uint64) shortcuts {
	v, source := p.in.untagged, p.in.source
	return sum(
		// Untagged frames must be in a VLAN that is only bridged, and at a port that learns.
		closing{cutIngress | cutAdmission, v == nil || v.rif != nil || v.noLearn},
		closing{cutIngress | cutAdmission, source == nil || source.learning != config.Learn},
		closing{cutIngress | cutAdmission, p.lag != nil},
		closing{cutIngress | cutAdmission, p.mirror[stageIngress]&^recorders != 0},
		closing{cutIngress | cutAdmission, p.class.dscp != nil},
		closing{cutEgress, len(p.tables[stageEgress]) > 0 || p.mirror[stageEgress] != 0},
		closing{cutEgress | cutMAC, !p.up},
	)
}

// usual runs the ingress pipe without a program for an unsampled, untagged packet. The packet must be from an address
// known at its port to one known at another port. It returns false for any other packet, without any effect.
func (c *ingressPipe) usual(p *port, pk *packet, at Cycle) bool {
	data := pk.data
	if !usualIPv4(data, pk.length) || c.clamps.wants(data) {
		return false
	}
	from, out := c.between(&p.in, binary.BigEndian.Uint64(data)>>16, binary.BigEndian.Uint64(data[6:])>>16)
	if from == nil {
		return false
	}
	c.took(cutIngress)
	c.admitted(p, pk)
	pk.ecn, pk.from = data[ethernetHeader+1]&3 != 0, p.in.source.number
	if pk.usual = len(p.tables[stageIngress]) == 0; !pk.usual && !c.unhindered(p, pk, at) {
		return true
	}
	from.seen = at
	pk.plain, pk.to, pk.why = true, out, drop.NoDestination
	c.pipe.Push(timed{at + c.ingressCycles, pk})
	return true
}

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

// admitted notes the results of admission for an untagged packet.
func (c *ingressPipe) admitted(p *port, pk *packet) {
	pk.vid, pk.inN, pk.tc, pk.pushPriority = p.in.pvid, p.number, p.class.defaultTC, p.in.priority
}

// unhindered runs ACL for a packet that is usual so far. If an entry affects the packet's destination, it forwards the
// packet and returns false.
func (c *ingressPipe) unhindered(p *port, pk *packet, at Cycle) bool {
	c.now = at
	pk.h.usual(pk.data)
	pk.source = p.in.source
	if c.noting {
		pk.note()
	}
	c.acl.lookupIngress(p, pk)
	if pk.free() && !pk.accompanied() && pk.ifa.action == nil {
		pk.own.session = pk.stamp
		if c.noting {
			pk.noted |= notedKnown
		}
		return true
	}
	c.decide(p, pk)
	return false
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
	c.took(cutAdmission)
	pk.h.usual(data)
	pk.source = p.in.source
	c.admitted(p, pk)
	if c.noting {
		pk.note()
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

// single reports whether a packet at the end of the ingress pipe has one bridge port as its only destination, and no
// state that only copies have.
func (p *packet) single() bool {
	v := &p.verdict
	return v.kind == toBridgePort && !v.cpu && !p.accompanied() && p.run == nil && p.graph == nil && !p.meetsIFA() &&
		!p.chosen
}

// replicate makes the copies of a packet that leaves the ingress pipe. A single copy is in the packet itself.
func (c *ingressPipe) replicate(pk *packet) {
	if !pk.plain || c.off&cutReplication != 0 || pk.to.port == nil {
		c.copies(pk)
		return
	}
	c.took(cutReplication)
	pk.copies, pk.own.number, pk.own.tag = 1, 1, pk.to.tagging(pk)
	if p := pk.to.port; !c.queues.straight(p, pk) {
		c.queues.enqueue(p, &pk.own)
	}
}

// straight does enqueue, and everything up to the MAC, for the only copy of a packet that need not wait. No frame may
// be queued at the port, and its scheduler and the egress pipe must be free. In the egress pipe, only sketches, the
// MTU, a sampler that skips it, and the stamp requested by the ingress pipe may apply. It returns false if the copy
// must wait, without any effect.
func (c *queues) straight(p *port, pk *packet) bool {
	sampler := p.sampled[stageEgress]
	if (c.off|p.off)&cutEgress != 0 || sampler != nil && sampler.left == 0 ||
		p.queues.Len() > 0 || c.egressFree > c.now || p.txFree.cycle > c.now+c.egressCycles {
		return false
	}
	c.took(cutEgress)
	cp := &pk.own
	cp.queued, cp.queue, cp.asked = c.now, p.class.queueOf(pk.tc, p.queues.Queues()), true
	v := p.queues.Pass(int(cp.queue), uint32(pk.length), pk.ecn)
	if v > tm.Marked {
		c.fates.dropBefore(p, cp, verdictDrops[v])
		return true
	}
	cp.ce = v == tm.Marked
	c.egressFree = cp.queued + 1
	c.egress.sketch.copies++
	if c.egress.sketch.on {
		pk.whole()
		c.egress.sketch.measure(cp)
	}
	length := cp.taggedLen()
	if uint32(length)+fcsLen > p.mtu {
		cp.tooLong()
		c.fates.dropCopy(p, cp, drop.EgressMTU)
		return true
	}
	if sampler != nil {
		sampler.left--
	}
	if cp.session != nil {
		if cp.result = stampable(pk, length, p.stampMTU); cp.result == stampDone {
			length = stampedLen(length)
		}
	}
	cp.same = !cp.ce && !pk.edited && cp.tag.op == tagKeep
	c.send(p, cp, length)
	return true
}

// pass does transmit for an unmodified, complete copy, as a fast path. A record may still be appended.
func (c *wires) pass(p *port, cp *copyOf) {
	c.took(cutMAC)
	pk := cp.pk
	data, length, stamped := pk.data, pk.length, false
	if s := cp.session; s != nil {
		s.count(cp.result)
		if stamped = cp.result == stampDone; stamped {
			data = c.appendRecord(append(c.spares.scratch[:0], data...), s, pk, p.number, c.now)
			length = len(data)
		}
	}
	c.output(p, pk, data, length, stamped)
	c.free(pk)
}
