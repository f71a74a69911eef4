package reference

import (
	"bytes"
	"encoding/binary"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tailstamp"
	"tamtam/saisim/tm"
	"tamtam/tam/record"
)

// An outgoing is one copy of a packet on its way to one port.
type outgoing struct {
	*packet
	tag tagChange
	ce  bool // true if it will be marked with congestion experienced
	raw bool // true if it leaves as received
	// mirror is the session that made this copy, as it was when the copy was made.
	mirror *config.Mirror
	// trailer is the record after a mirrored frame, and recorder its recorder. They are nil if there is no record.
	trailer  []byte
	recorder *recorder
	// The copy's queue, the cycle when the copy reached the queue, and the bytes that were there then.
	queue  uint8
	queued saisim.Cycle
	depth  int
	asked  bool // true if the queue was asked for capacity
	// report is the stream of a copy that is a report, and reportClass its traffic class. report is nil for other
	// copies.
	report      *stream
	reportClass uint8
	// own holds its findings in its queue and in the egress pipe.
	own    []saisim.Finding
	behind bool // true if it has passed the egress pipe
	// egressTables holds the tables that it ran in the egress pipe.
	egressTables []record.Step
	// head holds the fields that the egress pipe's program has left. nil means the packet's fields, edited.
	head *heading
	job  *job // IFA's work; nil if there is none
	// trimmed is set if a queue has trimmed the copy, and for mirror copies of such a copy.
	trimmed *trimmed
}

// class returns the traffic class by which the egress port chooses its queue.
func (o *outgoing) class() uint8 {
	if o.report != nil {
		return o.reportClass
	}
	if o.mirror != nil {
		return o.mirror.TC
	}
	return o.tc
}

// colour returns the colour of a copy. Copies that the chip makes for others than the receiver are green.
func (o *outgoing) colour() tm.Colour {
	if o.made() {
		return tm.Green
	}
	return o.packet.colour
}

// bufferBytes returns the number of buffer bytes that a copy occupies: its length as received, as far as it is stored.
// For a copy of a mirror session, it is the length as the copy leaves.
func (o *outgoing) bufferBytes() int {
	if o.mirror != nil {
		return o.lengthOut()
	}
	return o.stored()
}

// made reports whether the chip has made the copy for receivers other than those of its packet: a mirror session or a
// collector.
func (o *outgoing) made() bool { return o.mirror != nil || o.report != nil }

// A tagChange is the egress pipe's change of a copy's outer VLAN tag.
type tagChange struct {
	strip, push, set bool
	tci              uint16 // for push the new tag, for set the VLAN
}

// A transmission is a copy that has left its queue.
type transmission struct {
	outgoing
	port  *port
	at    saisim.Cycle // cycle of its timestamp point
	stamp *stamp       // nil if there is no session
	did   stampResult
	// mirrors holds the egress mirror sessions. purged is true if the port was removed.
	mirrors []int
	samples []*sample // samples for which it was chosen as it leaves
	purged  bool
	pause   []byte // a frame of flow control instead of a copy; nil for copies
}

// A stamp is the tail-stamping action of an ACL entry.
type stamp struct {
	switchID uint32
	counter  config.ID // None if results are not counted
}

// stampResult is the result for a copy that a session matched, in the order of the words of tailstamp.ObjectCounters.
type stampResult int

const (
	stamped stampResult = iota
	notTCPUDP
	notEthernet2
	isCut
	beyondMTU
)

func (c *Chip) countStamp(s *stamp, did stampResult) {
	if s.counter != config.None {
		c.counter(s.counter).Stamps[did]++
	}
}

// stampable decides whether a record can be appended to a copy of n bytes. mtu is 0 for the CPU.
func stampable(pk *packet, n int, mtu uint32) stampResult {
	switch {
	case pk.endUnknown():
		return isCut
	case !pk.h.ethernet2:
		return notEthernet2
	case pk.h.ip == nil || pk.h.ip.protocol != 6 && pk.h.ip.protocol != 17:
		return notTCPUDP
	case mtu > 0 && stampedLength(n)+fcs > int(mtu):
		return beyondMTU
	}
	return stamped
}

// endUnknown reports whether a packet is cut, or the length in its IP header cannot be right.
func (pk *packet) endUnknown() bool {
	return len(pk.data) < pk.length || pk.h.ip != nil && pk.h.ip.endless
}

func stampedLength(n int) int { return max(n, smallest-fcs) + tailstamp.Size }

// tagging returns the change of a packet's tag at a bridge port. If its VLAN is unknown, the tag stays.
func (conf *settings) tagging(pk *packet, bp config.ID) tagChange {
	if pk.routed != nil && pk.vid == 0 { // it leaves by a port without VLANs
		if vid := pk.routed.out.OuterVLAN; vid != 0 {
			return pk.tagWith(vid)
		}
		return tagChange{strip: pk.tagged}
	}
	mode, member := conf.mode(pk.vid, bp)
	if bp == config.None || !member {
		return tagChange{}
	}
	if mode == config.Untagged {
		return tagChange{strip: pk.tagged}
	}
	vid := pk.vid
	if mode == config.PriorityTagged {
		vid = 0
	}
	return pk.tagWith(vid)
}

// tagWith returns the change with which a packet's tag names a VLAN.
func (pk *packet) tagWith(vid uint16) tagChange {
	if !pk.tagged {
		return tagChange{push: true, tci: uint16(pk.tagPrio)<<13 | vid}
	}
	return tagChange{set: true, tci: vid}
}

// lengthOut returns the length of a copy as it leaves, without a record.
func (o *outgoing) lengthOut() int {
	if o.mirror != nil {
		return mirroredLength(o, o.frameLength())
	}
	return o.frameLength()
}

// frameLength returns the length with the changed tag.
func (o *outgoing) frameLength() int {
	n := o.stored() + o.tag.shift()
	if o.job != nil {
		n += o.job.longer
	}
	return n
}

// shift returns the number of bytes by which everything after the tags moves.
func (t tagChange) shift() int {
	switch {
	case t.strip:
		return -4
	case t.push:
		return 4
	}
	return 0
}

// dataOut returns the bytes of a copy as it leaves, without a record. It also advances the sequence number of a mirror
// session of ERSPAN.
func (c *Chip) dataOut(o *outgoing) []byte {
	b := c.analysed(o, o.frame(), o.tag.shift())
	if m := o.mirror; m != nil {
		b = mirrored(o, b, o.frameLength(), c.sequence[m.ID], c.timeOfDay(o.rx))
		if m.Kind == config.MirrorERSPAN && m.Tunnel.ERSPAN != 0 {
			c.sequence[m.ID]++
		}
	}
	return b
}

// frame returns the bytes of a copy: routed, and with its tag changed.
func (o *outgoing) frame() []byte {
	if o.raw {
		return o.data
	}
	data := bytes.Clone(o.data)
	f := o.h.heading().edit(o)
	if o.head != nil {
		f = *o.head
	}
	f.apply(data, o.h.ip)
	for _, m := range o.marks {
		m.inFrame(data, o.h.ip)
	}
	if o.lowered != nil {
		o.lowered.inFrame(data)
	}
	macs, rest := data[:12], data[12:]
	var tag []byte
	switch {
	case o.tag.strip:
		rest = rest[4:]
	case o.tag.push:
		tag = binary.BigEndian.AppendUint16([]byte{0x81, 0x00}, o.tag.tci)
	case o.tag.set:
		tci := binary.BigEndian.Uint16(rest[2:])&0xf000 | o.tag.tci
		tag = binary.BigEndian.AppendUint16([]byte{0x81, 0x00}, tci)
		rest = rest[4:]
	}
	return o.cut(append(append(append([]byte{}, macs...), tag...), rest...))
}

// egressPipe runs the egress pipe for a copy: its ACLs, its stamping and its length. It returns false if the copy is
// dropped.
func (c *Chip) egressPipe(p *port, o *outgoing) (t *transmission, length int, ok bool) {
	conf := c.conf
	last := max(1, int(c.prof.EgressStages)) - 1
	if !o.made() {
		c.measure(o)
	}
	seen := o.packet // the packet as ACLs see it
	r := c.beginEgress(p, o)
	if r != nil {
		if !o.runs(r, 0, last) {
			c.dropCopy(p, o, drop.EgressProgram)
			return nil, 0, false
		}
		copied := *o.packet
		copied.h = copied.h.with(r.heading(r.phv))
		seen = &copied
	}
	t = &transmission{port: p, stamp: o.packet.stamp}
	if !o.made() {
		o.job = c.decideIFA(p, o)
	}
	length = o.lengthOut()
	fits := length+fcs <= int(p.MTU)
	if !o.made() {
		o.ranToo("chip.mtu", fits)
	}
	if !fits {
		if !o.made() {
			o.tooLong()
		}
		c.dropCopy(p, o, drop.EgressMTU)
		return nil, 0, false
	}
	if o.made() {
		t.stamp, t.outgoing, t.behind = nil, *o, true
		return t, length, true
	}
	outLAG := conf.lagOf[p.Port.Port]
	points := []config.ID{p.EgressACL, conf.Switch.EgressACL, conf.lags[outLAG].EgressACL, conf.vlanByID[o.vid].EgressACL}
	n := len(*o.heard)
	hits := c.lookup(conf, points, subject{
		packet: seen, in: o.inPort, inLAG: o.lag, out: p.ID, outLAG: outLAG, egress: true, bytes: length + fcs,
		meta: seen.meta,
	})
	o.own = append(o.own, o.aside(n)...)
	if conf.anyTable(points) {
		o.ranToo("chip.egress_acl", len(hits) > 0)
	}
	samples := c.seenByEntries(conf, hits, true)
	if effectsOf(hits).drop {
		c.sampledDropped(p, samples, o, drop.EgressACL)
		c.dropCopy(p, o, drop.EgressACL)
		return nil, 0, false
	}
	if r != nil {
		r.setHeading(r.phv, r.heading(r.phv).edit(o))
		if !o.runs(r, last, int(c.prof.EgressStages)) {
			c.sampledDropped(p, samples, o, drop.EgressProgram)
			c.dropCopy(p, o, drop.EgressProgram)
			return nil, 0, false
		}
		f := r.heading(r.phv)
		o.head = &f
	}
	t.mirrors = conf.noRecording(append(conf.sessionsOf(p.EgressMirrors),
		conf.mirroring(hits, config.ActMirrorEgress)...))
	t.samples = append(c.sees(conf, p.EgressSampler, p, true), samples...)
	if s := stamping(conf, hits); s != nil {
		t.stamp = s
	}
	if t.stamp != nil {
		limit := p.MTU
		if p.StampMTU != 0 && p.StampMTU < limit {
			limit = p.StampMTU
		}
		if t.did = stampable(o.packet, length, limit); o.shortened() {
			t.did = isCut
		}
		if t.did == stamped {
			length = stampedLength(length)
		}
		o.ranToo("chip.tail_stamp", t.did == stamped)
	}
	t.outgoing = *o
	t.behind = true
	return t, length, true
}

// send passes the frames whose timestamp point is now to the output.
func (c *Chip) send(p *port) {
	for len(p.leaving) > 0 && p.leaving[0].at == c.now {
		t := p.leaving[0]
		p.leaving = p.leaving[1:]
		if t.pause != nil {
			c.sendPause(p, t.pause)
			continue
		}
		if !up(p.Port) {
			c.lose(p, &t.outgoing, drop.EgressDown)
			continue
		}
		data, length := c.dataOut(&t.outgoing), t.lengthOut()
		if t.job != nil && !t.made() {
			t.job.count(t.job.became)
		}
		marked := t.stamp != nil && t.did == stamped
		if t.stamp != nil {
			c.countStamp(t.stamp, t.did)
		}
		if marked {
			egress := c.timeOfDay(c.now)
			data = c.appendRecord(data, t.packet, t.stamp, p.Number, egress, 0)
			length = len(data)
		}
		c.trimEnded(&t.outgoing, true)
		p.Sent++
		p.SentBytes += uint64(length + fcs)
		p.out.count(data, length+fcs)
		c.frameCounts.Sent++
		if !t.made() {
			d := t.outgoing.dropped(c.now)
			d.Port = p.Port.Port
			c.keepEnd(d, saisim.MomentSent)
			c.Ended(Ending{ID: t.id, In: t.in, Port: p.Port.Port, Sent: true, Graph: t.graph, Path: t.path()})
		}
		c.Output(saisim.Out{Port: p.Port.Port, In: t.in, At: c.now, Data: data, Len: length, Stamped: marked, ID: t.id})
	}
}

// toCPU hands a copy to the CPU, unless a policer drops it. alone means that the packet goes nowhere else, for the
// reason why.
func (c *Chip) toCPU(pk *packet, alone bool, why drop.Reason) {
	n := len(*pk.heard)
	c.countTrap(pk, pk.trap)
	drops := c.policed(pk)
	policing := pk.aside(n)
	if !drops {
		d := pk.dropped(c.now)
		d.Port, d.Trap = saisim.CPUPort, pk.trap
		if d.Punted = alone; alone {
			d.Why = why
			c.Dropped(d.Drop)
			c.noteDrop(d)
		}
		d.own = policing
		c.keepEnd(d, saisim.MomentPunted)
		c.punt(pk)
		return
	}
	p := c.portAt(pk.in)
	if p != nil && !alone {
		p.PolicedCopies++
	}
	c.dropPacket(p, pk, c.now, drop.Policer, policing...)
	c.recordCopy(&outgoing{packet: pk}, nil, drop.Policer)
	c.countPath(pk, pk.tables)
}

// punt hands a copy to the CPU, with the ingress time if a session matched it.
func (c *Chip) punt(pk *packet) {
	data, length, marked := pk.data, pk.length, false
	if pk.stamp != nil {
		did := stampable(pk, pk.length, 0)
		c.countStamp(pk.stamp, did)
		if marked = did == stamped; marked {
			data = c.appendRecord(append([]byte{}, pk.data...), pk, pk.stamp, tailstamp.CPUPort, tailstamp.Timestamp{},
				tailstamp.NoEgress)
			length = len(data)
		}
	}
	c.frameCounts.ToCPU++
	queue := c.conf.toCPU(pk.trap).Queue
	c.Ended(Ending{
		ID: pk.id, In: pk.in, Port: saisim.CPUPort, Sent: true, Trap: pk.trap, Graph: pk.graph, Path: pk.tables,
	})
	c.recordCopy(&outgoing{packet: pk, queue: queue}, nil, 0)
	c.countPath(pk, pk.tables)
	c.Output(saisim.Out{Port: saisim.CPUPort, In: pk.in, At: c.now, Data: data, Len: length, Stamped: marked, ID: pk.id,
		Trap: pk.trap, Queue: queue, VLAN: pk.cameIn()})
}

// cameIn returns the VLAN in which the packet arrived: that of its router interface, if it has one.
func (pk *packet) cameIn() uint16 {
	if pk.router == config.None {
		return pk.vid
	}
	return pk.conf.vlans[pk.conf.rifs[pk.router].On].VID
}

// appendRecord pads a frame to the smallest size and appends a record.
func (c *Chip) appendRecord(
	b []byte, pk *packet, s *stamp, out uint16, egress tailstamp.Timestamp, flags tailstamp.Flags,
) []byte {
	for len(b) < smallest-fcs {
		b = append(b, 0)
	}
	if !c.clockAt(pk.rx).synchronised || flags&tailstamp.NoEgress == 0 && !c.clockAt(c.now).synchronised {
		flags |= tailstamp.Unsynchronised
	}
	if flags&tailstamp.NoEgress == 0 && c.setBetween(pk.rx, c.now) {
		flags |= tailstamp.ClockSet
	}
	return tailstamp.V1{}.Append(b, tailstamp.Record{
		SwitchID: s.switchID, Ingress: c.timeOfDay(pk.rx), Egress: egress, InPort: pk.number, OutPort: out, Flags: flags,
	})
}
