package answer

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"tamtam/flymon"
	"tamtam/sketch"
)

// A Dump is one bank of a task's registers, and what they are.
type Dump struct {
	Geometry       flymon.Geometry
	Task           flymon.Task
	Layout         flymon.Layout
	Sketch         flymon.Sketch
	Registers      [][]uint32 // by unit of Layout.Units
	Packets, Bytes uint64     // that the task saw
}

// A Reading answers.
type Reading struct {
	Dump
	distribution sketch.Distribution // of MRAC
	counted      bool                // the distribution is there
	hashes       map[flymon.MaskRule]*flymon.Compressor
}

// A FlowEstimate is a flow with what was measured of it.
type FlowEstimate struct {
	Flow flymon.Vector
	flymon.Estimate
}

// A Bin is how many flows there are of a size.
type Bin struct {
	Size  uint64
	Flows float64
}

// New checks that a dump is one of its layout.
func New(d Dump) (*Reading, error) {
	if err := d.Geometry.Validate(); err != nil {
		return nil, err
	}
	if err := d.Layout.Check(&d.Geometry); err != nil {
		return nil, fmt.Errorf("task %q: %w", d.Layout.Task, err)
	}
	if len(d.Registers) != len(d.Layout.Units) {
		return nil, fmt.Errorf("task %q: registers of %d units, want %d", d.Layout.Task, len(d.Registers), len(d.Layout.Units))
	}
	for i, words := range d.Registers {
		if len(words) != int(d.Layout.Units[i].Size) {
			return nil, fmt.Errorf("task %q: unit %d has %d buckets, want %d", d.Layout.Task, i, len(words), d.Layout.Units[i].Size)
		}
	}
	want := 1
	switch d.Sketch.Algorithm {
	case flymon.CounterBraids:
		want = 2
	case flymon.MaxInterArr:
		want = 3
	}
	if len(d.Sketch.Rows) == 0 || len(d.Sketch.Bits) > 0 && len(d.Sketch.Bits) < want {
		return nil, fmt.Errorf("task %q: a sketch of %d rows and widths %v", d.Layout.Task, len(d.Sketch.Rows), d.Sketch.Bits)
	}
	for i, row := range d.Sketch.Rows {
		if len(row) != want || slices.Max(row) >= len(d.Registers) || slices.Min(row) < 0 {
			return nil, fmt.Errorf("task %q: row %d is of units %v, want %d of %d", d.Layout.Task, i, row, want, len(d.Registers))
		}
	}
	for _, b := range d.Sketch.Bits {
		if b == 0 || int(b) > d.Geometry.Width {
			return nil, fmt.Errorf("task %q: counters of %d bits, want 1 to %d", d.Layout.Task, b, d.Geometry.Width)
		}
	}
	r := &Reading{Dump: d, hashes: map[flymon.MaskRule]*flymon.Compressor{}}
	for _, m := range d.Layout.Masks {
		r.hashes[m] = flymon.NewCompressor(flymon.Poly(m.Group, m.Unit), m.Key)
	}
	return r, nil
}

// compressed is a compressed key of a vector in a group.
func (r *Reading) compressed(group int, ref flymon.Ref, v flymon.Vector) uint32 {
	var c uint32
	for m, h := range r.hashes {
		if m.Group == group && (m.Unit == ref.A || m.Unit == ref.B-1) {
			c ^= h.Sum(&v)
		}
	}
	return bits.RotateLeft32(c, -int(ref.Shift))
}

// bucket is the number of a vector's bucket in a unit.
func (r *Reading) bucket(unit int, v flymon.Vector) uint32 {
	u := &r.Layout.Units[unit]
	return u.Translate(r.compressed(u.Group, u.Key, v), uint32(r.Geometry.Depth))
}

// word is a vector's bucket in a unit.
func (r *Reading) word(unit int, v flymon.Vector) uint32 { return r.Registers[unit][r.bucket(unit, v)] }

// scale is by how much the numbers of packets are multiplied: those of a task that sees
// only a share of them.
func (r *Reading) scale() float64 { return float64(uint64(1) << r.Task.Share) }

// Flow answers for a flow: of the task's key, or where that is none an element of
// its attribute's.
func (r *Reading) Flow(v flymon.Vector) flymon.Estimate {
	switch r.Sketch.Algorithm {
	case flymon.CMS, flymon.SuMaxSum, flymon.MRAC, flymon.Tower, flymon.CounterBraids:
		return r.count(v)
	case flymon.SuMaxMax, flymon.MaxInterArr:
		return r.greatest(v)
	case flymon.BeauCoup:
		return r.coupons(v)
	case flymon.Bloom, flymon.LinearCounting, flymon.OddSketch:
		return r.member(v)
	}
	return flymon.Estimate{Bound: fmt.Sprintf("%s answers for all packets, not for a flow", r.Sketch.Algorithm)}
}

// count is a flow's packets or bytes: the least of its counters.
func (r *Reading) count(v flymon.Vector) flymon.Estimate {
	least, saturated := uint64(math.MaxUint64), false
	for i, row := range r.Sketch.Rows {
		n, full := r.counter(i, row, v)
		if n < least || n == least && !full {
			least, saturated = n, full
		}
		// Rows behind a full one have no bound any more, and counters of bytes begin anew.
		if full && r.Sketch.Algorithm == flymon.SuMaxSum && r.Task.Attribute.Kind == flymon.Bytes {
			least, saturated = uint64(r.full(row[0])), true
			break
		}
	}
	e := flymon.Estimate{Value: float64(least) * r.scale(), Saturated: saturated}
	total := float64(r.Packets)
	if r.Task.Attribute.Kind == flymon.Bytes {
		total = float64(r.Bytes)
	}
	excess, confidence := sketch.CountMinExcess(total, int(r.Layout.Units[0].Size), len(r.Sketch.Rows))
	e.Upper, e.Lower, e.Confidence = e.Value, math.Max(0, e.Value-excess*r.scale()), confidence
	e.Bound = fmt.Sprintf("count-min: never too low, too high by more than 2 of %.0f in %d with probability 2^-%d", total, r.Layout.Units[0].Size, len(r.Sketch.Rows))
	if r.Task.Share > 0 {
		// Sampled packets are binomial: two standard deviations.
		dev := 2 * math.Sqrt(e.Value*(r.scale()-1))
		e.Upper, e.Lower = e.Value+dev, math.Max(0, e.Lower-dev)
		e.Confidence, e.Bound = confidence*0.95, e.Bound+fmt.Sprintf("; one packet in %.0f is seen", r.scale())
	}
	if saturated {
		e.Upper, e.Confidence = math.MaxFloat64, 0
	}
	return e
}

// counter is the counter of a flow in a row, and whether it is as high as it can be.
func (r *Reading) counter(i int, row []int, v flymon.Vector) (n uint64, full bool) {
	word := r.word(row[0], v)
	if len(r.Sketch.Bits) == 0 {
		return uint64(word), word >= r.full(row[0])
	}
	width := r.Sketch.Bits[0]
	if r.Sketch.Algorithm == flymon.Tower {
		width = r.Sketch.Bits[i%len(r.Sketch.Bits)]
	}
	n = uint64(word >> (r.Geometry.Width - int(width)))
	full = n == 1<<width-1
	if r.Sketch.Algorithm == flymon.CounterBraids && full {
		more := r.word(row[1], v)
		return n + uint64(more), more == r.Geometry.Mask()
	}
	if full && width < 32 {
		return math.MaxUint64, true // of a tower: another row knows
	}
	return n, full
}

// greatest is a flow's maximum: the least of its rows.
func (r *Reading) greatest(v flymon.Vector) flymon.Estimate {
	least := uint64(math.MaxUint64)
	for _, row := range r.Sketch.Rows {
		least = min(least, uint64(r.word(row[len(row)-1], v)))
	}
	e := flymon.Estimate{Value: float64(least << r.Sketch.Scale), Saturated: least == uint64(r.Geometry.Mask()) && r.Sketch.Algorithm == flymon.SuMaxMax}
	// A row without another flow in the bucket is exact; SuMax never says too little.
	clean := math.Pow(r.used(), float64(len(r.Sketch.Rows)))
	step := float64(uint64(1)<<r.Sketch.Scale) - 1
	e.Lower, e.Upper, e.Confidence = e.Value, e.Value+step, math.Max(0, 1-clean)
	e.Bound = fmt.Sprintf("exact to %.0f unless other flows are in all %d of its buckets", step+1, len(r.Sketch.Rows))
	if r.Sketch.Algorithm == flymon.MaxInterArr {
		e.Lower = math.Max(0, e.Value-step) // of two times, each cut off
		// Another flow's packets in a bucket make intervals shorter, and then the least of
		// the rows is too short: the flow must be alone in all of them.
		e.Confidence = math.Pow(1-r.used(), float64(len(r.Sketch.Rows)))
		e.Bound = fmt.Sprintf("exact to %.0f if no other flow is in any of its %d buckets", step+1, len(r.Sketch.Rows))
	}
	return e
}

// used is the part of buckets that some flow has, by the first unit of the first row:
// the layer of Counter Braids that all flows are in, the unit of intervals that knows them.
func (r *Reading) used() float64 {
	words := r.Registers[r.Sketch.Rows[0][0]]
	n := 0
	for _, w := range words {
		if w != 0 {
			n++
		}
	}
	return float64(n) / float64(len(words))
}

// coupons is how many distinct values a flow has had: as many coupons as all of its
// tables have collected.
func (r *Reading) coupons(v flymon.Vector) flymon.Estimate {
	all := uint32(1)<<r.Sketch.Coupons - 1
	for _, row := range r.Sketch.Rows {
		all &= r.word(row[0], v)
	}
	return r.collected(bits.OnesCount32(all))
}

func (r *Reading) collected(n int) flymon.Estimate {
	m, p := int(r.Sketch.Coupons), math.Pow(2, -float64(r.Sketch.CouponShift))
	e := flymon.Estimate{Value: sketch.CouponsDrawn(float64(n), m, p), Confidence: 0.9}
	dev := 2 * math.Sqrt(float64(n)*(1-float64(n)/float64(m))+1)
	e.Lower = sketch.CouponsDrawn(math.Max(0, float64(n)-dev), m, p)
	e.Upper = sketch.CouponsDrawn(math.Min(float64(m), float64(n)+dev+1), m, p)
	e.Bound = fmt.Sprintf("%d of %d coupons, each drawn with probability 2^-%d: two standard deviations of their number", n, m, r.Sketch.CouponShift)
	if float64(n)+dev+1 >= float64(m) {
		e.Upper = math.MaxFloat64
	}
	if n == m {
		e.Upper, e.Saturated = math.MaxFloat64, true
	}
	return e
}

// member is 1 for an element that may be in the set, else 0.
func (r *Reading) member(v flymon.Vector) flymon.Estimate {
	e := flymon.Estimate{Value: 1, Upper: 1}
	var loads []float64
	for _, row := range r.Sketch.Rows {
		unit := row[0]
		if r.word(unit, v)&r.bit(unit, v) == 0 {
			e.Value = 0
		}
		loads = append(loads, ones(r.Registers[unit])/r.bitsIn(unit))
	}
	if e.Value == 0 {
		return flymon.Estimate{Confidence: 1, Bound: "no member is missed"}
	}
	e.Confidence = 1 - sketch.BloomFalsePositive(loads)
	e.Lower, e.Saturated = 1, e.Confidence < 0.5
	e.Bound = "another element has all its bits set with the product of the rows' loads as probability"
	return e
}

// bit is the bit that an element has in its bucket of a unit.
func (r *Reading) bit(unit int, v flymon.Vector) uint32 {
	u := &r.Layout.Units[unit]
	p := r.compressed(u.Group, u.P1.Key, v)
	if u.P1.Bits > 0 && u.P1.Bits < 32 {
		p &= 1<<u.P1.Bits - 1
	}
	for _, rule := range u.Map {
		if (p^rule.Value)&rule.Mask == 0 {
			return rule.Out
		}
	}
	return 0
}

// bitsIn is how many bits of a unit elements choose from.
func (r *Reading) bitsIn(unit int) float64 {
	n := len(r.Layout.Units[unit].Map)
	if n == 0 {
		n = 1
	}
	return float64(n) * float64(len(r.Registers[unit]))
}

func ones(words []uint32) float64 {
	n := 0
	for _, w := range words {
		n += bits.OnesCount32(w)
	}
	return float64(n)
}

// Heavy lists those of the candidates, each once, that reach the threshold, the
// greatest first. With no threshold it lists all that were seen.
func (r *Reading) Heavy(candidates []flymon.Vector, threshold uint64) []FlowEstimate {
	seen := make(map[flymon.Vector]bool, len(candidates))
	var list []FlowEstimate
	for _, v := range candidates {
		v = v.And(r.Task.Key)
		if seen[v] {
			continue
		}
		seen[v] = true
		e := r.Flow(v)
		heavy := e.Value > 0 && e.Value >= float64(threshold)
		if r.Sketch.Algorithm == flymon.BeauCoup && threshold > 0 {
			heavy = e.Saturated // all coupons in all tables
		}
		if heavy {
			list = append(list, FlowEstimate{v, e})
		}
	}
	slices.SortFunc(list, func(a, b FlowEstimate) int {
		return cmp.Or(-cmp.Compare(a.Value, b.Value), slices.Compare(a.Flow[:], b.Flow[:]))
	})
	return list
}

// Load says which part of the buckets is in use, and which is as high as it can be.
func (r *Reading) Load() (load, full float64) {
	n, used, top := 0, 0, 0
	for i, words := range r.Registers {
		most := r.full(i)
		for _, w := range words {
			n++
			if w != 0 {
				used++
			}
			if w >= most {
				top++
			}
		}
	}
	return float64(used) / float64(n), float64(top) / float64(n)
}

// full is the value from which on a bucket of a unit tells nothing more.
func (r *Reading) full(unit int) uint32 {
	u := &r.Layout.Units[unit]
	switch {
	case r.Sketch.Algorithm == flymon.BeauCoup:
		return 1<<r.Sketch.Coupons - 1
	case u.P2.From == flymon.Const && u.Op == flymon.CondAdd:
		return max(u.P2.Value&r.Geometry.Mask(), 1)
	}
	return r.Geometry.Mask()
}

// Decode decodes Counter Braids for all flows that were counted: from and to of each
// flow's size, equal where it is exact. A flow that is left out falsifies the others.
func (r *Reading) Decode(flows []flymon.Vector) []FlowEstimate {
	if r.Sketch.Algorithm != flymon.CounterBraids || len(flows) == 0 {
		return nil
	}
	var rows []sketch.Braid
	width := int(r.Sketch.Bits[0])
	for _, row := range r.Sketch.Rows {
		first := make([]uint32, len(r.Registers[row[0]]))
		for i, w := range r.Registers[row[0]] {
			first[i] = w >> (r.Geometry.Width - width)
		}
		rows = append(rows, sketch.NewBraid(first, r.Registers[row[1]], 1<<width-1))
	}
	at := make([][]uint32, len(flows))
	for f, v := range flows {
		for _, row := range r.Sketch.Rows {
			at[f] = append(at[f], r.bucket(row[0], v))
		}
	}
	const rounds = 50
	low, high := sketch.Decode(rows, at, rounds)
	list := make([]FlowEstimate, len(flows))
	for f, v := range flows {
		list[f] = FlowEstimate{v, flymon.Estimate{
			Value: float64(low[f]+high[f]) / 2, Lower: float64(low[f]), Upper: float64(high[f]), Confidence: 1,
			Bound: "message passing over all flows",
		}}
	}
	return list
}
