package daemons

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"tamtam/host/reports"
)

// The host's sockets send from an address of their own, with the requested DSCP.
func TestReportSockets(t *testing.T) {
	for _, at := range []string{"127.0.0.1", "::1"} {
		addr := netip.MustParseAddr(at)
		l, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, 0)))
		if err != nil {
			t.Skipf("no socket at %s: %v", at, err)
		}
		defer l.Close()
		to := netip.AddrPortFrom(addr, l.LocalAddr().(*net.UDPAddr).AddrPort().Port())
		var s reportSockets
		defer s.close()
		sources := map[uint16]bool{}
		for i := range 3 {
			from := netip.AddrPortFrom(addr, uint16(50000+i%2))
			if err := s.send(reports.Datagram{From: from, To: to, DSCP: 32, Payload: []byte{byte(i)}}); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 10)
			n, src, err := l.ReadFromUDPAddrPort(b)
			if err != nil || n != 1 || b[0] != byte(i) {
				t.Errorf("%d: %d bytes, %v", i, n, err)
			}
			sources[src.Port()] = true
		}
		if len(sources) != 2 {
			t.Errorf("%d sources of two streams", len(sources))
		}
		unreachable := netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), 50000)
		if err := s.send(reports.Datagram{From: unreachable, To: netip.MustParseAddrPort("192.0.2.9:1")}); err == nil ||
			!strings.Contains(err.Error(), "a socket at 192.0.2.1") {
			t.Errorf("from an address that the host does not have: %v", err)
		}
	}
}
