package lab

import (
	"math"

	"tamtam/collector/capture"
	"tamtam/saisim/truth"
)

const forever = Time(math.MaxInt64)

// A frame's id holds the number of its flow group in the upper 16 bits. Frames of the hosts' own have 0. The lower 48
// bits hold the time in ps at which its start-of-frame delimiter left the sender. So the receiver computes the delay
// without a list of frames. Delays of 281 s and more would wrap around.
const idTimeBits = 48

func frameID(flow uint64, t Time) uint64 { return flow<<idTimeBits | uint64(t)&(1<<idTimeBits-1) }

// FlowOf returns the number of a frame's flow group, from 1.
func FlowOf(id uint64) int            { return int(id >> idTimeBits) }
func delayOf(id uint64, at Time) Time { return Time((uint64(at) - id) & (1<<idTimeBits - 1)) }

// replyDelay is the time that a host needs to answer.
const replyDelay = 10 * Microsecond

// A station is a running host. Its MAC serialises frames exactly at the rate of its link. Frames that cannot be sent
// yet wait in an unbounded queue. A frame's delay begins when it leaves.
type station struct {
	host     *Host
	mac      MAC
	gateway  MAC
	up, down *wire // to its switch, and from it
	byte     Time  // duration of one byte on the wire
	free     Time  // time when the next preamble may begin

	sources []*source
	replies []reply // sorted by time
	scratch []byte

	truth           *truth.Node // nil if there is no oracle
	flows           []*arrivals // arrivals by flow group; nil if the group is not for this host
	sent, received  uint64
	stray           uint64   // number of frames for other hosts, received because they were flooded
	strays          []uint64 // strays by flow group
	answered        uint64
	sentCap, recCap *capture.Writer
	err             error
}

// A reply is a frame of the host's own, not of a traffic source.
type reply struct {
	at   Time
	data []byte
}

// first returns the source of the next frame, and when it may be sent. The source is nil if the next frame is a reply.
func (h *station) first() (s *source, at Time) {
	at = forever
	for _, x := range h.sources {
		if x.at < at {
			s, at = x, x.at
		}
	}
	if len(h.replies) > 0 && h.replies[0].at < at {
		return nil, h.replies[0].at
	}
	return s, at
}

// next returns when its next frame's start-of-frame delimiter leaves.
func (h *station) next() Time {
	_, at := h.first()
	if at == forever {
		return at
	}
	return max(at, h.free) + preambleSFD*h.byte
}

// send sends all frames whose start-of-frame delimiter leaves before t.
func (h *station) send(side int, t Time) error {
	for {
		s, at := h.first()
		if at == forever {
			return nil
		}
		sfd := max(at, h.free) + preambleSFD*h.byte
		if sfd >= t {
			return nil
		}
		var data []byte
		var length int
		var flow uint64
		if s == nil {
			data = h.replies[0].data
			length = len(data)
			h.replies = h.replies[1:]
		} else {
			data, length = s.frame(h.scratch)
			flow = s.flow
			s.sent++
			s.bytes += uint64(length + fcsLen)
		}
		h.free = sfd + Time(wireBytes(length)-preambleSFD)*h.byte
		h.sent++
		h.capture(h.sentCap, sfd, data, length)
		id := frameID(flow, sfd)
		if h.truth != nil {
			h.truth.Send(id, truthTime(sfd), data, length)
		}
		h.up.send(side, sfd, data, length, id)
		if s != nil {
			if err := s.prepare(); err != nil {
				return err
			}
		}
	}
}

// receive accepts the frames that arrive before t.
func (h *station) receive(side int, t Time) {
	h.down.dispatch(side)
	for f := h.down.next(t); f != nil; f = h.down.next(t) {
		h.frame(f)
		h.down.delivered++
		h.down.done()
	}
}

func (h *station) frame(f *flight) {
	h.received++
	h.capture(h.recCap, f.at, f.data, f.len)
	if h.truth != nil {
		h.truth.Arrive(f.id, truthTime(f.at), f.len)
	}
	flow := FlowOf(f.id)
	mine := len(f.data) >= 6 && (MAC(f.data[:6]) == h.mac || f.data[0]&1 == 1)
	if a := h.flows[flow]; a != nil && (mine || a.any) {
		a.add(f, delayOf(f.id, f.at))
		if h.host.Stamps {
			a.stamps.add(f.data, delayOf(f.id, f.at))
		}
	} else if flow != 0 {
		h.stray++
		h.strays[flow]++
	}
	if data := h.answer(f.data); data != nil {
		h.answered++
		h.say(f.at+replyDelay, data)
	}
}

// say queues a frame of the host's own.
func (h *station) say(at Time, data []byte) {
	h.replies = append(h.replies, reply{at, data})
	for i := len(h.replies) - 1; i > 0 && h.replies[i-1].at > at; i-- {
		h.replies[i], h.replies[i-1] = h.replies[i-1], h.replies[i]
	}
}

func (h *station) capture(w *capture.Writer, at Time, data []byte, length int) {
	if w == nil || h.err != nil {
		return
	}
	h.err = w.Write(timeOfRun(at), data, length)
}
