package collector

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
)

// Stamps are read from ERSPAN copies of each type. A truncated copy counts as cut.
func TestStampsInERSPAN(t *testing.T) {
	frame := stamped(web, hop(1, 0, 4, 100, 600, 0), hop(2, 8, 12, 1600, 2000, 0))
	records := NewTailStamp(0, 0, false).Add(frame, time.Unix(1000, 0), len(frame))
	c := NewTailStamp(0, 0, false)
	for _, b := range [][]byte{
		cat(macs, ipv4(47, 0, inGRE(0, 0x88be, 0, frame))),
		cat(macs, tag, ipv6(47, inGRE(0x1000, 0x88be, 12, frame)), make([]byte, 7)),
		cat(macs, ipv4(47, 0, inGRE(0x1000, 0x22eb, 16, frame))),
	} {
		if got := c.Add(b, time.Unix(1000, 0), len(b)); !slices.Equal(got, records) {
			t.Errorf("%x: %v, want %v", b, got, records)
		}
	}
	cut := cat(macs, ipv4(47, 0, inGRE(0, 0x88be, 0, frame[:50])))
	if got := c.Add(cut, time.Unix(1000, 0), len(cut)); got != nil {
		t.Errorf("of a copy that is cut: %v", got)
	}
	var text strings.Builder
	r := c.Report()
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const want = "4 frames: 3 stamped with 6 records, 0 without a record, 1 cut by the snap length or a mirror session, " +
		"4 in ERSPAN\n\nTCP 192.0.2.1:12345 > 192.0.2.2:80: 3 frames stamped\n"
	if !strings.HasPrefix(text.String(), want) {
		t.Errorf("%s\nwant %s", &text, want)
	}
}

// It is unknown whether fragments of copies have records: they do not count as frames without. Other fragments do, and
// a fragment that is stamped itself is read.
func TestFragmentsOfCopies(t *testing.T) {
	const first, later = 0x2000, 64
	frame := stamped(web, hop(1, 0, 4, 100, 600, 0))
	copied, other := inGRE(0x1000, 0x88be, 12, frame), inGRE(0, 0x0800, 0, make([]byte, 60))
	report := inUDP(cat([]byte{0, 10, 9, 0}, make([]byte, 12), []byte{0xff, 0, 0, 0}, make([]byte, 60)))
	inIPv6 := func(next byte, offset uint16, payload []byte) []byte {
		return cat(macs, ipv6(44, cat([]byte{next, 0, byte(offset >> 8), byte(offset), 0, 0, 0, 7}, payload)))
	}
	for _, x := range []struct {
		name           string
		frame          []byte
		unread, ofIFA  int64
		stamped, plain int64
	}{
		{name: "the first of a copy", frame: cat(macs, ipv4(47, first, copied[:64])), unread: 1, ofIFA: 1},
		{name: "one of a copy, with half of its headers", frame: cat(macs, ipv4(47, first, copied[:8])), unread: 1, ofIFA: 1},
		{name: "a later one", frame: cat(macs, ipv4(47, later, copied[64:])), unread: 1, ofIFA: 1},
		{name: "a later one in IPv6", frame: inIPv6(47, later, copied[64:]), unread: 1, ofIFA: 1},
		{name: "a later one with a stamp", frame: stamped(cat(macs, ipv4(47, later, copied[64:])), hop(1, 0, 4, 1, 2, 0)),
			unread: 0, ofIFA: 1, stamped: 1},
		{name: "the first of another tunnel", frame: cat(macs, ipv4(47, first, other)), plain: 1},
		{name: "one of TCP", frame: cat(macs, ipv4(6, later, make([]byte, 60))), plain: 1},
		{name: "the first of a report", frame: cat(macs, ipv4(17, first, report)), ofIFA: 1, plain: 1},
		{name: "a later one of UDP", frame: cat(macs, ipv4(17, later, report)), ofIFA: 1, plain: 1},
		{name: "the first of another datagram", frame: cat(macs, ipv4(17, first, inUDP(make([]byte, 60)))), plain: 1},
		{name: "one with hops of IFA", frame: cat(macs, ipv4(253, first, make([]byte, 60))), ofIFA: 1, plain: 1},
		{name: "one with hops of IFA in IPv6", frame: inIPv6(253, later, make([]byte, 60)), ofIFA: 1, plain: 1},
		{name: "hops of another layout", frame: cat(macs, ipv4(253, 0, cat([]byte{0x21, 17, 0, 255}, make([]byte, 60)))),
			ofIFA: 1, plain: 1},
	} {
		a, b := NewTailStamp(0, 0, false), NewIFA(0, 0, false)
		a.Add(x.frame, time.Unix(1000, 0), len(x.frame))
		b.Add(x.frame, time.Unix(1000, 0), len(x.frame))
		if r := a.Report(); r.Unread != x.unread || r.Stamped != x.stamped || r.Plain != x.plain {
			t.Errorf("%s: %+v", x.name, r)
		}
		if r := b.Report(); r.Unread != x.ofIFA || r.Plain != 1-x.ofIFA {
			t.Errorf("%s, IFA: %+v", x.name, r)
		}
		var text strings.Builder
		if err := a.Report().WriteText(&text); err != nil {
			t.Fatal(err)
		}
		const line = "1 frame that cannot be read: fragments of ERSPAN copies. Whether they have records is not known\n"
		if strings.Contains(text.String(), line) != (x.unread > 0) {
			t.Errorf("%s:\n%s", x.name, &text)
		}
	}
}

// A copy is found behind GRE of any type that is not assigned to another payload, and of no other type.
func TestCopiesOfAnyGREType(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 94_000_000, Count: 2}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 31))
		frame := stamped(web, hop(1, 0, 4, 100, 600, 0))
		for n := range 1000 {
			protocol := []uint16{0x88be, 0x6558, 0x8949, 0x0800, 0x86dd, 0x8847, uint16(r.Uint32())}[min(n, 6)]
			headers := 0
			if protocol == 0x22eb {
				headers = 12
			}
			c := NewTailStamp(0, 0, false)
			b := cat(macs, ipv4(47, 0, inGRE(0, protocol, headers, frame)))
			records := c.Add(b, time.Unix(1000, 0), len(b))
			want := 1
			switch protocol {
			case 0x0800, 0x0806, 0x86dd, 0x8847, 0x8848, 0x880b, 0x883e, 0x894f, 0x2001:
				want = 0
			}
			if len(records) != want || int(c.Report().Mirrored) != want {
				t.Errorf("GRE type %#04x: %d records, %d copies, want %d", protocol, len(records), c.Report().Mirrored, want)
			}
		}
	})
}

// A datagram's addresses and payload are those of its headers.
func TestParseUDP(t *testing.T) {
	u, ok := ParseUDP(cat(macs, tag, ipv4(17, 0, inUDP([]byte("x")))))
	if !ok || u.From.String() != "192.0.2.1:12345" || u.To.String() != "192.0.2.2:4660" || string(u.Payload) != "x" {
		t.Errorf("%+v, %v", u, ok)
	}
	if u, ok := ParseUDP(cat(macs, ipv4(6, 0, inUDP(nil)))); ok {
		t.Errorf("TCP: %+v", u)
	}
}
