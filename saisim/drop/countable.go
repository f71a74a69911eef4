package drop

// A Countable is a reason of SAI's debug counters that the chip counts exactly. It is the union of the given reasons of
// the chip. Reasons that the chip does not distinguish, or that SAI cannot name, are in no Countable, or only in the
// ..._ANY of their stage.
type Countable struct {
	SAI string // name after SAI_IN_DROP_REASON_ or SAI_OUT_DROP_REASON_
	Of  []Reason
}

// CountableIn returns the reasons of sai_in_drop_reason_t. They count at the port where the packet arrived. The
// exception is for drops by an egress ACL, for which SAI has no other reason. They count at the port of the ACL.
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

// CountableOut returns the reasons of sai_out_drop_reason_t, counted at the port where the packet was to leave.
func CountableOut() []Countable {
	return []Countable{{"L2_ANY", []Reason{EgressDown, EgressMTU}}}
}
