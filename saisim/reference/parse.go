package reference

import (
	"encoding/binary"
	"hash/crc32"

	"tamtam/saisim/config"
	"tamtam/saisim/tailstamp"
)

// A headers holds the result of parsing a frame. A part that is missing or malformed stays absent.
type headers struct {
	dmac, smac uint64 // 48 bits
	tags       []tag  // VLAN tags, outermost first
	at         int    // offset of the data after the tags and the EtherType
	ethernet2  bool   // has an EtherType, not an 802.3 length
	etherType  uint16 // EtherType after the tags
	arp        bool
	arpOp      uint16 // zero if it is absent
	ip         *ipHeader
	l4         *l4Header
	icmp       *icmpHeader
	ifa        *analysis // IFA metadata, already examined; nil if there is none
}

type tag struct{ tpid, tci uint16 }

// An ipHeader is a complete IPv4 or IPv6 header.
type ipHeader struct {
	version        int
	src, dst       [16]byte // an IPv4 address is in the last four bytes
	tos, ttl       uint8
	protocol       uint8 // protocol after the extension headers
	id             uint16
	flags          uint8  // IPv4: reserved, DF, MF
	flowLabel      uint32 // IPv6
	fragment       bool   // any fragment
	first, later   bool   // first fragment of several; later fragment
	record         bool   // a tail-stamp record ends the frame after the datagram
	at, head, size int    // offset of the header in the frame, its length, length of the datagram
	endless        bool   // the length field cannot be right: size extends to the end of the frame
	altMark        int    // offset of the byte with the bits of an AltMark option; zero if there is none
}

type l4Header struct {
	src, dst uint16
	at       int  // offset in the frame
	tcp      bool // a complete TCP header
	tcpFlags uint8
}

type icmpHeader struct{ typ, code uint8 }

// parse parses a frame. data is the captured part of it, and length the number of bytes before truncation. data holds
// at least the Ethernet header.
func parse(data []byte, length int) headers {
	h := headers{dmac: mac(data[0:6]), smac: mac(data[6:12])}
	typ := binary.BigEndian.Uint16(data[12:])
	at := 14
	for (typ == 0x8100 || typ == 0x88a8) && len(h.tags) < tailstamp.MaxTags && len(data) >= at+4 {
		h.tags = append(h.tags, tag{typ, binary.BigEndian.Uint16(data[at:])})
		typ = binary.BigEndian.Uint16(data[at+2:])
		at += 4
	}
	h.at = at
	if typ < 0x600 {
		return h
	}
	h.ethernet2, h.etherType = true, typ
	switch typ {
	case 0x0800:
		h.parseIPv4(data, at, length)
	case 0x86dd:
		h.parseIPv6(data, at, length)
	case 0x0806:
		h.arp = true
		if len(data) >= at+8 {
			h.arpOp = binary.BigEndian.Uint16(data[at+6:])
		}
	}
	h.parseIFA(data)
	return h
}

func mac(b []byte) (m uint64) {
	for _, x := range b {
		m = m<<8 | uint64(x)
	}
	return m
}

func (h *headers) parseIPv4(data []byte, at, length int) {
	b := data[at:]
	if len(b) < 20 || b[0]>>4 != 4 {
		return
	}
	head, size := int(b[0]&0xf)*4, int(binary.BigEndian.Uint16(b[2:]))
	if head < 20 || head > len(b) {
		return
	}
	endless := size < head || size > length-at
	if endless {
		size = length - at
	}
	fragment := binary.BigEndian.Uint16(b[6:])
	ip := &ipHeader{
		version: 4, tos: b[1], ttl: b[8], protocol: b[9], id: binary.BigEndian.Uint16(b[4:]),
		flags: uint8(fragment >> 13), fragment: fragment&0x3fff != 0,
		first: fragment&0x3fff == 0x2000, later: fragment&0x1fff != 0,
		at: at, head: head, size: size, endless: endless, record: endsWithRecord(data, at+size, length),
	}
	copy(ip.src[12:], b[12:16])
	copy(ip.dst[12:], b[16:20])
	h.ip = ip
	if !ip.later {
		h.parseL4(b[head:min(size, len(b))], at+head)
	}
}

func (h *headers) parseIPv6(data []byte, at, length int) {
	b := data[at:]
	if len(b) < 40 || b[0]>>4 != 6 {
		return
	}
	payload, size := int(binary.BigEndian.Uint16(b[4:])), length-at
	endless := payload > size-40 || payload == 0 && b[6] != 59 // 59 means that no header follows
	if !endless {
		size = 40 + payload
	}
	first := binary.BigEndian.Uint32(b)
	ip := &ipHeader{
		version: 6, tos: uint8(first >> 20), flowLabel: first & 0xfffff, protocol: b[6], ttl: b[7],
		src: [16]byte(b[8:24]), dst: [16]byte(b[24:40]),
		at: at, head: 40, size: size, endless: endless, record: endsWithRecord(data, at+size, length),
	}
	h.ip = ip
	h.parseExtensions(b[40:min(size, len(b))], at+40)
}

// parseExtensions walks the extension headers, which begin at offset from of the frame. If one cannot be read, protocol
// is that header's own number.
func (h *headers) parseExtensions(b []byte, from int) {
	ip := h.ip
	for {
		var size int
		switch ip.protocol {
		case 0, 43, 60, 135, 139, 140: // hop-by-hop, routing, destination options, mobility, HIP, shim6
			if len(b) < 8 {
				return
			}
			size = (int(b[1]) + 1) * 8
		case 51: // authentication header
			if len(b) < 8 {
				return
			}
			size = (int(b[1]) + 2) * 4
		case 44: // fragment
			if len(b) < 8 {
				return
			}
			size = 8
			word := binary.BigEndian.Uint16(b[2:])
			if word&0xfff8 != 0 {
				ip.fragment, ip.later, ip.protocol = true, true, b[0]
				return
			}
			if word&1 != 0 {
				ip.fragment, ip.first = true, true
			}
		default:
			h.parseL4(b, from)
			return
		}
		if len(b) < size {
			return
		}
		if options := ip.protocol == 0 || ip.protocol == 60; options && ip.altMark == 0 {
			if at := altMarkOption(b[:size]); at > 0 {
				ip.altMark = from + at
			}
		}
		ip.protocol, b, from = b[0], b[size:], from+size
	}
}

func (h *headers) parseL4(b []byte, at int) {
	switch h.ip.protocol {
	case 6, 17, 33, 132, 136: // TCP, UDP, DCCP, SCTP, UDP-Lite: ports first
		if len(b) >= 4 {
			h.l4 = &l4Header{at: at, src: binary.BigEndian.Uint16(b), dst: binary.BigEndian.Uint16(b[2:])}
		}
		if h.ip.protocol == 6 && len(b) >= 20 {
			h.l4.tcp, h.l4.tcpFlags = true, b[13]
		}
	case 1, 58:
		if len(b) >= 2 && (h.ip.protocol == 1) == (h.ip.version == 4) {
			h.icmp = &icmpHeader{b[0], b[1]}
		}
	}
}

// endsWithRecord reports whether a complete frame ends with a tail-stamp record that begins at or after the end of the
// datagram.
func endsWithRecord(data []byte, datagramEnd, length int) bool {
	at := length - tailstamp.Size
	if len(data) < length || at < datagramEnd {
		return false
	}
	_, ok := tailstamp.V1{}.Decode(data[at:])
	return ok
}

// without returns the headers with fields that a flow hash leaves out as 0.
func (h *headers) without(fields config.HashFields) *headers {
	of := *h
	if h.ip != nil {
		ip := *h.ip
		of.ip = &ip
	}
	if h.l4 != nil {
		l4 := *h.l4
		of.l4 = &l4
	}
	for bit := config.HashSrcIP; bit != 0; bit <<= 1 {
		switch fields & bit {
		case config.HashEtherType:
			of.etherType = 0
		case config.HashSrcMAC:
			of.smac = 0
		case config.HashDstMAC:
			of.dmac = 0
		case config.HashL4Src, config.HashL4Dst:
			if of.l4 != nil && bit == config.HashL4Src {
				of.l4.src = 0
			} else if of.l4 != nil {
				of.l4.dst = 0
			}
		case config.HashSrcIP, config.HashDstIP, config.HashProtocol:
			of.ip.leaveOut(bit)
		}
	}
	return &of
}

func (ip *ipHeader) leaveOut(field config.HashFields) {
	switch {
	case ip == nil:
	case field == config.HashSrcIP:
		ip.src = [16]byte{}
	case field == config.HashDstIP:
		ip.dst = [16]byte{}
	default:
		ip.protocol = 0
	}
}

// hashed returns the hash by which LAGs or next hop groups choose.
func (pk *packet) hashed(by config.Hashing, salt uint64) uint32 {
	of, start := pk.h.without(by.Without), uint64(by.Seed)<<32|salt
	if by.InPort {
		start ^= (1 + uint64(pk.in)) << 17
	}
	x, fields := of.flow(start)
	if by.Algorithm == config.HashCRC {
		return hashWords(x, fields)
	}
	data := binary.BigEndian.AppendUint64(nil, x)
	for _, f := range fields {
		data = binary.BigEndian.AppendUint64(data, f)
	}
	xor, ccitt := uint16(0), uint16(0xffff)
	for i := 0; i < len(data); i += 2 {
		xor ^= binary.BigEndian.Uint16(data[i:])
	}
	for _, b := range data {
		ccitt ^= uint16(b) << 8
		for range 8 {
			if top := ccitt&0x8000 != 0; top {
				ccitt = ccitt<<1 ^ 0x1021
			} else {
				ccitt <<= 1
			}
		}
	}
	switch by.Algorithm {
	case config.HashXOR:
		return uint32(xor)
	case config.HashCRC32Low:
		return crc32.ChecksumIEEE(data) & 0xffff
	case config.HashCRC32High:
		return crc32.ChecksumIEEE(data) >> 16
	case config.HashCRCCCITT:
		return uint32(ccitt)
	}
	return uint32(ccitt ^ xor)
}

// flow returns the start value and the fields of the flow hash in saisim/engine/hash.go. start is seed<<32 | salt<<16.
func (h *headers) flow(start uint64) (x uint64, fields []uint64) {
	fields = []uint64{h.dmac, h.smac}
	x = start ^ uint64(h.etherType)
	if ip := h.ip; ip != nil {
		x = start ^ uint64(ip.protocol)
		fields = []uint64{
			binary.BigEndian.Uint64(ip.src[:8]), binary.BigEndian.Uint64(ip.src[8:]),
			binary.BigEndian.Uint64(ip.dst[:8]), binary.BigEndian.Uint64(ip.dst[8:]),
		}
		if !ip.fragment {
			ports := uint64(0)
			if h.l4 != nil {
				ports = uint64(h.l4.src)<<16 | uint64(h.l4.dst)
			}
			fields = append(fields, ports)
		}
	}
	return x, fields
}

// hashWords returns the hash of saisim/engine/hash.go with start value x.
func hashWords(x uint64, words []uint64) uint32 {
	for _, f := range words {
		x = (x ^ f) * 0x9e3779b97f4a7c15
		x ^= x >> 32
	}
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return uint32(x >> 32)
}
