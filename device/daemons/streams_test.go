package daemons

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt/hftrecords"
	"tamtam/saisim"
	"tamtam/swss/schema"
)

func TestParseStreamReader(t *testing.T) {
	for _, text := range []string{"netlink", "unix:/run/hft.sock", "udp:192.0.2.1:4739", "udp:[2001:db8::1]:4739"} {
		if r, err := ParseStreamReader(text); err != nil || r.String() != text {
			t.Errorf("%s: %v, %v", text, r, err)
		}
	}
	for _, text := range []string{
		"", "netlink:x", "unix:", "udp:192.0.2.1", "udp::4739", "tcp:192.0.2.1:4739", "192.0.2.1:4739",
	} {
		if _, err := ParseStreamReader(text); err == nil || !strings.Contains(err.Error(), StreamReaders) {
			t.Errorf("%q: %v, want the forms of readers", text, err)
		}
	}
}

// A reader that does not exist loses records, which are counted with the reason. Once it exists, it gets them.
func TestStreamReaderConnectsAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hft.sock")
	to, err := ParseStreamReader("unix:" + path)
	if err != nil {
		t.Fatal(err)
	}
	sink := newStreaming(nil, []StreamReader{to}, slog.Default()).sinks[0]
	defer sink.close()
	m := &saisim.StreamMessage{Bytes: []byte("records"), Records: 3}
	sink.send(t.Context(), m)
	if sink.lost != 3 || sink.sent != 0 || sink.reason == "" {
		t.Errorf("%+v, want 3 lost records and a reason", sink)
	}
	listen := func() *net.UnixConn {
		os.Remove(path)
		conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	conn := listen()
	sink.send(t.Context(), m)
	buf := make([]byte, 100)
	n, err := conn.Read(buf)
	if err != nil || string(buf[:n]) != "records" || sink.sent != 1 || sink.records != 3 || sink.reason != "" {
		t.Errorf("%q (%v), %+v", buf[:n], err, sink)
	}
	conn.Close()
	sink.send(t.Context(), m) // the reader is gone
	conn = listen()
	defer conn.Close()
	sink.send(t.Context(), m)
	if n, err = conn.Read(buf); err != nil || string(buf[:n]) != "records" {
		t.Errorf("the new reader got %q (%v)", buf[:n], err)
	}
}

// A reader that does not read loses records once its queue is full, and delays the others for a short time only. It
// gets the records after it has read again.
func TestStreamReaderIsSlow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hft.sock")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sink := newStreaming(nil, []StreamReader{{network: "unixgram", address: path}}, slog.Default()).sinks[0]
	defer sink.close()
	m := &saisim.StreamMessage{Bytes: make([]byte, 60_000), Records: 3}
	for sink.lost == 0 {
		sink.send(t.Context(), m)
	}
	if sink.reason != "the reader does not read" {
		t.Errorf("reason %q", sink.reason)
	}
	sent, buf := sink.sent, make([]byte, 1<<16)
	for range sent {
		if _, err := conn.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
	if sink.send(t.Context(), m); sink.sent != sent+1 || sink.reason != "" {
		t.Errorf("%+v, want one message more than %d", sink, sent)
	}
}

// mgmtd receives what syncd sends to its socket, even after an earlier run has left the socket behind.
func TestStreamReaderListens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hft.sock")
	to := StreamReader{network: "unixgram", address: path}
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		read := make(chan struct{}, 1)
		store := hftrecords.New(func(context.Context) (map[string]schema.HFTSession, error) {
			read <- struct{}{}
			return nil, nil
		}, time.Now)
		go func() { done <- to.Listen(ctx, store) }()
		sink := newStreaming(nil, []StreamReader{to}, slog.Default()).sinks[0]
		for sink.sent == 0 { // until the socket is there
			select {
			case err := <-done:
				t.Fatal(err)
			default:
			}
			sink.send(t.Context(), &saisim.StreamMessage{Bytes: make([]byte, 20), Records: 1})
		}
		<-read
		if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o002 == 0 {
			t.Errorf("the socket: %v, %v, want that other users may send to it", st, err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		sink.close()
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []StreamReader{{network: "netlink"}, {network: "unixgram", address: file}} {
		if err := r.Listen(t.Context(), nil); err == nil {
			t.Errorf("%s: want an error", r)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a file that is no socket: %v, want that it stays", err)
	}
}
