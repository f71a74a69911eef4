package outputs

import (
	"sync"
	"time"
)

// Bounds are the limits of a spool. Messages beyond them are dropped, the oldest first, and counted.
type Bounds struct {
	Bytes int           // number of bytes of all messages
	Age   time.Duration // maximum time for which a message may wait
	// Latest means that each message contains all that the waiting ones do, and so takes their place.
	Latest bool
}

// DefaultBounds returns the default bounds of an output.
func DefaultBounds() Bounds { return Bounds{Bytes: 4 << 20, Age: 15 * time.Minute} }

// overhead is the assumed memory of a message in addition to its bytes.
const overhead = 64

// A Message is sent as a whole or not at all.
type Message struct {
	At   time.Time // arrival
	Data []byte
}

// Losses counts messages that were never sent, by reason.
type Losses struct{ Full, Old, Refused, TooLarge uint64 }

// Total returns the number of lost messages.
func (l Losses) Total() uint64 { return l.Full + l.Old + l.Refused + l.TooLarge }

// A Spool holds messages that wait to be sent. Put never blocks for a receiver.
type Spool struct {
	mu      sync.Mutex
	bounds  Bounds
	list    []Message // the oldest first
	bytes   int
	sending bool // true while the first message is being sent
	losses  Losses
	ready   chan struct{}
}

// NewSpool returns an empty spool.
func NewSpool(b Bounds) *Spool { return &Spool{bounds: b, ready: make(chan struct{}, 1)} }

// Put adds a message, and drops older ones if needed.
func (s *Spool) Put(now time.Time, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := len(data) + overhead
	if size > s.bounds.Bytes {
		s.losses.TooLarge++
		return
	}
	s.expire(now)
	for s.bounds.Latest && s.drop() {
	}
	for s.bytes+size > s.bounds.Bytes && s.drop() {
		s.losses.Full++
	}
	if s.bytes+size > s.bounds.Bytes { // the message does not fit beside the one that is being sent
		s.losses.Full++
		return
	}
	s.list = append(s.list, Message{now, data})
	s.bytes += size
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// drop removes the oldest message that is not being sent.
func (s *Spool) drop() bool {
	i := 0
	if s.sending {
		i = 1
	}
	if len(s.list) <= i {
		return false
	}
	s.bytes -= len(s.list[i].Data) + overhead
	if i == 1 {
		s.list[1] = s.list[0]
	}
	s.list[0] = Message{}
	s.list = s.list[1:]
	return true
}

// expire removes messages that have waited too long.
func (s *Spool) expire(now time.Time) {
	i := 0
	if s.sending {
		i = 1
	}
	for len(s.list) > i && now.Sub(s.list[i].At) > s.bounds.Age && s.drop() {
		s.losses.Old++
	}
}

// Next returns the oldest message. It stays in the spool until [Spool.Done] or [Spool.Back] is called.
func (s *Spool) Next(now time.Time) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	if len(s.list) == 0 {
		return Message{}, false
	}
	s.sending = true
	return s.list[0], true
}

// Done removes the message that Next returned: it was sent, or refused by the receiver.
func (s *Spool) Done(refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = false
	s.drop()
	if refused {
		s.losses.Refused++
	}
}

// Back keeps the message that Next returned: it was not sent.
func (s *Spool) Back() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = false
}

// Fill returns the number of waiting messages, their bytes, the arrival of the oldest, and the losses. It first drops
// messages that are too old.
func (s *Spool) Fill(now time.Time) (messages, bytes int, oldest time.Time, l Losses) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	if len(s.list) > 0 {
		oldest = s.list[0].At
	}
	return len(s.list), s.bytes - overhead*len(s.list), oldest, s.losses
}
