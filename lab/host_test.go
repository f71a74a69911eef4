package lab

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
	"tamtam/internal/racetest"
)

func prefixes(list ...string) (ps []netip.Prefix) {
	for _, s := range list {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A host answers for its own addresses only.
func TestAnswers(t *testing.T) {
	h := &station{host: &Host{Name: "h", IPs: prefixes("10.0.0.2/24", "2001:db8::2/64")}, mac: MAC{2, 0, 0, 0, 0, 2}}
	const arp = "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 "
	const ns = "3333ff000002 020000000001 86dd 60000000 0020 3a ff 20010db8000000000000000000000001 " +
		"ff0200000000000000000001ff000002 87 00 0000 00000000 "
	const echo = "020000000002 020000000001 0800 4500 0024 0000 0000 40 01 66d5 0a000001 0a000002 08 00 "
	tests := []struct{ name, in, want string }{ // want holds the fields that matter; the rest is checked by length
		{"ARP", arp + "0a000002",
			"020000000001 020000000002 0806 0001 0800 06 04 0002 020000000002 0a000002 020000000001 0a000001"},
		{"ARP, tagged", strings.Replace(arp, "0806", "8100 0064 0806", 1) + "0a000002",
			"020000000001 020000000002 8100 0064 0806 0001 0800 06 04 0002 020000000002 0a000002 020000000001 0a000001"},
		{"ARP for another", arp + "0a000003", ""},
		{"ARP, cut", arp[:60], ""},
		{"neighbour solicitation", ns + "20010db8000000000000000000000002 0101020000000001",
			"020000000001 020000000002 86dd 60000000 0020 3a ff 20010db8000000000000000000000002 " +
				"20010db8000000000000000000000001 88 00"},
		{"solicitation for another", ns + "20010db8000000000000000000000003 0101020000000001", ""},
		{"echo request", echo + "f7fd 0001 0001 0000000000000000",
			"020000000001 020000000002 0800 4500 0024 0000 0000 40 01 66d5 0a000002 0a000001 00 00 fffd 0001 0001"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, want := h.answer(unhex(t, tt.in)), unhex(t, tt.want)
			if len(want) == 0 && got != nil || len(got) < len(want) || hex.EncodeToString(
				got[:min(len(got), len(want))]) != hex.EncodeToString(want) {
				t.Errorf("answers %x, want %x", got, want)
			}
			if got != nil && len(got) < 60 {
				t.Errorf("%d bytes, want at least 60", len(got))
			}
			if len(got) >= 86 && got[20] == protoICMPv6 {
				var sum uint32
				for i := 22; i < 86; i += 2 { // addresses and message
					sum += uint32(got[i])<<8 | uint32(got[i+1])
				}
				if fold(sum+32+protoICMPv6) != 0xffff {
					t.Errorf("checksum of %x is wrong", got)
				}
			}
		})
	}
}

// Frames have valid lengths and checksums in every form.
func TestFrames(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    header
		size int
		flow int
	}{
		{"UDP", header{src: netip.MustParseAddr("10.0.0.1"), dst: netip.MustParseAddr("10.0.0.2"), proto: protoUDP,
			srcPort: 1024, ttl: 64, tos: 0xb8}, 60, 0},
		{"many flows", header{src: netip.MustParseAddr("10.0.0.1"), dst: netip.MustParseAddr("10.0.0.2"), proto: protoUDP,
			srcPort: 60000, ttl: 64}, 1514, 123_456},
		{"TCP, tagged", header{src: netip.MustParseAddr("10.0.0.1"), dst: netip.MustParseAddr("10.0.0.2"), proto: protoTCP,
			srcPort: 1024, ttl: 1, vlan: 100, pcp: 5}, 61, 7},
		{"IPv6", header{src: netip.MustParseAddr("2001:db8::1"), dst: netip.MustParseAddr("2001:db8::2"), proto: protoUDP,
			srcPort: 65535, ttl: 64, tos: 0x2e}, 62, 3},
		{"IPv6, AltMark option", header{src: netip.MustParseAddr("2001:db8::1"), dst: netip.MustParseAddr("2001:db8::2"),
			proto: protoUDP, srcPort: 9, ttl: 64, altMark: true, flowMonID: 0xabcd1}, 74, 3},
		{"IPv6 TCP", header{src: netip.MustParseAddr("2001:db8::1"), dst: netip.MustParseAddr("2001:db8::2"), proto: protoTCP,
			srcPort: 9, ttl: 64}, 9412, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := tt.h.frame(make([]byte, 0, maxFrameSize), tt.flow, tt.size, 7)
			if len(b) != tt.size {
				t.Fatalf("%d bytes, want %d", len(b), tt.size)
			}
			ip := b[14:]
			if tt.h.vlan > 0 {
				ip = b[18:]
			}
			sum := func(b []byte) (s uint32) {
				for i, x := range b {
					s += uint32(x) << (8 * (1 - i%2))
				}
				return s
			}
			var l4 []byte
			var addresses uint32
			if tt.h.src.Is4() {
				if n := int(ip[2])<<8 | int(ip[3]); n != len(ip) || fold(sum(ip[:20])) != 0xffff {
					t.Errorf("header %x: length %d of %d, or checksum", ip[:20], n, len(ip))
				}
				l4, addresses = ip[20:], sum(ip[12:20])
			} else {
				if n := int(ip[4])<<8 | int(ip[5]); n != len(ip)-40 {
					t.Errorf("payload length %d of %d", n, len(ip)-40)
				}
				l4, addresses = ip[40:], sum(ip[8:40])
				if tt.h.altMark {
					if want := unhex(t, "11 00 12 04 abcd1000"); ip[6] != 60 || !bytes.Equal(l4[:8], want) {
						t.Errorf("next header %d, then %x, want 60 and %x", ip[6], l4[:8], want)
					}
					l4 = l4[8:]
				}
			}
			if fold(sum(l4)+addresses+uint32(tt.h.proto)+uint32(len(l4))) != 0xffff {
				t.Errorf("checksum of %x", l4[:20])
			}
		})
	}
}

// A capture is sent at its own times, as often as configured, and arrives unchanged.
func TestReplay(t *testing.T) {
	racetest.Stepped(t)
	dir := t.TempDir()
	w, err := capture.Create(filepath.Join(dir, "in.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	h := header{dstMAC: madeMAC("host/h2"), srcMAC: MAC{2, 9}, src: netip.MustParseAddr("192.0.2.1"),
		dst: netip.MustParseAddr("192.0.2.2"), proto: protoUDP, ttl: 9}
	for i := range 10 {
		if err := w.Write(time.Unix(1e9, int64(i)*3000), h.frame(make([]byte, 0, 2000), i, 100+i, 0), 100+i); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(chain("loss: 0"), "pps: 1000000, start: 100us, count: 20000, size: 128",
		"kind: pcap, file: in.pcap, loop: 3, start: 50us", 1)
	text = strings.Replace(text, "duration: 25ms", "duration: 1ms", 1)
	text = strings.Replace(text, `"2001:db8::2/64"]`, `"2001:db8::2/64"], capture: true`, 1)
	if err := os.WriteFile(filepath.Join(dir, "t.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	top, err := Load(filepath.Join(dir, "t.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), top, Options{Out: dir, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Flows["web"]; f.Sent != 30 || f.Received != 30 {
		t.Errorf("flow group: %+v", f)
	}
	in, err := capture.Open(filepath.Join(dir, "h2.received.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	n, last := 0, time.Time{}
	for p, err := in.Next(); err == nil; p, err = in.Next() {
		if len(p.Data) >= 100 {
			gap := p.Time.Sub(last)
			if n%10 != 0 && (gap < 2980 || gap > 3010) {
				t.Errorf("frame %d comes %v after the one before, want 3us", n, gap)
			}
			if len(p.Data) != 100+n%10 {
				t.Errorf("frame %d has %d bytes", n, len(p.Data))
			}
			last = p.Time
			n++
		}
	}
	if n != 30 {
		t.Errorf("h2 captured %d of 30 frames", n)
	}
}
