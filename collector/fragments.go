package collector

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"tamtam/tam/ifa"
)

// The time for which a [Joiner] waits for fragments. Live frames after an incomplete packet are delayed by up to this
// time.
const (
	CaptureWait = 30 * time.Second
	LiveWait    = 2 * time.Second
)

// Limits of the state of a [Joiner].
const (
	maxAssemblies  = 1024     // maximum number of packets with missing fragments
	maxHeld        = 16 << 20 // maximum bytes of fragments and of frames that wait for earlier packets
	fragmentUnit   = 8        // offsets count units of 8 bytes
	maxIPv4        = 65535    // maximum bytes of a packet
	ipv4Header     = 20
	ipv6Header     = 40
	fragmentHeader = 8
	heldOverhead   = 256 // bytes of overhead per held frame or packet
)

// A Joiner reassembles fragmented IP packets. It returns the frames of a sender and receiver in the order of their
// first fragments, so that sequence numbers stay in order. A frame waits while an earlier packet is incomplete. The
// state of a joiner is limited in time, packets and bytes. It must be used by one goroutine only.
type Joiner struct {
	wait    time.Duration
	packets map[fragmentKey]*assembly
	order   []*assembly // assemblies by arrival of their first fragments; finished ones are removed at the front
	queues  map[ends][]held
	held    int // number of held bytes
	counts  JoinCounts
	out     []Joined

	fragment fragment // the last fragment
}

// JoinCounts counts frames that were fragments.
type JoinCounts struct {
	Fragments int64 // number of all fragments
	Packets   int64 // number of reassembled packets
	// Unjoined counts the fragments of packets that could not be reassembled, and Incomplete these packets. Fragments
	// are missing, overlap with different bytes, or exceed the maximum length of a packet.
	Unjoined, Incomplete int64
}

// Joined is a frame, or a reassembled packet as a frame.
type Joined struct {
	Frame []byte
	At    time.Time // time of the frame, or of the packet's last fragment
	// Incomplete means that fragments of the packet are missing. Frame is then its beginning, and the lengths in the
	// headers are those of this beginning. Frame is nil if the beginning is missing, or if fragments contradict each
	// other. The packet has this protocol, and its first fragment arrived at First.
	Incomplete bool
	Protocol   uint8
	First      time.Time
}

// ends holds the addresses of a sender and a receiver.
type ends struct{ from, to netip.Addr }

// A fragmentKey identifies the packet to which a fragment belongs.
type fragmentKey struct {
	ends
	protocol uint8 // zero for IPv6
	id       uint32
}

// An assembly is a packet that is being reassembled.
type assembly struct {
	key       fragmentKey
	protocol  uint8
	first, at time.Time // times of the first and the last fragment
	head      []byte    // frame of the fragment at offset 0 up to its fragmentable part; nil before it arrived
	network   int       // offset of the IP header in head
	body      []byte    // fragmentable part so far
	have      []uint64  // bit set of received units
	got       int       // number of received bytes
	end       int       // length of body, or -1 if unknown
	size      int       // bytes of head, body and have
	fragments int64
	bad       bool // true if the packet cannot be reassembled
	done      bool
	result    []byte // nil if there is no result
}

// held is an entry in the queue of a sender and receiver: a waiting frame, or a packet in reassembly.
type held struct {
	frame  []byte
	at     time.Time
	packet *assembly // nil for a frame
}

// NewJoiner returns a joiner that gives up a packet when its first fragment is older than wait. Frames without a time
// do not age.
func NewJoiner(wait time.Duration) *Joiner {
	return &Joiner{wait: wait, packets: map[fragmentKey]*assembly{}, queues: map[ends][]held{}}
}

// Counts returns the counters. Packets that still wait for fragments are not counted as incomplete.
func (j *Joiner) Counts() JoinCounts { return j.counts }

// Add adds a complete frame with its capture time, and returns all frames that are ready, usually the frame itself. It
// also returns the packets that it has given up. The result and its frames are valid until the next call.
func (j *Joiner) Add(frame []byte, at time.Time) []Joined {
	j.out = j.out[:0]
	if j.age(at); parseFragment(frame, &j.fragment) {
		j.counts.Fragments++
		j.piece(&j.fragment, frame, at)
		return j.out
	}
	if len(j.order) > 0 {
		if pair, ok := endsOf(frame); ok && len(j.queues[pair]) > 0 {
			j.hold(pair, held{frame: bytes.Clone(frame), at: at})
			return j.out
		}
	}
	j.out = append(j.out, Joined{Frame: frame, At: at})
	return j.out
}

// Flush gives up incomplete packets and returns all waiting frames.
func (j *Joiner) Flush() []Joined {
	j.out = j.out[:0]
	for len(j.order) > 0 {
		j.giveUp(j.order[0])
	}
	return j.out
}

// age gives up the packets whose first fragments are too old.
func (j *Joiner) age(now time.Time) {
	for len(j.order) > 0 && !now.IsZero() && !j.order[0].first.IsZero() && now.Sub(j.order[0].first) > j.wait {
		j.giveUp(j.order[0])
	}
}

// hold appends a frame or a packet to the queue of its sender and receiver. It gives up the oldest packets if the held
// frames exceed the limits.
func (j *Joiner) hold(pair ends, h held) {
	j.queues[pair] = append(j.queues[pair], h)
	j.held += len(h.frame) + heldOverhead
	j.shrink()
}

// shrink gives up the oldest packets while the held frames exceed the limits.
func (j *Joiner) shrink() {
	for len(j.order) > 0 && (len(j.order) > maxAssemblies || j.held > maxHeld) {
		j.giveUp(j.order[0])
	}
}

// fragment holds the fields of a fragment's IP header.
type fragment struct {
	key     fragmentKey
	network int    // offset of the IP header in the frame
	head    int    // bytes before the fragmentable part, without a fragment header
	offset  int    // offset of the data in the packet
	last    bool   // true if no more fragments follow
	data    []byte // data up to the end of the packet
	next    int    // IPv6 only: offset of the field with the number of the fragment header
	kind    uint8  // protocol of the packet; of IPv6 that after the fragment header
}

// copyHeaders is the number of bytes in an IP packet that have all headers of any mirror copy or report.
const copyHeaders = 40

// fragmentOfCopy reports whether a frame is a fragment of a mirror copy in GRE. If reports is true, it also looks for
// fragments of a terminator's report or of a packet with IFA. A fragment without the headers that would exclude it
// counts.
func fragmentOfCopy(frame []byte, reports bool) bool {
	var f fragment
	if !parseFragment(frame, &f) {
		return false
	}
	const udp = 8
	unknown := f.offset > 0 || len(f.data) < copyHeaders
	switch d := (&datagram{protocol: f.kind, payload: f.data}); {
	case f.kind == protocolGRE:
		_, ok := d.erspan()
		return ok || unknown
	case f.kind == ifa.Protocol && reports:
		return true
	case f.kind == protocolUDP && reports:
		return unknown || beginsReport(f.data[udp:])
	}
	return false
}

// parseFragment parses the IP header of a frame into f. It returns false if the packet is not a fragment or is
// truncated.
func parseFragment(frame []byte, f *fragment) bool {
	at, ok := networkOf(frame)
	if !ok {
		return false
	}
	*f = fragment{network: at}
	b := frame[at:]
	if len(b) >= ipv4Header && b[0]>>4 == 4 {
		return f.ipv4(b)
	}
	return len(b) >= ipv6Header && b[0]>>4 == 6 && f.ipv6(b)
}

func (f *fragment) ipv4(b []byte) bool {
	header, length, flags := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:])), binary.BigEndian.Uint16(b[6:])
	const more, offset = 0x2000, 0x1fff
	if flags&(more|offset) == 0 || header < ipv4Header || length < header || length > len(b) {
		return false
	}
	f.key = fragmentKey{ends{netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))}, b[9],
		uint32(binary.BigEndian.Uint16(b[4:]))}
	f.head, f.offset, f.last, f.data = f.network+header, int(flags&offset)*fragmentUnit, flags&more == 0, b[header:length]
	f.kind = b[9]
	return true
}

func (f *fragment) ipv6(b []byte) bool {
	length := ipv6Header + int(binary.BigEndian.Uint16(b[4:]))
	if length > len(b) {
		return false
	}
	b = b[:length]
	f.next = 6
	at := ipv6Header
	for b[f.next] != extFragment {
		switch b[f.next] {
		case extHopByHop, extRouting, extDestination:
		default:
			return false
		}
		if len(b) < at+8 {
			return false
		}
		f.next, at = at, at+8+8*int(b[at+1])
		if len(b) < at {
			return false
		}
	}
	if len(b) < at+fragmentHeader {
		return false
	}
	h := b[at:]
	bits := binary.BigEndian.Uint16(h[2:])
	f.key = fragmentKey{ends{netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))}, 0,
		binary.BigEndian.Uint32(h[4:])}
	f.head, f.offset, f.last, f.kind = f.network+at, int(bits&^7), bits&1 == 0, h[0]
	f.data = h[fragmentHeader:]
	f.next += f.network
	return true
}

// endsOf returns the addresses of the IP packet in a frame.
func endsOf(frame []byte) (ends, bool) {
	at, ok := networkOf(frame)
	switch b := frame[at:]; {
	case ok && len(b) >= ipv4Header && b[0]>>4 == 4:
		return ends{netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))}, true
	case ok && len(b) >= ipv6Header && b[0]>>4 == 6:
		return ends{netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))}, true
	}
	return ends{}, false
}

// piece adds a fragment to the assembly of its packet.
func (j *Joiner) piece(f *fragment, frame []byte, at time.Time) {
	a := j.packets[f.key]
	if a == nil {
		a = &assembly{key: f.key, protocol: f.kind, first: at, at: at, end: -1}
		j.packets[f.key] = a
		j.order = append(j.order, a)
		j.hold(f.key.ends, held{packet: a})
	}
	if a.done { // the packet was given up because of the limits
		j.counts.Unjoined++
		return
	}
	a.at = at
	a.fragments++
	a.add(f, frame)
	size := cap(a.body) + 8*cap(a.have) + len(a.head)
	j.held, a.size = j.held+size-a.size, size
	if a.end >= 0 && a.got == a.end && a.head != nil && !a.bad {
		if a.result = a.join(a.end); a.result != nil {
			j.counts.Packets++
			j.finish(a)
			return
		}
		a.bad = true
	}
	j.shrink()
}

// add copies a fragment into place. Overlapping fragments are refused unless the overlap is equal (RFC 5722).
func (a *assembly) add(f *fragment, frame []byte) {
	end := f.offset + len(f.data)
	if a.bad = a.bad || end > maxIPv4 || !f.sound() || a.beyond(f, end); a.bad {
		return
	}
	if f.last {
		a.end = end
	}
	if len(a.body) < end {
		a.body = append(a.body, make([]byte, end-len(a.body))...)
	}
	for len(a.have)*64*fragmentUnit < end {
		a.have = append(a.have, 0)
	}
	for at := f.offset; at < end; at += fragmentUnit {
		n := min(fragmentUnit, end-at)
		piece, place := f.data[at-f.offset:][:n], a.body[at:][:n]
		unit := at / fragmentUnit
		if a.have[unit/64]>>(unit%64)&1 == 0 {
			a.have[unit/64] |= 1 << (unit % 64)
			a.got += n
			copy(place, piece)
		} else if !bytes.Equal(place, piece) {
			a.bad = true
			return
		}
	}
	if f.offset == 0 && a.head == nil {
		a.head, a.network = bytes.Clone(frame[:f.head]), f.network
		if f.next > 0 {
			a.head[f.next] = f.kind
		}
	}
}

// sound reports whether the length of a fragment is valid.
func (f *fragment) sound() bool {
	if f.last {
		return len(f.data) > 0 || f.offset == 0
	}
	return len(f.data) > 0 && len(f.data)%fragmentUnit == 0
}

// beyond reports whether a fragment contradicts earlier fragments about the end of the packet.
func (a *assembly) beyond(f *fragment, end int) bool {
	if f.last && (len(a.body) > end || a.end >= 0 && a.end != end) {
		return true
	}
	return a.end >= 0 && end > a.end
}

// join returns a frame with the first n bytes of the packet's body, or nil if the packet would be too long.
func (a *assembly) join(n int) []byte {
	frame := append(a.head[:len(a.head):len(a.head)], a.body[:n]...)
	ip := frame[a.network:]
	if ip[0]>>4 == 6 {
		if len(ip)-ipv6Header > maxIPv4 {
			return nil
		}
		binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-ipv6Header))
		return frame
	}
	if len(ip) > maxIPv4 {
		return nil
	}
	const flags = 0x3fff // mask: more fragments, and the offset
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[6:], binary.BigEndian.Uint16(ip[6:])&^flags)
	ip[10], ip[11] = 0, 0
	sum := uint32(0)
	for i := 0; i < len(a.head)-a.network; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum))
	return frame
}

// beginning returns a frame with the received part of the packet up to the first gap, with adjusted lengths. It returns
// nil if there is none, if it is neither UDP nor GRE, or if it has not all headers of a copy.
func (a *assembly) beginning() []byte {
	if a.head == nil || a.bad {
		return nil
	}
	n := 0
	for n < len(a.body) && a.have[n/fragmentUnit/64]>>(n/fragmentUnit%64)&1 == 1 {
		n += fragmentUnit
	}
	n = min(n, len(a.body))
	frame := a.join(n)
	d, ok := parseDatagram(frame)
	switch {
	case ok && d.protocol == protocolGRE && len(d.payload) >= copyHeaders:
		return frame
	case ok && d.protocol == protocolUDP && len(d.payload) >= 8:
		binary.BigEndian.PutUint16(d.payload[4:], uint16(len(d.payload)))
		return frame
	}
	return nil
}

// giveUp ends a packet with missing fragments.
func (j *Joiner) giveUp(a *assembly) {
	j.counts.Incomplete++
	j.counts.Unjoined += a.fragments
	a.result = a.beginning()
	a.bad = true
	j.finish(a)
}

// finish releases the frames that waited for a packet.
func (j *Joiner) finish(a *assembly) {
	a.done = true
	j.held += len(a.result) - a.size
	a.head, a.body, a.have = nil, nil, nil
	delete(j.packets, a.key)
	for len(j.order) > 0 && j.order[0].done {
		j.order = j.order[1:]
	}
	q := j.queues[a.key.ends]
	for len(q) > 0 && (q[0].packet == nil || q[0].packet.done) {
		h := q[0]
		q = q[1:]
		j.held -= len(h.frame) + heldOverhead
		switch {
		case h.packet == nil:
			j.out = append(j.out, Joined{Frame: h.frame, At: h.at})
		default:
			p := h.packet
			j.held -= len(p.result)
			j.out = append(j.out, Joined{Frame: p.result, At: p.at, Incomplete: p.bad, Protocol: p.protocol, First: p.first})
		}
	}
	if j.queues[a.key.ends] = q; len(q) == 0 {
		delete(j.queues, a.key.ends)
	}
}

// Text describes the fragments that could not be reassembled, or returns "" if there are none.
func (c JoinCounts) Text() string {
	if c.Unjoined == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s could not be joined, since others are missing or contradict them: "+
		"what the rest had is not known", plural(c.Unjoined, "fragment"), plural(c.Incomplete, "packet"))
}
