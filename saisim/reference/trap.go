package reference

import (
	"encoding/binary"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

var (
	punted  = effects{drop: true, copy: true}
	nothing = effects{}
)

// standing holds the effects of a trap without a rule.
var standing = map[config.Trap]effects{
	config.TrapLinkLocal: punted,
	config.TrapSTP:       punted, config.TrapLACP: punted, config.TrapEAPOL: punted, config.TrapLLDP: punted,
	config.TrapIP2ME: punted, config.TrapSSH: punted, config.TrapSNMP: punted, config.TrapBGP: punted,
	config.TrapBGPv6: punted, config.TrapBFD: punted, config.TrapBFDv6: punted, config.TrapMicroBFD: punted,
	config.TrapMicroBFDv6: punted, config.TrapLDP: punted, config.TrapGNMI: punted,
	config.TrapP4RT: punted, config.TrapNTPClient: punted, config.TrapNTPServer: punted,
	config.TrapStaticMove: {drop: true}, config.TrapNeighborMiss: punted,
	config.TrapL3MTU: {drop: true}, config.TrapTTL: punted,
}

// trapOf returns the effects and the priority of a trap. set reports whether a rule gives them.
func (conf *settings) trapOf(t config.Trap) (does effects, priority uint32, set bool) {
	for _, r := range conf.Traps {
		if r.Trap == t {
			return doesOf(r.Action), r.Priority, true
		}
	}
	return standing[t], 0, false
}

// trapAs applies the effects of a trap to a packet. The CPU's copy is attributed to the first trap that makes a copy.
func (pk *packet) trapAs(t config.Trap, does effects) {
	pk.effects = pk.effects.or(does)
	if does != nothing {
		pk.find(does.of(saisim.Finding{Table: "chip.trap", Hit: true, Trap: t}))
	}
	if does.copy && pk.trap == config.TrapNone {
		pk.trap = t
	}
	if does.drop {
		pk.noteTrap(t)
	}
}

// noteTrap records the first trap that stops the packet.
func (pk *packet) noteTrap(t config.Trap) {
	if pk.removedBy == config.TrapNone {
		pk.removedBy = t
	}
}

// trapBehind returns the trap that caused a drop with this reason.
func (pk *packet) trapBehind(why drop.Reason) config.Trap {
	switch why {
	case drop.Policer: // the copy for the CPU
		return pk.trap
	case drop.Trap, drop.Learning, drop.TTL, drop.NoNeighbor, drop.L3MTU:
		return pk.removedBy
	}
	return config.TrapNone
}

func (conf *settings) trapPacket(pk *packet, t config.Trap) {
	does, _, _ := conf.trapOf(t)
	pk.trapAs(t, does)
}

// better returns the trap that applies out of two: the trap with a rule, then the one with the higher priority, then
// the later one in SAI's list.
func (conf *settings) better(a, b config.Trap) config.Trap {
	_, pa, sa := conf.trapOf(a)
	_, pb, sb := conf.trapOf(b)
	switch {
	case sa != sb && sa, sa == sb && pa > pb:
		return a
	case sa != sb, pb > pa:
		return b
	}
	return max(a, b)
}

// trapFrame traps a packet by its kind. If apart is true, the packet came in at a LAG member that does not receive, and
// only link protocols are trapped.
func (conf *settings) trapFrame(pk *packet, apart bool) {
	h := &pk.h
	own := mac(conf.Switch.MAC[:])
	// The VLAN filter comes before the traps for the switch's own address.
	foreign := !pk.admitted && (pk.why == drop.TagFilter || pk.tagged && h.tags[0].tci&0xfff != 0)
	switch {
	case h.dmac>>4 == 0x0180c2000000>>4:
		t := map[uint64]config.Trap{0: config.TrapSTP, 2: config.TrapLACP, 3: config.TrapEAPOL,
			0xe: config.TrapLLDP}[h.dmac&0xf]
		if t == config.TrapNone {
			t = config.TrapLinkLocal
		}
		conf.trapPacket(pk, t)
		return
	case h.dmac == 0x01000ccccccc:
		if t := snapTrap(pk); t != config.TrapNone {
			conf.trapPacket(pk, t)
		}
	case h.dmac == 0x01000ccccccd:
		conf.trapPacket(pk, config.TrapPVRST)
	case own != 0 && h.dmac == own && pk.router == config.None && !apart && !foreign:
		conf.trapPacket(pk, config.TrapIP2ME)
	}
	if apart {
		return
	}
	switch h.dmac {
	case 0x0180c2000014, 0x0180c2000015, 0x09002b000005: // IS-IS of level 1, of level 2, of both
		conf.trapPacket(pk, config.TrapISIS)
	}
	switch {
	case h.arp && h.arpOp == 1:
		conf.trapPacket(pk, config.TrapARPRequest)
	case h.arp:
		conf.trapPacket(pk, config.TrapARPResponse)
	case h.ip != nil:
		if t := conf.protocolTrap(h); t != config.TrapNone {
			conf.trapPacket(pk, t)
		}
	}
}

// snapTrap distinguishes the protocols of Cisco's group address by their SNAP header: AA-AA-03, OUI 00-00-0C, protocol.
func snapTrap(pk *packet) config.Trap {
	if pk.h.ethernet2 || len(pk.data) < pk.h.at+8 {
		return config.TrapNone
	}
	switch binary.BigEndian.Uint64(pk.data[pk.h.at:]) {
	case 0xaaaa0300000c0111:
		return config.TrapUDLD
	case 0xaaaa0300000c2000:
		return config.TrapCDP
	}
	return config.TrapNone
}

// protocolTrap returns the trap of IP packets that the switch receives for any destination.
func (conf *settings) protocolTrap(h *headers) config.Trap {
	ip := h.ip
	v4 := ip.version == 4
	group := v4 && ip.dst[12]>>4 == 0xe || !v4 && ip.dst[0] == 0xff
	udp := h.l4 != nil && ip.protocol == 17
	limited := v4 && [4]byte(ip.dst[12:]) == [4]byte{255, 255, 255, 255}
	discovery := h.icmp != nil && !v4 && h.icmp.typ >= 133 && h.icmp.typ <= 137 && ip.ttl == 255
	switch {
	case udp && limited && dhcp(h.l4, 67, 68):
		return config.TrapDHCP
	case udp && !v4 && group && dhcp(h.l4, 546, 547):
		return config.TrapDHCPv6
	case udp && h.l4.dst == 646 && v4 && [4]byte(ip.dst[12:]) == [4]byte{224, 0, 0, 2}:
		if _, _, set := conf.trapOf(config.TrapLDP); set {
			return config.TrapLDP
		}
	case discovery && h.icmp.typ == 135:
		return conf.better(config.TrapND, config.TrapNS)
	case discovery && h.icmp.typ == 136:
		return conf.better(config.TrapND, config.TrapNA)
	case discovery:
		return config.TrapND
	case group && ip.protocol == 89:
		return byVersion(v4, config.TrapOSPF, config.TrapOSPFv6)
	case group && ip.protocol == 103:
		return byVersion(v4, config.TrapPIM, config.TrapNone)
	case group && ip.protocol == 112:
		return byVersion(v4, config.TrapVRRP, config.TrapVRRPv6)
	}
	return config.TrapNone
}

func byVersion(v4 bool, t4, t6 config.Trap) config.Trap {
	if v4 {
		return t4
	}
	return t6
}

func dhcp(l4 *l4Header, a, b uint16) bool {
	return l4.src == a || l4.src == b || l4.dst == a || l4.dst == b
}

// localTrap returns the trap of a packet to one of the switch's addresses.
func (conf *settings) localTrap(h *headers) config.Trap {
	t := byProtocol(h)
	if _, _, set := conf.trapOf(t); t != config.TrapNone && set {
		return conf.better(config.TrapIP2ME, t)
	}
	return config.TrapIP2ME
}

func byProtocol(h *headers) config.Trap {
	v4, protocol := h.ip.version == 4, h.ip.protocol
	if h.l4 == nil {
		if protocol == 89 {
			return byVersion(v4, config.TrapOSPF, config.TrapOSPFv6)
		}
		return config.TrapNone
	}
	tcp, udp := protocol == 6, protocol == 17
	src, dst := h.l4.src, h.l4.dst
	switch {
	case !tcp && !udp:
	case src == 123:
		return config.TrapNTPClient
	case dst == 123:
		return config.TrapNTPServer
	case tcp && (src == 179 || dst == 179):
		return byVersion(v4, config.TrapBGP, config.TrapBGPv6)
	case tcp && (src == 646 || dst == 646):
		return config.TrapLDP
	case tcp && dst == 22:
		return config.TrapSSH
	case tcp && dst == 9339:
		return config.TrapGNMI
	case tcp && dst == 9559:
		return config.TrapP4RT
	case udp && (dst == 3784 || dst == 4784):
		return byVersion(v4, config.TrapBFD, config.TrapBFDv6)
	case udp && dst == 6784:
		return byVersion(v4, config.TrapMicroBFD, config.TrapMicroBFDv6)
	case udp && dst == 161:
		return config.TrapSNMP
	case udp && v4 && dhcp(h.l4, 67, 68):
		return config.TrapDHCP
	case udp && !v4 && dhcp(h.l4, 546, 547):
		return config.TrapDHCPv6
	}
	return config.TrapNone
}
