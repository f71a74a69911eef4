package engine

import "encoding/binary"

// checksum returns the checksum of RFC 1071 of a header, a multiple of 4 bytes. The result is 0 for a header with a
// correct checksum.
func checksum(b []byte) uint16 {
	sum := uint64(0)
	for ; len(b) >= 8; b = b[8:] {
		x := binary.BigEndian.Uint64(b)
		sum += x>>32 + x&(1<<32-1)
	}
	if len(b) >= 4 {
		sum += uint64(binary.BigEndian.Uint32(b))
	}
	sum = sum>>32 + sum&(1<<32-1)
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return ^uint16(sum>>16 + sum)
}

// correct reports whether the checksum of an IPv4 header without options is correct.
func correct(ip []byte) bool {
	_ = ip[19]
	// The sum does not depend on the order of bytes.
	a, b, c := binary.LittleEndian.Uint64(ip), binary.LittleEndian.Uint64(ip[8:]), binary.LittleEndian.Uint32(ip[16:])
	sum := a>>32 + a&(1<<32-1) + b>>32 + b&(1<<32-1) + uint64(c)
	sum = sum>>32 + sum&(1<<32-1)
	sum = sum>>16 + sum&0xffff
	sum = sum>>16 + sum&0xffff
	return uint16(sum>>16+sum) == 0xffff
}

// fixChecksum updates the checksum of the IPv4 header b after a word of it has changed: HC' = ~(~HC + ~m + m'), RFC
// 1624.
func fixChecksum(b []byte, old, now uint16) { fixSum(b[10:], old, now) }

// fixSum updates the checksum at the start of b in the same way.
func fixSum(b []byte, old, now uint16) {
	sum := uint32(^binary.BigEndian.Uint16(b)) + uint32(^old) + uint32(now)
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(b, ^uint16(sum))
}

// decrementTTL decrements the TTL of an IPv4 header, which must not be 0. The word of the TTL falls by 0x100, so the
// checksum's sum in [fixSum] grows by a constant.
func decrementTTL(ip []byte) {
	ip[8]--
	sum := uint32(^binary.BigEndian.Uint16(ip[10:])) + 0xffff - 0x100
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
}

// changeWord changes a word of an IPv4 header. If the word keeps its value, the checksum stays as it is, right or
// wrong.
func changeWord(ip []byte, at int, v uint16) {
	if old := binary.BigEndian.Uint16(ip[at:]); old != v {
		binary.BigEndian.PutUint16(ip[at:], v)
		fixChecksum(ip, old, v)
	}
}

func putMAC(b []byte, m uint64) {
	binary.BigEndian.PutUint16(b, uint16(m>>32))
	binary.BigEndian.PutUint32(b[2:], uint32(m))
}
