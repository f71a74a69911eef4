package answer

import (
	"cmp"
	"math"
	"slices"

	"tamtam/tam/flymon"
	"tamtam/tam/sketch"
)

// Heavy returns the candidates, without duplicates, that reach the threshold, the greatest first. A maximum is
// truncated to a step, so its value may be below the threshold that it reaches. Without a threshold it returns all
// candidates that occurred.
func (r *Reading) Heavy(candidates []flymon.Vector, threshold uint64) []FlowEstimate {
	seen := make(map[flymon.Vector]bool, len(candidates))
	var list []FlowEstimate
	for _, v := range candidates {
		v = r.flow(v)
		if seen[v] {
			continue
		}
		seen[v] = true
		e := r.Flow(v)
		reach := e.Value
		if r.Sketch.Algorithm == flymon.SuMaxMax { // a bucket holds whole steps, so the true value may be a step higher
			reach += float64(uint64(1)<<r.Sketch.Scale - 1)
		}
		if e.Value > 0 && reach >= float64(threshold) {
			list = append(list, FlowEstimate{v, e})
		}
	}
	slices.SortFunc(list, func(a, b FlowEstimate) int {
		return cmp.Or(-cmp.Compare(a.Value, b.Value), slices.Compare(a.Flow[:], b.Flow[:]))
	})
	return list
}

// Decode decodes Counter Braids for all flows that were counted, without duplicates. It returns bounds of each flow's
// size, equal if the size is exact. A missing flow falsifies the others: if a counter in use belongs to none of the
// flows, the confidence is zero.
func (r *Reading) Decode(flows []flymon.Vector) []FlowEstimate {
	if r.Sketch.Algorithm != flymon.CounterBraids || len(flows) == 0 {
		return nil
	}
	seen := make(map[flymon.Vector]bool, len(flows))
	var all []flymon.Vector
	for _, v := range flows {
		if v = r.flow(v); !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
	at := make([][]uint32, len(all))
	var rows []sketch.Braid
	complete := true
	for _, row := range r.Sketch.Rows {
		b := r.braid(row)
		owned := make([]bool, len(b.Low))
		for f, v := range all {
			c := r.bucket(row[0], v)
			at[f] = append(at[f], c)
			owned[c] = true
		}
		for c, own := range owned {
			complete = complete && (own || b.High[c] == 0)
		}
		rows = append(rows, b)
	}
	const rounds = 50
	low, high := sketch.Decode(rows, at, rounds)
	list := make([]FlowEstimate, len(all))
	for f, v := range all {
		e := flymon.Estimate{Value: float64(low[f]+high[f]) / 2, Lower: float64(low[f]), Upper: float64(high[f]),
			Confidence: 1, Bound: "message passing over all flows"}
		switch {
		case !complete:
			e.Value, e.Lower, e.Confidence, e.Bound = e.Upper, 0, 0, "message passing, but some flow is missing: as many or less"
		case high[f] >= sketch.Endless:
			e.Value, e.Upper, e.Saturated = e.Lower, math.Inf(1), true
		}
		e.Value, e.Lower, e.Upper = e.Value*r.scale(), e.Lower*r.scale(), math.Max(e.Lower, e.Upper)*r.scale()
		list[f] = FlowEstimate{v, r.live(r.sampled(e, 1))}
	}
	return list
}

// Know supplies all flows that were counted. Counter Braids are decoded with them, once, and then return a flow's
// decoded size. If a flow turns out to be missing, nothing changes.
func (r *Reading) Know(all []flymon.Vector) {
	list := r.Decode(all)
	if len(list) == 0 || list[0].Confidence == 0 || r.Task.Share > 0 {
		return
	}
	r.decoded = make(map[flymon.Vector]flymon.Estimate, len(list))
	for _, f := range list {
		r.decoded[f.Flow] = f.Estimate
	}
}

// braided returns the decoded size of a flow. It returns false if nothing was decoded.
func (r *Reading) braided(v flymon.Vector) (flymon.Estimate, bool) {
	if r.decoded == nil {
		return flymon.Estimate{}, false
	}
	if e, ok := r.decoded[r.flow(v)]; ok {
		return e, true
	}
	return flymon.Estimate{Confidence: 1, Bound: "not among the flows that were counted"}, true
}

// braid returns the two layers of a row of Counter Braids, for decoding.
func (r *Reading) braid(row []int) sketch.Braid {
	width := int(r.Sketch.Bits[0])
	first := make([]uint32, len(r.Registers[row[0]]))
	for i, w := range r.Registers[row[0]] {
		first[i] = w >> (r.Geometry.Width - width)
	}
	return sketch.NewBraid(first, r.Registers[row[1]], uint32(1<<width-1), r.Geometry.Mask())
}
