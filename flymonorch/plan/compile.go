package plan

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"tamtam/tam/flymon"
)

// A recipe is a compiled task without its place. The units of each step are in one group. Each step is in a group at
// least flymon.Apart behind that of the previous step.
type recipe struct {
	steps [][]part
	// alike means that the keys of all steps come from units with the same polynomial, so that a step's bucket follows
	// from the previous step's.
	alike  bool
	sketch flymon.Sketch
	digest *flymon.Digest
	banks  uint32
}

// A part is a unit without a place. Keys are given as masks, and the refs of the unit have only their shifts.
type part struct {
	key, element flymon.Key // element is the key of P1 from a compressed key
	unit         flymon.Unit
}

// compile chooses algorithm and sizes.
func (p *Pool) compile(t flymon.Task) (*recipe, error) {
	if err := p.choose(&t); err != nil {
		return nil, err
	}
	c := &compiler{pool: p, task: t, recipe: &recipe{banks: 1, sketch: flymon.Sketch{Algorithm: t.Algorithm}}}
	if t.Epoch > 0 && !t.Live {
		c.recipe.banks = 2
	}
	if err := c.steps(); err != nil {
		return nil, err
	}
	for _, step := range c.recipe.steps {
		for i := range step {
			step[i].unit.Shifted = t.Shifted
		}
	}
	var err error
	c.recipe.digest, err = digest(&t, &c.recipe.sketch, p.geo.Width)
	return c.recipe, err
}

// choose selects an algorithm if the task names none, and returns an error if this chip does not support the task.
func (p *Pool) choose(t *flymon.Task) error {
	if err := errors.Join(p.geo.Validate(), t.Check()); err != nil {
		return err
	}
	if t.Algorithm == flymon.Auto {
		all := flymon.AlgorithmsOf(t.Attribute, t.Key.IsZero())
		if len(all) == 0 {
			return fmt.Errorf("attribute %q, want %s", t.Attribute, flymon.AttributeWords)
		}
		t.Algorithm = all[0]
	}
	if k := t.Attribute.Kind; (k == flymon.Bytes || k == flymon.MaxSize) && p.geo.Width < 16 {
		return fmt.Errorf("attribute is %s, want another: buckets have %d bits, and a frame may have more bytes",
			t.Attribute, p.geo.Width)
	}
	if t.Attribute.Kind == flymon.MaxInterval && t.Epoch == 0 && p.geo.Width < 16 {
		return fmt.Errorf("epoch is 0, want one: buckets have %d bits, which tell the times of %v apart only to %v",
			p.geo.Width, unbounded, time.Duration(1)<<timeScale(0, p.geo.Width))
	}
	if t.Shifted && (t.Algorithm == flymon.CounterBraids || t.Algorithm == flymon.OddSketch) {
		return fmt.Errorf("translation is shift, want tcam: "+
			"buckets of the second layer of %s are those of the first modulo their number", t.Algorithm)
	}
	return nil
}

type compiler struct {
	pool   *Pool
	task   flymon.Task
	recipe *recipe
}

// steps makes the recipe's steps for the algorithm.
func (c *compiler) steps() error {
	switch c.task.Algorithm {
	case flymon.CMS, flymon.MRAC, flymon.SuMaxMax:
		return c.counters()
	case flymon.SuMaxSum:
		return c.suMaxSum()
	case flymon.Tower:
		return c.tower()
	case flymon.CounterBraids:
		return c.braids()
	case flymon.HyperLogLog:
		return c.hyperLogLog()
	case flymon.LinearCounting, flymon.Bloom:
		return c.bitmap()
	case flymon.OddSketch:
		return c.oddSketch()
	case flymon.BeauCoup:
		return c.beauCoup()
	case flymon.MaxInterArr:
		return c.maxInterval()
	}
	return fmt.Errorf("algorithm %q is not known", c.task.Algorithm)
}

// rows returns the number of rows: the task's, or the algorithm's default.
func (c *compiler) rows() (int, error) {
	own, most := 3, c.pool.geo.CMUs
	switch c.task.Algorithm {
	case flymon.MRAC, flymon.HyperLogLog, flymon.LinearCounting, flymon.OddSketch:
		own, most = 1, 1
	case flymon.SuMaxMax:
		if c.task.Key.IsZero() { // all packets share one bucket
			own, most = 1, 1
		}
	case flymon.SuMaxSum:
		most = (c.pool.geo.Groups + flymon.Apart - 1) / flymon.Apart
	}
	n := int(c.task.Rows)
	if n == 0 {
		n = min(own, most)
	}
	if n > most {
		return 0, fmt.Errorf("rows is %d, want 1 to %d of %s on this chip", n, most, c.task.Algorithm)
	}
	return n, nil
}

// size returns the number of buckets of each of n equal partitions.
func (c *compiler) size(n int) (uint32, error) {
	if c.task.Algorithm == flymon.SuMaxMax && c.task.Key.IsZero() {
		return uint32(c.pool.geo.MinSize()), nil
	}
	return c.power((int(c.task.Memory)+n-1)/n, n)
}

// power returns the size of one of n equal partitions, of which each should have want buckets. The size is a power of
// two.
func (c *compiler) power(want, n int) (uint32, error) {
	g := &c.pool.geo
	size := 1 << bits.Len(uint(want-1)) // at least the requested number
	if half := size / 2; !c.task.Accurate && want-half <= size-want && half > 0 {
		size = half
	}
	size = max(size, g.MinSize())
	if most := g.Depth / int(c.recipe.banks); size > most {
		return 0, fmt.Errorf("memory is %d, want at most %d buckets: %d partitions of %d, as large as a CMU has with "+
			"%d banks",
			c.task.Memory, n*most, n, most, c.recipe.banks)
	}
	return uint32(size), nil
}

// shift returns the rotation of a compressed key that makes rows use bits as different as possible.
func shift(row, rows int) uint8 { return uint8(32 * row / rows) }

func constant(v uint32) flymon.Param { return flymon.Param{From: flymon.Const, Value: v} }

// add returns the amount that a packet adds to a counter.
func (c *compiler) add() flymon.Param {
	if c.task.Attribute.Kind == flymon.Bytes {
		return flymon.Param{From: flymon.Size}
	}
	return constant(1)
}

// maxFrame exceeds the bytes of any frame.
const maxFrame = 1 << 14

// bytesFull returns the value at which a byte counter stops, so that it does not wrap: later additions to it and to the
// following counters still fit. A bucket must have 16 bits.
func bytesFull(width int) uint32 { return uint32(1<<width - 2*maxFrame) }

// full returns the value at which counters stop.
func (c *compiler) full() flymon.Param {
	if c.task.Attribute.Kind == flymon.Bytes {
		return constant(bytesFull(c.pool.geo.Width))
	}
	return constant(c.pool.geo.Mask())
}

// counters makes rows of equal counters: count-min, MRAC, SuMax(Max).
func (c *compiler) counters() error {
	op, p1 := flymon.CondAdd, c.add()
	switch c.task.Attribute.Kind {
	case flymon.MaxQueue:
		op, p1 = flymon.Max, flymon.Param{From: flymon.QueueLength, Scale: c.queueScale()}
	case flymon.MaxDelay:
		op, p1 = flymon.Max, flymon.Param{From: flymon.QueueDelay, Scale: c.queueScale()}
	case flymon.MaxSize:
		op, p1 = flymon.Max, flymon.Param{From: flymon.Size}
	}
	c.recipe.sketch.Scale = p1.Scale
	return c.parallel(func(row int, u *part) {
		u.unit.Op, u.unit.P1, u.unit.P2 = op, p1, c.full()
	})
}

// queueScale returns a scale with which small buckets hold queues of up to 16 MB and delays of 16 ms.
func (c *compiler) queueScale() uint8 { return uint8(max(0, 24-c.pool.geo.Width)) }

// parallel makes the rows of a single step.
func (c *compiler) parallel(fill func(row int, u *part)) error {
	n, err := c.rows()
	if err != nil {
		return err
	}
	size, err := c.size(n)
	if err != nil {
		return err
	}
	var step []part
	for row := range n {
		u := part{key: c.task.Key, unit: flymon.Unit{Size: size, Key: flymon.Ref{Shift: shift(row, n)}}}
		fill(row, &u)
		step = append(step, u)
		c.recipe.sketch.Rows = append(c.recipe.sketch.Rows, []int{row})
	}
	c.recipe.steps = [][]part{step}
	return nil
}

// suMaxSum puts each row behind the previous one: a counter grows only if it is below the least of those before it.
// Full counters are ignored. Byte counters then stop at the same value as in the first row, so that none wraps.
func (c *compiler) suMaxSum() error {
	n, err := c.rows()
	if err != nil {
		return err
	}
	size, err := c.size(n)
	if err != nil {
		return err
	}
	var before []int
	for row := range n {
		u := part{key: c.task.Key, unit: flymon.Unit{
			Size: size, Key: flymon.Ref{Shift: shift(row, n)}, Op: flymon.CondAdd, P1: c.add(), P2: c.full(),
		}}
		if row > 0 {
			u.unit.P2 = flymon.Param{From: flymon.Least, Of: append([]int(nil), before...)}
			if c.task.Attribute.Kind == flymon.Bytes {
				u.unit.P2.Value = c.full().Value
			}
		}
		before = append(before, row)
		c.recipe.steps = append(c.recipe.steps, []part{u})
		c.recipe.sketch.Rows = append(c.recipe.sketch.Rows, []int{row})
	}
	return nil
}

// tower makes rows of counters of different widths, at the top of the buckets.
func (c *compiler) tower() error {
	width := c.pool.geo.Width
	widths := []int{8, 16, width}
	if width < 32 {
		widths = []int{width / 4, width / 2, width}
	}
	return c.parallel(func(row int, u *part) {
		b := widths[row%3]
		c.recipe.sketch.Bits = append(c.recipe.sketch.Bits, uint8(b))
		u.unit.Op, u.unit.P1 = flymon.CondAdd, constant(1<<(width-b))
		u.unit.P2 = constant(c.pool.geo.Mask() &^ (1<<(width-b) - 1))
	})
}

// braids makes rows of two layers. Packets beyond a full bucket of the first layer count in the second, in the first's
// bucket index modulo the second's size.
func (c *compiler) braids() error {
	n, err := c.rows()
	if err != nil {
		return err
	}
	least := uint32(c.pool.geo.MinSize())
	first, err := c.power((4*int(c.task.Memory)+5*n-1)/(5*n), n) // with a second layer of a quarter of the size
	if err != nil {
		return err
	}
	second := max(first/4, least)
	width := c.pool.geo.Width
	low := width / 4
	var one, two []part
	for row := range n {
		ref := flymon.Ref{Shift: shift(row, n)}
		one = append(one, part{key: c.task.Key, unit: flymon.Unit{
			Size: first, Key: ref, Op: flymon.CondAdd,
			P1: constant(1 << (width - low)), P2: constant(c.pool.geo.Mask() &^ (1<<(width-low) - 1)),
		}})
		two = append(two, part{key: c.task.Key, unit: flymon.Unit{
			Size: second, Key: ref, Op: flymon.CondAdd,
			P1: flymon.Param{From: flymon.Result, Of: []int{row}}, P2: constant(c.pool.geo.Mask()),
			Map: []flymon.MapRule{{Value: 0, Mask: c.pool.geo.Mask(), Out: 1}},
		}})
		c.recipe.sketch.Rows = append(c.recipe.sketch.Rows, []int{row, n + row})
	}
	c.recipe.steps, c.recipe.alike = [][]part{one, two}, true
	c.recipe.sketch.Bits = []uint8{uint8(low), uint8(width)}
	return nil
}

// hashed makes n rows whose parameter uses bits of the element that the address does not use.
func (c *compiler) hashed(n int, size uint32, width int, fill func(u *part)) {
	var step []part
	element := c.task.Attribute.Of
	for row := range n {
		at := shift(row, n)
		u := part{key: element, element: element}
		u.unit = flymon.Unit{Size: size, Key: flymon.Ref{Shift: at}, P1: c.besides(at, size, width)}
		fill(&u)
		step = append(step, u)
		c.recipe.sketch.Rows = append(c.recipe.sketch.Rows, []int{row})
	}
	c.recipe.steps = [][]part{step}
	c.recipe.sketch.Element = step[0].unit.P1
}

// besides returns a parameter of width bits of the compressed key, or all that are left, which the address of size
// buckets with this shift does not use.
func (c *compiler) besides(shift uint8, size uint32, width int) flymon.Param {
	address := bits.TrailingZeros32(size)
	from := address
	if c.task.Shifted { // the address consists of the highest bits that select among all buckets
		from = bits.TrailingZeros(uint(c.pool.geo.Depth))
	}
	return flymon.Param{
		From: flymon.Compressed, Key: flymon.Ref{Shift: uint8((int(shift) + from) % 32)}, Bits: uint8(min(width, 32-address)),
	}
}

// oneHot returns rules that map a parameter to a bit of a bucket, and the number of the parameter's bits.
func (c *compiler) oneHot() (choose int, rules []flymon.MapRule) {
	choose = bits.Len(uint(c.pool.geo.Width)) - 1
	for bit := range 1 << choose {
		rules = append(rules, flymon.MapRule{Value: uint32(bit), Mask: 1<<choose - 1, Out: 1 << bit})
	}
	return choose, rules
}

// hyperLogLog keeps the greatest string of each bucket. The more of its highest bits are ones, the more elements there
// were.
func (c *compiler) hyperLogLog() error {
	size, err := c.oneRow()
	if err != nil {
		return err
	}
	c.hashed(1, size, c.pool.geo.Width, func(u *part) { u.unit.Op, u.unit.P2 = flymon.Max, constant(0) })
	return nil
}

func (c *compiler) oneRow() (uint32, error) {
	n, err := c.rows()
	if err != nil {
		return 0, err
	}
	return c.size(n)
}

// bitmap sets one bit of a bucket.
func (c *compiler) bitmap() error {
	n, err := c.rows()
	if err != nil {
		return err
	}
	size, err := c.size(n)
	if err != nil {
		return err
	}
	choose, rules := c.oneHot()
	c.hashed(n, size, choose, func(u *part) { u.unit.Op, u.unit.P2, u.unit.Map = flymon.AndOr, constant(1), rules })
	return c.enough(choose, n)
}

// enough returns an error for rows so large that too few bits of the compressed key are left to select a bit.
func (c *compiler) enough(choose, rows int) error {
	if got := c.recipe.sketch.Element.Bits; int(got) < choose {
		return fmt.Errorf("memory is %d, want at most %d buckets: %d bits of the compressed key are left to choose a bit by",
			c.task.Memory, rows<<(32-choose), got)
	}
	return nil
}

// oddSketch makes a Bloom filter of one row, which distinguishes new elements from repeated ones. Behind it, with a
// quarter of the buckets, are bits that each element toggles once. A filter of one row is accurate if there are far
// fewer elements than bits.
func (c *compiler) oddSketch() error {
	if _, err := c.rows(); err != nil {
		return err
	}
	first, err := c.power((4*int(c.task.Memory)+4)/5, 1)
	if err != nil {
		return err
	}
	choose, rules := c.oneHot()
	c.hashed(1, first, choose, func(u *part) { u.unit.Op, u.unit.P2, u.unit.Map = flymon.AndOr, constant(1), rules })
	c.recipe.steps = append(c.recipe.steps, []part{{key: c.task.Attribute.Of, unit: flymon.Unit{
		Size: max(first/4, uint32(c.pool.geo.MinSize())), Op: flymon.XorSwap,
		P1: flymon.Param{From: flymon.Result, Of: []int{0}}, P2: constant(0),
	}}})
	c.recipe.sketch.Rows = [][]int{{0, 1}}
	return c.enough(choose, 1)
}

// beauCoup collects coupons of the element for each flow.
func (c *compiler) beauCoup() error {
	threshold := c.task.Threshold
	if threshold == 0 {
		threshold = 1 << 16 // a count over all packets has no threshold; this gives it a wide range
	}
	coupons, draw, err := flymon.Coupons(threshold, uint8(c.pool.geo.Width))
	if err != nil {
		return err
	}
	if !c.task.Key.IsZero() {
		if err := flymon.CheckCoupons(threshold, uint8(c.pool.geo.Width)); err != nil {
			return err
		}
	}
	c.recipe.sketch.Coupons, c.recipe.sketch.CouponShift = coupons, draw
	var rules []flymon.MapRule
	for i := range uint32(coupons) {
		rules = append(rules, flymon.MapRule{Value: i, Mask: 1<<draw - 1, Out: 1 << i})
	}
	element := flymon.Param{From: flymon.Compressed, Bits: draw}
	c.recipe.sketch.Element = element
	return c.parallel(func(row int, u *part) {
		u.element = c.task.Attribute.Of
		u.unit.Op, u.unit.P1, u.unit.P2, u.unit.Map = flymon.AndOr, element, constant(1), rules
	})
}

// maxInterval makes three units per instance: a Bloom filter that detects new flows, the last arrival, and the longest
// interval.
func (c *compiler) maxInterval() error {
	n, err := c.rows()
	if err != nil {
		return err
	}
	size, err := c.size(3 * n)
	if err != nil {
		return err
	}
	choose, rules := c.oneHot()
	scale := timeScale(c.task.Epoch, c.pool.geo.Width)
	c.recipe.sketch.Scale = scale
	steps := make([][]part, 3)
	for row := range n {
		unit := func(op flymon.Op, p1, p2 flymon.Param) part {
			u := flymon.Unit{Size: size, Key: flymon.Ref{Shift: shift(row, n)}, Op: op, P1: p1, P2: p2}
			return part{key: c.task.Key, unit: u}
		}
		filter := unit(flymon.AndOr, c.besides(shift(row, n), size, choose), constant(1))
		filter.element, filter.unit.Map = c.task.Key, rules
		steps[0] = append(steps[0], filter)
		steps[1] = append(steps[1], unit(flymon.XorSwap, flymon.Param{From: flymon.Timestamp, Scale: scale}, constant(1)))
		since := flymon.Param{From: flymon.Since, Scale: scale, Of: []int{n + row, row}}
		steps[2] = append(steps[2], unit(flymon.Max, since, constant(0)))
		c.recipe.sketch.Rows = append(c.recipe.sketch.Rows, []int{row, n + row, 2*n + row})
	}
	c.recipe.steps = steps
	return nil
}

// unbounded is the longest distinguishable interval of a task without epochs.
const unbounded = time.Hour

// timeScale returns the exponent of the time unit, 2^scale ns, with which a bucket holds an epoch.
func timeScale(epoch time.Duration, width int) uint8 {
	if epoch == 0 {
		epoch = unbounded
	}
	return uint8(max(0, bits.Len64(uint64(epoch))-width))
}
