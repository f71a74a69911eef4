package saisim_test

import (
	"net/netip"
	"slices"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
)

// routedWorld returns a world where ports 0, 1 and 2 are router interfaces with the MAC addresses of rifMAC, unless a
// test makes them itself. Behind interface i are 10.0.i.0/24 and 2001:db8:0:i::/64. Host n has the address .n or ::n.
func routedWorld(rifs ...saisim.PortID) func(d *dut) {
	return func(d *dut) {
		d.boot()
		d.unbridge(0, 1, 2)
		for _, i := range rifs {
			d.rif(i)
		}
	}
}

var rifNames = [...]string{"rif 0", "rif 1", "rif 2"}

// rif makes the router interface of a port.
func (d *dut) rif(i saisim.PortID, with ...sai.Attr) sai.Key {
	d.Helper()
	for _, a := range attrs(sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort, sai.RouterInterfaceAttrPortID,
		d.port(i).OID,
		sai.RouterInterfaceAttrVirtualRouterID, d.ofSwitch(sai.SwitchAttrDefaultVirtualRouterID),
		sai.RouterInterfaceAttrSrcMACAddress, rifMAC(int(i)), sai.RouterInterfaceAttrMTU, sai.Uint(1500)) {
		if _, given := sai.Find(with, a.ID); !given {
			with = append(with, a)
		}
	}
	k := d.make(sai.ObjectTypeRouterInterface, with...)
	d.known[rifNames[i]] = k.OID
	return k
}

func (d *dut) route(prefix string, to sai.OID, with ...sai.Attr) sai.Key {
	d.Helper()
	if _, given := sai.Find(with, sai.RouteEntryAttrNextHopID); !given {
		with = append(with, attrs(sai.RouteEntryAttrNextHopID, to)...)
	}
	return d.entry(sai.RouteEntry{Switch: d.sw, VR: d.ofSwitch(sai.SwitchAttrDefaultVirtualRouterID),
		Dest: netip.MustParsePrefix(prefix)}, with...)
}

// neighbor makes host n a neighbour at interface i.
func (d *dut) neighbor(i int, ip netip.Addr, n byte, with ...sai.Attr) sai.Key {
	d.Helper()
	if _, given := sai.Find(with, sai.NeighborEntryAttrDstMACAddress); !given {
		with = append(with, attrs(sai.NeighborEntryAttrDstMACAddress, sai.MAC(host(n)))...)
	}
	return d.entry(sai.NeighborEntry{Switch: d.sw, RIF: d.known[rifNames[i]], IP: ip}, with...)
}

func (d *dut) nextHop(i int, ip netip.Addr) sai.OID {
	d.Helper()
	return d.create(sai.ObjectTypeNextHop, sai.NextHopAttrType, sai.NextHopTypeIP, sai.NextHopAttrIP, sai.IP{Addr: ip},
		sai.NextHopAttrRouterInterfaceID, d.known[rifNames[i]])
}

func (d *dut) hopMember(group, hop sai.OID, with ...sai.Attr) sai.Key {
	d.Helper()
	for _, a := range attrs(sai.NextHopGroupMemberAttrNextHopGroupID, group, sai.NextHopGroupMemberAttrNextHopID, hop) {
		if _, given := sai.Find(with, a.ID); !given {
			with = append(with, a)
		}
	}
	return d.make(sai.ObjectTypeNextHopGroupMember, with...)
}

// ecmp makes a group of next hops.
func (d *dut) ecmp(hops ...sai.OID) sai.OID {
	d.Helper()
	g := d.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeDynamicUnorderedEcmp)
	for _, h := range hops {
		d.hopMember(g, h)
	}
	return g
}

// Packets that arrive for the router at port 0, from host 9 there to host 5 behind interface 1, or far away.
var (
	far4, far6 = netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("2001:db8:ff::7")
	toHost4    = packet(0, at4(0, 9), at4(1, 5), 64, 100)
	toHost6    = packet(0, at6(0, 9), at6(1, 5), 64, 100)
	toFar4     = packet(0, at4(0, 9), far4, 64, 100)
	toFar6     = packet(0, at6(0, 9), far6, 64, 100)
)

// sairouterinterface.h and saivirtualrouter.h
func TestSAIRouterInterface(t *testing.T) {
	// hosts makes host 5 known behind interface 1, and a default route there.
	hosts := func(d *dut) {
		for _, ip := range []netip.Addr{at4(1, 5), at6(1, 5)} {
			d.neighbor(1, ip, 5)
		}
		d.route("10.0.1.0/24", d.known["rif 1"])
		d.route("0.0.0.0/0", d.nextHop(1, at4(1, 5)))
	}
	in4, in6 := routed(toHost4, 1, 5), routed(toHost6, 1, 5)
	rif := func(i saisim.PortID) func(d *dut, with ...sai.Attr) sai.Key {
		return func(d *dut, with ...sai.Attr) sai.Key {
			k := d.rif(i, with...)
			hosts(d)
			return k
		}
	}
	ingress := func(d *dut, with ...sai.Attr) sai.Key {
		k := d.rif(0, with...)
		hosts(d)
		return k
	}
	to := func(mac sai.MAC, f []byte) []byte { return changed(f, 0, mac[:]...) }
	otherMAC := sai.MAC{2, 0, 0, 0, 3, 3}
	from := func(mac sai.MAC, f []byte) []byte { return changed(f, 6, mac[:]...) }
	no := sai.Bool(false)
	group := []refusal{{sai.MAC{1, 0, 0x5e, 0, 0, 1}, sai.StatusInvalidParameter}, {sai.MAC{}, sai.StatusInvalidParameter}}
	stranger := packet(0, at4(0, 9), at4(1, 77), 64, 100)
	back := packet(0, at4(1, 9), at4(1, 5), 64, 100)
	backAtOne := to(rifMAC(1), back)
	fits, over := packet(0, at4(0, 9), at4(1, 5), 64, 14+1400), packet(0, at4(0, 9), at4(1, 5), 64, 14+1401)
	runSpec(t,
		specObject{name: "interface in", world: routedWorld(1), object: ingress, rows: []specRow{
			{name: "frames to its MAC address are routed", attr: sai.RouterInterfaceAttrSrcMACAddress, value: otherMAC,
				back: rifMAC(0), in: in(to(otherMAC, toHost4)), with: at(in4, 1), refused: group},
			{name: "and to no other", attr: sai.RouterInterfaceAttrSrcMACAddress, value: otherMAC, back: rifMAC(0),
				in: in(toHost4), without: at(in4, 1)},
			{name: "down for IPv4", attr: sai.RouterInterfaceAttrAdminV4State, value: no, in: in(toHost4), without: at(in4, 1)},
			{name: "down for IPv4 is up for IPv6", attr: sai.RouterInterfaceAttrAdminV4State, value: no, in: in(toHost6),
				with: at(in6, 1), without: at(in6, 1)},
			{name: "down for IPv6", attr: sai.RouterInterfaceAttrAdminV6State, value: no, in: in(toHost6), without: at(in6, 1)},
			{name: "down for IPv6 is up for IPv4", attr: sai.RouterInterfaceAttrAdminV6State, value: no, in: in(toHost4),
				with: at(in4, 1), without: at(in4, 1)},
			{name: "its MTU is not of what comes in", attr: sai.RouterInterfaceAttrMTU, value: sai.Uint(68),
				back: sai.Uint(1500),
				in:   in(toHost4), with: at(in4, 1), without: at(in4, 1)},
		}},
		specObject{name: "interface out", world: routedWorld(0), object: rif(1), keep: true, rows: []specRow{
			{name: "packets leave with its MAC address", attr: sai.RouterInterfaceAttrSrcMACAddress, value: otherMAC,
				back: rifMAC(1), in: in(toHost4), with: at(from(otherMAC, in4), 1), without: at(in4, 1)},
			{name: "down for IPv4", attr: sai.RouterInterfaceAttrAdminV4State, value: no, in: in(toHost4), without: at(in4, 1)},
			{name: "down for IPv6", attr: sai.RouterInterfaceAttrAdminV6State, value: no, in: in(toHost6), without: at(in6, 1)},
			{name: "an IP packet of the MTU's length leaves", attr: sai.RouterInterfaceAttrMTU, value: sai.Uint(1400),
				back: sai.Uint(1500), in: in(fits), with: at(routed(fits, 1, 5), 1), without: at(routed(fits, 1, 5), 1),
				refused: []refusal{{sai.Uint(67), sai.StatusInvalidParameter}, {sai.Uint(65536), sai.StatusInvalidParameter}}},
			{name: "a longer one does not", attr: sai.RouterInterfaceAttrMTU, value: sai.Uint(1400), back: sai.Uint(1500),
				in: in(over), without: at(routed(over, 1, 5), 1)},
			{name: "neighbor miss DROP", attr: sai.RouterInterfaceAttrNeighborMissPacketAction, value: sai.PacketActionDrop,
				in: in(stranger), without: at(stranger, cpuPort)},
			{name: "neighbor miss COPY", attr: sai.RouterInterfaceAttrNeighborMissPacketAction, value: sai.PacketActionCopy,
				in: in(stranger), with: at(stranger, cpuPort), without: at(stranger, cpuPort)},
			{name: "LOOPBACK DROP: not out where they came in", attr: sai.RouterInterfaceAttrLoopbackPacketAction,
				value: sai.PacketActionDrop, in: frames{{1, backAtOne}}, without: at(routed(backAtOne, 1, 5), 1)},
			{name: "LOOPBACK DROP: others pass", attr: sai.RouterInterfaceAttrLoopbackPacketAction,
				value: sai.PacketActionDrop, in: in(toHost4), with: at(in4, 1), without: at(in4, 1)},
		}},
		specObject{name: "virtual router", world: routedWorld(0, 1), exists: true, keep: true,
			object: func(d *dut, _ ...sai.Attr) sai.Key {
				hosts(d)
				return sai.Obj(sai.ObjectTypeVirtualRouter, d.ofSwitch(sai.SwitchAttrDefaultVirtualRouterID))
			}, rows: []specRow{
				{name: "down for IPv4", attr: sai.VirtualRouterAttrAdminV4State, value: no, in: in(toHost4), without: at(in4, 1)},
				{name: "down for IPv4 is up for IPv6", attr: sai.VirtualRouterAttrAdminV4State, value: no, in: in(toHost6),
					with: at(in6, 1), without: at(in6, 1)},
				{name: "down for IPv6", attr: sai.VirtualRouterAttrAdminV6State, value: no, in: in(toHost6), without: at(in6, 1)},
				{name: "down for IPv6 is up for IPv4", attr: sai.VirtualRouterAttrAdminV6State, value: no, in: in(toHost4),
					with: at(in4, 1), without: at(in4, 1)},
			}},
	)
	t.Run("an interface has its router's MAC address unless given one, and that the switch's", func(t *testing.T) {
		for _, vrMAC := range []sai.MAC{{}, {2, 0, 0, 0, 4, 4}} {
			d := newDUT(t)
			routedWorld(1)(d)
			want := bridgeMAC
			if vrMAC != (sai.MAC{}) {
				d.set(sai.Obj(sai.ObjectTypeVirtualRouter, d.ofSwitch(sai.SwitchAttrDefaultVirtualRouterID)),
					sai.VirtualRouterAttrSrcMACAddress, vrMAC)
				want = vrMAC
			}
			d.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort,
				sai.RouterInterfaceAttrPortID, d.port(0).OID,
				sai.RouterInterfaceAttrVirtualRouterID, d.ofSwitch(sai.SwitchAttrDefaultVirtualRouterID))
			hosts(d)
			if got := d.send(in(to(want, toHost4))...); got.String() != at(in4, 1).String() {
				t.Errorf("to %s: out came %v", want, got)
			}
		}
	})
	t.Run("an interface of a VLAN: as its members are tagged, to where the FDB has the neighbour", func(t *testing.T) {
		d := newDUT(t)
		d.boot()
		d.unbridge(0)
		d.rif(0)
		v := d.create(sai.ObjectTypeVLAN, sai.VLANAttrVLANID, sai.Uint(10))
		d.join(v, d.bridgePort(d.port(1).OID).OID, sai.VLANTaggingModeTagged)
		d.join(v, d.bridgePort(d.port(2).OID).OID, sai.VLANTaggingModeUntagged)
		k := d.make(sai.ObjectTypeRouterInterface, attrs(sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN,
			sai.RouterInterfaceAttrVLANID, v, sai.RouterInterfaceAttrSrcMACAddress, rifMAC(1),
			sai.RouterInterfaceAttrVirtualRouterID, d.ofSwitch(sai.SwitchAttrDefaultVirtualRouterID))...)
		d.known[rifNames[1]] = k.OID
		d.neighbor(1, at4(1, 5), 5)
		d.observe(&specRow{in: in(toHost4)}, "not learned yet", at(tagged(10, in4), 1).and(in4, 2))
		answer := tagged(10, eth(host(9), host(5), someIP))
		d.observe(&specRow{in: frames{{1, answer}, {0, toHost4}}}, "learned", at(tagged(10, in4), 1))
		toRouter := packet(1, at4(1, 5), at4(0, 9), 64, 100)
		d.neighbor(0, at4(0, 9), 9)
		d.observe(&specRow{in: frames{{1, tagged(10, toRouter)}}}, "out of the VLAN", at(routed(toRouter, 0, 9), 0))
	})
}

// saineighbor.h, sainexthop.h, sairoute.h
func TestSAIRoutes(t *testing.T) {
	world := func(d *dut) {
		routedWorld(0, 1, 2)(d)
		d.neighbor(1, at4(1, 4), 4)
		d.known["hop 1"] = d.nextHop(1, at4(1, 4))
		d.neighbor(2, at4(2, 6), 6)
		d.known["hop 2"] = d.nextHop(2, at4(2, 6))
		d.known["empty"] = d.ecmp()
	}
	known := func(name string) func(d *dut) sai.Value {
		return func(d *dut) sai.Value { return d.known[name] }
	}
	cpu := func(d *dut) sai.Value { return d.ofSwitch(sai.SwitchAttrCPUPort) }
	by1, by2 := routed(toFar4, 1, 4), routed(toFar4, 2, 6)
	action := func(name string, attr sai.AttrID, act sai.Enum, f []byte, with, without frames) specRow {
		return specRow{name: name, attr: attr, value: act, in: in(f), with: with, without: without}
	}
	actions := func(attr sai.AttrID, f []byte, out frames) []specRow {
		return []specRow{
			action("DROP", attr, sai.PacketActionDrop, f, nil, out),
			action("TRAP", attr, sai.PacketActionTrap, f, at(f, cpuPort), out),
			action("COPY", attr, sai.PacketActionCopy, f, out.and(f, cpuPort), out),
			action("LOG", attr, sai.PacketActionLog, f, out.and(f, cpuPort), out),
			action("DENY", attr, sai.PacketActionDeny, f, nil, out),
			action("TRANSIT", attr, sai.PacketActionTransit, f, out, out),
		}
	}
	hop := sai.RouteEntryAttrNextHopID
	rows := append(actions(sai.RouteEntryAttrPacketAction, toFar4, at(by1, 1)),
		specRow{name: "to another next hop", attr: hop, value: known("hop 2"), back: known("hop 1"), in: in(toFar4),
			with: at(by2, 2), without: at(by1, 1)},
		specRow{name: "to none: dropped", attr: hop, value: sai.NullOID, back: known("hop 1"), in: in(toFar4),
			without: at(by1, 1)},
		specRow{name: "to an empty group: dropped", attr: hop, value: known("empty"), back: known("hop 1"), in: in(toFar4),
			without: at(by1, 1)},
		specRow{name: "to the CPU port: for the CPU", attr: hop, value: cpu, back: known("hop 1"), in: in(toFar4),
			with: at(toFar4, cpuPort), without: at(by1, 1)},
		specRow{name: "to an interface: its neighbours, unknown as yet", attr: hop, value: known("rif 2"),
			back: known("hop 1"),
			in:   in(toFar4), with: at(toFar4, cpuPort), without: at(by1, 1)},
		specRow{name: "not to a port", attr: hop, value: known("hop 2"), back: known("hop 1"), in: in(toFar4),
			with: at(by2, 2), without: at(by1, 1),
			refused: []refusal{{func(d *dut) sai.Value { return d.port(1).OID }, sai.StatusNotSupported},
				{func(d *dut) sai.Value { return d.vlan1().OID }, sai.StatusInvalidParameter}}},
	)
	out := routed(toHost4, 1, 5)
	otherMAC := sai.MAC(host(55))
	neighborRows := append(actions(sai.NeighborEntryAttrPacketAction, toHost4, at(out, 1)),
		specRow{name: "packets are sent to its MAC address", attr: sai.NeighborEntryAttrDstMACAddress, value: otherMAC,
			back: sai.MAC(host(5)), in: in(toHost4), with: at(routed(toHost4, 1, 55), 1), without: at(out, 1),
			refused: []refusal{{sai.MAC{1, 0, 0x5e, 0, 0, 1}, sai.StatusInvalidParameter},
				{sai.MAC{}, sai.StatusInvalidParameter}}},
		specRow{name: "NO_HOST_ROUTE: no packet finds it by its address", attr: sai.NeighborEntryAttrNoHostRoute,
			value: sai.Bool(true), in: in(toHost4), without: at(out, 1)},
	)
	far := packet(0, at4(0, 9), netip.MustParseAddr("203.0.113.9"), 64, 100)
	viaHop := specObject{name: "neighbor behind a next hop", world: func(d *dut) {
		routedWorld(0, 1)(d)
		d.route("203.0.113.0/24", d.nextHop(1, at4(1, 5)))
	}, object: func(d *dut, with ...sai.Attr) sai.Key { return d.neighbor(1, at4(1, 5), 5, with...) }, rows: []specRow{
		{name: "next hops lead to its MAC address, and nowhere without it", attr: sai.NeighborEntryAttrDstMACAddress,
			value: otherMAC,
			back:  sai.MAC(host(5)), in: in(far), with: at(routed(far, 1, 55), 1), without: at(routed(far, 1, 5), 1)},
		{name: "NO_HOST_ROUTE is not of next hops", attr: sai.NeighborEntryAttrNoHostRoute, value: sai.Bool(true),
			in:   in(far),
			with: at(routed(far, 1, 5), 1), without: at(routed(far, 1, 5), 1)},
		{name: "DROP is of next hops too", attr: sai.NeighborEntryAttrPacketAction, value: sai.PacketActionDrop, in: in(far),
			without: at(routed(far, 1, 5), 1)},
	}}
	runSpec(t,
		specObject{name: "route", world: world, rows: rows, object: func(d *dut, with ...sai.Attr) sai.Key {
			return d.route("198.51.100.0/24", d.known["hop 1"], with...)
		}},
		specObject{name: "neighbor", world: routedWorld(0, 1), rows: neighborRows,
			object: func(d *dut, with ...sai.Attr) sai.Key { return d.neighbor(1, at4(1, 5), 5, with...) }},
		viaHop,
	)
	t.Run("the longest prefix, and the next when it goes", func(t *testing.T) {
		d := newDUT(t)
		world(d)
		d.route("0.0.0.0/0", d.known["hop 1"])
		shorter := d.route("198.51.100.0/24", d.known["hop 2"])
		longer := d.route("198.51.100.7/32", d.known["hop 1"])
		neighbour := packet(0, at4(0, 9), netip.MustParseAddr("198.51.100.8"), 64, 100)
		d.observe(&specRow{in: in(toFar4)}, "/32", at(by1, 1))
		d.observe(&specRow{in: in(neighbour)}, "/24", at(routed(neighbour, 2, 6), 2))
		d.remove(longer)
		d.observe(&specRow{in: in(toFar4)}, "/24 when the /32 is gone", at(by2, 2))
		d.remove(shorter)
		d.observe(&specRow{in: in(toFar4)}, "/0 when the /24 is gone", at(by1, 1))
	})
	t.Run("TTL: 2 is routed, 1 goes to the CPU; and IPv6", func(t *testing.T) {
		d := newDUT(t)
		world(d)
		d.route("198.51.100.0/24", d.known["hop 1"])
		d.neighbor(1, at6(1, 4), 4)
		d.route("2001:db8:ff::/48", d.nextHop(1, at6(1, 4)))
		for _, f := range [][]byte{packet(0, at4(0, 9), far4, 2, 100), packet(0, at6(0, 9), far6, 2, 100), toFar6} {
			d.observe(&specRow{in: in(f)}, "routed", at(routed(f, 1, 4), 1))
		}
		for _, f := range [][]byte{packet(0, at4(0, 9), far4, 1, 100), packet(0, at6(0, 9), far6, 1, 100)} {
			d.observe(&specRow{in: in(f)}, "TTL 1", at(f, cpuPort))
		}
	})
}

// sainexthopgroup.h
func TestSAINextHopGroup(t *testing.T) {
	// Three members, at interfaces 1 and 2.
	world := func(d *dut) {
		routedWorld(0, 1, 2)(d)
		for i, n := range []byte{4, 5, 6} {
			rif := 1 + i/2
			d.neighbor(rif, at4(rif, n), n)
			d.known["hop "+string('0'+rune(n))] = d.nextHop(rif, at4(rif, n))
		}
		d.known["group"] = d.ecmp()
		d.route("198.51.100.0/24", d.known["group"])
	}
	flow := func(n byte) []byte {
		f := packet(0, at4(0, 9), netip.AddrFrom4([4]byte{198, 51, 100, n}), 64, 100)
		return changed(f, 34, n, n)
	}
	// spread returns the number of flows by the host to which they go.
	spread := func(d *dut) map[byte]int {
		hosts := map[byte]int{}
		for n := range byte(200) {
			for _, f := range d.send(in(flow(n))...) {
				hosts[f.data[5]]++
			}
		}
		return hosts
	}
	t.Run("flows are spread over members, and a flow keeps to one", func(t *testing.T) {
		d := newDUT(t)
		world(d)
		var members []sai.Key
		for _, name := range []string{"hop 4", "hop 5", "hop 6"} {
			members = append(members, d.hopMember(d.known["group"], d.known[name]))
		}
		first := d.send(in(flow(1))...).String()
		for range 3 {
			if got := d.send(in(flow(1))...).String(); got != first {
				t.Errorf("a flow goes to %s and to %s", first, got)
			}
		}
		all := spread(d)
		for _, n := range []byte{4, 5, 6} {
			if all[n] < 40 {
				t.Errorf("of 200 flows %v, want a third each", all)
			}
		}
		d.remove(members[1])
		if got := spread(d); got[5] != 0 || got[4]+got[6] != 200 {
			t.Errorf("without member 5: %v", got)
		}
		d.set(members[0], sai.NextHopGroupMemberAttrWeight, sai.Uint(3))
		if got := spread(d); got[4] < 120 || got[6] < 25 || got[4]+got[6] != 200 {
			t.Errorf("weights 3 and 1: %v", got)
		}
		d.remove(members[0])
		d.remove(members[2])
		if got := spread(d); len(got) != 0 {
			t.Errorf("an empty group sends %v", got)
		}
	})
	f := flow(7)
	runSpec(t, specObject{name: "member", world: world, object: func(d *dut, with ...sai.Attr) sai.Key {
		return d.hopMember(d.known["group"], d.known["hop 4"], with...)
	}, rows: []specRow{
		{name: "leads to its next hop", attr: sai.NextHopGroupMemberAttrNextHopID, in: in(f),
			value: func(d *dut) sai.Value { return d.known["hop 6"] }, back: func(d *dut) sai.Value { return d.known["hop 4"] },
			with: at(routed(f, 2, 6), 2), without: at(routed(f, 1, 4), 1),
			refused: []refusal{{func(d *dut) sai.Value { return d.port(0).OID }, sai.StatusInvalidParameter}}},
		{name: "alone has all flows, whatever its weight", attr: sai.NextHopGroupMemberAttrWeight, value: sai.Uint(9),
			in:   in(f),
			with: at(routed(f, 1, 4), 1), without: at(routed(f, 1, 4), 1),
			refused: []refusal{{sai.Uint(0), sai.StatusInvalidParameter}}},
	}})
}

// A neighbour with the broadcast address, at the interface of a VLAN, is a directed broadcast: the packet is routed to
// all ports of the VLAN, unless the VLAN floods no broadcasts.
func TestSAIDirectedBroadcast(t *testing.T) {
	everybody := sai.MAC{255, 255, 255, 255, 255, 255}
	mac := sai.Attr{ID: sai.NeighborEntryAttrDstMACAddress, Value: everybody}
	d := newDUT(t)
	d.boot()
	d.unbridge(0)
	d.rif(0)
	vlan := d.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN,
		sai.RouterInterfaceAttrVLANID, d.vlan1().OID, sai.RouterInterfaceAttrSrcMACAddress, rifMAC(1),
		sai.RouterInterfaceAttrVirtualRouterID, d.ofSwitch(sai.SwitchAttrDefaultVirtualRouterID))
	d.known[rifNames[1]] = vlan
	refused := d.CreateEntry(d.Context(), sai.NeighborEntry{Switch: d.sw, RIF: d.known[rifNames[0]], IP: at4(0, 255)},
		[]sai.Attr{mac})
	d.wantStatus("a directed broadcast out of a port", refused, sai.StatusInvalidParameter)
	refused = d.CreateEntry(d.Context(), sai.NeighborEntry{Switch: d.sw, RIF: vlan, IP: at4(1, 254)},
		attrs(sai.NeighborEntryAttrDstMACAddress, sai.MAC{1, 0, 0x5e, 0, 0, 1}))
	d.wantStatus("a neighbour with another group address", refused, sai.StatusInvalidParameter)
	d.neighbor(1, at4(1, 255), 0, mac)
	toAll := packet(0, at4(0, 9), at4(1, 255), 64, 100)
	out := routed(toAll, 1, 0)
	copy(out, everybody[:])
	row := func(name string, in frames, want frames) {
		d.Helper()
		d.observe(&specRow{name: name, in: in, with: want}, name, want)
	}
	row("to all ports of the VLAN", in(toAll), at(out, 1, 2))
	fromVLAN := changed(packet(0, at4(1, 9), at4(1, 255), 64, 100), 0, 2, 0, 0, 0, 1, 1)
	back := routed(fromVLAN, 1, 0)
	copy(back, everybody[:])
	row("from the VLAN, also back to the port where it arrived", frames{{1, fromVLAN}}, at(back, 1, 2))
	d.set(d.vlan1(), sai.VLANAttrBroadcastFloodControlType, sai.VLANFloodControlTypeNone)
	row("in a VLAN without broadcasts", in(toAll), nil)
}

// saihash.h: the hashes of the switch, for next hop groups and LAGs, use the fields in their lists only.
func TestSAIHash(t *testing.T) {
	d := newDUT(t)
	routedWorld(0, 1, 2)(d)
	d.neighbor(1, at4(1, 5), 5)
	d.neighbor(2, at4(2, 6), 6)
	d.route("0.0.0.0/0", d.ecmp(d.nextHop(1, at4(1, 5)), d.nextHop(2, at4(2, 6))))
	hash := sai.Obj(sai.ObjectTypeHash, d.ofSwitch(sai.SwitchAttrEcmpHash))
	if lag := d.ofSwitch(sai.SwitchAttrLAGHash); lag == hash.OID {
		t.Error("LAGs and next hop groups have the same hash")
	}
	const list = sai.HashAttrNativeHashFieldList
	fields := need(d.EnumCapability(d.Context(), list))(t)
	if got := d.get(hash, list).(sai.Enums); len(got) != 8 || len(fields) != 9 || slices.Contains(got,
		sai.NativeHashFieldInPort) {
		t.Errorf("the hash has the fields %v, of %v; want all but the ingress port", got, fields)
	}
	// ports returns the number of ports by which packets with 16 destination ports leave.
	ports := func() int {
		by := map[saisim.PortID]bool{}
		for i := range byte(16) {
			for _, f := range d.send(in(changed(toFar4, 37, i))...) {
				by[f.port] = true
			}
		}
		return len(by)
	}
	for _, tt := range []struct {
		what string
		list sai.Enums
		want int
	}{
		{"all fields", sai.Enums(fields), 2},
		{"addresses only", sai.Enums{sai.NativeHashFieldSrcIP, sai.NativeHashFieldDstIP}, 1},
		{"L4 destination port only", sai.Enums{sai.NativeHashFieldL4DstPort}, 2},
		{"the ingress port only", sai.Enums{sai.NativeHashFieldInPort}, 1},
		{"the ingress port and L4 destination port", sai.Enums{sai.NativeHashFieldInPort, sai.NativeHashFieldL4DstPort}, 2},
		{"nothing", sai.Enums{}, 1},
	} {
		d.set(hash, list, tt.list)
		if n := ports(); n != tt.want {
			t.Errorf("%s: packets leave by %d ports, want %d", tt.what, n, tt.want)
		}
	}
	err := d.Set(d.Context(), hash, sai.Attr{ID: list, Value: sai.Enums{sai.NativeHashFieldVLANID}})
	d.wantStatus("a field that is not hashed", err, sai.StatusNotSupported)
	_, err = d.Create(d.Context(), sai.ObjectTypeHash, nil)
	d.wantStatus("a third hash", err, sai.StatusInsufficientResources)
	d.refuseRemove(sai.StatusNotSupported, hash)
}

// Bits of a prefix behind its length do not count, so there is one route for 10.9.0.0/24 and 10.9.0.1/24.
func TestSAIRouteWithHostBits(t *testing.T) {
	d := newDUT(t)
	routedWorld(0, 1, 2)(d)
	d.neighbor(1, at4(1, 5), 5)
	out := func() int { return len(d.send(in(toFar4)...)) }
	far := netip.AddrFrom4([4]byte(toFar4[30:34]))
	route := d.route(netip.PrefixFrom(far, 16).String(), d.nextHop(1, at4(1, 5)))
	if out() != 1 {
		t.Error("a route with bits behind its length does not forward")
	}
	twin := route.Entry.(sai.RouteEntry)
	twin.Dest = netip.PrefixFrom(far, 16).Masked()
	err := d.CreateEntry(d.Context(), twin, attrs(sai.RouteEntryAttrPacketAction, sai.PacketActionDrop))
	d.wantStatus("the same prefix without these bits", err, sai.StatusItemAlreadyExists)
	if err := d.Remove(d.Context(), route); err != nil || out() != 0 {
		t.Errorf("without the route: %v", err)
	}
	d.entry(twin, attrs(sai.RouteEntryAttrPacketAction, sai.PacketActionDrop)...)
}
