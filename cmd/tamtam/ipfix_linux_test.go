package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"tamtam/internal/netns/netnstest"
	"tamtam/tam/ipfix"
)

// Stamps in frames that pass an interface, and in ERSPAN copies of them, are reported and exported as IPFIX.
func TestCollectTailStampToIPFIX(t *testing.T) {
	if !netnstest.Own(t) {
		return
	}
	veths(t, [2]string{"wire", "tap"})
	to := listenIPFIX(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errOut bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"collect", "tailstamp", "tap", "--every", "100ms", "--ipfix", to.LocalAddr().String(),
			"--enterprise-id", "77"}, strings.NewReader(""), &out, &errOut)
	}()
	stamp, err := hex.DecodeString("000007e400006b00fca4358d5d5d00006b00fca4358d5ed50000000400005a10")
	if err != nil {
		t.Fatal(err)
	}
	frame := append(
		[]byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00\x45\x00\x00\x2e\x00\x00\x00\x00\x40\x11\x00\x00"+
			"\xc0\x00\x02\x01\xc0\x00\x02\x02\x03\xe8\x00\x50\x00\x1a\x00\x00"), make([]byte, 18)...)
	frame = append(frame, stamp...)
	mirrored := append(
		[]byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00\x45\x00\x00\x00\x00\x00\x00\x00\x40\x2f\x00\x00"+
			"\x0a\x00\x00\x01\x0a\x00\x00\x02\x00\x00\x88\xbe"), frame...)
	binary.BigEndian.PutUint16(mirrored[16:], uint16(len(mirrored)-14))
	wire := openHost(t, "wire")
	d, buf, hops := ipfix.NewDecoder(77), make([]byte, 1<<16), 0
	for hops < 2 { // sent again until it is read, since the interface may not be open yet
		wire.send(frame)
		wire.send(mirrored)
		if err := to.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, err := to.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) && t.Context().Err() == nil && len(done) == 0 {
			continue
		}
		if err != nil {
			t.Fatal(err, errOut.String())
		}
		if err := d.Message(buf[:n], func(r *ipfix.DataRecord) {
			for i := range r.Fields {
				if r.Fields[i].Name() == "tamtamResidence" && r.Fields[i].Value(r.Values[i]) == int64(376) {
					hops++
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if code := <-done; code != 0 || !strings.Contains(errOut.String(), "messages sent") ||
		strings.Contains(errOut.String(), "not sent") {
		t.Errorf("exit %d, %s", code, errOut.String())
	}
	if text := out.String(); !strings.Contains(text, " in ERSPAN\n") ||
		!strings.Contains(text, "UDP 192.0.2.1:1000 > 192.0.2.2:80: ") || !strings.Contains(text, "376") {
		t.Errorf("%s", text)
	}
}

// listenIPFIX returns a collector's socket.
func listenIPFIX(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// sameByIPFIX compares the records that came to a socket with the results that the collector printed.
func sameByIPFIX(t *testing.T, conn *net.UDPConn, printed []liveResult) {
	t.Helper()
	var got []map[string]any
	d, buf := ipfix.NewDecoder(0), make([]byte, 1<<16)
	for len(got) < len(printed) {
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("%d of %d results came as IPFIX: %v", len(got), len(printed), err)
		}
		if err := d.Message(buf[:n], func(r *ipfix.DataRecord) {
			fields := map[string]any{}
			for i := range r.Fields {
				fields[r.Fields[i].Name()] = r.Fields[i].Value(r.Values[i])
			}
			if r.Scope == 0 {
				got = append(got, fields)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	status := map[string]uint64{"ok": 1, "flagged": 2, "missing": 3}
	number := func(v *int64) any {
		if v == nil {
			return nil
		}
		return *v
	}
	for i, p := range printed {
		f := got[i]
		if f["tamtamPeriod"] != p.Period || f["tamtamPeriodStatus"] != status[p.Status] ||
			f["tamtamLostPackets"] != number(p.Lost) ||
			f["tamtamDelay"] != number(p.Delay) || f["tamtamReasons"] != strings.Join(p.Reasons, "; ") {
			t.Errorf("result %d is %s, and %v as IPFIX", i, p.text, f)
		}
	}
	if c := d.Counts(); c.Lost+c.Undecoded+c.WithoutTemplate > 0 {
		t.Errorf("%+v", c)
	}
}
