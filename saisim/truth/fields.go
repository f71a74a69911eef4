package truth

import (
	"encoding/binary"
	"net/netip"
)

// fields holds the fields of a frame for filters and flow keys. Frames are parsed here and not by the chip's parser:
// the oracle must not share its mistakes.
type fields struct {
	smac, dmac      uint64
	etherType       uint16 // zero for 802.3
	vlan            uint16 // VLAN of the outer tag, or the port's native VLAN
	src, dst        netip.Addr
	ip, v4, v6      bool
	proto, tos, ttl uint8
	label           uint32
	transport
}

// transport holds the fields of the header after IP.
type transport struct {
	ports            bool
	sport, dport     uint16
	tcp              bool
	tcpFlags         uint8
	icmp             uint8 // 4 or 6; zero if it is not ICMP
	icmpType, icmpCo uint8
}

func be48(b []byte) uint64 {
	return uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}

// parse parses a frame, of which a capture may contain only the beginning. length is its complete length.
func (f *fields) parse(b []byte, length int, native uint16) {
	*f = fields{vlan: native}
	if len(b) < 14 {
		return
	}
	f.dmac, f.smac = be48(b), be48(b[6:])
	typ, off := binary.BigEndian.Uint16(b[12:]), 14
	for n := 0; n < 4 && (typ == 0x8100 || typ == 0x88a8) && len(b) >= off+4; n++ {
		if vid := binary.BigEndian.Uint16(b[off:]) & 0xfff; n == 0 && typ == 0x8100 && vid != 0 {
			f.vlan = vid
		}
		typ = binary.BigEndian.Uint16(b[off+2:])
		off += 4
	}
	if typ < 0x600 {
		return
	}
	f.etherType = typ
	switch typ {
	case 0x0800:
		f.ipv4(b[off:], length-off)
	case 0x86dd:
		f.ipv6(b[off:], length-off)
	}
}

func (f *fields) ipv4(b []byte, length int) {
	if len(b) < 20 || b[0]>>4 != 4 {
		return
	}
	header, total := 4*int(b[0]&15), int(binary.BigEndian.Uint16(b[2:]))
	if header < 20 || header > len(b) {
		return
	}
	if total < header || total > length { // the length is unknown
		total = length
	}
	f.ip, f.v4 = true, true
	f.tos, f.ttl, f.proto = b[1], b[8], b[9]
	f.src, f.dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	if fragment := binary.BigEndian.Uint16(b[6:]); fragment&0x1fff == 0 {
		f.l4(f.throughIFA(b[header:min(total, len(b))], fragment&0x2000 == 0))
	}
}

func (f *fields) ipv6(b []byte, length int) {
	if len(b) < 40 || b[0]>>4 != 6 {
		return
	}
	total := 40 + int(binary.BigEndian.Uint16(b[4:]))
	if total > length || total == 40 { // unknown, as for a jumbogram; or there is no payload
		total = length
	}
	word := binary.BigEndian.Uint32(b)
	f.ip, f.v6 = true, true
	f.tos, f.label, f.proto, f.ttl = uint8(word>>20), word&0xfffff, b[6], b[7]
	f.src, f.dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	b = f.throughIFA(b[40:min(total, len(b))], true)
	for {
		var size int
		switch f.proto {
		case 0, 43, 60, 135, 139, 140: // hop-by-hop, routing, destination, mobility, HIP, Shim6
			if len(b) < 8 {
				return
			}
			size = 8 * (1 + int(b[1]))
		case 51: // authentication header
			if len(b) < 8 {
				return
			}
			size = 4 * (2 + int(b[1]))
		case 44: // fragment
			if len(b) < 8 {
				return
			}
			if binary.BigEndian.Uint16(b[2:])&0xfff8 != 0 {
				f.proto = b[0]
				return
			}
			size = 8
		default:
			f.l4(b)
			return
		}
		if len(b) < size {
			return
		}
		f.proto, b = b[0], b[size:]
	}
}

// throughIFA returns the bytes after an IFA header, where TCP or UDP is, if b begins with one. A frame is thus in the
// same group with IFA and without. Header and stack must be complete, as switches require.
func (f *fields) throughIFA(b []byte, whole bool) []byte {
	if f.proto != 253 || !whole || len(b) < 4+8 || b[0]>>4 != 2 || b[2]&0b11001 != 0 {
		return b
	}
	transport := 0
	switch next := b[1]; {
	case next == 17:
		transport = 8
	case next == 6 && len(b) >= 4+20:
		transport = int(b[4+12]>>4) * 4
	}
	metadata := 4 + transport
	if transport < 8 || b[1] == 6 && transport < 20 || len(b) < metadata+4 || len(b) < metadata+4+4*int(b[metadata+3]) {
		return b
	}
	f.proto = b[1]
	return b[4:]
}

func (f *fields) l4(b []byte) {
	switch f.proto {
	case 6, 17, 33, 132, 136: // TCP, UDP, DCCP, SCTP, UDP-Lite
		if len(b) >= 4 {
			f.ports = true
			f.sport, f.dport = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
		}
		if f.proto == 6 && len(b) >= 20 {
			f.tcp, f.tcpFlags = true, b[13]
		}
	case 1, 58:
		if len(b) >= 2 && f.v4 == (f.proto == 1) {
			f.icmp, f.icmpType, f.icmpCo = 4, b[0], b[1]
			if f.v6 {
				f.icmp = 6
			}
		}
	}
}
