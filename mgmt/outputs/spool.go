package outputs

import (
	"sync"
	"time"
)

// Bounds are those of a spool. What is beyond goes, the oldest first, and is counted.
type Bounds struct {
	Bytes int           // of all messages
	Age   time.Duration // for which one may wait
}

// DefaultBounds are those of an output that is told of no others.
func DefaultBounds() Bounds { return Bounds{Bytes: 4 << 20, Age: 15 * time.Minute} }

// overhead is what a message costs beside its bytes.
const overhead = 64

// A Message is what is sent as a whole or not at all.
type Message struct {
	At   time.Time // since when it waits
	Data []byte
}

// Losses are messages that were never sent, by reason.
type Losses struct{ Full, Old, Refused, TooLarge uint64 }

// Total is how many they are.
func (l Losses) Total() uint64 { return l.Full + l.Old + l.Refused + l.TooLarge }

// A Spool has what waits to be sent. Whoever puts never waits.
type Spool struct {
	mu     sync.Mutex
	bounds Bounds
	list   []Message // the oldest first
	bytes  int
	taken  bool // the first is being sent
	losses Losses
	ready  chan struct{}
}

// NewSpool returns an empty spool.
func NewSpool(b Bounds) *Spool { return &Spool{bounds: b, ready: make(chan struct{}, 1)} }

// Put adds a message, for which others may have to go.
func (s *Spool) Put(now time.Time, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := len(data) + overhead
	if size > s.bounds.Bytes {
		s.losses.TooLarge++
		return
	}
	s.expire(now)
	for s.bytes+size > s.bounds.Bytes && s.drop() {
		s.losses.Full++
	}
	if s.bytes+size > s.bounds.Bytes { // beside the one that is being sent there is no room
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

// drop takes out the oldest message that is not being sent.
func (s *Spool) drop() bool {
	i := 0
	if s.taken {
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

// expire takes out what has waited too long.
func (s *Spool) expire(now time.Time) {
	i := 0
	if s.taken {
		i = 1
	}
	for len(s.list) > i && now.Sub(s.list[i].At) > s.bounds.Age && s.drop() {
		s.losses.Old++
	}
}

// Take returns the oldest message, which stays until it is [Spool.Done] or [Spool.Back].
func (s *Spool) Take(now time.Time) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	if len(s.list) == 0 {
		return Message{}, false
	}
	s.taken = true
	return s.list[0], true
}

// Done takes out the message that was taken: it was sent, or the receiver does not want it.
func (s *Spool) Done(refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = false
	s.drop()
	if refused {
		s.losses.Refused++
	}
}

// Back leaves the message that was taken where it is: it was not sent.
func (s *Spool) Back() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = false
}

// Fill is how much waits: messages, their bytes, since when the oldest does, and what was lost. What is too old by now
// is lost.
func (s *Spool) Fill(now time.Time) (messages, bytes int, oldest time.Time, l Losses) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	if len(s.list) > 0 {
		oldest = s.list[0].At
	}
	return len(s.list), s.bytes - overhead*len(s.list), oldest, s.losses
}
