package saisim

import (
	"encoding/binary"
	"math/bits"

	"tamtam/saisim/config"
	"tamtam/saisim/profile"
	"tamtam/tam/record"
)

// recording is the state of table recording.
type recording struct {
	plans []*recordPlan // that are in effect, in the order of their creation
	// sessions are those of plans by the index of the mirror session that has their
	// label; nil: no plan has it.
	sessions [profile.MaxMirrors]*recordSession
	paths    pathTable

	spareChoices []*choice
	spareTaken   []*taken
	spareCopies  []*recordCopy
}

// A recordPlan is a plan in effect. It does not change: packets keep those that they met.
type recordPlan struct {
	row        config.RecordPlan
	containers record.Containers
	offset     int
	marks      []tap
	sessions   []*recordSession
	owner      *planObject
}

// A tap is a mark: the bit of a table among those that a packet has passed.
type tap struct {
	fixed fixedMarks // 0: of the program
	hit   bool
	table uint8 // of the program, as pipe.PHV.Ran numbers them
	bit   uint8 // of the record
}

// A recordSession is a session of a plan.
type recordSession struct {
	label  string
	sample uint64
	plan   *recordPlan
	tunnel *recordTunnel // nil: it has none
	counts *recordCounts // outlives the plan
}

// recordCounts count for one label of a plan object.
type recordCounts struct{ matched, unsampled, made, lost uint64 }

// word is the record of what a packet has passed.
func (p *recordPlan) word(was *passed) (w uint64) {
	for i := range p.marks {
		m := &p.marks[i]
		set := was.fixed&m.fixed != 0
		if m.fixed == 0 {
			words := &was.ran
			if m.hit {
				words = &was.hit
			}
			set = words[m.table>>6]>>(m.table&63)&1 != 0
		}
		if set {
			w |= 1 << m.bit
		}
	}
	return w
}

// A choice are the sessions that record a packet, by the index of their mirror
// session.
type choice struct {
	n  int
	of [profile.MaxMirrors]struct {
		mirror  int
		session *recordSession
	}
}

// choose matches a packet with the mirror sessions of a set, which record.
func (c *engine) choose(pk *packet, set uint64) {
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		s := c.recording.sessions[i]
		if s == nil {
			continue
		}
		n := s.counts
		n.matched++
		if (n.matched-1)%s.sample != 0 || pk.graph.graph.Version != s.plan.row.Graph {
			n.unsampled++
			continue
		}
		if pk.record == nil {
			pk.record = c.newChoice()
		}
		x := &pk.record.of[pk.record.n]
		x.mirror, x.session = i, s
		pk.record.n++
	}
}

func (c *engine) newChoice() *choice {
	r := &c.recording
	n := len(r.spareChoices)
	if n == 0 {
		return new(choice)
	}
	x := r.spareChoices[n-1]
	r.spareChoices = r.spareChoices[:n-1]
	x.n = 0
	return x
}

// A taken is what a record says of where its packet, or copy, ended.
type taken struct {
	passed
	out uint16 // number of the port
	why DropReason
}

// take has record copies made of a copy, when it is, or would be, through the egress pipe.
func (c *engine) take(cp *copyOf, t taken) {
	r := &c.recording
	var x *taken
	if n := len(r.spareTaken); n > 0 {
		x = r.spareTaken[n-1]
		r.spareTaken = r.spareTaken[:n-1]
	} else {
		x = new(taken)
	}
	*x = t
	c.leave(mirroring{copy: copyOf{pk: cp.pk}, taken: x})
}

// dropHere drops a packet without copies that goes nowhere.
func (c *engine) dropHere(pk *packet, why DropReason) {
	if pk.graph != nil {
		t := taken{passed: pk.sofar(), out: record.NoPort, why: why}
		c.countPath(pk, &t.passed)
		if pk.record != nil {
			c.recordCopies(pk, &t)
		}
	}
	c.drop(c.byID[pk.in], pk, why)
}

// letThrough is told of copies that leave the egress pipe.
func (c *engine) letThrough(p *port, t *transmission, fixed fixedMarks, runs bool) {
	was := c.through(&t.copyOf, fixed, runs)
	c.ended(&t.copyOf, was, p.number, 0)
	if c.observer != nil {
		t.watched = true
		p.trails.Push(was.trail(t.pk.graph))
	}
}

// A recordCopy is what the mirror copy of a recorded packet is wrapped in.
type recordCopy struct {
	mirrorEncap
	trailer  [8 + 40]byte
	counts   *recordCounts
	n        int
	datagram [80]byte // headers of UDP
}

// recordCopies makes and queues the record copies of a packet.
func (c *engine) recordCopies(pk *packet, t *taken) {
	for i := range pk.record.n {
		x := &pk.record.of[i]
		m := c.mirrors[x.mirror]
		if m == nil || m.label != x.session.label || m.encap.udp && x.session.tunnel == nil {
			continue
		}
		c.recordCopy(m, x.session, pk, t)
	}
}

func (c *engine) recordCopy(m *mirrorSession, s *recordSession, pk *packet, t *taken) {
	s.counts.made++
	x := c.newRecordCopy()
	x.mirrorEncap, x.counts = *m.encap, s.counts
	x.record = x
	if x.udp {
		x.head = s.tunnel.headers(x.datagram[:0], &x.mirrorEncap)
	}
	r := record.Record{
		Bits: x.trailer[:s.plan.containers.Bytes()], Switch: s.plan.row.Switch, Plan: s.plan.row.ID,
		InPort: pk.inN, OutPort: t.out, Length: uint32(pk.length), Why: uint8(t.why),
	}
	s.plan.containers.Put(r.Bits, s.plan.word(&t.passed))
	tod := c.tod.Load()
	in, a := tod.read(pk.rx)
	at, b := tod.read(c.now)
	r.In, r.At, r.Unsynchronised = record.Time(in), record.Time(at), a || b
	x.n = len(r.AppendTail(r.Bits))

	cp := pk.copy(tagAction{})
	cp.raw, cp.mirror = true, &x.mirrorEncap
	c.queueMirror(m, pk, &cp)
}

func (c *engine) newRecordCopy() *recordCopy {
	r := &c.recording
	n := len(r.spareCopies)
	if n == 0 {
		return new(recordCopy)
	}
	x := r.spareCopies[n-1]
	r.spareCopies = r.spareCopies[:n-1]
	return x
}

// freeRecord takes back what a mirror copy that is gone was wrapped in, if that was a
// record copy.
func (c *engine) freeRecord(e *mirrorEncap) {
	if x := e.record; x != nil {
		c.recording.spareCopies = append(c.recording.spareCopies, x)
	}
}

// loseRecord is freeRecord for what is dropped.
func (c *engine) loseRecord(e *mirrorEncap) {
	if e.record != nil {
		e.record.counts.lost++
		c.freeRecord(e)
	}
}

// A recordTunnel says from whom to whom a session of type SFLOW sends.
type recordTunnel struct {
	macs     [12]byte // destination, source
	tos      uint8
	src, dst []byte // 4 or 16 bytes
}

// headers writes what is before the frame, with lengths that are 0, and says in e
// where they are.
func (t *recordTunnel) headers(b []byte, e *mirrorEncap) []byte {
	const udp, dontFragment = 17, 0x40
	b = append(b, t.macs[:]...)
	if e.tagged {
		b = append(b, e.tag[:]...)
	}
	e.v4 = len(t.src) == 4
	if e.v4 {
		b = append(b, etherIPv4>>8, etherIPv4&0xff)
		e.l3 = len(b)
		b = append(b, 0x45, t.tos, 0, 0, 0, 0, dontFragment, 0, e.ttl, udp, 0, 0)
	} else {
		b = append(b, etherIPv6>>8, etherIPv6&0xff)
		e.l3 = len(b)
		b = append(b, 0x60|t.tos>>4, t.tos<<4, 0, 0, 0, 0, udp, e.ttl)
	}
	b = append(append(b, t.src...), t.dst...)
	b = binary.BigEndian.AppendUint16(b, e.srcPort)
	b = binary.BigEndian.AppendUint16(b, e.dstPort)
	return append(b, 0, 0, 0, 0)
}
