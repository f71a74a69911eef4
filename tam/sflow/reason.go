package sflow

import "strconv"

// A Reason is the reason for a drop by the registry of sflow_drops.txt. Codes below 256 are those of ICMP's destination
// unreachable.
type Reason uint32

// The reasons of the registry that occur in a switch.
const (
	NetUnreachable     Reason = 0
	DestNetUnknown     Reason = 6
	UnknownReason      Reason = 256
	TTLExceeded        Reason = 257
	ACL                Reason = 258
	NoBufferSpace      Reason = 259
	RED                Reason = 260
	TrafficShaping     Reason = 261
	PacketTooBig       Reason = 262
	SourceMACMulticast Reason = 263
	VLANTagMismatch    Reason = 264
	IngressVLANFilter  Reason = 265
	PortListEmpty      Reason = 267
	PortLoopbackFilter Reason = 268
	BlackholeRoute     Reason = 269
	IPHeaderCorrupted  Reason = 275
	UnresolvedNeighbor Reason = 279
	NonRoutable        Reason = 281
	DecapError         Reason = 282
	UnknownL2          Reason = 284
	UnknownL3          Reason = 285
	UnknownL3Exception Reason = 286
	BlackholeARP       Reason = 292
	LockedPort         Reason = 304
	DestMACFilter      Reason = 305
	BlackholeNextHop   Reason = 306
	PacketTooSmall     Reason = 324
	firstAfterICMP            = 256
)

// icmpReasons holds the names of ICMP's codes.
var icmpReasons = [...]string{
	"net_unreachable", "host_unreachable", "protocol_unreachable", "port_unreachable", "frag_needed", "src_route_failed",
	"dst_net_unknown", "dst_host_unknown", "src_host_isolated", "dst_net_prohibited", "dst_host_prohibited",
	"dst_net_tos_unreachable", "dst_host_tos_unreacheable", "comm_admin_prohibited", "host_precedence_violation",
	"precedence_cutoff",
}

// reasons holds the names of the reasons from 256 on.
var reasons = [...]string{
	"unknown", "ttl_exceeded", "acl", "no_buffer_space", "red", "traffic_shaping", "pkt_too_big", "src_mac_is_multicast",
	"vlan_tag_mismatch", "ingress_vlan_filter", "ingress_spanning_tree_filter", "port_list_is_empty",
	"port_loopback_filter", "blackhole_route", "non_ip", "uc_dip_over_mc_dmac", "dip_is_loopback_address", "sip_is_mc",
	"sip_is_loopback_address", "ip_header_corrupted", "ipv4_sip_is_limited_bc", "ipv6_mc_dip_reserved_scope",
	"ipv6_mc_dip_interface_local_scope", "unresolved_neigh", "mc_reverse_path_forwarding", "non_routable_packet",
	"decap_error", "overlay_smac_is_mc", "unknown_l2", "unknown_l3", "unknown_l3_exception", "unknown_buffer",
	"unknown_tunnel", "unknown_l4", "sip_is_unspecified", "mlag_port_isolation", "blackhole_arp_neigh", "src_mac_is_dmac",
	"dmac_is_reserved", "sip_is_class_e", "mc_dmac_mismatch", "sip_is_dip", "dip_is_local_network", "dip_is_link_local",
	"overlay_smac_is_dmac", "egress_vlan_filter", "uc_reverse_path_forwarding", "split_horizon", "locked_port",
	"dmac_filter", "blackhole_nexthop", "vxlan_parsing", "llc_snap_parsing", "vlan_parsing", "pppoe_ppp_parsing",
	"mpls_parsing", "arp_parsing", "ip_1_parsing", "ip_n_parsing", "gre_parsing", "udp_parsing", "tcp_parsing",
	"ipsec_parsing", "sctp_parsing", "dccp_parsing", "gtp_parsing", "esp_parsing", "unknown_parsing", "pkt_too_small",
	"unhandled_proto", "ipv6disabled", "invalid_proto", "ip_noproto", "skb_csum", "skb_ucopy_fault", "dev_ready",
	"dev_hdr", "dup_frag", "skb_gso_seg", "reverse_path_forwarding", "icmp_parsing",
}

// String returns the registry's name of the reason, or its number if it has no name.
func (r Reason) String() string {
	switch {
	case int64(r) < int64(len(icmpReasons)):
		return icmpReasons[r]
	case r >= firstAfterICMP && int64(r)-firstAfterICMP < int64(len(reasons)):
		return reasons[r-firstAfterICMP]
	}
	return strconv.FormatUint(uint64(r), 10)
}
