package sketch

import (
	"fmt"
	"math"
	"math/bits"

	"tamtam/tam/flymon"
)

// Limits of BeauCoup: a word has at most MaxCoupons coupons, and each has a probability of at least 2^-MaxCouponShift.
const (
	MaxCoupons     = 32
	MaxCouponShift = 24
)

// A Collection is a coupon collector that may stop before it has all coupons. An element draws each of Coupons with
// probability 2^-Shift, and at most one. The collector stops when it has Wanted distinct coupons.
type Collection struct {
	Coupons, Wanted, Shift uint8
}

// Collect returns the collection for a threshold of distinct elements (Chen et al., 2020, section 3.2). Among those
// with a mean within 2 % of the threshold, or else nearest to it, it chooses the one with the smallest deviation.
// Unlike a CMU, BeauCoup need not require all coupons, of which the last ones take longest.
func Collect(threshold uint64) (Collection, error) {
	if threshold == 0 || threshold > 1<<(MaxCouponShift+2) {
		return Collection{}, fmt.Errorf("threshold is %d, want 1 to %d distinct elements",
			threshold, 1<<(MaxCouponShift+2))
	}
	const near = 0.02
	best, least, nearest := Collection{}, math.Inf(1), math.Inf(1)
	for shift := uint8(0); shift <= MaxCouponShift; shift++ {
		for m := uint8(1); m <= MaxCoupons && uint64(m) <= 1<<shift; m++ {
			mean, variance := 0.0, 0.0
			for n := uint8(1); n <= m; n++ {
				a, b := wait(m-n+1, shift)
				mean, variance = mean+a, variance+b
				off := max(math.Abs(mean/float64(threshold)-1), near)
				if off < nearest || off == nearest && variance < least {
					best, least, nearest = Collection{m, n, shift}, variance, off
				}
			}
		}
	}
	return best, nil
}

// wait returns mean and variance of the number of elements until one of the given number of coupons is drawn.
func wait(coupons, shift uint8) (mean, variance float64) {
	p := math.Ldexp(float64(coupons), -int(shift))
	return 1 / p, (1 - p) / (p * p)
}

// Moments returns mean and variance of the number of distinct elements that collect the wanted coupons: a sum of
// geometric variables.
func (c Collection) Moments() (mean, variance float64) {
	for i := range c.Wanted {
		a, b := wait(c.Coupons-i, c.Shift)
		mean, variance = mean+a, variance+b
	}
	return mean, variance
}

// draw returns the coupon that a hash draws, as a bit, or 0 if it draws none.
func (c Collection) draw(h uint64) uint32 {
	if n := h >> (64 - c.Shift); n < uint64(c.Coupons) {
		return 1 << n
	}
	return 0
}

// BeauCoup is the original algorithm in software (Chen et al., SIGCOMM 2020), for one query: the flows with a threshold
// of distinct elements. Its table has one entry per hash of a flow. An entry belongs to one flow at a time, identified
// by a checksum. A flow whose entry belongs to another flow collects nothing. An entry that was not used for a window
// goes to the next flow that draws a coupon. So collisions cause missed flows, and hardly ever false reports.
type BeauCoup struct {
	Collection
	window  uint64
	seed    uint64
	entries []couponEntry
	Dropped uint64 // number of coupons that were dropped because the entry belongs to another flow
}

type couponEntry struct {
	checksum uint32
	coupons  uint32 // bit set of collected coupons; zero if the entry is free
	last     uint64 // time of the entry's last coupon
}

// BeauCoupEntry is the size of an entry on a switch in bytes: checksum, coupons and time of 32 bits each.
const BeauCoupEntry = 12

// NewBeauCoup returns a table of 1 to 2^30 entries for a threshold that [Collect] accepts. Entries without a new coupon
// for longer than window become free, in the unit of Add's times. A window of 0 means never. Tables of different seeds
// make different errors.
func NewBeauCoup(entries int, threshold, window, seed uint64) (*BeauCoup, error) {
	if entries < 1 || entries > 1<<30 {
		return nil, fmt.Errorf("entries is %d, want 1 to %d", entries, 1<<30)
	}
	c, err := Collect(threshold)
	return &BeauCoup{Collection: c, window: window, seed: seed, entries: make([]couponEntry, entries)}, err
}

// Bytes returns the memory of the table on a switch in bytes.
func (b *BeauCoup) Bytes() int { return len(b.entries) * BeauCoupEntry }

// Add lets a flow draw a coupon for an element at a time. It reports whether that was the last wanted coupon.
func (b *BeauCoup) Add(flow, element flymon.Vector, now uint64) bool {
	coupon := b.draw(hash(&element, b.seed))
	if coupon == 0 {
		return false
	}
	e, sum := b.entry(&flow)
	if e.coupons == 0 || b.window > 0 && now-e.last > b.window && now > e.last {
		*e = couponEntry{checksum: sum}
	}
	if e.checksum != sum {
		b.Dropped++
		return false
	}
	before := e.coupons
	e.coupons |= coupon
	e.last = now
	return e.coupons != before && bits.OnesCount32(e.coupons) == int(b.Wanted)
}

func (b *BeauCoup) entry(flow *flymon.Vector) (*couponEntry, uint32) {
	h := hash(flow, b.seed+1)
	return &b.entries[below(h, len(b.entries))], uint32(h)
}

// Collected returns the number of coupons that a flow has.
func (b *BeauCoup) Collected(flow flymon.Vector) int {
	e, sum := b.entry(&flow)
	if e.checksum != sum {
		return 0
	}
	return bits.OnesCount32(e.coupons)
}

// Reported reports whether a flow has the wanted number of coupons.
func (b *BeauCoup) Reported(flow flymon.Vector) bool { return b.Collected(flow) >= int(b.Wanted) }

// Estimate returns the estimated number of distinct elements of a flow, by its coupons.
func (b *BeauCoup) Estimate(flow flymon.Vector) float64 {
	return CouponsDrawn(b.Collected(flow), int(b.Coupons), math.Ldexp(1, -int(b.Shift)))
}
