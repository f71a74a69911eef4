package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
)

// ingressPipe is the ingress pipe with its fixed functions.
type ingressPipe struct {
	*core
	watch     *watch
	programs  *programs
	recording *recording
	fates     *fates
	traps     *traps
	bridge    *bridge
	router    *router
	acl       *acl
	clamps    *clamping
	queues    *queues
	mirrors   *mirrors
	samples   *samples
	wires     *wires
	reported  Out // frame that is being given to the CPU
}

// run runs the ingress pipe for packets, in the order of the cycles at which they enter. Without a program they run one
// after the other. With a program, all packets pass one stage after the other. A packet touches the state of each stage
// once, so the state changes in the order of packets. A passive program runs later.
func (c *ingressPipe) run(vec []entering) {
	sees := c.off&cutPassive == 0
	if c.programs.program != nil && !sees {
		for i := range vec {
			x := &vec[i]
			p := c.port(x.pk.in)
			if x.usual = p != nil && (c.off|p.off)&cutAdmission == 0 && c.admitUsual(p, x.pk); x.usual {
				x.p, x.on = p, true
			} else {
				c.begin(x)
			}
		}
		c.runProgram(vec)
		return
	}
	for i := range vec {
		x := &vec[i]
		c.bridge.sweepBefore(x.at)
		c.begin(x)
		if x.pk.in == CPUPort {
			c.bridgeCPU(x.pk)
			c.finish(nil, x.pk)
			continue
		}
		if x.p == nil {
			continue
		}
		if !x.on {
			c.finish(x.p, x.pk)
			continue
		}
		if sees {
			c.took(cutPassive)
			c.programs.see(x.pk)
		}
		c.lookup(x)
		if sees {
			c.programs.seeACL(x.pk)
		}
		c.decide(x.p, x.pk)
	}
}

// decide runs the part of the pipe after ACL.
func (c *ingressPipe) decide(p *port, pk *packet) {
	c.forward(pk, false)
	v := &pk.verdict
	v.cpu = pk.act&(actCopy|actCancel) == actCopy
	if c.off&cutPassive == 0 && v.kind == noDestination && !v.cpu {
		c.programs.seeNowhere()
	}
	c.finish(p, pk)
}

// begin runs the parser, and ADMIT in stage 0.
func (c *ingressPipe) begin(x *entering) {
	c.now = x.at
	pk := x.pk
	if c.observer != nil {
		c.watch.saw(MomentEntered, pk, 0, pk.in)
	}
	if pk.in == CPUPort {
		c.beginCPU(x)
		return
	}
	p := c.byID[pk.in]
	if x.p = p; p == nil {
		c.fates.drop(nil, pk, drop.PortRemoved)
		return
	}
	if c.tracking {
		pk.graph, pk.counted = c.programs.described(), len(c.recording.plans) > 0
	}
	pk.h.parse(pk.data, pk.length)
	if c.choosing {
		c.choose(pk)
	}
	x.on = c.admit(p, pk)
}

// lookup runs ACL, in the middle of the pipe.
func (c *ingressPipe) lookup(x *entering) {
	if len(x.p.tables[stageIngress]) > 0 || c.acl.vlanACLs[stageIngress] {
		c.acl.lookupIngress(x.p, x.pk)
	}
	if len(c.clamps.list) > 0 {
		c.clamps.see(x.p, x.pk)
	}
}

// finish ends the pipe: it passes the packet to the traffic manager, or drops it.
func (c *ingressPipe) finish(p *port, pk *packet) {
	v := &pk.verdict
	if v.kind == noDestination && !v.cpu && !pk.accompanied() {
		c.goesNowhere(p, pk)
		return
	}
	pk.own.session, pk.ecn = pk.stamp, pk.h.ecn()
	pk.plain = c.off&cutReplication == 0 && pk.single()
	pk.to, pk.out = v.to, v.port
	c.pipe.Push(timed{c.now + c.ingressCycles, pk})
}

// goesNowhere drops a packet without a destination as it enters the ingress pipe. If the packet's path is counted, the
// drop is noted later, in the order of time.
func (c *ingressPipe) goesNowhere(p *port, pk *packet) {
	if pk.graph != nil {
		c.ended.Push(timed{c.now, pk})
		return
	}
	c.fates.drop(p, pk, pk.why)
}

// end drops a packet that has no destination and whose path is counted.
func (c *ingressPipe) end(pk *packet) {
	was := pk.sofar()
	c.recording.countPath(pk, &was)
	c.fates.drop(c.port(pk.in), pk, pk.why)
}

// beginCPU starts a packet that the CPU sends to a VLAN. The packet skips admission, traps, ACLs and programs.
func (c *ingressPipe) beginCPU(x *entering) {
	x.p, x.on, x.usual = nil, false, false
	if c.programs.program != nil {
		c.programs.board(x.pk)
	}
	if c.tracking {
		x.pk.graph = c.programs.described()
	}
}

// bridgeCPU runs the last stage for a packet from the CPU. It finds the destination in the packet's VLAN, which may
// have been removed in the meantime.
func (c *ingressPipe) bridgeCPU(pk *packet) {
	if pk.why = drop.NoVLAN; c.vlans[pk.vid] != nil {
		pk.why = c.bridge.forward(pk)
	}
	pk.act, pk.fixed = 0, 0
}

// admit runs the first stage: the packet's VLAN or router interface, whether its port may send to it, and traps. It
// returns false if the packet is dropped, for the reason pk.why. A trapped packet passes even if the port may not send.
func (c *ingressPipe) admit(p *port, pk *packet) bool {
	h := &pk.h
	pk.inN = p.number
	pk.tc = p.class.trafficClass(h)
	if p.class.colours != (colourMaps{}) {
		pk.colour = p.class.colours.colour(h)
	}
	in := &p.in
	pk.mirrors = p.mirror[stageIngress] &^ c.recorders
	pk.lag, pk.source, pk.pushPriority = in.lag, in.source, in.priority
	if len(c.acl.preIngress) > 0 {
		c.acl.lookupPreIngress(p, pk)
	}
	fixed := describe.Port.Ran()
	if h.smac>>40&1 != 0 {
		pk.why, pk.barred, pk.fixed, pk.noted = drop.SourceAddress, true, fixed, notedPort
		if c.found != nil {
			c.found(pk, Finding{Table: describe.Port.String()})
		}
		return false
	}
	if v := in.untagged; v != nil && h.flags&flagTagged == 0 {
		pk.vid, pk.router = in.pvid, v.rif
		fixed |= describe.Port.Hit()
	} else if why, ok := c.classify(in, pk); ok {
		fixed |= describe.Port.Hit()
	} else {
		pk.why, pk.barred = why, true
	}
	if c.found != nil {
		c.foundAdmission(pk)
	}
	if c.noting {
		pk.noteAdmission()
	}
	if c.skips&describe.Trap.Ran() == 0 {
		fixed |= describe.Trap.Ran()
		if c.traps.mayTrap(h) {
			if c.traps.trapFrame(pk, in.closed); pk.act != 0 {
				fixed |= describe.Trap.Hit()
			}
		}
	}
	pk.fixed = fixed
	pk.earlyTraps = pk.traps
	return !pk.barred || pk.act&actDrop != 0
}

func (c *ingressPipe) foundAdmission(pk *packet) {
	f := Finding{Table: describe.Port.String(), Hit: !pk.barred}
	if f.Hit {
		f.VLAN, f.In = pk.vid|pk.router.tag(), pk.router.place()
	}
	c.found(pk, f)
}

// classify finds the packet's VLAN or router interface, and whether the port may send to it. If it may not, classify
// returns false and the reason.
func (c *ingressPipe) classify(in *admission, pk *packet) (drop.Reason, bool) {
	h := &pk.h
	pk.vid = in.pvid
	if pk.tagged = h.flags&flagTagged != 0 && h.outerC; pk.tagged && h.tci[0]&0xfff != 0 {
		pk.vid = h.tci[0] & 0xfff
		if in.dropTagged {
			return drop.TagFilter, false
		}
	} else if in.dropUntagged {
		return drop.TagFilter, false
	}
	if in.closed {
		return drop.NoLAGMember, false
	}
	if len(in.subPorts) > 0 && pk.tagged {
		if r := in.subPorts[h.tci[0]&0xfff]; r != nil {
			pk.vid, pk.router = 0, r
			return 0, true
		}
	}
	if in.router != nil { // a router interface: other tags name no VLAN here
		if pk.tagged && h.tci[0]&0xfff != 0 {
			return drop.NoVLAN, false
		}
		pk.vid, pk.router = 0, in.router
		return 0, true
	}
	if pk.vid > 4094 || c.vlans[pk.vid] == nil || pk.source == nil || !pk.source.admin {
		return drop.NoVLAN, false
	}
	if !pk.source.member(pk.vid) {
		return drop.NotMember, false
	}
	pk.router = c.vlans[pk.vid].rif
	return 0, true
}

// forward runs the last stage: learning, then the destination, unless the program has decided it. It sets pk.why, the
// reason if there is no destination.
func (c *ingressPipe) forward(pk *packet, steered bool) {
	why, ok := pk.why, !pk.barred
	if ok && !pk.noLearn && pk.source != nil {
		why, ok = c.bridge.learn(pk)
		pk.barred = !ok
	}
	if ok && pk.act == 0 && !pk.aclDrop && !steered && pk.redirect == nil { // only the addresses decide
		pk.why = c.destination(pk)
		return
	}
	switch {
	case pk.aclDrop:
		pk.why = drop.ACL
		return
	case pk.act&actDrop != 0:
		pk.why = drop.Trap
		return
	case !ok:
		pk.why = why
		return
	case steered:
		pk.why = drop.NoDestination
		return
	case pk.redirect != nil:
		if pk.why, ok = c.redirected(pk); ok {
			return
		}
	}
	pk.why = c.destination(pk)
}

// destination finds a packet's destination by its addresses.
func (c *ingressPipe) destination(pk *packet) drop.Reason {
	pk.fixed |= describe.RouterMAC.Ran()
	switch {
	case pk.router != nil && (pk.h.dmac == pk.router.mac || pk.h.dmac == c.switchMAC && c.switchMAC != 0):
		pk.fixed |= describe.RouterMAC.Hit()
		return c.router.route(pk)
	case pk.source == nil:
		return drop.NotRouter
	}
	return c.bridge.forward(pk)
}

// redirected sends the packet to the target of an ACL entry. Only IP packets that can be routed go to a next hop,
// whatever their destination MAC address. It returns false if the entry does not redirect this packet.
func (c *ingressPipe) redirected(pk *packet) (drop.Reason, bool) {
	e, h := pk.redirect, &pk.h
	if e.hop == nil && e.group == nil {
		pk.verdict = e.redirect
		return drop.NoDestination, true
	}
	if h.dmac>>40&1 != 0 || !h.fitToRoute(pk) || h.onLink() {
		return 0, false
	}
	if h.ttl <= 1 {
		c.traps.trap(pk, config.TrapTTL)
		return drop.TTL, true
	}
	if e.group != nil {
		return c.router.toHop(pk, e.group.choose(hashOf(h, pk.in, &c.router.ecmpHash, saltECMP))), true
	}
	return c.router.toHop(pk, e.hop), true
}

// runProgram runs the ingress pipe after admission if there is a program: stage after stage, each for all packets.
func (c *ingressPipe) runProgram(vec []entering) {
	middle, last := c.prof.IngressStages/2, max(c.prof.IngressStages, 1)-1
	began := c.programs.begin(vec)
	on := c.programs.runIngress(vec, began, 0, middle)
	c.lookups(vec, on)
	on = c.programs.runIngress(vec, on, middle, last)
	on = c.programs.runIngress(vec, c.forwards(vec, on), last, c.prof.IngressStages)
	clear(c.programs.phv.Looked[:len(vec)])
	for i := range vec {
		x := &vec[i]
		if x.p == nil && x.pk.in != CPUPort {
			continue
		}
		c.now = x.at
		pk := x.pk
		if on>>i&1 != 0 {
			c.programs.steer(pk, i)
			pk.verdict.cpu = pk.act&(actCopy|actCancel) == actCopy || c.programs.punted(i)
			if pk.run != nil {
				pk.run.program.Bridge(c.programs.phv, i, &pk.run.bridge)
			}
		}
		if pk.graph != nil && began>>i&1 != 0 {
			pk.run.ran, pk.run.hit = c.programs.phv.Ran[i], c.programs.phv.Hit[i]
			if pk.record != nil && pk.record.acts {
				pk.run.acted = c.programs.phv.Acted[i]
			}
		}
		c.finish(x.p, pk)
	}
}

// lookups runs ACL for packets with a program.
func (c *ingressPipe) lookups(vec []entering, on pipe.Set) {
	for i := range vec {
		x := &vec[i]
		if on>>i&1 == 0 ||
			len(x.p.tables[stageIngress]) == 0 && !c.acl.vlanACLs[stageIngress] && len(c.clamps.list) == 0 {
			continue
		}
		c.now = x.at
		c.lookup(x)
		c.programs.setACL(i, x.pk.meta, x.pk.tc)
	}
}

// forwards does learning and forwarding for packets with a program. It returns those that have a destination.
func (c *ingressPipe) forwards(vec []entering, on pipe.Set) (somewhere pipe.Set) {
	for i := range vec {
		x := &vec[i]
		if x.p == nil && x.pk.in != CPUPort {
			continue
		}
		c.now = x.at
		c.bridge.sweepBefore(x.at)
		if x.p == nil {
			c.bridgeCPU(x.pk)
			continue
		}
		if on>>i&1 == 0 {
			continue
		}
		pk := x.pk
		if !x.usual || c.programs.steered(i) || !c.toKnown(&x.p.in, pk) {
			c.forward(pk, c.programs.steered(i))
			c.programs.steer(pk, i)
		}
		if pk.verdict.kind != noDestination || pk.act&(actCopy|actCancel) == actCopy || c.programs.punted(i) {
			somewhere |= 1 << i
		}
	}
	return somewhere
}
