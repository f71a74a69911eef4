package collector

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"
)

// How long a [Joiner] waits for fragments. Whoever reads frames as they come has what stands behind them so much later.
const (
	CaptureWait = 30 * time.Second
	LiveWait    = 2 * time.Second
)

// Bounds of what a [Joiner] holds, whatever comes.
const (
	maxAssemblies  = 1024     // packets of which fragments are missing
	maxHeld        = 16 << 20 // bytes of fragments and of frames that wait behind them
	fragmentUnit   = 8        // bytes: offsets count these
	maxIPv4        = 65535    // bytes of a packet
	ipv4Header     = 20
	ipv6Header     = 40
	fragmentHeader = 8
	heldOverhead   = 256 // bytes that a held frame or packet costs beside its own
)

// A Joiner joins the fragments of IP packets. It gives the frames of one sender and receiver in the order in which the
// first fragment of each came, so that what carries numbers stays in order: a frame waits while fragments of one in
// front of it are missing. What the joiner holds is bounded in time, packets and bytes. It is for one goroutine.
type Joiner struct {
	wait    time.Duration
	packets map[fragmentKey]*assembly
	order   []*assembly // by their first fragments; the finished ones are removed when they come to the front
	queues  map[ends][]held
	held    int // bytes
	counts  JoinCounts
	out     []Joined

	fragment fragment // the last one
}

// JoinCounts are of frames that were fragments.
type JoinCounts struct {
	Fragments int64 // all
	Packets   int64 // that were joined
	// Unjoined are the fragments of packets that could not be joined, and Incomplete those packets: fragments are missing,
	// overlap with other bytes, or are longer than a packet can be.
	Unjoined, Incomplete int64
}

// Joined is a frame, or a packet that was joined from fragments, as a frame.
type Joined struct {
	Frame []byte
	At    time.Time // of the frame, or of its last fragment
	// Incomplete: only the beginning of the packet came. The lengths in its headers are those of this beginning.
	Incomplete bool
}

// ends are a sender and a receiver.
type ends struct{ from, to netip.Addr }

// A fragmentKey is common to the fragments of a packet.
type fragmentKey struct {
	ends
	protocol uint8 // 0 of IPv6
	id       uint32
}

// An assembly is a packet of which fragments have come.
type assembly struct {
	key       fragmentKey
	first, at time.Time // of the fragments
	head      []byte    // the frame up to the fragmentable part, of the fragment at 0; nil: it has not come
	network   int       // where the IP header stands in head
	body      []byte    // the fragmentable part so far
	have      []uint64  // bits for its units
	got       int       // bytes
	end       int       // length of body; -1: not known
	size      int       // bytes of head, body and have
	fragments int64
	bad       bool // it cannot be joined
	done      bool
	result    []byte // nil: nothing
}

// held is a frame that waits, or the place of a packet that is joined.
type held struct {
	frame  []byte
	at     time.Time
	packet *assembly // nil: frame
}

// NewJoiner returns a joiner that gives a packet up when its first fragment is older than this. Frames without a time
// do not age.
func NewJoiner(wait time.Duration) *Joiner {
	return &Joiner{wait: wait, packets: map[fragmentKey]*assembly{}, queues: map[ends][]held{}}
}

// Counts returns the counts so far. Packets of which fragments are missing still are not among the incomplete ones.
func (j *Joiner) Counts() JoinCounts { return j.counts }

// Add takes a whole frame that was captured at a time, and returns what is complete with it: mostly the frame itself.
// The result and the frames in it are valid until the next call.
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

// Flush gives up what is incomplete still, and returns what waited.
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

// hold puts a frame or a packet behind what waits of its sender and receiver, and gives up the oldest packets if that
// is too much.
func (j *Joiner) hold(pair ends, h held) {
	j.queues[pair] = append(j.queues[pair], h)
	j.held += len(h.frame) + heldOverhead
	j.shrink()
}

// shrink gives up the oldest packets while too much is held.
func (j *Joiner) shrink() {
	for len(j.order) > 0 && (len(j.order) > maxAssemblies || j.held > maxHeld) {
		j.giveUp(j.order[0])
	}
}

// fragment is what an IP header says of one.
type fragment struct {
	key     fragmentKey
	network int    // where the IP header stands
	head    int    // bytes in front of the fragmentable part, without a fragment header
	offset  int    // of the data
	last    bool   // no more follow
	data    []byte // up to the end of the packet
	next    int    // IPv6: where the number of the fragment header stands
	kind    uint8  // IPv6: what follows the fragment header
}

// parseFragment reads the IP header of a frame to f; false: it is no fragment, or its packet is not whole.
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

// piece puts a fragment to the others of its packet.
func (j *Joiner) piece(f *fragment, frame []byte, at time.Time) {
	a := j.packets[f.key]
	if a == nil {
		a = &assembly{key: f.key, first: at, end: -1}
		j.packets[f.key] = a
		j.order = append(j.order, a)
		j.hold(f.key.ends, held{packet: a})
	}
	if a.done { // given up for want of room
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

// add puts a fragment in its place. Fragments that overlap are refused unless they are equal there (RFC 5722).
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

// sound reports whether the length of a fragment is one that it may have.
func (f *fragment) sound() bool {
	if f.last {
		return len(f.data) > 0 || f.offset == 0
	}
	return len(f.data) > 0 && len(f.data)%fragmentUnit == 0
}

// beyond reports whether a fragment and what came before it do not agree on where the packet ends.
func (a *assembly) beyond(f *fragment, end int) bool {
	if f.last && (len(a.body) > end || a.end >= 0 && a.end != end) {
		return true
	}
	return a.end >= 0 && end > a.end
}

// join makes a frame of the first n bytes of the packet's body; nil: they are more than a packet can have.
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
	const flags = 0x3fff // more fragments, and the offset
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

// beginning makes a frame of what came of the packet up to the first gap, with the lengths that this has; nil: nothing.
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
	if d, ok := parseDatagram(frame); ok && d.protocol == protocolUDP && len(d.payload) >= 8 {
		binary.BigEndian.PutUint16(d.payload[4:], uint16(len(d.payload)))
		return frame
	}
	return nil
}

// giveUp ends a packet of which fragments are missing.
func (j *Joiner) giveUp(a *assembly) {
	j.counts.Incomplete++
	j.counts.Unjoined += a.fragments
	a.result = a.beginning()
	a.bad = true
	j.finish(a)
}

// finish releases what waited for a packet.
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
		case h.packet.result != nil:
			j.held -= len(h.packet.result)
			j.out = append(j.out, Joined{Frame: h.packet.result, At: h.packet.at, Incomplete: h.packet.bad})
		}
	}
	if j.queues[a.key.ends] = q; len(q) == 0 {
		delete(j.queues, a.key.ends)
	}
}

// Text says what could not be joined; "" if everything was.
func (c JoinCounts) Text() string {
	if c.Unjoined == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s could not be joined, since others are missing or contradict them: "+
		"what the rest had is not known", plural(c.Unjoined, "fragment"), plural(c.Incomplete, "packet"))
}
