package capture

import (
	"fmt"
	"time"
)

// lookAhead is the maximum number of packets by which a packet may be out of time order. Captures of several queues or
// interfaces swap neighbours. It bounds the memory.
const lookAhead = 256

// Sorted returns the packets of a capture in time order. Packets of the same time are in file order.
type Sorted struct {
	reader *Reader
	ahead  []*Packet // packets read ahead, the earliest first, from index head on
	head   int
	last   time.Time // time of the packet returned last
	lent   *Packet   // packet returned last, whose data the caller may still read
	free   []*Packet // packets for reuse
	end    error     // error that ended reading, io.EOF or another one
	err    error     // error that Next returns from now on
}

// NewSorted returns a Sorted for a reader. The caller must close the reader.
func NewSorted(r *Reader) *Sorted { return &Sorted{reader: r} }

// Next returns the next packet, or io.EOF after the last one. For a damaged capture it first returns the packets before
// the damage, then the error. A packet that is more than 256 packets late is an error too. After an error it returns
// the same error again. The data of a packet are valid until the next call.
func (s *Sorted) Next() (Packet, error) {
	p, err := s.next()
	if err != nil {
		return Packet{}, err
	}
	return *p, nil
}

// next does the same as Next. The packet is valid until the next call.
func (s *Sorted) next() (*Packet, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.lent != nil {
		s.free = append(s.free, s.lent)
		s.lent = nil
	}
	s.fill()
	if len(s.ahead) == s.head {
		s.err = s.end
		return nil, s.err
	}
	p := s.ahead[s.head]
	s.head++
	if p.Time.Before(s.last) {
		s.err = fmt.Errorf("%s: packet %d of %v comes more than %d packets too late: "+
			"sort the file by time first (reordercap does)", s.reader.Name(), p.Number, p.Time, lookAhead)
		return nil, s.err
	}
	s.last, s.lent = p.Time, p
	return p, nil
}

// fill reads ahead. It inserts a packet after all packets that are not later.
func (s *Sorted) fill() {
	if s.head == lookAhead { // moves the rest to the front after lookAhead packets
		s.ahead = s.ahead[:copy(s.ahead, s.ahead[s.head:])]
		s.head = 0
	}
	for s.end == nil && len(s.ahead)-s.head < lookAhead {
		p := s.spare()
		room := p.Data[:0]
		if s.end = s.reader.nextTimed(p); s.end != nil {
			return
		}
		p.Data = append(room, p.Data...) // the reader overwrites its own
		at := len(s.ahead)
		for at > s.head && p.Time.Before(s.ahead[at-1].Time) {
			at--
		}
		s.ahead = append(s.ahead, nil)
		copy(s.ahead[at+1:], s.ahead[at:])
		s.ahead[at] = p
	}
}

// spare returns a packet for reuse, or a new one.
func (s *Sorted) spare() *Packet {
	n := len(s.free)
	if n == 0 {
		return new(Packet)
	}
	p := s.free[n-1]
	s.free = s.free[:n-1]
	return p
}
