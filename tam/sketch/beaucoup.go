package sketch

import (
	"fmt"
	"math"
	"math/bits"

	"tamtam/tam/flymon"
)

// Bounds of BeauCoup's coupons: a word has at most MaxCoupons, and the chance of each is
// 2^-MaxCouponShift or more.
const (
	MaxCoupons     = 32
	MaxCouponShift = 24
)

// A Collection is a coupon collector that may stop before it has all coupons: an element draws each
// of Coupons with probability 2^-Shift, at most one, and Wanted different ones are enough.
type Collection struct {
	Coupons, Wanted, Shift uint8
}

// Collect chooses the collection for a threshold of distinct elements: of those whose
// mean is within 2 % of it, or else nearest to it, the one with the least deviation (Chen
// et al., 2020, section 3.2; unlike a CMU, BeauCoup need not want all coupons, and the last
// ones are those that take longest).
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

// wait returns mean and variance of the number of elements until one of a number of coupons is drawn.
func wait(coupons, shift uint8) (mean, variance float64) {
	p := math.Ldexp(float64(coupons), -int(shift))
	return 1 / p, (1 - p) / (p * p)
}

// Moments returns mean and variance of the number of distinct elements at which the wanted coupons
// are collected: a sum of geometric variables.
func (c Collection) Moments() (mean, variance float64) {
	for i := range c.Wanted {
		a, b := wait(c.Coupons-i, c.Shift)
		mean, variance = mean+a, variance+b
	}
	return mean, variance
}

// draw returns the coupon that a hash draws, as a bit; 0: none.
func (c Collection) draw(h uint64) uint32 {
	if n := h >> (64 - c.Shift); n < uint64(c.Coupons) {
		return 1 << n
	}
	return 0
}

// BeauCoup is the original one in software (Chen et al., SIGCOMM 2020), for one query: the
// flows that have a threshold of distinct elements. Its table has one entry for each hash of a
// flow, which belongs to one flow at a time and knows it by a checksum. A flow that finds
// the entry taken collects nothing, until the entry was not used for a window and is given
// to the next that draws a coupon. So collisions make it miss flows, and hardly
// ever report one too many.
type BeauCoup struct {
	Collection
	window  uint64
	seed    uint64
	entries []couponEntry
	Dropped uint64 // coupons that found an entry taken
}

type couponEntry struct {
	checksum uint32
	coupons  uint32 // 0: free
	last     uint64 // when it got its last coupon
}

// BeauCoupEntry is how many bytes an entry takes on a switch: checksum, coupons and time of
// 32 bits each.
const BeauCoupEntry = 12

// NewBeauCoup makes a table of 1 to 2^30 entries for a threshold that [Collect] takes. Entries that
// got no coupon for longer than window are free again, in whatever unit Add has times; 0: never.
// Tables of different seeds make different mistakes.
func NewBeauCoup(entries int, threshold, window, seed uint64) (*BeauCoup, error) {
	if entries < 1 || entries > 1<<30 {
		return nil, fmt.Errorf("entries is %d, want 1 to %d", entries, 1<<30)
	}
	c, err := Collect(threshold)
	return &BeauCoup{Collection: c, window: window, seed: seed, entries: make([]couponEntry, entries)}, err
}

// Bytes is the memory that the table takes on a switch.
func (b *BeauCoup) Bytes() int { return len(b.entries) * BeauCoupEntry }

// Add lets a flow draw a coupon for an element at a time. It reports whether that was the last one
// wanted.
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

// Collected returns how many coupons a flow has.
func (b *BeauCoup) Collected(flow flymon.Vector) int {
	e, sum := b.entry(&flow)
	if e.checksum != sum {
		return 0
	}
	return bits.OnesCount32(e.coupons)
}

// Reported reports whether a flow has the coupons that are wanted.
func (b *BeauCoup) Reported(flow flymon.Vector) bool { return b.Collected(flow) >= int(b.Wanted) }

// Estimate is the number of distinct elements of a flow, by its coupons.
func (b *BeauCoup) Estimate(flow flymon.Vector) float64 {
	return CouponsDrawn(b.Collected(flow), int(b.Coupons), math.Ldexp(1, -int(b.Shift)))
}
