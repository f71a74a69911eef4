package reference

import (
	"encoding/binary"

	"tamtam/sai"
	"tamtam/saisim"
)

// A trapType is a trap with its SAI type and what is done where no HOSTIF_TRAP
// object says otherwise.
type trapType struct {
	trap     saisim.Trap
	sai      sai.Enum
	standing effects
}

var (
	punted  = effects{drop: true, copy: true}
	nothing = effects{}

	trapTypes = []trapType{
		{saisim.TrapSTP, sai.HostifTrapTypeStp, punted}, {saisim.TrapLACP, sai.HostifTrapTypeLacp, punted},
		{saisim.TrapEAPOL, sai.HostifTrapTypeEapol, punted}, {saisim.TrapLLDP, sai.HostifTrapTypeLldp, punted},
		{saisim.TrapPVRST, sai.HostifTrapTypePvrst, nothing}, {saisim.TrapUDLD, sai.HostifTrapTypeUdld, nothing},
		{saisim.TrapCDP, sai.HostifTrapTypeCdp, nothing}, {saisim.TrapARPRequest, sai.HostifTrapTypeArpRequest, nothing},
		{saisim.TrapARPResponse, sai.HostifTrapTypeArpResponse, nothing}, {saisim.TrapDHCP, sai.HostifTrapTypeDhcp, nothing},
		{saisim.TrapDHCPv6, sai.HostifTrapTypeDhcpv6, nothing}, {saisim.TrapND, sai.HostifTrapTypeIPv6NeighborDiscovery, nothing},
		{saisim.TrapNS, sai.HostifTrapTypeIPv6NeighborSolicitation, nothing},
		{saisim.TrapNA, sai.HostifTrapTypeIPv6NeighborAdvertisement, nothing},
		{saisim.TrapOSPF, sai.HostifTrapTypeOspf, nothing}, {saisim.TrapOSPFv6, sai.HostifTrapTypeOspfv6, nothing},
		{saisim.TrapPIM, sai.HostifTrapTypePim, nothing}, {saisim.TrapVRRP, sai.HostifTrapTypeVrrp, nothing},
		{saisim.TrapVRRPv6, sai.HostifTrapTypeVrrpv6, nothing},
		{saisim.TrapIP2ME, sai.HostifTrapTypeIp2me, punted}, {saisim.TrapSSH, sai.HostifTrapTypeSsh, punted},
		{saisim.TrapSNMP, sai.HostifTrapTypeSnmp, punted}, {saisim.TrapBGP, sai.HostifTrapTypeBgp, punted},
		{saisim.TrapBGPv6, sai.HostifTrapTypeBgpv6, punted}, {saisim.TrapBFD, sai.HostifTrapTypeBfd, punted},
		{saisim.TrapBFDv6, sai.HostifTrapTypeBfdv6, punted}, {saisim.TrapGNMI, sai.HostifTrapTypeGnmi, punted},
		{saisim.TrapP4RT, sai.HostifTrapTypeP4rt, punted}, {saisim.TrapNTPClient, sai.HostifTrapTypeNtpclient, punted},
		{saisim.TrapNTPServer, sai.HostifTrapTypeNtpserver, punted},
		{saisim.TrapStaticMove, sai.HostifTrapTypeStaticFDBMove, effects{drop: true}},
		{saisim.TrapNeighborMiss, sai.HostifTrapTypeNeighborMiss, punted},
		{saisim.TrapL3MTU, sai.HostifTrapTypeL3MTUError, effects{drop: true}},
		{saisim.TrapTTL, sai.HostifTrapTypeTTLError, punted},
	}
)

// trapOf returns what is done with the packets of a trap, and its priority; set:
// a HOSTIF_TRAP object says so.
func (conf *config) trapOf(t saisim.Trap) (does effects, priority uint32, set bool) {
	if t == saisim.TrapLinkLocal {
		return punted, 0, false
	}
	for _, k := range trapTypes {
		if k.trap != t {
			continue
		}
		for _, r := range conf.Traps {
			if r.Type == k.sai {
				return packetAction(r.Action), r.Priority, true
			}
		}
		return k.standing, 0, false
	}
	return nothing, 0, false
}

// trapAs does to a packet what a trap says. The CPU is told of the first trap
// that wants a copy.
func (pk *packet) trapAs(t saisim.Trap, does effects) {
	pk.effects = pk.effects.or(does)
	if does.copy && pk.trap == saisim.TrapNone {
		pk.trap = t
	}
}

func (conf *config) trapPacket(pk *packet, t saisim.Trap) {
	does, _, _ := conf.trapOf(t)
	pk.trapAs(t, does)
}

// better returns which of two traps of a packet counts: one that has an object,
// then the higher priority, then the one later in SAI's list.
func (conf *config) better(a, b saisim.Trap) saisim.Trap {
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

// trapFrame traps a packet for what it is.
func (conf *config) trapFrame(pk *packet) {
	h := &pk.h
	own := mac(conf.Switch.MAC[:])
	switch {
	case h.dmac>>4 == 0x0180c2000000>>4:
		t := map[uint64]saisim.Trap{0: saisim.TrapSTP, 2: saisim.TrapLACP, 3: saisim.TrapEAPOL, 0xe: saisim.TrapLLDP}[h.dmac&0xf]
		if t == saisim.TrapNone {
			t = saisim.TrapLinkLocal
		}
		conf.trapPacket(pk, t)
		return
	case h.dmac == 0x01000ccccccc:
		if t := snapTrap(pk); t != saisim.TrapNone {
			conf.trapPacket(pk, t)
		}
	case h.dmac == 0x01000ccccccd:
		conf.trapPacket(pk, saisim.TrapPVRST)
	case own != 0 && h.dmac == own && pk.router == sai.NullOID:
		conf.trapPacket(pk, saisim.TrapIP2ME)
	}
	switch {
	case h.arp && h.arpOp == 1:
		conf.trapPacket(pk, saisim.TrapARPRequest)
	case h.arp:
		conf.trapPacket(pk, saisim.TrapARPResponse)
	case h.ip != nil:
		if t := conf.protocolTrap(h); t != saisim.TrapNone {
			conf.trapPacket(pk, t)
		}
	}
}

// snapTrap tells the protocols of Cisco's group address apart by their SNAP
// header: AA-AA-03, OUI 00-00-0C, protocol.
func snapTrap(pk *packet) saisim.Trap {
	if pk.h.ethernet2 || len(pk.data) < pk.h.at+8 {
		return saisim.TrapNone
	}
	switch binary.BigEndian.Uint64(pk.data[pk.h.at:]) {
	case 0xaaaa0300000c0111:
		return saisim.TrapUDLD
	case 0xaaaa0300000c2000:
		return saisim.TrapCDP
	}
	return saisim.TrapNone
}

// protocolTrap returns the trap of IP packets that the switch hears whoever they
// are for.
func (conf *config) protocolTrap(h *headers) saisim.Trap {
	ip := h.ip
	v4 := ip.version == 4
	group := v4 && ip.dst[12]>>4 == 0xe || !v4 && ip.dst[0] == 0xff
	udp := h.l4 != nil && ip.protocol == 17
	limited := v4 && [4]byte(ip.dst[12:]) == [4]byte{255, 255, 255, 255}
	discovery := h.icmp != nil && !v4 && h.icmp.typ >= 133 && h.icmp.typ <= 137 && ip.ttl == 255
	switch {
	case udp && limited && dhcp(h.l4, 67, 68):
		return saisim.TrapDHCP
	case udp && !v4 && group && dhcp(h.l4, 546, 547):
		return saisim.TrapDHCPv6
	case discovery && h.icmp.typ == 135:
		return conf.better(saisim.TrapND, saisim.TrapNS)
	case discovery && h.icmp.typ == 136:
		return conf.better(saisim.TrapND, saisim.TrapNA)
	case discovery:
		return saisim.TrapND
	case group && ip.protocol == 89:
		return byVersion(v4, saisim.TrapOSPF, saisim.TrapOSPFv6)
	case group && ip.protocol == 103:
		return byVersion(v4, saisim.TrapPIM, saisim.TrapNone)
	case group && ip.protocol == 112:
		return byVersion(v4, saisim.TrapVRRP, saisim.TrapVRRPv6)
	}
	return saisim.TrapNone
}

func byVersion(v4 bool, t4, t6 saisim.Trap) saisim.Trap {
	if v4 {
		return t4
	}
	return t6
}

func dhcp(l4 *l4Header, a, b uint16) bool {
	return l4.src == a || l4.src == b || l4.dst == a || l4.dst == b
}

// localTrap returns the trap of a packet to one of the switch's own addresses.
func (conf *config) localTrap(h *headers) saisim.Trap {
	t := byProtocol(h)
	if _, _, set := conf.trapOf(t); t != saisim.TrapNone && set {
		return conf.better(saisim.TrapIP2ME, t)
	}
	return saisim.TrapIP2ME
}

func byProtocol(h *headers) saisim.Trap {
	v4, protocol := h.ip.version == 4, h.ip.protocol
	if h.l4 == nil {
		if protocol == 89 {
			return byVersion(v4, saisim.TrapOSPF, saisim.TrapOSPFv6)
		}
		return saisim.TrapNone
	}
	tcp, udp := protocol == 6, protocol == 17
	src, dst := h.l4.src, h.l4.dst
	switch {
	case !tcp && !udp:
	case src == 123:
		return saisim.TrapNTPClient
	case dst == 123:
		return saisim.TrapNTPServer
	case tcp && (src == 179 || dst == 179):
		return byVersion(v4, saisim.TrapBGP, saisim.TrapBGPv6)
	case tcp && dst == 22:
		return saisim.TrapSSH
	case tcp && dst == 9339:
		return saisim.TrapGNMI
	case tcp && dst == 9559:
		return saisim.TrapP4RT
	case udp && (dst == 3784 || dst == 4784):
		return byVersion(v4, saisim.TrapBFD, saisim.TrapBFDv6)
	case udp && dst == 161:
		return saisim.TrapSNMP
	case udp && v4 && dhcp(h.l4, 67, 68):
		return saisim.TrapDHCP
	case udp && !v4 && dhcp(h.l4, 546, 547):
		return saisim.TrapDHCPv6
	}
	return saisim.TrapNone
}
