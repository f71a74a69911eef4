package saisim

import "tamtam/saisim/config"

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

// ingress runs the ingress pipe for a packet: ADMIT in stage 0, ACL in the
// middle, FORWARD in the last stage.
func (c *engine) ingress(pk *packet) {
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
	if c.tracking {
		pk.graph = c.described()
	}
	pk.h.parse(pk.data, pk.length)
	switch on := c.admit(p, pk); {
	case on && c.program != nil:
		c.ingressProgram(p, pk)
	case on:
		if len(p.tables[stageIngress]) > 0 || c.vlanACLs[stageIngress] {
			c.lookupIngress(p, pk)
		}
		c.forward(pk)
		pk.verdict.cpu = pk.act&(actCopy|actCancel) == actCopy
	}
	if v := &pk.verdict; v.kind == toNobody && !v.cpu && pk.mirrors == 0 && pk.record == nil {
		if pk.graph != nil {
			was := pk.sofar()
			c.countPath(pk, &was)
		}
		c.drop(p, pk, pk.why)
		return
	}
	c.pipe.Push(timed{c.now + c.ingressCycles, pk})
}

// admit is the first stage: the VLAN or router interface that the packet is in,
// and whether its port may send to it, and traps. False: the packet goes no
// further, for pk.why. A trapped packet goes on even where the port may not send.
func (c *engine) admit(p *port, pk *packet) bool {
	h := &pk.h
	pk.inN = p.number
	pk.tc = p.class.trafficClass(h)
	in := &p.in
	pk.mirrors = p.mirror[stageIngress] &^ c.recorders
	pk.lag, pk.source, pk.pushPriority = in.lag, in.source, in.priority
	fixed := fixedPort.ran()
	if h.smac>>40&1 != 0 {
		pk.why, pk.barred, pk.fixed = DropSourceAddress, true, fixed
		return false
	}
	if why, ok := c.classify(in, pk); ok {
		fixed |= fixedPort.hit()
	} else {
		pk.why, pk.barred = why, true
	}
	if c.skips&fixedTrap.ran() == 0 {
		fixed |= fixedTrap.ran()
		if c.trapFrame(pk); pk.act != 0 {
			fixed |= fixedTrap.hit()
		}
	}
	pk.fixed = fixed
	return !pk.barred || pk.act&actDrop != 0
}

// classify finds the VLAN or router interface that the packet is in, and
// whether the port may send to it.
func (c *engine) classify(in *admission, pk *packet) (DropReason, bool) {
	h := &pk.h
	pk.vid = in.pvid
	if pk.tagged = h.flags&flagTagged != 0 && h.outerC; pk.tagged && h.tci[0]&0xfff != 0 {
		pk.vid = h.tci[0] & 0xfff
		if in.dropTagged {
			return DropTagFilter, false
		}
	} else if in.dropUntagged {
		return DropTagFilter, false
	}
	if in.closed {
		return DropNoLAGMember, false
	}
	if in.router != nil { // no bridge: tags name no VLAN here
		if pk.tagged && h.tci[0]&0xfff != 0 {
			return DropNoVLAN, false
		}
		pk.vid, pk.router = 0, in.router
		return 0, true
	}
	if pk.vid > 4094 || c.vlans[pk.vid] == nil || pk.source == nil || !pk.source.admin {
		return DropNoVLAN, false
	}
	if !pk.source.member(pk.vid) {
		return DropNotMember, false
	}
	pk.router = c.vlans[pk.vid].rif
	return 0, true
}

// forward is the last stage: learning, then where the packet goes. It leaves
// pk.why, the reason if that is nowhere.
func (c *engine) forward(pk *packet) {
	why, ok := pk.why, !pk.barred
	if ok && !pk.noLearn && pk.source != nil {
		why, ok = c.learn(pk)
		pk.barred = !ok
	}
	switch {
	case pk.aclDrop:
		pk.why = DropACL
		return
	case pk.act&actDrop != 0:
		pk.why = DropTrap
		return
	case !ok:
		pk.why = why
		return
	case c.steered(pk): // by the program
		pk.why = DropNoDestination
		return
	case pk.redirect != nil:
		if pk.why, ok = c.redirected(pk); ok {
			return
		}
	}
	pk.why = c.destination(pk)
}

// destination decides where a packet goes by its addresses.
func (c *engine) destination(pk *packet) DropReason {
	pk.fixed |= fixedRouterMAC.ran()
	switch {
	case pk.router != nil && (pk.h.dmac == pk.router.mac || pk.h.dmac == c.switchMAC && c.switchMAC != 0):
		pk.fixed |= fixedRouterMAC.hit()
		return c.route(pk)
	case pk.source == nil:
		return DropNotRouter
	}
	return c.bridge(pk)
}

// redirected sends the packet where an ACL entry says. To a next hop go only IP
// packets that can be routed, whatever MAC address they are to; false: the
// entry sends this packet nowhere.
func (c *engine) redirected(pk *packet) (DropReason, bool) {
	e, h := pk.redirect, &pk.h
	if e.hop == nil && e.group == nil {
		pk.verdict = e.redirect
		return DropNoDestination, true
	}
	if h.dmac>>40&1 != 0 || !h.fitToRoute(pk) {
		return 0, false
	}
	if h.ttl <= 1 {
		c.trap(pk, config.TrapTTL)
		return DropTTL, true
	}
	if e.group != nil {
		return c.toHop(pk, e.group.choose(c.ecmpHash(h))), true
	}
	return c.toHop(pk, e.hop), true
}

// bridge decides where a packet goes by its destination address.
func (c *engine) bridge(pk *packet) DropReason {
	v := c.vlans[pk.vid]
	if pk.h.dmac>>40&1 != 0 {
		if pk.h.dmac == 0xffffffffffff && v.noBroadcast || pk.h.dmac != 0xffffffffffff && v.noMulticast {
			return DropMiss
		}
		pk.verdict.kind, pk.verdict.vlan = toVLAN, v
		return DropNoDestination
	}
	return c.toMAC(pk, v, pk.h.dmac)
}

// toMAC sends the packet to a unicast address in a VLAN.
func (c *engine) toMAC(pk *packet, v *vlan, mac uint64) DropReason {
	var e *fdbEntry
	if c.skips&fixedFDB.ran() == 0 {
		e = c.fdb.find(fdbKey(v.id, mac))
	}
	if e == nil {
		pk.fixed |= fixedFDB.ran() &^ c.skips
		if v.noUnknown {
			return DropMiss
		}
		pk.verdict.kind, pk.verdict.vlan = toVLAN, v
		return DropNoDestination
	}
	pk.fixed |= fixedFDB.ran() | fixedFDB.hit()
	pk.act |= e.act
	switch {
	case e.act&actDrop != 0:
		return DropFDB
	case e.to == pk.source:
		return DropSamePort
	case !e.to.member(v.id) || !e.to.admin:
		return DropNoDestination
	}
	pk.verdict.kind, pk.verdict.to = toBridgePort, e.to
	return DropNoDestination
}

// replicate makes the copies of a packet that leaves the ingress pipe.
func (c *engine) replicate(pk *packet) {
	if c.stale {
		c.compile()
	}
	v := &pk.verdict
	n := 0
	why := pk.why
	switch v.kind {
	case toBridgePort:
		n, why = c.toBridgePort(pk, v.to)
	case toPort:
		n = 1
		cp := pk.copy(v.port.bridgePort.tagging(pk))
		c.enqueue(v.port, &cp)
	case toLAG:
		if p := c.member(v.lag, pk); p != nil {
			n = 1
			cp := pk.copy(v.lag.bridgePort.tagging(pk))
			c.enqueue(p, &cp)
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
		cp := pk.copy(tagAction{})
		cp.raw = true
		c.punt(cp)
	}
	if pk.mirrors != 0 {
		c.mirror(pk.mirrors, copyOf{pk: pk, raw: true})
	}
	if n == 0 {
		c.dropHere(pk, why)
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
func (c *engine) toBridgePort(pk *packet, bp *bridgePort) (int, DropReason) {
	p := bp.port
	if bp.lag != nil {
		if p = c.member(bp.lag, pk); p == nil {
			return 0, DropNoLAGMember
		}
	}
	if p == nil {
		return 0, DropNoDestination // the bridge port was removed meanwhile
	}
	cp := pk.copy(bp.tagging(pk))
	c.enqueue(p, &cp)
	return 1, 0
}

// tagging returns what becomes of the packet's VLAN tag at the bridge port;
// where its VLAN is unknown the frame stays as it is.
func (bp *bridgePort) tagging(pk *packet) tagAction {
	if pk.edit.routed && pk.vid == 0 { // by a port without VLANs
		if pk.tagged {
			return tagAction{op: tagStrip}
		}
		return tagAction{}
	}
	if bp == nil || !bp.member(pk.vid) {
		return tagAction{}
	}
	in, bit := &bp.vlans[pk.vid/64&63], uint64(1)<<(pk.vid%64)
	want := pk.vid
	switch {
	case in.untagged&bit != 0:
		if pk.tagged {
			return tagAction{op: tagStrip}
		}
		return tagAction{}
	case in.priorityTagged&bit != 0:
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
func (bp *bridgePort) member(vid uint16) bool { return bp.vlans[vid/64&63].members>>(vid%64)&1 != 0 }

// egress runs the egress pipe for a copy. It returns the session that stamps
// it, with what becomes of that, the length with which the copy leaves, and
// false if it was dropped.
func (c *engine) egress(p *port, t *transmission) (length int, ok bool) {
	if c.stale {
		c.compile()
	}
	cp := &t.copyOf
	pk := cp.pk
	fixed := pk.fixed
	if cp.mirror == nil {
		c.sketch.copies++
		if c.sketch.on {
			fixed |= fixedFlyMon.ran()
			c.measure(cp)
		}
	}
	runs := pk.run != nil && !cp.raw && cp.mirror == nil
	if runs && !c.runEgress(p, cp) {
		c.dropInside(p, cp, fixed, runs, DropEgressProgram)
		return 0, false
	}
	length = cp.leavingLen()
	fixed |= fixedMTU.ran()
	if uint32(length)+fcsLen > p.mtu {
		c.dropInside(p, cp, fixed, runs, DropEgressMTU)
		return 0, false
	}
	if cp.mirror != nil {
		return length, true
	}
	fixed |= fixedMTU.hit()
	t.session = pk.stamp
	mirrors := p.mirror[stageEgress]
	if len(p.tables[stageEgress]) > 0 || c.vlanACLs[stageEgress] {
		var hit hits
		if runs {
			c.lookupRewritten(p, *cp, &hit)
		} else {
			c.lookupEgress(p, *cp, &hit)
		}
		fixed |= hit.marks
		if hit.act&actDrop != 0 {
			c.dropInside(p, cp, fixed, runs, DropEgressACL)
			return 0, false
		}
		if hit.stamp.entry != nil {
			t.session = hit.stamp.entry.stamp
		}
		if hit.mirror.entry != nil {
			mirrors |= hit.mirror.entry.mirrors
		}
	}
	if runs && !c.finishEgress(cp) {
		c.dropInside(p, cp, fixed, runs, DropEgressProgram)
		return 0, false
	}
	if mirrors &^= c.recorders; mirrors != 0 {
		c.mirrorAtEnd(mirrors, *cp)
	}
	if t.session != nil {
		fixed |= fixedStamp.ran()
		t.result = stampable(pk, length, p.mtu)
		if t.result == stampDone {
			fixed |= fixedStamp.hit()
			length = stampedLen(length)
		}
	}
	if pk.graph != nil {
		c.letThrough(p, t, fixed, runs)
	}
	return length, true
}
