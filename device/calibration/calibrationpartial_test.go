package calibration

import (
	"math"
	"time"
)

// partialMeasures returns measures whose answers lack something. Such an answer covers a share of the packets, is read
// during counting, lacks flows that the chip could not report, or has no theory of its error.
func partialMeasures() []measure {
	counters := [2]int{192, 1536}
	countMin := func(in *instance) float64 { return 2 * in.total / (in.buckets / in.rows) }
	// One in s of n packets is seen, so two standard deviations to both sides are 4 sqrt(n (s-1)). If none is seen,
	// there may be 3.7 s packets (Clopper and Pearson, 2.5 %), where s would be expected. This is why n + s is used.
	// All bytes may have been in large frames.
	sampled := func(frame float64) func(in *instance) float64 {
		return func(in *instance) float64 {
			return countMin(in) + 4*math.Sqrt((in.exact+in.seen*frame)*(in.seen-1)*frame)
		}
	}
	totals := func(frame float64) func(in *instance) float64 {
		return func(in *instance) float64 { return sampled(frame)(in) - countMin(in) }
	}
	lost := []string{"digests-lost"}
	live := []string{"live", "first", "digests-lost"}
	entropy := measure{attribute: "frequency", algorithm: "mrac", keys: anyKey, metric: "entropy", memory: [2]int{64, 512},
		silent: true}
	named := func(m measure, name string, share, live bool) measure {
		m.name, m.share, m.live = name, share, live
		return m
	}
	liveEntropy := named(entropy, "live entropy", false, true)
	liveEntropy.flags = live
	return []measure{
		// A decoded flow is exact. If flows are missing, the estimate is at most the flow's counters. By Markov's
		// inequality, its error is that of a count-min sketch with as many counters as the second layer.
		{name: "braids", attribute: "frequency", algorithm: "counter-braids", keys: anyKey, absent: 0.1, memory: counters,
			flags: lost,
			width: func(in *instance) float64 { return 2 * in.total / in.second }},
		{name: "braids flows", attribute: "frequency", algorithm: "counter-braids", keys: anyKey, metric: "cardinality",
			memory: counters, flags: lost},
		named(entropy, "entropy", false, false),
		named(entropy, "share entropy", true, false),
		{name: "share cms", attribute: "frequency", algorithm: "cms", keys: anyKey, absent: 0.1, memory: counters,
			share: true, width: sampled(1)},
		{name: "share cms bytes", attribute: "frequency(bytes)", algorithm: "cms", keys: anyKey, absent: 0.1,
			memory: counters, share: true, width: sampled(1522)},
		{name: "share sumax-sum", attribute: "frequency", algorithm: "sumax-sum", keys: anyKey, absent: 0.1, memory: counters,
			share: true, width: sampled(1)},
		{name: "share tower", attribute: "frequency", algorithm: "tower", keys: anyKey, absent: 0.1, memory: counters,
			share: true, width: sampled(1)},
		{name: "share mrac", attribute: "frequency", algorithm: "mrac", keys: anyKey, absent: 0.1, memory: [2]int{64, 512},
			share: true, width: sampled(1)},
		{name: "share braids", attribute: "frequency", algorithm: "counter-braids", keys: anyKey, absent: 0.1,
			memory: counters, share: true, flags: lost},
		{name: "share packets", attribute: "frequency", algorithm: "cms", keys: anyKey, metric: "packets", memory: counters,
			share: true, width: totals(1)},
		{name: "share bytes", attribute: "frequency(bytes)", algorithm: "cms", keys: anyKey, metric: "bytes",
			memory: counters, share: true, width: totals(1522)},
		// The lower bound is the number, or sum, that was seen.
		{name: "share hll", attribute: "distinct", algorithm: "hll", of: anyKey, metric: "cardinality",
			memory: [2]int{64, 512}, share: true},
		{name: "share beaucoup", attribute: "distinct", algorithm: "beaucoup", keys: []string{"src-ip", "dst-ip"},
			of: []string{"dst-port", "5-tuple", "src-port"}, absent: 0.05, memory: counters, share: true, rarely: true},
		{name: "share bloom", attribute: "existence", algorithm: "bloom", of: anyKey, absent: 0.1, memory: [2]int{192, 192},
			share: true, rarely: true},
		{name: "share members", attribute: "existence", algorithm: "bloom", of: anyKey, metric: "members",
			memory: [2]int{192, 192}, share: true},
		{name: "share flows", attribute: "frequency", algorithm: "cms", keys: anyKey, metric: "cardinality", memory: counters,
			share: true},
		{name: "share max-size", attribute: "max(size)", algorithm: "sumax-max", keys: anyKey, absent: 0.05, memory: counters,
			share: true, rarely: true},
		{name: "share maximum", attribute: "max(size)", algorithm: "sumax-max", metric: "maximum", memory: counters,
			share: true},
		{name: "share max-interval", attribute: "max(interval)", algorithm: "max-interval", keys: anyKey,
			memory: [2]int{576, 4608}, share: true, silent: true},
		{name: "share odd-sketch", attribute: "similarity", algorithm: "odd-sketch", of: anyKey, metric: "similarity",
			memory: [2]int{320, 640}, share: true, silent: true},
		// A task loses packets that arrive while it is read, and only the number of packets is known.
		{name: "live packets", attribute: "frequency", algorithm: "cms", keys: anyKey, metric: "packets", memory: counters,
			live: true, flags: live,
			width: func(*instance) float64 { return 1 }}, // exact
		{name: "live cms", attribute: "frequency", algorithm: "cms", keys: anyKey, absent: 0.1, memory: counters, live: true,
			flags: live, silent: true},
		{name: "live tower", attribute: "frequency", algorithm: "tower", keys: anyKey, absent: 0.1, memory: counters,
			live: true, flags: live, silent: true},
		{name: "live braids", attribute: "frequency", algorithm: "counter-braids", keys: anyKey, memory: counters, live: true,
			flags: live, silent: true},
		{name: "live flows", attribute: "frequency", algorithm: "cms", keys: anyKey, metric: "cardinality", memory: counters,
			live: true, flags: live, silent: true},
		liveEntropy,
		{name: "live hll", attribute: "distinct", algorithm: "hll", of: anyKey, metric: "cardinality",
			memory: [2]int{64, 512}, live: true, flags: live, silent: true},
		{name: "live bloom", attribute: "existence", algorithm: "bloom", of: anyKey, absent: 0.5, memory: [2]int{192, 192},
			live: true, flags: live, silent: true},
		{name: "live max-size", attribute: "max(size)", algorithm: "sumax-max", keys: anyKey, memory: counters, live: true,
			flags: live, silent: true},
		{name: "live max-interval", attribute: "max(interval)", algorithm: "max-interval", keys: anyKey,
			memory: [2]int{576, 4608}, live: true, flags: live, silent: true},
	}
}

// entropyOf returns the entropy of values, in bits.
func entropyOf(values map[string]float64) float64 {
	total, sum := 0.0, 0.0
	for _, n := range values {
		total += n
		sum += n * math.Log2(n)
	}
	if total == 0 {
		return 0
	}
	return math.Log2(total) - sum/total
}

// border is the longest time from a packet's entry into the egress pipe, when it counts, until it leaves.
const border = 10 * time.Microsecond

// during reports whether a packet that left at a time was counted in a live answer's window. A positive width
// includes packets that may have been counted, a negative one only those that must have been.
func (in *instance) during(at, width time.Duration) bool {
	return at >= in.window[0]-width && at < in.window[1]+width
}

// countWindow counts the packets of a live answer. Packets that left near the window's ends may be in it or not, so an
// exact answer lies between two counts.
func (c *calibration) countWindow(in *instance, answer any) {
	most, least := 0.0, 0.0
	for _, p := range c.left {
		if p.packet.class != in.class || in.metric == "" && valuesOf(p.packet.flowOf, in.key) != in.query {
			continue
		}
		if in.during(p.at, border) {
			most++
		}
		if in.during(p.at, -border) {
			least++
		}
	}
	leaf := "exact"
	if in.metric == "packets" {
		leaf = "estimate" // the value is reported as exact
	} else if in.metric != "" || in.attribute != "frequency" {
		if within(answer, leaf) != nil {
			c.t.Errorf("%s: the oracle does not know what it was since the last answer: %v", in.name, answer)
		}
		return
	}
	if n, ok := number(within(answer, leaf)); ok {
		in.exact = min(max(n, least), most)
	} else {
		c.t.Errorf("%s: %v, want an exact value from %v to %v", in.name, answer, least, most)
	}
}
