package objects

import (
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/drop"
	"tamtam/saisim/objects/counts"
)

// debugCounters count drops by SAI's reasons. The packet path does not have these counters: it counts each of its own
// reasons at every port. A debug counter is the sum of these counts minus the sum at its creation.
type debugCounters struct {
	*core
	ports *ports
	of    map[sai.StatID]*debugCounter // by their statistic
}

// A debugCounter is one debug counter.
type debugCounter struct {
	bank    *debugBank
	stat    sai.StatID
	reasons []drop.Reason
	zero    uint64 // the switch's sum at the creation of the counter; ports have their own
}

// A debugBank is the set of counters of a type. Each counter is a statistic of all ports, or of the switch.
type debugBank struct {
	base  sai.StatID
	size  int
	list  sai.AttrID // attribute with the list of reasons
	whole bool       // the counters are statistics of the switch
}

func debugBanks() map[sai.Enum]*debugBank {
	in, out := sai.DebugCounterAttrInDropReasonList, sai.DebugCounterAttrOutDropReasonList
	return map[sai.Enum]*debugBank{
		sai.DebugCounterTypePortInDropReasons:    {sai.PortStatInConfiguredDropReasons0DroppedPkts, 16, in, false},
		sai.DebugCounterTypePortOutDropReasons:   {sai.PortStatOutConfiguredDropReasons0DroppedPkts, 8, out, false},
		sai.DebugCounterTypeSwitchInDropReasons:  {sai.SwitchStatInConfiguredDropReasons0DroppedPkts, 8, in, true},
		sai.DebugCounterTypeSwitchOutDropReasons: {sai.SwitchStatOutConfiguredDropReasons0DroppedPkts, 8, out, true},
	}
}

// debugReasons returns the chip's reasons for each SAI reason that a list may contain.
func debugReasons(list sai.AttrID) map[sai.Enum][]drop.Reason {
	prefix, all := "SAI_IN_DROP_REASON_", drop.CountableIn()
	if list == sai.DebugCounterAttrOutDropReasonList {
		prefix, all = "SAI_OUT_DROP_REASON_", drop.CountableOut()
	}
	names := sai.Meta(list).Enum
	of := map[sai.Enum][]drop.Reason{}
	for _, c := range all {
		if v, ok := names.Value(prefix + c.SAI); ok {
			of[v] = c.Of
		}
	}
	return of
}

func (d *debugCounters) debugKind() *kind {
	size := 0
	for _, b := range debugBanks() {
		size += b.size
	}
	k := &kind{
		max: uint32(size),
		attrs: []sai.AttrID{
			sai.DebugCounterAttrIndex, sai.DebugCounterAttrType, sai.DebugCounterAttrBindMethod,
			sai.DebugCounterAttrInDropReasonList, sai.DebugCounterAttrOutDropReasonList,
		},
		enums:  map[sai.AttrID][]sai.Enum{},
		create: d.create,
		set:    d.set,
		gone: func(o *object) {
			stat := o.self.(*debugCounter).stat
			delete(d.of, stat)
			delete(d.ports.extra, stat)
			delete(d.sw.cleared, stat)
			for _, p := range d.ports.all() {
				delete(p.o.cleared, stat)
			}
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if c := o.self.(*debugCounter); id == sai.DebugCounterAttrIndex {
				return sai.Uint(c.stat - c.bank.base)
			}
			return nil
		},
	}
	for _, list := range []sai.AttrID{sai.DebugCounterAttrInDropReasonList, sai.DebugCounterAttrOutDropReasonList} {
		k.enums[list] = slices.Sorted(maps.Keys(debugReasons(list)))
	}
	return k
}

// free returns the statistics of a type that are not in use.
func (d *debugCounters) free(t sai.Enum) (b *debugBank, stats []sai.StatID) {
	if b = debugBanks()[t]; b == nil {
		return nil, nil
	}
	for i := range b.size {
		if id := b.base + sai.StatID(i); d.of[id] == nil {
			stats = append(stats, id)
		}
	}
	return b, stats
}

// available returns how many more counters of a type can be created, or of all types if the attributes name none.
func (d *debugCounters) available(attrs []sai.Attr) (n uint64) {
	only, given := sai.Find(attrs, sai.DebugCounterAttrType)
	for t := range debugBanks() {
		if !given || t == only {
			_, stats := d.free(t)
			n += uint64(len(stats))
		}
	}
	return n
}

func (d *debugCounters) create(o *object) error {
	t := o.enum(sai.DebugCounterAttrType)
	b, stats := d.free(t)
	if len(stats) == 0 {
		return badCreate(sai.DebugCounterAttrType, sai.StatusInsufficientResources,
			"all counters of type %s are in use", sai.EnumName(sai.DebugCounterAttrType, t))
	}
	c := &debugCounter{bank: b, stat: stats[0]}
	c.reasons = reasonsOf(b.list, o.attr(b.list))
	d.of[c.stat], o.self = c, c
	if !b.whole {
		d.ports.extra[c.stat] = func(p *counts.Tally) uint64 { return c.sum(&p.Dropped) }
	}
	d.begin(c)
	return nil
}

// reasonsOf returns the chip's reasons for a list of SAI reasons.
func reasonsOf(list sai.AttrID, v sai.Value) (all []drop.Reason) {
	named, known := v.(sai.Enums)
	if !known {
		return nil
	}
	of := debugReasons(list)
	for _, e := range named {
		all = append(all, of[e]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// set changes the reasons. The count so far stays.
func (d *debugCounters) set(o *object, a sai.Attr) error {
	c := o.self.(*debugCounter)
	if a.ID != c.bank.list {
		return nil
	}
	next := *c
	next.reasons = reasonsOf(a.ID, a.Value)
	for _, p := range d.ports.all() {
		t, _ := d.ports.tally(p.o)
		// The values are modulo 2^64, and so is the difference.
		p.o.clear(c.stat, next.sum(&t.Dropped)-(c.sum(&t.Dropped)-p.o.cleared[c.stat]))
	}
	all := d.all(c)
	*c = next
	c.zero += d.all(c) - all
	return nil
}

// sum returns the number of drops for the counter's reasons.
func (c *debugCounter) sum(dropped *[drop.NumReasons]uint64) (n uint64) {
	for _, r := range c.reasons {
		n += dropped[r]
	}
	return n
}

// all returns the counter of the switch. It includes all ports, removed ports, and drops that no port counts.
func (d *debugCounters) all(c *debugCounter) uint64 {
	b := d.engine.FrameCounts()
	return c.sum(&b.Dropped) - c.zero
}

// begin resets a counter to zero everywhere.
func (d *debugCounters) begin(c *debugCounter) {
	for _, p := range d.ports.all() {
		t, _ := d.ports.tally(p.o)
		p.o.clear(c.stat, c.sum(&t.Dropped))
	}
	c.zero += d.all(c)
}

// addSwitchStats makes the counters of the switch readable.
func (d *debugCounters) addSwitchStats(k *kind) {
	k.more = func() []sai.StatID {
		return slices.DeleteFunc(counts.Sorted(d.of), func(id sai.StatID) bool { return !d.of[id].bank.whole })
	}
	k.stat = func(_ *object, id sai.StatID) uint64 { return d.all(d.of[id]) }
}
