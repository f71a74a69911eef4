package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// ng builds pcapng files block by block.
type ng struct {
	order binary.AppendByteOrder
	bytes []byte
}

// block appends a block whose body is given in parts: uint16, uint32, uint64, or bytes that are padded to 32 bits.
func (g *ng) block(kind uint32, parts ...any) *ng {
	var body []byte
	for _, part := range parts {
		switch v := part.(type) {
		case uint16:
			body = g.order.AppendUint16(body, v)
		case uint32:
			body = g.order.AppendUint32(body, v)
		case uint64:
			body = g.order.AppendUint64(body, v)
		case []byte:
			body = append(body, v...)
			body = append(body, make([]byte, -len(v)&3)...)
		}
	}
	length := uint32(len(body) + 12)
	g.bytes = g.order.AppendUint32(g.bytes, kind)
	g.bytes = g.order.AppendUint32(g.bytes, length)
	g.bytes = append(g.bytes, body...)
	g.bytes = g.order.AppendUint32(g.bytes, length)
	return g
}

func (g *ng) section() *ng {
	return g.block(blockSection, uint32(orderMagic), uint16(1), uint16(0), uint64(math.MaxUint64))
}

// iface appends an Ethernet interface with options, each as a code, a length and bytes.
func (g *ng) iface(options ...any) *ng {
	return g.block(blockInterface, append([]any{uint16(ethernet), uint16(0), uint32(0)}, options...)...)
}

func (g *ng) enhanced(iface uint32, units uint64, captured, length uint32, options ...any) *ng {
	parts := []any{iface, uint32(units >> 32), uint32(units), captured, length, make([]byte, min(captured, 100))}
	return g.block(blockEnhanced, append(parts, options...)...)
}

func newNg(order binary.AppendByteOrder) *ng { return (&ng{order: order}).section() }

func option(code uint16, value ...byte) []any {
	return []any{code, uint16(len(value)), value}
}

func (g *ng) read(t *testing.T) ([]Packet, error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(g.bytes), "x")
	if err != nil {
		return nil, err
	}
	return readAll(t, r.Next)
}

func TestPcapngTimes(t *testing.T) {
	second := func(s, ns int64) time.Time { return time.Unix(s, ns).UTC() }
	tests := []struct {
		name    string
		options []any
		units   uint64
		want    time.Time
	}{
		{"microseconds by default", nil, 1700000000_123456, second(1700000000, 123456000)},
		{"milliseconds", option(optResolution, 3), 1700000000_123, second(1700000000, 123000000)},
		{"seconds", option(optResolution, 0), 1700000000, second(1700000000, 0)},
		{"nanoseconds", option(optResolution, 9), 1700000000_123456789, second(1700000000, 123456789)},
		{"picoseconds round down", option(optResolution, 12), 1700000_123456789_999, second(1700000, 123456789)},
		{"2^-20 s", option(optResolution, 0x80|20), 7<<20 + 1, second(7, 953)}, // 953.67 ns
		{"2^-32 s", option(optResolution, 0x80|32), 1700000000<<32 + 1<<31, second(1700000000, 500000000)},
		{"2^-63 s", option(optResolution, 0x80|63), 1<<63 + 1<<62, second(1, 500000000)},
		{"10^-19 s", option(optResolution, 19), 1_5000000000_000000000, second(1, 500000000)},
		{"offset", append(option(optResolution, 9), option(optOffset, 0, 0, 0, 0, 0, 0, 1, 0)...), 5, second(256, 5)},
		{"negative offset", append(option(optOffset, 255, 255, 255, 255, 255, 255, 255, 255), option(optEnd)...), 5_000001,
			second(4, 1000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			packets, err := newNg(binary.BigEndian).iface(tt.options...).enhanced(0, tt.units, 60, 60).read(t)
			if err != nil || len(packets) != 1 || !packets[0].Time.Equal(tt.want) {
				t.Errorf("%v, %v; want one packet at %v", packets, err, tt.want)
			}
		})
	}
}

func TestPcapngSections(t *testing.T) {
	// Each section has its own byte order and interfaces. Unknown blocks are skipped. Options of a packet follow its
	// padding.
	g := newNg(binary.LittleEndian).iface(option(optResolution, 9)...)
	g.block(0x0bad, make([]byte, 1000))
	g.enhanced(0, 1, 61, 61, option(1, []byte("a comment")...)...)
	g.order = binary.BigEndian
	g.section().iface().iface(option(optResolution, 0)...)
	g.enhanced(1, 2, 60, 70, append(option(optFlags, 0, 0, 0, 4<<5), option(optEnd)...)...)
	g.block(blockPacket, uint16(1), uint16(7), uint64(3), uint32(5), uint32(6), make([]byte, 5))
	packets, err := g.read(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []Packet{
		{Time: time.Unix(0, 1).UTC(), Data: make([]byte, 61), Len: 61},
		{Time: time.Unix(2, 0).UTC(), Data: make([]byte, 60), Len: 66},
		{Time: time.Unix(3, 0).UTC(), Data: make([]byte, 5), Len: 6},
	}
	if len(packets) != len(want) {
		t.Fatalf("%d packets, want %d", len(packets), len(want))
	}
	for i, p := range packets {
		if !p.Time.Equal(want[i].Time) || len(p.Data) != len(want[i].Data) || p.Len != want[i].Len {
			t.Errorf("packet %d: %v, want %v", i+1, p, want[i])
		}
	}
}

func TestDamagedPcapng(t *testing.T) {
	one := func() *ng { return newNg(binary.LittleEndian).iface().enhanced(0, 1, 60, 60) }
	const atInterface, atPacket = 28, 28 + 20
	patched := func(offset int, bytes ...byte) *ng { return &ng{bytes: with(one().bytes, offset, bytes...)} }
	le := binary.AppendByteOrder(binary.LittleEndian)
	tests := []struct {
		name string
		file *ng
		want string
	}{
		{"byte-order magic", patched(8, 1),
			"x: file header at byte 8: byte-order magic 01 3c 2b 1a, want 1a 2b 3c 4d in either order"},
		{"version", patched(12, 2), "x: file header at byte 12: pcapng version 2.0, want 1.0"},
		{"section length", patched(4, 24), "section header's length 24, want a multiple of 4 of at least 28"},
		{"block length below the least", patched(atInterface+4, 8),
			"x: packet 1 at byte 32: block length 8, want a multiple of 4 of at least 12"},
		{"block length of zero", patched(atInterface+4, 0), "block length 0, want"},
		{"block length not in words", patched(atInterface+4, 21), "block length 21, want"},
		{"block too short for its type", newNg(le).block(blockInterface, uint32(1)),
			"block length 16 leaves 4 bytes for the interface description, want at least 8"},
		{"lengths differ", patched(atInterface+16, 24),
			"x: packet 1 at byte 44: block length 24 at the block's end, want 20 as at its start (byte 32)"},
		{"hostile block length", patched(atInterface+4, 0xfc, 0xff, 0xff, 0xff), "the file ends after"},
		{"no such interface", patched(atPacket+8, 1),
			"x: packet 1 at byte 56: interface 1, but the section describes 1 so far"},
		{"packet before any interface", newNg(le).enhanced(0, 1, 60, 60), "interface 0, but the section describes 0 so far"},
		{"hostile captured length", patched(atPacket+20, 0xff, 0xff, 0xff, 0xff),
			"x: packet 1 at byte 68: captured length 4294967295, want at most 262144"},
		{"captured length above the block's", patched(atPacket+20, 61),
			"captured length 61, want at most the 60 bytes that are left of the block"},
		{"captured above original", patched(atPacket+24, 59), "captured length 60 is above the original length 59"},
		{"option beyond the block", newNg(le).iface(uint16(9), uint16(40), uint32(0)),
			"option 9 of 40 bytes, want at most the 4 that are left"},
		{"resolution", newNg(le).iface(option(optResolution, 20)...), "time resolution 0x14, want at most 10^-19 or 2^-63 s"},
		{"time too far", newNg(le).iface(option(optResolution, 0)...).enhanced(0, math.MaxUint64, 60, 60),
			"time outside the years 1970 to 9999"},
		{"time before 1970", newNg(le).iface(option(optOffset, 0, 0, 0, 0, 0, 0, 0, 0x80)...).enhanced(0, 1, 60, 60),
			"time outside the years 1970 to 9999"},
		{"simple packet", newNg(le).block(blockSimple, uint32(4), make([]byte, 4)),
			"a simple packet block, but the section describes no interface"},
		{"simple packet without its length", newNg(le).iface().block(blockSimple), "leaves 0 bytes for the packet's length"},
		{"cut simple packet", newNg(le).iface().block(blockSimple, uint32(90), make([]byte, 60)),
			"captured length 90, want at most the 60 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.file.read(t)
			var damage *Error
			if !errors.As(err, &damage) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestTooManyInterfaces(t *testing.T) {
	g := newNg(binary.LittleEndian)
	for range maxInterfaces + 1 {
		g.iface()
	}
	if _, err := g.read(t); err == nil || !strings.Contains(err.Error(), "more than 65536 interfaces") {
		t.Errorf("error %v, want one about the interfaces", err)
	}
}
