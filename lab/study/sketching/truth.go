package sketching

import (
	"math"
	"slices"

	"tamtam/tam/flymon"
	"tamtam/tam/libm"
)

// A flyTruth holds the true traffic. It is kept by number of flow, independently of what CMU groups see.
type flyTruth struct {
	key     flymon.Key // key of the tasks
	element flymon.Key // for victims: the element that is counted for each flow of the key
	source  sightings
	whole   bool // true if the key distinguishes all flows
	index   map[flymon.Vector]int32
	group   []int32         // index of the flow of the key, by flow of the traffic
	vectors []flymon.Vector // flows of the key
	packets []uint32        // number of packets of each flow of the key
	half    uint64          // start of the second epoch; zero if there is only one
	early   []uint32        // number of packets of each flow before half
	last    []uint64        // time of the last packet of each flow
	longest []uint64        // longest interval of each flow, in ns
}

func newFlyTruth(source sightings, key, element flymon.Key) *flyTruth {
	tuple, _ := flymon.ParseKey("5-tuple")
	return &flyTruth{key: key, element: element, source: source, whole: key.Or(tuple) == key,
		index: map[flymon.Vector]int32{}}
}

// see counts a packet.
func (x *flyTruth) see(p *sighting) {
	if int(p.flow) >= len(x.group) {
		x.meet(int(p.flow))
	}
	i := x.group[p.flow]
	if x.packets[i] > 0 {
		x.longest[i] = max(x.longest[i], p.at-x.last[i])
	}
	x.packets[i]++
	if p.at < x.half {
		x.early[i]++
	}
	x.last[i] = p.at
}

// meet adds flows of the key for all flows up to number n.
func (x *flyTruth) meet(n int) {
	keys := x.source.keys()
	for f := len(x.group); f <= n; f++ {
		v := keys[f].And(x.key)
		i, known := int32(f), false
		if !x.whole {
			i, known = x.index[v]
		}
		if !known {
			i = int32(len(x.vectors))
			x.vectors = append(x.vectors, v)
			if !x.whole {
				x.index[v] = i
			}
			x.packets, x.last, x.longest = append(x.packets, 0), append(x.last, 0), append(x.longest, 0)
			x.early = append(x.early, 0)
		}
		x.group = append(x.group, i)
	}
}

// seen returns the flows of the key that had packets, and their packet counts. In generated traffic all have some at
// the end.
func (x *flyTruth) seen() ([]flymon.Vector, []uint32) {
	if !slices.Contains(x.packets, 0) {
		return x.vectors, x.packets
	}
	var v []flymon.Vector
	var n []uint32
	for i, packets := range x.packets {
		if packets > 0 {
			v, n = append(v, x.vectors[i]), append(n, packets)
		}
	}
	return v, n
}

// elements returns the number of distinct elements of each flow of the key.
func (x *flyTruth) elements() []uint32 {
	type pair struct {
		flow    int32
		element flymon.Vector
	}
	seen := make(map[pair]bool, len(x.group))
	n := make([]uint32, len(x.vectors))
	for f, v := range x.source.keys()[:len(x.group)] {
		if p := (pair{x.group[f], v.And(x.element)}); !seen[p] {
			seen[p] = true
			n[p.flow]++
		}
	}
	return n
}

// entropyOf returns the entropy of flow sizes in bits: - sum p log2 p, where p is a flow's share of the packets.
func entropyOf(sizes []uint32) float64 {
	var all, sum float64
	for _, n := range sizes {
		all += float64(n)
	}
	for _, n := range sizes {
		if n > 0 {
			p := float64(n) / all
			sum -= float64(p * libm.Log2(p))
		}
	}
	return sum
}

// scoreReports returns F1 of reports (true and false ones), and its two parts.
func scoreReports(right, wrong, actual int) map[string]float64 {
	m := map[string]float64{"f1": 0, "precision": 1, "recall": 1}
	if right+wrong > 0 {
		m["precision"] = float64(right) / float64(right+wrong)
	}
	if actual > 0 {
		m["recall"] = float64(right) / float64(actual)
	}
	switch {
	case right+wrong+actual == 0:
		m["f1"] = 1
	case right > 0:
		m["f1"] = 2 * m["precision"] * m["recall"] / (m["precision"] + m["recall"])
	}
	return m
}

// worst is the error of an infinite estimate.
const worst = 1e6

// relative returns the relative error of an estimate, at most worst. For a truth of 0 it returns the absolute error.
func relative(estimate, truth float64) float64 {
	off := math.Abs(estimate - truth)
	if truth > 0 {
		off /= truth
	}
	if math.IsNaN(off) {
		return worst
	}
	return min(off, worst)
}
