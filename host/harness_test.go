package host

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// The tests' network: the switch has 10.0.0.1/24 and 2001:db8::1/64 at Vlan10, and 10.0.1.1/24 and 2001:db8:1::1/64 at
// Ethernet4 with an MTU of 1000. Host n at Vlan10 has the MAC address 02:00:00:00:00:n and the addresses that end in n.
var (
	ownMAC = MAC{2, 0, 0, 0, 0, 0xaa}
	noon   = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
)

func hostMAC(n byte) MAC { return MAC{2, 0, 0, 0, 0, n} }

func ip(text string) netip.Addr { return netip.MustParseAddr(text) }

func interfaces() []Interface {
	return []Interface{
		{Name: "Vlan10", MAC: ownMAC, MTU: 1500, Up: true, Addrs: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.1/24"), netip.MustParsePrefix("2001:db8::1/64")}},
		{Name: "Ethernet4", MAC: ownMAC, MTU: 1000, Up: true, Addrs: []netip.Prefix{
			netip.MustParsePrefix("10.0.1.1/24"), netip.MustParsePrefix("2001:db8:1::1/64")}},
		{Name: "Loopback0", Up: true, Addrs: []netip.Prefix{netip.MustParsePrefix("10.9.9.9/32")}},
	}
}

type rig struct {
	*testing.T
	*Stack
	at time.Time
}

// newRig returns a stack of the tests' network after duplicate address detection.
func newRig(t *testing.T) *rig {
	r := &rig{t, New(DefaultConfig()), noon}
	r.Configure(noon, interfaces())
	r.pass(10 * time.Second)
	r.Frames()
	r.Events()
	return r
}

func (r *rig) pass(d time.Duration) {
	r.at = r.at.Add(d)
	r.Advance(r.at)
}

// got passes a frame to the stack, as received at Vlan10 and not forwarded by the chip. It describes the frames that
// the stack sends.
func (r *rig) got(frame []byte) string {
	r.Receive(r.at, "Vlan10", true, frame)
	return r.sent()
}

func (r *rig) sent() string {
	var all []string
	for _, f := range r.Frames() {
		all = append(all, describe(f))
	}
	return strings.Join(all, "; ")
}

func (r *rig) want(got, want string) {
	r.Helper()
	if got != want {
		r.Errorf("sent\n     %q\nwant %q", got, want)
	}
}

func (r *rig) reported(want string) {
	r.Helper()
	var all []string
	for _, e := range r.Events() {
		all = append(all, fmt.Sprintf("%s %s %s %s", []string{"", "resolved", "forgotten", "duplicate"}[e.Kind], e.Interface,
			e.Addr, e.MAC))
	}
	if got := strings.Join(all, "; "); got != want {
		r.Errorf("events\n     %q\nwant %q", got, want)
	}
}

func (r *rig) state(on, addr string) string {
	n, ok := r.Neighbor(on, ip(addr))
	if !ok {
		return "unknown"
	}
	return strings.TrimSpace(n.State.String() + " " + strings.TrimPrefix(n.MAC.String(), "00:00:00:00:00:00"))
}

func (r *rig) counted(c Counter, want uint64) {
	r.Helper()
	if got := r.Count(c); got != want {
		r.Errorf("%s: %d, want %d", c, got, want)
	}
}

// describe describes a frame in words, and checks its checksums.
func describe(f Frame) string {
	b := f.Data
	head := f.Interface + " to " + MAC(b[:6]).String() + ": "
	switch body := b[14:]; binary.BigEndian.Uint16(b[12:]) {
	case etherARP:
		return head + fmt.Sprintf("ARP %d %s is at %s, %s at %s", body[7], netip.AddrFrom4([4]byte(body[14:18])),
			MAC(body[8:14]),
			netip.AddrFrom4([4]byte(body[24:28])), MAC(body[18:24]))
	case etherIPv4, etherIPv6:
		p, why, ok := parseIP(body, body[0]>>4 == 4)
		if !ok {
			return head + "bad IP: " + why.String()
		}
		return head + p.describe()
	}
	return head + "?"
}

func (p *ipPacket) describe() string {
	s := fmt.Sprintf("%s > %s ttl %d ", p.src, p.dst, p.ttl)
	b := p.payload
	switch {
	case p.v4 && p.proto == protoICMP:
		if fold(sum(0, b)) != 0xffff {
			s += "bad checksum "
		}
		return s + fmt.Sprintf("ICMP %d/%d %d, %d bytes", b[0], b[1], binary.BigEndian.Uint32(b[4:]), len(p.packet))
	case p.proto == protoICMPv6:
		if !sum6ok(p) {
			s += "bad checksum "
		}
		if isND(b[0]) {
			s += fmt.Sprintf("ND %d flags %02x %s", b[0], b[4], netip.AddrFrom16([16]byte(b[8:24])))
			if len(b) >= 32 {
				s += " at " + MAC(b[26:32]).String()
			}
			return s
		}
		return s + fmt.Sprintf("ICMPv6 %d/%d %d, %d bytes", b[0], b[1], binary.BigEndian.Uint32(b[4:]), len(p.packet))
	}
	return s + fmt.Sprintf("protocol %d, %d bytes", p.proto, len(p.packet))
}

func frame(dst, src MAC, etherType uint16, b []byte) []byte {
	f := append(append([]byte{}, dst[:]...), src[:]...)
	return append(binary.BigEndian.AppendUint16(f, etherType), b...)
}

func arp(op uint16, dst, sha MAC, spa string, tha MAC, tpa string) []byte {
	b := []byte{0, 1, 8, 0, 6, 4, byte(op >> 8), byte(op)}
	s, t := ip(spa).As4(), ip(tpa).As4()
	b = append(append(append(append(b, sha[:]...), s[:]...), tha[:]...), t[:]...)
	return frame(dst, sha, etherARP, b)
}

// v4 returns an IPv4 packet; fragment is the word with its flags and offset.
func v4(src, dst string, hops, proto byte, fragment uint16, payload []byte) []byte {
	s, d := ip(src).As4(), ip(dst).As4()
	n := 20 + len(payload)
	b := []byte{0x45, 0, byte(n >> 8), byte(n), 0, 1, byte(fragment >> 8), byte(fragment), hops, proto, 0, 0}
	b = append(append(append(b, s[:]...), d[:]...), payload...)
	fixIPv4(b)
	return b
}

func icmp(kind, code byte, n int) []byte {
	b := append([]byte{kind, code, 0, 0, 0, 7, 0, 1}, make([]byte, n)...)
	binary.BigEndian.PutUint16(b[2:], ^fold(sum(0, b)))
	return b
}

func udp(n int) []byte {
	return append([]byte{0x80, 1, 0x80, 2, 0, byte(8 + n), 0, 0}, make([]byte, n)...)
}

func v6(src, dst string, hops, proto byte, payload []byte) []byte {
	s, d := ip(src).As16(), ip(dst).As16()
	b := []byte{0x60, 0, 0, 0, byte(len(payload) >> 8), byte(len(payload)), proto, hops}
	b = append(append(append(b, s[:]...), d[:]...), payload...)
	if proto == protoICMPv6 && len(payload) >= 4 {
		b[42], b[43] = 0, 0
		binary.BigEndian.PutUint16(b[42:], sum6(s, d, proto, b[40:]))
	}
	return b
}

// nd returns a message of neighbour discovery, with a link-layer address option if option is not 0.
func nd(kind, flags byte, target string, option byte, mac MAC) []byte {
	t := ip(target).As16()
	b := append([]byte{kind, 0, 0, 0, flags, 0, 0, 0}, t[:]...)
	if option != 0 {
		b = append(append(b, option, 1), mac[:]...)
	}
	return b
}

// to returns a frame from a host at Vlan10 to the switch.
func to(n byte, packet []byte) []byte {
	etherType := uint16(etherIPv4)
	if packet[0]>>4 == 6 {
		etherType = etherIPv6
	}
	return frame(ownMAC, hostMAC(n), etherType, packet)
}

// meet makes the stack learn host n at Vlan10, by both protocols.
func (r *rig) meet(n byte) {
	a4, a6 := fmt.Sprintf("10.0.0.%d", n), fmt.Sprintf("2001:db8::%x", n)
	r.got(arp(arpRequest, broadcast, hostMAC(n), a4, MAC{}, "10.0.0.1"))
	r.got(frame(ownMAC, hostMAC(n), etherIPv6, v6(a6, "2001:db8::1", 255, protoICMPv6,
		nd(typeSolicitation, 0, "2001:db8::1", optionSource, hostMAC(n)))))
	r.Events()
}
