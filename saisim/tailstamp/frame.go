package tailstamp

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A Tail contains the result of [ReadTail]: the data after the IP datagram of a frame.
type Tail struct {
	Records []Record // oldest first
	Begin   int      // offset of the oldest record, or the frame's length if there is none
	// Skipped is the number of bytes that are neither padding to the minimum frame size nor a record. They may be
	// before the first record, between records, or after the last. Skipped is 0 if there is no record.
	Skipped int
}

// Decode returns the records after the datagram of a complete frame without FCS, oldest first, as [ReadTail] does.
// payloadEnd is the offset of the oldest: the length of the frame before the first stamp, including padding. It is
// len(frame) if there are none.
func Decode(frame []byte) (records []Record, payloadEnd int) {
	t := ReadTail(frame)
	return t.Records, t.Begin
}

// ReadTail finds the records after the IP datagram of a complete frame. No bytes inside the datagram are a record.
//
// Records are in their place if only records are between the padded datagram and the frame's end. Otherwise all bytes
// after the datagram are searched. If candidates overlap, it selects the combination with the most records, then with
// the most times between 1970 and 2106, then with the most adjoining records. A record has the flag [Searched] if bytes
// other than records are between it and the frame's end, or if another candidate overlaps it.
func ReadTail(frame []byte) Tail {
	none := Tail{Begin: len(frame)}
	end, ok := DatagramEnd(frame)
	if !ok || len(frame)-end < Size {
		return none
	}
	padded := max(end, paddedEnd(frame))
	var records []Record
	at := len(frame)
	for at-Size >= end {
		r, ok := V1{}.Decode(frame[at-Size : at])
		if !ok {
			break
		}
		records = append(records, r)
		at -= Size
	}
	if len(records) > 0 && at <= padded {
		slices.Reverse(records)
		return Tail{Records: records, Begin: at}
	}
	found := search(frame, end, padded)
	if len(found) == 0 {
		return none
	}
	t := Tail{Records: records[:0], Begin: found[0].at}
	last := min(padded, t.Begin)
	for _, c := range found {
		t.Skipped += c.at - last
		last = c.at + Size
		if c.at < at || c.overlapped {
			c.record.Flags |= Searched
		}
		t.Records = append(t.Records, c.record)
	}
	t.Skipped += len(frame) - last
	return t
}

// A candidate is a position at which 32 bytes can be read as a record.
type candidate struct {
	at         int
	record     Record
	overlapped bool // true if another candidate overlaps it
	score      uint64
	before     int // index of the candidate before it in the best choice that ends with it, or -1
}

// These are the scores of candidates in a selection among overlapping ones. A frame has fewer than 2^20 candidates.
const (
	adjoins = 1             // another record, the padded datagram, or the frame's end
	dated   = 1 << 20       // its times are between 1970 and 2106
	counted = dated * dated // it is a record
)

// search returns the records that begin at end or later, in order. It selects the candidates that do not overlap and
// have the greatest total score. The time is proportional to the number of bytes.
func search(frame []byte, end, padded int) []candidate {
	all := candidates(frame, end)
	best, free := -1, 0 // best choice among all[:free], which end before the current candidate
	last, most := -1, uint64(0)
	for i := range all {
		c := &all[i]
		for ; all[free].at+Size <= c.at; free++ {
			if best < 0 || all[free].score > all[best].score {
				best = free
			}
		}
		c.before, c.score = best, counted
		if best >= 0 {
			c.score += all[best].score
		}
		if adjoining := free - 1; adjoining >= 0 && all[adjoining].at+Size == c.at &&
			all[adjoining].score+counted+adjoins > c.score {
			c.before, c.score = adjoining, all[adjoining].score+counted+adjoins
		}
		if c.record.dated() {
			c.score += dated
		}
		if c.at <= padded {
			c.score += adjoins
		}
		if c.at+Size == len(frame) {
			c.score += adjoins
		}
		if c.score >= most {
			last, most = i, c.score
		}
	}
	var chosen []candidate
	for ; last >= 0; last = all[last].before {
		chosen = append(chosen, all[last])
	}
	slices.Reverse(chosen)
	return chosen
}

// candidates returns all positions from end on at which a record can be read.
func candidates(frame []byte, end int) (all []candidate) {
	const markAt = Size - 2
	for at := end; at+Size <= len(frame); at++ {
		n := bytes.IndexByte(frame[at+markAt:len(frame)-1], mark)
		if n < 0 {
			break
		}
		at += n
		r, ok := V1{}.Decode(frame[at : at+Size])
		if !ok {
			continue
		}
		c := candidate{at: at, record: r}
		if n := len(all); n > 0 && at-all[n-1].at < Size {
			c.overlapped, all[n-1].overlapped = true, true
		}
		all = append(all, c)
	}
	return all
}

// dated reports whether the record has an arrival time, and both times are before 2106, where 32 bits of seconds end.
func (r *Record) dated() bool {
	return r.Ingress.Seconds > 0 && r.Ingress.Seconds>>32 == 0 && r.Egress.Seconds>>32 == 0
}

// MaxTags is the maximum number of VLAN tags before the IP header.
const MaxTags = 4

// minFrame is the size without FCS to which an Ethernet frame is padded.
const minFrame = 60

// paddedEnd returns the end of the padding of a frame of the minimum size. A frame may have been padded before a switch
// added VLAN tags to it.
func paddedEnd(frame []byte) int {
	end := minFrame
	for at := 12; at+2 <= len(frame) && end < minFrame+4*MaxTags && tagged(frame[at:]); at += 4 {
		end += 4
	}
	return min(end, len(frame))
}

// tagged reports whether an EtherType is one of a VLAN tag.
func tagged(typ []byte) bool {
	t := binary.BigEndian.Uint16(typ)
	return t == 0x8100 || t == 0x88a8
}

// DatagramEnd returns the offset of the first byte after the IP datagram in an Ethernet II frame, skipping VLAN tags.
// ok is false if the frame is not a complete, well-formed IP datagram in Ethernet II. If by its length field the
// datagram ends after the frame, end is that offset.
//
// A length field of 0 is not a length: captures of offloading network cards contain it. Only IPv6 allows it, in a
// packet with no next header, and in a jumbogram (RFC 2675), whose length is in its first option header.
func DatagramEnd(frame []byte) (end int, ok bool) {
	switch ip, v6 := network(frame); {
	case ip == 0:
		return 0, false
	case v6:
		return ip6End(frame, ip)
	default:
		h := frame[ip:]
		head, total := int(h[0]&15)*4, int(binary.BigEndian.Uint16(h[2:]))
		return ip + total, total >= head && total <= len(h)
	}
}

// EndUnknown reports whether a frame has an IP header whose length cannot be right. The end of the datagram, and so the
// position of records, is then unknown.
func EndUnknown(frame []byte) bool {
	ip, _ := network(frame)
	_, whole := DatagramEnd(frame)
	return ip > 0 && !whole
}

// Shortened reports whether a frame ends before its IP datagram, for example because a mirror session truncated it.
func Shortened(frame []byte) bool {
	end, _ := DatagramEnd(frame)
	return end > len(frame) && EndUnknown(frame)
}

// network returns the offset of the complete IP header of a frame, after VLAN tags, and whether it is IPv6. The offset
// is 0 if there is none.
func network(frame []byte) (at int, v6 bool) {
	off := 12
	for n := 0; n < MaxTags && len(frame) >= off+2 && tagged(frame[off:]); n++ {
		off += 4
	}
	if len(frame) < off+2+20 {
		return 0, false
	}
	h := frame[off+2:]
	switch binary.BigEndian.Uint16(frame[off:]) {
	case 0x0800:
		if head := int(h[0]&15) * 4; h[0]>>4 == 4 && head >= 20 && head <= len(h) {
			return off + 2, false
		}
	case 0x86dd:
		if len(h) >= 40 && h[0]>>4 == 6 {
			return off + 2, true
		}
	}
	return 0, false
}

// ip6End implements DatagramEnd for a frame with a complete IPv6 header at an offset.
func ip6End(frame []byte, ip int) (int, bool) {
	const noNextHeader = 59
	h := frame[ip:]
	payload := int(binary.BigEndian.Uint16(h[4:]))
	if payload == 0 && h[6] != noNextHeader {
		if payload = jumbo(h); payload == 0 {
			return 0, false
		}
	}
	return ip + 40 + payload, payload <= len(h)-40
}

// jumbo returns the payload length in the Jumbo Payload option of an IPv6 packet, or 0 if there is no valid one.
func jumbo(packet []byte) int {
	const hopByHop, option, smallest = 0, 0xc2, 1 << 16
	b := packet[40:]
	if packet[6] != hopByHop || len(b) < 8 || len(b) < (int(b[1])+1)*8 {
		return 0
	}
	for b = b[2 : (int(b[1])+1)*8]; len(b) >= 2; {
		n := 2 + int(b[1])
		switch {
		case b[0] == 0: // Pad1
			n = 1
		case b[0] == option && n == 6 && len(b) >= n:
			if length := binary.BigEndian.Uint32(b[2:]); length >= smallest {
				return int(length)
			}
			return 0
		}
		b = b[min(n, len(b)):]
	}
	return 0
}
