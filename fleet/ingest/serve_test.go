package ingest

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"tamtam/collector/result"
	"tamtam/fleet/stream"
)

// asked signals when more datagrams are requested than were expected.
type asked struct {
	*net.UDPConn
	left int
	all  chan struct{}
}

func (a *asked) ReadFrom(b []byte) (int, net.Addr, error) {
	if a.left == 0 {
		close(a.all)
	}
	a.left--
	return a.UDPConn.ReadFrom(b)
}

// Reports that come to a socket become rows when the source leaves. They are flagged, since earlier reports of the
// switch about their time may have been missed.
func TestServe(t *testing.T) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	messages, log := drops(t, 6), stream.NewMemory(0)
	in := &asked{conn, len(messages), make(chan struct{})}
	now := start.Add(time.Minute)
	o := options("ipfix", 1, &now)
	o.Live = true
	s, err := NewSender(log, result.Drops, o)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReports(s, map[netip.Addr]string{netip.MustParseAddr("127.0.0.1"): "leaf1"})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, in, r.IPFIX, s) }()
	out, err := net.Dial("udp", conn.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, m := range messages {
		if _, err := out.Write(m); err != nil {
			t.Fatal(err)
		}
	}
	<-in.all
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := s.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rows []result.Drop
	for _, b := range joined(t, log, result.Drops, 1) {
		rows = append(rows, b.Drops...)
	}
	if len(rows) != 1 || rows[0].Packets != 12 || rows[0].Switch != "leaf1" || rows[0].Port != "Ethernet4" ||
		rows[0].Reason != "no-route" || rows[0].Flags != result.Gap {
		t.Errorf("%+v: want 12 packets without a route at leaf1, flagged as a gap", rows)
	}
}
