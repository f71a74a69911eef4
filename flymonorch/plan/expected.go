package plan

import (
	"fmt"

	"tamtam/tam/flymon"
)

// expected describes the expected error, by the algorithm's theory and by sampling.
func expected(p *Placed) string {
	s := theory(p)
	if n := p.Task.Share; n > 0 {
		s += fmt.Sprintf("; of one packet in %d: two standard deviations of a flow of n packets are 2 sqrt(%d n)",
			1<<n, 1<<n-1)
	}
	return s
}

func theory(p *Placed) string {
	w := p.Layout.Units[0].Size
	d := len(p.Sketch.Rows)
	switch p.Sketch.Algorithm {
	case flymon.CMS, flymon.SuMaxSum:
		return fmt.Sprintf("never too low; of N in all, too high by more than 2N/%d with probability 2^-%d", w, d)
	case flymon.Tower, flymon.CounterBraids:
		return fmt.Sprintf("never too low; %d rows of %d counters", d, w)
	case flymon.MRAC:
		return fmt.Sprintf("distribution by EM over %d counters: best with fewer flows than counters", w)
	case flymon.HyperLogLog:
		return fmt.Sprintf("standard error 1.04/sqrt(%d)", w)
	case flymon.LinearCounting:
		return fmt.Sprintf("linear counting over %d bits", int(w)*bitsOf(p))
	case flymon.Bloom:
		return fmt.Sprintf("no member is missed; with n members false positives are (1-exp(-n/%d))^%d", int(w)*bitsOf(p), d)
	case flymon.BeauCoup:
		m, shift, t := p.Sketch.Coupons, p.Sketch.CouponShift, p.Task.Threshold
		s := fmt.Sprintf("%d coupons, each drawn with probability 2^-%d", m, shift)
		if p.Task.Key.IsZero() || t < 2 {
			return s
		}
		listed := func(n uint64) float64 { return 100 * flymon.Collected(m, shift, n)[m] }
		return fmt.Sprintf("%s: of flows of %d elements %.2g %% are listed, of %d %.2g %%, of %d %.2g %%, and more where "+
			"others share their buckets", s, t/2, listed(t/2), t, listed(t), 2*t, listed(2*t))
	case flymon.OddSketch:
		return fmt.Sprintf("odd sketch of %d bits; behind a Bloom filter of %d, which takes n elements to be n^2/%d fewer",
			int(p.Layout.Units[1].Size)*bitsOf(p), int(w)*bitsOf(p), 2*int(w)*bitsOf(p))
	case flymon.MaxInterArr:
		return fmt.Sprintf("in units of %d ns, for flows that have their last arrival alone in all %d instances "+
			"and all of one; another flow makes it shorter or longer", uint64(1)<<p.Sketch.Scale, d)
	}
	if p.Task.Key.IsZero() {
		return fmt.Sprintf("exact to %d", uint64(1)<<p.Sketch.Scale)
	}
	return fmt.Sprintf("never too low; the least of %d rows of %d buckets", d, w)
}

// translation describes the cost of address translation in each CMU, counted as in figure 11.
func translation(p *Placed, g flymon.Geometry) string {
	entries := 0
	for i := range p.Layout.Units {
		entries = max(entries, p.Layout.Units[i].Translation(&g))
	}
	if !p.Task.Shifted {
		return fmt.Sprintf("tcam: up to %d entries in each CMU", entries)
	}
	all := Translations(g, RMT12(), g.Partitions)
	cost := all[len(all)-1]
	return fmt.Sprintf("shift: no TCAM, but %d instruction words and %d bits of PHV for each CMU, "+
		"to compute all shifted keys before", cost.Words, cost.Bits)
}

// bitsOf returns the number of bits of a bucket that can be selected.
func bitsOf(p *Placed) int { return len(p.Layout.Units[0].Map) }
