package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// samples chooses frames and hands them to the CPU.
type samples struct {
	*core
	watch    *watch
	fates    *fates
	traps    *traps
	egress   *egressPipe
	wires    *wires
	reported Out
}

// applySampler compiles a sampler.
func (c *samples) applySampler(r config.Sampler, gone bool) {
	s := at[*sampler](c.core, r.ID)
	if gone {
		delete(c.ids, r.ID) // no port or entry refers to it
		return
	}
	if s == nil {
		s = newSampler()
		c.ids[r.ID] = s
	}
	s.Sampler = r
	for of := range s.shared {
		for stage := range s.shared[of] {
			s.shared[of][stage].pause()
		}
	}
	for _, p := range c.ports {
		p.sampling[stageIngress].pause()
		p.sampling[stageEgress].pause()
	}
	c.stale = true
}

// enters decides whether to sample a packet as it enters the ingress pipe, and reports the decision.
func (c *samples) enters(p *port, pk *packet) bool {
	if p == nil {
		return false
	}
	x := p.sampled[stageIngress]
	if x == nil || !x.chooses() {
		return false
	}
	pk.due = c.due(x, nil)
	return true
}

// leavesPipe gives the CPU the samples of a packet at the end of the ingress pipe. copies is the number of copies for
// ports, out the port of the last one. why is the reason if there are none.
func (c *samples) leavesPipe(pk *packet, out *port, copies int, why drop.Reason) {
	s := Sample{Copies: uint16(copies), Port: CPUPort, Dropped: copies == 0 && !pk.verdict.cpu}
	if s.Dropped {
		s.Why = why
	}
	if out != nil {
		s.Port, s.VLAN = out.id, pk.vid
		s.routed(pk)
	}
	for pk.due != nil {
		d := pk.due
		if cp, queue := c.passes(pk, d); cp != nil {
			c.wires.run(c.reported.At)
			c.now = c.reported.At
			c.hand(cp, d, s, pk.data, pk.length, queue)
		}
		pk.due = d.next
		c.spares.due.give(d)
	}
}

// leavesPort gives the CPU the samples of a copy at the end of the egress pipe of its port. If the pipe has dropped the
// copy, the samples are as received.
func (c *samples) leavesPort(m *mirroring) {
	pk := m.copy.pk
	s := Sample{Egress: true, Copies: 1, Port: m.copy.lane, VLAN: pk.vid}
	if m.why != 0 {
		s.Copies, s.VLAN, s.Dropped, s.Why = 0, 0, true, m.why
	} else {
		s.routed(pk)
	}
	for d := m.due; d != nil; {
		if cp, queue := c.passes(pk, d); cp != nil {
			c.wires.run(c.reported.At)
			c.now = c.reported.At
			data, length := pk.data, pk.length
			if m.why == 0 {
				data, length = c.egress.unwrapped(&m.copy, false)
			}
			c.hand(cp, d, s, data, length, queue)
		}
		next := d.next
		c.spares.due.give(d)
		d = next
	}
}

// routed notes the next hop by which a packet leaves, if it is routed.
func (s *Sample) routed(pk *packet) {
	if pk.edited && pk.edit.routed {
		s.NextHop, s.Prefix = pk.edit.hop.ip, pk.edit.prefix
	}
}

// passes makes a copy for the CPU and meters it by the policer of the sample trap. It returns nil if the policer drops
// the copy.
func (c *samples) passes(pk *packet, x *sampleDue) (cp *copyOf, queue uint8) {
	to := c.traps.cpu(config.TrapSample)
	cp = c.copy(pk, tagAction{})
	c.frameCounts.Copies++
	if c.ledger != nil {
		c.ledger.Copied(pk.id, 1)
	}
	if c.observer != nil {
		c.watch.saw(MomentMirrored, pk, cp.number, CPUPort)
	}
	c.reported = Out{At: c.now}
	if to.passes(c.now, uint64(pk.length+fcsLen)) {
		return cp, to.queue
	}
	x.from.lost++
	p := c.port(pk.in)
	if p != nil {
		p.totals.PolicedCopies++
	}
	if c.listeners != nil {
		c.listeners.sample = true
	}
	own, noted := pk.met.policer, pk.noted // the values of the frame's own copy for the CPU
	if c.noting {
		pk.met.policer, pk.noted = to.policer.ID, noted|notedPolicer
	}
	c.fates.dropWith(p, cp, drop.Policer, Trail{}) // the trail is that of the frame, which continues
	if c.noting {
		pk.met.policer, pk.noted = own, noted
	}
	c.freeCopy(cp)
	return nil, 0
}

// hand hands a sample to the CPU. Frames that leave by ports up to now must have come first.
func (c *samples) hand(cp *copyOf, x *sampleDue, s Sample, data []byte, length int, queue uint8) {
	pk := cp.pk
	if x.truncate > 0 && len(data) > x.truncate {
		data = data[:x.truncate]
	}
	c.frameCounts.ToCPU++
	if c.observer != nil {
		m := c.watch.moment(MomentPunted, pk, cp.number, CPUPort)
		m.Data, m.Len = data, length
		c.observer(m)
	}
	s.Rate, s.Pool, s.Lost, s.Entry, s.Rule = x.rate, x.pool, x.from.lost, x.entry, x.rule
	c.reported = Out{
		Port: CPUPort, In: pk.in, At: c.now, Data: data, Len: length, ID: pk.id, Trap: config.TrapSample, Queue: queue,
		VLAN: pk.cameIn(), Sample: s,
	}
	c.out(&c.reported)
	c.freeCopy(cp)
	c.fates.release(pk)
}
