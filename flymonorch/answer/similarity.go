package answer

import (
	"fmt"
	"math"
	"slices"

	"tamtam/tam/flymon"
	"tamtam/tam/sketch"
)

// Units of an odd sketch: a Bloom filter, and the bits that elements new to the filter toggle.
const (
	seenElements = 0
	oddBits      = 1
)

// Similarity compares the sets of two readings of one layout, or of layouts that select the same bits. It returns the
// number of elements in exactly one set, and the Jaccard similarity. It returns nil for other readings.
//
// The XOR of the odd sketches contains the elements in exactly one set, of those that toggled a bit. Each set lacks the
// elements that its Bloom filter mistook for earlier ones. That changes the difference by at most the number of
// elements that both lack. The sets' sizes are those of the filters.
func Similarity(a, b *Reading) map[string]flymon.Estimate {
	if !a.comparable(b) {
		return nil
	}
	one, other := a.Registers[a.Sketch.Rows[0][oddBits]], b.Registers[b.Sketch.Rows[0][oddBits]]
	both := make([]uint32, len(one))
	for i := range both {
		both[i] = one[i] ^ other[i]
	}
	x, y := a.linearCounting(""), b.linearCounting("")
	diff := a.oddSize(both)
	lack := math.Max(0, x.Upper-a.filtered()) + math.Max(0, y.Upper-b.filtered())
	diff.Lower, diff.Upper, diff.Confidence = math.Max(0, diff.Lower-lack), diff.Upper+lack, 0.85
	diff.Bound += fmt.Sprintf(", and the %.0f elements at most that the Bloom filters took for others", lack)
	if diff.Saturated = diff.Saturated || x.Saturated || y.Saturated; diff.Saturated {
		diff.Lower, diff.Upper = 0, math.Inf(1)
	}
	jaccard := func(diff, x, y float64) float64 {
		all := (x + y + diff) / 2 // size of the union: half the sum of both sizes and the difference
		if all <= 0 {
			return 1
		}
		return math.Min(1, math.Max(0, 1-diff/all))
	}
	j := flymon.Estimate{Value: jaccard(diff.Value, x.Value, y.Value), Saturated: diff.Saturated}
	if !diff.Saturated {
		j.Lower, j.Upper = jaccard(diff.Upper, x.Lower, y.Lower), jaccard(diff.Lower, x.Upper, y.Upper)
		j.Confidence = diff.Confidence
		j.Bound = "from the bounds of the difference, and two standard errors of both sizes"
	}
	if a.Task.Share+b.Task.Share > 0 {
		const why = "a share of the packets is seen, and two shares of one set differ"
		diff, j = unknown(diff, why), unknown(j, why)
	}
	return map[string]flymon.Estimate{
		flymon.MetricDifference: b.live(a.live(diff)), flymon.MetricJaccard: b.live(a.live(j)),
	}
}

// filtered returns the minimum number of elements: the number of set bits in the Bloom filter.
func (r *Reading) filtered() float64 { return ones(r.Registers[r.Sketch.Rows[0][seenElements]]) }

// oddSize returns the number of elements that toggled a bit in words.
func (r *Reading) oddSize(words []uint32) flymon.Estimate {
	n := float64(max(2, len(r.Layout.Units[r.Sketch.Rows[0][seenElements]].Map))) * float64(len(words))
	odd := ones(words)
	v := sketch.OddSketchSize(math.Max(0, math.Min(odd, float64(n/2)-1)), n)
	e := within(v, sketch.OddSketchError(v, n)/math.Max(v, 1),
		fmt.Sprintf("odd sketch of %.0f bits: two standard errors", n))
	e.Saturated = odd > 0.49*n
	return e
}

// comparable reports whether an element has the same bits in two odd sketches.
func (r *Reading) comparable(o *Reading) bool {
	if r.Sketch.Algorithm != flymon.OddSketch || o.Sketch.Algorithm != flymon.OddSketch ||
		r.Geometry.Depth != o.Geometry.Depth {
		return false
	}
	for i, unit := range r.Sketch.Rows[0] {
		a, b := &r.Layout.Units[unit], &o.Layout.Units[o.Sketch.Rows[0][i]]
		if a.Size != b.Size || a.Shifted != b.Shifted || !slices.Equal(a.Map, b.Map) || a.P1.Bits != b.P1.Bits ||
			r.source(a.Group, a.Key) != o.source(b.Group, b.Key) || r.source(a.Group, a.P1.Key) != o.source(b.Group, b.P1.Key) {
			return false
		}
	}
	return true
}
