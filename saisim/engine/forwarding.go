// # Forwarding
//
// The fixed functions decide in the order below. If several reasons to drop a frame apply, the first one in this order
// counts. A frame is dropped, and the drop counted, at the cycle at which it entered the pipe. If ingress mirror
// sessions copy it, the drop is at the cycle queue, after those copies.
//
// PRE-INGRESS, stage 0, before everything else: the tables of the switch's PRE_INGRESS_ACL. Their entries count and
// mirror, and have no other effect. The key has the fields of the parser: headers, port, traffic class. The VLAN is
// that of the C-tag, otherwise the port's or the LAG's. It is 0 at a router interface without tag.
//
// ADMIT, stage 0. The port's ingress mirror sessions are noted. If the source MAC address is a group address, the
// reason is source-address, whatever follows. The frame's VLAN is that of its outer tag if that is a C-tag (0x8100)
// with a VLAN, otherwise the port's. The reason is vlan-tag-filter if the port accepts no tagged, or no untagged,
// frames. A priority-tagged frame counts as untagged. A member of a LAG has the settings of the LAG; the reason is
// no-lag-member while the member may not receive. If the port is a router interface, frames with a VLAN are dropped as
// no-vlan. All others are at its router, in VLAN 0. At any other port the reason is no-vlan if the VLAN does not exist
// or the port has no bridge port that is up, and not-vlan-member if the bridge port is not in the VLAN. The frame is at
// the VLAN's router interface, if there is one. Then come traps: each adds its packet action to those of the frame.
//
//   - to 01-80-C2-00-00-00 to -0F: stp (0), lacp (2), eapol (3), lldp (e) or
//     link_local; no other trap is looked for
//   - to 01-00-0C-CC-CC-CC in SNAP: udld or cdp; to -CD: pvrst
//   - to the switch's MAC address, at no router interface: ip2me; but not with a tag whose VLAN the port may not send
//     to, and not behind vlan-tag-filter
//   - ARP: arp_req if the operation is 1, else arp_resp
//   - while there is a HOSTIF_TRAP of these, the first of: dhcp (UDP 67 or 68,
//     either end, to 255.255.255.255), dhcpv6 (UDP 546 or 547, to a group),
//     neigh_discovery (ICMPv6 133 to 137, hop limit 255) or, by their type,
//     neigh_solicitation and neigh_advertisement, and to a group address the IP
//     protocols ospf, ospfv6 (89), pim (103, IPv4), vrrp and vrrpv6 (112)
//
// At a member from which its LAG accepts no frames, only the first two places count. They hold protocols of the link
// such as LACP, which also runs at members that carry no traffic. All other traps there belong to the LAG, which does
// not collect.
//
// A trap does what its HOSTIF_TRAP object defines. Without an object, link_local, stp, lacp, eapol, lldp,
// neighbor_miss, ttl_error and the traps of packets to the switch itself drop the frame and give the CPU a copy.
// static_fdb_move and l3_mtu_error then drop it, and all other traps do nothing. If a frame falls in two traps of one
// place, the one with an object counts, then the higher priority, then the one later in the list of [config.Trap]. A
// frame that its port may not send goes no further, unless a trap drops it. In that case it goes on without being
// learned or forwarded, and a copy goes to the CPU.
//
// ACL, stage IngressStages/2. The tables of the port, the switch, the LAG and the VLAN; see the types of the ACL files.
// The key has the VLAN of the frame.
//
// FORWARD, the last stage.
//
//  1. Learning, if the port may send the frame, the frame is bridged and no ACL
//     entry forbids it. The reason is learning for an unknown address where the mode is drop, and
//     (trap static_fdb_move) for an address whose static entry is at another port and may
//     not move.
//  2. acl if an ACL entry drops it. trap if a trap does. Then the reason of ADMIT or
//     of learning.
//  3. An ACL redirect. To a port, LAG or bridge port: the frame goes there unchanged,
//     with the tag that the bridge port has for its VLAN, if it is in it. To a
//     next hop or group: the frame is routed as by a route there, if its destination is no group address,
//     it is fit to be routed and its addresses are not link-local. If its TTL is at most 1, the reason
//     is ttl (trap ttl_error). Other frames go on as without redirect.
//  4. A frame to the MAC address of the router interface where it is, or to the
//     switch's there, is routed. Any other at a router port is dropped as not-router.
//  5. All other frames are bridged. To a group: to the VLAN; unknown-destination if
//     that does not flood it. To an address with an FDB entry: fdb if its packet
//     action drops, same-port if the frame came from there, no-destination
//     if that bridge port is not in the VLAN or down. Without an entry: to the
//     VLAN, or unknown-destination. So IP multicast is bridged, never routed.
//
// Routing.
//
//  1. A frame that is neither IPv4 nor IPv6 by its EtherType: trap ip2me, reason
//     trap.
//  2. router-down: the interface, or the router, is down for this version.
//  3. ip-header: the parser has not found a complete header (version, lengths); there
//     is more than one tag, or one that is no C-tag; source or
//     destination is a group, loopback or the unspecified address, in IPv4 any of
//     network 0, or 255.255.255.255; the IPv4 checksum is wrong.
//  4. The longest prefix is looked up. If it leads to the CPU port and its action
//     does not drop: trap ip2me, or that of the protocol if it has an object
//     (ssh, snmp, bgp, bfd, gnmi, p4rt, ntp, dhcp, ospf), reason trap.
//     If the IPv6 source or destination is link-local: ip-header.
//  5. TTL or hop limit 0 or 1: trap ttl_error, reason ttl.
//  6. No prefix: no-route. The route's packet action is added. If it drops: no-route
//     at the default route, blackhole at another. If the route leads nowhere: route.
//  7. A group chooses a member; no-next-hop if it has none. A connected subnet, or
//     a next hop, without neighbour: neighbor_miss by the interface's action, or
//     by the HOSTIF_TRAP if there is one; reason no-neighbor.
//  8. The neighbour's packet action is added; neighbor if it drops.
//     router-out-down: the interface out is down. same-interface: it is the one where the frame arrived, and its
//     loopback action is to drop. The IP packet is longer than its MTU: trap
//     l3_mtu_error, reason l3-mtu.
//  9. Out: by the port or LAG, without a VLAN tag; or into the VLAN, to where the
//     FDB has the neighbour's MAC address as in 5 above, but also to the port that
//     the frame came from.
//
// In the egress pipe, the forwarded copies get the MAC addresses of the neighbour and of the interface, a TTL that is
// one less, and the DSCP that an ACL set. The IPv4 checksum is updated (RFC 1624). Copies for the CPU and for ingress
// mirror sessions are as received.
//
// A router interface counts in all frames that come to be routed. It counts one as an error if it is dropped without a
// copy for the CPU, for another reason than l3-mtu. It counts out the frames that leave by it in 9, and as an error
// those that fail by its MTU, trapped or not. Bytes are those of the frame as received, with FCS.
//
// At the end of the pipe the copies are made: first the forwarded ones in the order of the VLAN's ports (LAGs after
// ports), then the one for the CPU, then those for ingress mirror sessions in the order of their index. A copy goes to
// the CPU if an action requires it and none cancels it. A frame without a copy forwarded or for the CPU is dropped:
// no-lag-member, no-destination or the reason above.
//
// A copy for the CPU is metered at that cycle. The policer is that of the HOSTIF_TRAP's group, for the first trap that
// requested a copy, if that trap has an object. Otherwise it is that of the switch's default group, if there is one.
// The copy needs one token, or as many as the frame has bytes with FCS. A bucket starts with its burst size of tokens.
// It gets its rate in a second, a part of a token each cycle.
//
//   - RFC 2697 (SR_TCM): tokens that find no room in the committed bucket go to the
//     excess bucket, of PBS. Green if the committed bucket has the tokens, which
//     it then loses; yellow if the excess bucket has them, likewise; else red
//   - RFC 2698 (TR_TCM): red if the peak bucket has too few, else it loses them;
//     yellow if the committed bucket has too few, else that loses them too: green
//   - STORM_CONTROL: green by the committed bucket, else red
//
// The reason is policer if the action of the colour is to drop the copy. It is counted at the port where the frame
// arrived. Copies elsewhere are not affected. A new rate or burst holds from the cycle of the change. The bucket keeps
// its tokens, up to its new size.
//
// EGRESS, the last stage of the egress pipe. First comes egress-mtu. Copies of mirror sessions skip the following: the
// egress ACL tables, with the fields of the packet as received, and egress-acl; then tail-stamping. A copy that is not
// dropped is copied for the egress mirror sessions of the port and of the ACL when it is through the deparser. The
// mirror copy has its bytes as it leaves, without a tail-stamp record, which the MAC adds. These copies are queued at
// that cycle, before packets that leave the ingress pipe.
//
// A mirror copy is truncated, then gets the headers of its session. For RSPAN this is a tag behind the MAC addresses.
// For ERSPAN it is Ethernet, a tag if configured, IPv4 (identification 0, don't fragment) or IPv6, and GRE, followed by
// the frame. With ERSPAN II the GRE header has a sequence number, which counts the copies of the session from 0 as they
// leave. Before the frame are then 8 bytes: version 1, VLAN and priority of the frame's outer C-tag with En 3 (0
// without), T if it was truncated, the session id, index 0. The flow hash of the mirrored packet chooses the member of
// a LAG.
package engine
