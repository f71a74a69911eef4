package wire

// A sender queues the frames for one interface and sends many with one system call. TCP segments that follow each
// other are joined.
type sender struct {
	parcel // being filled
	join   joiner
	mtu    int // of the interface
	out    *outlet
}

// A parcel is what is sent in one go.
type parcel struct {
	buf    []byte // of frames, each behind its offload header
	frames []queued
}

// A queued message is one frame, or several joined: bytes of buf.
type queued struct {
	from, to int
	frames   int
}

const (
	sendBatch = 64
	// parcelBytes is when what is queued is sent in any case. Half a long frame more is as much as a processor's cache
	// holds of it between the chip and the kernel.
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
	// The kernel asks no MTU of what it is to cut: what is too long goes as it is, for it to refuse.
	fits := len(frame) <= s.mtu+ethernetHeader ||
		len(frame) <= s.mtu+ethernetHeader+tagBytes && frame[12] == 0x81 && frame[13] == 0
	s.join.begin(frame)
	s.join.closed = s.join.closed || !fits
}

// finish closes the last message.
func (s *sender) finish(q *queued) {
	s.join.finish(s.buf[q.from+offloadBytes : q.to]).put(s.buf[q.from:])
}

// full says that it should be flushed.
func (s *sender) full() bool { return len(s.buf) >= parcelBytes }

// flush sends what is queued, a lot of it beside the caller, who goes on; but never out of order.
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
