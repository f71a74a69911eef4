package config

// A Trap says why the CPU has a packet. Except for the first two they are SAI's
// trap types.
type Trap uint8

// The traps.
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

	TrapSample // a packet that a sampler has chosen: the one trap that a copy has of its own
	NumTraps
)

var trapNames = [NumTraps]string{
	TrapLinkLocal:    "link_local",
	TrapSTP:          "stp",
	TrapLACP:         "lacp",
	TrapEAPOL:        "eapol",
	TrapLLDP:         "lldp",
	TrapPVRST:        "pvrst",
	TrapUDLD:         "udld",
	TrapCDP:          "cdp",
	TrapARPRequest:   "arp_req",
	TrapARPResponse:  "arp_resp",
	TrapDHCP:         "dhcp",
	TrapDHCPv6:       "dhcpv6",
	TrapND:           "neigh_discovery",
	TrapNS:           "neigh_solicitation",
	TrapNA:           "neigh_advertisement",
	TrapOSPF:         "ospf",
	TrapOSPFv6:       "ospfv6",
	TrapPIM:          "pim",
	TrapVRRP:         "vrrp",
	TrapVRRPv6:       "vrrpv6",
	TrapIP2ME:        "ip2me",
	TrapSSH:          "ssh",
	TrapSNMP:         "snmp",
	TrapBGP:          "bgp",
	TrapBGPv6:        "bgpv6",
	TrapBFD:          "bfd",
	TrapBFDv6:        "bfdv6",
	TrapGNMI:         "gnmi",
	TrapP4RT:         "p4rt",
	TrapNTPClient:    "ntpclient",
	TrapNTPServer:    "ntpserver",
	TrapStaticMove:   "static_fdb_move",
	TrapNeighborMiss: "neighbor_miss",
	TrapL3MTU:        "l3_mtu_error",
	TrapTTL:          "ttl_error",
	TrapSample:       "sample_packet",
}

// String returns the trap as SONiC's COPP_TRAP table calls it.
func (t Trap) String() string {
	if t < NumTraps {
		return trapNames[t]
	}
	return ""
}
