package daemons

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/saisim"
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
	sink.send(m)
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
	sink.send(m)
	buf := make([]byte, 100)
	n, err := conn.Read(buf)
	if err != nil || string(buf[:n]) != "records" || sink.sent != 1 || sink.records != 3 || sink.reason != "" {
		t.Errorf("%q (%v), %+v", buf[:n], err, sink)
	}
	conn.Close()
	sink.send(m) // the reader is gone
	conn = listen()
	defer conn.Close()
	sink.send(m)
	if n, err = conn.Read(buf); err != nil || string(buf[:n]) != "records" {
		t.Errorf("the new reader got %q (%v)", buf[:n], err)
	}
}
