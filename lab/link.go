package lab

import (
	"tamtam/lab/chance"
	"tamtam/saisim/truth"
)

// A flight is a frame on a link.
type flight struct {
	at   Time // arrival of its start-of-frame delimiter at the far end
	id   uint64
	data []byte // without FCS; the buffer belongs to the wire
	len  int    // length before a capture cut it
	late Time   // the part of the delay that is visible to the far end
}

// A wire is one direction of a link.
type wire struct {
	name     string // name of the link
	from, to *end
	link     *link

	Impairment
	down               bool
	loss, jitter, more chance.Source // more is for reordering and duplicates
	inBurst            bool          // true if Burst is in its bad state
	last               Time          // arrival of the frame before; jitter never lets a frame overtake it

	oracle    *truth.Oracle // nil if there is no oracle
	oracleEnd truth.End

	passage
	stats     wireStats
	delivered uint64 // counted by the receiver
}

// A passage holds the frames between a sender and a receiver, which two cores may work on at the same time. The
// receiver fetches in one window what the sender put into out in the window before. So out and used have two halves,
// which alternate.
type passage struct {
	out      [2][]flight // not yet seen by the receiver, in the order of sending
	spare    [][]byte
	earliest Time // earliest arrival of the frames in out
	posted   bool // set between switches, true once the sender has listed the wire for post

	flying []flight // seen by the receiver, in the order of arrival; the first is at head
	head   int
	used   [][]byte // buffers that the receiver has finished with
}

// wireStats count frames at the sender. Only Delivered belongs to the receiver.
type wireStats struct {
	Sent                       uint64
	Down, Lost, Burst, Corrupt uint64 // frames that were not delivered, by cause
	Duplicated, Reordered      uint64
	byFlow                     map[int]*[numFates]uint64 // only flow groups with a loss, duplicate or reordered frame
}

// Possible fates of frames on a link.
const (
	lostDown = iota
	lostRandom
	lostBurst
	lostCorrupt
	numLinkLosses
	doubled = numLinkLosses // not a loss: one frame more
)

const numFates = numLinkLosses + 1

var linkLossNames = [numLinkLosses]string{"link-down", "loss", "burst-loss", "corrupt"}

// note counts the fate of a frame.
func (s *wireStats) note(id uint64, fate int) {
	flow := FlowOf(id)
	fates := s.byFlow[flow]
	if fates == nil {
		if s.byFlow == nil {
			s.byFlow = map[int]*[numFates]uint64{}
		}
		fates = new([numFates]uint64)
		s.byFlow[flow] = fates
	}
	fates[fate]++
}

// send accepts a frame whose start-of-frame delimiter leaves at t. It copies data.
func (w *wire) send(side int, t Time, data []byte, length int, id uint64) {
	w.stats.Sent++
	if why := w.loses(); why >= 0 {
		w.report(id, why)
		w.stats.note(id, why)
		return
	}
	at, late := w.arrival(t)
	w.push(side, at, late, data, length, id)
	if hit(&w.more, w.Duplicate) {
		w.stats.Duplicated++
		w.stats.note(id, doubled)
		if w.oracle != nil {
			w.oracle.LinkDoubled(id, w.oracleEnd)
		}
		w.push(side, at, late, data, length, id)
	}
}

// report reports a loss to the oracle.
func (w *wire) report(id uint64, why int) {
	if w.oracle != nil {
		w.oracle.LinkLost(id, w.oracleEnd, linkLossNames[why])
	}
}

// loses decides whether the frame is lost. It returns the kind of loss, or -1 if it is delivered.
func (w *wire) loses() int {
	switch {
	case w.down:
		w.stats.Down++
		return lostDown
	case hit(&w.loss, w.Loss):
		w.stats.Lost++
		return lostRandom
	case w.Burst.GoodToBad > 0 && w.burst():
		w.stats.Burst++
		return lostBurst
	case hit(&w.loss, w.Corrupt):
		w.stats.Corrupt++
		return lostCorrupt
	}
	return -1
}

func (w *wire) burst() bool {
	p, change := w.Burst.LossGood, w.Burst.GoodToBad
	if w.inBurst {
		p, change = w.Burst.LossBad, w.Burst.BadToGood
		if p == 0 {
			p = certain
		}
	}
	lost := hit(&w.loss, p)
	if hit(&w.loss, change) {
		w.inBurst = !w.inBurst
	}
	return lost
}

// arrival returns the time at which a frame that leaves at t reaches the far end. late is the part of the delay that
// is visible to the far end.
func (w *wire) arrival(t Time) (at, late Time) {
	at = t + w.Delay
	if m := uint64(w.Jitter.Max); m > 0 {
		switch w.Jitter.Distribution {
		case "normal":
			at += Time(w.jitter.Normal(m))
		case "exponential":
			at += Time(min(m, w.jitter.Exponential(m/8)))
		default:
			at += Time(w.jitter.Below(m + 1))
		}
		at = max(at, w.last)
	}
	if hit(&w.more, w.Reorder.Probability) {
		w.stats.Reordered++
		if w.Reorder.Known {
			late = w.Reorder.Delay
		}
		return at + w.Reorder.Delay, late
	}
	w.last = at
	return at, 0
}

func (p *passage) push(side int, at, late Time, data []byte, length int, id uint64) {
	var b []byte
	if n := len(p.spare); n > 0 {
		b, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	p.out[side] = append(p.out[side], flight{at, id, append(b[:0], data...), length, late})
	p.earliest = min(p.earliest, at)
}

// dispatch moves the sent frames from out to flying.
func (p *passage) dispatch(side int) {
	out := p.out[side]
	if len(out) == 0 {
		return
	}
	if p.head > 0 && p.head >= len(p.flying)/2 {
		p.flying = p.flying[:copy(p.flying, p.flying[p.head:])]
		p.head = 0
	}
	for _, f := range out {
		p.flying = append(p.flying, f)
		for i := len(p.flying) - 1; i > p.head && p.flying[i-1].at > f.at; i-- {
			p.flying[i], p.flying[i-1] = p.flying[i-1], f
		}
	}
	p.out[side] = out[:0]
}

// next returns the frame that arrives first, if it arrives before t. The frame stays in flying until done is called.
func (p *passage) next(t Time) *flight {
	if p.head < len(p.flying) && p.flying[p.head].at < t {
		return &p.flying[p.head]
	}
	return nil
}

// done removes the first frame from flying, after it has been received.
func (p *passage) done() {
	p.used = append(p.used, p.flying[p.head].data)
	p.flying[p.head].data = nil
	p.head++
}

// reuse returns to the sender the buffers that the receiver has finished with. No other core works on the wire
// meanwhile.
func (p *passage) reuse() {
	p.spare = append(p.spare, p.used...)
	p.used = p.used[:0]
}

// cut drops all frames on the wire because the link has failed. No other core works on the wire meanwhile.
func (w *wire) cut() {
	for side := range w.out {
		w.dispatch(side)
	}
	for w.head < len(w.flying) {
		w.stats.Down++
		w.stats.note(w.flying[w.head].id, lostDown)
		w.report(w.flying[w.head].id, lostDown)
		w.done()
	}
	w.reuse()
}

// hit returns true with probability p.
func hit(r *chance.Source, p Probability) bool { return p > 0 && r.Below(certain) < uint64(p) }
