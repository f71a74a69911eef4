package saisim

// Effects of packet actions, which combine by or: the stricter wins.
type actions uint8

const (
	actDrop   actions = 1 << iota // not forwarded
	actCopy                       // a copy to the CPU
	actCancel                     // no copy to the CPU
)

// A verdict is what the ingress pipe decides to do with a packet.
type verdict struct {
	kind destination
	cpu  bool        // a copy goes to the CPU as well
	to   *bridgePort // toBridgePort
	port *port       // toPort: redirected
	lag  *lag        // toLAG: redirected
	vlan *vlan       // toVLAN
}

type destination uint8

const (
	toNobody     destination = iota
	toBridgePort             // known unicast
	toVLAN                   // flood
	toPort
	toLAG
)

// ingress runs the ingress pipe for a packet.
func (c *Chip) ingress(pk *packet) {
	if c.stale {
		c.compile()
	}
	if c.observer != nil {
		c.saw(MomentEntered, pk, 0, pk.in)
	}
	p := c.byID[pk.in]
	if p == nil {
		c.drop(nil, pk, DropPortRemoved)
		return
	}
	pk.h.parse(pk.data, pk.length)
	pk.inN = p.number
	pk.lag, pk.source = p.lag, p.bridgePort
	if p.lag != nil {
		pk.source = p.lag.bridgePort
	}
	act := c.traps(&pk.h)
	why, ok := c.classify(p, pk)
	if !ok && (act&actDrop == 0 || why == DropSourceAddress) {
		c.drop(p, pk, why)
		return
	}
	var hit hits
	c.lookupIngress(p, pk, &hit)
	if ok && !hit.noLearn {
		why, ok = c.learn(pk)
	}
	v := &pk.verdict
	act |= hit.act
	switch {
	case hit.act&actDrop != 0:
		why = DropACL
	case act&actDrop != 0:
		why = DropTrap
	case !ok:
	case hit.redirect.entry != nil:
		*v = hit.redirect.entry.redirect
	default:
		why = c.bridge(pk)
	}
	v.cpu = act&(actCopy|actCancel) == actCopy
	if v.kind == toNobody && !v.cpu {
		c.drop(p, pk, why)
		return
	}
	c.pipe.push(timed{c.now + c.ingressCycles, pk})
}

// classify finds the VLAN that the packet is in, and whether the port may send
// to it.
func (c *Chip) classify(p *port, pk *packet) (DropReason, bool) {
	h := &pk.h
	if h.smac>>40&1 != 0 {
		return DropSourceAddress, false
	}
	pvid, noTagged, noUntagged := p.pvid, p.dropTagged, p.dropUntagged
	pk.pushPriority = p.priority
	if l := p.lag; l != nil {
		pvid, noTagged, noUntagged = l.pvid, l.dropTagged, l.dropUntagged
		pk.pushPriority = l.priority
	}
	pk.tagged = h.flags&flagTagged != 0 && h.outerC
	pk.vid = pvid
	if pk.tagged && h.tci[0]&0xfff != 0 {
		pk.vid = h.tci[0] & 0xfff
		if noTagged {
			return DropTagFilter, false
		}
	} else if noUntagged {
		return DropTagFilter, false
	}
	switch {
	case p.lag != nil && !p.lagIngress:
		return DropNoLAGMember, false
	case pk.vid > 4094 || c.vlans[pk.vid] == nil || pk.source == nil || !pk.source.admin:
		return DropNoVLAN, false
	case !pk.source.member(pk.vid):
		return DropNotMember, false
	}
	return 0, true
}

// bridge decides where a packet goes by its destination address.
func (c *Chip) bridge(pk *packet) DropReason {
	v := c.vlans[pk.vid]
	if pk.h.dmac>>40&1 != 0 {
		if pk.h.dmac == 0xffffffffffff && v.noBroadcast || pk.h.dmac != 0xffffffffffff && v.noMulticast {
			return DropMiss
		}
		pk.verdict.kind, pk.verdict.vlan = toVLAN, v
		return DropNoDestination
	}
	e := c.fdb.find(fdbKey(pk.vid, pk.h.dmac))
	switch {
	case e == nil:
		if v.noUnknown {
			return DropMiss
		}
		pk.verdict.kind, pk.verdict.vlan = toVLAN, v
		return DropNoDestination
	case e.drop:
		return DropFDB
	case e.to == pk.source:
		return DropSamePort
	case !e.to.member(pk.vid) || !e.to.admin:
		return DropNoDestination
	}
	pk.verdict.kind, pk.verdict.to = toBridgePort, e.to
	return DropNoDestination
}

// Link-local group addresses, 01-80-C2-00-00-00 to -0F, are not forwarded by a
// bridge.
const linkLocal = 0x0180c2000000

// traps returns what the chip does with a packet for the sake of the CPU:
// link-local frames and frames to the switch itself are trapped, unless a
// HOSTIF_TRAP object says otherwise.
func (c *Chip) traps(h *headers) actions {
	switch {
	case h.dmac&^0xf == linkLocal:
		return c.trapLinkLocal[h.dmac&0xf]
	case h.dmac == c.switchMAC && c.switchMAC != 0:
		return c.trapOwn
	case h.flags&flagARP != 0:
		if h.flags&flagARPRequest != 0 {
			return c.trapARPRequest
		}
		return c.trapARPResponse
	}
	return 0
}

// replicate makes the copies of a packet that leaves the ingress pipe.
func (c *Chip) replicate(pk *packet) {
	if c.stale {
		c.compile()
	}
	v := pk.verdict
	n := 0
	why := DropNoDestination
	switch v.kind {
	case toBridgePort:
		n, why = c.toBridgePort(pk, v.to)
	case toPort:
		n = 1
		c.enqueue(v.port, pk.copy(v.port.bridgePort.tagging(pk)))
	case toLAG:
		if p := v.lag.choose(&pk.h); p != nil {
			n = 1
			c.enqueue(p, pk.copy(v.lag.bridgePort.tagging(pk)))
		} else {
			why = DropNoLAGMember
		}
	case toVLAN:
		for _, bp := range v.vlan.flood {
			if bp != pk.source && bp.admin {
				m, _ := c.toBridgePort(pk, bp)
				n += m
			}
		}
	}
	if v.cpu {
		n++
		c.punt(pk.copy(tagAction{}))
	}
	if n == 0 {
		c.drop(c.byID[pk.in], pk, why)
		return
	}
	c.books.Copies += uint64(n - 1)
	if c.observer != nil {
		c.sawReplicated(pk)
	}
	c.release(pk)
}

// toBridgePort queues a copy at a bridge port and returns the number of copies
// made, 0 or 1.
func (c *Chip) toBridgePort(pk *packet, bp *bridgePort) (int, DropReason) {
	p := bp.port
	if bp.lag != nil {
		if p = bp.lag.choose(&pk.h); p == nil {
			return 0, DropNoLAGMember
		}
	}
	if p == nil {
		return 0, DropNoDestination // the bridge port was removed meanwhile
	}
	c.enqueue(p, pk.copy(bp.tagging(pk)))
	return 1, 0
}

// tagging returns what becomes of the packet's VLAN tag at the bridge port;
// where its VLAN is unknown the frame stays as it is.
func (bp *bridgePort) tagging(pk *packet) tagAction {
	if bp == nil || !bp.member(pk.vid) {
		return tagAction{}
	}
	i, bit := pk.vid/64, uint64(1)<<(pk.vid%64)
	want := pk.vid
	switch {
	case bp.untagged[i]&bit != 0:
		if pk.tagged {
			return tagAction{op: tagStrip}
		}
		return tagAction{}
	case bp.priorityTagged[i]&bit != 0:
		want = 0
	}
	switch {
	case !pk.tagged:
		return tagAction{tagPush, uint16(pk.pushPriority)<<13 | want}
	case pk.h.tci[0]&0xfff != want:
		return tagAction{tagSet, want}
	}
	return tagAction{}
}

// member reports whether the bridge port is in the VLAN.
func (bp *bridgePort) member(vid uint16) bool { return bp.members[vid/64]>>(vid%64)&1 != 0 }

// egress runs the egress pipe for a copy. It returns the session that stamps
// it, with what becomes of that, the length with which the copy leaves, and
// false if it was dropped.
func (c *Chip) egress(p *port, cp copyOf) (t transmission, length int, ok bool) {
	if c.stale {
		c.compile()
	}
	t.copyOf = cp
	pk := cp.pk
	length = cp.taggedLen()
	if uint32(length)+fcsLen > p.mtu {
		c.dropCopy(p, cp, DropEgressMTU)
		return t, 0, false
	}
	t.session = pk.stamp
	if len(p.tables[stageEgress]) > 0 || c.vlanACLs[stageEgress] {
		var hit hits
		c.lookupEgress(p, cp, &hit)
		if hit.act&actDrop != 0 {
			c.dropCopy(p, cp, DropEgressACL)
			return t, 0, false
		}
		if hit.stamp.entry != nil {
			t.session = hit.stamp.entry.stamp
		}
	}
	if t.session != nil {
		t.result = stampable(pk, length, p.mtu)
		if t.result == stampDone {
			length = stampedLen(length)
		}
	}
	return t, length, true
}
