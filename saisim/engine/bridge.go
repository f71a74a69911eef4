package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
)

// bridge is the 802.1Q bridge: VLANs, LAGs, and the addresses learned on their ports.
type bridge struct {
	*core
	traps   *traps
	fdb     fdb
	lags    []*lag
	noFlood config.Flood // traffic that the switch does not flood
	// addressChanged is called when the bridge itself changes an address: by learning, move, ageing or flush.
	addressChanged func(FDBEvent, FDBRow)
}

func (c *bridge) reset() {
	c.fdb, c.lags, c.noFlood = newFDB(int(c.prof.FDB)), nil, config.Flood{}
}

// member returns the member of a LAG that a packet leaves by, nil if none is up.
func (c *bridge) member(l *lag, pk *packet) *port {
	n := uint32(len(l.active))
	if n == 0 {
		return nil
	}
	return l.active[hashOf(&pk.h, pk.in, &c.lagHash, saltLAG)%n]
}

// forward finds the destination of a packet by its destination address.
func (c *bridge) forward(pk *packet) drop.Reason {
	v := c.vlans[pk.vid]
	if pk.h.dmac>>40&1 != 0 {
		return pk.toGroup(v, pk.h.dmac)
	}
	return c.toMAC(pk, v, pk.h.dmac)
}

// toGroup sends the packet to a group address in a VLAN.
func (pk *packet) toGroup(v *vlan, mac uint64) drop.Reason {
	if mac == broadcast && v.noBroadcast || mac != broadcast && v.noMulticast {
		return drop.Miss
	}
	pk.verdict.kind, pk.verdict.vlan = toVLAN, v
	return drop.NoDestination
}

// toMAC sends the packet to a unicast address in a VLAN.
func (c *bridge) toMAC(pk *packet, v *vlan, mac uint64) drop.Reason {
	var e *fdbEntry
	if c.skips&describe.FDB.Ran() == 0 {
		e = c.fdb.find(fdbKey(v.id, mac))
	}
	if c.found != nil && c.skips&describe.FDB.Ran() == 0 {
		c.found(pk, foundAddress(describe.FDB.String(), v.id, mac, e))
	}
	if c.noting && c.skips&describe.FDB.Ran() == 0 {
		pk.noteFDB(v.id, mac, e)
	}
	if e == nil {
		pk.fixed |= describe.FDB.Ran() &^ c.skips
		if v.noUnknown {
			return drop.Miss
		}
		pk.verdict.kind, pk.verdict.vlan = toVLAN, v
		return drop.NoDestination
	}
	pk.fixed |= describe.FDB.Ran() | describe.FDB.Hit()
	pk.act |= e.act
	switch {
	case e.act&actDrop != 0:
		return drop.FDB
	case e.to == pk.source:
		return drop.SamePort
	case !e.to.member(v.id) || !e.to.admin:
		return drop.NoDestination
	}
	pk.verdict.kind, pk.verdict.to = toBridgePort, e.to
	return drop.NoDestination
}

// learn notes the location of the packet's source address. It returns false, with the reason, if the packet must be
// dropped: the bridge port drops unknown source addresses, or the trap for moves of static entries drops packets.
func (c *bridge) learn(pk *packet) (drop.Reason, bool) {
	if pk.source.learning == config.LearnNot || c.vlans[pk.vid].noLearn {
		return 0, true
	}
	if c.skips&describe.Learning.Ran() != 0 {
		return 0, true
	}
	key := fdbKey(pk.vid, pk.h.smac)
	e := c.fdb.find(key)
	if c.found != nil {
		c.found(pk, foundAddress(describe.Learning.String(), pk.vid, pk.h.smac, e))
	}
	if c.noting {
		pk.noteLearning(e)
	}
	if e != nil {
		pk.fixed |= describe.Learning.Ran() | describe.Learning.Hit()
		switch {
		case e.static && e.to != pk.source && !e.moves:
			return c.staticMove(pk)
		case e.to != pk.source:
			e.to, e.seen = pk.source, c.now
			c.addressChanged(FDBMoved, e.row())
		default:
			e.seen = c.now
		}
		return 0, true
	}
	pk.fixed |= describe.Learning.Ran()
	if pk.source.learning == config.LearnDrop {
		return drop.Learning, false
	}
	if pk.h.smac == 0 {
		return 0, true
	}
	if e := c.fdb.insert(fdbEntry{key: key, to: pk.source, seen: c.now}); e != nil {
		if c.fdb.age != 0 {
			c.sweepFor(c.now + c.fdb.age)
		}
		c.addressChanged(FDBLearned, e.row())
	}
	return 0, true
}

// staticMove handles a packet whose source address has a static entry on another port.
func (c *bridge) staticMove(pk *packet) (drop.Reason, bool) {
	act := c.traps.states[config.TrapStaticMove].act
	c.traps.trapAs(pk, config.TrapStaticMove, act&^actDrop)
	if act&actDrop != 0 && pk.removedBy == config.TrapNone {
		pk.removedBy = config.TrapStaticMove
	}
	return drop.Learning, act&actDrop == 0
}

// sweepBefore sweeps the FDB if a sweep is due before a packet enters the ingress pipe at the given cycle.
func (c *bridge) sweepBefore(at Cycle) {
	for c.fdb.sweepAt < at {
		c.now = c.fdb.sweepAt
		c.ageFDB()
		c.now = at
	}
}

// ageFDB removes the dynamic entries that have not been seen for the ageing time. The first sweep after that time
// removes them.
func (c *bridge) ageFDB() {
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
		c.evict(c.fdb.find(k), FDBAged)
	}
}

// flushFDB removes the entries that want selects.
func (c *bridge) flushFDB(want func(*fdbEntry) bool) {
	for _, k := range c.fdb.keys(want) {
		c.evict(c.fdb.find(k), FDBFlushed)
	}
}

// evict removes an entry that has aged or is flushed, and reports it.
func (c *bridge) evict(e *fdbEntry, what FDBEvent) {
	c.addressChanged(what, e.row())
	c.fdb.remove(e.key)
}

// sweepFor schedules a sweep for an entry that ages at cycle due. Sweeps are at multiples of a tenth of a second, which
// limits their number.
func (c *bridge) sweepFor(due Cycle) {
	tenth := max(1, Cycle(c.prof.ClockHz/10))
	c.fdb.sweepAt = min(c.fdb.sweepAt, (due+tenth-1)/tenth*tenth)
}
