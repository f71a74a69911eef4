package saisim_test

import (
	"net/netip"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
)

// newRoutedLoad returns a load in which every packet is routed, from each port to the next, one packet per cycle. The
// chip has the given number of further routes that do not match. With spread, the routes lead to a group of all ports.
func newRoutedLoad(t testing.TB, routes int, spread bool) *load {
	return newRig(t, profile.Default()).routedLoad(routes, spread)
}

// routedLoad does newRoutedLoad for an existing chip.
func (x *rig) routedLoad(routes int, spread bool) *load {
	l := &load{rig: x}
	l.clearVLAN1()
	r := &router{rig: l.rig, vr: l.get(sai.ObjectTypeSwitch, l.sw, sai.SwitchAttrDefaultVirtualRouterID).(sai.OID)}
	ports := l.Ports()
	group := l.create(sai.ObjectTypeNextHopGroup, sai.NextHopGroupAttrType, sai.NextHopGroupTypeEcmp)
	for i, id := range ports {
		r.rifs[0] = l.create(sai.ObjectTypeRouterInterface, sai.RouterInterfaceAttrType, sai.RouterInterfaceTypePort,
			sai.RouterInterfaceAttrPortID, l.oid(id), sai.RouterInterfaceAttrVirtualRouterID, r.vr)
		ip := netip.AddrFrom4([4]byte{10, 0, byte(i), 2})
		r.neighbor(0, ip, byte(i))
		hop := r.hop(0, ip)
		l.create(sai.ObjectTypeNextHopGroupMember, sai.NextHopGroupMemberAttrNextHopGroupID, group,
			sai.NextHopGroupMemberAttrNextHopID, hop)
		if spread {
			hop = group
		}
		r.route(netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i)}), 16).String(), hop)
		next := byte((i + 1) % len(ports))
		f := packet(0, netip.AddrFrom4([4]byte{10, 0, byte(i), 9}), netip.AddrFrom4([4]byte{20, next, 1, 1}), 64, 60)
		copy(f, []byte{2, 0, 0, 0, 0, 0xaa})
		l.frames = append(l.frames, f)
	}
	for i := range routes {
		r.route(netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(21 + i>>16), byte(i >> 8), byte(i)}), 24).String(), group)
	}
	l.SetOutput(func(o *saisim.Out) { l.sent++; l.octets += len(o.Data) })
	return l
}

func routedLoads() map[string]func(testing.TB) *load {
	mirrored := func(t testing.TB) *load {
		l := newLoad(t, 0, false)
		l.pause = 1 // the egress pipe accepts one copy per cycle
		session := l.erspan(l.Ports()[31], sai.ErspanEncapsulationTypeIi, false)
		for _, id := range l.Ports()[:1] {
			l.set(sai.ObjectTypePort, l.oid(id), sai.PortAttrIngressMirrorSession, sai.OIDs{session})
			l.set(sai.ObjectTypePort, l.oid(id), sai.PortAttrEgressMirrorSession, sai.OIDs{session})
		}
		return l
	}
	return map[string]func(testing.TB) *load{
		"route":             func(t testing.TB) *load { return newRoutedLoad(t, 0, false) },
		"route+100k routes": func(t testing.TB) *load { return newRoutedLoad(t, 100_000, false) },
		"ECMP":              func(t testing.TB) *load { return newRoutedLoad(t, 0, true) },
		"mirror":            mirrored,
	}
}

// Routing and mirroring allocate nothing.
func TestL3DoesNotAllocate(t *testing.T) {
	countsAllocations(t)
	for name, load := range routedLoads() {
		t.Run(name, func(t *testing.T) {
			l := load(t)
			l.allocatesNothing(t, 20_000)
			l.balanced()
			if b := l.FrameCounts(); l.sent == 0 || b.ToCPU > 0 || name != "mirror" && b.Sent+b.InFlight+
				b.Dropped[drop.Buffer] != b.Received {
				t.Errorf("%d frames left; books %+v", l.sent, b)
			}
		})
	}
}
