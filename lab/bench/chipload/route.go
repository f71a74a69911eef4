package chipload

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"tamtam/sai"
)

// routerMAC is the address of all router interfaces. Its first two bytes are the same as those of the hosts.
var routerMAC = sai.MAC{2, 0, 0xff, 0, 0, 1}

// routedTo returns an address of the n-th route.
func routedTo(n int) uint32 { return 20<<24 | uint32(n)<<8 | 1 }

// routes makes each port a router interface with a neighbour, and adds n routes of 24 bits. The i-th route leads to the
// neighbour at port i, modulo the number of ports. With ECMP all lead to a group of all neighbours.
func (s *calls) routes(sw sai.OID, ports []sai.OID, n int, l Load) {
	key := sai.Obj(sai.ObjectTypeSwitch, sw)
	router, _ := s.get(key, sai.SwitchAttrDefaultVirtualRouterID).(sai.OID)
	s.clearBridge(key)
	group := s.create(sai.ObjectTypeNextHopGroup,
		sai.Attr{ID: sai.NextHopGroupAttrType, Value: sai.NextHopGroupTypeEcmp})
	var hops []sai.OID
	for i, port := range ports {
		rif := s.create(sai.ObjectTypeRouterInterface,
			sai.Attr{ID: sai.RouterInterfaceAttrType, Value: sai.RouterInterfaceTypePort},
			sai.Attr{ID: sai.RouterInterfaceAttrPortID, Value: port},
			sai.Attr{ID: sai.RouterInterfaceAttrVirtualRouterID, Value: router},
			sai.Attr{ID: sai.RouterInterfaceAttrSrcMACAddress, Value: routerMAC})
		ip := netip.AddrFrom4([4]byte{30, 0, byte(i), 2})
		s.createEntries([]sai.Entry{sai.NeighborEntry{Switch: sw, RIF: rif, IP: ip}},
			[][]sai.Attr{{{ID: sai.NeighborEntryAttrDstMACAddress, Value: sai.MAC{2, 3, 0, 0, 0, byte(i)}}}})
		hop := s.create(sai.ObjectTypeNextHop, sai.Attr{ID: sai.NextHopAttrType, Value: sai.NextHopTypeIP},
			sai.Attr{ID: sai.NextHopAttrIP, Value: sai.IP{Addr: ip}},
			sai.Attr{ID: sai.NextHopAttrRouterInterfaceID, Value: rif})
		s.create(sai.ObjectTypeNextHopGroupMember,
			sai.Attr{ID: sai.NextHopGroupMemberAttrNextHopGroupID, Value: group},
			sai.Attr{ID: sai.NextHopGroupMemberAttrNextHopID, Value: hop})
		hops = append(hops, hop)
		if l.ECMP {
			hops[i] = group
		}
	}
	if s.err != nil {
		return
	}
	entries, with := make([]sai.Entry, n), make([][]sai.Attr, n)
	for i := range n {
		addr := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, routedTo(i))))
		entries[i] = sai.RouteEntry{Switch: sw, VR: router, Dest: netip.PrefixFrom(addr, 24).Masked()}
		with[i] = []sai.Attr{{ID: sai.RouteEntryAttrNextHopID, Value: hops[i%len(hops)]}}
	}
	s.createEntries(entries, with)
}

// clearBridge removes all ports from the bridge.
func (s *calls) clearBridge(sw sai.Key) {
	vlan, _ := s.get(sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
	members, _ := s.get(sai.Obj(sai.ObjectTypeVLAN, vlan), sai.VLANAttrMemberList).(sai.OIDs)
	for _, m := range members {
		s.remove(sai.Obj(sai.ObjectTypeVLANMember, m))
	}
	for _, port := range s.bridgePorts(sw) {
		s.remove(sai.Obj(sai.ObjectTypeBridgePort, port))
	}
}

func (s *calls) bridgePorts(sw sai.Key) sai.OIDs {
	bridge, _ := s.get(sw, sai.SwitchAttrDefault1qBridgeID).(sai.OID)
	ports, _ := s.get(sai.Obj(sai.ObjectTypeBridge, bridge), sai.BridgeAttrPortList).(sai.OIDs)
	return ports
}

func (s *calls) createEntries(entries []sai.Entry, with [][]sai.Attr) {
	if s.err == nil {
		s.err = errors.Join(s.chip.BulkCreateEntries(s.ctx, entries, with)...)
	}
}

func (s *calls) remove(k sai.Key) {
	if s.err == nil {
		s.err = s.chip.Remove(s.ctx, k)
	}
}
