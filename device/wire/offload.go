package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// An offload describes the work that the kernel has left undone in a frame: struct virtio_net_hdr of Linux
// (if_packet.h, PACKET_VNET_HDR), in the machine's byte order.
type offload struct {
	flags     uint8
	gso       uint8  // kind of pieces that the frame must be cut into
	headers   uint16 // bytes of headers before the part that is cut; a hint
	size      uint16 // payload of one piece in bytes
	sumStart  uint16 // where the checksum begins that must be completed
	sumOffset uint16 // offset of the checksum from sumStart
}

const offloadBytes = 10

// longest is the length of the longest frame that the kernel delivers: an IP packet and its headers.
const longest = 1<<16 + 256

const (
	needsSum = 1 // in flags: the checksum covers the pseudo-header only

	gsoNone = 0
	gsoTCP4 = 1
	gsoTCP6 = 4
	gsoUDP  = 5    // datagrams, not fragments
	gsoECN  = 0x80 // only the first piece has CWR
)

func parseOffload(b []byte) offload {
	n := binary.NativeEndian
	return offload{b[0], b[1], n.Uint16(b[2:]), n.Uint16(b[4:]), n.Uint16(b[6:]), n.Uint16(b[8:])}
}

func (o offload) put(b []byte) {
	n := binary.NativeEndian
	b[0], b[1] = o.flags, o.gso
	n.PutUint16(b[2:], o.headers)
	n.PutUint16(b[4:], o.size)
	n.PutUint16(b[6:], o.sumStart)
	n.PutUint16(b[8:], o.sumOffset)
}

var errOffload = errors.New("the kernel's offload header does not fit the frame")

// complete computes the checksum that the kernel left undone.
func (o offload) complete(frame []byte) error {
	if o.flags&needsSum == 0 {
		return nil
	}
	start, at := int(o.sumStart), int(o.sumStart)+int(o.sumOffset)
	if start >= len(frame) || at+2 > len(frame) {
		return fmt.Errorf("%w: checksum from byte %d at byte %d of %d", errOffload, start, at, len(frame))
	}
	if o.sumOffset == sctpSum {
		// SCTP, possibly in a tunnel
		if h, err := parseIP(frame); err != nil || h.l4 != start || h.proto == protoSCTP {
			return completeSCTP(frame, start, at)
		}
	}
	sum := ^fold(add(0, frame[start:])) // includes the stored sum of the pseudo-header
	if sum == 0 && o.sumOffset == udpSum {
		sum = 0xffff // 0 would mean that there is no checksum
	}
	binary.BigEndian.PutUint16(frame[at:], sum)
	return nil
}

// completeSCTP computes the checksum of SCTP, which is a CRC32c, the low byte first (RFC 9260, Appendix A).
func completeSCTP(frame []byte, start, at int) error {
	if at+4 > len(frame) {
		return fmt.Errorf("%w: checksum of SCTP at byte %d of %d", errOffload, at, len(frame))
	}
	clear(frame[at : at+4])
	sum := crc32.Checksum(frame[start:], crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(frame[at:], sum)
	return nil
}

// cut makes the frames that a network card would make of a frame that the kernel left uncut. These are TCP segments
// or UDP datagrams with size bytes of payload, the last with the rest, and complete checksums. It appends them to to,
// one after another, and their lengths to lengths. In a packet with a tunnel, it cuts the inner one.
func (o offload) cut(frame, to []byte, lengths []int) ([]byte, []int, error) {
	outer, h, err := o.parse(frame)
	kind := o.gso &^ gsoECN
	switch {
	case err != nil:
		return to, lengths, err
	case kind == gsoTCP4 && (h.v6 || h.proto != protoTCP), kind == gsoTCP6 && (!h.v6 || h.proto != protoTCP),
		kind == gsoUDP && h.proto != protoUDP, kind != gsoTCP4 && kind != gsoTCP6 && kind != gsoUDP:
		return to, lengths, fmt.Errorf("%w: pieces of kind %d of a frame with IP protocol %d", errOffload, o.gso, h.proto)
	case o.size == 0:
		return to, lengths, fmt.Errorf("%w: pieces of no bytes", errOffload)
	case h.end-h.payload > int(o.size)*maxPieces:
		return to, lengths, fmt.Errorf("%w: %d bytes in pieces of %d are more than %d", errOffload, h.end-h.payload,
			o.size, maxPieces)
	}
	for i, rest := 0, frame[h.payload:h.end]; i == 0 || len(rest) > 0; i++ {
		n := min(int(o.size), len(rest))
		at := len(to)
		to = append(append(to, frame[:h.payload]...), rest[:n]...)
		rest = rest[n:]
		piece := to[at:]
		h.number(piece, i, i*int(o.size), len(rest) == 0)
		h.setSums(piece)
		if outer.ip != h.ip {
			outer.wrap(piece, i)
		}
		lengths = append(lengths, len(piece))
	}
	return to, lengths, nil
}

// parse finds the headers of the packet, and of the inner packet if that is what must be cut. Otherwise both results
// are equal.
func (o offload) parse(frame []byte) (outer, inner headers, err error) {
	if outer, err = parseIP(frame); err != nil {
		return outer, outer, err
	}
	inner = outer
	if l4 := int(o.sumStart); o.flags&needsSum == 0 || l4 == outer.l4 {
		err = inner.parseTransport(frame)
	} else {
		inner, err = outer.parseInner(frame, l4)
	}
	return outer, inner, err
}

// maxPieces is the largest number of pieces of one frame. The kernel's own bound is 65535 bytes in pieces of at least
// 8.
const maxPieces = 65536 / 8

// numberIP sets the fields of the i-th piece's IP header, except for its checksum.
func (h *headers) numberIP(piece []byte, i int) {
	ip := piece[h.ip:]
	if h.v6 {
		binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-ip6Header))
	} else {
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		binary.BigEndian.PutUint16(ip[4:], binary.BigEndian.Uint16(ip[4:])+uint16(i))
	}
}

// wrap sets the fields of the tunnel headers around the i-th piece, which is complete.
func (h *headers) wrap(piece []byte, i int) {
	h.numberIP(piece, i)
	h.setIPSum(piece)
	if h.proto != protoUDP {
		return
	}
	l4 := piece[h.l4:]
	binary.BigEndian.PutUint16(l4[4:], uint16(len(l4)))
	if l4[udpSum] != 0 || l4[udpSum+1] != 0 { // a tunnel may have no checksum
		h.setSums(piece)
	}
}

// number sets the fields of the headers of the i-th piece, whose payload begins offset bytes into the original.
func (h *headers) number(piece []byte, i, offset int, last bool) {
	h.numberIP(piece, i)
	l4 := piece[h.l4:]
	if h.proto == protoUDP {
		binary.BigEndian.PutUint16(l4[4:], uint16(len(l4)))
		return
	}
	binary.BigEndian.PutUint32(l4[4:], binary.BigEndian.Uint32(l4[4:])+uint32(offset))
	if !last {
		l4[13] &^= tcpFIN | tcpPSH
	}
	if i > 0 {
		l4[13] &^= tcpCWR
	}
}
