package engine

import (
	"math/bits"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/tam/record"
)

// mirrors makes copies for mirror sessions.
type mirrors struct {
	*core
	watch     *watch
	programs  *programs
	recording *recording
	fates     *fates
	bridge    *bridge
	queues    *queues
	samples   samples
	reporter  *reporter
}

// applyMirror compiles a mirror session.
func (c *mirrors) applyMirror(r config.Mirror, gone bool) {
	c.stale = true
	if gone {
		c.mirrored[at[*mirrorSession](c.core, r.ID).index] = nil
		delete(c.ids, r.ID)
	} else {
		m := at[*mirrorSession](c.core, r.ID)
		if m == nil {
			m = &mirrorSession{index: r.Index}
			c.ids[r.ID], c.mirrored[r.Index] = m, m
		}
		m.port, m.lag, m.label = at[*port](c.core, r.Monitor), at[*lag](c.core, r.Monitor), r.Label
		m.encap = newMirrorEncap(m, &r)
	}
	c.recording.bindRecords()
}

// mirror queues a copy for each session in a set, in the order of their indexes. Sessions removed in the meantime get
// no copy.
func (c *mirrors) mirror(set uint64, cp *copyOf) {
	pk := cp.pk
	for ; set != 0; set &= set - 1 {
		m := c.mirrored[bits.TrailingZeros64(set)]
		if m == nil || m.records() || m.encap.udp {
			continue
		}
		n := c.copy(pk, cp.tag)
		n.raw, n.ce, n.mirror, n.head = cp.raw, cp.ce, m.encap, c.programs.copyHeading(cp.head)
		n.trimmed = cp.trimmed
		if cp.ifa != nil {
			n.ifa = c.reportIFA(cp.ifa)
		}
		c.queueMirror(m, pk, n)
	}
}

// queueMirror queues a copy for a session.
func (c *mirrors) queueMirror(m *mirrorSession, pk *packet, n *copyOf) {
	to := m.port
	if m.lag != nil {
		to = c.bridge.member(m.lag, pk)
	}
	c.frameCounts.Copies++
	if c.ledger != nil {
		c.ledger.Copied(pk.id, 1)
	}
	if c.observer != nil {
		port := CPUPort
		if to != nil {
			port = to.id
		}
		c.watch.saw(MomentMirrored, pk, n.number, port)
	}
	if to == nil {
		c.fates.dropCopy(c.port(pk.in), n, drop.NoLAGMember)
		return
	}
	c.queues.enqueue(to, n)
}

// mirrorLeaving makes the mirror copies of the next copy that is through the egress pipe.
func (c *mirrors) mirrorLeaving() {
	m := *c.leaving.First()
	c.leaving.Pop()
	if c.leaving.Len() > 0 {
		c.agenda.push(c.now, event{c.leaving.First().at, eventKey(classMirror, 0)})
	}
	if m.record != nil {
		c.recordCopies(m.copy.pk, m.record)
		c.recording.spareRecorded.give(m.record)
	} else {
		c.mirror(m.set, &m.copy)
		c.reporter.stripped(&m.copy)
		if m.due != nil {
			c.samples.leavesPort(&m)
		}
		c.freeIFA(&m.copy)
	}
	c.fates.release(m.copy.pk)
}

// recordCopies makes and queues the record copies of a packet.
func (c *mirrors) recordCopies(pk *packet, t *recorded) {
	for i := range pk.record.n {
		x := &pk.record.of[i]
		m := c.mirrored[x.mirror]
		if m == nil || m.label != x.session.label || m.encap.udp && x.session.tunnel == nil {
			continue
		}
		c.recordCopy(m, x.session, pk, t)
	}
}

func (c *mirrors) recordCopy(m *mirrorSession, s *recordSession, pk *packet, t *recorded) {
	s.counts.Made++
	x := c.recording.spareRecords.get()
	x.mirrorEncap, x.counts = *m.encap, s.counts
	x.record = x
	if x.udp {
		x.head = s.tunnel.headers(x.datagram[:0], &x.mirrorEncap)
	}
	r := record.Record{
		Bits: x.trailer[:s.plan.row.PHV.Bytes()], Switch: s.plan.row.Switch, Plan: s.plan.row.ID,
		InPort: pk.inN, OutPort: t.out, Length: uint32(pk.length), Why: uint8(t.why),
		Trap: uint8(t.trap), Queue: t.queue, InLane: uint16(pk.in), OutLane: uint16(t.lane),
	}
	s.plan.row.PHV.Put(r.Bits, s.plan.word(&t.passed, &t.acted))
	times := c.stayFrom(pk.rx, c.now)
	r.In, r.At = record.Time(times.in), record.Time(times.out)
	r.Unsynchronised, r.ClockSet = times.unsync, times.set
	all := r.Bits
	if s.identities {
		r.Identities, r.NoRoom = t.identities.Bytes(), t.identities.Left
		all = append(all, r.Identities...)
	}
	x.n = len(r.AppendTail(all))

	cp := c.copy(pk, tagAction{})
	cp.raw, cp.mirror = true, &x.mirrorEncap
	c.queueMirror(m, pk, cp)
}
