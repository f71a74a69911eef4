package engine

import (
	"tamtam/saisim/drop"
	"tamtam/saisim/tailstamp"
)

// copies does replicate in the general case.
func (c *ingressPipe) copies(pk *packet) {
	if c.queues.accounts.on > 0 && c.charged(pk) {
		return
	}
	pk.whole()
	if pk.plain {
		pk.plain, pk.verdict.kind, pk.verdict.to, pk.verdict.port = false, toBridgePort, pk.to, pk.out
		if pk.to == nil {
			pk.verdict.kind = toPort
		}
	}
	v := &pk.verdict
	if c.queues.accounts.on > 0 && (v.kind != noDestination || v.cpu) && !c.queues.charge(pk) {
		pk.refused()
	}
	n, out, why := c.toPorts(pk)
	copies := n
	if v.cpu {
		n++
		cp := c.copy(pk, tagAction{})
		cp.raw = true
		c.toCPU(cp, n == 1, why)
	}
	if pk.mirrors != 0 {
		c.mirrors.mirror(pk.mirrors, &copyOf{pk: pk, raw: true})
	}
	if pk.sampled() {
		c.samples.leavesPipe(pk, out, copies, why)
	}
	c.queues.uncharge(pk)
	if n == 0 {
		c.dropHere(pk, why)
		return
	}
	c.frameCounts.Copies += uint64(n - 1)
	if c.ledger != nil && n > 1 {
		c.ledger.Copied(pk.id, n-1)
	}
	if c.observer != nil {
		c.watch.sawReplicated(pk)
	}
	c.fates.release(pk)
}

// toPorts queues the copies for ports. It returns the number of copies, the port of the last one, and the reason if
// there are no copies.
func (c *ingressPipe) toPorts(pk *packet) (n int, out *port, why drop.Reason) {
	v := &pk.verdict
	why = pk.why
	switch v.kind {
	case toBridgePort:
		out, why = c.toBridgePort(pk, v.to)
	case toPort:
		out = v.port
		c.queues.enqueue(v.port, c.copy(pk, v.port.bridgePort.tagging(pk)))
	case toLAG:
		if out = c.bridge.member(v.lag, pk); out != nil {
			c.queues.enqueue(out, c.copy(pk, v.lag.bridgePort.tagging(pk)))
		} else {
			why = drop.NoLAGMember
		}
	case toVLAN:
		for _, bp := range v.vlan.flood {
			if bp != pk.source && bp.admin {
				if p, _ := c.toBridgePort(pk, bp); p != nil {
					n, out = n+1, p
				}
			}
		}
		return n, out, why
	}
	if out != nil {
		n = 1
	}
	return n, out, why
}

// toBridgePort queues a copy at a bridge port, and returns its port. If there is none, it returns nil and the reason.
func (c *ingressPipe) toBridgePort(pk *packet, bp *bridgePort) (*port, drop.Reason) {
	p := bp.port
	if bp.lag != nil {
		if p = c.bridge.member(bp.lag, pk); p == nil {
			return nil, drop.NoLAGMember
		}
	}
	if p == nil {
		return nil, drop.NoDestination // the bridge port was removed in the meantime
	}
	c.queues.enqueue(p, c.copy(pk, bp.tagging(pk)))
	return p, 0
}

// tagging returns the action on the packet's VLAN tag at the bridge port. If the bridge port is not in the packet's
// VLAN, the frame stays unchanged.
func (bp *bridgePort) tagging(pk *packet) tagAction {
	if pk.edited && pk.edit.routed && pk.vid == 0 { // routed out of a port or a sub-port
		switch want := pk.edit.hop.rif.outer; {
		case want != 0:
			return pk.tagWith(want)
		case pk.tagged:
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
	return pk.tagWith(want)
}

// tagWith returns the action on the packet's VLAN tag with which it leaves in a VLAN.
func (pk *packet) tagWith(want uint16) tagAction {
	switch {
	case !pk.tagged:
		return tagAction{tagPush, uint16(pk.pushPriority)<<13 | want}
	case pk.h.tci[0]&0xfff != want:
		return tagAction{tagSet, want}
	}
	return tagAction{}
}

// toCPU hands a copy to the CPU, unless the policer of its trap drops it. alone means that no other copy was forwarded,
// for the reason why.
func (c *ingressPipe) toCPU(cp *copyOf, alone bool, why drop.Reason) {
	to := c.traps.cpu(cp.pk.trap)
	passes := to.passes(c.now, uint64(cp.pk.length+fcsLen))
	if c.found != nil && to.policer != nil {
		c.found(cp.pk, Finding{Table: TablePolicer, Hit: passes, Entry: to.policer.ID})
	}
	if c.noting && to.policer != nil {
		cp.pk.met.policer, cp.pk.noted = to.policer.ID, cp.pk.noted|notedPolicer
	}
	if !passes {
		c.fates.dropPoliced(c.port(cp.pk.in), cp, alone)
		return
	}
	if alone && c.listeners != nil {
		c.fates.report(nil, cp, why, true)
	}
	if cp.pk.chosen {
		c.fates.keepEnd(nil, cp, alone, why)
	}
	c.punt(cp, to.queue)
}

// punt hands a copy to the CPU. If a session matched the packet, the copy carries the ingress stamp. Frames that have
// left by ports until now are output first.
func (c *ingressPipe) punt(cp *copyOf, queue uint8) {
	pk, now := cp.pk, c.now
	c.wires.run(now)
	c.now = now
	if pk.graph != nil {
		c.fates.ended(cp, pk.atCPU(queue, 0))
	}
	data, length, stamped := pk.data, pk.length, false
	if s := pk.stamp; s != nil {
		result := stampable(pk, pk.length, 0)
		s.count(result)
		if stamped = result == stampDone; stamped {
			data = c.appendRecord(append(c.spares.scratch[:0], data...), s, pk, tailstamp.CPUPort, 0)
			length = len(data)
		}
	}
	c.frameCounts.ToCPU++
	if c.observer != nil {
		m := c.watch.moment(MomentPunted, pk, cp.number, CPUPort)
		m.Data, m.Len, m.Trail, m.Trap = data, length, c.recording.trailOf(cp), pk.trap
		c.observer(m)
	}
	c.reported = Out{
		Port: CPUPort, In: pk.in, At: c.now, Data: data, Len: length, Stamped: stamped, ID: pk.id, Trap: pk.trap,
		Queue: queue, VLAN: pk.cameIn(),
	}
	c.out(&c.reported)
	c.freeCopy(cp)
	c.fates.release(pk)
}

// dropHere drops a packet without copies.
func (c *ingressPipe) dropHere(pk *packet, why drop.Reason) {
	if pk.graph != nil {
		t := pk.nowhere(why)
		c.recording.countPath(pk, &t.passed)
		if pk.record != nil {
			x := &c.recording.nowhere
			c.recording.fill(x, &copyOf{pk: pk}, t)
			c.mirrors.recordCopies(pk, x)
		}
	}
	c.fates.drop(c.port(pk.in), pk, why)
}
