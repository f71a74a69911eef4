package wire

import (
	"bytes"
	"encoding/binary"
)

// A joiner joins consecutive TCP segments into one frame for the kernel to cut, as a network card does on receipt. The
// kernel's stack then handles a dozen frames at once. It joins only frames that the kernel would cut into exactly the
// same frames again. Their headers must be equal except for the numbers, their checksums correct, and no bytes may
// follow the packet. For example, a frame with a stamp is not joined.
type joiner struct {
	headers
	size   int  // bytes of payload of every piece but the last
	pieces int  // number of segments joined so far
	closed bool // nothing more can be joined
}

// maxJoined is the largest length of an IP packet, and so of a joined frame.
const maxJoined = 65535

// begin reports whether the frame may be the first of several.
func (j *joiner) begin(frame []byte) bool {
	h, err := parseHeaders(frame)
	*j = joiner{headers: h, size: h.end - h.payload, pieces: 1}
	const never = 0x27 // URG, RST, SYN and FIN end or change what follows
	if err != nil || h.proto != protoTCP || h.end != len(frame) || j.size == 0 || frame[h.l4+13]&never != 0 ||
		!h.v6 && h.l4 != h.ip+20 || !h.sumsRight(frame) {
		j.closed = true
		return false
	}
	j.closed = frame[h.l4+13]&(tcpPSH|tcpCWR) != 0
	return !j.closed
}

// join reports whether the frame continues the joined ones, and returns the bytes to append to them.
func (j *joiner) join(joined, frame []byte) ([]byte, bool) {
	n := len(frame) - j.payload
	if j.closed || n <= 0 || n > j.size || len(joined)+n > maxJoined || !j.follows(joined, frame) {
		return nil, false
	}
	j.closed = n < j.size || frame[j.l4+13]&tcpPSH != 0
	joined[j.l4+13] |= frame[j.l4+13] & tcpPSH
	j.pieces++
	return frame[j.payload:], true
}

// follows reports whether a frame has the headers of the next piece, and correct checksums.
func (j *joiner) follows(first, frame []byte) bool {
	a, b := first[:j.payload], frame[:j.payload]
	h := headers{j.ip, j.l4, j.payload, len(frame), j.v6, protoTCP}
	ip, seq := j.ip, j.l4+4
	if !bytes.Equal(a[:ip], b[:ip]) {
		return false
	}
	if j.v6 {
		if !bytes.Equal(a[ip:ip+4], b[ip:ip+4]) || int(binary.BigEndian.Uint16(b[ip+4:])) != len(frame)-ip-ip6Header ||
			!bytes.Equal(a[ip+6:seq], b[ip+6:seq]) {
			return false
		}
	} else if !bytes.Equal(a[ip:ip+2], b[ip:ip+2]) || int(binary.BigEndian.Uint16(b[ip+2:])) != len(frame)-ip ||
		binary.BigEndian.Uint16(b[ip+4:]) != binary.BigEndian.Uint16(a[ip+4:])+uint16(j.pieces) ||
		!bytes.Equal(a[ip+6:ip+10], b[ip+6:ip+10]) || !bytes.Equal(a[ip+12:seq], b[ip+12:seq]) {
		return false
	}
	want := binary.BigEndian.Uint32(a[seq:]) + uint32(j.pieces*j.size)
	return binary.BigEndian.Uint32(b[seq:]) == want && bytes.Equal(a[seq+4:seq+9], b[seq+4:seq+9]) &&
		b[seq+9]&^tcpPSH == a[seq+9]&^tcpPSH && bytes.Equal(a[seq+10:seq+12], b[seq+10:seq+12]) &&
		bytes.Equal(a[seq+14:], b[seq+14:]) && h.sumsRight(frame)
}

// finish turns joined into one frame, and returns the offload header that the kernel needs to cut it.
func (j *joiner) finish(joined []byte) offload {
	if j.pieces < 2 {
		return offload{}
	}
	o := offload{
		flags: needsSum, gso: gsoTCP4, headers: uint16(j.payload), size: uint16(j.size), sumStart: uint16(j.l4),
		sumOffset: tcpSum,
	}
	ip := joined[j.ip:]
	if j.v6 {
		o.gso = gsoTCP6
		binary.BigEndian.PutUint16(ip[4:], uint16(len(joined)-j.ip-ip6Header))
	} else {
		binary.BigEndian.PutUint16(ip[2:], uint16(len(joined)-j.ip))
		ip[10], ip[11] = 0, 0
		binary.BigEndian.PutUint16(ip[10:], ^fold(add(0, ip[:20])))
	}
	binary.BigEndian.PutUint16(joined[j.l4+tcpSum:], fold(j.pseudo(joined, len(joined)-j.l4)))
	return o
}
