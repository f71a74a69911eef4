package config

// A Trap is the reason why the CPU receives a packet. Except for the first two, traps are SAI's trap types.
type Trap uint8

// The traps.
const (
	TrapNone      Trap = iota // no trap: an ACL entry, a route, a neighbour or an FDB entry
	TrapLinkLocal             // to a link-local group address without a trap of its own

	// Traps recognised at admission, by the kind of frame.
	TrapSTP
	TrapLACP
	TrapEAPOL
	TrapLLDP
	TrapPVRST
	TrapUDLD
	TrapCDP
	TrapISIS
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

	// Traps for packets to the switch itself.
	TrapIP2ME
	TrapSSH
	TrapSNMP
	TrapBGP
	TrapBGPv6
	TrapBFD
	TrapBFDv6
	TrapMicroBFD
	TrapMicroBFDv6
	TrapLDP // also to the group of all routers, at admission
	TrapGNMI
	TrapP4RT
	TrapNTPClient
	TrapNTPServer

	TrapStaticMove // from an address that has a static FDB entry at another port

	// Traps recognised by the router.
	TrapNeighborMiss
	TrapL3MTU
	TrapTTL

	TrapSample // a packet that a sampler has chosen: the only trap that is specific to a copy
	TrapTAM    // a report of a drop, made by the chip itself
	NumTraps
)

// trapNames holds SONiC's names, as in its table COPP_TRAP, and SAI's, without SAI_HOSTIF_TRAP_TYPE_.
var trapNames = [NumTraps]struct{ name, sai string }{
	TrapLinkLocal:    {"link_local", ""},
	TrapSTP:          {"stp", "STP"},
	TrapLACP:         {"lacp", "LACP"},
	TrapEAPOL:        {"eapol", "EAPOL"},
	TrapLLDP:         {"lldp", "LLDP"},
	TrapPVRST:        {"pvrst", "PVRST"},
	TrapUDLD:         {"udld", "UDLD"},
	TrapCDP:          {"cdp", "CDP"},
	TrapISIS:         {"isis", "ISIS"},
	TrapARPRequest:   {"arp_req", "ARP_REQUEST"},
	TrapARPResponse:  {"arp_resp", "ARP_RESPONSE"},
	TrapDHCP:         {"dhcp", "DHCP"},
	TrapDHCPv6:       {"dhcpv6", "DHCPV6"},
	TrapND:           {"neigh_discovery", "IPV6_NEIGHBOR_DISCOVERY"},
	TrapNS:           {"neigh_solicitation", "IPV6_NEIGHBOR_SOLICITATION"},
	TrapNA:           {"neigh_advertisement", "IPV6_NEIGHBOR_ADVERTISEMENT"},
	TrapOSPF:         {"ospf", "OSPF"},
	TrapOSPFv6:       {"ospfv6", "OSPFV6"},
	TrapPIM:          {"pim", "PIM"},
	TrapVRRP:         {"vrrp", "VRRP"},
	TrapVRRPv6:       {"vrrpv6", "VRRPV6"},
	TrapIP2ME:        {"ip2me", "IP2ME"},
	TrapSSH:          {"ssh", "SSH"},
	TrapSNMP:         {"snmp", "SNMP"},
	TrapBGP:          {"bgp", "BGP"},
	TrapBGPv6:        {"bgpv6", "BGPV6"},
	TrapBFD:          {"bfd", "BFD"},
	TrapBFDv6:        {"bfdv6", "BFDV6"},
	TrapMicroBFD:     {"bfd_micro", "BFD_MICRO"},
	TrapMicroBFDv6:   {"bfdv6_micro", "BFDV6_MICRO"},
	TrapLDP:          {"ldp", "LDP"},
	TrapGNMI:         {"gnmi", "GNMI"},
	TrapP4RT:         {"p4rt", "P4RT"},
	TrapNTPClient:    {"ntpclient", "NTPCLIENT"},
	TrapNTPServer:    {"ntpserver", "NTPSERVER"},
	TrapStaticMove:   {"static_fdb_move", "STATIC_FDB_MOVE"},
	TrapNeighborMiss: {"neighbor_miss", "NEIGHBOR_MISS"},
	TrapL3MTU:        {"l3_mtu_error", "L3_MTU_ERROR"},
	TrapTTL:          {"ttl_error", "TTL_ERROR"},
	TrapSample:       {"sample_packet", "SAMPLEPACKET"},
	TrapTAM:          {"tam", ""},
}

// String returns the trap's name in SONiC's COPP_TRAP table.
func (t Trap) String() string {
	if t < NumTraps {
		return trapNames[t].name
	}
	return ""
}

// SAI returns SAI's name for the trap, "" if it has no type for it.
func (t Trap) SAI() string {
	if t >= NumTraps || trapNames[t].sai == "" {
		return ""
	}
	return "SAI_HOSTIF_TRAP_TYPE_" + trapNames[t].sai
}
