package saisim

import (
	"encoding/binary"

	"tamtam/sai"
)

// A Trap says why the CPU has a packet. Except for the first two they are SAI's
// trap types.
type Trap uint8

const (
	TrapNone      Trap = iota // no trap: an ACL entry, a route, a neighbour or an FDB entry
	TrapLinkLocal             // to a link-local group address that has no trap of its own

	// Recognised at admission, by what the frame is.
	TrapSTP
	TrapLACP
	TrapEAPOL
	TrapLLDP
	TrapPVRST
	TrapUDLD
	TrapCDP
	TrapARPRequest
	TrapARPResponse
	TrapDHCP
	TrapDHCPv6
	TrapND
	TrapNS
	TrapNA
	TrapOSPF
	TrapOSPFv6
	TrapPIM
	TrapVRRP
	TrapVRRPv6

	// To the switch itself.
	TrapIP2ME
	TrapSSH
	TrapSNMP
	TrapBGP
	TrapBGPv6
	TrapBFD
	TrapBFDv6
	TrapGNMI
	TrapP4RT
	TrapNTPClient
	TrapNTPServer

	TrapStaticMove // from an address that has a static FDB entry at another port

	// Recognised by the router.
	TrapNeighborMiss
	TrapL3MTU
	TrapTTL
	numTraps
)

// A trapRow says what a trap is in SAI, and what the chip does without a
// HOSTIF_TRAP object.
type trapRow struct {
	trap     Trap
	kind     sai.Enum
	name     string
	standing actions
}

func trapRows() []trapRow {
	const punt = actDrop | actCopy
	return []trapRow{
		{TrapSTP, sai.HostifTrapTypeStp, "stp", punt},
		{TrapLACP, sai.HostifTrapTypeLacp, "lacp", punt},
		{TrapEAPOL, sai.HostifTrapTypeEapol, "eapol", punt},
		{TrapLLDP, sai.HostifTrapTypeLldp, "lldp", punt},
		{TrapPVRST, sai.HostifTrapTypePvrst, "pvrst", 0},
		{TrapUDLD, sai.HostifTrapTypeUdld, "udld", 0},
		{TrapCDP, sai.HostifTrapTypeCdp, "cdp", 0},
		{TrapARPRequest, sai.HostifTrapTypeArpRequest, "arp_req", 0},
		{TrapARPResponse, sai.HostifTrapTypeArpResponse, "arp_resp", 0},
		{TrapDHCP, sai.HostifTrapTypeDhcp, "dhcp", 0},
		{TrapDHCPv6, sai.HostifTrapTypeDhcpv6, "dhcpv6", 0},
		{TrapND, sai.HostifTrapTypeIPv6NeighborDiscovery, "neigh_discovery", 0},
		{TrapNS, sai.HostifTrapTypeIPv6NeighborSolicitation, "neigh_solicitation", 0},
		{TrapNA, sai.HostifTrapTypeIPv6NeighborAdvertisement, "neigh_advertisement", 0},
		{TrapOSPF, sai.HostifTrapTypeOspf, "ospf", 0},
		{TrapOSPFv6, sai.HostifTrapTypeOspfv6, "ospfv6", 0},
		{TrapPIM, sai.HostifTrapTypePim, "pim", 0},
		{TrapVRRP, sai.HostifTrapTypeVrrp, "vrrp", 0},
		{TrapVRRPv6, sai.HostifTrapTypeVrrpv6, "vrrpv6", 0},
		{TrapIP2ME, sai.HostifTrapTypeIp2me, "ip2me", punt},
		{TrapSSH, sai.HostifTrapTypeSsh, "ssh", punt},
		{TrapSNMP, sai.HostifTrapTypeSnmp, "snmp", punt},
		{TrapBGP, sai.HostifTrapTypeBgp, "bgp", punt},
		{TrapBGPv6, sai.HostifTrapTypeBgpv6, "bgpv6", punt},
		{TrapBFD, sai.HostifTrapTypeBfd, "bfd", punt},
		{TrapBFDv6, sai.HostifTrapTypeBfdv6, "bfdv6", punt},
		{TrapGNMI, sai.HostifTrapTypeGnmi, "gnmi", punt},
		{TrapP4RT, sai.HostifTrapTypeP4rt, "p4rt", punt},
		{TrapNTPClient, sai.HostifTrapTypeNtpclient, "ntpclient", punt},
		{TrapNTPServer, sai.HostifTrapTypeNtpserver, "ntpserver", punt},
		{TrapStaticMove, sai.HostifTrapTypeStaticFDBMove, "static_fdb_move", actDrop},
		{TrapNeighborMiss, sai.HostifTrapTypeNeighborMiss, "neighbor_miss", punt},
		{TrapL3MTU, sai.HostifTrapTypeL3MTUError, "l3_mtu_error", actDrop},
		{TrapTTL, sai.HostifTrapTypeTTLError, "ttl_error", punt},
	}
}

// String returns the trap as SONiC's COPP_TRAP table calls it.
func (t Trap) String() string {
	for _, r := range trapRows() {
		if r.trap == t {
			return r.name
		}
	}
	if t == TrapLinkLocal {
		return "link_local"
	}
	return ""
}

// A trapState is what the chip does when a trap's packets come.
type trapState struct {
	act      actions
	set      bool // by a HOSTIF_TRAP object
	priority uint32
}

func (c *Chip) defaultTraps() {
	c.traps = [numTraps]trapState{TrapLinkLocal: {act: actDrop | actCopy}}
	for _, r := range trapRows() {
		c.traps[r.trap].act = r.standing
	}
	c.trapsIP = false
}

// trap does to the packet what a trap says.
func (c *Chip) trap(pk *packet, t Trap) { c.trapAs(pk, t, c.traps[t].act) }

func (c *Chip) trapAs(pk *packet, t Trap, act actions) {
	pk.act |= act
	if act&actCopy != 0 && pk.trap == TrapNone {
		pk.trap = t
	}
}

// better returns of two traps that a packet falls in the one that counts: one
// with a HOSTIF_TRAP object, the higher priority, the one later in the list.
func (c *Chip) better(a, b Trap) Trap {
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
func (c *Chip) trapFrame(pk *packet) {
	h := &pk.h
	if h.dmac>>40&1 != 0 {
		switch {
		case h.dmac&^0xf == linkLocal:
			c.trap(pk, linkLocalTrap(h.dmac&0xf))
			return
		case h.dmac == ciscoGroup:
			c.trapSNAP(pk)
		case h.dmac == ciscoSSTP:
			c.trap(pk, TrapPVRST)
		}
	} else if h.dmac == c.switchMAC && c.switchMAC != 0 && pk.router == nil {
		c.trap(pk, TrapIP2ME)
	}
	switch {
	case h.flags&flagARP != 0 && h.flags&flagARPRequest != 0:
		c.trap(pk, TrapARPRequest)
	case h.flags&flagARP != 0:
		c.trap(pk, TrapARPResponse)
	case c.trapsIP && h.flags&flagIP != 0:
		c.trapIP(pk)
	}
}

func linkLocalTrap(low uint64) Trap {
	switch low {
	case 0x0:
		return TrapSTP
	case 0x2:
		return TrapLACP
	case 0x3:
		return TrapEAPOL
	case 0xe:
		return TrapLLDP
	}
	return TrapLinkLocal
}

// trapSNAP tells the protocols of Cisco's group address apart: an 802.3 frame
// with AA-AA-03, the OUI 00-00-0C and the protocol.
func (c *Chip) trapSNAP(pk *packet) {
	b := pk.data[min(int(pk.h.l3), len(pk.data)):]
	if pk.h.flags&flagEthernet2 != 0 || len(b) < 8 || binary.BigEndian.Uint32(b) != 0xaaaa0300 || b[4] != 0 || b[5] != 0x0c {
		return
	}
	switch binary.BigEndian.Uint16(b[6:]) {
	case snapUDLD:
		c.trap(pk, TrapUDLD)
	case snapCDP:
		c.trap(pk, TrapCDP)
	}
}

// trapIP traps IP protocols that the switch hears whoever they are for. It is
// called only while there is a HOSTIF_TRAP object of one of them.
func (c *Chip) trapIP(pk *packet) {
	h := &pk.h
	v4 := h.flags&flagIPv4 != 0
	group := v4 && h.dst[1]>>28 == 0xe || !v4 && h.dst[0]>>56 == 0xff
	one := func(t4, t6 Trap) {
		if v4 {
			c.trap(pk, t4)
		} else if t6 != TrapNone {
			c.trap(pk, t6)
		}
	}
	switch {
	case h.proto == protoUDP && v4 && h.dst[1] == 0xffffffff && (isDHCP(h.l4src) || isDHCP(h.l4dst)):
		c.trap(pk, TrapDHCP)
	case h.proto == protoUDP && !v4 && group && (isDHCPv6(h.l4src) || isDHCPv6(h.l4dst)):
		c.trap(pk, TrapDHCPv6)
	case h.flags&flagICMPv6 != 0 && h.icmpType >= 133 && h.icmpType <= 137 && h.ttl == 255:
		t := TrapND
		switch h.icmpType {
		case 135:
			t = c.better(t, TrapNS)
		case 136:
			t = c.better(t, TrapNA)
		}
		c.trap(pk, t)
	case !group:
	case h.proto == 89:
		one(TrapOSPF, TrapOSPFv6)
	case h.proto == 103:
		one(TrapPIM, TrapNone)
	case h.proto == 112:
		one(TrapVRRP, TrapVRRPv6)
	}
}

func isDHCP(p uint16) bool   { return p == dhcpServer || p == dhcpClient }
func isDHCPv6(p uint16) bool { return p == dhcp6Server || p == dhcp6Client }

// trapLocal traps an IP packet for one of the switch's own addresses: as
// TrapIP2ME, or as the trap of its protocol where there is one.
func (c *Chip) trapLocal(pk *packet) {
	h := &pk.h
	t := TrapIP2ME
	if u := localTrap(h); u != TrapNone && c.traps[u].set {
		t = c.better(t, u)
	}
	c.trap(pk, t)
}

// localTrap returns the trap type of a packet to the switch, by its protocol.
func localTrap(h *headers) Trap {
	v4 := h.flags&flagIPv4 != 0
	pick := func(t4, t6 Trap) Trap {
		if v4 {
			return t4
		}
		return t6
	}
	switch {
	case h.flags&flagL4 == 0:
		if h.proto == 89 {
			return pick(TrapOSPF, TrapOSPFv6)
		}
	case h.proto != protoTCP && h.proto != protoUDP:
	case h.l4src == 123:
		return TrapNTPClient
	case h.l4dst == 123:
		return TrapNTPServer
	case h.proto == protoTCP:
		switch {
		case h.l4src == 179 || h.l4dst == 179:
			return pick(TrapBGP, TrapBGPv6)
		case h.l4dst == 22:
			return TrapSSH
		case h.l4dst == 9339:
			return TrapGNMI
		case h.l4dst == 9559:
			return TrapP4RT
		}
	case h.l4dst == 3784 || h.l4dst == 4784:
		return pick(TrapBFD, TrapBFDv6)
	case h.l4dst == 161:
		return TrapSNMP
	case v4 && (isDHCP(h.l4src) || isDHCP(h.l4dst)):
		return TrapDHCP
	case !v4 && (isDHCPv6(h.l4src) || isDHCPv6(h.l4dst)):
		return TrapDHCPv6
	}
	return TrapNone
}
