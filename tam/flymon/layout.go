package flymon

import (
	"errors"
	"fmt"
	"math/bits"
)

// Geometry is the number and size of a chip's CMU groups.
type Geometry struct {
	Groups  int `json:"groups"`  // number of cross-stacked groups; group g is in egress stages g to g+3
	Spliced int `json:"spliced"` // number of further groups, reached through the recirculation port (Appendix E)
	Units   int `json:"units"`   // hash units per group that compress, 3
	CMUs    int `json:"cmus"`    // CMUs per group, 3
	Width   int `json:"width"`   // bits per bucket, 8 to 32
	Depth   int `json:"depth"`   // buckets per CMU, a power of two, 32 to 2^20
	// Partitions is the number of partitions of a CMU, 32 in the paper. The smallest partition has Depth/Partitions
	// buckets.
	Partitions int `json:"partitions"`
	// MapEntries is the number of TCAM entries per CMU for mapping parameters.
	MapEntries int `json:"map-entries"`
	// Digests is the maximum number of keys per task and bank that the chip stores until the controller fetches them.
	Digests int `json:"digests"`
}

// Limits of a chip.
const (
	MaxGroups = 20 // including spliced ones; 17 fit in 20 stages
	MaxUnits  = 3
	MaxCMUs   = 4
	MaxTasks  = 96 // tasks per group
	// Apart is the minimum number of groups from a unit to a later unit that uses its result. The result is written by
	// then.
	Apart = 4
)

// Validate returns one error with all fields that are out of range, by their JSON names.
func (g *Geometry) Validate() error {
	var errs []error
	in := func(name string, v, lo, hi int) {
		if v < lo || v > hi {
			errs = append(errs, fmt.Errorf("%s is %d, want %d to %d", name, v, lo, hi))
		}
	}
	power := func(name string, v int) {
		if v > 0 && v&(v-1) != 0 {
			errs = append(errs, fmt.Errorf("%s is %d, want a power of two", name, v))
		}
	}
	in("groups", g.Groups, 1, MaxGroups)
	in("spliced", g.Spliced, 0, max(0, min(3, MaxGroups-g.Groups)))
	in("units", g.Units, 1, MaxUnits)
	in("cmus", g.CMUs, 1, MaxCMUs)
	in("width", g.Width, 8, 32)
	in("depth", g.Depth, 32, 1<<20)
	power("depth", g.Depth)
	in("partitions", g.Partitions, 1, min(1024, max(1, g.Depth/2)))
	power("partitions", g.Partitions)
	in("map-entries", g.MapEntries, 0, 4096)
	in("digests", g.Digests, 0, 65536)
	return errors.Join(errs...)
}

// All returns the number of groups of both kinds.
func (g *Geometry) All() int { return g.Groups + g.Spliced }

// MinSize returns the size of the smallest partition.
func (g *Geometry) MinSize() int { return g.Depth / g.Partitions }

// Mask returns the largest value of a bucket.
func (g *Geometry) Mask() uint32 { return uint32(1<<g.Width - 1) }

// A Layout is a task on a chip, with its entries in all stages.
type Layout struct {
	Task   string `json:"task"`
	Filter Filter `json:"filter"`
	// Masks are the masks of the hash units that the task uses. Tasks that share a unit have the same mask.
	Masks []MaskRule `json:"masks"`
	Units []Unit     `json:"units"`
	// Epoch is the epoch in nanoseconds, or zero for a single bank. Otherwise bank T/Epoch mod 2 counts, where T is the
	// time of day at which the copy enters the egress pipe.
	Epoch uint64 `json:"epoch,omitempty"`
	// Digest makes the chip keep keys for the controller to fetch. Nil means no digests.
	Digest *Digest `json:"digest,omitempty"`
	// Frozen lists partitions where the task was before it moved. They belong to the task and can be read as units
	// after Units, but count nothing.
	Frozen []Unit `json:"frozen,omitempty"`
	// Flow and Measures are the task's key and attribute. A chip with an oracle counts them exactly.
	Flow     Key    `json:"flow"`
	Measures string `json:"measures"`
}

// A MaskRule gives a hash unit its mask.
type MaskRule struct {
	Group int `json:"group"`
	Unit  int `json:"unit"`
	Key   Key `json:"key"`
}

// A Digest is made when a unit leaves Threshold or more in its bucket, even if the counter was already full. For max it
// is made when the unit's P1 is that large. It contains the packet's vector under Key. A bank has one digest per key.
type Digest struct {
	Unit      int    `json:"unit"` // index in Layout.Units
	Threshold uint32 `json:"threshold"`
	Key       Key    `json:"key"`
}

// A Unit is the share of a task that one CMU runs.
type Unit struct {
	Group int `json:"group"`
	CMU   int `json:"cmu"`
	Key   Ref `json:"key"`
	// Base is the task's first bucket. Size is the number of buckets per bank, a power of two. With an epoch there are
	// two banks in sequence. Base is a multiple of Size, or of twice Size with an epoch.
	Base uint32 `json:"base"`
	Size uint32 `json:"size"`
	// Shifted means that the address is translated by shift, not by TCAM.
	Shifted bool  `json:"shifted,omitempty"`
	Op      Op    `json:"op"`
	P1      Param `json:"p1"`
	P2      Param `json:"p2"`
	// Map is a TCAM over P1: the first matching rule replaces P1. P1 becomes 0 if no rule matches. Without rules P1 is
	// unchanged.
	Map []MapRule `json:"map,omitempty"`
	// The unit runs for packets whose coin, 0 to 255, is at least From and less than To. It runs for all packets if
	// both are 0. The coin is the same for all units of a packet. The result of a unit that does not run is 0.
	From uint16 `json:"from,omitempty"`
	To   uint16 `json:"to,omitempty"`
}

// A Ref is a compressed key: the output of hash unit A of the group, XOR unit B if there is one, rotated right by
// Shift.
type Ref struct {
	A     int   `json:"a"`
	B     int   `json:"b,omitempty"` // number of the second unit plus 1, or 0 if there is none
	Shift uint8 `json:"shift,omitempty"`
}

// A MapRule returns Out for parameters that equal Value under Mask.
type MapRule struct {
	Value uint32 `json:"value"`
	Mask  uint32 `json:"mask"`
	Out   uint32 `json:"out"`
}

// Op is an operation. The package comment defines the operations.
type Op string

// Operations, by their names in Appendix A. XorSwap is the operation that the paper leaves open.
const (
	CondAdd Op = "cond-add"
	Max     Op = "max"
	AndOr   Op = "and-or"
	XorSwap Op = "xor-swap"
)

// A Param is the source of a parameter.
type Param struct {
	From Source `json:"from"`
	// Value is the value of a Const, or the upper limit of a Least (0 means all ones).
	Value uint32 `json:"value,omitempty"`
	// Key is the key of a Compressed, and Bits the number of its low bits (0 means 32).
	Key  Ref   `json:"key,omitzero"`
	Bits uint8 `json:"bits,omitempty"`
	// Scale divides the value of a Timestamp, Since, QueueLength or QueueDelay by 2^Scale.
	Scale uint8 `json:"scale,omitempty"`
	// Of lists the units of a Result, Least or Since by their index in the task. They are at least Apart groups
	// earlier.
	Of []int `json:"of,omitempty"`
}

// Source is a kind of parameter.
type Source string

// The sources of parameters.
const (
	Const Source = "const"
	// Size is the length of the outgoing frame in bytes, with FCS, but without its stamps. It is limited to the largest
	// bucket.
	Size Source = "size"
	// Timestamp is the time of day in ns at which the copy enters the egress pipe, >> Scale, mod 2^Width. It is 1
	// instead of 0, which means no time.
	Timestamp Source = "timestamp"
	// QueueLength is the number of bytes in the queue when the copy arrived, excluding the copy and FCS, >> Scale. It
	// is limited to the largest bucket.
	QueueLength Source = "queue-length"
	QueueDelay  Source = "queue-delay" // time in the queue in ns, >> Scale, limited in the same way
	Compressed  Source = "key"         // the low Bits bits of the compressed key Key
	Result      Source = "result"      // result of unit Of[0]
	// Least is the smallest of Value and the nonzero results of Of. If all of these are zero, it is all ones.
	Least Source = "least"
	// Since is the timestamp minus the result of Of[0], mod 2^Width. It is 0 if there was no earlier packet: if the
	// result of Of[0] is 0, or the result of Of[1] is not 0.
	Since Source = "since"
)

// bounds returns an error if a partition is invalid.
func (g *Geometry) bounds(u *Unit, banks uint32) error {
	switch {
	case u.Group < 0 || u.Group >= g.All():
		return fmt.Errorf("group is %d, want 0 to %d", u.Group, g.All()-1)
	case u.CMU < 0 || u.CMU >= g.CMUs:
		return fmt.Errorf("cmu is %d, want 0 to %d", u.CMU, g.CMUs-1)
	case bits.OnesCount32(u.Size) != 1 || int(u.Size) < g.MinSize() ||
		int64(u.Size)*int64(banks) > int64(g.Depth):
		return fmt.Errorf("size is %d, want a power of two from %d to %d", u.Size, g.MinSize(), g.Depth/int(banks))
	case u.Base%(u.Size*banks) != 0 || int64(u.Base)+int64(u.Size)*int64(banks) > int64(g.Depth):
		return fmt.Errorf("base is %d, want a multiple of %d below %d", u.Base, u.Size*banks, g.Depth)
	case u.From > u.To || u.To > 256 || u.From == u.To && u.To != 0:
		return fmt.Errorf("from %d to %d, want 0 to 256, the lower first", u.From, u.To)
	case len(u.Map) > g.MapEntries:
		return fmt.Errorf("map has %d rules, want at most %d", len(u.Map), g.MapEntries)
	}
	return nil
}

// Banks returns 2 with an epoch, else 1.
func (l *Layout) Banks() uint32 {
	if l.Epoch > 0 {
		return 2
	}
	return 1
}

// Limits of an epoch, in nanoseconds.
const (
	MinEpoch = 1_000_000
	MaxEpoch = 3_600_000_000_000
)

// faults collects errors, to report all of them at once.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// A place is a hash unit or a CMU: its group, and its number in the group.
type place [2]int

// Check returns all errors of a layout on a chip. It does not check whether the layout fits beside others, which the
// chip does.
func (l *Layout) Check(g *Geometry) error {
	var bad faults
	if l.Task == "" || len(l.Task) > 64 {
		bad.add("task %q, want a name of 1 to 64 bytes", l.Task)
	}
	if l.Epoch != 0 && (l.Epoch < MinEpoch || l.Epoch > MaxEpoch) {
		bad.add("epoch is %d ns, want 0 or %d to %d", l.Epoch, MinEpoch, uint64(MaxEpoch))
	}
	for _, p := range []Ports{l.Filter.SrcPort, l.Filter.DstPort} {
		if p.Has && p.Lo > p.Hi {
			bad.add("filter: ports %d to %d, want the lower one first", p.Lo, p.Hi)
		}
	}
	l.checkUnits(g, l.checkMasks(g, &bad), &bad)
	l.checkFrozen(g, &bad)
	if _, err := ParseAttribute(l.Measures); err != nil {
		bad.add("measures: %w", err)
	}
	if d := l.Digest; d != nil && (d.Unit < 0 || d.Unit >= len(l.Units) || d.Threshold == 0) {
		bad.add("digest: unit %d, threshold %d, want a unit of the task and a threshold of at least 1", d.Unit, d.Threshold)
	}
	return errors.Join(bad...)
}

// checkMasks checks the masks, and returns the hash units that have one.
func (l *Layout) checkMasks(g *Geometry, bad *faults) map[place]bool {
	masked := map[place]bool{}
	for i, m := range l.Masks {
		at := place{m.Group, m.Unit}
		if m.Group < 0 || m.Group >= g.All() || m.Unit < 0 || m.Unit >= g.Units || masked[at] {
			bad.add("masks[%d]: group %d, unit %d, want each unit of the %d groups of %d at most once",
				i, m.Group, m.Unit, g.All(), g.Units)
		}
		masked[at] = true
	}
	return masked
}

// checkUnits checks the units: their partitions, that each has its own CMU, and their operations.
func (l *Layout) checkUnits(g *Geometry, masked map[place]bool, bad *faults) {
	if len(l.Units) == 0 || len(l.Units) > g.All()*g.CMUs {
		bad.add("units: %d, want 1 to %d", len(l.Units), g.All()*g.CMUs)
	}
	taken := map[place]bool{}
	for i := range l.Units {
		u := &l.Units[i]
		if err := g.bounds(u, l.Banks()); err != nil {
			bad.add("units[%d]: %w", i, err)
			continue
		}
		at := place{u.Group, u.CMU}
		if taken[at] {
			bad.add("units[%d]: group %d, cmu %d is taken by another unit of the task", i, u.Group, u.CMU)
		}
		taken[at] = true
		if err := l.checkUnit(i, masked); err != nil {
			bad.add("units[%d]: %w", i, err)
		}
	}
}

func (l *Layout) checkFrozen(g *Geometry, bad *faults) {
	if len(l.Frozen) > g.All()*g.CMUs {
		bad.add("frozen: %d, want at most %d", len(l.Frozen), g.All()*g.CMUs)
	}
	for i := range l.Frozen {
		if err := g.bounds(&l.Frozen[i], l.Banks()); err != nil {
			bad.add("frozen[%d]: %w", i, err)
		}
	}
}

// checkUnit checks the operation, keys and parameters of unit i.
func (l *Layout) checkUnit(i int, masked map[place]bool) error {
	u := &l.Units[i]
	switch u.Op {
	case CondAdd, Max, AndOr, XorSwap:
	default:
		return fmt.Errorf("op %q, want %q, %q, %q or %q", u.Op, CondAdd, Max, AndOr, XorSwap)
	}
	if err := u.Key.check(u.Group, masked); err != nil {
		return err
	}
	for n, p := range []*Param{&u.P1, &u.P2} {
		if err := l.checkParam(i, p, masked); err != nil {
			return fmt.Errorf("p%d: %w", n+1, err)
		}
	}
	return nil
}

// check checks that a compressed key uses hash units of its group that have a mask.
func (r Ref) check(group int, masked map[place]bool) error {
	second := r.B - 1
	if !masked[place{group, r.A}] || r.B != 0 && (!masked[place{group, second}] || second == r.A) || r.Shift > 31 {
		return fmt.Errorf("key %+v, want hash units of group %d that masks names, and a shift of 0 to 31", r, group)
	}
	return nil
}

// checkParam checks a parameter of unit i.
func (l *Layout) checkParam(i int, p *Param, masked map[place]bool) error {
	want, ok := p.operands()
	if !ok {
		return fmt.Errorf("from %q, want a source of parameters", p.From)
	}
	group := l.Units[i].Group
	if p.From == Compressed {
		if err := p.Key.check(group, masked); err != nil {
			return err
		}
	}
	if p.Bits > 32 || p.Scale > 63 || len(p.Of) != want {
		return fmt.Errorf("bits %d, scale %d, of %v, want at most 32, at most 63 and %d units", p.Bits, p.Scale, p.Of, want)
	}
	for _, k := range p.Of {
		if k < 0 || k >= i || l.Units[k].Group > group-Apart {
			return fmt.Errorf("of unit %d, want one before it, in a group at least %d before group %d", k, Apart, group)
		}
	}
	return nil
}

// operands returns the number of units whose results a parameter uses. It returns false if the source is unknown.
func (p *Param) operands() (n int, ok bool) {
	switch p.From {
	case Const, Size, Timestamp, QueueLength, QueueDelay, Compressed:
		return 0, true
	case Result:
		return 1, true
	case Least:
		return max(1, len(p.Of)), true
	case Since:
		return 2, true
	}
	return 0, false
}

// A Sketch describes how a layout is read: the roles of its units in its algorithm.
type Sketch struct {
	Algorithm Algorithm
	// Rows lists the units of each row, by their index in Layout.Units. For Counter Braids these are layers 1 and 2.
	// For max-interval these are the units for new flows, the last arrival and the longest interval. For Odd Sketch
	// these are the units for new elements and for the bits. Other algorithms have one unit per row.
	Rows [][]int
	// Bits are the counters' widths, in the highest bits of the buckets: by row for TowerSketch, by layer for Counter
	// Braids. If Bits is empty, counters are whole buckets.
	Bits []uint8
	// Coupons is BeauCoup's number of coupons. Each is drawn with probability 2^-CouponShift, and all must be
	// collected.
	Coupons, CouponShift uint8
	Scale                uint8 // times are in units of 2^Scale ns
	// Element is the compressed key that selects bits (Bloom filter, linear counting, Odd Sketch), ranks (HyperLogLog),
	// or coupons.
	Element Param
}

// mask returns the mask of a hash unit.
func (l *Layout) mask(group, unit int) Key {
	for _, m := range l.Masks {
		if m.Group == group && m.Unit == unit {
			return m.Key
		}
	}
	return Key{}
}

// Compressed returns a compressed key of a vector in a group.
func (l *Layout) Compressed(group int, r Ref, v Vector) uint32 {
	c := Compress(Poly(group, r.A), v.And(l.mask(group, r.A)))
	if r.B > 0 {
		c ^= Compress(Poly(group, r.B-1), v.And(l.mask(group, r.B-1)))
	}
	return bits.RotateLeft32(c, -int(r.Shift))
}

// Bucket returns the bucket of a vector in unit i, from 0 to Size-1, relative to base and bank.
func (l *Layout) Bucket(g *Geometry, i int, v Vector) uint32 {
	u := &l.Units[i]
	return u.Translate(l.Compressed(u.Group, u.Key, v), uint32(g.Depth))
}

// Translate returns the bucket, from 0 on, of a compressed key in a CMU of this depth.
func (u *Unit) Translate(c, depth uint32) uint32 {
	raw := c & (depth - 1)
	if u.Shifted {
		return raw >> (bits.TrailingZeros32(depth) - bits.TrailingZeros32(u.Size))
	}
	return raw & (u.Size - 1)
}

// Rules returns the number of the task's runtime rules, counted as in table 3 of the paper. They are the filter, hash
// masks, and for each unit its selection of key, parameters and operation, address translation, and the map.
func (l *Layout) Rules(g *Geometry) int {
	groups := map[int]bool{}
	n := len(l.Masks)
	for i := range l.Units {
		u := &l.Units[i]
		groups[u.Group] = true
		n += 2 + u.Translation(g) + len(u.Map) // initialization, operation
	}
	return n + len(groups)*l.Filter.Entries()
}

// Translation returns the number of entries of a unit's address translation. Translation by TCAM has an entry for each
// range of addresses outside the partition (figure 9), and a default entry. Translation by shift has one entry.
func (u *Unit) Translation(g *Geometry) int {
	if u.Shifted {
		return 1
	}
	return g.Depth / int(u.Size)
}
