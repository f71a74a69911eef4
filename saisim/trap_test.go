package saisim_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

func arp(op byte) []byte {
	return eth([]byte{255, 255, 255, 255, 255, 255}, host(9), u16(0x0806), []byte{0, 1, 8, 0, 6, 4, 0, op},
		make([]byte, 38))
}

// snap is an 802.3 frame of a Cisco protocol.
func snap(last byte, protocol uint16) []byte {
	return eth([]byte{1, 0, 0xc, 0xcc, 0xcc, last}, host(9), u16(46), []byte{0xaa, 0xaa, 3, 0, 0, 0xc}, u16(protocol),
		make([]byte, 38))
}

// l4 is an IP packet to the router at port 0, or to a group, with a payload.
func l4(src, dst netip.Addr, ttl, proto byte, payload []byte) []byte {
	mac := rifMAC(0)
	dmac := mac[:]
	if dst.IsMulticast() || dst == netip.MustParseAddr("255.255.255.255") {
		dmac = []byte{255, 255, 255, 255, 255, 255}
	}
	if dst.Is4() {
		p := ip4(0, 0, proto, 0, payload)
		copy(p[14:], src.AsSlice())
		copy(p[18:], dst.AsSlice())
		p[10] = ttl
		return sum(eth(dmac, host(9), p))
	}
	p := ip6(0, 0, proto, payload)
	copy(p[10:], src.AsSlice())
	copy(p[26:], dst.AsSlice())
	p[9] = ttl
	return eth(dmac, host(9), p)
}

// Every trap type takes its frames, and says so.
func TestTrapTypes(t *testing.T) {
	own4, own6, from4, from6 := at4(0, 1), at6(0, 1), at4(0, 9), at6(0, 9)
	all4, all6 := netip.MustParseAddr("224.0.0.5"), netip.MustParseAddr("ff02::5")
	everybody := netip.MustParseAddr("255.255.255.255")
	icmp6 := func(kind byte) []byte { return append([]byte{kind, 0, 0, 0}, make([]byte, 28)...) }
	link := func(low byte) []byte {
		return eth([]byte{1, 0x80, 0xc2, 0, 0, low}, host(9), u16(0x88cc), make([]byte, 46))
	}
	for _, tt := range []struct {
		kind  sai.Enum
		name  string
		frame []byte
		other []byte // a frame that the trap leaves alone
	}{
		{sai.HostifTrapTypeStp, "stp", link(0), arp(1)},
		{sai.HostifTrapTypeLacp, "lacp", link(2), link(3)},
		{sai.HostifTrapTypeEapol, "eapol", link(3), link(2)},
		{sai.HostifTrapTypeLldp, "lldp", link(14), link(15)},
		{sai.HostifTrapTypePvrst, "pvrst", snap(0xcd, 0x010b), snap(0xcc, 0x010b)},
		{sai.HostifTrapTypeUdld, "udld", snap(0xcc, 0x0111), snap(0xcc, 0x2000)},
		{sai.HostifTrapTypeCdp, "cdp", snap(0xcc, 0x2000), snap(0xcd, 0x2000)},
		{sai.HostifTrapTypeArpRequest, "arp_req", arp(1), arp(2)},
		{sai.HostifTrapTypeArpResponse, "arp_resp", arp(2), arp(1)},
		{sai.HostifTrapTypeDhcp, "dhcp", l4(from4, everybody, 64, 17, udp(68, 67, 10)),
			l4(from4, everybody, 64, 17, udp(69, 66, 10))},
		{sai.HostifTrapTypeDhcp, "dhcp", l4(from4, own4, 64, 17, udp(67, 67, 10)),
			l4(from4, at4(0, 99), 64, 17, udp(67, 67, 10))},
		{sai.HostifTrapTypeDhcpv6, "dhcpv6", l4(from6, all6, 64, 17, udp(546, 547, 10)),
			l4(from6, all6, 64, 17, udp(545, 548, 10))},
		{sai.HostifTrapTypeDhcpv6, "dhcpv6", l4(from6, own6, 64, 17, udp(546, 547, 10)),
			l4(from6, at6(0, 99), 64, 17, udp(546, 547, 10))},
		{sai.HostifTrapTypeIPv6NeighborDiscovery, "neigh_discovery", l4(from6, all6, 255, 58, icmp6(135)),
			l4(from6, all6, 254, 58, icmp6(135))},
		{sai.HostifTrapTypeIPv6NeighborSolicitation, "neigh_solicitation", l4(from6, all6, 255, 58, icmp6(135)),
			l4(from6, all6, 255, 58, icmp6(136))},
		{sai.HostifTrapTypeIPv6NeighborAdvertisement, "neigh_advertisement", l4(from6, all6, 255, 58, icmp6(136)),
			l4(from6, all6, 255, 58, icmp6(134))},
		{sai.HostifTrapTypeOspf, "ospf", l4(from4, all4, 1, 89, make([]byte, 30)), l4(from4, all4, 1, 88, make([]byte, 30))},
		{sai.HostifTrapTypeOspf, "ospf", l4(from4, own4, 1, 89, make([]byte, 30)), l4(from4, own4, 1, 88, make([]byte, 30))},
		{sai.HostifTrapTypeOspfv6, "ospfv6", l4(from6, all6, 1, 89, make([]byte, 30)),
			l4(from4, all4, 1, 89, make([]byte, 30))},
		{sai.HostifTrapTypePim, "pim", l4(from4, all4, 1, 103, make([]byte, 30)), l4(from6, all6, 1, 103, make([]byte, 30))},
		{sai.HostifTrapTypeVrrp, "vrrp", l4(from4, all4, 255, 112, make([]byte, 30)),
			l4(from6, all6, 255, 112, make([]byte, 30))},
		{sai.HostifTrapTypeVrrpv6, "vrrpv6", l4(from6, all6, 255, 112, make([]byte, 30)),
			l4(from4, all4, 255, 112, make([]byte, 30))},
		{sai.HostifTrapTypeIp2me, "ip2me", l4(from4, own4, 64, 1, make([]byte, 30)),
			l4(from4, at4(0, 99), 64, 1, make([]byte, 30))},
		{sai.HostifTrapTypeSsh, "ssh", l4(from4, own4, 64, 6, tcp(9, 22, 2, 9)), l4(from4, own4, 64, 6, tcp(22, 9, 2, 9))},
		{sai.HostifTrapTypeSnmp, "snmp", l4(from6, own6, 64, 17, udp(9, 161, 9)), l4(from6, own6, 64, 17, udp(161, 9, 9))},
		{sai.HostifTrapTypeBgp, "bgp", l4(from4, own4, 1, 6, tcp(179, 9, 2, 9)), l4(from6, own6, 64, 6, tcp(179, 9, 2, 9))},
		{sai.HostifTrapTypeBgpv6, "bgpv6", l4(from6, own6, 64, 6, tcp(9, 179, 2, 9)),
			l4(from4, own4, 64, 6, tcp(9, 179, 2, 9))},
		{sai.HostifTrapTypeBfd, "bfd", l4(from4, own4, 255, 17, udp(9, 3784, 9)), l4(from4, own4, 255, 17, udp(9, 3785, 9))},
		{sai.HostifTrapTypeBfdv6, "bfdv6", l4(from6, own6, 255, 17, udp(9, 4784, 9)),
			l4(from4, own4, 255, 17, udp(9, 4784, 9))},
		{sai.HostifTrapTypeGnmi, "gnmi", l4(from4, own4, 64, 6, tcp(9, 9339, 2, 9)),
			l4(from4, own4, 64, 6, tcp(9, 9340, 2, 9))},
		{sai.HostifTrapTypeP4rt, "p4rt", l4(from4, own4, 64, 6, tcp(9, 9559, 2, 9)),
			l4(from4, own4, 64, 17, udp(9, 9559, 9))},
		{sai.HostifTrapTypeNtpclient, "ntpclient", l4(from4, own4, 64, 17, udp(123, 9, 9)),
			l4(from4, own4, 64, 17, udp(9, 123, 9))},
		{sai.HostifTrapTypeNtpserver, "ntpserver", l4(from4, own4, 64, 17, udp(9, 123, 9)),
			l4(from4, own4, 64, 17, udp(123, 9, 9))},
		{sai.HostifTrapTypeNeighborMiss, "neighbor_miss", l4(from4, at4(1, 99), 64, 17, udp(9, 9, 9)),
			l4(from4, own4, 64, 17, udp(9, 9, 9))},
		{sai.HostifTrapTypeTTLError, "ttl_error", l4(from4, at4(1, 99), 1, 17, udp(9, 9, 9)),
			l4(from4, at4(1, 99), 2, 17, udp(9, 9, 9))},
		{sai.HostifTrapTypeL3MTUError, "l3_mtu_error", l4(from4, at4(1, 20), 9, 17, udp(9, 9, 1473)),
			l4(from4, at4(1, 20), 9, 17, udp(9, 9, 1472))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRouter(t)
			r.neighbor(1, at4(1, 20), 20)
			trap := r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, tt.kind, sai.HostifTrapAttrPacketAction,
				sai.PacketActionTrap,
				sai.HostifTrapAttrTrapPriority, sai.Uint(4))
			var got []config.Trap
			r.SetOutput(func(o *saisim.Out) {
				if o.Port == saisim.CPUPort {
					got = append(got, o.Trap)
				}
			})
			r.send(0, tt.frame)
			if len(got) != 1 || got[0].String() != tt.name {
				t.Errorf("trapped as %v; drops %s", got, r.dropped(0))
			}
			got = nil
			r.send(0, tt.other)
			for _, trap := range got {
				if trap.String() == tt.name {
					t.Errorf("%x is trapped too", tt.other)
				}
			}
			got = nil
			r.set(sai.ObjectTypeHostifTrap, trap, sai.HostifTrapAttrPacketAction, sai.PacketActionDrop)
			if r.send(0, tt.frame); len(got) != 0 {
				t.Errorf("still trapped as %v where the action is to drop", got)
			}
		})
	}
}

// Of two traps for one packet to the switch the higher priority counts.
func TestTrapPriority(t *testing.T) {
	r := newRouter(t)
	trap := func(kind, act sai.Enum, priority int) sai.OID {
		return r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, kind, sai.HostifTrapAttrPacketAction, act,
			sai.HostifTrapAttrTrapPriority, sai.Uint(priority))
	}
	bgp := l4(at4(0, 9), at4(0, 1), 1, 6, tcp(9, 179, 2, 9))
	trap(sai.HostifTrapTypeIp2me, sai.PacketActionTrap, 1)
	high := trap(sai.HostifTrapTypeBgp, sai.PacketActionDrop, 4)
	if outs := r.send(0, bgp); len(outs) != 0 || r.dropped(0) != "trap=1 " {
		t.Errorf("BGP, to be dropped: %v, drops %s", outs, r.dropped(0))
	}
	r.set(sai.ObjectTypeHostifTrap, high, sai.HostifTrapAttrTrapPriority, sai.Uint(0))
	if outs := r.send(0, bgp); len(outs) != 1 || outs[0].port != saisim.CPUPort {
		t.Errorf("BGP of a lower priority: %v", outs)
	}
}

// The traps of a group that is down are as if they were not there.
func TestTrapGroup(t *testing.T) {
	r := newRouter(t)
	group := r.create(sai.ObjectTypeHostifTrapGroup, sai.HostifTrapGroupAttrQueue, sai.Uint(4))
	r.create(sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType, sai.HostifTrapTypeArpRequest,
		sai.HostifTrapAttrPacketAction, sai.PacketActionTrap, sai.HostifTrapAttrTrapGroup, group)
	for _, up := range []bool{true, false, true} {
		r.set(sai.ObjectTypeHostifTrapGroup, group, sai.HostifTrapGroupAttrAdminState, sai.Bool(up))
		if outs := r.send(6, arp(1)); len(outs) != 1 || (outs[0].port == saisim.CPUPort) != up {
			t.Errorf("with the group up %v: %v", up, outs)
		}
		if n := len(r.Tables().Traps); (n == 1) != up {
			t.Errorf("with the group up %v Tables has %d traps", up, n)
		}
	}
	r.refused(sai.StatusInvalidParameter, sai.ObjectTypeHostifTrap, sai.HostifTrapAttrTrapType,
		sai.HostifTrapTypeArpRequest,
		sai.HostifTrapAttrPacketAction, sai.PacketActionDrop)
}

// The page on forwarding names every drop reason and every trap.
func TestForwardingPage(t *testing.T) {
	page, err := os.ReadFile("../docs/forwarding.md")
	if err != nil {
		t.Fatal(err)
	}
	for why := range drop.NumReasons {
		if !strings.Contains(string(page), "`"+why.String()+"`") {
			t.Errorf("no drop reason %s", why)
		}
	}
	for trap := config.TrapSTP; trap <= config.TrapTTL; trap++ {
		if name := trap.String(); name == "" || !strings.Contains(string(page), name) {
			t.Errorf("no trap %d, %q", trap, name)
		}
	}
}
