package lab

import (
	"tamtam/lab/chance"
	"tamtam/saisim/truth"
)

// A flight is a frame on a link.
type flight struct {
	at   Time // of its start-of-frame delimiter at the far end
	id   uint64
	data []byte // without FCS; the buffer belongs to the wire
	len  int    // before a capture cut it
}

// A wire is one direction of a link. Its sender and its receiver may be worked
// on by two cores at once: what the sender puts into out in one window, the
// receiver takes in the next. So there are two of each, used in turn.
type wire struct {
	name     string // of the link
	from, to *end
	link     *link

	Impairment
	down               bool
	loss, jitter, more chance.Source // more: reordering and duplicates
	bad                bool          // the state of Burst
	last               Time          // when the frame before arrives: no jitter overtakes it

	oracle    *truth.Oracle // nil: none
	oracleEnd truth.End

	out      [2][]flight // not yet seen by the receiver, in order of sending
	used     [2][][]byte // buffers that the receiver is done with
	spare    [][]byte
	earliest Time // arrival in out

	flying []flight // seen by the receiver, in the order of arrival, from head on
	head   int

	stats     wireStats
	delivered uint64 // counted by the receiver
}

// wireStats count frames at the sender; only Delivered belongs to the receiver.
type wireStats struct {
	Sent                       uint64
	Down, Lost, Burst, Corrupt uint64 // not delivered
	Duplicated, Reordered      uint64
	byFlow                     [][numFates]uint64
}

// What happens to frames on a link.
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

// send takes a frame whose start-of-frame delimiter leaves at t. data is copied.
func (w *wire) send(side int, t Time, data []byte, length int, id uint64) {
	w.stats.Sent++
	if why := w.loses(); why >= 0 {
		w.tell(id, why)
		w.stats.byFlow[FlowOf(id)][why]++
		return
	}
	at := w.arrival(t)
	w.push(side, at, data, length, id)
	if hit(&w.more, w.Duplicate) {
		w.stats.Duplicated++
		w.stats.byFlow[FlowOf(id)][doubled]++
		if w.oracle != nil {
			w.oracle.LinkDoubled(id, w.oracleEnd)
		}
		w.push(side, at, data, length, id)
	}
}

// tell tells the oracle of a loss.
func (w *wire) tell(id uint64, why int) {
	if w.oracle != nil {
		w.oracle.LinkLost(id, w.oracleEnd, linkLossNames[why])
	}
}

// loses decides whether the frame is lost, and how; -1: it is not.
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
	if w.bad {
		p, change = w.Burst.LossBad, w.Burst.BadToGood
		if p == 0 {
			p = certain
		}
	}
	lost := hit(&w.loss, p)
	if hit(&w.loss, change) {
		w.bad = !w.bad
	}
	return lost
}

// arrival returns when a frame that leaves at t is at the far end.
func (w *wire) arrival(t Time) Time {
	at := t + w.Delay
	if m := uint64(w.Jitter.Max); m > 0 {
		switch w.Jitter.Distribution {
		case "normal":
			at += Time(w.jitter.Bell(m))
		case "exponential":
			at += Time(min(m, w.jitter.Exponential(m/8)))
		default:
			at += Time(w.jitter.Below(m + 1))
		}
		at = max(at, w.last)
	}
	if hit(&w.more, w.Reorder.Probability) {
		w.stats.Reordered++
		return at + w.Reorder.Delay
	}
	w.last = at
	return at
}

func (w *wire) push(side int, at Time, data []byte, length int, id uint64) {
	var b []byte
	if n := len(w.spare); n > 0 {
		b, w.spare = w.spare[n-1], w.spare[:n-1]
	}
	w.out[side] = append(w.out[side], flight{at, id, append(b[:0], data...), length})
	w.earliest = min(w.earliest, at)
}

// take moves what the sender has put into out to what is flying.
func (w *wire) take(side int) {
	out := w.out[side]
	if len(out) == 0 {
		return
	}
	if w.head > 0 && w.head >= len(w.flying)/2 {
		w.flying = w.flying[:copy(w.flying, w.flying[w.head:])]
		w.head = 0
	}
	for _, f := range out {
		w.flying = append(w.flying, f)
		for i := len(w.flying) - 1; i > w.head && w.flying[i-1].at > f.at; i-- {
			w.flying[i], w.flying[i-1] = w.flying[i-1], f
		}
	}
	w.out[side] = out[:0]
}

// next returns the frame that arrives first, if it does before t. It is flying
// until done.
func (w *wire) next(t Time) *flight {
	if w.head < len(w.flying) && w.flying[w.head].at < t {
		return &w.flying[w.head]
	}
	return nil
}

// done gives the buffer of the first frame back.
func (w *wire) done(side int) {
	w.used[side] = append(w.used[side], w.flying[w.head].data)
	w.flying[w.head].data = nil
	w.head++
}

// reuse takes back, at the sender, the buffers that the receiver gave back.
func (w *wire) reuse(side int) {
	w.spare = append(w.spare, w.used[side]...)
	clear(w.used[side])
	w.used[side] = w.used[side][:0]
}

// cut loses all frames that are on the wire: the link has failed. Nobody else
// works on the wire meanwhile.
func (w *wire) cut() {
	for side := range w.out {
		w.take(side)
	}
	for w.head < len(w.flying) {
		w.stats.Down++
		w.stats.byFlow[FlowOf(w.flying[w.head].id)][lostDown]++
		w.tell(w.flying[w.head].id, lostDown)
		w.done(0)
	}
	w.earliest = forever
}

// hit is true with probability p.
func hit(r *chance.Source, p Probability) bool { return p > 0 && r.Below(certain) < uint64(p) }
