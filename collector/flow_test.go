package collector

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/collector/capture"
)

// cat concatenates parts of a frame.
func cat(parts ...[]byte) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

var (
	macs = make([]byte, 12)
	tag  = []byte{0x81, 0x00, 0x00, 0x64}
	stag = []byte{0x88, 0xa8, 0x00, 0x65}
	tcp  = cat([]byte{0x30, 0x39, 0x00, 0x50}, make([]byte, 16)) // ports 12345 > 80
)

// ipv4 returns a frame's part from the EtherType on. fragment is the field of flags and offset.
func ipv4(protocol byte, fragment uint16, payload []byte) []byte {
	total := 20 + len(payload)
	return cat([]byte{0x08, 0x00, 0x45, 0, byte(total >> 8), byte(total), 0, 0, byte(fragment >> 8), byte(fragment), 64,
		protocol, 0, 0,
		192, 0, 2, 1, 192, 0, 2, 2}, payload)
}

func ipv6(next byte, payload []byte) []byte {
	addr := func(n byte) []byte { return append([]byte{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, n) }
	return cat([]byte{0x86, 0xdd, 0x60, 0, 0, 0, byte(len(payload) >> 8), byte(len(payload)), next, 64}, addr(1), addr(2),
		payload)
}

func TestParseFlow(t *testing.T) {
	v4 := Flow{Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("192.0.2.2")}
	v6 := Flow{Source: netip.MustParseAddr("2001:db8::1"), Destination: netip.MustParseAddr("2001:db8::2")}
	with := func(f Flow, protocol uint8, ports bool) *Flow {
		f.Protocol = protocol
		if ports {
			f.SourcePort, f.DestPort = 12345, 80
		}
		return &f
	}
	later := func(f *Flow) *Flow { f.LaterFragment = true; return f }
	hop := cat([]byte{43, 0}, make([]byte, 6))            // hop-by-hop options; a routing header follows
	routing := cat([]byte{60, 1}, make([]byte, 14))       // 16 bytes of routing header; destination options follow
	destination := cat([]byte{51, 0}, make([]byte, 6))    // destination options; an authentication header follows
	authentication := cat([]byte{6, 4}, make([]byte, 22)) // 24 bytes of authentication header; TCP follows
	fragment := func(offset byte) []byte { return []byte{17, 0, 0, offset, 0, 0, 0, 7} }
	tests := []struct {
		name  string
		frame []byte
		want  *Flow
	}{
		{"IPv4 TCP", cat(macs, ipv4(6, 0, tcp)), with(v4, 6, true)},
		{"IPv4 UDP", cat(macs, ipv4(17, 0x4000, tcp)), with(v4, 17, true)},
		{"ICMP has no ports", cat(macs, ipv4(1, 0, tcp)), with(v4, 1, false)},
		{"one tag", cat(macs, tag, ipv4(6, 0, tcp)), with(v4, 6, true)},
		{"two tags", cat(macs, stag, tag, ipv6(6, tcp)), with(v6, 6, true)},
		{"first fragment", cat(macs, ipv4(17, 0x2000, tcp)), with(v4, 17, true)},
		{"later fragment", cat(macs, ipv4(17, 185, tcp)), later(with(v4, 17, false))},
		{"IPv6", cat(macs, ipv6(17, tcp)), with(v6, 17, true)},
		{"IPv6 with extension headers", cat(macs, ipv6(0, cat(hop, routing, destination, authentication, tcp))),
			with(v6, 6, true)},
		{"IPv6 first fragment", cat(macs, ipv6(44, cat(fragment(1), tcp))), with(v6, 17, true)},
		{"IPv6 later fragment", cat(macs, ipv6(44, cat(fragment(8), tcp))), later(with(v6, 17, false))},
		{"IPv6 options that break off", cat(macs, ipv6(43, cat(routing[:8]))), with(v6, 60, false)},
		{"no ports in what follows the datagram", cat(macs, ipv4(17, 0, nil), tcp), with(v4, 17, false)},
		{"IPv4 options", cat(macs, []byte{8, 0, 0x46, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 1, 1, 1,
			1}, tcp[:4]), with(v4, 17, true)},
		{"ARP", cat(macs, []byte{8, 6}, tcp, tcp), nil},
		{"802.3", cat(macs, []byte{0, 40}, tcp, tcp), nil},
		{"five tags", cat(macs, tag, tag, tag, tag, tag, ipv4(6, 0, tcp)), nil},
		{"breaks off in the addresses", cat(macs, ipv4(6, 0, tcp)[:20]), nil},
		{"no EtherType", macs, nil},
		{"wrong version", cat(macs, []byte{8, 0}, tcp, tcp), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := ParseFlow(tt.frame)
			switch {
			case ok != (tt.want != nil):
				t.Errorf("ParseFlow = %v, %v", got, ok)
			case ok && got != *tt.want:
				t.Errorf("ParseFlow = %+v, want %+v", got, *tt.want)
			}
		})
	}
}

// ParseFlow agrees with gopacket on real traffic.
func TestParseFlowAgreesWithGopacket(t *testing.T) {
	compared := 0
	for _, file := range []string{"client", "server"} {
		in, err := capture.Open("../cmd/tamtam/demo/" + file + ".pcap")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		for p, err := in.Next(); err == nil; p, err = in.Next() {
			flow, _ := ParseFlow(p.Data)
			decoded := gopacket.NewPacket(p.Data, layers.LinkTypeEthernet, gopacket.NoCopy)
			var source, destination uint16
			switch l := decoded.TransportLayer().(type) {
			case *layers.TCP:
				source, destination = uint16(l.SrcPort), uint16(l.DstPort)
			case *layers.UDP:
				source, destination = uint16(l.SrcPort), uint16(l.DstPort)
			default:
				continue
			}
			compared++
			if flow.SourcePort != source || flow.DestPort != destination ||
				flow.Source.String() != decoded.NetworkLayer().NetworkFlow().Src().String() {
				t.Errorf("%v, gopacket has %v", flow, decoded)
			}
		}
	}
	if compared < 200 {
		t.Errorf("only %d packets compared", compared)
	}
}

func TestFlowString(t *testing.T) {
	f := Flow{Protocol: 6, Source: netip.MustParseAddr("2001:db8::1"), Destination: netip.MustParseAddr("2001:db8::2"),
		SourcePort: 1, DestPort: 80}
	if got, want := f.String(), "TCP [2001:db8::1]:1 > [2001:db8::2]:80"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, f := range []Flow{f, {Protocol: 6, Source: f.Source, Destination: f.Destination, LaterFragment: true},
		{Protocol: 89, Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2")}} {
		if back, ok := FlowFromText(f.String()); !ok || back != f {
			t.Errorf("%q is read as %+v, %v", f, back, ok)
		}
	}
	for _, text := range []string{"", "not IP", "TCP 10.0.0.1:1", "tcp 10.0.0.1:1 > 10.0.0.2:2",
		"IP-300 10.0.0.1:0 > 10.0.0.2:0",
		"TCP 10.0.0.1:01 > 10.0.0.2:2", "TCP 10.0.0.1 > 10.0.0.2", "IP-6 10.0.0.1:1 > 10.0.0.2:2"} {
		if f, ok := FlowFromText(text); ok {
			t.Errorf("%q is read as %+v", text, f)
		}
	}
	f.LaterFragment = true
	if got, want := f.String(), "TCP 2001:db8::1 > 2001:db8::2 (later fragments)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
