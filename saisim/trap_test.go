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

// snap returns an 802.3 frame of a Cisco protocol.
func snap(last byte, protocol uint16) []byte {
	return eth([]byte{1, 0, 0xc, 0xcc, 0xcc, last}, host(9), u16(46), []byte{0xaa, 0xaa, 3, 0, 0, 0xc}, u16(protocol),
		make([]byte, 38))
}

// l4 returns an IP packet to the router at port 0, or to a group, with a payload.
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

// If two traps apply to one packet to the switch, the higher priority counts.
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

// The traps of a group that is down have no effect.
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
