package wire

// A sender queues the frames for one interface and sends many with one system call. It joins consecutive TCP
// segments.
type sender struct {
	parcel // being filled
	join   joiner
	mtu    int // of the interface, in bytes
	out    *outlet
}

// A parcel holds messages that are sent together.
type parcel struct {
	buf    []byte // messages, each after its offload header
	frames []queued
}

// A queued message is a range of buf: one frame, or several joined ones.
type queued struct {
	from, to int
	frames   int
}

const (
	sendBatch = 64
	// parcelBytes is the size at which a parcel is sent in any case. Together with half a long frame, it fits into a
	// processor's cache between the chip and the kernel.
	parcelBytes = 128 << 10
)

// queue adds a frame.
func (s *sender) queue(frame []byte) {
	if last := len(s.frames) - 1; last >= 0 {
		q := &s.frames[last]
		if more, ok := s.join.join(s.buf[q.from+offloadBytes:], frame); ok {
			s.buf = append(s.buf, more...)
			q.to, q.frames = len(s.buf), q.frames+1
			return
		}
		s.finish(q)
	}
	from := len(s.buf)
	s.buf = append(append(s.buf, make([]byte, offloadBytes)...), frame...)
	s.frames = append(s.frames, queued{from, len(s.buf), 1})
	// The kernel checks no MTU for frames that it must cut. Frames that are too long are sent alone, so that it
	// rejects them.
	fits := len(frame) <= s.mtu+ethernetHeader ||
		len(frame) <= s.mtu+ethernetHeader+tagBytes && frame[12] == 0x81 && frame[13] == 0
	s.join.begin(frame)
	s.join.closed = s.join.closed || !fits
}

// finish completes the last message.
func (s *sender) finish(q *queued) {
	s.join.finish(s.buf[q.from+offloadBytes : q.to]).put(s.buf[q.from:])
}

// full reports whether the parcel should be flushed.
func (s *sender) full() bool { return len(s.buf) >= parcelBytes }

// flush sends the queued frames in order. A full parcel is sent in parallel to the caller.
func (s *sender) flush() {
	if len(s.frames) == 0 {
		return
	}
	s.finish(&s.frames[len(s.frames)-1])
	if s.full() || s.out.busy() {
		s.parcel = s.out.hand(s.parcel)
	} else {
		s.out.send(s.parcel)
	}
	s.buf, s.frames = s.buf[:0], s.frames[:0]
}
