package answer

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"tamtam/tam/flymon"
	"tamtam/tam/libm"
	"tamtam/tam/sketch"
)

// Metrics returns the answers for all flows together, by the names in package flymon.
func (r *Reading) Metrics() map[string]flymon.Estimate {
	m := map[string]flymon.Estimate{
		flymon.MetricPackets: r.total(r.Packets, 1), flymon.MetricBytes: r.total(r.Bytes, maxFrame),
	}
	put := func(name string, e flymon.Estimate) { m[name] = r.live(r.atLeast(e)) }
	switch r.Sketch.Algorithm {
	case flymon.MRAC:
		put(flymon.MetricCardinality, r.cardinalityOfCounters())
		r.metricsOfSizes(put)
	case flymon.CounterBraids:
		if r.decoded != nil {
			m[flymon.MetricCardinality] = exactly(uint64(len(r.decoded)))
			break
		}
		put(flymon.MetricCardinality, r.cardinalityOfCounters())
	case flymon.CMS, flymon.SuMaxSum, flymon.Tower:
		put(flymon.MetricCardinality, r.cardinalityOfCounters())
	case flymon.SuMaxMax:
		if r.Task.Key.IsZero() {
			put(flymon.MetricMaximum, r.maximum())
			break
		}
		if r.Task.Attribute.Kind == flymon.MaxSize { // a flow of another kind can have the value 0
			put(flymon.MetricCardinality, r.cardinalityOfCounters())
		}
	case flymon.HyperLogLog:
		put(flymon.MetricCardinality, r.hyperLogLog())
	case flymon.LinearCounting:
		put(flymon.MetricCardinality, r.linearCounting("linear counting"))
	case flymon.MaxInterArr:
		put(flymon.MetricCardinality, r.linearCounting("linear counting of the first Bloom filter's bits"))
	case flymon.Bloom:
		put(flymon.MetricMembers, r.linearCounting("linear counting of the first row's bits"))
	case flymon.OddSketch:
		put(flymon.MetricMembers, r.linearCounting("linear counting of the Bloom filter's bits"))
	case flymon.BeauCoup:
		if r.Task.Key.IsZero() {
			put(flymon.MetricCardinality, r.allCoupons())
		}
	}
	return m
}

// total returns the number of all packets, of which the task counted n, or of all their bytes. A packet has at most
// unit.
func (r *Reading) total(n uint64, unit float64) flymon.Estimate {
	e := exactly(n)
	e.Value *= r.scale()
	e.Lower, e.Upper = e.Value, e.Value
	return r.sampled(e, unit)
}

// metricsOfSizes puts the metrics that follow from MRAC's distribution.
func (r *Reading) metricsOfSizes(put func(string, flymon.Estimate)) {
	d := r.sizes()
	put(flymon.MetricEntropy, r.ofSizes(d.Entropy()))
	if t := r.Task.Threshold; t > 0 {
		put(flymon.MetricHeavy, r.ofSizes(d.AtLeast(max(1, t>>r.Task.Share))))
	}
}

// ofSizes returns a value computed from MRAC's distribution. The value is saturated if flows cannot be distinguished,
// or if a flow exceeds its counter.
func (r *Reading) ofSizes(value float64) flymon.Estimate {
	e := flymon.Estimate{Value: value, Saturated: r.crowded() || r.full0}
	e.Bound = "of the distribution by expectation maximisation; no bound is known"
	if r.full0 {
		e.Bound += "; a counter is full: its flows may be greater"
	}
	if r.Task.Share > 0 {
		e.Bound += "; " + r.seen() + ": sizes are of the packets that were seen"
	}
	return e
}

// maximum returns the maximum over all packets, which share a bucket.
func (r *Reading) maximum() flymon.Estimate {
	word := r.word(r.Sketch.Rows[0][0], flymon.Vector{})
	e := flymon.Estimate{Value: float64(uint64(word) << r.Sketch.Scale), Confidence: 1, Bound: "of all packets"}
	e.Lower, e.Upper = e.Value, e.Value+float64(uint64(1)<<r.Sketch.Scale)-1
	if word == r.Geometry.Mask() {
		e.Upper, e.Saturated, e.Bound = math.Inf(1), true, "of all packets; the bucket is full: as much or more"
	}
	return e
}

func exactly(n uint64) flymon.Estimate {
	v := float64(n)
	return flymon.Estimate{Value: v, Lower: v, Upper: v, Confidence: 1, Bound: "counted"}
}

// within returns an estimate with bounds of two standard errors: 95 %.
func within(value, relative float64, bound string) flymon.Estimate {
	dev := float64(2 * relative * value)
	return flymon.Estimate{Value: value, Lower: math.Max(0, value-dev), Upper: value + dev, Confidence: 0.95, Bound: bound}
}

// cardinalityOfCounters estimates the number of flows from the empty counters.
func (r *Reading) cardinalityOfCounters() flymon.Estimate {
	words := r.Registers[r.Sketch.Rows[0][0]]
	n := float64(len(words))
	return counting(n-float64(r.used()*n), n, "linear counting of the first row's counters")
}

// counting estimates the number of elements from the number of empty buckets (linear counting). If no bucket is empty,
// the estimate is a lower bound.
func counting(zero, n float64, how string) flymon.Estimate {
	full := zero < 0.5
	v := sketch.LinearCounting(math.Max(zero, 0.5), n)
	e := within(v, sketch.LinearCountingError(v, n), fmt.Sprintf("%s: two standard errors for %.0f", how, n))
	if full {
		e.Saturated, e.Upper = true, math.Inf(1)
	}
	return e
}

func (r *Reading) linearCounting(how string) flymon.Estimate {
	unit := r.Sketch.Rows[0][0]
	n := float64(r.bitsIn(unit))
	return counting(n-ones(r.Registers[unit]), n, how)
}

func (r *Reading) hyperLogLog() flymon.Estimate {
	words := r.Registers[r.Sketch.Rows[0][0]]
	width := int(r.Sketch.Element.Bits)
	if width == 0 || width > 32 {
		width = 32
	}
	ranks := sketch.Ranks(words, width)
	v := sketch.HyperLogLog(ranks, width+1)
	full := math.IsInf(v, 0)
	if full { // all strings are ones; the estimate assumes that one string is not, so it is a lower bound
		ranks[0]--
		v = sketch.HyperLogLog(ranks, width+1)
	}
	e := within(v, sketch.HyperLogLogError(len(words)),
		fmt.Sprintf("HyperLogLog: two standard errors of 1.04/sqrt(%d)", len(words)))
	if most := float64(uint64(len(words)) << width); v > most/8 {
		e.Upper, e.Saturated = math.Inf(1), true // elements collide in the compressed key
	}
	if full {
		e.Upper, e.Saturated = math.Inf(1), true
	}
	return e
}

// allCoupons returns the number of distinct values of all packets, which share a bucket.
func (r *Reading) allCoupons() flymon.Estimate {
	all := uint32(1)<<r.Sketch.Coupons - 1
	for _, row := range r.Sketch.Rows {
		var any uint32
		for _, w := range r.Registers[row[0]] {
			any |= w
		}
		all &= any
	}
	return r.collected(bits.OnesCount32(all))
}

// sizes returns MRAC's distribution, computed once.
func (r *Reading) sizes() sketch.Distribution {
	if !r.counted {
		r.distribution, r.counted = sketch.MRAC(r.Registers[r.Sketch.Rows[0][0]]), true
	}
	return r.distribution
}

// crowded reports whether flows share counters so often that their sizes cannot be distinguished: more than two per
// counter.
func (r *Reading) crowded() bool { return r.used() > 1-libm.Exp(-2) }

// Sizes returns the number of flows in each class of sizes, by MRAC. A class is from a power of two, the key, to less
// than its double. It returns nil for other algorithms.
func (r *Reading) Sizes() map[uint64]flymon.Estimate {
	bins := r.Distribution()
	if bins == nil {
		return nil
	}
	flows := map[uint64]float64{}
	for _, b := range bins {
		if b.Size > 0 {
			flows[1<<(bits.Len64(b.Size)-1)] += b.Flows
		}
	}
	classes := make(map[uint64]flymon.Estimate, len(flows))
	for least, n := range flows {
		classes[least] = r.live(r.ofSizes(n))
	}
	return classes
}

// Distribution returns the number of flows of each size, by MRAC. It returns nil for other algorithms.
func (r *Reading) Distribution() []Bin {
	if r.Sketch.Algorithm != flymon.MRAC {
		return nil
	}
	d := r.sizes()
	var bins []Bin
	for _, size := range slices.Sorted(maps.Keys(d)) {
		bins = append(bins, Bin{size, d[size]})
	}
	return bins
}
