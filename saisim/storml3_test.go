package saisim_test

import (
	"net/netip"

	"tamtam/sai"
	"tamtam/saisim"
)

// A storm3 is the part of a storm that routes and mirrors: router interfaces on
// VLAN 1, VLAN 100 and port 6, whose configuration changes at random.
type storm3 struct {
	*router
	neighbors map[sai.Key]bool
	hops      []sai.OID
	group     sai.OID
	members   []sai.OID
	routes    []string
	sessions  []sai.OID
	traps     map[sai.Enum]sai.OID
}

func (s *storm) startL3() {
	s.Helper()
	s.leaveBridge(6)
	r := &storm3{router: &router{rig: s.rig}, neighbors: map[sai.Key]bool{}, traps: map[sai.Enum]sai.OID{}}
	s.l3 = r
	r.vr = r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVirtualRouterID).(sai.OID)
	vlan1 := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
	for i, on := range [][]any{
		{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN, sai.RouterInterfaceAttrVLANID, vlan1},
		{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN, sai.RouterInterfaceAttrVLANID, s.vlan},
		{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort, sai.RouterInterfaceAttrPortID, r.oid(6)},
	} {
		r.rifs[i] = r.create(sai.ObjectTypeRouterInterface, append(on, sai.RouterInterfaceAttrVirtualRouterID, r.vr,
			sai.RouterInterfaceAttrSrcMACAddress, rifMAC(i))...)
		r.router.route(subnet(i, false), r.rifs[i])
		r.hops = append(r.hops, r.hop(i, at4(i, 2)))
	}
	r.set(sai.ObjectTypeRouterInterface, r.rifs[2], sai.RouterInterfaceAttrLoopbackPacketAction, sai.PacketActionDrop)
	r.router.route("10.0.0.1/32", r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrCPUPort).(sai.OID))
	r.group = r.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeEcmp)
	r.routes = []string{"10.9.0.0/16", "10.9.8.0/24", "10.9.9.0/24"}
	for _, p := range r.routes {
		r.router.route(p, r.group)
	}
	r.sessions = []sai.OID{r.local(5), r.local(3, sai.MirrorSessionAttrTruncateSize, sai.Uint(100)),
		r.erspan(2, sai.ErspanEncapsulationTypeIi, false)}
	r.sessions = append(r.sessions, r.create(sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrType,
		sai.MirrorSessionTypeLocal,
		sai.MirrorSessionAttrMonitorPort, s.lag))
}

// controlL3 changes something.
func (s *storm) controlL3() {
	s.Helper()
	r, rnd := s.l3, s.rnd
	switch rnd.IntN(8) {
	case 0, 1:
		i := rnd.IntN(3)
		ip := at4(i, byte(2+rnd.IntN(3)))
		k := r.neighborKey(i, ip)
		if r.neighbors[k] {
			r.removeKey(k)
		} else {
			host, does := byte(1+rnd.IntN(7)), sai.PacketActionForward
			if host == 7 {
				does = sai.PacketActionDrop
			}
			r.neighbor(i, ip, host, sai.NeighborEntryAttrPacketAction, does)
		}
		r.neighbors[k] = !r.neighbors[k]
	case 2:
		key := r.routeKey(r.routes[rnd.IntN(len(r.routes))])
		a := sai.Attr{ID: sai.RouteEntryAttrNextHopID, Value: []sai.OID{r.group, r.hops[0], r.hops[2], r.rifs[1],
			sai.NullOID}[rnd.IntN(5)]}
		if rnd.IntN(3) == 0 {
			a = sai.Attr{ID: sai.RouteEntryAttrPacketAction,
				Value: []sai.Enum{sai.PacketActionForward, sai.PacketActionDrop, sai.PacketActionTrap,
					sai.PacketActionCopy}[rnd.IntN(4)]}
		}
		if err := r.Set(s.Context(), key, a); err != nil {
			s.Fatal(err)
		}
	case 3:
		var set sai.OIDs
		for _, m := range r.sessions {
			if rnd.IntN(3) == 0 {
				set = append(set, m)
			}
		}
		id := []sai.AttrID{sai.PortAttrIngressMirrorSession, sai.PortAttrEgressMirrorSession}[rnd.IntN(2)]
		r.set(sai.ObjectTypePort, r.oid(saisim.PortID(rnd.IntN(8))), id, append(sai.OIDs{}, set...))
	case 4:
		kind := []sai.Enum{sai.HostifTrapTypeTTLError, sai.HostifTrapTypeNeighborMiss, sai.HostifTrapTypeL3MTUError,
			sai.HostifTrapTypeIp2me}[rnd.IntN(4)]
		if oid := r.traps[kind]; oid != sai.NullOID {
			r.remove(sai.ObjectTypeHostifTrap, oid)
			delete(r.traps, kind)
		} else {
			r.traps[kind] = r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, kind, sai.HostifTrapAttrPacketAction,
				[]sai.Enum{sai.PacketActionTrap, sai.PacketActionDrop, sai.PacketActionCopy}[rnd.IntN(3)])
		}
	case 5:
		r.set(sai.ObjectTypeRouterInterface, r.rifs[rnd.IntN(3)], sai.RouterInterfaceAttrMTU, sai.Uint(200+rnd.IntN(1400)))
	case 6:
		r.set(sai.ObjectTypeRouterInterface, r.rifs[rnd.IntN(3)], sai.RouterInterfaceAttrAdminV4State,
			sai.Bool(rnd.IntN(4) > 0))
	case 7:
		if n := len(r.members); n > 3 || n > 0 && rnd.IntN(3) == 0 {
			r.remove(sai.ObjectTypeNextHopGroupMember, r.members[n-1])
			r.members = r.members[:n-1]
		} else {
			r.members = append(r.members, r.create(sai.ObjectTypeNextHopGroupMember, sai.NextHopGroupMemberAttrNextHopGroupID,
				r.group,
				sai.NextHopGroupMemberAttrNextHopID, r.hops[rnd.IntN(3)], sai.NextHopGroupMemberAttrWeight,
				sai.Uint(1+rnd.IntN(3))))
		}
	}
}

// routable is a random packet to the router.
func (s *storm) routable() []byte {
	rnd := s.rnd
	dst := at4(rnd.IntN(3), byte(rnd.IntN(5)))
	if rnd.IntN(2) == 0 {
		dst = netip.AddrFrom4([4]byte{10, byte(8 + rnd.IntN(2)), byte(8 + rnd.IntN(2)), byte(rnd.IntN(9))})
	}
	f := packet(rnd.IntN(3), at4(rnd.IntN(3), 77), dst, []byte{64, 64, 64, 2, 1}[rnd.IntN(5)], 64+rnd.IntN(1300))
	switch rnd.IntN(9) {
	case 0:
		f[24]++
	case 1, 2:
		return eth(f[:6], f[6:12], tag(0x8100, []uint16{100, 0}[rnd.IntN(2)]), f[12:])
	}
	return f
}
