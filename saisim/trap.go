package saisim

import (
	"encoding/binary"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// A trapRow says what a trap is in SAI, and what the chip does without a
// HOSTIF_TRAP object.
type trapRow struct {
	trap     config.Trap
	kind     sai.Enum
	standing actions
}

func trapRows() []trapRow {
	const punt = actDrop | actCopy
	return []trapRow{
		{config.TrapSTP, sai.HostifTrapTypeStp, punt},
		{config.TrapLACP, sai.HostifTrapTypeLacp, punt},
		{config.TrapEAPOL, sai.HostifTrapTypeEapol, punt},
		{config.TrapLLDP, sai.HostifTrapTypeLldp, punt},
		{config.TrapPVRST, sai.HostifTrapTypePvrst, 0},
		{config.TrapUDLD, sai.HostifTrapTypeUdld, 0},
		{config.TrapCDP, sai.HostifTrapTypeCdp, 0},
		{config.TrapARPRequest, sai.HostifTrapTypeArpRequest, 0},
		{config.TrapARPResponse, sai.HostifTrapTypeArpResponse, 0},
		{config.TrapDHCP, sai.HostifTrapTypeDhcp, 0},
		{config.TrapDHCPv6, sai.HostifTrapTypeDhcpv6, 0},
		{config.TrapND, sai.HostifTrapTypeIPv6NeighborDiscovery, 0},
		{config.TrapNS, sai.HostifTrapTypeIPv6NeighborSolicitation, 0},
		{config.TrapNA, sai.HostifTrapTypeIPv6NeighborAdvertisement, 0},
		{config.TrapOSPF, sai.HostifTrapTypeOspf, 0},
		{config.TrapOSPFv6, sai.HostifTrapTypeOspfv6, 0},
		{config.TrapPIM, sai.HostifTrapTypePim, 0},
		{config.TrapVRRP, sai.HostifTrapTypeVrrp, 0},
		{config.TrapVRRPv6, sai.HostifTrapTypeVrrpv6, 0},
		{config.TrapIP2ME, sai.HostifTrapTypeIp2me, punt},
		{config.TrapSSH, sai.HostifTrapTypeSsh, punt},
		{config.TrapSNMP, sai.HostifTrapTypeSnmp, punt},
		{config.TrapBGP, sai.HostifTrapTypeBgp, punt},
		{config.TrapBGPv6, sai.HostifTrapTypeBgpv6, punt},
		{config.TrapBFD, sai.HostifTrapTypeBfd, punt},
		{config.TrapBFDv6, sai.HostifTrapTypeBfdv6, punt},
		{config.TrapGNMI, sai.HostifTrapTypeGnmi, punt},
		{config.TrapP4RT, sai.HostifTrapTypeP4rt, punt},
		{config.TrapNTPClient, sai.HostifTrapTypeNtpclient, punt},
		{config.TrapNTPServer, sai.HostifTrapTypeNtpserver, punt},
		{config.TrapStaticMove, sai.HostifTrapTypeStaticFDBMove, actDrop},
		{config.TrapNeighborMiss, sai.HostifTrapTypeNeighborMiss, punt},
		{config.TrapL3MTU, sai.HostifTrapTypeL3MTUError, actDrop},
		{config.TrapTTL, sai.HostifTrapTypeTTLError, punt},
	}
}

// A trapState is what the chip does when a trap's packets come.
type trapState struct {
	act      actions
	set      bool // by a HOSTIF_TRAP object
	priority uint32
}

func (c *engine) defaultTraps() {
	c.traps = [config.NumTraps]trapState{config.TrapLinkLocal: {act: actDrop | actCopy}}
	for _, r := range trapRows() {
		c.traps[r.trap].act = r.standing
	}
	c.trapsIP = false
}

// trap does to the packet what a trap says.
func (c *engine) trap(pk *packet, t config.Trap) { c.trapAs(pk, t, c.traps[t].act) }

func (c *engine) trapAs(pk *packet, t config.Trap, act actions) {
	pk.act |= act
	if act&actCopy != 0 && pk.trap == config.TrapNone {
		pk.trap = t
	}
}

// better returns of two traps that a packet falls in the one that counts: one
// with a HOSTIF_TRAP object, the higher priority, the one later in the list.
func (c *engine) better(a, b config.Trap) config.Trap {
	x, y := &c.traps[a], &c.traps[b]
	switch {
	case x.set != y.set:
		if x.set {
			return a
		}
		return b
	case x.priority != y.priority:
		if x.priority > y.priority {
			return a
		}
		return b
	}
	return max(a, b)
}

// Group addresses of protocols between bridges. Link-local group addresses,
// 01-80-C2-00-00-00 to -0F, are not forwarded by a bridge.
const (
	linkLocal   = 0x0180c2000000
	ciscoGroup  = 0x01000ccccccc // CDP, UDLD and others, in SNAP
	ciscoSSTP   = 0x01000ccccccd // PVRST
	snapUDLD    = 0x0111
	snapCDP     = 0x2000
	broadcast   = 0xffffffffffff
	dhcpServer  = 67
	dhcpClient  = 68
	dhcp6Client = 546
	dhcp6Server = 547
)

// trapFrame traps a packet for what it is, at admission.
func (c *engine) trapFrame(pk *packet) {
	h := &pk.h
	if h.dmac>>40&1 != 0 {
		switch {
		case h.dmac&^0xf == linkLocal:
			c.trap(pk, linkLocalTrap(h.dmac&0xf))
			return
		case h.dmac == ciscoGroup:
			c.trapSNAP(pk)
		case h.dmac == ciscoSSTP:
			c.trap(pk, config.TrapPVRST)
		}
	} else if h.dmac == c.switchMAC && c.switchMAC != 0 && pk.router == nil {
		c.trap(pk, config.TrapIP2ME)
	}
	switch {
	case h.flags&flagARP != 0 && h.flags&flagARPRequest != 0:
		c.trap(pk, config.TrapARPRequest)
	case h.flags&flagARP != 0:
		c.trap(pk, config.TrapARPResponse)
	case c.trapsIP && h.flags&flagIP != 0:
		c.trapIP(pk)
	}
}

func linkLocalTrap(low uint64) config.Trap {
	switch low {
	case 0x0:
		return config.TrapSTP
	case 0x2:
		return config.TrapLACP
	case 0x3:
		return config.TrapEAPOL
	case 0xe:
		return config.TrapLLDP
	}
	return config.TrapLinkLocal
}

// trapSNAP tells the protocols of Cisco's group address apart: an 802.3 frame
// with AA-AA-03, the OUI 00-00-0C and the protocol.
func (c *engine) trapSNAP(pk *packet) {
	b := pk.data[min(int(pk.h.l3), len(pk.data)):]
	if pk.h.flags&flagEthernet2 != 0 || len(b) < 8 || binary.BigEndian.Uint32(b) != 0xaaaa0300 || b[4] != 0 || b[5] != 0x0c {
		return
	}
	switch binary.BigEndian.Uint16(b[6:]) {
	case snapUDLD:
		c.trap(pk, config.TrapUDLD)
	case snapCDP:
		c.trap(pk, config.TrapCDP)
	}
}

// trapIP traps IP protocols that the switch hears whoever they are for. It is
// called only while there is a HOSTIF_TRAP object of one of them.
func (c *engine) trapIP(pk *packet) {
	h := &pk.h
	v4 := h.flags&flagIPv4 != 0
	group := v4 && h.dst[1]>>28 == 0xe || !v4 && h.dst[0]>>56 == 0xff
	one := func(t4, t6 config.Trap) {
		if v4 {
			c.trap(pk, t4)
		} else if t6 != config.TrapNone {
			c.trap(pk, t6)
		}
	}
	switch {
	case h.proto == protoUDP && v4 && h.dst[1] == 0xffffffff && (isDHCP(h.l4src) || isDHCP(h.l4dst)):
		c.trap(pk, config.TrapDHCP)
	case h.proto == protoUDP && !v4 && group && (isDHCPv6(h.l4src) || isDHCPv6(h.l4dst)):
		c.trap(pk, config.TrapDHCPv6)
	case h.flags&flagICMPv6 != 0 && h.icmpType >= 133 && h.icmpType <= 137 && h.ttl == 255:
		t := config.TrapND
		switch h.icmpType {
		case 135:
			t = c.better(t, config.TrapNS)
		case 136:
			t = c.better(t, config.TrapNA)
		}
		c.trap(pk, t)
	case !group:
	case h.proto == 89:
		one(config.TrapOSPF, config.TrapOSPFv6)
	case h.proto == 103:
		one(config.TrapPIM, config.TrapNone)
	case h.proto == 112:
		one(config.TrapVRRP, config.TrapVRRPv6)
	}
}

func isDHCP(p uint16) bool   { return p == dhcpServer || p == dhcpClient }
func isDHCPv6(p uint16) bool { return p == dhcp6Server || p == dhcp6Client }

// trapLocal traps an IP packet for one of the switch's own addresses: as
// TrapIP2ME, or as the trap of its protocol where there is one.
func (c *engine) trapLocal(pk *packet) {
	h := &pk.h
	t := config.TrapIP2ME
	if u := localTrap(h); u != config.TrapNone && c.traps[u].set {
		t = c.better(t, u)
	}
	c.trap(pk, t)
}

// localTrap returns the trap type of a packet to the switch, by its protocol.
func localTrap(h *headers) config.Trap {
	v4 := h.flags&flagIPv4 != 0
	pick := func(t4, t6 config.Trap) config.Trap {
		if v4 {
			return t4
		}
		return t6
	}
	switch {
	case h.flags&flagL4 == 0:
		if h.proto == 89 {
			return pick(config.TrapOSPF, config.TrapOSPFv6)
		}
	case h.proto != protoTCP && h.proto != protoUDP:
	case h.l4src == 123:
		return config.TrapNTPClient
	case h.l4dst == 123:
		return config.TrapNTPServer
	case h.proto == protoTCP:
		switch {
		case h.l4src == 179 || h.l4dst == 179:
			return pick(config.TrapBGP, config.TrapBGPv6)
		case h.l4dst == 22:
			return config.TrapSSH
		case h.l4dst == 9339:
			return config.TrapGNMI
		case h.l4dst == 9559:
			return config.TrapP4RT
		}
	case h.l4dst == 3784 || h.l4dst == 4784:
		return pick(config.TrapBFD, config.TrapBFDv6)
	case h.l4dst == 161:
		return config.TrapSNMP
	case v4 && (isDHCP(h.l4src) || isDHCP(h.l4dst)):
		return config.TrapDHCP
	case !v4 && (isDHCPv6(h.l4src) || isDHCPv6(h.l4dst)):
		return config.TrapDHCPv6
	}
	return config.TrapNone
}
