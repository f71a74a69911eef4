package drop

// status is the reason part of forwardingStatus (RFC 7270), for the reasons that RFC 7270 names.
var status = [NumReasons]uint8{
	ACL: 2, EgressACL: 2, // ACL drop
	NoRoute: 3, Blackhole: 3, Route: 3, NoNextHop: 3, // unroutable
	Neighbor: 4, NoNeighbor: 4, // adjacency
	L3MTU: 5, EgressMTU: 5, // fragmentation needed, and not allowed
	IPHeader: 8,            // bad header length
	TTL:      9,            // bad TTL
	Policer:  10, WRED: 11, // policer, WRED
	EgressDown: 14, NoDestination: 14, NoLAGMember: 14, // bad output interface
}

// ForwardingStatus returns the status of RFC 7270 for a packet that was dropped, or was punted to the CPU instead.
func (r Reason) ForwardingStatus(punted bool) uint8 {
	const dropped, consumed, punt, incomplete = 0b10 << 6, 0b11 << 6, 1, 2
	switch {
	case punted && r == NoNeighbor:
		return consumed | incomplete
	case punted:
		return consumed | punt
	case r < NumReasons:
		return dropped | status[r]
	}
	return dropped
}
