package wire

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A sender queues the frames for one interface and sends many with one system call. TCP segments that follow each
// other are joined.
type sender struct {
	fd     int
	buf    []byte // of frames, each behind its offload header
	frames []queued
	join   joiner
	mtu    int // of the interface
	vec    [sendBatch]unix.Iovec
	msgs   [sendBatch]mmsghdr
}

// A queued message is one frame, or several joined: bytes of buf.
type queued struct {
	from, to int
	frames   int
}

// mmsghdr is Linux's struct mmsghdr.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
	_   [4]byte
}

const (
	sendBatch = 64
	// sendBuffer is when what is queued is sent in any case.
	sendBuffer = 1 << 20
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
func (s *sender) full() bool { return len(s.buf) >= sendBuffer }

// flush sends what is queued, and tells what the interface does not take.
func (s *sender) flush(lost func(frames, bytes int, err error)) {
	if len(s.frames) == 0 {
		return
	}
	s.finish(&s.frames[len(s.frames)-1])
	for rest := s.frames; len(rest) > 0; {
		n, err := s.sendSome(rest[:min(sendBatch, len(rest))])
		if err != nil {
			if q := rest[n]; err != unix.EINTR {
				lost(q.frames, q.to-q.from-offloadBytes, err)
				n++
			}
		}
		rest = rest[n:]
	}
	s.buf, s.frames = s.buf[:0], s.frames[:0]
}

// discard forgets what is queued, and tells of it.
func (s *sender) discard(lost func(frames, bytes int)) {
	for _, q := range s.frames {
		lost(q.frames, q.to-q.from-offloadBytes)
	}
	s.buf, s.frames = s.buf[:0], s.frames[:0]
}

// sendSome sends up to sendBatch messages, and says how many went out before one failed.
func (s *sender) sendSome(some []queued) (int, error) {
	for i, q := range some {
		s.vec[i].Base = &s.buf[q.from]
		s.vec[i].SetLen(q.to - q.from)
		s.msgs[i].hdr.Iov = &s.vec[i]
		s.msgs[i].hdr.SetIovlen(1)
	}
	n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.msgs)), uintptr(len(some)),
		unix.MSG_DONTWAIT, 0, 0)
	switch {
	case errno == 0:
		return int(n), nil
	case errno == unix.ENETDOWN: // may be outdated: the socket reports once that the link was down
		n, _, errno = unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.msgs)),
			uintptr(len(some)), unix.MSG_DONTWAIT, 0, 0)
		if errno == 0 {
			return int(n), nil
		}
	}
	return 0, errno
}
