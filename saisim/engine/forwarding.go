// # Forwarding
//
// What the fixed functions decide, in this order. Where several reasons to drop
// a frame apply, the first that is met here counts. A frame is dropped, and the
// drop counted, at the cycle at which it entered the pipe; if ingress mirror
// sessions take copies of it, at the cycle queue, after those.
//
// PRE-INGRESS, stage 0, in front of all that follows: the tables of the switch's
// PRE_INGRESS_ACL. Their entries count, and mirror, and have no other say. The key
// has what the parser knows: headers, port, traffic class; the VLAN is that of the
// C-tag, else the port's, or the LAG's, and 0 at a router interface without tag.
//
// ADMIT, stage 0. The port's ingress mirror sessions are noted. A source MAC
// address of a group: source-address, whatever follows. The frame's VLAN is that
// of its outer tag if that is a C-tag (0x8100) with a VLAN, else the port's;
// vlan-tag-filter where the port takes no tagged, or no untagged, frames; a
// frame that is tagged with priority only counts as untagged. A member of a LAG
// has the settings of the LAG, and no-lag-member while it may not receive. Where
// the port is a router interface, frames with a VLAN are no-vlan, all others are
// at its router; they are in VLAN 0. Elsewhere: no-vlan if the VLAN does not
// exist or the port has no bridge port that is up, not-vlan-member if that is
// not in the VLAN; the frame is at the VLAN's router interface, if it has one.
// Then traps: each adds its packet action to those of the frame.
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
// At a member that its LAG takes no frames from only the first two places count, those of protocols of the link, such
// as LACP, which speaks at members that carry nothing. All else there is the LAG's, which does not collect.
//
// A trap does what its HOSTIF_TRAP object says. Without one link_local, stp, lacp,
// eapol, lldp, neighbor_miss, ttl_error and the traps of packets to the switch
// itself drop the frame and give the CPU a copy, static_fdb_move and l3_mtu_error
// drop it, and all others do nothing. Where a frame falls in two traps of one place, that with an object
// counts, then the higher priority, then the one later in the list of [config.Trap]. A
// frame that its port may not send goes no further, unless a trap drops it: then
// it goes on, is neither learned nor forwarded, and a copy goes to the CPU.
//
// ACL, stage IngressStages/2. The tables of the port, the switch, the LAG and
// the VLAN; see the types of the ACL files. The key has the VLAN that the frame
// is in.
//
// FORWARD, the last stage.
//
//  1. Learning, if the port may send the frame, it is in the bridge and no ACL
//     entry forbids it. learning: an unknown address where the mode is drop, or
//     (trap static_fdb_move) one whose static entry is at another port and may
//     not move.
//  2. acl: an ACL entry drops it. trap: a trap does. Then the reason of ADMIT or
//     of learning.
//  3. An ACL redirect. To a port, LAG or bridge port: there, as the frame is,
//     with the tag that the bridge port has for its VLAN, if it is in it. To a
//     next hop or group: if the frame is to no group, fit to be routed and not of link-local addresses, ttl
//     (trap ttl_error) if its TTL is at most 1, else as by a route to it. Other
//     frames go on as without redirect.
//  4. A frame to the MAC address of the router interface that it is at, or to the
//     switch's there, is routed. Any other at a router port is not-router.
//  5. The rest is bridged. To a group: to the VLAN; unknown-destination where
//     that does not flood it. To an address with an FDB entry: fdb if its packet
//     action drops, same-port if it is where the frame came from, no-destination
//     if that bridge port is not in the VLAN or down. Without an entry: to the
//     VLAN, or unknown-destination. So IP multicast is bridged, never routed.
//
// Routing.
//
//  1. A frame that is neither IPv4 nor IPv6 by its EtherType: trap ip2me, reason
//     trap.
//  2. router-down: the interface, or the router, is down for this version.
//  3. ip-header: the parser has not found a whole header (version, lengths); there
//     is more than one tag, or one that is no C-tag; source or
//     destination is a group, loopback or the unspecified address, in IPv4 any of
//     network 0, or 255.255.255.255; the IPv4 checksum is wrong.
//  4. The longest prefix is looked up. If it leads to the CPU port and its action
//     does not drop: trap ip2me, or that of the protocol where there is an object
//     for it (ssh, snmp, bgp, bfd, gnmi, p4rt, ntp, dhcp, ospf), reason trap.
//     An IPv6 address that is link-local, of source or destination: ip-header.
//  5. TTL or hop limit 0 or 1: trap ttl_error, reason ttl.
//  6. No prefix: no-route. The route's packet action is added; if it drops, no-route
//     at the default route and blackhole at another; route if it leads nowhere.
//  7. A group chooses a member; no-next-hop if it has none. A connected subnet, or
//     a next hop, without neighbour: neighbor_miss by the interface's action, or
//     by the HOSTIF_TRAP if there is one; reason no-neighbor.
//  8. The neighbour's packet action is added; neighbor if it drops.
//     router-out-down: the interface out. same-interface: it is the one that the frame came in at, and its
//     loopback action is to drop. The IP packet is longer than its MTU: trap
//     l3_mtu_error, reason l3-mtu.
//  9. Out: by the port or LAG, without a VLAN tag; or into the VLAN, to where the
//     FDB has the neighbour's MAC address as in 5 above, but also to the port that
//     the frame came from.
//
// In the egress pipe the copies that are forwarded get the MAC addresses of the
// neighbour and of the interface, one less of TTL, and what an ACL set of DSCP;
// the IPv4 checksum follows (RFC 1624). Copies for the CPU and for ingress
// mirror sessions are as the frame came in.
//
// A router interface counts in what comes to be routed, as an error if it is
// dropped without a copy for the CPU, for another reason than l3-mtu; and out
// what leaves by it in 9, as an error what fails by its MTU, trapped or not. Bytes
// are those of the frame as received, with FCS.
//
// At the end of the pipe the copies are made: those that are forwarded, in the
// order of the ports of the VLAN (LAGs after ports); for the CPU; for ingress
// mirror sessions, in the order of their index. A copy goes to the CPU if an
// action says so and none cancels it. A frame without a copy forwarded or for
// the CPU is dropped: no-lag-member, no-destination or the reason above.
//
// A copy for the CPU is metered at that cycle, by the policer of the HOSTIF_TRAP's
// group: that of the first trap that wanted a copy, if it has an object; else by
// that of the switch's default group, if it has one. It needs one token, or as
// many as the frame has bytes with FCS. A bucket has its burst size of tokens at
// the beginning, and gets its rate in a second, a part of a token each cycle.
//
//   - RFC 2697 (SR_TCM): what finds no room in the committed bucket goes to the
//     excess bucket, of PBS. Green if the committed bucket has the tokens, which
//     it then loses; yellow if the excess bucket has, likewise; else red
//   - RFC 2698 (TR_TCM): red if the peak bucket has too few, else it loses them;
//     yellow if the committed bucket has too few, else that loses them too: green
//   - STORM_CONTROL: green by the committed bucket, else red
//
// policer: the action of the colour is to drop it. It is counted at the port where
// the frame came in; copies elsewhere are not touched. A new rate or burst holds
// from the cycle of the change on; the tokens that there are stay, as far as
// there is room.
//
// EGRESS, the last stage of the egress pipe. egress-mtu; then, not for copies of
// mirror sessions: the egress ACL tables, with the fields of the packet as it
// came in, and egress-acl; tail-stamping. A copy that is not dropped is copied
// for the egress mirror sessions of the port and of the ACL when it is through
// the deparser: its bytes as it leaves, without a tail-stamp record (that is
// added by the MAC). The copies are queued at that cycle, before what leaves the
// ingress pipe.
//
// A mirror copy is truncated, then gets the headers of its session: RSPAN a tag
// behind the MAC addresses; ERSPAN Ethernet, a tag if so set, IPv4 (identification
// 0, don't fragment) or IPv6, GRE and the frame. With ERSPAN II the GRE header
// has a sequence number, which counts from 0 the copies of the session as they
// leave, and before the frame are 8 bytes: version 1, VLAN and priority of the
// frame's outer C-tag with En 3 (0 without), T if it was truncated, the session
// id, index 0. The flow hash of the mirrored packet chooses the member of a LAG.
package engine
