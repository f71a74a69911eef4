package reference

import (
	"tamtam/sai"
	"tamtam/saisim"
)

// A verdict is what the ingress pipe decides to do with a packet.
type verdict struct {
	admission  saisim.DropReason // why it may not be bridged
	admitted   bool
	effects    effects // of traps and ACLs
	aclDrop    bool
	noLearning bool
	redirect   sai.OID // null: none
	kind       destination
	to         sai.OID // bridge port, port, LAG or VLAN
	cpu        bool    // a copy goes to the CPU
}

type destination int

const (
	nowhere destination = iota
	toBridgePort
	toVLAN
	toPort
	toLAG
)

// admit is stage 0: traps, and whether the frame may enter the bridge.
func (c *Chip) admit(s *slot) {
	pk := s.pk
	pk.h = parse(pk.data, pk.length)
	pk.tc = trafficClass(pk.port.QoS, pk.h)
	pk.effects = pk.conf.traps(&pk.h)
	pk.lag = pk.conf.lagOf[pk.in]
	pk.source = pk.conf.bridgePort[pk.inPort]
	if pk.lag != sai.NullOID {
		pk.source = pk.conf.bridgePort[pk.lag]
	}
	pk.admission, pk.admitted = pk.conf.classify(pk)
	trapped := pk.effects.drop
	if !pk.admitted && (!trapped || pk.admission == saisim.DropSourceAddress) {
		c.dropInPipe(s, pk.admission)
	}
}

// traps returns what is done with a packet for the sake of the CPU.
func (conf *config) traps(h *headers) effects {
	standing := effects{drop: true, copy: true}
	asked := func(t sai.Enum, standing effects) effects {
		for _, r := range conf.Traps {
			if r.Type == t {
				return packetAction(r.Action)
			}
		}
		return standing
	}
	own := mac(conf.Switch.MAC[:])
	switch {
	case h.dmac>>4 == 0x0180c2000000>>4:
		switch h.dmac & 0xf {
		case 0x0:
			return asked(sai.HostifTrapTypeStp, standing)
		case 0x2:
			return asked(sai.HostifTrapTypeLacp, standing)
		case 0x3:
			return asked(sai.HostifTrapTypeEapol, standing)
		case 0xe:
			return asked(sai.HostifTrapTypeLldp, standing)
		}
		return standing
	case own != 0 && h.dmac == own:
		return asked(sai.HostifTrapTypeIp2me, standing)
	case h.arp && h.arpOp == 1:
		return asked(sai.HostifTrapTypeArpRequest, effects{})
	case h.arp:
		return asked(sai.HostifTrapTypeArpResponse, effects{})
	}
	return effects{}
}

// classify finds the packet's VLAN, and whether its port may send to it.
func (conf *config) classify(pk *packet) (saisim.DropReason, bool) {
	if pk.h.smac>>40&1 == 1 {
		return saisim.DropSourceAddress, false
	}
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
	switch {
	case inTag != 0 && noTagged, inTag == 0 && noUntagged:
		return saisim.DropTagFilter, false
	case conf.receivesNot(pk.in, pk.lag):
		return saisim.DropNoLAGMember, false
	case pk.source == sai.NullOID || !conf.bridgePorts[pk.source].Admin || conf.vlanByID[pk.vid].OID == sai.NullOID:
		return saisim.DropNoVLAN, false
	}
	if _, member := conf.mode(pk.vid, pk.source); !member {
		return saisim.DropNotMember, false
	}
	return 0, true
}

// receivesNot reports whether the port is a LAG member that may not receive.
func (conf *config) receivesNot(id saisim.PortID, lag sai.OID) bool {
	for _, m := range conf.lags[lag].Members {
		if m.Port == id {
			return m.IngressDisabled
		}
	}
	return false
}

// ingressACL looks in the ingress tables of the port, the switch, the LAG and the
// VLAN.
func (c *Chip) ingressACL(s *slot) {
	pk := s.pk
	conf := pk.conf
	points := []sai.OID{conf.ports[pk.inPort].IngressACL, conf.Switch.IngressACL,
		conf.lags[pk.lag].IngressACL, conf.vlanByID[pk.vid].IngressACL}
	hits := c.lookup(conf, points, subject{packet: pk, in: pk.inPort, inLAG: pk.lag, bytes: pk.length + fcs})
	said := effectsOf(hits)
	pk.aclDrop = said.drop
	pk.effects = pk.effects.or(said)
	if v, _ := action(hits, sai.ACLEntryAttrActionRedirect); v != nil {
		pk.redirect = v.(sai.OID)
	}
	if v, _ := action(hits, sai.ACLEntryAttrActionSetACLMetaData); v != nil {
		pk.meta = uint32(v.(sai.Uint))
	}
	if v, _ := action(hits, sai.ACLEntryAttrActionSetDoNotLearn); v != nil {
		pk.noLearning = true
	}
	pk.stamp = stamping(conf, hits)
}

// forward is the last stage: learning, and where the packet goes.
func (c *Chip) forward(s *slot) {
	pk := s.pk
	why, ok := pk.admission, pk.admitted
	if ok && !pk.noLearning {
		why, ok = c.learn(pk)
	}
	switch {
	case pk.aclDrop:
		why = saisim.DropACL
	case pk.effects.drop:
		why = saisim.DropTrap
	case !ok:
	case pk.redirect != sai.NullOID:
		pk.kind, pk.to = pk.conf.redirected(pk.redirect), pk.redirect
	default:
		why = c.bridge(pk)
	}
	pk.cpu = pk.effects.copy && !pk.effects.cancel
	if pk.kind == nowhere && !pk.cpu {
		c.dropInPipe(s, why)
	}
}

// redirected returns what an object is as a destination.
func (conf *config) redirected(to sai.OID) destination {
	if _, ok := conf.ports[to]; ok {
		return toPort
	}
	if _, ok := conf.lags[to]; ok {
		return toLAG
	}
	return toBridgePort
}

// bridge decides by the destination address. It returns the reason why there is
// no destination, if there is none.
func (c *Chip) bridge(pk *packet) saisim.DropReason {
	conf := pk.conf
	vlan, sw := conf.vlanByID[pk.vid], conf.Switch
	flood := func(control, miss sai.Enum) saisim.DropReason {
		if control == sai.VLANFloodControlTypeNone || miss == sai.PacketActionDrop {
			return saisim.DropMiss
		}
		pk.kind, pk.to = toVLAN, vlan.OID
		return saisim.DropNoDestination
	}
	switch {
	case pk.h.dmac == 0xffffffffffff:
		return flood(vlan.FloodBroadcast, sw.BroadcastMiss)
	case pk.h.dmac>>40&1 == 1:
		return flood(vlan.FloodMulticast, sw.MulticastMiss)
	}
	e, known := c.fdb[fdbKey{pk.vid, pk.h.dmac}]
	switch {
	case !known:
		return flood(vlan.FloodUnicast, sw.UnicastMiss)
	case e.Drop:
		return saisim.DropFDB
	case e.BridgePort == pk.source:
		return saisim.DropSamePort
	}
	if _, member := conf.mode(pk.vid, e.BridgePort); !member || !conf.bridgePorts[e.BridgePort].Admin {
		return saisim.DropNoDestination
	}
	pk.kind, pk.to = toBridgePort, e.BridgePort
	return saisim.DropNoDestination
}
