package cmu

import (
	"math/bits"
	"reflect"
	"slices"

	"tamtam/flymon"
)

// A task is a layout, compiled.
type task struct {
	layout flymon.Layout
	units  []unit
	again  bool   // in spliced groups
	coins  bool   // some unit has a coin
	since  uint64 // the first packet that it may see again
	status Status
	digest *flymon.Digest
	keys   [2][]flymon.Vector // digests, by bank
	truth  [2]*Truth

	// The epoch that counts: times from begin to less than end are in it.
	begin, end uint64
	counting   int // its bank
}

// Status is what a task has counted in all.
type Status struct {
	// Generation is another one whenever units began at 0 because they are new.
	Generation uint64  `json:"generation"`
	Banks      [2]Bank `json:"banks"`
	// Frozen is what Banks were when the frozen units were frozen, FrozenAt the time of the
	// last packet before, in ns.
	Frozen   [2]Bank `json:"frozen"`
	FrozenAt uint64  `json:"frozen-at"`
}

// A Bank is what a bank has counted since it was cleared.
type Bank struct {
	Epoch uint64 `json:"epoch"` // number of the last epoch that counted in it
	Used  bool   `json:"used"`  // something was counted
	Dirty bool   `json:"dirty"` // of more than one epoch
	// Packets and Bytes that the filter matched and unit 0's coin admitted.
	Packets     uint64 `json:"packets"`
	Bytes       uint64 `json:"bytes"`
	Lost        uint64 `json:"lost"` // for want of room in recirculation
	DigestsLost uint64 `json:"digests-lost"`
	Digests     int    `json:"digests"`
	First       uint64 `json:"first"` // ns of the time of day
	Last        uint64 `json:"last"`
}

// A unit is compiled for the packet path.
type unit struct {
	regs     []uint32
	key      ref
	down     uint8  // shift-based translation
	low      uint32 // Size - 1
	base     uint32
	op       uint8
	from, to uint16
	p1, p2   param
	width    uint32 // mask of a bucket
	table    []uint32
	tableAt  uint8 // the bits of P1 that choose in table begin here
	tableLow uint32
	rules    []flymon.MapRule
}

// A ref is a compressed key: indices of hash units.
type ref struct {
	a, b  int16 // b below 0: none
	shift uint8
}

// A param is a source of a parameter, by number.
type param struct {
	from  uint8
	scale uint8
	key   ref
	value uint32 // Const; Compressed: the mask of its bits
	of    []int
}

const (
	opCondAdd uint8 = iota
	opMax
	opAndOr
	opXorSwap
)

const (
	fromConst uint8 = iota
	fromSize
	fromTimestamp
	fromQueueLength
	fromQueueDelay
	fromKey
	fromResult
	fromLeast
	fromSince
)

func operations() []flymon.Op {
	return []flymon.Op{opCondAdd: flymon.CondAdd, opMax: flymon.Max, opAndOr: flymon.AndOr, opXorSwap: flymon.XorSwap}
}

func sources() []flymon.Source {
	return []flymon.Source{
		fromConst: flymon.Const, fromSize: flymon.Size, fromTimestamp: flymon.Timestamp, fromQueueLength: flymon.QueueLength,
		fromQueueDelay: flymon.QueueDelay, fromKey: flymon.Compressed, fromResult: flymon.Result, fromLeast: flymon.Least, fromSince: flymon.Since,
	}
}

// newTask compiles a layout that fits, and zeroes what is new in it.
func (g *Groups) newTask(l flymon.Layout, old *task) *task {
	t := &task{layout: clone(l), since: g.packets + 1, again: l.Units[0].Group >= g.geo.Groups, digest: l.Digest}
	kept := old != nil && len(old.layout.Units) == len(l.Units) && old.layout.Epoch == l.Epoch
	for i := range l.Units {
		u := &l.Units[i]
		t.units = append(t.units, g.compileUnit(u))
		t.coins = t.coins || u.To != 0
		if old == nil || !old.has(&l, u) {
			g.zero(u, l.Banks())
			kept = false
		}
	}
	for i := range l.Frozen {
		if u := &l.Frozen[i]; old == nil || !old.place(u, l.Banks()) {
			g.zero(u, l.Banks())
		}
	}
	g.inherit(t, old, kept)
	return t
}

// inherit takes over what a task's earlier layout has counted.
func (g *Groups) inherit(t, old *task, kept bool) {
	if old != nil {
		if len(t.layout.Frozen) > 0 && len(old.layout.Frozen) == 0 {
			t.status.Frozen = old.status.Banks
			t.status.FrozenAt = max(old.status.Banks[0].Last, old.status.Banks[1].Last)
		} else {
			t.status.Frozen, t.status.FrozenAt = old.status.Frozen, old.status.FrozenAt
		}
	}
	if kept {
		t.status.Generation, t.status.Banks = old.status.Generation, old.status.Banks
		t.begin, t.end, t.counting = old.begin, old.end, old.counting
		t.truth = old.truth
	} else {
		g.changes++
		t.status.Generation = g.changes
		t.openTruth(g.oracle)
	}
	for b := range t.keys {
		if t.digest != nil {
			t.keys[b] = make([]flymon.Vector, 0, g.geo.Digests)
		}
		switch {
		case kept && t.digest != nil && old.digest != nil && *t.digest == *old.digest:
			t.keys[b] = append(t.keys[b], old.keys[b]...)
		default:
			t.status.Banks[b].Digests, t.status.Banks[b].DigestsLost = 0, 0
		}
	}
}

// clone copies a layout: the caller's slices may change.
func clone(l flymon.Layout) flymon.Layout {
	l.Masks, l.Units, l.Frozen = slices.Clone(l.Masks), slices.Clone(l.Units), slices.Clone(l.Frozen)
	for i := range l.Units {
		u := &l.Units[i]
		u.Map, u.P1.Of, u.P2.Of = slices.Clone(u.Map), slices.Clone(u.P1.Of), slices.Clone(u.P2.Of)
	}
	return l
}

// has says whether the task counts in the very unit, by the same keys.
func (t *task) has(l *flymon.Layout, u *flymon.Unit) bool {
	if t.layout.Banks() != l.Banks() {
		return false
	}
	for i := range t.layout.Units {
		if !reflect.DeepEqual(t.layout.Units[i], *u) {
			continue
		}
		for _, m := range l.Masks {
			if m.Group == u.Group && !slices.Contains(t.layout.Masks, m) {
				return false
			}
		}
		return true
	}
	return false
}

// place says whether the partition is the task's, whatever counts in it.
func (t *task) place(u *flymon.Unit, banks uint32) bool {
	same := func(o flymon.Unit) bool {
		return o.Group == u.Group && o.CMU == u.CMU && o.Base == u.Base && o.Size == u.Size
	}
	return t.layout.Banks() == banks && (slices.ContainsFunc(t.layout.Units, same) || slices.ContainsFunc(t.layout.Frozen, same))
}

func (g *Groups) zero(u *flymon.Unit, banks uint32) {
	clear(g.registers(u)[u.Base : u.Base+u.Size*banks])
}

func (g *Groups) compileUnit(u *flymon.Unit) unit {
	c := unit{
		regs: g.registers(u), key: g.ref(u.Group, u.Key), low: u.Size - 1, base: u.Base, op: uint8(slices.Index(operations(), u.Op)),
		from: u.From, to: u.To, p1: g.param(u.Group, &u.P1), p2: g.param(u.Group, &u.P2), width: g.geo.Mask(),
	}
	if u.Shifted {
		c.down = uint8(bits.TrailingZeros32(uint32(g.geo.Depth)) - bits.TrailingZeros32(u.Size))
	}
	c.compileMap(u.Map)
	return c
}

func (g *Groups) ref(group int, r flymon.Ref) ref {
	c := ref{a: int16(group*g.geo.Units + r.A), b: -1, shift: r.Shift}
	if r.B > 0 {
		c.b = int16(group*g.geo.Units + r.B - 1)
	}
	return c
}

func (g *Groups) param(group int, p *flymon.Param) param {
	c := param{from: uint8(slices.Index(sources(), p.From)), scale: p.Scale, value: p.Value, of: slices.Clone(p.Of)}
	if p.From == flymon.Compressed {
		c.key, c.value = g.ref(group, p.Key), ^uint32(0)
		if p.Bits > 0 {
			c.value = uint32(1<<p.Bits - 1)
		}
	}
	return c
}

// maxTable bounds tables that stand for rules.
const maxTable = 4096

// compileMap makes a table of the rules if the bits that they look at are few.
func (u *unit) compileMap(rules []flymon.MapRule) {
	u.rules = slices.Clone(rules)
	var all uint32
	for _, r := range rules {
		all |= r.Mask
	}
	at := bits.TrailingZeros32(all)
	if len(rules) == 0 || all>>at >= maxTable {
		return
	}
	u.tableAt, u.tableLow = uint8(at), 1<<bits.Len32(all>>at)-1
	u.table = make([]uint32, u.tableLow+1)
	for v := range u.table {
		u.table[v] = u.first(uint32(v) << at)
	}
}

// first is the output of the first rule that matches, 0 if none does.
func (u *unit) first(v uint32) uint32 {
	for i := range u.rules {
		if r := &u.rules[i]; (v^r.Value)&r.Mask == 0 {
			return r.Out
		}
	}
	return 0
}
