package saisim_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// A router is a small chip set up as by orchagent. Ports 0 and 1 are router interfaces. Ports 2 and 3 (tagged) are in
// VLAN 100, ports 4 and 5 in a LAG. VLAN and LAG have one router interface each. Ports 6 and 7 are bridged in VLAN 1.
// Interface i has the MAC 02-00-00-00-01-0i and the subnets 10.0.i.0/24 and 2001:db8:0:i::/64, with the switch at .1
// and ::1.
type router struct {
	*rig
	vr   sai.OID
	vlan sai.OID
	lag  sai.OID
	rifs [4]sai.OID // port 0, port 1, VLAN 100, LAG

	members map[sai.OID][]sai.OID // members of groups, by next hop
}

func rifMAC(i int) sai.MAC { return sai.MAC{2, 0, 0, 0, 1, byte(i)} }

func newRouter(t testing.TB) *router {
	t.Helper()
	r := &router{rig: newRig(t, profile.Small()), members: map[sai.OID][]sai.OID{}}
	for id := range saisim.PortID(6) {
		r.leave(id)
	}
	r.vr = r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVirtualRouterID).(sai.OID)
	r.vlan = r.rig.vlan(100)
	r.member(r.vlan, r.bridgePort(r.oid(2)), sai.VLANTaggingModeUntagged)
	r.member(r.vlan, r.bridgePort(r.oid(3)), sai.VLANTaggingModeTagged)
	r.set(sai.ObjectTypePort, r.oid(2), sai.PortAttrPortVLANID, sai.Uint(100))
	r.lag = r.create(sai.ObjectTypeLAG)
	for _, id := range []saisim.PortID{4, 5} {
		r.create(sai.ObjectTypeLAGMember, sai.LAGMemberAttrLAGID, r.lag, sai.LAGMemberAttrPortID, r.oid(id))
	}
	on := [][]any{
		{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort, sai.RouterInterfaceAttrPortID, r.oid(0)},
		{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort, sai.RouterInterfaceAttrPortID, r.oid(1)},
		{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypeVLAN, sai.RouterInterfaceAttrVLANID, r.vlan},
		{sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort, sai.RouterInterfaceAttrPortID, r.lag},
	}
	cpu := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrCPUPort).(sai.OID)
	for i, pairs := range on {
		r.rifs[i] = r.create(sai.ObjectTypeRouterInterface, append(pairs, sai.RouterInterfaceAttrVirtualRouterID, r.vr,
			sai.RouterInterfaceAttrSrcMACAddress, rifMAC(i), sai.RouterInterfaceAttrMTU, sai.Uint(1500))...)
		r.route(subnet(i, false), r.rifs[i])
		r.route(subnet(i, true), r.rifs[i])
		r.route(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 1}), 32).String(), cpu)
		r.route(netip.PrefixFrom(at6(i, 1), 128).String(), cpu)
	}
	return r
}

func at4(i int, host byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i), host}) }

func at6(i int, host byte) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 0, 0, byte(i), 15: host})
}

func subnet(i int, v6 bool) string {
	if v6 {
		return netip.PrefixFrom(at6(i, 0), 64).String()
	}
	return netip.PrefixFrom(at4(i, 0), 24).String()
}

// leave removes a port from the bridge.
func (r *rig) leave(id saisim.PortID) {
	r.Helper()
	bp := r.bp(id)
	vlan := r.get(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrDefaultVLANID).(sai.OID)
	for _, m := range r.get(sai.ObjectTypeVLAN, vlan, sai.VLANAttrMemberList).(sai.OIDs) {
		if r.get(sai.ObjectTypeVLANMember, m, sai.VLANMemberAttrBridgePortID) == bp {
			r.remove(sai.ObjectTypeVLANMember, m)
		}
	}
	r.remove(sai.ObjectTypeBridgePort, bp)
}

func (r *router) routeKey(prefix string) sai.Key {
	return sai.EntryKey(sai.RouteEntry{Switch: r.sw, VR: r.vr, Dest: netip.MustParsePrefix(prefix)})
}

func (r *router) route(prefix string, hop sai.OID, pairs ...any) {
	r.Helper()
	err := r.CreateEntry(context.Background(), r.routeKey(prefix).Entry,
		attrs(append(pairs, sai.RouteEntryAttrNextHopID, hop)...))
	if err != nil {
		r.Fatal(err)
	}
}

func (r *router) removeKey(k sai.Key) {
	r.Helper()
	if err := r.Remove(context.Background(), k); err != nil {
		r.Fatal(err)
	}
}

func (r *router) neighborKey(rif int, ip netip.Addr) sai.Key {
	return sai.EntryKey(sai.NeighborEntry{Switch: r.sw, RIF: r.rifs[rif], IP: ip})
}

// neighbor makes host n a neighbour at interface i.
func (r *router) neighbor(i int, ip netip.Addr, n byte, pairs ...any) {
	r.Helper()
	err := r.CreateEntry(context.Background(), r.neighborKey(i, ip).Entry,
		attrs(append(pairs, sai.NeighborEntryAttrDstMACAddress, sai.MAC(host(n)))...))
	if err != nil {
		r.Fatal(err)
	}
}

func (r *router) hop(i int, ip netip.Addr) sai.OID {
	r.Helper()
	return r.create(sai.ObjectTypeNextHop, sai.NextHopAttrType, sai.NextHopTypeIP, sai.NextHopAttrIP, sai.IP{Addr: ip},
		sai.NextHopAttrRouterInterfaceID, r.rifs[i])
}

// packet returns a UDP packet of n bytes with headers (at least 62), from host 9 to the router at interface i.
func packet(i int, src, dst netip.Addr, ttl byte, n int) []byte {
	mac := rifMAC(i)
	if dst.Is4() {
		p := ip4(0, 0, 17, 0, udp(1000, 2000, n-42))
		copy(p[14:], src.AsSlice())
		copy(p[18:], dst.AsSlice())
		p[10] = ttl
		return sum(eth(mac[:], host(9), p))
	}
	p := ip6(0, 0, 17, udp(1000, 2000, n-62))
	copy(p[10:], src.AsSlice())
	copy(p[26:], dst.AsSlice())
	p[9] = ttl
	return eth(mac[:], host(9), p)
}

// sum sets the checksum of the IPv4 header behind 14 bytes.
func sum(f []byte) []byte {
	f[24], f[25] = 0, 0
	s := uint32(0)
	for i := 14; i < 34; i += 2 {
		s += uint32(binary.BigEndian.Uint16(f[i:]))
	}
	s = s>>16 + s&0xffff
	s = s>>16 + s&0xffff
	binary.BigEndian.PutUint16(f[24:], ^uint16(s))
	return f
}

// routed returns the packet as the router sends it: from the MAC of interface i to host n, with the TTL decremented and
// the checksum computed from scratch.
func routed(f []byte, i int, n byte) []byte {
	mac := rifMAC(i)
	f = bytes.Clone(f)
	copy(f, host(n))
	copy(f[6:], mac[:])
	if f[12] == 8 {
		f[22]--
		return sum(f)
	}
	f[21]--
	return f
}

// Packets to the router's address leave with new MAC addresses and a decremented TTL.
func TestRoute(t *testing.T) {
	outside4, outside6 := netip.MustParseAddr("192.0.2.77"), netip.MustParseAddr("2001:db8:ffff::77")
	for _, tt := range []struct {
		name string
		rif  int // the neighbour's interface
		n    byte
		out  []saisim.PortID
		tag  bool
	}{
		{"a port", 1, 21, []saisim.PortID{1}, false},
		{"back where it came from", 0, 22, []saisim.PortID{0}, false},
		{"a VLAN, address unknown", 2, 23, []saisim.PortID{2, 3}, false},
		{"a VLAN, address at an untagged port", 2, 24, []saisim.PortID{2}, false},
		{"a VLAN, address at a tagged port", 2, 25, []saisim.PortID{3}, true},
		{"a LAG", 3, 26, []saisim.PortID{4}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRouter(t)
			r.send(2, eth(host(99), host(24), u16(0x88b5), make([]byte, 46)))
			r.send(3, eth(host(99), host(25), tag(0x8100, 100), u16(0x88b5), make([]byte, 46)))
			r.neighbor(tt.rif, at4(tt.rif, tt.n), tt.n)
			r.neighbor(tt.rif, at6(tt.rif, tt.n), tt.n)
			r.route("192.0.2.0/24", r.hop(tt.rif, at4(tt.rif, tt.n)))
			r.route("2001:db8:ffff::/48", r.hop(tt.rif, at6(tt.rif, tt.n)))
			for _, f := range [][]byte{
				packet(0, at4(0, 9), at4(tt.rif, tt.n), 64, 100), packet(0, at4(0, 9), outside4, 2, 64),
				packet(0, at6(0, 9), at6(tt.rif, tt.n), 64, 100), packet(0, at6(0, 9), outside6, 2, 70),
			} {
				want := routed(f, tt.rif, tt.n)
				outs := r.send(0, f)
				if len(outs) != len(tt.out) {
					t.Fatalf("%x: left by %v, want %v; drops %s", f, outs, tt.out, r.dropped(0))
				}
				for i, o := range outs {
					if o.port == 3 {
						want = append(append(bytes.Clone(want[:12]), tag(0x8100, 100)...), want[12:]...)
					}
					if lag := tt.rif == 3 && o.port == 5; o.port != tt.out[i] && !lag || !bytes.Equal(o.data, want) {
						t.Errorf("left as %v, want %x by port %d", o, want, tt.out[i])
					}
				}
			}
		})
	}
}

// A routed packet without a destination is dropped, and the first of several reasons counts.
func TestRouteDrops(t *testing.T) {
	near, far := at4(1, 20), netip.MustParseAddr("192.0.2.7")
	ok := packet(0, at4(0, 9), near, 64, 100)
	change := func(at int, b byte) []byte {
		f := bytes.Clone(ok)
		f[at] = b
		return f
	}
	const cpu = "cpu"
	for _, tt := range []struct {
		name, want string
		frame      []byte
		setup      func(r *router)
	}{
		{"routed", "1", ok, nil},
		{"to another MAC address", "not-router=1 ", change(0, 4), nil},
		{"broadcast", "not-router=1 ", eth([]byte{255, 255, 255, 255, 255, 255}, host(9), ok[12:]), nil},
		{"a VLAN tag", "no-vlan=1 ", eth(ok[:6], host(9), tag(0x8100, 5), ok[12:]), nil},
		{"a priority tag", "1", eth(ok[:6], host(9), tag(0x8100, 0xe000), ok[12:]), nil},
		{"not IP", cpu, eth(ok[:6], host(9), u16(0x88b5), make([]byte, 46)), nil},
		{"checksum", "ip-header=1 ", change(24, ok[24]+1), nil},
		{"version", "ip-header=1 ", change(14, 0x55), nil},
		{"header length", "ip-header=1 ", change(14, 0x44), nil},
		{"from a group", "ip-header=1 ", packet(0, netip.MustParseAddr("224.1.2.3"), near, 64, 100), nil},
		{"from loopback", "ip-header=1 ", packet(0, netip.MustParseAddr("127.0.0.1"), near, 64, 100), nil},
		{"from this host", "ip-header=1 ", packet(0, netip.MustParseAddr("0.0.0.0"), near, 64, 100), nil},
		{"from network 0", "ip-header=1 ", packet(0, netip.MustParseAddr("0.1.2.3"), near, 64, 100), nil},
		{"from the unspecified IPv6 address", "ip-header=1 ", packet(0, netip.IPv6Unspecified(), at6(1, 20), 64, 100), nil},
		{"to everybody", "ip-header=1 ", packet(0, at4(0, 9), netip.MustParseAddr("255.255.255.255"), 64, 100), nil},
		{"to network 0", "ip-header=1 ", packet(0, at4(0, 9), netip.MustParseAddr("0.1.2.3"), 64, 100), nil},
		{"to a group", "ip-header=1 ", packet(0, at4(0, 9), netip.MustParseAddr("224.1.2.3"), 64, 100), nil},
		{"to an IPv6 group", "ip-header=1 ", packet(0, at6(0, 9), netip.MustParseAddr("ff02::1"), 64, 100), nil},
		{"TTL 1", cpu, packet(0, at4(0, 9), near, 1, 100), nil},
		{"TTL 0", cpu, packet(0, at4(0, 9), near, 0, 100), nil},
		{"hop limit 1", cpu, packet(0, at6(0, 9), at6(1, 20), 1, 100), nil},
		{"TTL 1 where that is no trap", "ttl=1 ", packet(0, at4(0, 9), near, 1, 100), func(r *router) {
			r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeTTLError,
				sai.HostifTrapAttrPacketAction, sai.PacketActionDrop)
		}},
		{"TTL 1 to the switch", cpu, packet(0, at4(0, 9), at4(1, 1), 1, 100), nil},
		{"TTL before no route", cpu, packet(0, at4(0, 9), far, 1, 100), nil},
		{"no route", "no-route=1 ", packet(0, at4(0, 9), far, 64, 100), nil},
		{"header before no route", "ip-header=1 ", func() []byte {
			f := packet(0, at4(0, 9), far, 64, 100)
			f[24]++
			return f
		}(), nil},
		{"route of drops", "blackhole=1 ", packet(0, at4(0, 9), far, 64, 100), func(r *router) {
			r.route("192.0.2.0/24", sai.NullOID, sai.RouteEntryAttrPacketAction, sai.PacketActionDrop)
		}},
		{"route of traps", cpu, packet(0, at4(0, 9), far, 64, 100), func(r *router) {
			r.route("192.0.2.0/24", sai.NullOID, sai.RouteEntryAttrPacketAction, sai.PacketActionTrap)
		}},
		{"default route of drops", "no-route=1 ", packet(0, at4(0, 9), far, 64, 100), func(r *router) {
			r.route("0.0.0.0/0", sai.NullOID, sai.RouteEntryAttrPacketAction, sai.PacketActionDrop)
		}},
		{"route to nowhere", "route=1 ", packet(0, at4(0, 9), far, 64, 100),
			func(r *router) { r.route("192.0.2.0/24", sai.NullOID) }},
		{"empty group", "no-next-hop=1 ", packet(0, at4(0, 9), far, 64, 100), func(r *router) {
			r.route("0.0.0.0/0", r.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeEcmp))
		}},
		{"no neighbour", cpu, packet(0, at4(0, 9), at4(1, 99), 64, 100), nil},
		{"no neighbour at the next hop", cpu, packet(0, at4(0, 9), far, 64, 100),
			func(r *router) { r.route("0.0.0.0/0", r.hop(1, at4(1, 66))) }},
		{"no neighbour, dropped", "no-neighbor=1 ", packet(0, at4(0, 9), at4(1, 99), 64, 100), func(r *router) {
			r.set(sai.ObjectTypeRouterInterface, r.rifs[1], sai.RouterInterfaceAttrNeighborMissPacketAction,
				sai.PacketActionDrop)
		}},
		{"neighbour of drops", "neighbor=1 ", packet(0, at4(0, 9), at4(1, 77), 64, 100), func(r *router) {
			r.neighbor(1, at4(1, 77), 77, sai.NeighborEntryAttrPacketAction, sai.PacketActionDrop)
		}},
		{"MTU", "1", packet(0, at4(0, 9), near, 64, 1514), nil},
		{"beyond the MTU", "l3-mtu=1 ", packet(0, at4(0, 9), near, 64, 1515), nil},
		{"beyond the MTU, trapped", cpu, packet(0, at4(0, 9), near, 64, 1515), func(r *router) {
			r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeL3MTUError,
				sai.HostifTrapAttrPacketAction, sai.PacketActionTrap)
		}},
		{"interface in is down", "router-down=1 ", ok, func(r *router) {
			r.set(sai.ObjectTypeRouterInterface, r.rifs[0], sai.RouterInterfaceAttrAdminV4State, sai.Bool(false))
		}},
		{"interface out is down", "router-out-down=1 ", ok, func(r *router) {
			r.set(sai.ObjectTypeRouterInterface, r.rifs[1], sai.RouterInterfaceAttrAdminV4State, sai.Bool(false))
		}},
		{"only IPv6 is down", "1", ok, func(r *router) {
			r.set(sai.ObjectTypeRouterInterface, r.rifs[0], sai.RouterInterfaceAttrAdminV6State, sai.Bool(false))
		}},
		{"router is down", "router-down=1 ", ok, func(r *router) {
			r.set(sai.ObjectTypeVirtualRouter, r.vr, sai.VirtualRouterAttrAdminV4State, sai.Bool(false))
		}},
		{"not back out", "same-interface=1 ", packet(0, at4(0, 9), at4(0, 88), 64, 100), func(r *router) {
			r.neighbor(0, at4(0, 88), 88)
			r.set(sai.ObjectTypeRouterInterface, r.rifs[0], sai.RouterInterfaceAttrLoopbackPacketAction, sai.PacketActionDrop)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRouter(t)
			r.neighbor(1, near, 20)
			r.neighbor(1, at6(1, 20), 20)
			if tt.setup != nil {
				tt.setup(r)
			}
			outs := r.send(0, tt.frame)
			got := r.dropped(0)
			for _, o := range outs {
				if o.port == saisim.CPUPort {
					got += cpu
					if !bytes.Equal(o.data, tt.frame) {
						t.Errorf("the CPU has %v, want it as it came", o)
					}
				} else {
					got += string(rune('0' + o.port))
				}
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
