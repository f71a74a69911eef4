package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/internal/netns/netnstest"
)

// The Linux kernel with the stack's addresses and forwarding on receives the same frames, and its answers are equal
// byte for byte. The exceptions are fields with free values (IPv4's identification, IPv6's flow label). Frames are sent
// and received by a raw socket. A ping after each frame shows when the kernel has processed it, so that nothing
// depends on time.
//
// Frames for which the two differ on purpose are not included: the kernel resets TCP connections, and by default
// answers ARP for addresses of other interfaces (arp_ignore). For IPv4 packets without a route it sent no error where
// this was written.
func TestLikeTheKernel(t *testing.T) {
	if !netnstest.Own(t) {
		return
	}
	k := newKernel(t)
	badND := nd(typeSolicitation, 0, "2001:db8::1", optionSource, hostMAC(5))
	ask := func(src string, hops byte, message []byte) []byte {
		return frame(solicitedNodeMAC(ip("2001:db8::1")), hostMAC(5), etherIPv6,
			v6(src, "ff02::1:ff00:1", hops, protoICMPv6, message))
	}
	badSum := v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(8, 0, 10))
	badSum[22] ^= 1
	long := make([]byte, 1300)
	frames := map[string][]byte{
		"ARP for us":                  arp(arpRequest, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.1"),
		"ARP for us by unicast":       arp(arpRequest, ownMAC, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.1"),
		"ARP probe":                   arp(arpRequest, broadcast, hostMAC(5), "0.0.0.0", MAC{}, "10.0.0.1"),
		"ARP for another":             arp(arpRequest, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.6"),
		"ARP for another interface":   arp(arpRequest, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.1.1"),
		"ARP of another operation":    arp(3, broadcast, hostMAC(5), "10.0.0.5", MAC{}, "10.0.0.1"),
		"solicitation":                ask("2001:db8::5", 255, badND),
		"solicitation without option": ask("2001:db8::5", 255, nd(typeSolicitation, 0, "2001:db8::1", 0, MAC{})),
		"duplicate address detection": ask("::", 255, nd(typeSolicitation, 0, "2001:db8::1", 0, MAC{})),
		"the same, with an option":    ask("::", 255, badND),
		"solicitation of a hop away":  ask("2001:db8::5", 254, badND),
		"solicitation for another": ask("2001:db8::5", 255, nd(typeSolicitation, 0, "2001:db8::7", optionSource,
			hostMAC(5))),
		"solicitation for a group": ask("2001:db8::5", 255, nd(typeSolicitation, 0, "ff02::1", optionSource,
			hostMAC(5))),
		"short solicitation": ask("2001:db8::5", 255, badND[:23]),
		"option of length 0": ask("2001:db8::5", 255, append(nd(typeSolicitation, 0, "2001:db8::1", 0, MAC{}), 1,
			0, 0, 0, 0, 0, 0, 0)),
		"ping":                      to(5, v4("10.0.0.5", "10.0.0.1", 1, protoICMP, 0, icmp(8, 0, 56))),
		"ping to another interface": to(5, v4("10.0.0.5", "10.0.1.1", 64, protoICMP, 0, icmp(8, 0, 56))),
		"large ping":                to(5, v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(8, 0, 1400))),
		"ping with a bad checksum":  to(5, badSum),
		"ping of IPv6":              to(5, v6("2001:db8::5", "2001:db8::1", 64, protoICMPv6, icmp(128, 0, 56))),
		"echo reply":                to(5, v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(0, 0, 56))),
		"unknown type of ICMP":      to(5, v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(99, 0, 56))),
		"UDP":                       to(5, v4("10.0.0.5", "10.0.0.1", 64, protoUDP, 0, udp(20))),
		"UDP of IPv6": to(5, v6("2001:db8::5", "2001:db8::1", 64, protoUDP,
			udpSum("2001:db8::5", "2001:db8::1", 20))),
		"UDP to another interface":  to(5, v4("10.0.0.5", "10.0.1.1", 64, protoUDP, 0, udp(20))),
		"another protocol":          to(5, v4("10.0.0.5", "10.0.0.1", 64, 253, 0, udp(20))),
		"another next header":       to(5, v6("2001:db8::5", "2001:db8::1", 64, 253, udp(20))),
		"no next header":            to(5, v6("2001:db8::5", "2001:db8::1", 64, 59, nil)),
		"TTL 1":                     to(5, v4("10.0.0.5", "10.0.1.9", 1, protoUDP, 0, udp(20))),
		"TTL 1, long":               to(5, v4("10.0.0.5", "10.0.1.9", 1, protoUDP, 0, long)),
		"TTL 1 of IPv6":             to(5, v6("2001:db8::5", "2001:db8:1::9", 1, protoUDP, long)),
		"TTL 1, an error":           to(5, v4("10.0.0.5", "10.0.1.9", 1, protoICMP, 0, icmp(3, 1, 20))),
		"TTL 1, a ping":             to(5, v4("10.0.0.5", "10.0.1.9", 1, protoICMP, 0, icmp(8, 0, 20))),
		"TTL 1, the first fragment": to(5, v4("10.0.0.5", "10.0.1.9", 1, protoUDP, 0x2000, udp(20))),
		"TTL 1, another fragment":   to(5, v4("10.0.0.5", "10.0.1.9", 1, protoUDP, 0x2001, udp(20))),
		"TTL 1, an error of IPv6":   to(5, v6("2001:db8::5", "2001:db8:1::9", 1, protoICMPv6, icmp(1, 1, 20))),
		"no route of IPv6":          to(5, v6("2001:db8::5", "2001:db8:7::1", 9, protoUDP, udp(20))),
		"too long, not to be cut":   to(5, v4("10.0.0.5", "10.0.1.9", 9, protoUDP, 0x4000, long)),
		"too long for IPv6":         to(5, v6("2001:db8::5", "2001:db8:1::9", 9, protoUDP, long)),
		"fragmented on the way":     to(5, v4("10.0.0.5", "10.0.1.9", 9, protoUDP, 0, long)),
		"from a group":              to(5, v4("224.0.0.5", "10.0.0.1", 64, protoUDP, 0, udp(20))),
		"from a loopback address":   to(5, v4("127.0.0.1", "10.0.1.9", 9, protoUDP, 0, udp(20))),
		"to a group":                to(5, v4("10.0.0.5", "224.0.0.9", 1, protoUDP, 0, udp(20))),
		"UDP in a broadcast frame": frame(broadcast, hostMAC(5), etherIPv4,
			v4("10.0.0.5", "10.0.0.1", 64, protoUDP, 0, udp(20))),
		"UDP to the subnet's broadcast": frame(broadcast, hostMAC(5), etherIPv4,
			v4("10.0.0.5", "10.0.0.255", 64, protoUDP, 0, udp(20))),
	}
	parts := map[string][][]byte{
		"ping in parts": {
			v4Part(1, 0x2000, icmp(8, 0, 1992)[:1000]), v4Part(1, 125, icmp(8, 0, 1992)[1000:]),
		},
		"ping in parts, the last one first": {
			v4Part(2, 13, icmp(8, 0, 192)[104:]), v4Part(2, 0x2000, icmp(8, 0, 192)[:104]),
		},
		"ping of which a part is missing": {v4Part(3, 0x2000, icmp(8, 0, 192)[:104]), v4Part(3, 14, icmp(8, 0, 192)[112:])},
		"ping whose parts overlap": {
			v4Part(4, 0x2000, icmp(8, 0, 192)[:104]), v4Part(4, 0x2000|12, icmp(8, 0, 192)[96:112]),
			v4Part(4, 14, icmp(8, 0, 192)[112:]),
		},
		"ping of IPv6 in parts": v6Parts("2001:db8::5", "2001:db8::1", icmp(128, 0, 1992)),
	}
	for name, f := range frames {
		parts[name] = [][]byte{f}
	}
	for name, fs := range parts {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			wide := interfaces()
			wide[1].MTU = 1280 // the minimum of IPv6
			r.Configure(r.at, wide)
			r.meet(5)
			r.SetStatic(r.at, "Ethernet4", ip("10.0.1.9"), hostMAC(9))
			r.SetStatic(r.at, "Ethernet4", ip("2001:db8:1::9"), hostMAC(9))
			for _, f := range fs {
				r.Receive(r.at, "Vlan10", true, f)
			}
			var mine []string
			for _, out := range r.Frames() {
				if out.Interface == "Vlan10" {
					mine = append(mine, normal(out.Data))
				}
			}
			if kernel := k.answers(fs...); strings.Join(mine, "\n") != strings.Join(kernel, "\n") {
				t.Errorf("the stack answers\n%s\nthe kernel\n%s", strings.Join(mine, "\n"), strings.Join(kernel, "\n"))
			}
		})
	}
}

// v4Part returns a fragment of an ICMP message with an identification; word holds its flags and offset.
func v4Part(id byte, word uint16, part []byte) []byte {
	b := v4("10.0.0.5", "10.0.0.1", 64, protoICMP, word, part)
	b[4], b[5] = 0x77, id
	fixIPv4(b)
	return to(5, b)
}

func v6Parts(src, dst string, message []byte) [][]byte {
	whole := v6(src, dst, 64, protoICMPv6, message)
	part := func(at, end int, word uint16) []byte {
		b := binary.BigEndian.AppendUint16([]byte{protoICMPv6, 0}, word)
		return to(5, v6(src, dst, 64, protoFragment, append(append(b, 0, 0, 0, 9), whole[40+at:40+end]...)))
	}
	return [][]byte{part(0, 1000, 1), part(1000, len(message), 1000)}
}

// udpSum returns UDP over IPv6, which requires a checksum.
func udpSum(src, dst string, n int) []byte {
	b := udp(n)
	binary.BigEndian.PutUint16(b[6:], sum6(ip(src).As16(), ip(dst).As16(), protoUDP, b))
	return b
}

// normal returns a frame as text and bytes, without padding and fields with free values.
func normal(b []byte) string {
	b = bytes.Clone(b)
	body := b[14:]
	switch binary.BigEndian.Uint16(b[12:]) {
	case etherARP:
		body = body[:arpLength]
	case etherIPv4:
		body = body[:binary.BigEndian.Uint16(body[2:])]
		clear(body[4:6]) // clears the identification
		clear(body[10:12])
	case etherIPv6:
		if body[6] == protoFragment {
			clear(body[44:48])
		}
		body = body[:40+int(binary.BigEndian.Uint16(body[4:]))]
		body[1], body[2], body[3] = body[1]&0xf0, 0, 0 // clears the flow label
	}
	return fmt.Sprintf("%s %x", describe(Frame{"Vlan10", b}), body)
}

// A kernel is Linux with the stack's addresses, and a raw socket at the other end of its link.
type kernel struct {
	t  *testing.T
	fd int
	n  uint16 // sequence of the last ping
}

func newKernel(t *testing.T) *kernel {
	t.Helper()
	run := func(command string) {
		t.Helper()
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			if bytes.Contains(out, []byte("Unknown device type")) || bytes.Contains(out, []byte("not supported")) {
				t.Skipf("%s: %s", command, out)
			}
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	for path, value := range map[string]string{
		"ipv4/ip_forward": "1", "ipv6/conf/all/forwarding": "1", "ipv4/icmp_ratelimit": "0", "ipv6/icmp/ratelimit": "0",
		"ipv4/conf/all/arp_ignore": "1", "ipv4/conf/all/rp_filter": "0", "ipv4/conf/default/rp_filter": "0",
	} {
		if err := os.WriteFile("/proc/sys/net/"+path, []byte(value), 0); err != nil {
			t.Skipf("the kernel may not be configured here: %v", err)
		}
	}
	for _, command := range []string{
		"ip link set lo up",
		"ip link add kernel type veth peer name wire", "ip link add kernel4 type veth peer name wire4",
		"ip link set kernel address " + ownMAC.String(), "ip link set kernel4 address 02:00:00:00:00:ab mtu 1280",
		"ip addr add 10.0.0.1/24 dev kernel", "ip addr add 10.0.1.1/24 dev kernel4",
		"ip -6 addr add 2001:db8::1/64 dev kernel nodad", "ip -6 addr add 2001:db8:1::1/64 dev kernel4 nodad",
		"ip link set wire up", "ip link set wire4 up", "ip link set kernel up", "ip link set kernel4 up",
	} {
		run(command)
	}
	for _, n := range []struct{ addr, mac, dev string }{
		{"10.0.0.5", hostMAC(5).String(), "kernel"}, {"2001:db8::5", hostMAC(5).String(), "kernel"},
		{"10.0.1.9", hostMAC(9).String(), "kernel4"}, {"2001:db8:1::9", hostMAC(9).String(), "kernel4"},
	} {
		run("ip neigh add " + n.addr + " lladdr " + n.mac + " dev " + n.dev + " nud permanent")
	}
	i, err := net.InterfaceByName("wire")
	if err != nil {
		t.Fatal(err)
	}
	const all = unix.ETH_P_ALL << 8
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		t.Skipf("no raw socket here: %v", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for _, err := range []error{
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: i.Index}),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(time.Minute / time.Second)}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &kernel{t: t, fd: fd}
}

// answers returns the frames that the kernel sends in response to some frames, before it answers a ping after them.
func (k *kernel) answers(fs ...[]byte) (all []string) {
	k.t.Helper()
	k.n++
	last := icmp(typeEchoRequest, 0, 0)
	binary.BigEndian.PutUint16(last[4:], 0xbeef)
	binary.BigEndian.PutUint16(last[6:], k.n)
	clear(last[2:4])
	binary.BigEndian.PutUint16(last[2:], ^fold(sum(0, last)))
	for _, b := range append(slices.Clone(fs), to(5, v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, last))) {
		if _, err := unix.Write(k.fd, b); err != nil {
			k.t.Fatal(err)
		}
	}
	buf := make([]byte, 4096)
	for {
		n, err := unix.Read(k.fd, buf)
		if err != nil {
			k.t.Fatalf("the kernel does not answer: %v", err)
		}
		b := buf[:n]
		if n >= 42 && b[23] == protoICMP && binary.BigEndian.Uint32(b[38:]) == 0xbeef<<16|uint32(k.n) {
			return all
		}
		if !ownAccord(b) {
			all = append(all, normal(b))
		}
	}
}

// ownAccord reports whether the kernel sends a frame unsolicited: messages to groups.
func ownAccord(b []byte) bool {
	if binary.BigEndian.Uint16(b[12:]) != etherIPv6 {
		return false
	}
	p, _, ok := parseIPv6(b[14:])
	group := netip.MustParseAddr("ff02::16")
	return ok && (p.dst == group || p.proto == protoICMPv6 && (p.payload[0] == typeRouterSolicitation ||
		p.payload[0] == 134 ||
		p.src.IsUnspecified() || p.payload[0] == typeAdvertisement && p.src.IsLinkLocalUnicast()))
}
