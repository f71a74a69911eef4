package saisim

import (
	"math/bits"

	"tamtam/saisim/config"
)

// Stages of ACLs, as indexes.
const (
	stageIngress = iota
	stageEgress
)

// A lookup is one table that a packet is looked up in.
type lookup struct {
	table    *aclTable
	priority uint32 // of the member in its group
	// group numbers sequential groups: once a table of one has hit, the rest of
	// it is left out. 0: none.
	group uint16
}

// A candidate is an entry that may give the packet its action of one kind.
type candidate struct {
	entry    *aclEntry
	priority uint32 // of the table in its group
}

// take replaces the candidate if the entry of a table takes precedence.
func (a *candidate) take(e *aclEntry, priority uint32) {
	if a.entry == nil || priority > a.priority || priority == a.priority && e.before(a.entry) {
		*a = candidate{e, priority}
	}
}

// hits is what all ACL tables together say of a packet. Packet actions combine,
// the stricter wins; of the others that of the table with the highest priority
// in its group is taken, then that of the entry with the highest precedence.
type hits struct {
	act                   actions
	noLearn, any          bool // any: an entry matched
	redirect, stamp, meta candidate
	mirror, tc, dscp      candidate
	mark                  candidate  // of alternate marking
	marks                 fixedMarks // of the egress lookup
}

func (h *hits) add(e *aclEntry, priority uint32, bytes int) {
	if e.counter != nil {
		e.counter.hit(bytes)
	}
	h.any = true
	h.act |= e.act
	h.noLearn = h.noLearn || e.noLearn
	if e.redirect.kind != toNobody || e.hop != nil || e.group != nil {
		h.redirect.take(e, priority)
	}
	if e.stamp != nil {
		h.stamp.take(e, priority)
	}
	if e.setMeta {
		h.meta.take(e, priority)
	}
	if e.mark != 0 {
		h.mark.take(e, priority)
	}
	if e.mirrors != 0 {
		h.mirror.take(e, priority)
	}
	if e.setTC {
		h.tc.take(e, priority)
	}
	if e.setDSCP {
		h.dscp.take(e, priority)
	}
}

// look looks a packet up in some tables, those in done left out: a packet is looked
// up in a table once, however many of its bind points lead there.
func (h *hits) look(tables, done []lookup, k *aclKey, x *crossing, bytes int) {
	ended := uint16(0) // a sequential group that has hit
next:
	for i := range tables {
		l := &tables[i]
		if l.group != 0 && l.group == ended {
			continue
		}
		for j := range done {
			if done[j].table == l.table {
				continue next
			}
		}
		if e := l.table.space.lookup(k, x); e != nil {
			h.add(e, l.priority, bytes)
			ended = l.group
		}
	}
}

// lookupIngress looks a packet up in the ingress tables of its port, LAG, VLAN
// and the switch, and notes what they say.
func (c *engine) lookupIngress(p *port, pk *packet) {
	if c.skips&fixedACL.ran() != 0 {
		return
	}
	tables := p.tables[stageIngress]
	var more []lookup
	if c.vlanACLs[stageIngress] && c.vlans[pk.vid&0xfff] != nil {
		more = c.vlans[pk.vid&0xfff].tables[stageIngress]
	}
	if len(tables)+len(more) == 0 {
		return
	}
	var k aclKey
	var h hits
	var t markTime
	c.buildKey(&k, pk)
	if c.marking.used > 0 {
		t = c.markReading(pk)
		k[9] = uint64(c.marking.timeLookup(pk, t.at)) << 32 // instead of what a program has set
	}
	x := crossing{in: pk.in, out: CPUPort, inLAG: pk.lag}
	h.look(tables, nil, &k, &x, pk.length+fcsLen)
	h.look(more, tables, &k, &x, pk.length+fcsLen)
	pk.fixed |= fixedACL.ran()
	if h.any {
		pk.fixed |= fixedACL.hit()
	}
	pk.act |= h.act
	pk.aclDrop, pk.noLearn = h.act&actDrop != 0, h.noLearn
	pk.redirect = h.redirect.entry
	if h.stamp.entry != nil {
		pk.stamp = h.stamp.entry.stamp
	}
	if h.meta.entry != nil {
		pk.meta = h.meta.entry.metadata
	}
	if h.mirror.entry != nil {
		c.mirrorTo(pk, h.mirror.entry.mirrors)
	}
	if h.tc.entry != nil {
		pk.tc = h.tc.entry.tc
	}
	if h.mark.entry != nil && c.marking.used > 0 {
		c.mark(pk, h.mark.entry.mark, t)
	}
	if h.dscp.entry != nil && pk.h.flags&flagIP != 0 {
		pk.edit.setDSCP, pk.edit.dscp = true, h.dscp.entry.dscp
	}
}

// mirrorTo has copies of a packet made for a set of sessions; those that record choose.
func (c *engine) mirrorTo(pk *packet, set uint64) {
	if set&c.recorders != 0 {
		c.choose(pk, set&c.recorders)
		set &^= c.recorders
	}
	pk.mirrors |= set
}

// lookupEgress looks a copy up in the egress tables. The key has the packet's
// fields as they came in, its length too; counters count the bytes that leave.
func (c *engine) lookupEgress(p *port, cp copyOf, h *hits) {
	pk := cp.pk
	tables := p.tables[stageEgress]
	var more []lookup
	if c.vlanACLs[stageEgress] && c.vlans[pk.vid&0xfff] != nil {
		more = c.vlans[pk.vid&0xfff].tables[stageEgress]
	}
	if len(tables)+len(more) == 0 {
		return
	}
	var k aclKey
	c.buildKey(&k, pk)
	x := crossing{in: pk.in, out: p.id, inLAG: pk.lag, outLAG: p.lag}
	bytes := cp.taggedLen() + fcsLen
	h.look(tables, nil, &k, &x, bytes)
	h.look(more, tables, &k, &x, bytes)
	h.marks = fixedEgressACL.ran()
	if h.any {
		h.marks |= fixedEgressACL.hit()
	}
}

// buildKey packs the packet's fields.
func (c *engine) buildKey(k *aclKey, pk *packet) {
	h := &pk.h
	k[0] = h.dmac<<16 | uint64(h.etherType)
	k[1] = h.smac<<16 | uint64(h.tci[0]&0xf000|pk.vid&0xfff)
	k[2] = uint64(h.flags)<<40 | uint64(h.proto)<<32 | uint64(h.tos)<<24 | uint64(h.ttl)<<16 |
		uint64(h.tcpFlags)<<8 | uint64(h.ipFlags)
	k[3] = uint64(h.l4src)<<48 | uint64(h.l4dst)<<32 | uint64(h.icmpType)<<24 | uint64(h.icmpCode)<<16 | uint64(h.ipID)
	k[4], k[5] = h.src[0], h.src[1]
	k[6], k[7] = h.dst[0], h.dst[1]
	k[8] = uint64(h.tci[1])<<48 | uint64(h.flowLabel)<<16 | uint64(pk.tc)
	k[9] = uint64(pk.meta) << 32
	k[10] = c.ranges.bits(pk)
}

// A rangeChecker compares one field with an interval; entries match its bit.
type rangeChecker struct {
	of       config.RangeOf
	min, max uint32
}

// rangeCheckers are those of a chip, at most 64.
type rangeCheckers struct {
	list []rangeChecker
	used uint64 // a bit for each that is
}

// applyRange gives a range its checker.
func (c *engine) applyRange(r config.ACLRange, gone bool) {
	if gone {
		c.ranges.used &^= 1 << at[config.ACLRange](c, r.ID).Index
		delete(c.ids, r.ID)
		return
	}
	c.ids[r.ID] = r
	c.ranges.list[r.Index] = rangeChecker{r.Of, r.Min, r.Max}
	c.ranges.used |= 1 << r.Index
}

// An aclCounter counts the packets that hit entries, and what became of those
// that were to be stamped.
type aclCounter struct {
	config.ACLCounter
	packets, bytes uint64 // bytes: frame lengths with FCS
	stamps         [numStampResults]uint64
}

func (x *aclCounter) hit(bytes int) {
	if x.CountPackets {
		x.packets++
	}
	if x.CountBytes {
		x.bytes += uint64(bytes)
	}
}

// applyCounter makes of a counter what its row says. What it has counted stays.
func (c *engine) applyCounter(r config.ACLCounter, gone bool) {
	if gone {
		delete(c.ids, r.ID)
	} else if x := at[*aclCounter](c, r.ID); x != nil {
		x.ACLCounter = r
	} else {
		c.ids[r.ID] = &aclCounter{ACLCounter: r}
	}
}

// bits returns the bits of the checkers that hold.
func (r *rangeCheckers) bits(pk *packet) (set uint64) {
	h := &pk.h
	for left := r.used; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		x := &r.list[i]
		var v uint32
		ok := true
		switch x.of {
		case config.RangeL4Src:
			v, ok = uint32(h.l4src), h.flags&flagL4 != 0
		case config.RangeL4Dst:
			v, ok = uint32(h.l4dst), h.flags&flagL4 != 0
		case config.RangeOuterVLAN:
			v = uint32(pk.vid)
		case config.RangeInnerVLAN:
			v, ok = uint32(h.tci[1]&0xfff), h.flags&flagTwoTags != 0
		case config.RangeLength:
			v = uint32(pk.length + fcsLen)
		}
		if ok && v >= x.min && v <= x.max {
			set |= 1 << i
		}
	}
	return set
}
