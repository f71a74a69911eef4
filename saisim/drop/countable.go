package drop

// A Countable is a reason of SAI's debug counters that the chip counts exactly: it is those of the chip's own, and no
// other. What the chip does not tell apart, or has no word of SAI for, is in none, or only in the ..._ANY of where it
// is decided.
type Countable struct {
	SAI string // behind SAI_IN_DROP_REASON_ or SAI_OUT_DROP_REASON_
	Of  []Reason
}

// CountableIn are those of sai_in_drop_reason_t. All are counted at the port where the packet came in, but for what an
// egress ACL drops, of which SAI has only this: that counts at the port where the ACL is.
func CountableIn() []Countable {
	return []Countable{
		{"L2_ANY", []Reason{
			Oversize, TagFilter, NoVLAN, NotMember, SourceAddress, Learning, FDB, Miss, SamePort, NoDestination,
		}},
		{"SMAC_MULTICAST", []Reason{SourceAddress}},
		{"VLAN_TAG_NOT_ALLOWED", []Reason{TagFilter}},
		{"INGRESS_VLAN_FILTER", []Reason{NoVLAN, NotMember}},
		{"FDB_UC_DISCARD", []Reason{FDB}},
		{"L2_LOOPBACK_FILTER", []Reason{SamePort}},
		{"EXCEEDS_L2_MTU", []Reason{Oversize}},
		{"L3_ANY", []Reason{
			NotRouter, RouterDown, IPHeader, NoRoute, Blackhole, Neighbor, Route, NoNextHop, TTL, NoNeighbor, RouterOutDown,
			SameInterface, L3MTU, Decap,
		}},
		{"EXCEEDS_L3_MTU", []Reason{L3MTU}},
		{"DECAP_ERROR", []Reason{Decap}},
		{"TTL", []Reason{TTL}},
		{"L3_LOOPBACK_FILTER", []Reason{SameInterface}},
		{"IRIF_DISABLED", []Reason{RouterDown}},
		{"ERIF_DISABLED", []Reason{RouterOutDown}},
		{"BLACKHOLE_ROUTE", []Reason{Blackhole}},
		{"BLACKHOLE_ARP", []Reason{Neighbor}},
		{"UNRESOLVED_NEXT_HOP", []Reason{NoNeighbor, NoNextHop}},
		{"ACL_ANY", []Reason{ACL, EgressACL}},
		{"FDB_AND_BLACKHOLE_DISCARDS", []Reason{FDB, Blackhole}},
		{"LPM_MISS", []Reason{NoRoute}},
	}
}

// CountableOut are those of sai_out_drop_reason_t, counted at the port where the packet was to leave.
func CountableOut() []Countable {
	return []Countable{{"L2_ANY", []Reason{EgressDown, EgressMTU}}}
}
