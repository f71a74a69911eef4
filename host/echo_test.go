package host

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func (r *rig) echo(from, to string, size int) error {
	return r.SendEcho(r.at, Echo{From: ip(from), To: ip(to), TTL: 9, Ident: 7, Sequence: 1, Payload: make([]byte, size)})
}

// heard describes the messages that the stack has kept.
func (r *rig) heard() string {
	var all []string
	for _, m := range r.Messages() {
		text := fmt.Sprintf("%s > %s ttl %d type %d/%d, %d bytes", m.From, m.To, m.TTL, m.Data[0], m.Data[1], len(m.Data))
		if m.Cause != "" {
			text += ": " + m.Cause
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// The host pings a neighbour that it knows: the request has the given source, TTL, identifier and number, and the reply
// is a message.
func TestEcho(t *testing.T) {
	r := newRig(t)
	r.Hear(true)
	r.meet(5)
	for _, tt := range []struct{ from, to, sent, heard string }{
		{"10.0.0.1", "10.0.0.5", "Vlan10 to 02:00:00:00:00:05: 10.0.0.1 > 10.0.0.5 ttl 9 ICMP 8/0 458753, 84 bytes",
			"10.0.0.5 > 10.0.0.1 ttl 64 type 0/0, 64 bytes"},
		{"10.9.9.9", "10.0.0.5", "Vlan10 to 02:00:00:00:00:05: 10.9.9.9 > 10.0.0.5 ttl 9 ICMP 8/0 458753, 84 bytes",
			"10.0.0.5 > 10.9.9.9 ttl 64 type 0/0, 64 bytes"},
		{"2001:db8::1", "2001:db8::5",
			"Vlan10 to 02:00:00:00:00:05: 2001:db8::1 > 2001:db8::5 ttl 9 ICMPv6 128/0 458753, 104 bytes",
			"2001:db8::5 > 2001:db8::1 ttl 64 type 129/0, 64 bytes"},
	} {
		if err := r.echo(tt.from, tt.to, 56); err != nil {
			t.Fatal(err)
		}
		r.want(r.sent(), tt.sent)
		var reply []byte
		if ip(tt.to).Is4() {
			reply = v4(tt.to, tt.from, 64, protoICMP, 0, icmp(typeEchoReply, 0, 56))
		} else {
			reply = v6(tt.to, tt.from, 64, protoICMPv6, icmp(typeEchoReply6, 0, 56))
		}
		r.want(r.got(to(5, reply)), "")
		r.want(r.heard(), tt.heard)
	}
}

// Without a listener, nothing is kept, and with one at most 256 messages.
func TestMessagesAreBounded(t *testing.T) {
	r := newRig(t)
	reply := to(5, v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(typeEchoReply, 0, 56)))
	r.got(reply)
	r.want(r.heard(), "")
	r.counted(DropICMP, 1)
	r.Hear(true)
	for range maxHeard + 44 {
		r.got(reply)
	}
	if n := len(r.Messages()); n != maxHeard {
		t.Errorf("%d messages are kept, want %d", n, maxHeard)
	}
	r.counted(DropICMP, 45)
	r.Hear(false)
	for _, bad := range [][]byte{
		v4("224.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(typeEchoReply, 0, 56)), // from a group
		v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(5, 0, 56)),              // a redirect
		v4("10.0.0.5", "10.0.0.1", 64, protoICMP, 0, icmp(13, 0, 56)),             // a timestamp request
	} {
		r.Hear(true)
		r.got(to(5, bad))
		r.want(r.heard(), "")
	}
}

// A request to a neighbour that does not answer becomes an error of the host's own after three attempts. A request
// longer than the MTU waits as a whole, and is fragmented when the neighbour answers.
func TestEchoWaitsForNeighbor(t *testing.T) {
	r := newRig(t)
	r.Hear(true)
	for i, size := range []int{56, 2400, 9000, 10} {
		err := r.echo("10.0.0.1", "10.0.0.7", size)
		const full = "3 packets wait for neighbour 10.0.0.7 at Vlan10 already"
		if (err != nil) != (i == 3) || err != nil && err.Error() != full {
			t.Errorf("request %d: %v", i, err)
		}
	}
	r.want(r.EchoHint(ip("10.0.0.7"), ""), "neighbour 10.0.0.7 at Vlan10 has not answered ARP requests")
	r.pass(3*time.Second - 1)
	r.want(r.heard(), "")
	r.pass(1)
	cause := ": neighbour 10.0.0.7 at Vlan10 does not answer ARP requests"
	r.want(r.heard(), "10.0.0.1 > 10.0.0.1 ttl 64 type 3/1, 92 bytes"+cause+
		"; 10.0.0.1 > 10.0.0.1 ttl 64 type 3/1, 556 bytes"+cause+"; 10.0.0.1 > 10.0.0.1 ttl 64 type 3/1, 556 bytes"+cause)
	r.sent()
	if err := r.echo("10.0.0.1", "10.0.0.7", 2400); err != nil {
		t.Fatal(err)
	}
	r.sent()
	got := r.got(arp(arpReply, ownMAC, hostMAC(7), "10.0.0.7", ownMAC, "10.0.0.1"))
	if strings.Count(got, "10.0.0.1 > 10.0.0.7 ttl 9") != 2 {
		t.Errorf("sent %q, want two fragments", got)
	}
	if err := r.echo("2001:db8::1", "2001:db8::7", 56); err != nil {
		t.Fatal(err)
	}
	r.Configure(r.at, interfaces()[1:])
	r.want(r.heard(), "2001:db8::1 > 2001:db8::1 ttl 64 type 1/3, 112 bytes: interface Vlan10 went down, or has no "+
		"subnet with 2001:db8::7 any more")
}

// A request that cannot be sent has an error with the cause.
func TestEchoRefused(t *testing.T) {
	r := newRig(t)
	down := interfaces()
	down[1].Up = false
	r.Configure(r.at, down)
	r.SetRoute(r.at, netip.MustParsePrefix("10.7.0.0/16"), []Hop{{"Vlan10", ip("10.5.0.1")}})
	for _, tt := range []struct{ from, to, on, want string }{
		{"", "192.0.2.1", "", "no route to 192.0.2.1"},
		{"", "10.0.1.9", "", "no route to 10.0.1.9: Ethernet4, whose subnet has it, is down"},
		{"", "10.7.0.1", "", "the next hop 10.5.0.1 to 10.7.0.1 is in no subnet of Vlan10"},
		{"", "224.0.0.1", "", "224.0.0.1 is not the address of a single host"},
		{"", "10.0.0.255", "", "10.0.0.255 is not the address of a single host"},
		{"", "fe80::5", "", "fe80::5 is link-local: name its interface"},
		{"", "fe80::5", "Ethernet9", "Ethernet9 is no router interface: there are Ethernet4, Vlan10"},
		{"", "fe80::5", "Ethernet4", "interface Ethernet4 is down"},
		{"10.0.0.2", "10.0.0.5", "", "source 10.0.0.2 is no address of the switch: there are 10.0.0.1, 10.9.9.9"},
		{"10.0.0.2", "10.0.0.1", "", "source 10.0.0.2 is no address of the switch: there are 10.0.0.1, 10.9.9.9"},
		{"2001:db8::9", "2001:db8::5", "", "source 2001:db8::9 is no address of the switch: there are 2001:db8::1"},
	} {
		var from netip.Addr
		if tt.from != "" {
			from = ip(tt.from)
		}
		if got, err := r.EchoSource(r.at, from, ip(tt.to), tt.on); err == nil || err.Error() != tt.want {
			t.Errorf("to %s: %v, %v, want %s", tt.to, got, err, tt.want)
		}
	}
	r.want(r.sent(), "")
}

// The source is the address in the next hop's subnet, or another one that can be reached.
func TestEchoSource(t *testing.T) {
	r := newRig(t)
	r.SetRoute(r.at, netip.MustParsePrefix("10.7.0.0/16"), []Hop{{"Ethernet4", ip("10.0.1.9")}})
	r.SetRoute(r.at, netip.MustParsePrefix("2001:db8:7::/48"), []Hop{{"Ethernet4", ip("fe80::9")}})
	for _, tt := range []struct{ to, on, want string }{
		{"10.0.0.5", "", "10.0.0.1"}, {"10.7.0.1", "", "10.0.1.1"}, {"10.9.9.9", "", "10.9.9.9"},
		{"2001:db8:7::1", "", "2001:db8:1::1"}, {"fe80::5", "Vlan10", "fe80::ff:fe00:aa"},
	} {
		if got, err := r.EchoSource(r.at, netip.Addr{}, ip(tt.to), tt.on); err != nil || got != ip(tt.want) {
			t.Errorf("to %s: %v, %v, want %s", tt.to, got, err, tt.want)
		}
	}
}

// The host answers itself.
func TestEchoSelf(t *testing.T) {
	r := newRig(t)
	r.Hear(true)
	for _, tt := range []struct{ to, want string }{
		{"10.9.9.9", "10.9.9.9 > 10.9.9.9 ttl 64 type 0/0, 12 bytes"},
		{"2001:db8::1", "2001:db8::1 > 2001:db8::1 ttl 64 type 129/0, 12 bytes"},
	} {
		if err := r.SendEcho(r.at, Echo{From: ip(tt.to), To: ip(tt.to), TTL: 1, Payload: []byte("data")}); err != nil {
			t.Error(err)
		}
		m := r.Messages()
		if a := m[0]; ip(tt.to).Is4() && fold(sum(0, a.Data)) != 0xffff ||
			ip(tt.to).Is6() && sum6(a.From.As16(), a.To.As16(), protoICMPv6, a.Data) != 0 {
			t.Errorf("%s: the checksum is %x", tt.to, binary.BigEndian.Uint16(a.Data[2:]))
		}
		r.Stack.heard = m // for the description
		r.want(r.heard(), tt.want)
		r.want(r.sent(), "")
	}
}
