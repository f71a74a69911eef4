package fpm

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

func text(m Message) string {
	switch {
	case m.Route != nil:
		return m.Route.text()
	case m.NextHop != nil:
		return m.NextHop.text()
	}
	return "something else"
}

func (r *Route) text() string {
	if r.Gone {
		return fmt.Sprintf("gone: %s table %d", r.Dest, r.Table)
	}
	s := fmt.Sprintf("%s table %d protocol %d type %d", r.Dest, r.Table, r.Protocol, r.Type)
	if r.Group != 0 {
		s += fmt.Sprintf(" by next hop %d", r.Group)
	}
	for _, h := range r.Hops {
		s += h.text()
	}
	return s
}

func (h Hop) text() string {
	s := ""
	if h.Gateway.IsValid() {
		s = " via " + h.Gateway.String()
	}
	s += fmt.Sprintf(" on %d", h.Index)
	if h.Weight != 1 {
		s += fmt.Sprintf(" weight %d", h.Weight)
	}
	if h.Encap {
		s += " encapsulated"
	}
	return s
}

func (n *NextHop) text() string {
	switch {
	case n.Gone:
		return fmt.Sprintf("gone: next hop %d", n.ID)
	case n.Members != nil:
		return fmt.Sprintf("next hop %d: group of %v", n.ID, n.Members)
	case n.Blackhole:
		return fmt.Sprintf("next hop %d: blackhole", n.ID)
	}
	return fmt.Sprintf("next hop %d:", n.ID) + n.Hop.text()
}

// read returns a stream as text, a line for each message, with an empty line after each frame.
func read(t *testing.T, stream []byte) string {
	t.Helper()
	var b strings.Builder
	for r := NewReader(bytes.NewReader(stream)); ; {
		frame, err := r.Next()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		for m, err := range Parse(frame) {
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintln(&b, text(m))
		}
		b.WriteByte('\n')
	}
}

// Recordings of a zebra 8.4.4: its table with "no fpm use-next-hop-groups" and later changes, and its table with groups
// of next hops, which refer to members that arrive later.
func TestRecorded(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.bin")
	if len(files) == 0 {
		t.Fatal("nothing recorded")
	}
	for _, file := range files {
		stream, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		golden := strings.TrimSuffix(file, ".bin") + ".txt"
		got := read(t, stream)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

// build concatenates bytes, and numbers of two or four bytes in the order of the host.
func build(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case uint16:
			b = native.AppendUint16(b, p)
		case uint32:
			b = native.AppendUint32(b, p)
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

func attr(kind uint16, value []byte) []byte {
	b := build(uint16(4+len(value)), kind, value)
	return append(b, make([]byte, aligned(len(b))-len(b))...)
}

func message(kind uint16, body ...any) []byte {
	b := build(body...)
	return build(uint32(16+len(b)), kind, uint16(0), uint32(0), uint32(0), b)
}

// routeTo10 returns the beginning of a message about a route to 10.0.0.0/8 in the main table.
func routeTo10() []byte {
	return build(familyIPv4, 8, 0, 0, 254, 186, 0, 1, uint32(0), attr(rtaDst, []byte{10, 0, 0, 0}))
}

// Messages that are not in the recordings: other VRFs, encapsulation, gateways of the other family, deleted groups.
func TestForms(t *testing.T) {
	v6 := make([]byte, 16)
	v6[0], v6[1], v6[15] = 0xfe, 0x80, 1
	for _, tt := range []struct {
		name string
		in   []byte
		want string
	}{
		{"a VRF", message(newRoute, routeTo10(), attr(rtaTable, build(uint32(1001))), attr(rtaOIF, build(uint32(7)))),
			"10.0.0.0/8 table 1001 protocol 186 type 1 on 7"},
		{"the default route", message(newRoute, familyIPv6, 0, 0, 0, 254, 186, 0, 1, uint32(0),
			attr(rtaOIF, build(uint32(7)))),
			"::/0 table 254 protocol 186 type 1 on 7"},
		{"an IPv6 gateway of an IPv4 route", message(newRoute, routeTo10(), attr(rtaVia, build(uint16(familyIPv6), v6)),
			attr(rtaOIF, build(uint32(7)))),
			"10.0.0.0/8 table 254 protocol 186 type 1 via fe80::1 on 7"},
		{"a label", message(newRoute, routeTo10(), attr(rtaEncapType, build(uint16(1))),
			attr(rtaEncap|0x8000, attr(1, build(uint32(9)))), attr(rtaOIF, build(uint32(7)))),
			"10.0.0.0/8 table 254 protocol 186 type 1 on 7 encapsulated"},
		{"weights", message(newRoute, routeTo10(), attr(rtaMultipath,
			build(uint16(8), 0, 9, uint32(3), uint16(8), 0, 255, uint32(4)))),
			"10.0.0.0/8 table 254 protocol 186 type 1 on 3 weight 10 on 4 weight 256"},
		{"bits behind the length", message(newRoute, familyIPv4, 8, 0, 0, 254, 186, 0, 1, uint32(0),
			attr(rtaDst, []byte{10, 1, 2, 3})),
			"10.0.0.0/8 table 254 protocol 186 type 1"},
		{"MPLS", message(newRoute, 28, 20, 0, 0, 254, 186, 0, 1, uint32(0)), "something else"},
		{"a neighbour", message(28, familyIPv4), "something else"},
		{"a next hop goes", message(delNextHop, familyIPv4, 0, 0, 0, uint32(0), attr(nhaID, build(uint32(5)))),
			"gone: next hop 5"},
		{"a blackhole", message(newNextHop, familyIPv4, 0, 0, 0, uint32(0), attr(nhaID, build(uint32(5))),
			attr(nhaBlackhole, nil)), "next hop 5: blackhole"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for m, err := range Parse(tt.in) {
				if got := text(m); got != tt.want || err != nil {
					t.Errorf("got %q, %v, want %q", got, err, tt.want)
				}
			}
		})
	}
}

// An unreadable message is reported, and the next one is read.
func TestHostileMessages(t *testing.T) {
	good := message(delRoute, routeTo10())
	for _, tt := range []struct {
		name, want string
		in         []byte
		next       bool // true if the message after it is read
	}{
		{"a short message", "3 bytes behind the last message", good[:3], false},
		{"a message that is too long", "a message of 1000 bytes, want 16 to ", build(uint32(1000), good[4:]), false},
		{"a message that is too short", "a message of 15 bytes, want 16 to ", build(uint32(15), good[4:]), false},
		{"a short route", "a message of a route of 4 bytes, want 12", message(newRoute, familyIPv4, 8, 0, 0), true},
		{"an attribute that is too long", "attribute 1 of 99 bytes, want 4 to 8",
			message(newRoute, familyIPv4, 8, 0, 0, 254, 186, 0, 1, uint32(0), uint16(99), uint16(1), uint32(0)), true},
		{"an attribute that is too short", "attribute 1 of 3 bytes, want 4 to 8",
			message(newRoute, familyIPv4, 8, 0, 0, 254, 186, 0, 1, uint32(0), uint16(3), uint16(1), uint32(0)), true},
		{"a long prefix", "a prefix of 33 bits of 10.0.0.0, want at most 32",
			message(newRoute, familyIPv4, 33, 0, 0, 254, 186, 0, 1, uint32(0), attr(rtaDst, []byte{10, 0, 0, 0})), true},
		{"a destination of the other family", "destination of 16 bytes, want 4",
			message(newRoute, familyIPv4, 8, 0, 0, 254, 186, 0, 1, uint32(0), attr(rtaDst, make([]byte, 16))), true},
		{"a gateway of 3 bytes", "gateway of 3 bytes, want 4", message(newRoute, routeTo10(),
			attr(rtaGateway, make([]byte, 3))), true},
		{"a gateway of no family", "gateway of family 7, want 2 or 10",
			message(newRoute, routeTo10(), attr(rtaVia, build(uint16(7), uint32(0)))), true},
		{"an interface of 2 bytes", "interface of 2 bytes, want 4", message(newRoute, routeTo10(),
			attr(rtaOIF, make([]byte, 2))), true},
		{"a next hop of length 0", "a next hop of 0 bytes, want 8 to 8",
			message(newRoute, routeTo10(), attr(rtaMultipath, make([]byte, 8))), true},
		{"half a next hop", "4 bytes behind the last next hop", message(newRoute, routeTo10(),
			attr(rtaMultipath, make([]byte, 4))), true},
		{"too many next hops", "a route of more than 514 next hops",
			message(newRoute, routeTo10(), attr(rtaMultipath, bytes.Repeat(build(uint16(8), 0, 0, uint32(1)), 515))), true},
		{"a next hop without ID", "a next hop without ID", message(newNextHop, familyIPv4, 0, 0, 0, uint32(0)), true},
		{"an empty group", "a group of 0 bytes", message(newNextHop, familyIPv4, 0, 0, 0, uint32(0), attr(nhaGroup, nil)),
			true},
		{"half a member", "a group of 4 bytes", message(newNextHop, familyIPv4, 0, 0, 0, uint32(0),
			attr(nhaGroup, make([]byte, 4))), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var errs []string
			read := false
			for m, err := range Parse(append(bytes.Clone(tt.in), good...)) {
				if err != nil {
					errs = append(errs, err.Error())
				}
				read = read || m.Route != nil
			}
			if tt.name == "a short message" {
				errs = nil
				for _, err := range Parse(tt.in) {
					errs = append(errs, err.Error())
				}
				read = false
			}
			if len(errs) != 1 || !strings.Contains(errs[0], tt.want) || read != tt.next {
				t.Errorf("errors %q, next read %v; want %q, %v", errs, read, tt.want, tt.next)
			}
		})
	}
}

// A stream whose frames cannot be separated ends with an error that contains the reason.
func TestHostileFrames(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
	}{
		{"a client of HTTP", "GET / HTTP/1.1\r\n", "not FPM: version 71 of a frame, want 1"},
		{"another type", "\x01\x09\x00\x04", "not FPM: type 9 of a frame, want 1 (netlink)"},
		{"protobuf", "\x01\x02\x00\x04", "zebra needs -M dplane_fpm_nl"},
		{"shorter than its header", "\x01\x01\x00\x00", "not FPM: a frame of 0 bytes, want 4 or more"},
		{"not aligned", "\x01\x01\x00\x05a", "not FPM: a frame of 5 bytes, want a multiple of 4"},
		{"cut", "\x01\x01\x00\x08ab", "the stream ends inside a frame"},
		{"cut in its header", "\x01", "the stream ends inside a frame"},
		{"nothing", "", "EOF"},
		{"an empty frame", "\x01\x01\x00\x04", ""},
		{"the longest frame", "\x01\x01\xff\xfc" + strings.Repeat("a", 0xfffc-4), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewReader(strings.NewReader(tt.in)).Next()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// Whatever a peer sends, the parser fails only with its own errors, and keeps no more than a frame.
func FuzzStream(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.bin")
	for _, file := range files {
		stream, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stream)
		for r := NewReader(bytes.NewReader(stream)); ; {
			frame, err := r.Next()
			if err != nil {
				break
			}
			f.Add(append([]byte{version, typeNetlink, byte((headerLen + len(frame)) >> 8), byte(headerLen + len(frame))},
				frame...))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		left := len(stream)
		for r := NewReader(bytes.NewReader(stream)); ; {
			frame, err := r.Next()
			if err != nil {
				return
			}
			if left -= headerLen + len(frame); left < 0 {
				t.Fatal("more was read than sent")
			}
			for m, err := range Parse(frame) {
				if err == nil && m.Route != nil && (m.Route.Dest != m.Route.Dest.Masked() || len(m.Route.Hops) > MostHops) {
					t.Errorf("%s", text(m))
				}
			}
		}
	})
}
