package reference

import (
	"math/big"

	"tamtam/saisim"
)

// Bytes on the wire, as in Ethernet: preamble with start-of-frame delimiter, frame check sequence, inter-packet gap,
// and the smallest frame with its FCS.
const (
	preamble = 8
	fcs      = 4
	gap      = 12
	smallest = 64
)

// A wire is one direction of a port's line. Time on it is exact: a rational number of cycles. The ingress MAC counts
// from timestamp point to timestamp point (the end of the SFD), the egress MAC from preamble to preamble.
type wire struct {
	lead     int      // bytes from the counted point to the timestamp point
	byteTime *big.Rat // cycles
	free     *big.Rat // earliest counted point of the next frame
}

func newWire(lead int) *wire { return &wire{lead: lead, free: new(big.Rat)} }

// setSpeed changes the speed. Frames on the wire continue, and the next frame waits for the next whole cycle.
func (w *wire) setSpeed(clockHz uint64, mbps uint32) {
	bits := new(big.Rat).SetUint64(clockHz * 8)
	w.byteTime = bits.Quo(bits, new(big.Rat).SetUint64(uint64(mbps)*1_000_000))
	w.free = cycle(ceil(w.free))
}

// later returns the time n bytes after t.
func (w *wire) later(t *big.Rat, n int) *big.Rat {
	d := new(big.Rat).SetInt64(int64(n))
	return d.Add(d.Mul(d, w.byteTime), t)
}

// put puts a frame of n bytes without FCS on the wire, its point not before the given time. It returns its timestamp
// point and its end.
func (w *wire) put(point *big.Rat, n int) (sfd, end *big.Rat) {
	if point.Cmp(w.free) < 0 {
		point = w.free
	}
	sfd = w.later(point, w.lead)
	end = w.later(sfd, max(n+fcs, smallest))
	w.free = w.later(end, gap+preamble-w.lead)
	return sfd, end
}

func cycle(c saisim.Cycle) *big.Rat { return new(big.Rat).SetUint64(uint64(c)) }

// floor returns the last cycle not after t. t must not be negative.
func floor(t *big.Rat) saisim.Cycle {
	return saisim.Cycle(new(big.Int).Quo(t.Num(), t.Denom()).Uint64())
}

// ceil returns the first cycle not before t, at which the chip's clock sees an event at t.
func ceil(t *big.Rat) saisim.Cycle {
	if t.IsInt() {
		return saisim.Cycle(t.Num().Uint64())
	}
	return floor(t) + 1
}
