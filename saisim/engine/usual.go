package engine

import (
	"encoding/binary"

	"tamtam/saisim/drop"
)

// The short ways through the ingress pipe, which most packets go. The event path goes none of them, and the reference
// knows none: each is compared with both.

// calm reports whether packets that come in at ports which are calm are admitted, and go where an ACL table, a program or
// addresses say.
func (c *ingressPipe) calm() bool {
	return c.observer == nil && !c.tracking && c.skips == 0 && !c.traps.ip
}

// usual is the ingress pipe for most packets where there is no program and no ACL table of a VLAN: untagged, at a port
// that is calm, from an address that is known to be there to one that is known elsewhere. False: the packet is another,
// and nothing has happened.
func (c *ingressPipe) usual(p *port, pk *packet, at Cycle) bool {
	data := pk.data
	if !usualIPv4(data, pk.length) {
		return false
	}
	from, out := c.between(&p.in, binary.BigEndian.Uint64(data)>>16, binary.BigEndian.Uint64(data[6:])>>16)
	if from == nil {
		return false
	}
	c.admitted(p, pk)
	pk.ecn = data[ethernetHeader+1]&3 != 0
	if pk.usual = len(p.tables[stageIngress]) == 0; !pk.usual && !c.unhindered(p, pk, at) {
		return true
	}
	from.seen = at
	pk.plain, pk.to, pk.why = true, out, drop.NoDestination
	c.pipe.Push(timed{at + c.ingressCycles, pk})
	return true
}

// between returns the FDB's entry of a source address and where the destination leads, if both are known, each at
// another port, and nothing else has a say, for a packet at a calm port.
func (c *ingressPipe) between(in *admission, dmac, smac uint64) (*fdbEntry, *bridgePort) {
	if (dmac|smac)>>40&1 != 0 || dmac == c.switchMAC {
		return nil, nil
	}
	from, to := c.bridge.fdb.find(fdbKey(in.pvid, smac)), c.bridge.fdb.find(fdbKey(in.pvid, dmac))
	if from == nil || from.to != in.source || to == nil || to.act != 0 {
		return nil, nil
	}
	if out := to.to; out != in.source && out.admin && out.member(in.pvid) {
		return from, out
	}
	return nil, nil
}

// admitted is what admission notes of an untagged packet at a calm port.
func (c *ingressPipe) admitted(p *port, pk *packet) {
	pk.vid, pk.inN, pk.tc, pk.pushPriority = p.in.pvid, p.number, p.class.defaultTC, p.in.priority
}

// admitUsual is begin for most packets at a port that is calm. False: the packet is another, and nothing has happened.
func (c *ingressPipe) admitUsual(p *port, pk *packet) bool {
	data := pk.data
	if !usualIPv4(data, pk.length) || (data[0]|data[6])&1 != 0 || binary.BigEndian.Uint64(data)>>16 == c.switchMAC {
		return false
	}
	pk.h.usual(data)
	pk.source = p.in.source
	c.admitted(p, pk)
	return true
}

// unhindered is ACL for a packet that is usual so far. False: an entry has a say where it goes, and it has gone there.
func (c *ingressPipe) unhindered(p *port, pk *packet, at Cycle) bool {
	c.now = at
	pk.h.usual(pk.data)
	pk.source = p.in.source
	c.acl.lookupIngress(p, pk)
	if pk.free() && pk.mirrors == 0 && pk.record == nil {
		pk.own.session = pk.stamp
		return true
	}
	c.decide(p, pk)
	return false
}

// free reports whether no trap and no ACL entry has a say where a packet goes.
func (p *packet) free() bool { return p.act == 0 && !p.aclDrop && !p.noLearn && p.redirect == nil }

// toKnown is forward for a packet at a calm port that is from and to addresses that are known.
func (c *ingressPipe) toKnown(in *admission, pk *packet) bool {
	from, out := c.between(in, pk.h.dmac, pk.h.smac)
	if from == nil {
		return false
	}
	from.seen, pk.why = c.now, drop.NoDestination
	pk.verdict.kind, pk.verdict.to = toBridgePort, out
	return true
}
