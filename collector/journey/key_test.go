package journey

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"tamtam/tam/ifa"
)

func frameOf(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	macs    = "020000000002 020000000001 "
	others  = "0200000000ff 0200000000fe 8100 6064 "
	ipv4UDP = "0800 4500 0034 1234 4000 40 11 0000 0a000001 0a000002 03e8 0009 0020 0000 "
	routed  = "0800 4508 0034 1234 4000 3f 11 beef 0a000001 0a000002 03e8 0009 0020 abcd "
	payload = "000102030405060708090a0b0c0d0e0f1011121314151617"
)

// A key omits the fields that switches rewrite, and contains those that distinguish packets.
func TestKeyOf(t *testing.T) {
	key := func(text string) Key {
		t.Helper()
		f := frameOf(t, text)
		k, ok := KeyOf(f, len(f))
		if !ok {
			t.Errorf("%s has no key", text)
		}
		return k
	}
	first := key(macs + ipv4UDP + payload)
	if routed := key(others + routed + payload); routed != first {
		t.Errorf("%x, and routed %x", first, routed)
	}
	for what, text := range map[string]string{
		"payload":        macs + ipv4UDP + strings.Replace(payload, "17", "18", 1),
		"identification": macs + strings.Replace(ipv4UDP, "1234", "1235", 1) + payload,
		"port":           macs + strings.Replace(ipv4UDP, "03e8", "03e9", 1) + payload,
		"address":        macs + strings.Replace(ipv4UDP, "0a000001", "0a000003", 1) + payload,
	} {
		if key(text) == first {
			t.Errorf("another %s is not another packet", what)
		}
	}
	// A hop limit, marks in an option, a traffic class: IPv6 with and without its hop-by-hop header.
	with := "86dd 60000000 0030 00 40 20010db8000000000000000000000001 20010db8000000000000000000000002 11 00 1204 " +
		"00001000 03e8 0009 0028 0000 "
	without := "86dd 61000000 0028 11 3f 20010db8000000000000000000000001 20010db8000000000000000000000002 03e8 0009 " +
		"0028 1111 "
	if key(macs+with+payload+"aabbccdd00112233") != key(macs+without+payload+"aabbccdd00112233") {
		t.Error("an option in front of the payload makes another packet")
	}
	if f := frameOf(t, macs+ipv4UDP+payload); true {
		if _, ok := KeyOf(f[:50], len(f)); ok {
			t.Error("a frame of which too little was kept has a key")
		}
	}
	if key(macs+"0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002") == key(macs+
		"0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000003") {
		t.Error("two questions of ARP are alike")
	}
}

// Frames that are not IP have the same key with and without padding. Hosts and switches that remove a tag may leave it.
func TestKeyOfPadded(t *testing.T) {
	const arp = "0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002"
	bare := frameOf(t, macs+arp)
	padded := append(frameOf(t, macs+"8100 0064 "+arp), make([]byte, 14)...)
	want, ok := KeyOf(bare, len(bare))
	got, ok2 := KeyOf(padded, len(padded))
	if !ok || !ok2 || got != want {
		t.Errorf("%x %v, and padded behind a tag %x %v", want, ok, got, ok2)
	}
	if _, ok := KeyOf(padded[:50], len(padded)); ok {
		t.Error("a frame of which too little was kept has a key")
	}
}

// IFA in a packet does not change the key, for any length of the kept payload.
func TestKeyOfIFA(t *testing.T) {
	for what, text := range map[string]string{
		"IPv4": macs + ipv4UDP + payload,
		"IPv6": macs +
			"86dd 61000000 0028 11 3f 20010db8000000000000000000000001 20010db8000000000000000000000002 03e8 0009 0028 1111 " +
			payload + "aabbccdd00112233",
	} {
		plain := frameOf(t, text)
		want, _ := KeyOf(plain, len(plain))
		header := 20 + 20*strings.Count(what, "6")
		with := ifa.Insert(slices.Clone(plain[14:]), header, 8, ifa.Header{GNS: ifa.PerHop, Next: 17, MaxLength: 255},
			ifa.Metadata{HopLimit: 255}, &ifa.Hop{})
		place, err := ifa.Locate(with)
		if err != nil {
			t.Fatal(err)
		}
		frame := append(plain[:14:14], place.Push(with, &ifa.Hop{})...)
		for kept := 0; kept <= len(frame); kept++ {
			got, ok := KeyOf(frame[:kept], len(frame))
			if enough := kept >= 14+place.Payload+ifa.HopSize+24; ok != enough || ok && got != want {
				t.Fatalf("%s, %d bytes of %d: %x %v, want %x %v", what, kept, len(frame), got, ok, want, enough)
			}
		}
	}
}

// A truncated frame has the key of the complete one, or none. Stamps and padding change nothing.
func TestKeyOfTruncated(t *testing.T) {
	for _, text := range []string{
		macs + ipv4UDP + payload,
		others + strings.Replace(ipv4UDP, "4500 0034", "4500 0020", 1) + payload[:8], // 4 bytes of payload
		macs + "86dd 60000000 0014 2c 40 20010db8000000000000000000000001 20010db8000000000000000000000002 11 00 0008 " +
			"00001000 " + payload[:24],
		macs + "0800 4500 003c 0001 4000 40 06 0000 0a000001 0a000002 03e8 0009 00000001 00000002 6002 ffff 0000 0000 " +
			"020405b4 " + payload[:32],
		macs + "88cc" + payload + payload,
	} {
		plain := frameOf(t, text)
		want, ok := KeyOf(plain, len(plain))
		if !ok {
			t.Fatalf("%s has no key", text)
		}
		for _, tail := range []int{0, 4, 30} {
			frame := append(slices.Clone(plain), make([]byte, tail)...)
			for kept := range len(frame) + 1 {
				if got, ok := KeyOf(frame[:kept], len(frame)); ok && got != want {
					t.Fatalf("%d bytes of %s and %d: %x, want %x", kept, text, tail, got, want)
				}
			}
		}
	}
}

// KeyOf accepts any bytes. Other MAC addresses do not change the key.
func FuzzKeyOf(f *testing.F) {
	for _, text := range []string{macs + ipv4UDP + payload, others + routed + payload, macs + "86dd" + payload} {
		b, _ := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		f.Add(b, uint16(len(b)))
	}
	f.Fuzz(func(t *testing.T, frame []byte, length uint16) {
		k, ok := KeyOf(frame, int(length))
		if len(frame) < 12 {
			return
		}
		other := append([]byte("another MACs"), frame[12:]...)
		if k2, ok2 := KeyOf(other, int(length)); k2 != k || ok2 != ok {
			t.Errorf("%x %v, and behind other addresses %x %v", k, ok, k2, ok2)
		}
	})
}
