package drop_test

import (
	"cmp"
	"fmt"

	"tamtam/saisim/drop"
)

// This lists the reasons by their numbers, as in docs/reference/drops.md: tamtamDropReason, its name, forwardingStatus
// of RFC 7270, and SAI's name.
func ExampleReason_numbers() {
	fmt.Println("| reason | | forwardingStatus | SAI_IN_DROP_REASON_ | |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	const prefix = len("SAI_IN_DROP_REASON_")
	for r := range drop.NumReasons {
		sai := r.SAI()
		if sai != "" {
			sai = "`" + sai[prefix:] + "`"
		}
		fmt.Printf("| %d | `%s` | %d | %s | %s |\n", r, r, r.ForwardingStatus(false), cmp.Or(sai, "-"), r.Text())
	}
	// Output:
	// | reason | | forwardingStatus | SAI_IN_DROP_REASON_ | |
	// | --- | --- | --- | --- | --- |
	// | 0 | `port-down` | 128 | - | ingress port is down |
	// | 1 | `runt` | 128 | - | no whole Ethernet header, VLAN tag included |
	// | 2 | `oversize` | 128 | `EXCEEDS_L2_MTU` | longer, with FCS, than the ingress port's MTU |
	// | 3 | `vlan-tag-filter` | 128 | `VLAN_TAG_NOT_ALLOWED` | the port drops tagged, or untagged, frames |
	// | 4 | `no-vlan` | 128 | `INGRESS_VLAN_FILTER` | the VLAN does not exist, or the port is in no bridge |
	// | 5 | `not-vlan-member` | 128 | `INGRESS_VLAN_FILTER` | the ingress port is no member of the VLAN |
	// | 6 | `source-address` | 128 | `SMAC_MULTICAST` | the source address is a group address |
	// | 7 | `learning` | 128 | `L2_ANY` | unknown source address where learning mode is drop |
	// | 8 | `acl` | 130 | `ACL_ANY` | an ingress ACL entry drops it |
	// | 9 | `trap` | 128 | - | a link-local or trapped frame that is not for forwarding |
	// | 10 | `fdb` | 128 | `FDB_UC_DISCARD` | an FDB entry drops it |
	// | 11 | `unknown-destination` | 128 | `L2_ANY` | unknown destination and the VLAN or switch does not flood it |
	// | 12 | `same-port` | 128 | `L2_LOOPBACK_FILTER` | the destination is where it came from |
	// | 13 | `no-destination` | 142 | `L2_ANY` | flooded to no port |
	// | 14 | `no-lag-member` | 142 | - | the LAG has no member that is up |
	// | 15 | `not-router` | 128 | `NON_ROUTABLE` | at a router port, but not to the router's address |
	// | 16 | `router-down` | 128 | `IRIF_DISABLED` | the router, or its interface in, is down for IPv4 or IPv6 |
	// | 17 | `ip-header` | 136 | `IP_HEADER_ERROR` | to be routed, but its IP header is not fit for that |
	// | 18 | `no-route` | 131 | `LPM_MISS` | no route to the destination, or only the default one, which drops |
	// | 19 | `blackhole` | 131 | `BLACKHOLE_ROUTE` | the route drops it, and is not the default one |
	// | 20 | `neighbor` | 132 | `BLACKHOLE_ARP` | the neighbour drops it |
	// | 21 | `route` | 131 | `L3_ANY` | the route leads nowhere |
	// | 22 | `no-next-hop` | 131 | `UNRESOLVED_NEXT_HOP` | the route leads to no next hop |
	// | 23 | `ttl` | 137 | `TTL` | the time to live or hop limit ends here |
	// | 24 | `no-neighbor` | 132 | `UNRESOLVED_NEXT_HOP` | the next hop's MAC address is not known |
	// | 25 | `router-out-down` | 128 | `ERIF_DISABLED` | the router interface out is down for IPv4 or IPv6 |
	// | 26 | `same-interface` | 128 | `L3_LOOPBACK_FILTER` | routed back to the interface in, which drops that |
	// | 27 | `l3-mtu` | 133 | `EXCEEDS_L3_MTU` | longer than the MTU of the router interface that it leaves by |
	// | 28 | `program` | 128 | - | a program in the ingress pipe drops it |
	// | 29 | `policer` | 138 | - | a copy for the CPU that the policer of its trap does not let pass |
	// | 30 | `buffer` | 128 | - | no room in the shared buffer |
	// | 31 | `queue-limit` | 128 | - | the queue is as long as it may be |
	// | 32 | `wred` | 139 | - | dropped early, by WRED |
	// | 33 | `egress-port-down` | 142 | - | egress port is down |
	// | 34 | `egress-mtu` | 133 | - | longer, with FCS, than the egress port's MTU |
	// | 35 | `egress-acl` | 130 | `ACL_ANY` | an egress ACL entry drops it |
	// | 36 | `egress-program` | 128 | - | a program in the egress pipe drops it |
	// | 37 | `port-removed` | 128 | - | its port was removed while it was in the chip |
	// | 38 | `decap` | 128 | `DECAP_ERROR` | encapsulated, but its headers are damaged, or no session takes them off |
	// | 39 | `priority-group` | 128 | - | its ingress priority group has no room for it, nor headroom |
	// | 40 | `trim-queue` | 128 | - | trimmed, and not admitted to the queue for trimmed packets either |
}
