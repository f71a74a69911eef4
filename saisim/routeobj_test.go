package saisim_test

import (
	"net/netip"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// ECMP: flows spread by weight and stay where they are. Flows of a removed member move to the other members.
func TestECMP(t *testing.T) {
	r := newRouter(t)
	g := r.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeEcmp)
	var members []sai.OID
	for i, weight := range []int{1, 3} {
		r.neighbor(i, at4(i, 20), 20)
		members = append(members, r.create(sai.ObjectTypeNextHopGroupMember, sai.NextHopGroupMemberAttrNextHopGroupID, g,
			sai.NextHopGroupMemberAttrNextHopID, r.hop(i, at4(i, 20)), sai.NextHopGroupMemberAttrWeight, sai.Uint(weight)))
	}
	r.route("192.0.2.0/24", g)
	flow := func(i int) []byte {
		f := packet(0, at4(0, 9), netip.MustParseAddr("192.0.2.7"), 64, 100)
		f[34], f[35] = byte(i>>8), byte(i)
		return f
	}
	count := func() (n [2]int, by []saisim.PortID) {
		for i := range 400 {
			outs := r.send(0, flow(i))
			n[outs[0].port]++
			by = append(by, outs[0].port)
		}
		return n, by
	}
	n, first := count()
	if n[0] < 70 || n[0] > 130 {
		t.Errorf("%v, want about 100 and 300", n)
	}
	if _, again := count(); !slices.Equal(first, again) {
		t.Error("flows move without a reason")
	}
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrEcmpDefaultHashSeed, sai.Uint(99))
	if _, other := count(); slices.Equal(first, other) {
		t.Error("the seed changes nothing")
	}
	r.remove(sai.ObjectTypeNextHopGroupMember, members[1])
	if n, _ := count(); n != [2]int{400, 0} {
		t.Errorf("%v with one member left", n)
	}
}

// Router interfaces count packets in, packets out, and errors in each direction.
func TestInterfaceCounters(t *testing.T) {
	r := newRouter(t)
	r.neighbor(1, at4(1, 20), 20)
	r.send(0, packet(0, at4(0, 9), at4(1, 20), 64, 100))
	r.send(0, packet(0, at4(0, 9), at4(0, 1), 64, 100))                   // to the switch
	r.send(0, packet(0, at4(0, 9), netip.AddrFrom4([4]byte{9}), 64, 100)) // no route
	r.send(0, packet(0, at4(0, 9), at4(1, 20), 64, 1600))                 // too long
	ids := make([]sai.StatID, 8)
	for i := range ids {
		ids[i] = sai.RouterInterfaceStatInOctets + sai.StatID(i)
	}
	for i, want := range [][]uint64{{104 + 104 + 1604, 3, 0, 0, 104, 1, 0, 0}, {0, 0, 104, 1, 0, 0, 1604, 1}} {
		k := sai.Obj(sai.ObjectTypeRouterInterface, r.rifs[i])
		if got, err := r.Stats(r.Context(), k, ids); !slices.Equal(got, want) || err != nil {
			t.Errorf("interface %d counts %v, %v; want %v", i, got, err, want)
		}
		if err := r.ClearStats(r.Context(), k, ids[:4]); err != nil {
			t.Error(err)
		}
		if got, _ := r.Stats(r.Context(), k, ids[:4]); !slices.Equal(got, make([]uint64, 4)) {
			t.Errorf("interface %d counts %v once cleared", i, got)
		}
	}
}

// A connected neighbour is found by its host route. A /32 or /128 route for its address takes precedence. A subnet
// route finds no neighbour.
func TestHostRoutes(t *testing.T) {
	r := newRouter(t)
	to := func() string {
		outs := r.send(0, packet(0, at4(0, 9), at4(1, 20), 64, 100))
		if len(outs) != 1 {
			return r.dropped(0)
		}
		if outs[0].port == saisim.CPUPort {
			return "cpu"
		}
		return string(rune('0' + outs[0].port))
	}
	want := func(what, port string) {
		t.Helper()
		if got := to(); got != port {
			t.Errorf("%s: %q, want %q", what, got, port)
		}
	}
	want("nobody", "cpu")
	r.neighbor(1, at4(1, 20), 20, sai.NeighborEntryAttrNoHostRoute, sai.Bool(true))
	want("a neighbour without host route", "cpu")
	k := r.neighborKey(1, at4(1, 20))
	noError(t, r.Set(r.Context(), k, sai.Attr{ID: sai.NeighborEntryAttrNoHostRoute, Value: sai.Bool(false)}))
	want("a neighbour", "1")
	r.neighbor(2, at4(2, 30), 30)
	r.route("10.0.1.20/32", r.hop(2, at4(2, 30)))
	r.send(2, eth(host(1), host(30), u16(0x88b5), make([]byte, 46)))
	want("a route for the address", "2")
	if err := r.Set(r.Context(), r.routeKey("10.0.1.20/32"), sai.Attr{ID: sai.RouteEntryAttrNextHopID,
		Value: r.rifs[1]}); err != nil {
		t.Fatal(err)
	}
	want("a connected route for the address", "1")
	r.removeKey(r.routeKey("10.0.1.20/32"))
	want("the neighbour again", "1")
	r.removeKey(k)
	want("nobody again", "cpu")
}

// Objects beyond the capacity, and features that the chip does not have, are refused. The remaining capacity is
// reported.
func TestRouteRefusals(t *testing.T) {
	r := newRouter(t)
	for range 3 {
		r.create(sai.ObjectTypeVirtualRouter)
	}
	rif := func(pairs ...any) []any { return append(pairs, sai.RouterInterfaceAttrVirtualRouterID, r.vr) }
	typ := sai.RouterInterfaceAttrType
	for _, tt := range []struct {
		name  string
		want  sai.Status
		t     sai.ObjectType
		pairs []any
	}{
		{"a sub-port of a bridged port", sai.StatusObjectInUse, sai.ObjectTypeRouterInterface, rif(typ,
			sai.RouterInterfaceTypeSubPort, sai.RouterInterfaceAttrPortID, r.oid(7), sai.RouterInterfaceAttrOuterVLANID,
			sai.Uint(5))},
		{"a sub-port with VLAN 4095", sai.StatusInvalidVLANID, sai.ObjectTypeRouterInterface, rif(typ,
			sai.RouterInterfaceTypeSubPort, sai.RouterInterfaceAttrPortID, r.oid(0), sai.RouterInterfaceAttrOuterVLANID,
			sai.Uint(4095))},
		{"two tags", sai.StatusNotSupported, sai.ObjectTypeRouterInterface, rif(typ,
			sai.RouterInterfaceTypeQinqPort, sai.RouterInterfaceAttrOuterVLANID, sai.Uint(5),
			sai.RouterInterfaceAttrInnerVLANID, sai.Uint(6))},
		{"a bridged port", sai.StatusObjectInUse, sai.ObjectTypeRouterInterface,
			rif(typ, sai.RouterInterfaceTypePort, sai.RouterInterfaceAttrPortID, r.oid(7))},
		{"a routed port", sai.StatusItemAlreadyExists, sai.ObjectTypeRouterInterface,
			rif(typ, sai.RouterInterfaceTypePort, sai.RouterInterfaceAttrPortID, r.oid(0))},
		{"a member of a LAG", sai.StatusObjectInUse, sai.ObjectTypeRouterInterface,
			rif(typ, sai.RouterInterfaceTypePort, sai.RouterInterfaceAttrPortID, r.oid(4))},
		{"a routed VLAN", sai.StatusItemAlreadyExists, sai.ObjectTypeRouterInterface,
			rif(typ, sai.RouterInterfaceTypeVLAN, sai.RouterInterfaceAttrVLANID, r.vlan)},
		{"MTU 67", sai.StatusInvalidParameter, sai.ObjectTypeRouterInterface,
			rif(typ, sai.RouterInterfaceTypeLoopback, sai.RouterInterfaceAttrMTU, sai.Uint(67))},
		{"a group MAC address", sai.StatusInvalidParameter, sai.ObjectTypeRouterInterface,
			rif(typ, sai.RouterInterfaceTypeLoopback, sai.RouterInterfaceAttrSrcMACAddress, sai.MAC{1})},
		{"a bridge port on a routed port", sai.StatusObjectInUse, sai.ObjectTypeBridgePort,
			[]any{sai.BridgePortAttrType, sai.BridgePortTypePort,
				sai.BridgePortAttrPortID, r.oid(0)}},
		{"a bridge port on a routed LAG", sai.StatusObjectInUse, sai.ObjectTypeBridgePort,
			[]any{sai.BridgePortAttrType, sai.BridgePortTypePort,
				sai.BridgePortAttrPortID, r.lag}},
		{"a routed port in a LAG", sai.StatusObjectInUse, sai.ObjectTypeLAGMember,
			[]any{sai.LAGMemberAttrLAGID, r.lag, sai.LAGMemberAttrPortID, r.oid(1)}},
		{"a next hop to a group", sai.StatusInvalidParameter, sai.ObjectTypeNextHop,
			[]any{sai.NextHopAttrType, sai.NextHopTypeIP,
				sai.NextHopAttrIP, sai.IP{Addr: netip.MustParseAddr("224.0.0.1")}, sai.NextHopAttrRouterInterfaceID, r.rifs[0]}},
		{"a tunnel", sai.StatusNotSupported, sai.ObjectTypeNextHop, []any{sai.NextHopAttrType, sai.NextHopTypeMpls,
			sai.NextHopAttrIP, sai.IP{Addr: at4(0, 2)}, sai.NextHopAttrRouterInterfaceID, r.rifs[0], sai.NextHopAttrLabelstack,
			sai.Uints{1}}},
		{"a fine-grained group", sai.StatusNotSupported, sai.ObjectTypeNextHopGroup,
			[]any{sai.NextHopGroupAttrType, sai.NextHopGroupTypeFineGrainEcmp}},
		{"a fifth virtual router", sai.StatusInsufficientResources, sai.ObjectTypeVirtualRouter, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { r.refused(tt.want, tt.t, tt.pairs...) })
	}
	entry := func(e sai.Entry, pairs ...any) error { return r.CreateEntry(r.Context(), e, attrs(pairs...)) }
	r.wantStatus(entry(r.routeKey("10.0.0.1/24").Entry), sai.StatusItemAlreadyExists) // that of 10.0.0.0/24
	r.wantStatus(entry(r.routeKey("10.0.77.0/24").Entry, sai.RouteEntryAttrNextHopID, r.oid(7)), sai.StatusNotSupported)
	r.wantStatus(entry(r.neighborKey(0, netip.MustParseAddr("224.0.0.1")).Entry, sai.NeighborEntryAttrDstMACAddress,
		sai.MAC(host(1))), sai.StatusInvalidParameter)
	r.wantStatus(entry(r.neighborKey(0, at4(0, 3)).Entry, sai.NeighborEntryAttrDstMACAddress, sai.MAC{1}),
		sai.StatusInvalidParameter)
	group := sai.MAC{1, 0x80, 0xc2, 0, 0, 0xe} // frames to it are LLDP, and not for the router
	for _, own := range []struct {
		of sai.Key
		id sai.AttrID
	}{
		{sai.Obj(sai.ObjectTypeSwitch, r.sw), sai.SwitchAttrSrcMACAddress},
		{sai.Obj(sai.ObjectTypeVirtualRouter, r.vr), sai.VirtualRouterAttrSrcMACAddress},
	} {
		r.wantStatus(r.Set(r.Context(), own.of, sai.Attr{ID: own.id, Value: group}), sai.StatusInvalidParameter)
	}
	r.hop(1, at4(1, 5))
	r.wantStatus(r.Remove(r.Context(), sai.Obj(sai.ObjectTypeRouterInterface, r.rifs[1])), sai.StatusObjectInUse)

	left := func(id sai.AttrID) int { return int(r.get(sai.ObjectTypeSwitch, r.sw, id).(sai.Uint)) }
	n := left(sai.SwitchAttrAvailableIPv4RouteEntry)
	if n != 32-8 || left(sai.SwitchAttrAvailableNextHopGroupEntry) != 4 ||
		left(sai.SwitchAttrAvailableIPv4NexthopEntry) != 15 {
		t.Errorf("%d routes left, %d groups, %d next hops", n, left(sai.SwitchAttrAvailableNextHopGroupEntry),
			left(sai.SwitchAttrAvailableIPv4NexthopEntry))
	}
	for i := range n {
		r.route(netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i)}), 16).String(), sai.NullOID)
	}
	r.wantStatus(entry(r.routeKey("30.0.0.0/8").Entry), sai.StatusTableFull)
	if k, err := r.Availability(r.Context(), sai.ObjectTypeRouteEntry,
		attrs(sai.RouteEntryAttrIPAddrFamily, sai.IPAddrFamilyIPv4)); k != 0 || err != nil {
		t.Errorf("%d IPv4 routes left, %v", k, err)
	}
	r.removeKey(r.routeKey("20.3.0.0/16"))
	r.route("30.0.0.0/8", sai.NullOID)
}

// The reported capacity is exact: one less for each object, and creation is refused at zero.
func TestAvailability(t *testing.T) {
	r := newRouter(t)
	v4 := attrs(sai.RouteEntryAttrIPAddrFamily, sai.IPAddrFamilyIPv4)
	v6 := attrs(sai.RouteEntryAttrIPAddrFamily, sai.IPAddrFamilyIPv6)
	group := r.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeEcmp)
	hop := r.hop(0, at4(0, 99))
	create := func(t sai.ObjectType, pairs ...any) error {
		_, err := r.Create(r.Context(), t, attrs(pairs...))
		return err
	}
	entry := func(e sai.Entry, pairs ...any) error { return r.CreateEntry(r.Context(), e, attrs(pairs...)) }
	for _, tt := range []struct {
		name  string
		t     sai.ObjectType
		attrs []sai.Attr
		make  func(i int) error
	}{
		{"router interfaces", sai.ObjectTypeRouterInterface, nil, func(int) error {
			return create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeLoopback,
				sai.RouterInterfaceAttrVirtualRouterID, r.vr)
		}},
		{"neighbours", sai.ObjectTypeNeighborEntry, nil, func(i int) error {
			return entry(r.neighborKey(1, at4(1, byte(9+i))).Entry, sai.NeighborEntryAttrDstMACAddress, sai.MAC(host(9)))
		}},
		{"next hops", sai.ObjectTypeNextHop, nil, func(i int) error {
			return create(sai.ObjectTypeNextHop, sai.NextHopAttrType, sai.NextHopTypeIP, sai.NextHopAttrIP,
				sai.IP{Addr: at4(0, byte(9+i))},
				sai.NextHopAttrRouterInterfaceID, r.rifs[0])
		}},
		{"groups", sai.ObjectTypeNextHopGroup, nil, func(int) error {
			return create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeEcmp)
		}},
		{"members", sai.ObjectTypeNextHopGroupMember, nil, func(int) error {
			return create(sai.ObjectTypeNextHopGroupMember, sai.NextHopGroupMemberAttrNextHopGroupID, group,
				sai.NextHopGroupMemberAttrNextHopID, hop)
		}},
		{"IPv4 routes", sai.ObjectTypeRouteEntry, v4, func(i int) error {
			return entry(r.routeKey(netip.PrefixFrom(netip.AddrFrom4([4]byte{30, byte(i)}), 16).String()).Entry)
		}},
		{"IPv6 routes", sai.ObjectTypeRouteEntry, v6, func(i int) error {
			return entry(r.routeKey(netip.PrefixFrom(at6(i, 0), 96).String()).Entry)
		}},
		{"mirror sessions", sai.ObjectTypeMirrorSession, nil, func(int) error {
			return create(sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
				sai.MirrorSessionAttrMonitorPort, r.oid(7))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := 0; ; i++ {
				left, err := r.Availability(r.Context(), tt.t, tt.attrs)
				if err != nil || i > 64 {
					t.Fatalf("after %d: %d left, %v", i, left, err)
				}
				if err := tt.make(i); (err == nil) != (left > 0) {
					t.Fatalf("after %d: %d left, and one more: %v", i, left, err)
				}
				if left == 0 {
					break
				}
			}
		})
	}
}

// A chip without tables for routing has no routing objects, and reports that.
func TestNoRouter(t *testing.T) {
	p := profile.Small()
	p.RouterInterfaces, p.Neighbors, p.NextHops, p.NextHopGroups, p.NextHopMembers, p.MirrorSessions = 0, 0, 0, 0, 0, 0
	p.IPv4Routes, p.LAGs, p.TAMInts = 0, 0, 0
	r := newRig(t, p)
	r.refused(sai.StatusNotSupported, sai.ObjectTypeMirrorSession, sai.MirrorSessionAttrType, sai.MirrorSessionTypeLocal,
		sai.MirrorSessionAttrMonitorPort, r.oid(1))
	r.refused(sai.StatusNotSupported, sai.ObjectTypeLAG)
	if n := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrAvailableNextHopGroupEntry); n != sai.Uint(0) {
		t.Errorf("%v groups left", n)
	}
	types := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrSupportedObjectTypeList).(sai.Enums)
	if slices.Contains(types, sai.Enum(sai.ObjectTypeRouterInterface)) ||
		!slices.Contains(types, sai.Enum(sai.ObjectTypeVLAN)) {
		t.Errorf("object types %v", types)
	}
	r.send(0, udpFrame(1, 2, 60))
}
