// # Forwarding
//
// The fixed functions decide in the order below. If several reasons to drop a frame apply, the first one in this order
// counts. A frame is dropped, and the drop counted, at the cycle at which it entered the pipe. If ingress mirror
// sessions copy it, the drop is at the cycle queue, after those copies. Below, "reason X" means that the frame is
// dropped for the reason X, and "trap X" means that the trap X applies.
//
// PRE-INGRESS is in stage 0, before everything else. It looks the frame up in the tables of the switch's
// PRE_INGRESS_ACL. Their entries count and mirror, and have no other effect. The key has the fields of the parser:
// headers, port, traffic class. The VLAN is that of the C-tag, otherwise the port's or the LAG's. It is 0 at a router
// interface without tag.
//
// ADMIT is in stage 0. The port's ingress mirror sessions are noted. If the source MAC address is a group address, the
// reason is source-address, whatever follows. The frame's VLAN is that of its outer tag if that is a C-tag (0x8100)
// with a VLAN, otherwise the port's. The reason is vlan-tag-filter if the port does not accept tagged frames, or
// untagged ones. A priority-tagged frame counts as untagged. A member of a LAG has the settings of the LAG; the reason
// is no-lag-member while the member may not receive.
//
// If the port is a router interface, frames with a VLAN are dropped as no-vlan. All others are at its router, in VLAN
// 0. At any other port the reason is no-vlan if the VLAN does not exist or the port has no bridge port that is up. It
// is not-vlan-member if the bridge port is not in the VLAN. The frame is at the VLAN's router interface, if there is
// one. Then traps apply. Each of these adds its packet action to those of the frame:
//
//   - Frames to 01-80-C2-00-00-00 to -0F: stp (0), lacp (2), eapol (3), lldp (e) or link_local, and no other trap.
//   - Frames to 01-00-0C-CC-CC-CC in SNAP: udld or cdp. Frames to -CD: pvrst.
//   - Frames to the switch's MAC address, at no router interface: ip2me. It does not apply with a tag whose VLAN the
//     port may not send to, nor after vlan-tag-filter.
//   - ARP: arp_req if the operation is 1, otherwise arp_resp.
//   - While at least one of the following has a HOSTIF_TRAP, the first that matches. dhcp: UDP 67 or 68, at either end,
//     to 255.255.255.255. dhcpv6: UDP 546 or 547, to a group. neigh_discovery: ICMPv6 133 to 137 with hop limit 255, or
//     neigh_solicitation or neigh_advertisement by the type, whichever counts. To a group address, the IP protocols
//     ospf, ospfv6 (89), pim (103, IPv4), vrrp and vrrpv6 (112).
//
// At a member from which its LAG accepts no frames, only the first two items count. They hold protocols of the link
// such as LACP, which also runs at members that carry no traffic. All other traps belong to the LAG, which does not
// collect there.
//
// A trap does what its HOSTIF_TRAP object defines. Without an object, some traps drop the frame and give the CPU a
// copy. These are link_local, stp, lacp, eapol, lldp, neighbor_miss, ttl_error and the traps of packets to the switch
// itself. Without an object, static_fdb_move and l3_mtu_error drop the frame, and all other traps do nothing. If a
// frame matches two traps of one item, the one with an object counts, then the higher priority, then the one later in
// the list of [config.Trap]. A frame that its port may not send is dropped here, unless a trap drops it. In that case
// it continues without being learned or forwarded, and the CPU receives a copy.
//
// ACL is in stage IngressStages/2. It looks the frame up in the tables of the port, the switch, the LAG and the VLAN;
// see the types of the ACL files. The key has the VLAN of the frame.
//
// FORWARD is the last stage.
//
//  1. Learning, if the port may send the frame, the frame is bridged and no ACL entry forbids it. Reason learning if
//     the address is unknown and the mode is drop. Trap static_fdb_move, reason learning, if the static entry of the
//     address is at another port and may not move.
//  2. Reason acl if an ACL entry drops the frame. Reason trap if a trap does. Then the reason of ADMIT or of learning.
//  3. An ACL redirect. To a port, LAG or bridge port, the frame leaves unchanged, with the tag that the bridge port has
//     for its VLAN, if it is in it. To a next hop or group, the frame is routed as by a route there. This requires that
//     its destination is no group address, it is fit to be routed and its addresses are not link-local. If its TTL is
//     at most 1, trap ttl_error, reason ttl. Other frames continue as without redirect.
//  4. A frame to the MAC address of the router interface where it is, or to the switch's there, is routed. Any other
//     frame at a router port is dropped as not-router.
//  5. All other frames are bridged. A frame to a group is sent to the VLAN; reason unknown-destination if the VLAN does
//     not flood it. For a destination with an FDB entry: reason fdb if its packet action drops, reason same-port if the
//     frame arrived there, reason no-destination if that bridge port is not in the VLAN or down. A destination without
//     an entry is flooded to the VLAN, or reason unknown-destination. So IP multicast is bridged, never routed.
//
// Routing:
//
//  1. A frame that is neither IPv4 nor IPv6 by its EtherType: trap ip2me, reason trap.
//  2. The interface, or the router, is down for this IP version: reason router-down.
//  3. Reason ip-header if the parser has not found a complete header (version, lengths), if there is more than one tag
//     or one that is no C-tag, or if the IPv4 checksum is wrong. The same applies if the source or destination is a
//     group, loopback or the unspecified address. In IPv4, network 0 and 255.255.255.255 are also excluded.
//  4. The longest prefix is looked up. If it leads to the CPU port and its action does not drop: trap ip2me, reason
//     trap. The trap of the protocol replaces ip2me if it has an object (ssh, snmp, bgp, bfd, gnmi, p4rt, ntp, dhcp,
//     ospf). If the IPv6 source or destination is link-local: reason ip-header.
//  5. TTL or hop limit 0 or 1: trap ttl_error, reason ttl.
//  6. No prefix: reason no-route. The route's packet action is added. If it drops: reason no-route at the default
//     route, blackhole at another. If the route has no next hop: reason route.
//  7. A group chooses a member; reason no-next-hop if it has none. If a connected subnet or a next hop has no
//     neighbour, reason no-neighbor. Then trap neighbor_miss applies, by the HOSTIF_TRAP if there is one, otherwise by
//     the interface's action.
//  8. The neighbour's packet action is added; reason neighbor if it drops. Reason router-out-down if the interface out
//     is down. Reason same-interface if the frame arrived at that interface, and its loopback action is to drop. If the
//     IP packet is longer than the interface's MTU: trap l3_mtu_error, reason l3-mtu.
//  9. The frame leaves by the port or LAG, without a VLAN tag. If the interface out is on a VLAN, the frame is sent to
//     the neighbour's MAC address as in 5 above, but may also leave by the port where it arrived. The broadcast address
//     as that of a neighbour (directed broadcast, RFC 2644) floods the VLAN, if the VLAN floods broadcasts.
//
// In the egress pipe, the forwarded copies get the MAC addresses of the neighbour and of the interface. Their TTL is
// one less, and they have the DSCP that an ACL set. The IPv4 checksum is updated (RFC 1624). Copies for the CPU and for
// ingress mirror sessions are as received.
//
// A router interface counts as received all frames that are to be routed. It counts one as an error if it is dropped
// without a copy for the CPU, for another reason than l3-mtu. It counts as sent the frames that leave by it in 9, and
// as errors those that exceed its MTU, trapped or not. Bytes are those of the frame as received, with FCS.
//
// At the end of the pipe the copies are made. The forwarded ones are first, in the order of the VLAN's ports, LAGs
// after ports. The one for the CPU follows, then those for ingress mirror sessions in the order of their index. The CPU
// receives a copy if an action requires it and none cancels it. A frame without a copy forwarded or for the CPU is
// dropped: no-lag-member, no-destination or the reason above.
//
// A copy for the CPU is metered at that cycle. The policer is that of the HOSTIF_TRAP's group, for the first trap that
// requested a copy, if that trap has an object. Otherwise it is that of the switch's default group, if there is one.
// The copy needs one token, or as many as the frame has bytes with FCS. A bucket starts with its burst size of tokens.
// It gets the tokens of its rate evenly, a part of a token each cycle.
//
//   - RFC 2697 (SR_TCM): tokens beyond the size of the committed bucket are added to the excess bucket, of size PBS.
//     The copy is green if the committed bucket has the tokens, which it then loses. It is yellow if the excess bucket
//     has them, which then loses them. Otherwise it is red.
//   - RFC 2698 (TR_TCM): the copy is red if the peak bucket has too few tokens, otherwise that bucket loses them. It is
//     yellow if the committed bucket has too few, otherwise that bucket loses them too and the copy is green.
//   - STORM_CONTROL: green by the committed bucket, otherwise red.
//
// The reason is policer if the action of the colour is to drop the copy. It is counted at the port where the frame
// arrived. Copies elsewhere are not affected. A new rate or burst applies from the cycle of the change. The bucket
// keeps its tokens, up to its new size.
//
// EGRESS is the last stage of the egress pipe. It checks egress-mtu first. Copies of mirror sessions skip the rest: the
// egress ACL tables, with the fields of the packet as received, and egress-acl; then tail-stamping. A copy that is not
// dropped is copied for the egress mirror sessions of the port and of the ACL when it leaves the deparser. The mirror
// copy has the bytes of the frame that leaves, without a tail-stamp record, which the MAC adds. These copies are queued
// at that cycle, before packets that leave the ingress pipe.
//
// A mirror copy is truncated, then gets the headers of its session. For RSPAN this is a tag after the MAC addresses.
// For ERSPAN it is Ethernet, a tag if configured, IPv4 (identification 0, don't fragment) or IPv6, and GRE, followed by
// the frame. With ERSPAN II the GRE header has a sequence number, which counts the copies of the session from 0 as they
// leave. Eight bytes precede the frame. They hold version 1, VLAN and priority of the frame's outer C-tag with En 3,
// the session id, and index 0. Without a C-tag, VLAN, priority and En are 0. T is set if the frame was truncated. The
// flow hash of the mirrored packet chooses the member of a LAG.
package engine
