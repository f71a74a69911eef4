package truth

import (
	"fmt"

	"tamtam/saisim"
	"tamtam/saisim/drop"
)

// Histories checks every moment of a chip against the rules of [saisim.What]: every frame and every copy has one
// complete history. It also keeps its own frame counts.
type Histories struct {
	frameCounts saisim.FrameCounts
	live        map[uint64]*history
	ended       map[uint64]int // ended copies of each frame, including the frame itself
	err         error
}

// A history is the history of a frame that has not ended.
type history struct {
	copies []copyHistory // copies[0] is the frame itself
	open   int           // copies that have not ended
}

type copyHistory struct {
	at            saisim.Cycle // cycle of its last moment
	ended, queued bool
}

// NewHistories returns a check. Its See is the function for SetObserver.
func NewHistories() *Histories {
	return &Histories{live: map[uint64]*history{}, ended: map[uint64]int{}}
}

// See checks a moment.
func (h *Histories) See(m saisim.Moment) {
	if h.err != nil {
		return
	}
	f := h.live[m.Number]
	if f == nil {
		f = &history{copies: make([]copyHistory, h.ended[m.Number])}
		for i := range f.copies { // copies whose record may still arrive
			f.copies[i].ended = true
		}
		h.live[m.Number] = f
	}
	if err := f.see(&m); err != nil {
		h.err = fmt.Errorf("frame %d (id %d), copy %d: %v at cycle %d: %w", m.Number, m.ID, m.Copy, m.What, m.At, err)
		return
	}
	if f.open == 0 {
		delete(h.live, m.Number)
		h.ended[m.Number] = len(f.copies)
	}
	h.count(&m)
}

func (h *Histories) count(m *saisim.Moment) {
	b := &h.frameCounts
	switch m.What {
	case saisim.MomentReceived:
		b.Received++
	case saisim.MomentInjected:
		b.Injected++
	case saisim.MomentSent:
		b.Sent++
	case saisim.MomentPunted:
		b.ToCPU++
	case saisim.MomentDropped:
		b.Dropped[m.Why]++
	}
}

func (f *history) see(m *saisim.Moment) error {
	n := int(m.Copy)
	// a report, which the chip does not make from a frame
	if n == 1 && len(f.copies) == 0 && m.What == saisim.MomentMirrored {
		f.copies = append(f.copies, copyHistory{at: m.At, ended: true})
	}
	if n == len(f.copies) {
		ok := n > 0 && (f.open > 0 || m.What == saisim.MomentMirrored)
		switch m.What {
		case saisim.MomentReceived, saisim.MomentInjected:
			ok = n == 0
		case saisim.MomentMirrored, saisim.MomentQueued, saisim.MomentPunted, saisim.MomentDropped, saisim.MomentTrimmed:
		default:
			ok = false
		}
		if !ok {
			return fmt.Errorf("it cannot begin so")
		}
		f.copies = append(f.copies, copyHistory{at: m.At})
		f.open++
	} else if m.What <= saisim.MomentInjected || m.What == saisim.MomentMirrored {
		return fmt.Errorf("it has begun already")
	}
	if n >= len(f.copies) {
		return fmt.Errorf("there are only %d", len(f.copies))
	}
	c := &f.copies[n]
	switch {
	case c.ended:
		return fmt.Errorf("it has ended")
	case m.At < c.at && (n > 0 || m.Why != drop.PortRemoved): // or it was still arriving at a port that is gone
		return fmt.Errorf("its last moment was at %d", c.at)
	}
	c.at = m.At
	return f.step(c, m)
}

func (f *history) step(c *copyHistory, m *saisim.Moment) error {
	switch m.What {
	case saisim.MomentReplicated:
		if m.Copy != 0 || int(m.Copies) != len(f.copies)-1 {
			return fmt.Errorf("as %d copies, there are %d", m.Copies, len(f.copies)-1)
		}
	case saisim.MomentQueued:
		if c.queued || m.Copy == 0 {
			return fmt.Errorf("it is in a queue, or no copy")
		}
		c.queued = true
		return nil
	case saisim.MomentDequeued:
		if !c.queued {
			return fmt.Errorf("it is in no queue")
		}
		c.queued = false
		return nil
	case saisim.MomentSent, saisim.MomentPunted:
		if c.queued || m.Copy == 0 {
			return fmt.Errorf("it is in a queue, or no copy")
		}
	case saisim.MomentDropped:
	default:
		return nil
	}
	c.ended = true
	f.open--
	return nil
}

// Check compares the counts with the chip's, and returns the first wrong moment if there was one.
func (h *Histories) Check(b saisim.FrameCounts) error {
	if h.err != nil {
		return h.err
	}
	got := h.frameCounts
	if got.Received != b.Received || got.Injected != b.Injected || got.Sent != b.Sent || got.ToCPU != b.ToCPU ||
		got.Dropped != b.Dropped {
		return fmt.Errorf("the histories add up to %+v, the books are %+v", got, b)
	}
	if b.InFlight == 0 && len(h.live) > 0 {
		return fmt.Errorf("%d frames have no end", len(h.live))
	}
	return nil
}
