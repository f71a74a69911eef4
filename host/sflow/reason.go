package sflow

import wire "tamtam/tam/sflow"

// A Mapping maps a drop reason of the chip to the registry of sflow_drops.txt.
type Mapping struct {
	Why    string // reason as in reports and counters
	Reason wire.Reason
}

// Mappings returns the mappings of all reasons. If the registry has no value for one, it is the "unknown" value of its
// group. A record of the notification also has the chip's own name, so that nothing is lost.
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
		{"priority-group", wire.NoBufferSpace},
		{"trim-queue", wire.NoBufferSpace},
	}
}

// ReasonOf returns the reason of the sFlow registry for a drop reason of the chip.
func ReasonOf(why string) wire.Reason {
	for _, m := range Mappings() {
		if m.Why == why {
			return m.Reason
		}
	}
	return wire.UnknownReason
}
