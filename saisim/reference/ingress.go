package reference

import (
	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A verdict is the ingress pipe's decision on a packet.
type verdict struct {
	why        drop.Reason // drop reason of a packet without a destination
	admitted   bool
	trap       config.Trap // the first trap that requests a copy
	removedBy  config.Trap // the first trap that takes the packet from forwarding
	router     config.ID   // router interface where it arrived; None if it is only bridged
	routed     *routed     // how it is rewritten; nil if it is not routed
	dscp       *uint8      // its new DSCP; nil means unchanged
	marks      []written   // marks of alternate marking
	lowered    *lowered    // new MSS of a segment with SYN; nil means unchanged
	effects    effects     // of traps and ACLs together
	aclDrop    bool
	noLearning bool
	noTrim     bool      // true if an ACL entry forbids trimming
	redirect   config.ID // None if there is no redirect
	kind       destination
	to         config.ID // bridge port, port, LAG or VLAN
	cpu        bool      // true if a copy goes to the CPU
}

type destination int

const (
	nowhere destination = iota
	toBridgePort
	toVLAN
	toPort
	toLAG
)

// admit runs stage 0. It finds the frame's VLAN or router interface, checks whether its port may send there, and traps.
// A trapped frame continues even if its port may not send.
func (c *Chip) admit(s *slot) {
	pk := s.pk
	pk.h = parse(pk.data, pk.length)
	pk.tc = trafficClass(pk.conf.portByID[pk.in].QoS, pk.h) // by the QoS maps at the packet's entry
	pk.colour = colourOf(pk.conf.portByID[pk.in].QoS, pk.h)
	pk.mirrors = pk.conf.noRecording(pk.conf.sessionsOf(pk.conf.portByID[pk.in].IngressMirrors))
	pk.lag = pk.conf.lagOf[pk.in]
	pk.on = pk.inPort
	if pk.lag != config.None {
		pk.on = pk.lag
	}
	pk.source = pk.conf.bridgePort[pk.on]
	c.preIngressACL(pk)
	if pk.h.smac>>40&1 == 1 {
		pk.ran("chip.port", false)
		pk.find(saisim.Finding{Table: "chip.port"})
		c.end(s, drop.SourceAddress)
		return
	}
	pk.why, pk.admitted = pk.conf.classify(pk)
	pk.ran("chip.port", pk.admitted)
	at := saisim.Finding{Table: "chip.port", Hit: pk.admitted}
	if pk.admitted {
		at.VLAN, at.In = pk.vid, pk.conf.rifs[pk.router].On
		if outer := pk.conf.rifs[pk.router].OuterVLAN; outer != 0 {
			at.VLAN = outer
		}
	}
	pk.find(at)
	if !pk.faults.skips("chip.trap") {
		pk.conf.trapFrame(pk, pk.conf.receivesNot(pk.in, pk.lag))
		pk.ran("chip.trap", pk.effects != nothing)
	}
	if !pk.admitted && !pk.effects.drop {
		c.end(s, pk.why)
		return
	}
	c.board(pk)
}

// classify finds the packet's VLAN or router interface, and whether its port may send there. It returns false with the
// reason if not.
func (conf *settings) classify(pk *packet) (drop.Reason, bool) {
	p := conf.portByID[pk.in]
	pvid, prio, noTagged, noUntagged := p.PVID, p.Priority, p.DropTagged, p.DropUntagged
	if l, ok := conf.lags[pk.lag]; ok {
		pvid, prio, noTagged, noUntagged = l.PVID, l.Priority, l.DropTagged, l.DropUntagged
	}
	pk.vid, pk.tagPrio = pvid, prio
	pk.tagged = len(pk.h.tags) > 0 && pk.h.tags[0].tpid == 0x8100
	inTag := uint16(0)
	if pk.tagged {
		inTag = pk.h.tags[0].tci & 0xfff
	}
	if inTag != 0 { // 0 is a priority tag: it names no VLAN
		pk.vid = inTag
	}
	rif, sub := conf.rifOn[pk.on], conf.subPort(pk.on, inTag)
	switch {
	case inTag != 0 && noTagged, inTag == 0 && noUntagged:
		return drop.TagFilter, false
	case conf.receivesNot(pk.in, pk.lag):
		return drop.NoLAGMember, false
	case sub != config.None:
		pk.vid, pk.router = 0, sub
		return 0, true
	case rif != config.None && inTag != 0: // a routed port is in no VLAN
		return drop.NoVLAN, false
	case rif != config.None:
		pk.vid, pk.router = 0, rif
		return 0, true
	case pk.source == config.None || !conf.bridgePorts[pk.source].Admin || conf.vlanByID[pk.vid].ID == config.None:
		return drop.NoVLAN, false
	}
	if _, member := conf.mode(pk.vid, pk.source); !member {
		return drop.NotMember, false
	}
	pk.router = conf.rifOn[conf.vlanByID[pk.vid].ID]
	return 0, true
}

// subPort returns the router interface of a port or LAG for the frames with a VLAN in their outer tag.
func (conf *settings) subPort(on config.ID, vid uint16) config.ID {
	for _, r := range conf.subPorts {
		if vid != 0 && r.On == on && r.OuterVLAN == vid {
			return r.ID
		}
	}
	return config.None
}

// receivesNot reports whether the port is a LAG member that may not receive.
func (conf *settings) receivesNot(id saisim.PortID, lag config.ID) bool {
	for _, m := range conf.lags[lag].Members {
		if m.Port == id {
			return m.IngressDisabled
		}
	}
	return false
}

// preIngressACL looks in the pre-ingress tables. The packet is in the VLAN of its tag or of its port. Only the entries'
// mirror sessions and TAM actions have an effect.
func (c *Chip) preIngressACL(pk *packet) {
	conf, seen := pk.conf, *pk
	port := conf.portByID[pk.in]
	seen.vid = port.PVID
	if l, ok := conf.lags[pk.lag]; ok {
		seen.vid = l.PVID
	}
	if conf.rifOn[pk.on] != config.None {
		seen.vid = 0
	}
	if t := pk.h.tags; len(t) > 0 && t[0].tpid == 0x8100 && t[0].tci&0xfff != 0 {
		seen.vid = t[0].tci & 0xfff
	}
	hits := c.lookup(conf, []config.ID{conf.Switch.PreIngressACL}, subject{
		packet: &seen, in: pk.inPort, inLAG: pk.lag, bytes: pk.length + fcs, early: true,
	})
	pk.mirrors = append(pk.mirrors, c.choose(pk, conf.mirroring(hits, config.ActMirrorIngress))...)
	for _, h := range hits {
		pk.events = append(pk.events, conf.eventsOf(h.entry.Of(config.ActTAM))...)
	}
}

// ingressACL looks in the ingress tables of the port, the switch, the LAG and the VLAN.
func (c *Chip) ingressACL(s *slot) {
	pk := s.pk
	conf := pk.conf
	points := []config.ID{conf.ports[pk.inPort].IngressACL, conf.Switch.IngressACL,
		conf.lags[pk.lag].IngressACL, conf.vlanByID[pk.vid].IngressACL}
	if pk.faults.skips("chip.acl") {
		points = nil
	}
	hits := c.lookup(conf, points, subject{
		packet: pk, in: pk.inPort, inLAG: pk.lag, bytes: pk.length + fcs, meta: c.timeLookup(pk),
	})
	if conf.anyTable(points) {
		pk.ran("chip.acl", len(hits) > 0)
	}
	said := effectsOf(hits)
	pk.aclDrop = said.drop
	pk.effects = pk.effects.or(said)
	if a, _ := action(hits, config.ActRedirect); a != nil {
		pk.redirect = a.Of[0]
	}
	plain, flow, marked := c.markings(hits)
	if a, _ := action(plain, config.ActSetMeta); a != nil {
		pk.meta = uint32(a.Number)
	}
	if marked {
		c.marking(pk, flow)
	}
	if a, _ := action(hits, config.ActNoLearning); a != nil {
		pk.noLearning = true
	}
	if a, _ := action(hits, config.ActNoTrim); a != nil {
		pk.noTrim = true
	}
	if a, _ := action(hits, config.ActSetDSCP); a != nil && pk.h.ip != nil {
		dscp := uint8(a.Number)
		pk.dscp = &dscp
	}
	pk.mirrors = append(pk.mirrors, conf.noRecording(conf.mirroring(withoutEnds(hits), config.ActMirrorIngress))...)
	if a, _ := action(hits, config.ActSetTC); a != nil {
		pk.tc = uint8(a.Number)
	}
	pk.samples = append(pk.samples, c.seenByEntries(conf, hits, false)...)
	pk.stamp = stamping(conf, hits)
	c.meetIFA(pk, hits)
	if pk.passage != nil {
		r := &pk.passage.ingress
		r.set(r.phv, "acl.meta", uint64(pk.meta))
		r.set(r.phv, "pkt.tc", uint64(pk.tc))
	}
}

// forward does the work of the last stage: learning, and the destination.
func (c *Chip) forward(s *slot) {
	pk := s.pk
	conf := pk.conf
	why, ok := pk.why, pk.admitted
	if ok && !pk.noLearning && pk.source != config.None {
		why, ok = c.learn(pk)
		pk.admitted = ok
	}
	_, steered := pk.steered()
	own, toRouter := mac(conf.Switch.MAC[:]), false
	if r, ok := conf.rifs[pk.router]; ok {
		toRouter = pk.h.dmac == mac(r.MAC[:]) || own != 0 && pk.h.dmac == own
	}
	switch {
	case pk.aclDrop:
		why = drop.ACL
	case pk.effects.drop:
		why = drop.Trap
	case !ok:
	case steered: // by the program
		why = drop.NoDestination
	case pk.redirect != config.None && conf.redirectable(pk):
		why = c.redirected(pk)
	case toRouter:
		pk.ran("chip.router_mac", true)
		why = c.route(pk)
	case pk.source == config.None:
		pk.ran("chip.router_mac", false)
		why = drop.NotRouter
	default:
		pk.ran("chip.router_mac", false)
		why = c.bridge(pk)
	}
	pk.why = why
	pk.cpu = pk.effects.copy && !pk.effects.cancel
	pk.steer()
	if pk.kind == nowhere && !pk.cpu && !pk.punted() {
		c.end(s, pk.why)
	}
}

// redirectable reports whether an ACL entry may redirect the packet. Only packets that can be routed go to a next hop,
// whatever their destination MAC address.
func (conf *settings) redirectable(pk *packet) bool {
	return !conf.isHop(pk.redirect) || pk.h.dmac>>40&1 == 0 && routable(pk) && !ofOneLink(pk)
}

func (conf *settings) isHop(oid config.ID) bool {
	_, hop := conf.nextHops[oid]
	_, group := conf.hopGroups[oid]
	return hop || group
}

// redirected sends the packet to the target of an ACL entry.
func (c *Chip) redirected(pk *packet) drop.Reason {
	if !pk.conf.isHop(pk.redirect) {
		pk.kind, pk.to = pk.conf.destination(pk.redirect), pk.redirect
		return drop.NoDestination
	}
	if pk.h.ip.ttl <= 1 {
		pk.conf.trapPacket(pk, config.TrapTTL)
		return drop.TTL
	}
	return c.follow(pk, config.Route{NextHop: pk.redirect})
}

// destination returns the kind of destination of an object.
func (conf *settings) destination(to config.ID) destination {
	if _, ok := conf.ports[to]; ok {
		return toPort
	}
	if _, ok := conf.lags[to]; ok {
		return toLAG
	}
	return toBridgePort
}

// bridge decides by the destination address. It returns the reason if there is no destination.
func (c *Chip) bridge(pk *packet) drop.Reason {
	return c.toAddress(pk, pk.conf.vlanByID[pk.vid], pk.h.dmac)
}

// toAddress sends to an address in a VLAN, which may be a group.
func (c *Chip) toAddress(pk *packet, vlan config.VLAN, address uint64) drop.Reason {
	sw := pk.conf.Switch
	switch {
	case address == 0xffffffffffff:
		return flood(pk, vlan, vlan.NoFlood.Broadcast || sw.NoFlood.Broadcast)
	case address>>40&1 == 1:
		return flood(pk, vlan, vlan.NoFlood.Multicast || sw.NoFlood.Multicast)
	}
	return c.unicast(pk, vlan, address)
}

// flood sends to all members of a VLAN, unless the VLAN or the switch does not flood.
func flood(pk *packet, vlan config.VLAN, not bool) drop.Reason {
	if not {
		return drop.Miss
	}
	pk.kind, pk.to = toVLAN, vlan.ID
	return drop.NoDestination
}

// unicast sends to an address of a host in a VLAN.
func (c *Chip) unicast(pk *packet, vlan config.VLAN, address uint64) drop.Reason {
	conf := pk.conf
	e, known := c.fdb[fdbKey{vlan.VID, address}]
	if pk.faults.skips("chip.fdb") {
		e, known = saisim.FDBRow{}, false
	} else {
		pk.ran("chip.fdb", known)
		pk.findAddress("chip.fdb", fdbKey{vlan.VID, address}, e, known)
	}
	pk.effects = pk.effects.or(effects{drop: e.Drop, copy: e.Copy})
	switch {
	case !known:
		return flood(pk, vlan, vlan.NoFlood.Unknown || conf.Switch.NoFlood.Unknown)
	case e.Drop:
		return drop.FDB
	case e.BridgePort == pk.source:
		return drop.SamePort
	}
	if _, member := conf.mode(vlan.VID, e.BridgePort); !member || !conf.bridgePorts[e.BridgePort].Admin {
		return drop.NoDestination
	}
	pk.kind, pk.to = toBridgePort, e.BridgePort
	return drop.NoDestination
}
