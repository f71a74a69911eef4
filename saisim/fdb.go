package saisim

import (
	"math/bits"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/config"
)

// An fdb is the table of MAC addresses: open addressing, linear probing.
type fdb struct {
	slots   []fdbEntry // a power of two; a zero key is free
	n, max  int
	sweepAt Cycle // no entry ages before; never: none can
	age     Cycle // 0: entries do not age
}

type fdbEntry struct {
	key    uint64 // fdbKey; VLAN 0 is none, so 0 is free
	to     *bridgePort
	seen   Cycle
	static bool
	moves  bool // though it is static
	act    actions
}

func fdbKey(vid uint16, mac uint64) uint64 { return uint64(vid)<<48 | mac }

func newFDB(n int) fdb {
	return fdb{slots: make([]fdbEntry, 1<<bits.Len(uint(min(2*n, 1024)))), max: n, sweepAt: never}
}

// sweepFor makes sure that the table is swept when an entry ages at cycle due.
// Sweeps are at multiples of a tenth of a second, so that there are not too many.
func (c *engine) sweepFor(due Cycle) {
	tenth := max(1, Cycle(c.prof.ClockHz/10))
	c.fdb.sweepAt = min(c.fdb.sweepAt, (due+tenth-1)/tenth*tenth)
}

// grow doubles the table when it is half full.
func (f *fdb) grow() {
	old := f.slots
	f.slots = make([]fdbEntry, 2*len(old))
	for _, e := range old {
		if e.key != 0 {
			*f.free(e.key) = e
		}
	}
}

// free returns the slot for a key that is not there.
func (f *fdb) free(key uint64) *fdbEntry {
	i := f.home(key)
	for f.slots[i].key != 0 {
		i = (i + 1) & (len(f.slots) - 1)
	}
	return &f.slots[i]
}

func (f *fdb) home(key uint64) int {
	return int((key * 0x9e3779b97f4a7c15) >> 33 & uint64(len(f.slots)-1))
}

func (f *fdb) find(key uint64) *fdbEntry {
	for i := f.home(key); ; i = (i + 1) & (len(f.slots) - 1) {
		switch f.slots[i].key {
		case key:
			return &f.slots[i]
		case 0:
			return nil
		}
	}
}

// insert adds an entry that is not there; nil if the table is full.
func (f *fdb) insert(e fdbEntry) *fdbEntry {
	if f.n >= f.max {
		return nil
	}
	if f.n++; 2*f.n > len(f.slots) {
		f.grow()
	}
	at := f.free(e.key)
	*at = e
	return at
}

// remove drops the entry with the key, if there is one, and closes the gap.
func (f *fdb) remove(key uint64) {
	e := f.find(key)
	if e == nil {
		return
	}
	mask := len(f.slots) - 1
	i := f.home(key)
	for f.slots[i].key != key {
		i = (i + 1) & mask
	}
	f.n--
	for j := i; ; {
		j = (j + 1) & mask
		k := f.slots[j].key
		if k == 0 {
			break
		}
		if home := f.home(k); (j-home)&mask >= (j-i)&mask {
			f.slots[i] = f.slots[j]
			i = j
		}
	}
	f.slots[i] = fdbEntry{}
}

// keys returns the keys of the entries that want selects, sorted.
func (f *fdb) keys(want func(*fdbEntry) bool) []uint64 {
	var keys []uint64
	for i := range f.slots {
		if e := &f.slots[i]; e.key != 0 && want(e) {
			keys = append(keys, e.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// learn notes where the packet's source address is. It fails only where unknown
// addresses are to be dropped.
func (c *engine) learn(pk *packet) (DropReason, bool) {
	if pk.source.learning == config.LearnNot || c.vlans[pk.vid].noLearn {
		return 0, true
	}
	if c.skips&fixedLearning.ran() != 0 {
		return 0, true
	}
	key := fdbKey(pk.vid, pk.h.smac)
	if e := c.fdb.find(key); e != nil {
		pk.fixed |= fixedLearning.ran() | fixedLearning.hit()
		switch {
		case e.static && e.to != pk.source && !e.moves:
			return c.staticMove(pk)
		case e.to != pk.source:
			e.to, e.seen = pk.source, c.now
			c.fdbChanged(fdbMoved, e)
		default:
			e.seen = c.now
		}
		return 0, true
	}
	pk.fixed |= fixedLearning.ran()
	if pk.source.learning == config.LearnDrop {
		return DropLearning, false
	}
	if pk.h.smac == 0 {
		return 0, true
	}
	if e := c.fdb.insert(fdbEntry{key: key, to: pk.source, seen: c.now}); e != nil {
		if c.fdb.age != 0 {
			c.sweepFor(c.now + c.fdb.age)
		}
		c.fdbChanged(fdbLearned, e)
	}
	return 0, true
}

// staticMove is for a packet whose source address has a static entry elsewhere.
func (c *engine) staticMove(pk *packet) (DropReason, bool) {
	act := c.traps[config.TrapStaticMove].act
	c.trapAs(pk, config.TrapStaticMove, act&^actDrop)
	return DropLearning, act&actDrop == 0
}

// ageFDB removes the dynamic entries whose time has come: that have not been
// seen for the ageing time, at the first sweep after that.
func (c *engine) ageFDB() {
	c.fdb.sweepAt = never
	if c.fdb.age == 0 {
		return
	}
	old := c.fdb.keys(func(e *fdbEntry) bool {
		if e.static {
			return false
		}
		if due := e.seen + c.fdb.age; due > c.now {
			c.sweepFor(due)
			return false
		}
		return true
	})
	for _, k := range old {
		c.evict(c.fdb.find(k), fdbAged)
	}
}

// flushFDB removes the entries that want selects.
func (c *engine) flushFDB(want func(*fdbEntry) bool) {
	for _, k := range c.fdb.keys(want) {
		c.evict(c.fdb.find(k), fdbFlushed)
	}
}

// evict removes an entry of its own accord, and tells.
func (c *engine) evict(e *fdbEntry, what fdbEvent) {
	c.fdbChanged(what, e)
	c.fdb.remove(e.key)
}

// An fdbEvent is what becomes of an address.
type fdbEvent uint8

const (
	fdbLearned fdbEvent = iota
	fdbMoved
	fdbAged
	fdbFlushed
)

func macBytes(m uint64) (b sai.MAC) {
	for i := range b {
		b[i] = byte(m >> (40 - 8*i))
	}
	return b
}

// applyFDB makes of an address what its row says.
func (c *engine) applyFDB(r config.FDBEntry, gone bool) {
	v := at[*vlan](c, r.VLAN)
	if v == nil {
		return // it has taken its addresses with it
	}
	key := fdbKey(v.id, mac48(r.MAC[:]))
	if gone {
		c.fdb.remove(key)
		return
	}
	e := c.fdb.find(key)
	if e == nil {
		e = c.fdb.insert(fdbEntry{key: key})
	}
	e.to, e.static, e.moves, e.act = at[*bridgePort](c, r.BridgePort), r.Static, r.Moves, actionsOf(r.Action)
	e.seen = max(e.seen, Cycle(r.Fresh))
	c.sweepFor(c.now + c.fdb.age)
}
