package engine

import (
	"encoding/binary"
	"math/bits"

	"tamtam/saisim/config"
	"tamtam/saisim/describe"
)

// acl holds the ACL stages.
type acl struct {
	*core
	recording *recording
	marking   *marking
	ranges    rangeCheckers
	vlanACLs  [2]bool // true if at least one VLAN has a table bound
	switchACL [config.NumStages]config.ID
	// preIngress holds the tables in which every packet is looked up directly after the parser.
	preIngress []lookup
}

func (c *acl) reset() {
	c.ranges = rangeCheckers{list: make([]rangeChecker, c.prof.ACL.Ranges)}
	c.vlanACLs, c.switchACL, c.preIngress = [2]bool{}, [config.NumStages]config.ID{}, nil
}

// A candidate is an entry that may provide the packet's action of one kind.
type candidate struct {
	entry    *aclEntry
	priority uint32 // priority of the table in its group
}

// consider replaces the candidate if the table's entry takes precedence.
func (a *candidate) consider(e *aclEntry, priority uint32) {
	if a.entry == nil || priority > a.priority || priority == a.priority && e.before(a.entry) {
		*a = candidate{e, priority}
	}
}

// hits is the combined result of all ACL tables for a packet. Packet actions combine: the stricter wins. Any other
// action is that of the table with the highest priority in its group, then of the entry with the highest precedence.
type hits struct {
	act                   actions
	noLearn, any          bool         // any is true if an entry matched
	does                  entryActions // kinds of actions for which at least one entry matched
	redirect, stamp, meta candidate
	mirror, tc, dscp      candidate
	mark, ifa             candidate      // entries for alternate marking and for IFA
	samples               samplingHits   // all matched entries that sample; each samples independently
	marks                 describe.Marks // set by the egress lookup
	events                eventSet
}

func (h *hits) add(e *aclEntry, priority uint32, bytes int) {
	if e.counter != nil {
		e.counter.hit(bytes)
	}
	h.any = true
	h.act |= e.act
	h.noLearn = h.noLearn || e.noLearn
	if e.does != 0 {
		h.addActions(e, priority)
	}
}

// addActions adds the less common actions of an entry.
func (h *hits) addActions(e *aclEntry, priority uint32) {
	h.does |= e.does
	if e.does&doesStamp != 0 {
		h.stamp.consider(e, priority)
	}
	if e.does&doesMark != 0 {
		h.mark.consider(e, priority)
	}
	if e.does&^(doesStamp|doesMark) == 0 {
		return
	}
	if e.does&doesRedirect != 0 {
		h.redirect.consider(e, priority)
	}
	if e.does&doesMeta != 0 {
		h.meta.consider(e, priority)
	}
	if e.does&doesMirror != 0 {
		h.mirror.consider(e, priority)
	}
	if e.does&doesTAM != 0 {
		h.events |= e.tam.set
	}
	if e.does&doesTC != 0 {
		h.tc.consider(e, priority)
	}
	if e.does&doesDSCP != 0 {
		h.dscp.consider(e, priority)
	}
	if e.does&doesIFA != 0 {
		h.ifa.consider(e, priority)
	}
	if e.does&doesSample != 0 {
		h.samples.add(e)
	}
}

// look looks a packet up in the given tables, except those in done. A packet is looked up in each table only once, even
// if several of its bind points lead there.
func (h *hits) look(tables, done []lookup, k *aclKey, x *crossing, bytes int, found func(*lookup, *aclEntry),
	notes *packet, egress *looks,
) {
	ended := uint16(0) // the sequential group in which a table has already matched
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
		e := l.table.space.lookup(k, x)
		if found != nil {
			found(l, e)
		}
		switch {
		case notes != nil:
			notes.looked(l.table, e)
		case egress != nil:
			egress.add(l.table, e)
		}
		if e != nil {
			h.add(e, l.priority, bytes)
			ended = l.group
		}
	}
}

// finder returns the function that the caller must call for each table lookup of a packet, or of its copy for a port.
// It returns nil if there is no observer.
func (c *acl) finder(pk *packet, table string, out PortID) func(*lookup, *aclEntry) {
	if c.found == nil {
		return nil
	}
	return func(l *lookup, e *aclEntry) { c.found(pk, foundEntry(table, l.table, e, out)) }
}

// noter returns the packet if the chip notes its table lookups in it, otherwise nil.
func (c *acl) noter(pk *packet) *packet {
	if c.noting {
		return pk
	}
	return nil
}

// lookupPreIngress looks a packet up directly after the parser, before any decision about it. The entries have no
// effect on forwarding: they count the packet, and select its mirror sessions and recording.
func (c *acl) lookupPreIngress(p *port, pk *packet) {
	var k aclKey
	was := pk.vid
	pk.vid = p.in.parsed(&pk.h)
	c.buildKey(&k, pk)
	pk.vid = was
	x := crossing{in: pk.in, out: CPUPort, inLAG: pk.lag}
	var h hits
	h.look(c.preIngress, nil, &k, &x, pk.length+fcsLen, c.finder(pk, TablePreIngress, CPUPort), c.noter(pk), nil)
	pk.early = pk.looks
	if h.does&doesMirror != 0 {
		c.recording.mirrorTo(pk, h.mirror.entry.mirrors)
	}
	if h.does&doesTAM != 0 {
		pk.events, pk.eventsOf = h.events, c.toReport.age
	}
}

// parsed returns the VLAN of a frame as the parser sees it: that of its tag, otherwise the VLAN of untagged frames. It
// returns 0 for an untagged frame at a router port.
func (in *admission) parsed(h *headers) uint16 {
	switch {
	case h.flags&flagTagged != 0 && h.outerC && h.tci[0]&0xfff != 0:
		return h.tci[0] & 0xfff
	case in.router != nil:
		return 0
	}
	return in.pvid
}

// lookupIngress looks a packet up in the ingress tables of its port, LAG, VLAN and the switch, and notes the resulting
// actions.
func (c *acl) lookupIngress(p *port, pk *packet) {
	if c.skips&describe.ACL.Ran() != 0 {
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
	var t markTime
	c.buildKey(&k, pk)
	if c.marking.used > 0 {
		t = c.marking.markReading(pk)
		k[9] = k[9]&(1<<32-1) | uint64(c.marking.timeLookup(pk, t.at))<<32 // replaces the value set by a program
	}
	x := crossing{in: pk.in, out: CPUPort, inLAG: pk.lag}
	if len(tables) == 1 && len(more) == 0 && c.found == nil {
		c.hitOne(pk, &tables[0], tables[0].table.space.lookup(&k, &x), t)
		return
	}
	var h hits
	found := c.finder(pk, describe.ACL.String(), CPUPort)
	note := c.noter(pk)
	h.look(tables, nil, &k, &x, pk.length+fcsLen, found, note, nil)
	h.look(more, tables, &k, &x, pk.length+fcsLen, found, note, nil)
	c.doAll(pk, &h, t)
}

// hitOne notes and applies the result of the only lookup of a packet.
func (c *acl) hitOne(pk *packet, l *lookup, e *aclEntry, t markTime) {
	if c.noting {
		pk.looked(l.table, e)
	}
	if e == nil || e.does&^(doesStamp|doesMark) == 0 {
		c.doOne(pk, e, t)
		return
	}
	var h hits
	h.add(e, l.priority, pk.length+fcsLen)
	c.doAll(pk, &h, t)
}

// doOne applies the single entry that a packet hit. The entry may have packet actions, stamp and mark, but no other
// action. A nil entry is a miss.
func (c *acl) doOne(pk *packet, e *aclEntry, t markTime) {
	pk.fixed |= describe.ACL.Ran()
	if e == nil {
		return
	}
	pk.fixed |= describe.ACL.Hit()
	if e.counter != nil {
		e.counter.hit(pk.length + fcsLen)
	}
	pk.act |= e.act
	pk.aclDrop, pk.noLearn, pk.stamp = e.act&actDrop != 0, e.noLearn, e.stamp
	if e.does&doesMark != 0 {
		c.mark(pk, e.mark, t)
	}
}

// doAll applies the entries hit in all tables.
func (c *acl) doAll(pk *packet, h *hits, t markTime) {
	pk.fixed |= describe.ACL.Ran()
	if h.any {
		pk.fixed |= describe.ACL.Hit()
	}
	pk.act |= h.act
	pk.aclDrop, pk.noLearn = h.act&actDrop != 0, h.noLearn
	if h.does != 0 {
		c.do(pk, h, t)
	}
}

// mark marks a packet as its alternate-marking session requires.
func (c *acl) mark(pk *packet, session uint32, t markTime) {
	if c.marking.used > 0 {
		c.marking.mark(pk, session, t)
		pk.edited = pk.edited || pk.edit.marks != (marks{})
	}
}

// do notes the packet's actions.
func (c *acl) do(pk *packet, h *hits, t markTime) {
	pk.redirect = h.redirect.entry
	if h.does&doesStamp != 0 {
		pk.stamp = h.stamp.entry.stamp
	}
	if h.does&doesMeta != 0 {
		pk.meta = h.meta.entry.metadata
	}
	if h.does&doesMirror != 0 {
		pk.mirrors |= h.mirror.entry.mirrors &^ c.recorders
	}
	if h.does&doesTC != 0 {
		pk.tc = h.tc.entry.tc
	}
	if h.does&doesMark != 0 {
		c.mark(pk, h.mark.entry.mark, t)
	}
	if h.does&doesDSCP != 0 && pk.h.flags&flagIP != 0 {
		pk.edited, pk.edit.setDSCP, pk.edit.dscp = true, true, h.dscp.entry.dscp
	}
	if h.does&doesIFA != 0 {
		pk.meetIFA(h.ifa.entry.ifa)
	}
	pk.noTrim = h.does&doesNoTrim != 0
	if h.does&doesSample != 0 {
		pk.due = c.chosen(pk.due, &h.samples, stageIngress)
	}
}

// hasAltMark is set in the key of packets with an AltMark option, above its FlowMonID.
const hasAltMark = 1 << 20

// buildKey packs the packet's fields into the key.
func (c *acl) buildKey(k *aclKey, pk *packet) {
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
	if at := int(h.altMark); at != 0 {
		option := pk.data[int(h.l3)+at-2:] // the option that the parser found; L and D are in its third byte
		k[9] |= hasAltMark | uint64(option[0])<<12 | uint64(option[1])<<4 | uint64(option[2]>>4)
	}
	if c.ranges.used != 0 {
		k[10] = c.ranges.bits(pk)
	}
}

// usualKey does buildKey for a packet that usualIPv4 accepted, without its parsed headers. No range may be in use.
func (k *aclKey) usualKey(pk *packet) {
	b, ip := pk.data, pk.data[ethernetHeader:]
	word, flags := usualWord(ip)
	k[0] = binary.BigEndian.Uint64(b)&^0xffff | etherIPv4
	k[1] = binary.BigEndian.Uint64(b[6:])&^0xffff | uint64(pk.vid&0xfff)
	k[2] = flags<<40 | word<<32>>24 | uint64(ip[6]>>5)
	k[3] = word>>32<<32 | uint64(binary.BigEndian.Uint16(ip[4:]))
	k[5], k[7] = uint64(binary.BigEndian.Uint32(ip[12:])), uint64(binary.BigEndian.Uint32(ip[16:]))
	k[8] = uint64(pk.tc)
}

// A rangeChecker compares one field with an interval. Its result is one bit of the key, which entries match.
type rangeChecker struct {
	of       config.RangeOf
	min, max uint32
}

// rangeCheckers holds a chip's range checkers, at most 64.
type rangeCheckers struct {
	list []rangeChecker
	used uint64 // one bit for each checker in use
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
