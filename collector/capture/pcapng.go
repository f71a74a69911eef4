package capture

import (
	"encoding/binary"
	"math/bits"
	"time"
)

// Block types and the byte-order magic of pcapng (draft-ietf-opsawg-pcapng).
const (
	blockSection   = 0x0a0d0d0a // reads the same in both byte orders
	blockInterface = 1
	blockPacket    = 2 // obsolete, still written by old tools
	blockSimple    = 3
	blockEnhanced  = 6
	orderMagic     = 0x1a2b3c4d
)

// Options that are evaluated.
const (
	optEnd        = 0
	optResolution = 9  // option of an interface: units of its times
	optFCSLength  = 13 // option of an interface: length of the FCS
	optOffset     = 14 // of an interface: seconds to add to its times
	optFlags      = 2  // option of a packet: bits 5-8 are the length of its frame check sequence
)

// maxInterfaces limits the memory of a section.
const maxInterfaces = 65536

// maxSeconds limits times to four-digit years. Later ones indicate a damaged file.
const maxSeconds = 253402300800

// pcapng is the block-structured format. Blocks of other types are skipped.
type pcapng struct {
	order      binary.ByteOrder
	interfaces []pcapngInterface // interfaces of the current section
	buf        [20]byte
}

type pcapngInterface struct {
	linkType  uint32
	snap      uint32
	perSecond uint64 // units of the packets' times per second
	offset    int64  // added to the packets' times, in seconds
	fcs       int    // length of the frame check sequence in bytes
}

// block is the current block.
type block struct {
	kind   uint32
	at     int64  // offset of the block's first byte
	length uint32 // total length, as stated at the block's start
}

// rest returns the number of unread bytes of b's body.
func (b block) rest(s *source) int64 { return b.at + int64(b.length) - 4 - s.offset }

// newPcapng reads the first section header. Its block type was already read as the magic number.
func newPcapng(s *source) (*pcapng, error) {
	g := &pcapng{}
	return g, g.section(s, 0)
}

func (g *pcapng) next(r *Reader, into *Packet) (err error) {
	s := &r.src
	for {
		at := s.offset
		if err := s.read(g.buf[:4], "block type", true); err != nil {
			return err
		}
		b := block{kind: g.order.Uint32(g.buf[:]), at: at}
		if b.kind == blockSection {
			if err := g.section(s, at); err != nil {
				return err
			}
			continue
		}
		if err := g.length(s, &b); err != nil {
			return err
		}
		switch b.kind {
		case blockEnhanced, blockPacket, blockSimple:
			if b.kind == blockSimple {
				*into, err = g.simple(r, b)
			} else {
				*into, err = g.packet(r, b)
			}
			if err == nil {
				err = g.end(s, b)
			}
			return err
		case blockInterface:
			err = g.iface(s, b)
		}
		if err == nil {
			err = g.end(s, b)
		}
		if err != nil {
			return err
		}
	}
}

// length reads and checks b's total length.
func (g *pcapng) length(s *source, b *block) error {
	if err := s.read(g.buf[:4], "block length", false); err != nil {
		return err
	}
	b.length = g.order.Uint32(g.buf[:])
	if b.length < 12 || b.length%4 != 0 {
		return s.fail(b.at+4, "block length %d, want a multiple of 4 of at least 12", b.length)
	}
	return nil
}

// end skips the rest of b and checks the length repeated at its end.
func (g *pcapng) end(s *source, b block) error {
	if err := s.skip(b.rest(s), "block"); err != nil {
		return err
	}
	if err := s.read(g.buf[:4], "block length at the block's end", false); err != nil {
		return err
	}
	if again := g.order.Uint32(g.buf[:]); again != b.length {
		return s.fail(s.offset-4, "block length %d at the block's end, want %d as at its start (byte %d)",
			again, b.length, b.at+4)
	}
	return nil
}

// fixed reads the n bytes with which every block of b's type starts.
func (g *pcapng) fixed(s *source, b block, n int, what string) ([]byte, error) {
	if rest := b.rest(s); rest < int64(n) {
		return nil, s.fail(b.at+4, "block length %d leaves %d bytes for the %s, want at least %d", b.length, rest, what, n)
	}
	return g.buf[:n], s.read(g.buf[:n], what, false)
}

// section reads a section header whose block type was read at offset at. The section starts without interfaces, and may
// change the byte order.
func (g *pcapng) section(s *source, at int64) error {
	var head [8]byte
	if err := s.read(head[:], "section header", false); err != nil {
		return err
	}
	switch {
	case binary.LittleEndian.Uint32(head[4:]) == orderMagic:
		g.order = binary.LittleEndian
	case binary.BigEndian.Uint32(head[4:]) == orderMagic:
		g.order = binary.BigEndian
	default:
		return s.fail(at+8, "byte-order magic % x, want 1a 2b 3c 4d in either order", head[4:])
	}
	b := block{kind: blockSection, at: at, length: g.order.Uint32(head[:])}
	if b.length < 28 || b.length%4 != 0 {
		return s.fail(at+4, "section header's length %d, want a multiple of 4 of at least 28", b.length)
	}
	version, err := g.fixed(s, b, 12, "section header")
	if err != nil {
		return err
	}
	major, minor := g.order.Uint16(version), g.order.Uint16(version[2:])
	if major != 1 || (minor != 0 && minor != 2) {
		return s.fail(at+12, "pcapng version %d.%d, want 1.0", major, minor)
	}
	g.interfaces = g.interfaces[:0]
	return g.end(s, b)
}

// iface reads an interface description.
func (g *pcapng) iface(s *source, b block) error {
	if len(g.interfaces) == maxInterfaces {
		return s.fail(b.at, "more than %d interfaces in one section", maxInterfaces)
	}
	head, err := g.fixed(s, b, 8, "interface description")
	if err != nil {
		return err
	}
	in := pcapngInterface{
		linkType: uint32(g.order.Uint16(head)), snap: g.order.Uint32(head[4:]), perSecond: 1e6,
	}
	err = g.options(s, b, func(code uint16, at int64, value []byte) error {
		switch {
		case code == optResolution && len(value) == 1:
			per, ok := unitsPerSecond(value[0])
			if !ok {
				return s.fail(at, "time resolution %#02x, want at most 10^-19 or 2^-63 s", value[0])
			}
			in.perSecond = per
		case code == optOffset && len(value) == 8:
			in.offset = int64(g.order.Uint64(value))
		case code == optFCSLength && len(value) == 1:
			in.fcs = int(value[0])
			if in.fcs == 32 { // some writers state it in bits, most in bytes
				in.fcs = 4
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	g.interfaces = append(g.interfaces, in)
	return nil
}

// unitsPerSecond converts an if_tsresol: a negative power of 10, or of 2 if the top bit is set.
func unitsPerSecond(resolution byte) (uint64, bool) {
	exponent := resolution & 0x7f
	if resolution&0x80 != 0 {
		return 1 << (exponent & 63), exponent <= 63
	}
	if exponent > 19 {
		return 0, false
	}
	per := uint64(1)
	for range exponent {
		per *= 10
	}
	return per, true
}

// options reads b's options to their end, and calls use for those of at most 8 bytes. Longer ones (comments, names) are
// skipped.
func (g *pcapng) options(s *source, b block, use func(code uint16, at int64, value []byte) error) error {
	for b.rest(s) >= 4 {
		at := s.offset
		if err := s.read(g.buf[:4], "option", false); err != nil {
			return err
		}
		code, length := g.order.Uint16(g.buf[:]), int64(g.order.Uint16(g.buf[2:]))
		if code == optEnd {
			return nil
		}
		padded := (length + 3) &^ 3
		if rest := b.rest(s); padded > rest {
			return s.fail(at, "option %d of %d bytes, want at most the %d that are left of the block", code, length, rest)
		}
		if length > 8 {
			if err := s.skip(padded, "option"); err != nil {
				return err
			}
			continue
		}
		if err := s.read(g.buf[:padded], "option", false); err != nil {
			return err
		}
		if err := use(code, at, g.buf[:length]); err != nil {
			return err
		}
	}
	return nil
}

// packet reads an enhanced packet block, or an obsolete packet block, which has an interface number of a different
// size.
func (g *pcapng) packet(r *Reader, b block) (Packet, error) {
	s := &r.src
	head, err := g.fixed(s, b, 20, "packet's header")
	if err != nil {
		return Packet{}, err
	}
	index := g.order.Uint32(head)
	if b.kind == blockPacket {
		index = uint32(g.order.Uint16(head))
	}
	if int64(index) >= int64(len(g.interfaces)) {
		return Packet{}, s.fail(b.at+8, "interface %d, but the section describes %d so far", index, len(g.interfaces))
	}
	in := g.interfaces[index]
	when, ok := in.time(uint64(g.order.Uint32(head[4:]))<<32 | uint64(g.order.Uint32(head[8:])))
	if !ok {
		return Packet{}, s.fail(b.at+12, "time outside the years 1970 to 9999")
	}
	captured, length := g.order.Uint32(head[12:]), g.order.Uint32(head[16:])
	data, wire, err := g.data(r, b, in, b.at+20, captured, length)
	if err != nil {
		return Packet{}, err
	}
	fcs := in.fcs
	err = g.options(s, b, func(code uint16, _ int64, value []byte) error {
		if code == optFlags && len(value) == 4 {
			if n := int(g.order.Uint32(value)>>5) & 15; n > 0 {
				fcs = n
			}
		}
		return nil
	})
	if err != nil {
		return Packet{}, err
	}
	wire = max(0, wire-fcs)
	return Packet{Time: when, Data: data[:min(len(data), wire)], Len: wire}, nil
}

// data reads the captured bytes of a packet and their padding. at is the offset of their length.
func (g *pcapng) data(r *Reader, b block, in pcapngInterface, at int64, captured, length uint32,
) (data []byte, wire int, err error) {
	s := &r.src
	if err := checkLinkType(s, b.at, in.linkType); err != nil {
		return nil, 0, err
	}
	if padded := (int64(captured) + 3) &^ 3; padded > b.rest(s) && captured <= MaxCaptured {
		return nil, 0, s.fail(at, "captured length %d, want at most the %d bytes that are left of the block",
			captured, b.rest(s))
	}
	if data, wire, err = r.data(at, in.linkType, captured, length, 0); err != nil {
		return nil, 0, err
	}
	return data, wire, s.skip(-int64(captured)&3, "padding")
}

// simple reads a simple packet block: a packet of the section's first interface, without a time. Its captured length
// follows from the interface's snap length.
func (g *pcapng) simple(r *Reader, b block) (Packet, error) {
	s := &r.src
	r.simple = b.at
	head, err := g.fixed(s, b, 4, "packet's length")
	if err != nil {
		return Packet{}, err
	}
	if len(g.interfaces) == 0 {
		return Packet{}, s.fail(b.at, "a simple packet block, but the section describes no interface so far")
	}
	in := g.interfaces[0]
	length := g.order.Uint32(head)
	captured := length
	if in.snap > 0 {
		captured = min(captured, in.snap)
	}
	data, wire, err := g.data(r, b, in, b.at+8, captured, length)
	if err != nil {
		return Packet{}, err
	}
	wire = max(0, wire-in.fcs)
	return Packet{Data: data[:min(len(data), wire)], Len: wire}, nil
}

// time converts a packet's time, rounding down to the nanosecond.
func (in pcapngInterface) time(units uint64) (time.Time, bool) {
	seconds := units / in.perSecond
	if seconds >= maxSeconds || in.offset <= -maxSeconds || in.offset >= maxSeconds {
		return time.Time{}, false
	}
	total := int64(seconds) + in.offset
	hi, lo := bits.Mul64(units%in.perSecond, 1e9)
	nanoseconds, _ := bits.Div64(hi, lo, in.perSecond)
	return time.Unix(total, int64(nanoseconds)).UTC(), total >= 0 && total < maxSeconds
}
