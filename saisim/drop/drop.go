// Package drop names why a chip drops frames.
//
// The reasons are a vocabulary that both engines share with those who read their counters. The code that
// decides to drop a frame is not here.
package drop

// A Reason says why a frame, or a copy of it, went no further.
type Reason uint8

// The reasons, in the order of the pipeline. The first group is counted at the
// ingress port, the second at the egress port (NoLAGMember at the ingress
// port: there is no other).
const (
	PortDown      Reason = iota // ingress port is down
	Runt                        // no whole Ethernet header, VLAN tag included
	Oversize                    // longer, with FCS, than the ingress port's MTU
	TagFilter                   // the port drops tagged, or untagged, frames
	NoVLAN                      // the VLAN does not exist, or the port is in no bridge
	NotMember                   // the ingress port is no member of the VLAN
	SourceAddress               // the source address is a group address
	Learning                    // unknown source address where learning mode is drop
	ACL                         // an ingress ACL entry says so
	Trap                        // a link-local or trapped frame that is not for forwarding
	FDB                         // an FDB entry says so
	Miss                        // unknown destination and the VLAN or switch does not flood it
	SamePort                    // the destination is where it came from
	NoDestination               // flooded to nobody
	NoLAGMember                 // the LAG has no member that is up
	NotRouter                   // at a router port, but not to the router's address
	RouterDown                  // the router, or the router interface in or out, is down for IPv4 or IPv6
	IPHeader                    // to be routed, but its IP header is not fit for that
	NoRoute                     // no route to the destination
	Route                       // the route or the neighbour says so
	NoNextHop                   // the route leads to no next hop
	TTL                         // the time to live or hop limit ends here
	NoNeighbor                  // the next hop's MAC address is not known
	L3MTU                       // longer than the MTU of the router interface that it leaves by
	Program                     // a program in the ingress pipe says so
	Policer                     // a copy for the CPU that the policer of its trap does not let pass

	Buffer        // no room in the shared buffer
	QueueLimit    // the queue is as long as it may be
	WRED          // dropped early, by WRED
	EgressDown    // egress port is down
	EgressMTU     // longer, with FCS, than the egress port's MTU
	EgressACL     // an egress ACL entry says so
	EgressProgram // a program in the egress pipe says so
	PortRemoved   // its port was removed while it was in the chip
	NumReasons
)

var names = [NumReasons]string{
	"port-down", "runt", "oversize", "vlan-tag-filter", "no-vlan", "not-vlan-member", "source-address",
	"learning", "acl", "trap", "fdb", "unknown-destination", "same-port", "no-destination", "no-lag-member",
	"not-router", "router-down", "ip-header", "no-route", "route", "no-next-hop", "ttl", "no-neighbor", "l3-mtu",
	"program", "policer",
	"buffer", "queue-limit", "wred", "egress-port-down", "egress-mtu", "egress-acl", "egress-program", "port-removed",
}

// String returns the reason in the words of reports.
func (r Reason) String() string {
	if r < NumReasons {
		return names[r]
	}
	return "unknown"
}
