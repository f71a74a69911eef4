package host

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

const own = "02:00:00:00:00:aa"

// New IPv4 addresses are announced twice, two seconds apart (RFC 5227). New IPv6 addresses are first checked for
// duplicates (RFC 4862), then announced.
func TestAddressesAreAnnounced(t *testing.T) {
	r := &rig{t, New(DefaultConfig()), noon}
	r.Configure(noon, interfaces()[:1])
	first := r.sent()
	for _, want := range []string{
		"Vlan10 to ff:ff:ff:ff:ff:ff: ARP 1 10.0.0.1 is at " + own + ", 10.0.0.1 at 00:00:00:00:00:00",
		"Vlan10 to 33:33:ff:00:00:01: :: > ff02::1:ff00:1 ttl 255 ND 135 flags 00 2001:db8::1",
		"Vlan10 to 33:33:ff:00:00:aa: :: > ff02::1:ff00:aa ttl 255 ND 135 flags 00 fe80::ff:fe00:aa",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("sent %q, want %q in it", first, want)
		}
	}
	r.pass(time.Second)
	if got := r.sent(); !strings.Contains(got, "2001:db8::1 > ff02::1 ttl 255 ND 136 flags a0 2001:db8::1 at "+own) {
		t.Errorf("after a second %q, want the advertisement", got)
	}
	r.pass(time.Second)
	r.want(r.sent(), "Vlan10 to ff:ff:ff:ff:ff:ff: ARP 1 10.0.0.1 is at "+own+", 10.0.0.1 at 00:00:00:00:00:00")
	r.pass(time.Hour)
	r.want(r.sent(), "")
	// Existing addresses are not announced again; new ones are.
	again := interfaces()[:1]
	again[0].Addrs = append(again[0].Addrs, netip.MustParsePrefix("10.0.2.1/24"))
	r.Configure(r.at, again)
	r.want(r.sent(), "Vlan10 to ff:ff:ff:ff:ff:ff: ARP 1 10.0.2.1 is at "+own+", 10.0.2.1 at 00:00:00:00:00:00")
}

func TestARP(t *testing.T) {
	answer := "Vlan10 to 02:00:00:00:00:05: ARP 2 10.0.0.1 is at " + own + ", 10.0.0.5 at 02:00:00:00:00:05"
	for _, tt := range []struct {
		name  string
		frame []byte
		want  string // sent
		state string // state of neighbour 10.0.0.5
	}{
		{"a question for us, which tells of the asker", arp(arpRequest, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.1"),
			answer, "STALE 02:00:00:00:00:05"},
		{"a question by unicast", arp(arpRequest, ownMAC, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.1"), answer,
			"STALE 02:00:00:00:00:05"},
		{"a probe (RFC 5227) is answered, and tells nothing", arp(arpRequest, broadcast, hostMAC(5), "0.0.0.0", MAC{},
			"10.0.0.1"),
			"Vlan10 to 02:00:00:00:00:05: ARP 2 10.0.0.1 is at " + own + ", 0.0.0.0 at 02:00:00:00:00:05", "unknown"},
		{"a question for another", arp(arpRequest, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.6"), "", "unknown"},
		{"a question for an address of another interface", arp(arpRequest, broadcast, hostMAC(5), "10.0.0.5", MAC{},
			"10.0.1.1"), "", "unknown"},
		{"an asker of another subnet is answered, and not learned", arp(arpRequest, broadcast, hostMAC(5), "10.0.7.5", MAC{},
			"10.0.0.1"),
			"Vlan10 to 02:00:00:00:00:05: ARP 2 10.0.0.1 is at " + own + ", 10.0.7.5 at 02:00:00:00:00:05", "unknown"},
		{"a gratuitous question of somebody unknown", arp(arpRequest, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.5"),
			"", "unknown"},
		{"an answer that nobody asked for", arp(arpReply, ownMAC, hostMAC(5), "10.0.0.5", ownMAC, "10.0.0.1"), "", "unknown"},
		{"a group address as the sender's", arp(arpRequest, broadcast, MAC{3, 0, 0, 0, 0, 5}, "10.0.0.5", MAC{}, "10.0.0.1"),
			"", "unknown"},
		{"reverse ARP", arp(3, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.1"), "", "unknown"},
		{"cut", arp(arpRequest, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.1")[:41], "", "unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.want(r.got(tt.frame), tt.want)
			if got := r.state("Vlan10", "10.0.0.5"); got != tt.state {
				t.Errorf("the neighbour is %s, want %s", got, tt.state)
			}
		})
	}
}

// A neighbour is solicited three times in three seconds, confirmed, becomes stale, is probed by unicast, and removed.
func TestNeighborStates(t *testing.T) {
	for _, tt := range []struct{ addr, ask, probe string }{
		{"10.0.0.5", "Vlan10 to ff:ff:ff:ff:ff:ff: ARP 1 10.0.0.1 is at " + own + ", 10.0.0.5 at 00:00:00:00:00:00",
			"Vlan10 to 02:00:00:00:00:05: ARP 1 10.0.0.1 is at " + own + ", 10.0.0.5 at 00:00:00:00:00:00"},
		{"2001:db8::5", "Vlan10 to 33:33:ff:00:00:05: 2001:db8::1 > ff02::1:ff00:5 ttl 255 ND 135 flags 00 2001:db8::5 at " +
			own,
			"Vlan10 to 02:00:00:00:00:05: 2001:db8::1 > 2001:db8::5 ttl 255 ND 135 flags 00 2001:db8::5 at " + own},
	} {
		t.Run(tt.addr, func(t *testing.T) {
			r := newRig(t)
			answer := arp(arpReply, ownMAC, hostMAC(5), "10.0.0.5", ownMAC, "10.0.0.1")
			if strings.Contains(tt.addr, ":") {
				answer = to(5, v6("2001:db8::5", "2001:db8::1", 255, protoICMPv6,
					nd(typeAdvertisement, flagSolicited|flagOverride, "2001:db8::5", optionTarget, hostMAC(5))))
			}
			state := func(want string) {
				t.Helper()
				if got := r.state("Vlan10", tt.addr); got != want {
					t.Errorf("after %v the neighbour is %q, want %q", r.at.Sub(noon), got, want)
				}
			}
			r.Want(r.at, "Vlan10", ip(tt.addr), true)
			for range 3 {
				r.want(r.sent(), tt.ask)
				state("INCOMPLETE")
				r.pass(time.Second)
			}
			r.want(r.sent(), "")
			state("FAILED")
			r.pass(5 * time.Second) // a route still leads there
			r.want(r.sent(), tt.ask)
			r.want(r.got(answer), "")
			r.reported("resolved Vlan10 " + tt.addr + " 02:00:00:00:00:05")
			state("REACHABLE 02:00:00:00:00:05")
			r.pass(30 * time.Second)
			state("STALE 02:00:00:00:00:05")
			r.pass(270*time.Second - 1)
			r.want(r.sent(), "")
			r.pass(1)
			r.want(r.sent(), tt.probe)
			state("PROBE 02:00:00:00:00:05")
			r.got(answer)
			state("REACHABLE 02:00:00:00:00:05")
			r.reported("")
			r.Want(r.at, "Vlan10", ip(tt.addr), false)
			r.pass(5 * time.Minute)
			for range 3 {
				r.want(r.sent(), tt.probe)
				r.reported("")
				r.pass(time.Second)
			}
			r.reported("forgotten Vlan10 " + tt.addr + " 02:00:00:00:00:05")
			state("FAILED")
			r.pass(time.Hour)
			state("unknown")
			r.want(r.sent(), "")
		})
	}
}

// Another MAC address of a known neighbour is accepted, but not within a second of the last one.
func TestNeighborMoves(t *testing.T) {
	r := newRig(t)
	move := func(n byte) {
		r.got(arp(arpRequest, broadcast, hostMAC(n), "10.0.0.5", MAC{}, "10.0.0.1"))
	}
	move(5)
	r.reported("resolved Vlan10 10.0.0.5 02:00:00:00:00:05")
	move(6)
	r.reported("")
	r.counted(DropConfirmSoon, 1)
	r.pass(time.Second)
	move(6)
	r.reported("resolved Vlan10 10.0.0.5 02:00:00:00:00:06")
}

func TestStaticNeighborsAreNotAskedFor(t *testing.T) {
	r := newRig(t)
	r.meet(5)
	r.SetStatic(r.at, "Vlan10", ip("10.0.0.5"), hostMAC(9))
	r.reported("")
	r.want(r.got(to(5, v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(8, 0, 10)))),
		"Vlan10 to 02:00:00:00:00:09: 10.0.0.1 > 10.0.0.5 ttl 64 ICMP 0/0 458753, 38 bytes")
	r.got(arp(arpRequest, broadcast, hostMAC(7), "10.0.0.5", MAC{}, "10.0.0.1"))
	r.pass(time.Hour)
	if got := r.state("Vlan10", "10.0.0.5"); got != "unknown" {
		t.Errorf("the stack has a neighbour of its own there: %s", got)
	}
	r.reported("forgotten Vlan10 2001:db8::5 02:00:00:00:00:05") // this neighbour is not static
	r.Frames()
	r.SetStatic(r.at, "Vlan10", ip("10.0.0.5"), MAC{})
	r.Want(r.at, "Vlan10", ip("10.0.0.5"), true)
	if r.sent() == "" {
		t.Error("nobody's word any more, and not asked for")
	}
}

// A neighbour from an earlier run stays known while it is probed.
func TestRestore(t *testing.T) {
	r := newRig(t)
	for _, n := range []byte{5, 6} {
		r.Restore(r.at, "Vlan10", ip(fmt.Sprintf("10.0.0.%d", n)), hostMAC(n))
	}
	r.Restore(r.at, "Vlan10", ip("10.7.0.1"), hostMAC(1)) // the address is in no subnet any more
	r.want(r.sent(), "Vlan10 to 02:00:00:00:00:05: ARP 1 10.0.0.1 is at "+own+", 10.0.0.5 at 00:00:00:00:00:00; "+
		"Vlan10 to 02:00:00:00:00:06: ARP 1 10.0.0.1 is at "+own+", 10.0.0.6 at 00:00:00:00:00:00")
	r.got(arp(arpReply, ownMAC, hostMAC(5), "10.0.0.5", ownMAC, "10.0.0.1"))
	r.pass(3 * time.Second)
	r.reported("forgotten Vlan10 10.0.0.6 02:00:00:00:00:06")
	if got := r.state("Vlan10", "10.0.0.5"); got != "REACHABLE 02:00:00:00:00:05" {
		t.Errorf("the one that has answered is %s", got)
	}
	if got := r.state("Vlan10", "10.7.0.1"); got != "unknown" {
		t.Errorf("the one of no subnet is %s", got)
	}
}

// While the stack can neither send nor receive, no timer runs.
func TestResume(t *testing.T) {
	r := newRig(t)
	r.Restore(r.at, "Vlan10", ip("10.0.0.5"), hostMAC(5))
	r.pass(1500 * time.Millisecond)
	r.Frames()
	r.at = r.at.Add(time.Hour)
	r.Resume(r.at)
	r.pass(500*time.Millisecond - 1)
	r.want(r.sent(), "")
	r.pass(1)
	r.want(r.sent(), "Vlan10 to 02:00:00:00:00:05: ARP 1 10.0.0.1 is at "+own+", 10.0.0.5 at 00:00:00:00:00:00")
	r.reported("")
}

func TestNeighborsOfInterfaceThatGoesDown(t *testing.T) {
	r := newRig(t)
	r.meet(5)
	down := interfaces()
	down[0].Up = false
	r.Configure(r.at, down)
	r.reported("forgotten Vlan10 10.0.0.5 02:00:00:00:00:05; forgotten Vlan10 2001:db8::5 02:00:00:00:00:05")
	r.want(r.got(arp(arpRequest, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.1")), "")
	r.counted(DropInterface, 1)
}

// If another host has one of the stack's addresses, that is reported, and the address is defended once in ten seconds.
func TestConflict(t *testing.T) {
	r := newRig(t)
	rival := arp(arpRequest, broadcast, hostMAC(9), "10.0.0.1", MAC{}, "10.0.0.7")
	defence := "Vlan10 to ff:ff:ff:ff:ff:ff: ARP 1 10.0.0.1 is at " + own + ", 10.0.0.1 at 00:00:00:00:00:00"
	r.want(r.got(rival), defence)
	r.reported("duplicate Vlan10 10.0.0.1 02:00:00:00:00:09")
	r.pass(9 * time.Second)
	r.want(r.got(rival), "")
	r.pass(time.Second)
	r.want(r.got(rival), defence)
	r.counted(Conflicts, 3)
}

// The stack does not use an IPv6 address that another host has.
func TestDuplicateAddressDetection(t *testing.T) {
	for name, rival := range map[string][]byte{
		"an advertisement": frame(allNodesMAC, hostMAC(9), etherIPv6, v6("2001:db8::1", "ff02::1", 255, protoICMPv6,
			nd(typeAdvertisement, flagOverride, "2001:db8::1", optionTarget, hostMAC(9)))),
		"a solicitation of one that wants it too": frame(solicitedNodeMAC(ip("2001:db8::1")), hostMAC(9), etherIPv6,
			v6("::", "ff02::1:ff00:1", 255, protoICMPv6, nd(typeSolicitation, 0, "2001:db8::1", 0, MAC{}))),
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{t, New(DefaultConfig()), noon}
			r.Configure(noon, interfaces())
			r.Frames()
			r.want(r.got(rival), "")
			r.reported("duplicate Vlan10 2001:db8::1 02:00:00:00:00:09")
			r.pass(5 * time.Second)
			r.Frames()
			r.want(r.got(to(5, v6("2001:db8::5", "2001:db8::1", 64, protoICMPv6, icmp(128, 0, 8)))), "")
			for _, a := range r.Addresses() {
				if a.Duplicate != (a.Prefix.Addr() == ip("2001:db8::1")) || a.Tentative {
					t.Errorf("address %+v", a)
				}
			}
			r.want(r.got(rival), "") // the stack does not defend a duplicate
			Retry(r.Stack, noon.Add(5*time.Second), "Vlan10", ip("2001:db8::1"))
			r.pass(5 * time.Second)
			for _, a := range r.Addresses() {
				if a.Duplicate || a.Tentative {
					t.Errorf("asked again, and nobody had it: address %+v", a)
				}
			}
		})
	}
}

func TestNeighborDiscovery(t *testing.T) {
	ask := func(src, dst string, hops byte, message []byte) []byte {
		return frame(solicitedNodeMAC(ip("2001:db8::1")), hostMAC(5), etherIPv6, v6(src, dst, hops, protoICMPv6, message))
	}
	const group = "ff02::1:ff00:1"
	question := nd(typeSolicitation, 0, "2001:db8::1", optionSource, hostMAC(5))
	broken := append(nd(typeSolicitation, 0, "2001:db8::1", 0, MAC{}), optionSource, 0, 0, 0, 0, 0, 0, 0)
	for _, tt := range []struct {
		name, want, state string // state is that of neighbour 2001:db8::5
		frame             []byte
	}{
		{"asked by one that says who it is",
			"Vlan10 to 02:00:00:00:00:05: 2001:db8::1 > 2001:db8::5 ttl 255 ND 136 flags e0 2001:db8::1 at " + own,
			"STALE 02:00:00:00:00:05", ask("2001:db8::5", group, 255, question)},
		{"asked by one that looks for an address",
			"Vlan10 to 33:33:00:00:00:01: 2001:db8::1 > ff02::1 ttl 255 ND 136 flags a0 2001:db8::1 at " + own,
			"unknown", ask("::", group, 255, nd(typeSolicitation, 0, "2001:db8::1", 0, MAC{}))},
		{"a hop away (7.1.1)", "", "unknown", ask("2001:db8::5", group, 254, question)},
		{"no source, but an option of it (7.1.1)", "", "unknown", ask("::", group, 255, question)},
		{"an option of length 0 (7.1.1)", "", "unknown", ask("2001:db8::5", group, 255, broken)},
		{"a group as the target (7.1.1)", "", "unknown", ask("2001:db8::5", group, 255,
			nd(typeSolicitation, 0, "ff02::1", optionSource, hostMAC(5)))},
		{"short (7.1.1)", "", "unknown", ask("2001:db8::5", group, 255, question[:23])},
		{"for another", "", "unknown", ask("2001:db8::5", group, 255,
			nd(typeSolicitation, 0, "2001:db8::7", optionSource, hostMAC(5)))},
		{"an advertisement that nobody asked for (7.2.5)", "", "unknown",
			to(5, v6("2001:db8::5", "2001:db8::1", 255, protoICMPv6,
				nd(typeAdvertisement, flagSolicited|flagOverride, "2001:db8::5", optionTarget, hostMAC(5))))},
		{"a router's solicitation", "", "unknown", ask("2001:db8::5", "ff02::2", 255,
			append([]byte{133, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 8)...))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.want(r.got(tt.frame), tt.want)
			if got := r.state("Vlan10", "2001:db8::5"); got != tt.state {
				t.Errorf("the neighbour is %s, want %s", got, tt.state)
			}
		})
	}
}

// RFC 4861, 7.2.5: the effect of an advertisement on a neighbour that is REACHABLE with the MAC address 05.
func TestAdvertisements(t *testing.T) {
	for _, tt := range []struct {
		name   string
		flags  byte
		option byte
		mac    byte
		want   string
	}{
		{"another address without override makes it stale", flagSolicited, optionTarget, 6, "STALE 02:00:00:00:00:05"},
		{"another address with override, solicited", flagSolicited | flagOverride, optionTarget, 6,
			"REACHABLE 02:00:00:00:00:06"},
		{"another address with override, of its own accord", flagOverride, optionTarget, 6, "STALE 02:00:00:00:00:06"},
		{"the same address, of its own accord", 0, optionTarget, 5, "REACHABLE 02:00:00:00:00:05"},
		{"no address", flagSolicited, 0, 5, "REACHABLE 02:00:00:00:00:05"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			says := func(flags, option, mac byte) {
				r.got(to(mac, v6("2001:db8::5", "2001:db8::1", 255, protoICMPv6,
					nd(typeAdvertisement, flags, "2001:db8::5", option, hostMAC(mac)))))
			}
			r.Want(r.at, "Vlan10", ip("2001:db8::5"), true)
			says(flagSolicited|flagOverride, optionTarget, 5)
			r.pass(2 * time.Second)
			says(tt.flags, tt.option, tt.mac)
			if got := r.state("Vlan10", "2001:db8::5"); got != tt.want {
				t.Errorf("it is %s, want %s", got, tt.want)
			}
		})
	}
}

// The stack answers pings to its own addresses, and sends errors about packets where that is allowed.
func TestICMP(t *testing.T) {
	badSum := v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(8, 0, 10))
	badSum[22] ^= 1
	badHeader := v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(8, 0, 10))
	badHeader[10] ^= 1
	long := make([]byte, 1300)
	const to5, to5v6 = "Vlan10 to 02:00:00:00:00:05: 10.0.0.1 > 10.0.0.5 ttl 64 ",
		"Vlan10 to 02:00:00:00:00:05: 2001:db8::1 > 2001:db8::5 ttl 64 "
	for _, tt := range []struct {
		name   string
		packet []byte
		want   string
	}{
		{"ping", v4("10.0.0.5", "10.0.0.1", 1, protoICMP, 0, icmp(8, 0, 56)), to5 + "ICMP 0/0 458753, 84 bytes"},
		{"ping to another interface's address", v4("10.0.0.5", "10.0.1.1", 64, protoICMP, 0, icmp(8, 0, 56)),
			"Vlan10 to 02:00:00:00:00:05: 10.0.1.1 > 10.0.0.5 ttl 64 ICMP 0/0 458753, 84 bytes"},
		{"ping to a loopback", v4("10.0.0.5", "10.9.9.9", 64, protoICMP, 0, icmp(8, 0, 56)),
			"Vlan10 to 02:00:00:00:00:05: 10.9.9.9 > 10.0.0.5 ttl 64 ICMP 0/0 458753, 84 bytes"},
		{"ping of IPv6", v6("2001:db8::5", "2001:db8::1", 64, protoICMPv6, icmp(128, 0, 56)),
			to5v6 + "ICMPv6 129/0 458753, 104 bytes"},
		{"a bad checksum", badSum, ""},
		{"a bad header checksum", badHeader, ""},
		{"an answer", v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(0, 0, 56)), ""},
		{"ping from a group", v4("224.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(8, 0, 56)), ""},
		{"UDP: port unreachable, all of it quoted", v4("10.0.0.5", "10.0.0.1", 64, protoUDP, 0, udp(20)),
			to5 + "ICMP 3/3 0, 76 bytes"},
		{"UDP of IPv6", v6("2001:db8::5", "2001:db8::1", 64, protoUDP, udp(20)), to5v6 + "ICMPv6 1/4 0, 116 bytes"},
		{"another protocol", v4("10.0.0.5", "10.0.0.1", 64, 253, 0, udp(20)), to5 + "ICMP 3/2 0, 76 bytes"},
		{"another next header, told where it stands", v6("2001:db8::5", "2001:db8::1", 64, 253, udp(20)),
			to5v6 + "ICMPv6 4/1 6, 116 bytes"},
		{"no next header", v6("2001:db8::5", "2001:db8::1", 64, 59, nil), ""},
		{"TCP", v4("10.0.0.5", "10.0.0.1", 64, protoTCP, 0, make([]byte, 20)), ""},
		{"TTL 1: time exceeded, 576 bytes at most", v4("10.0.0.5", "10.7.0.1", 1, protoUDP, 0, long),
			to5 + "ICMP 11/0 0, 576 bytes"},
		{"TTL 1 of IPv6: 1280 bytes at most", v6("2001:db8::5", "2001:db8:7::1", 1, protoUDP, long),
			to5v6 + "ICMPv6 3/0 0, 1280 bytes"},
		{"a first fragment", v4("10.0.0.5", "10.7.0.1", 1, protoUDP, 0x2000, udp(20)), to5 + "ICMP 11/0 0, 76 bytes"},
		{"another fragment", v4("10.0.0.5", "10.7.0.1", 1, protoUDP, 0x2001, udp(20)), ""},
		{"an error", v4("10.0.0.5", "10.7.0.1", 1, protoICMP, 0, icmp(3, 1, 20)), ""},
		{"a redirect", v4("10.0.0.5", "10.7.0.1", 1, protoICMP, 0, icmp(5, 1, 20)), ""},
		{"a ping whose TTL ends", v4("10.0.0.5", "10.7.0.1", 1, protoICMP, 0, icmp(8, 0, 20)), to5 + "ICMP 11/0 0, 76 bytes"},
		{"an error of IPv6", v6("2001:db8::5", "2001:db8:7::1", 1, protoICMPv6, icmp(1, 1, 20)), ""},
		{"from nobody", v4("0.0.0.0", "10.7.0.1", 1, protoUDP, 0, udp(20)), ""},
		{"from a loopback address", v4("127.0.0.1", "10.7.0.1", 1, protoUDP, 0, udp(20)), ""},
		{"to a group", v4("10.0.0.5", "224.0.0.9", 1, protoUDP, 0, udp(20)), ""},
		{"to a subnet's broadcast address", v4("10.0.0.5", "10.0.0.255", 1, protoUDP, 0, udp(20)), ""},
		{"no route: network unreachable", v4("10.0.0.5", "10.7.0.1", 9, protoUDP, 0, udp(20)), to5 + "ICMP 3/0 0, 76 bytes"},
		{"no route of IPv6", v6("2001:db8::5", "2001:db8:7::1", 9, protoUDP, udp(20)), to5v6 + "ICMPv6 1/0 0, 116 bytes"},
		{"too long, and not to be cut: told the MTU", v4("10.0.0.5", "10.0.1.5", 9, protoUDP, 0x4000, long),
			to5 + "ICMP 3/4 1000, 576 bytes"},
		{"too long for IPv6", v6("2001:db8::5", "2001:db8:1::5", 9, protoUDP, long), to5v6 + "ICMPv6 2/0 1000, 1280 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.meet(5)
			r.want(r.got(to(5, tt.packet)), tt.want)
		})
	}
}

// An interface with its own MAC address also accepts frames to the router's, as the chip does.
func TestFramesToTheRouter(t *testing.T) {
	for name, tt := range map[string]struct {
		dst  MAC
		want string
	}{
		"its own": {MAC{2, 0, 0, 0, 1, 1},
			"Vlan10 to 02:00:00:00:00:05: 10.0.0.1 > 10.0.0.5 ttl 64 ICMP 0/0 458753, 38 bytes"},
		"the router's":  {ownMAC, "Vlan10 to 02:00:00:00:00:05: 10.0.0.1 > 10.0.0.5 ttl 64 ICMP 0/0 458753, 38 bytes"},
		"somebody else": {hostMAC(9), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			all := interfaces()
			all[0].MAC, all[0].Also = MAC{2, 0, 0, 0, 1, 1}, ownMAC
			r.Configure(r.at, all)
			r.pass(10 * time.Second)
			r.Frames()
			r.SetStatic(r.at, "Vlan10", ip("10.0.0.5"), hostMAC(5))
			r.want(r.got(frame(tt.dst, hostMAC(5), etherIPv4, v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(8, 0, 10)))),
				tt.want)
		})
	}
}

// If a trap only copies packets, the chip forwards them itself. The stack does not forward them again.
func TestCopiesAreNotForwarded(t *testing.T) {
	r := newRig(t)
	r.meet(5)
	r.Receive(r.at, "Vlan10", false, to(5, v4("10.0.0.5", "10.0.1.5", 9, protoUDP, 0, udp(20))))
	r.Receive(r.at, "Vlan10", true, frame(hostMAC(7), hostMAC(5), etherIPv4,
		v4("10.0.0.5", "10.0.1.5", 9, protoUDP, 0, udp(20))))
	r.want(r.sent(), "")
	r.counted(DropOtherHost, 2)
}

// Up to three packets wait for an unknown neighbour, and are then forwarded. If it does not answer, the sender receives
// an error.
func TestWaitingForNeighbor(t *testing.T) {
	r := newRig(t)
	r.meet(5)
	ask := "Ethernet4 to ff:ff:ff:ff:ff:ff: ARP 1 10.0.1.1 is at " + own + ", 10.0.1.%d at 00:00:00:00:00:00"
	packet := func(dst string) []byte { return to(5, v4("10.0.0.5", dst, 9, protoUDP, 0, udp(20))) }
	r.want(r.got(packet("10.0.1.8")), fmt.Sprintf(ask, 8))
	for range 3 {
		r.want(r.got(packet("10.0.1.8")), "")
	}
	r.counted(DropQueue, 1)
	r.Receive(r.at, "Ethernet4", false, arp(arpReply, ownMAC, hostMAC(8), "10.0.1.8", ownMAC, "10.0.1.1"))
	one := "Ethernet4 to 02:00:00:00:00:08: 10.0.0.5 > 10.0.1.8 ttl 8 protocol 17, 48 bytes"
	r.want(r.sent(), strings.Join([]string{one, one, one}, "; "))

	r.want(r.got(packet("10.0.1.9")), fmt.Sprintf(ask, 9))
	r.pass(2 * time.Second)
	r.Frames()
	r.pass(time.Second)
	r.want(r.sent(), "Vlan10 to 02:00:00:00:00:05: 10.0.0.1 > 10.0.0.5 ttl 64 ICMP 3/1 0, 76 bytes")
	r.counted(DropUnresolved, 1)
	// A new packet triggers a solicitation at once.
	r.want(r.got(packet("10.0.1.9")), fmt.Sprintf(ask, 9))
}

func TestFragmentation(t *testing.T) {
	r := newRig(t)
	r.meet(5)
	r.SetStatic(r.at, "Ethernet4", ip("10.0.1.8"), hostMAC(8))
	r.want(r.got(to(5, v4("10.0.0.5", "10.0.1.8", 9, protoUDP, 0, make([]byte, 1300)))),
		"Ethernet4 to 02:00:00:00:00:08: 10.0.0.5 > 10.0.1.8 ttl 8 protocol 17, 996 bytes; "+
			"Ethernet4 to 02:00:00:00:00:08: 10.0.0.5 > 10.0.1.8 ttl 8 protocol 17, 344 bytes")
}

// Routes lead over next hops; the longest prefix with a usable interface counts.
func TestRoutes(t *testing.T) {
	r := newRig(t)
	r.meet(5)
	r.SetRoute(r.at, netip.MustParsePrefix("10.7.0.0/16"), []Hop{{"Ethernet9", ip("10.5.0.1")},
		{"Ethernet4", ip("10.0.1.7")}})
	r.SetRoute(r.at, netip.MustParsePrefix("0.0.0.0/0"), []Hop{{"Vlan10", ip("10.0.0.5")}})
	ask := "Ethernet4 to ff:ff:ff:ff:ff:ff: ARP 1 10.0.1.1 is at " + own + ", 10.0.1.7 at 00:00:00:00:00:00"
	r.want(r.got(to(5, v4("10.0.0.5", "10.7.1.1", 9, protoUDP, 0, udp(20)))), ask)
	r.want(r.got(to(5, v4("10.0.0.5", "10.8.1.1", 9, protoUDP, 0, udp(20)))),
		"Vlan10 to 02:00:00:00:00:05: 10.0.0.5 > 10.8.1.1 ttl 8 protocol 17, 48 bytes")
	r.SetRoute(r.at, netip.MustParsePrefix("0.0.0.0/0"), nil)
	r.want(r.got(to(5, v4("10.0.0.5", "10.8.1.1", 9, protoUDP, 0, udp(20)))),
		"Vlan10 to 02:00:00:00:00:05: 10.0.0.1 > 10.0.0.5 ttl 64 ICMP 3/0 0, 76 bytes")
}

// Incomplete packets are dropped after 30 seconds, and there are 16 at most.
func TestPartsAreBounded(t *testing.T) {
	r := newRig(t)
	r.meet(5)
	part := func(id byte, word uint16, from, to2 int) []byte {
		b := v4("10.0.0.5", "10.0.0.1", 64, protoICMP, word, icmp(8, 0, 192)[from:to2])
		b[5] = id
		fixIPv4(b)
		return to(5, b)
	}
	for id := range byte(20) {
		r.want(r.got(part(id, 0x2000, 0, 104)), "")
	}
	r.counted(DropFragment, 4)
	r.want(r.got(part(15, 13, 104, 200)),
		"Vlan10 to 02:00:00:00:00:05: 10.0.0.1 > 10.0.0.5 ttl 64 ICMP 0/0 458753, 220 bytes")
	r.pass(30 * time.Second)
	r.Frames()
	r.want(r.got(part(3, 13, 104, 200)), "")
	r.counted(DropFragment, 19)
}

func TestErrorsAreLimited(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Limits.ErrorRate, cfg.Limits.ErrorBurst = 10, 3
	r := &rig{t, New(cfg), noon}
	r.Configure(noon, interfaces())
	r.pass(10 * time.Second)
	r.meet(5)
	flood := func(n int) (sent int) {
		for range n {
			if r.got(to(5, v4("10.0.0.5", "10.7.0.1", 1, protoUDP, 0, udp(20)))) != "" {
				sent++
			}
		}
		return sent
	}
	if n := flood(10); n != 3 {
		t.Errorf("%d at once, want 3", n)
	}
	r.pass(250 * time.Millisecond)
	if n := flood(10); n != 2 {
		t.Errorf("%d after a quarter of a second, want 2", n)
	}
	r.pass(time.Minute)
	r.meet(5) // host 5 had not answered meanwhile
	if n := flood(10); n != 3 {
		t.Errorf("%d after a minute, want 3", n)
	}
	r.counted(DropLimit, 22)
}

func TestTablesAreBounded(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Limits.Neighbors, cfg.Limits.Asked = 4, 2
	r := &rig{t, New(cfg), noon}
	r.Configure(noon, interfaces())
	r.pass(10 * time.Second)
	for n := range byte(5) {
		r.got(to(5, v4("10.0.0.5", fmt.Sprintf("10.0.1.%d", 10+n), 9, protoUDP, 0, udp(20)))) // a scan of a subnet
	}
	r.counted(DropNeighbors, 3)
	for n := range byte(5) {
		r.meet(20 + n)
	}
	if n := len(r.Neighbors()); n != 4 {
		t.Errorf("%d neighbours, want 4", n)
	}
	k := neighKey{"Vlan10", netip.MustParseAddr("10.0.0.50")}
	if n := testing.AllocsPerRun(10, func() { r.create(k) }); n != 0 {
		t.Errorf("a refused neighbour costs %g allocations, want 0", n)
	}
	r.pass(3 * time.Second) // then new neighbours replace failed ones
	r.meet(40)
	if got := r.state("Vlan10", "10.0.0.40"); got != "STALE 02:00:00:00:00:28" {
		t.Errorf("the new neighbour is %s", got)
	}
}

// A reassembled packet that is a fragment again, because it has two fragment headers, is dropped and counted as such.
func TestFragmentOfFragments(t *testing.T) {
	r := newRig(t)
	r.meet(5)
	received := r.Count(Received)
	for _, offset := range []byte{1, 8} { // the first has more behind it
		headers := []byte{protoFragment, 0, 0, 1, 0, 0, 0, 1, protoICMPv6, 0, 0, offset, 0, 0, 0, 2}
		r.got(to(5, v6("2001:db8::5", "2001:db8::1", 1, protoFragment, append(headers, make([]byte, 8)...))))
	}
	r.counted(Received, received+2)
	r.counted(DropFragment, 2)
}

func FuzzReceive(f *testing.F) {
	for _, b := range [][]byte{
		arp(arpRequest, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.1"),
		to(5, v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(8, 0, 10))),
		to(5, v4("10.0.0.5", "10.0.1.5", 9, protoUDP, 0, make([]byte, 1300))),
		to(5, v6("2001:db8::5", "2001:db8::1", 255, protoICMPv6, nd(typeSolicitation, 0, "2001:db8::1", optionSource,
			hostMAC(5)))),
		to(5, v6("2001:db8::5", "2001:db8:1::7", 1, protoFragment, make([]byte, 20))),
		to(5, v6("2001:db8::5", "2001:db8::1", 1, protoFragment, append([]byte{58, 0, 0, 1, 0, 0, 0, 1},
			make([]byte, 16)...))),
		to(5, v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0x2000, icmp(8, 0, 16))),
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newRig(t)
		r.meet(5)
		for range 3 {
			r.Receive(r.at, "Vlan10", true, b)
			r.Receive(r.at, "Ethernet4", false, b)
			r.pass(2 * time.Second)
		}
		for _, out := range r.Frames() {
			if len(out.Data) < 60 || len(out.Data) > 14+1500 || strings.Contains(describe(out), "bad IP") {
				t.Errorf("sent %s, %d bytes", describe(out), len(out.Data))
			}
		}
		if n := len(r.Neighbors()); n > 8 {
			t.Errorf("%d neighbours of 6 frames", n)
		}
	})
}
