package genl

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/internal/netns/netnstest"
	"tamtam/tam/hft"
	"tamtam/tam/ipfix"
)

// Family and group that are in every network namespace, and the group's number.
const (
	family      = "nlctrl"
	group       = "notify"
	groupNumber = 16
)

// listen returns a socket that receives the messages of the group, as countersyncd's does.
func listen(t *testing.T) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, groupNumber); err != nil {
		t.Fatal(err)
	}
	limit := unix.NsecToTimeval(int64(10 * time.Second))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		t.Fatal(err)
	}
	return fd
}

// received returns the payload of the next datagram, read as countersyncd reads it: the length of netlink's header
// counts, and 20 bytes are headers.
func received(t *testing.T, fd int) []byte {
	t.Helper()
	b := make([]byte, 1<<18)
	n, _, err := unix.Recvfrom(fd, b, 0)
	if err != nil {
		t.Fatal(err)
	}
	if length := int(binary.NativeEndian.Uint32(b)); length < headersLen || length > n {
		t.Fatalf("a message of %d bytes in a datagram of %d", length, n)
	}
	return b[headersLen:binary.NativeEndian.Uint32(b)]
}

// Every reader of the group in the sender's network namespace receives a stream as it was sent, up to the longest
// message, and several messages in one.
func TestSend(t *testing.T) {
	if !netnstest.Own(t) {
		return
	}
	readers := []int{listen(t), listen(t)}
	s, err := Dial(family, group)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	columns := make([]hft.Column, hft.MaxStatistics)
	values := make([]uint64, len(columns))
	for i := range columns {
		columns[i] = hft.Column{Statistic: hft.Statistic{Label: uint16(1 + i), Type: 1}, Object: fmt.Sprint("Ethernet", i)}
		values[i] = uint64(i * i)
	}
	stream, err := hft.NewStream(hft.Config{Size: ipfix.MaxSize, Bulk: 1}, func(m hft.Message) {
		if err := s.Send(append(m.Bytes, m.Bytes...)); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Configure(columns); err != nil {
		t.Fatal(err)
	}
	for at := range int64(3) {
		if err := stream.Sample(time.Unix(0, at), at, values); err != nil {
			t.Fatal(err)
		}
		for _, fd := range readers {
			d, err := hft.NewDecoder(0, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Session(stream.Templates(), nil); err != nil {
				t.Fatal(err)
			}
			n := 0
			if err := d.Messages(received(t, fd), func(r *hft.Record) {
				if n++; r.At != at || r.Values[8187] != values[8187] {
					t.Errorf("record of %d: %d", r.At, r.Values[8187])
				}
			}); err != nil || n != 2 {
				t.Errorf("%d records, want 2: %v", n, err)
			}
		}
	}
	if s.Sent() != 3 {
		t.Errorf("%d messages were sent, want 3", s.Sent())
	}
	err = s.Send(make([]byte, 1<<24))
	if err == nil || !strings.Contains(err.Error(), "16777216 bytes: message too long") {
		t.Errorf("a message that the socket cannot send: %v", err)
	}
}

// What does not exist is named.
func TestDialRefuses(t *testing.T) {
	for _, c := range []struct{ family, group, want string }{
		{"sonic_nowhere", "ipfix", `generic netlink family "sonic_nowhere": `},
		{family, "ipfix",
			`generic netlink family nlctrl: group "ipfix" has number 0, want a group with a number from 1 to 32`},
	} {
		if _, err := Dial(c.family, c.group); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
