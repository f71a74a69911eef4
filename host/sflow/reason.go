package sflow

import wire "tamtam/tam/sflow"

// A Mapping is what a reason of the chip's is in the registry of sflow_drops.txt.
type Mapping struct {
	Why    string // as reports and counters have it
	Reason wire.Reason
}

// Mappings are those of all reasons. Where the registry has no word for one, it is its group's "unknown"; a record
// of the notification has the chip's own word too, so that nothing is lost.
func Mappings() []Mapping {
	return []Mapping{
		{"port-down", wire.UnknownL2},
		{"runt", wire.PacketTooSmall},
		{"oversize", wire.PacketTooBig},
		{"vlan-tag-filter", wire.VLANTagMismatch},
		{"no-vlan", wire.IngressVLANFilter},
		{"not-vlan-member", wire.IngressVLANFilter},
		{"source-address", wire.SourceMACMulticast},
		{"learning", wire.LockedPort},
		{"acl", wire.ACL},
		{"trap", wire.UnknownL2},
		{"fdb", wire.DestMACFilter},
		{"unknown-destination", wire.UnknownL2},
		{"same-port", wire.PortLoopbackFilter},
		{"no-destination", wire.PortListEmpty},
		{"no-lag-member", wire.PortListEmpty},
		{"not-router", wire.NonRoutable},
		{"router-down", wire.UnknownL3},
		{"ip-header", wire.IPHeaderCorrupted},
		{"no-route", wire.DestNetUnknown},
		{"blackhole", wire.BlackholeRoute},
		{"neighbor", wire.BlackholeARP},
		{"route", wire.UnknownL3},
		{"no-next-hop", wire.BlackholeNextHop},
		{"ttl", wire.TTLExceeded},
		{"no-neighbor", wire.UnresolvedNeighbor},
		{"router-out-down", wire.UnknownL3},
		{"same-interface", wire.PortLoopbackFilter},
		{"l3-mtu", wire.PacketTooBig},
		{"program", wire.UnknownReason},
		{"policer", wire.TrafficShaping},
		{"buffer", wire.NoBufferSpace},
		{"queue-limit", wire.NoBufferSpace},
		{"wred", wire.RED},
		{"egress-port-down", wire.UnknownL2},
		{"egress-mtu", wire.PacketTooBig},
		{"egress-acl", wire.ACL},
		{"egress-program", wire.UnknownReason},
		{"port-removed", wire.UnknownL2},
		{"decap", wire.DecapError},
	}
}

// ReasonOf is the reason of the registry for one of the chip's.
func ReasonOf(why string) wire.Reason {
	for _, m := range Mappings() {
		if m.Why == why {
			return m.Reason
		}
	}
	return wire.UnknownReason
}
