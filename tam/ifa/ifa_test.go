package ifa_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/tam/ifa"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// The layout is correct byte for byte. IPv4's length and checksum are updated, UDP's are unchanged.
func TestBytes(t *testing.T) {
	plain := unhex(`4500001f 00000000 401166cc 0a000001 0a000002  03e807d0 000b1234 616263`)
	hop := ifa.Hop{
		Device: 0xabcde, TTL: 63, Speed: ifa.SpeedOf(100_000), Congestion: 3, Queue: 5, Seconds: 0x12345,
		Nanoseconds: 999_999_999, OutPort: 8, InPort: 4, Residence: 1234, QueueBytes: 4096, Trust: ifa.Unsynchronised,
	}
	got := ifa.Insert(bytes.Clone(plain), 20, 8, ifa.Header{GNS: ifa.PerHop, Next: 17, Flags: ifa.Inband, MaxLength: 40},
		ifa.Metadata{Request: 1, Action: 2, HopLimit: 7}, &hop)
	want := unhex(`45000047 00000000 40fd65b8 0a000001 0a000002
		2f110428  03e807d0 000b1234  01020708
		5abcde3f 4c512345 00080004 3b9ac9ff 000004d2 00001000 00020000 00000000  616263`)
	if !bytes.Equal(got, want) {
		t.Fatalf("got  %x\nwant %x", got, want)
	}
	p, err := ifa.Decode(got)
	hop.LNS = ifa.LNS
	if err != nil || len(p.Hops) != 1 || p.Hops[0] != hop || p.Next != 17 || p.HopLimit != 7 || p.Size() != ifa.Overhead {
		t.Errorf("decoded %+v %v", p, err)
	}
	if back, err := ifa.Strip(bytes.Clone(got)); err != nil || !bytes.Equal(back, plain) {
		t.Errorf("stripped %x %v, want %x", back, err, plain)
	}
}

// Decode returns the inserted hops, and Strip restores the packet byte for byte, including the bytes after it.
func TestRoundTrip(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 901000100, Count: 200}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		plain, at, n, proto := datagram(r)
		b := bytes.Clone(plain)
		var hops []ifa.Hop
		for i := range 1 + r.IntN(7) {
			hop := anyHop(r)
			if i == 0 {
				b = ifa.Insert(b, at, n, ifa.Header{GNS: ifa.PerHop, Next: proto, MaxLength: 255}, ifa.Metadata{HopLimit: 200},
					&hop)
			} else {
				p, err := ifa.Locate(b)
				if err != nil {
					t.Fatal(err)
				}
				b = p.Push(b, &hop)
			}
			hop.LNS = ifa.LNS
			hops = append([]ifa.Hop{hop}, hops...)
		}
		p, err := ifa.Decode(b)
		if err != nil || len(p.Hops) != len(hops) || int(p.HopLimit) != 201-len(hops) {
			t.Fatalf("%d hops, hop limit %d: %v", len(p.Hops), p.HopLimit, err)
		}
		for i := range hops {
			if p.Hops[i] != hops[i] {
				t.Errorf("hop %d: %+v, want %+v", i, p.Hops[i], hops[i])
			}
		}
		back, err := ifa.Strip(b)
		if ipv4 := plain[0]>>4 == 4; ipv4 && err == nil && plain[10] == 0xff && plain[11] == 0xff && back[10]|back[11] == 0 {
			back[10], back[11] = 0xff, 0xff // both are 0 in one's complement (RFC 1624)
		}
		if err != nil || !bytes.Equal(back, plain) {
			t.Errorf("stripped %x %v\nwant     %x", back, err, plain)
		}
	})
}

// datagram returns a TCP or UDP packet with bytes after it, the offset of its transport header, and that header's
// length.
func datagram(r *rand.Rand) (b []byte, at, n int, proto uint8) {
	proto, n = 17, 8
	if r.IntN(2) == 0 {
		proto, n = 6, 20+4*r.IntN(11)
	}
	payload := r.IntN(100)
	if at = 40; r.IntN(2) == 0 {
		at = 20 + 4*r.IntN(11)
	}
	b = make([]byte, at+n+payload+r.IntN(40))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	total := at + n + payload
	if at == 40 && r.IntN(2) == 0 {
		b[0], b[4], b[5], b[6] = 0x60, byte((total-40)>>8), byte(total-40), proto
	} else {
		b[0], b[2], b[3], b[6], b[7], b[9] = 0x40|byte(at/4), byte(total>>8), byte(total), b[6]&0xc0, 0, proto
	}
	if proto == 6 {
		b[at+12] = byte(n/4) << 4
	}
	return b, at, n, proto
}

func anyHop(r *rand.Rand) ifa.Hop {
	return ifa.Hop{
		Device: r.Uint32N(1 << 20), TTL: uint8(r.Uint32()), Speed: ifa.Speed(r.IntN(16)), Congestion: uint8(r.IntN(4)),
		Queue: uint8(r.IntN(64)), Seconds: r.Uint32N(1 << 20), Nanoseconds: r.Uint32(), OutPort: uint16(r.Uint32()),
		InPort: uint16(r.Uint32()), Residence: r.Uint32(), QueueBytes: r.Uint32(), Trust: ifa.Trust(r.IntN(4)),
	}
}

// Each packet without valid IFA is refused with its own error.
func TestNotIFA(t *testing.T) {
	good := unhex(`45000048 00000000 40fd65b8 0a000001 0a000002 2f110428 03e807d0 000b1234 01020708
		5abcde3f 4c512345 00080004 3b9ac9ff 000004d2 00001000 00020000 00000000 61626364`)
	for _, tt := range []struct {
		name string
		at   int
		with byte
		cut  int
		want error
	}{
		{"nothing", 0, 0x45, 19, ifa.ErrNotIP}, {"another protocol", 9, 17, 0, ifa.ErrProtocol},
		{"a fragment", 6, 0x20, 0, ifa.ErrFragment},
		{"version 1", 20, 0x1f, 0, ifa.ErrVersion}, {"a checksum", 22, 5, 0, ifa.ErrFlags},
		{"tail stamp", 22, 8, 0, ifa.ErrFlags},
		{"metadata in fragments", 22, 16, 0, ifa.ErrFlags}, {"ICMP", 21, 1, 0, ifa.ErrNext},
		{"a stack that is longer", 35, 12, 0, ifa.ErrCut}, {"cut in the stack", 0, 0x45, 50, ifa.ErrCut},
		{"a header that is too short", 0, 0x44, 0, ifa.ErrNotIP}, {"another name space", 20, 0x21, 0, ifa.ErrOtherLayout},
		{"half a hop", 35, 4, 0, ifa.ErrNotAligned},
	} {
		b := bytes.Clone(good)
		if b[tt.at] = tt.with; tt.cut > 0 {
			b = b[:tt.cut]
		}
		if _, err := ifa.Decode(b); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// The seconds of a hop repeat every twelve days. Received returns the nearest of the possible times.
func TestReceived(t *testing.T) {
	for _, d := range []time.Duration{0, time.Second, -time.Second, 6 * 24 * time.Hour, -6 * 24 * time.Hour} {
		at := time.Unix(1_700_000_000, 5).UTC()
		h := ifa.Hop{Seconds: uint32(at.Unix()) & (1<<20 - 1), Nanoseconds: 5}
		if got, ok := h.Received(at.Add(d)); !ok || !got.Equal(at) {
			t.Errorf("%v later it came at %v, want %v", d, got, at)
		}
	}
	if _, ok := (&ifa.Hop{Nanoseconds: 1_000_000_000}).Received(time.Unix(0, 0)); ok {
		t.Error("10^9 nanoseconds are a time")
	}
	if _, ok := (&ifa.Hop{Residence: ifa.Longest}).Residing(); ok {
		t.Error("the longest residence time is one")
	}
}

// No input causes a panic, and Strip shortens a packet by exactly the size of IFA.
func FuzzDecode(f *testing.F) {
	f.Add(unhex(`45000048 00000000 40fd65b8 0a000001 0a000002 2f110428 03e807d0 000b1234 01020708
		5abcde3f 4c512345 00080004 3b9ac9ff 000004d2 00001000 00020000 00000000 61626364`))
	f.Add(unhex(`60000000 0034fd40` + strings.Repeat("00", 32) +
		`2f060408 03e807d0 00000000 00000000 50020000 00000000 00000708` + strings.Repeat("11", 20)))
	f.Add(unhex(`45000020 00000000 40fd65b8 0a000001 0a000002 2f110428 03e807d0 000b1234`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ifa.Decode(b)
		if p.Payload == 0 {
			if err == nil {
				t.Fatal("nothing, and no error")
			}
			return
		}
		if p.Payload > len(b) || p.Stack > p.Payload || p.Place.Header >= p.Transport {
			t.Fatalf("%+v of %d bytes", p.Place, len(b))
		}
		n, size := len(b), p.Size()
		back, err := ifa.Strip(bytes.Clone(b))
		if err != nil || len(back) != n-size {
			t.Fatalf("stripped to %d of %d bytes, want %d less: %v", len(back), n, size, err)
		}
	})
}
