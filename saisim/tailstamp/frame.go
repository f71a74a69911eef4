package tailstamp

import (
	"encoding/binary"
	"slices"
)

// Decode finds the records of the default format at the end of a whole frame
// without FCS, oldest first. payloadEnd is where the oldest begins: the length
// that the frame had before the first stamp (padding included), or len(frame)
// if there are none.
func Decode(frame []byte) (records []Record, payloadEnd int) { return DecodeAs(V1{}, frame) }

// DecodeAs is [Decode] for records of another format.
func DecodeAs(f Format, frame []byte) (records []Record, payloadEnd int) {
	payloadEnd = len(frame)
	end, ok := DatagramEnd(frame)
	if !ok {
		return nil, payloadEnd
	}
	for payloadEnd-f.Size() >= end {
		r, ok := f.Decode(frame[payloadEnd-f.Size() : payloadEnd])
		if !ok {
			break
		}
		records = append(records, r)
		payloadEnd -= f.Size()
	}
	slices.Reverse(records)
	return records, payloadEnd
}

// MaxTags is the number of VLAN tags that are looked through to find the IP
// header.
const MaxTags = 4

// DatagramEnd returns the offset of the first byte after the IP datagram in an
// Ethernet II frame (VLAN tags are skipped); false if the frame is no whole,
// well-formed IP datagram in Ethernet II.
func DatagramEnd(frame []byte) (end int, ok bool) {
	off := 12
	for range MaxTags + 1 {
		if len(frame) < off+2 {
			return 0, false
		}
		typ := binary.BigEndian.Uint16(frame[off:])
		if typ != 0x8100 && typ != 0x88a8 {
			return ipEnd(frame, off+2, typ)
		}
		off += 4
	}
	return 0, false
}

func ipEnd(frame []byte, off int, typ uint16) (int, bool) {
	h := frame[off:]
	switch {
	case typ == 0x0800 && len(h) >= 20 && h[0]>>4 == 4:
		head, total := int(h[0]&15)*4, int(binary.BigEndian.Uint16(h[2:]))
		return off + total, head >= 20 && total >= head && total <= len(h)
	case typ == 0x86dd && len(h) >= 40 && h[0]>>4 == 6:
		total := 40 + int(binary.BigEndian.Uint16(h[4:]))
		return off + total, total <= len(h)
	}
	return 0, false
}
