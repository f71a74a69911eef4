// Package drop names the reasons for which a chip drops frames.
//
// The reasons are a vocabulary that both engines share with the readers of their counters. The code that decides to
// drop a frame is elsewhere.
package drop

// A Reason is the reason why a frame, or a copy of it, was dropped.
type Reason uint8

// These are the reasons. Reports contain their numbers as tamtamDropReason, and collectors store them. So a number
// keeps its meaning forever. A new reason gets the next number, independent of its position in the pipeline.
const (
	PortDown      Reason = 0
	Runt          Reason = 1
	Oversize      Reason = 2
	TagFilter     Reason = 3
	NoVLAN        Reason = 4
	NotMember     Reason = 5
	SourceAddress Reason = 6
	Learning      Reason = 7
	ACL           Reason = 8
	Trap          Reason = 9
	FDB           Reason = 10
	Miss          Reason = 11
	SamePort      Reason = 12
	NoDestination Reason = 13
	NoLAGMember   Reason = 14
	NotRouter     Reason = 15
	RouterDown    Reason = 16
	IPHeader      Reason = 17
	NoRoute       Reason = 18
	Blackhole     Reason = 19
	Neighbor      Reason = 20
	Route         Reason = 21
	NoNextHop     Reason = 22
	TTL           Reason = 23
	NoNeighbor    Reason = 24
	RouterOutDown Reason = 25
	SameInterface Reason = 26
	L3MTU         Reason = 27
	Program       Reason = 28
	Policer       Reason = 29
	Buffer        Reason = 30
	QueueLimit    Reason = 31
	WRED          Reason = 32
	EgressDown    Reason = 33
	EgressMTU     Reason = 34
	EgressACL     Reason = 35
	EgressProgram Reason = 36
	PortRemoved   Reason = 37
	Decap         Reason = 38
	PriorityGroup Reason = 39
	TrimQueue     Reason = 40

	NumReasons Reason = 41 // number of reasons
)

// reasons holds all reasons: the name in reports, a text, and the closest name of SAI's debug counters (after
// SAI_IN_DROP_REASON_). It is the only list of reasons.
var reasons = [NumReasons]struct{ name, text, sai string }{
	PortDown:      {"port-down", "ingress port is down", ""},
	Runt:          {"runt", "no whole Ethernet header, VLAN tag included", ""},
	Oversize:      {"oversize", "longer, with FCS, than the ingress port's MTU", "EXCEEDS_L2_MTU"},
	TagFilter:     {"vlan-tag-filter", "the port drops tagged, or untagged, frames", "VLAN_TAG_NOT_ALLOWED"},
	NoVLAN:        {"no-vlan", "the VLAN does not exist, or the port is in no bridge", "INGRESS_VLAN_FILTER"},
	NotMember:     {"not-vlan-member", "the ingress port is no member of the VLAN", "INGRESS_VLAN_FILTER"},
	SourceAddress: {"source-address", "the source address is a group address", "SMAC_MULTICAST"},
	Learning:      {"learning", "unknown source address where learning mode is drop", "L2_ANY"},
	ACL:           {"acl", "an ingress ACL entry drops it", "ACL_ANY"},
	Trap:          {"trap", "a link-local or trapped frame that is not for forwarding", ""},
	FDB:           {"fdb", "an FDB entry drops it", "FDB_UC_DISCARD"},
	Miss:          {"unknown-destination", "unknown destination and the VLAN or switch does not flood it", "L2_ANY"},
	SamePort:      {"same-port", "the destination is where it came from", "L2_LOOPBACK_FILTER"},
	NoDestination: {"no-destination", "flooded to no port", "L2_ANY"},
	NoLAGMember:   {"no-lag-member", "the LAG has no member that is up", ""},
	NotRouter:     {"not-router", "at a router port, but not to the router's address", "NON_ROUTABLE"},
	RouterDown:    {"router-down", "the router, or its interface in, is down for IPv4 or IPv6", "IRIF_DISABLED"},
	IPHeader:      {"ip-header", "to be routed, but its IP header is not fit for that", "IP_HEADER_ERROR"},
	NoRoute:       {"no-route", "no route to the destination, or only the default one, which drops", "LPM_MISS"},
	Blackhole:     {"blackhole", "the route drops it, and is not the default one", "BLACKHOLE_ROUTE"},
	Neighbor:      {"neighbor", "the neighbour drops it", "BLACKHOLE_ARP"},
	Route:         {"route", "the route leads nowhere", "L3_ANY"},
	NoNextHop:     {"no-next-hop", "the route leads to no next hop", "UNRESOLVED_NEXT_HOP"},
	TTL:           {"ttl", "the time to live or hop limit ends here", "TTL"},
	NoNeighbor:    {"no-neighbor", "the next hop's MAC address is not known", "UNRESOLVED_NEXT_HOP"},
	RouterOutDown: {"router-out-down", "the router interface out is down for IPv4 or IPv6", "ERIF_DISABLED"},
	SameInterface: {"same-interface", "routed back to the interface in, which drops that", "L3_LOOPBACK_FILTER"},
	L3MTU:         {"l3-mtu", "longer than the MTU of the router interface that it leaves by", "EXCEEDS_L3_MTU"},
	Program:       {"program", "a program in the ingress pipe drops it", ""},
	Policer:       {"policer", "a copy for the CPU that the policer of its trap does not let pass", ""},
	Buffer:        {"buffer", "no room in the shared buffer", ""},
	QueueLimit:    {"queue-limit", "the queue is as long as it may be", ""},
	WRED:          {"wred", "dropped early, by WRED", ""},
	EgressDown:    {"egress-port-down", "egress port is down", ""},
	EgressMTU:     {"egress-mtu", "longer, with FCS, than the egress port's MTU", ""},
	EgressACL:     {"egress-acl", "an egress ACL entry drops it", "ACL_ANY"},
	EgressProgram: {"egress-program", "a program in the egress pipe drops it", ""},
	PortRemoved:   {"port-removed", "its port was removed while it was in the chip", ""},
	Decap:         {"decap", "encapsulated, but its headers are damaged, or no session takes them off", "DECAP_ERROR"},
	PriorityGroup: {"priority-group", "its ingress priority group has no room for it, nor headroom", ""},
	TrimQueue:     {"trim-queue", "trimmed, and not admitted to the queue for trimmed packets either", ""},
}

// String returns the name of the reason in reports.
func (r Reason) String() string {
	if r < NumReasons {
		return reasons[r].name
	}
	return "unknown"
}

// SAI returns the name of the reason in SAI's debug counters, or the closest one. It returns "" if SAI has none.
func (r Reason) SAI() string {
	if r >= NumReasons || reasons[r].sai == "" {
		return ""
	}
	return "SAI_IN_DROP_REASON_" + reasons[r].sai
}

// AtEgress reports whether the reason counts at the port where the packet was to leave, after the ingress pipe. The
// others count at the port where it arrived. NoLAGMember does too, since there is no other port.
func (r Reason) AtEgress() bool {
	switch r {
	case EgressDown, EgressMTU, EgressACL, EgressProgram, PortRemoved:
		return true
	}
	return r.AtQueue()
}

// AtQueue reports whether the packet's queue refused it.
func (r Reason) AtQueue() bool { return r == Buffer || r == QueueLimit || r == WRED || r == TrimQueue }

// OfTrap reports whether the reason is for packets that a trap stops without handing them to the CPU.
func (r Reason) OfTrap() bool {
	switch r {
	case Trap, Learning, TTL, NoNeighbor, L3MTU:
		return true
	}
	return false
}

// Text returns a short description of the reason.
func (r Reason) Text() string {
	if r < NumReasons {
		return reasons[r].text
	}
	return ""
}
