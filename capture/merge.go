package capture

import (
	"fmt"
	"io"
	"time"
)

// lookAhead is how many packets of one input may be out of their time order: captures of
// several queues or interfaces swap neighbours. It bounds a Merge's memory.
const lookAhead = 256

// Merge gives the packets of several captures in the order of their times. Equal times go
// by the order in which the inputs were given, then by their order in the file.
type Merge struct {
	inputs []*input
	last   time.Time // of the packet returned last
	given  *held     // that packet, whose buffer the caller may still read
	free   []*held   // buffers to use again
	err    error
}

// input is one capture with the packets read ahead from it, earliest first.
type input struct {
	reader *Reader
	ahead  []*held
	end    error // what ended it, io.EOF or worse
}

type held struct {
	packet Packet
	data   []byte
}

// NewMerge merges readers. Closing them stays the caller's task.
func NewMerge(readers ...*Reader) *Merge {
	m := &Merge{}
	for _, r := range readers {
		m.inputs = append(m.inputs, &input{reader: r})
	}
	return m
}

// Next returns the next packet of all inputs, with Input set, or io.EOF after the last one.
// A damaged input gives its packets before the damage first, then its error. A packet
// that comes more than 256 packets after its place in its file is an error too.
func (m *Merge) Next() (Packet, error) {
	if m.err != nil {
		return Packet{}, m.err
	}
	if m.given != nil {
		m.free = append(m.free, m.given)
		m.given = nil
	}
	first := -1
	for i, in := range m.inputs {
		m.fill(i)
		if len(in.ahead) == 0 {
			if in.end != io.EOF {
				m.err = in.end
				return Packet{}, m.err
			}
			continue
		}
		if first < 0 || in.ahead[0].packet.Time.Before(m.inputs[first].ahead[0].packet.Time) {
			first = i
		}
	}
	if first < 0 {
		m.err = io.EOF
		return Packet{}, m.err
	}
	in := m.inputs[first]
	h := in.ahead[0]
	copy(in.ahead, in.ahead[1:])
	in.ahead = in.ahead[:len(in.ahead)-1]
	if h.packet.Time.Before(m.last) {
		m.err = fmt.Errorf("%s: packet %d of %v comes more than %d packets too late: sort the file by time first (reordercap does)",
			in.reader.Name(), h.packet.Number, h.packet.Time, lookAhead)
		return Packet{}, m.err
	}
	m.last, m.given = h.packet.Time, h
	return h.packet, nil
}

// fill reads input i ahead. A packet goes after all those that are not later than it.
func (m *Merge) fill(i int) {
	in := m.inputs[i]
	for in.end == nil && len(in.ahead) < lookAhead {
		p, err := in.reader.Next()
		if err != nil {
			in.end = err
			return
		}
		h := m.hold(p)
		h.packet.Input = i
		at := len(in.ahead)
		for at > 0 && p.Time.Before(in.ahead[at-1].packet.Time) {
			at--
		}
		in.ahead = append(in.ahead, nil)
		copy(in.ahead[at+1:], in.ahead[at:])
		in.ahead[at] = h
	}
}

// hold copies p, whose data its reader will overwrite.
func (m *Merge) hold(p Packet) *held {
	var h *held
	if n := len(m.free); n > 0 {
		h, m.free = m.free[n-1], m.free[:n-1]
	} else {
		h = new(held)
	}
	h.data = append(h.data[:0], p.Data...)
	h.packet = p
	h.packet.Data = h.data
	return h
}
