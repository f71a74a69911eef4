package engine

import "encoding/binary"

// checksum returns the checksum of RFC 1071. The result is 0 for a header with a correct checksum.
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
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
