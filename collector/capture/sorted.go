package capture

import (
	"fmt"
	"time"
)

// lookAhead is how many packets of a capture may be out of their time order: captures of
// several queues or interfaces swap neighbours. It bounds the memory.
const lookAhead = 256

// Sorted gives the packets of a capture in the order of their times; those of one time in the
// order of the file.
type Sorted struct {
	reader *Reader
	ahead  []*Packet // read ahead, earliest first, from head on
	head   int
	last   time.Time // of the packet returned last
	lent   *Packet   // that packet, whose data the caller may still read
	free   []*Packet // to use again
	end    error     // what ended the reading, io.EOF or worse
	err    error     // what Next goes on returning
}

// NewSorted sorts a reader. Closing that stays the caller's task.
func NewSorted(r *Reader) *Sorted { return &Sorted{reader: r} }

// Next returns the next packet, or io.EOF after the last one. A damaged capture gives its
// packets before the damage first, then its error. A packet that comes more than 256 packets
// after its place is an error too. After an error it goes on returning the same. The data of a packet
// are valid until the next call.
func (s *Sorted) Next() (Packet, error) {
	if s.err != nil {
		return Packet{}, s.err
	}
	if s.lent != nil {
		s.free = append(s.free, s.lent)
		s.lent = nil
	}
	s.fill()
	if len(s.ahead) == s.head {
		s.err = s.end
		return Packet{}, s.err
	}
	p := s.ahead[s.head]
	s.head++
	if p.Time.Before(s.last) {
		s.err = fmt.Errorf("%s: packet %d of %v comes more than %d packets too late: "+
			"sort the file by time first (reordercap does)", s.reader.Name(), p.Number, p.Time, lookAhead)
		return Packet{}, s.err
	}
	s.last, s.lent = p.Time, p
	return *p, nil
}

// fill reads ahead. A packet goes after all those that are not later than it.
func (s *Sorted) fill() {
	if s.head == lookAhead { // move them to the front once in a while only
		s.ahead = s.ahead[:copy(s.ahead, s.ahead[s.head:])]
		s.head = 0
	}
	for s.end == nil && len(s.ahead)-s.head < lookAhead {
		p, err := s.reader.NextTimed()
		if err != nil {
			s.end = err
			return
		}
		at := len(s.ahead)
		for at > s.head && p.Time.Before(s.ahead[at-1].Time) {
			at--
		}
		s.ahead = append(s.ahead, nil)
		copy(s.ahead[at+1:], s.ahead[at:])
		s.ahead[at] = s.hold(p)
	}
}

// hold copies p, whose data the reader will overwrite.
func (s *Sorted) hold(p Packet) *Packet {
	var h *Packet
	if n := len(s.free); n > 0 {
		h, s.free = s.free[n-1], s.free[:n-1]
	} else {
		h = new(Packet)
	}
	p.Data = append(h.Data[:0], p.Data...)
	*h = p
	return h
}
