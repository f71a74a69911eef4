package capture

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tamtam/internal/netns/netnstest"
)

// loopback brings lo up. It returns a UDP socket that no process reads, and a connection that sends to it.
func loopback(t *testing.T) (to *net.UDPConn, from net.Conn) {
	t.Helper()
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	to, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { to.Close() })
	if from, err = net.Dial("udp4", to.LocalAddr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close() })
	return to, from
}

func send(t *testing.T, to net.Conn, datagrams, size int) {
	t.Helper()
	for range datagrams {
		if _, err := to.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
}

// Read and lost frames add up to all frames that passed, even if Lost is called after the end. No frame counts twice.
func TestListen(t *testing.T) {
	if !netnstest.Own(t) {
		return
	}
	_, conn := loopback(t)
	in, err := Listen("lo")
	if err != nil {
		t.Skip(err)
	}
	defer in.Close()
	const sent = 20000 // number of frames; they exceed the buffer, and each appears once outgoing and once incoming
	send(t, conn, sent, 1000)
	ctx, end := context.WithCancel(t.Context())
	read, last := uint64(0), 0
	for last < 2 { // both appearances of a longer frame that is sent once the buffer has space
		p, err := in.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if read++; read == 10 {
			send(t, conn, 1, 1100)
		}
		if p.Len == 14+20+8+1100 {
			last++
		}
		if ago := time.Since(p.Time); len(p.Data) != p.Len || ago.Abs() > time.Hour {
			t.Fatalf("frame %d: %d of %d bytes, taken at %v", p.Number, len(p.Data), p.Len, p.Time)
		}
	}
	end()
	if _, err := in.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	lost, err := in.Lost()
	if err != nil || lost == 0 || read+lost != 2*(sent+1) {
		t.Errorf("%d frames read and %d lost, %v; want %d, and some lost", read, lost, err, 2*(sent+1))
	}
	if again, err := in.Lost(); again != 0 || err != nil {
		t.Errorf("asked again: %d lost, %v", again, err)
	}
}

// DatagramsLost returns the datagrams that the kernel dropped.
func TestDatagramsLost(t *testing.T) {
	if !netnstest.Own(t) {
		return
	}
	to, from := loopback(t)
	if lost, err := DatagramsLost(to); lost != 0 || err != nil {
		t.Errorf("at first %d lost, %v", lost, err)
	}
	const sent = 5000
	send(t, from, sent, 1000)
	lost, err := DatagramsLost(to)
	read := uint64(0)
	buf := make([]byte, 2000)
	for ; read+lost < sent; read++ { // the rest can be read; one read more would block for ever
		if _, err := to.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
	if err != nil || lost == 0 || lost >= sent {
		t.Errorf("%d of %d lost, %v: want some", lost, sent, err)
	}
	to.Close()
	if lost, err := DatagramsLost(to); err == nil {
		t.Errorf("of a closed socket: %d lost", lost)
	}
}

// A damaged list of sockets causes an error.
func TestSocketDrops(t *testing.T) {
	const line = " 12: 0100007F:2382 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 0000 "
	for _, tt := range []struct {
		list  string
		drops uint64
		found bool
		err   string
	}{
		{"", 0, false, ""},
		{line + "17", 17, true, ""},
		{"sl\n" + strings.Replace(line, "4711", "4712", 1) + "3\n" + line + "0\n", 0, true, ""},
		{line + "-1", 0, true, `drops "-1" of socket 4711: want a number`},
		{strings.Replace(line, "4711", "47110", 1) + "1", 0, false, ""},
		{"4711 4711\n", 0, false, ""},
	} {
		drops, found, err := socketDrops(strings.NewReader(tt.list), 4711)
		if drops != tt.drops || found != tt.found || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %d, %v, %v", tt.list, drops, found, err)
		}
	}
}
