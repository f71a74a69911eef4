package capture

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tamtam/internal/randtest"
)

// asLink returns the packet of an Ethernet frame in a link type. It returns false if the link type cannot represent it.
func asLink(link uint32, frame []byte) ([]byte, bool) {
	kind, payload := frame[12:14], frame[14:]
	address := append(bytes.Clone(frame[6:12]), 0, 0)
	switch link {
	case ethernet:
		return frame, true
	case linuxCooked:
		b := append([]byte{0, 4, 0, 1, 0, 6}, address...)
		return append(append(b, kind...), payload...), true
	case linuxCooked2:
		b := append(append([]byte{}, kind...), 0, 0, 0, 0, 0, 9, 0, 1, 4, 6)
		return append(append(b, address...), payload...), true
	}
	is4, is6 := binary.BigEndian.Uint16(kind) == typeIPv4, binary.BigEndian.Uint16(kind) == typeIPv6
	return payload, is4 && link != rawIPv6 || is6 && link != rawIPv4
}

// withoutAddresses returns a frame as read from a capture of a link type.
func withoutAddresses(link uint32, frame []byte) []byte {
	frame = bytes.Clone(frame)
	switch link {
	case ethernet:
	case linuxCooked, linuxCooked2:
		clear(frame[:6])
	default:
		clear(frame[:12])
	}
	return frame
}

// A capture of any link type and format gives the frames of the same Ethernet capture.
func TestLinkTypes(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 200}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 36))
		links := []uint32{ethernet, rawIP, linuxCooked, rawIPv4, rawIPv6, linuxCooked2}
		link := links[r.IntN(len(links))]
		var order binary.AppendByteOrder = binary.LittleEndian
		if r.IntN(2) == 0 {
			order = binary.BigEndian
		}
		format := r.IntN(3)
		snap := uint32(20 + r.IntN(200))
		var want []Packet
		pcapFile := order.AppendUint32(nil, magicNano)
		pcapFile = order.AppendUint32(order.AppendUint16(order.AppendUint16(pcapFile, 2), 4), 0)
		pcapFile = order.AppendUint32(order.AppendUint32(order.AppendUint32(pcapFile, 0), snap), link)
		g := newNg(order)
		g.block(blockInterface, append([]any{uint16(link), uint16(0), snap}, option(optResolution, 9)...)...)
		for i := range 1 + r.IntN(20) {
			frame := make([]byte, 15+r.IntN(200))
			for j := range frame {
				frame[j] = byte(r.UintN(256))
			}
			kinds := []uint16{typeIPv4, typeIPv6, 0x8100, 0x88cc, 0x0806}
			kind := kinds[r.IntN(len(kinds))]
			binary.BigEndian.PutUint16(frame[12:], kind)
			frame[14] = frame[14]&15 | map[uint16]byte{typeIPv4: 0x40, typeIPv6: 0x60}[kind]
			packet, ok := asLink(link, frame)
			if !ok {
				continue
			}
			kept := packet[:min(len(packet), int(snap))]
			whole := withoutAddresses(link, frame)
			p := Packet{Time: time.Unix(1700000000, int64(i)).UTC(), Len: len(frame),
				Data: whole[:len(whole)-len(packet)+len(kept)]}
			for _, v := range []uint32{1700000000, uint32(i), uint32(len(kept)), uint32(len(packet))} {
				pcapFile = order.AppendUint32(pcapFile, v)
			}
			pcapFile = append(pcapFile, kept...)
			if at := uint64(p.Time.UnixNano()); format == 1 {
				g.block(blockEnhanced, uint32(0), uint32(at>>32), uint32(at), uint32(len(kept)), uint32(len(packet)), kept)
			} else {
				g.block(blockSimple, uint32(len(packet)), kept)
			}
			if format == 2 {
				p.Time = time.Time{}
			}
			want = append(want, p)
		}
		content := g.bytes
		if format == 0 {
			content = pcapFile
		}
		if r.IntN(2) == 0 {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write(content); err != nil || z.Close() != nil {
				t.Fatal(err)
			}
			content = b.Bytes()
		}
		in, err := NewReader(bytes.NewReader(content), "x")
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t, in.Next)
		if err != nil || len(got) != len(want) {
			t.Fatalf("link type %d: %d packets, %v; want %d", link, len(got), err, len(want))
		}
		for i := range got {
			if !same(got[i], want[i]) {
				t.Errorf("link type %d, packet %d: %v\nwant %v", link, i+1, got[i], want[i])
			}
		}
	})
}

// Packets without an EtherType or header are not mistaken for IP. A truncated header is reported.
func TestUncommonCooked(t *testing.T) {
	cooked := func(packet ...byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, magicNano)
		b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, linuxCooked, 0, 0, 0)
		for _, v := range []int{1, 1, len(packet), len(packet)} {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		return append(b, packet...)
	}
	for _, tt := range []struct {
		packet []byte
		want   string
	}{
		// The test has a frame of IEEE 802.3 with LLC, and a device without addresses.
		{[]byte{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0x42, 0x42, 3}, "000000000000 020000000001 0003 424203"},
		{[]byte{0, 0, 0xff, 0xfe, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 8, 0, 0x45}, "000000000000 000000000000 0800 45"},
		// Netlink, whose protocol numbers are different.
		{[]byte{0, 4, 3, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0x45}, "000000000000 000000000000 ffff 45"},
		{[]byte{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8},
			"captured length 15, want the 16 bytes of the header of link type 113"},
	} {
		in, err := NewReader(bytes.NewReader(cooked(tt.packet...)), "x")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if p, err := in.Next(); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%x %x %x %x", p.Data[:6], p.Data[6:12], p.Data[12:14], p.Data[14:])
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%x: %s, want %s", tt.packet, got, tt.want)
		}
	}
}

// A packet without a time is refused if times are required, and read otherwise.
func TestNoTime(t *testing.T) {
	g := newNg(binary.LittleEndian).iface().enhanced(0, 1, 60, 60).block(blockSimple, uint32(60), make([]byte, 60))
	for name, next := range map[string]func(*Reader) func() (Packet, error){
		"in order": func(r *Reader) func() (Packet, error) { return NewSorted(r).Next },
		"timed":    func(r *Reader) func() (Packet, error) { return r.NextTimed },
	} {
		r, err := NewReader(bytes.NewReader(g.bytes), "x")
		if err != nil {
			t.Fatal(err)
		}
		all, err := readAll(t, next(r))
		const want = "x: packet 2 at byte 140: a simple packet block has no time, which is needed here"
		if len(all) != 1 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d packets, %v, want %q", name, len(all), err, want)
		}
	}
	if all, err := g.read(t); err != nil || len(all) != 2 || !all[1].Time.IsZero() {
		t.Errorf("%v, %v", all, err)
	}
}

// A damaged gzip file gives the packets before the damage, and then an error.
func TestDamagedGzip(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := NewWriter(z, "x")
	for i := range 2000 {
		if err := w.Write(time.Unix(int64(i), 0), binary.BigEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15),
			8); err != nil {
			t.Fatal(err)
		}
	}
	if w.Close() != nil || z.Close() != nil {
		t.Fatal("not written")
	}
	read := func(content []byte) (int, error) {
		r, err := NewReader(bytes.NewReader(content), "x")
		if err != nil {
			return 0, err
		}
		all, err := readAll(t, r.Next)
		return len(all), err
	}
	if n, err := read(b.Bytes()); n != 2000 || err != nil {
		t.Errorf("%d packets, %v", n, err)
	}
	for what, content := range map[string][]byte{
		"cut":      b.Bytes()[:b.Len()/2],
		"checksum": with(b.Bytes(), b.Len()-6, 1, 2),
		"header":   {0x1f, 0x8b, 9, 9, 9, 9, 9, 9, 9, 9, 9},
		"behind":   append(bytes.Clone(b.Bytes()), 1, 2, 3),
	} {
		if n, err := read(content); err == nil || err == io.EOF || what != "header" && n == 0 {
			t.Errorf("%s: %d packets, %v", what, n, err)
		}
	}
}
