package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A Sample is what the chip says of a frame that it has sampled.
type Sample struct {
	Rate   uint32 // of one in so many; 0: the frame is no sample
	Egress bool   // as it leaves by a port; else as it came in
	// Pool is how many frames there were to choose from up to this one, itself included, and Lost how many samples
	// there were that the policer of the trap has not let pass, before it.
	Pool, Lost uint64
	// Copies are how many of the frame go to ports, Port is that of the last one; 0 and CPUPort: none.
	Copies  uint16
	Port    PortID
	VLAN    uint16 // in which it leaves; 0: none, or by a router interface of a port or LAG
	Dropped bool   // it goes nowhere, not to the CPU either, for Why
	Why     drop.Reason
}

// A sampler chooses frames.
type sampler struct {
	config.Sampler
	shared [2]sampling // of all its ports, by direction
}

// A sampling is where choosing has come to. The gap between two samples is drawn from 1 to 2 Rate - 1, each as likely as
// the others, so that it is the rate on average and no pattern in the traffic keeps step with it.
type sampling struct {
	stream     uint64 // of random numbers: each has its own
	drawn      uint64 // gaps, since the rate changed
	gap        uint64 // frames up to the next that is chosen, itself included
	rate       uint32 // that the gap was drawn for; 0: none was
	pool, lost uint64
}

// sharedStream are the streams of samplers that are shared; those of a port have its number.
const sharedStream = 1 << 20

// takes reports whether the next frame is chosen.
func (s *sampling) takes(rate uint32) bool {
	s.pool++
	if s.rate != rate {
		s.rate, s.drawn = rate, 0
		s.draw()
	}
	if s.gap--; s.gap > 0 {
		return false
	}
	s.draw()
	return true
}

// draw draws the next gap, by the mix of SplitMix64.
func (s *sampling) draw() {
	s.drawn++
	x := (s.stream<<32 + s.drawn) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	s.gap = 1 + (x^x>>31)%(2*uint64(s.rate)-1)
}

// A chosen is a sample to be.
type chosen struct {
	from     *sampling // nil: the frame is not chosen
	pool     uint64
	rate     uint32
	truncate int
}

// samples choose frames, and hand them to the CPU.
type samples struct {
	*core
	watch  *watch
	fates  *fates
	traps  *traps
	egress *egressPipe
	wires  *wires
	told   Out
}

// applySampler compiles a sampler.
func (c *samples) applySampler(r config.Sampler, gone bool) {
	s := at[*sampler](c.core, r.ID)
	switch {
	case gone:
		delete(c.ids, r.ID) // no port has it any more
	case s == nil:
		s = &sampler{Sampler: r}
		for i := range s.shared {
			s.shared[i].stream = sharedStream + uint64(i)
		}
		c.ids[r.ID] = s
	default:
		s.Sampler = r
	}
}

// choose chooses the frame that comes next at a port, or not.
func (p *port) choose(stage int) chosen {
	s := p.samplers[stage]
	if s == nil {
		return chosen{}
	}
	x := &p.sampling[stage]
	if s.Shared {
		x = &s.shared[stage]
	}
	if !x.takes(s.Rate) {
		return chosen{}
	}
	return chosen{x, x.pool, s.Rate, s.Truncate}
}

// enters chooses a packet as it enters the ingress pipe, or not.
func (c *samples) enters(p *port, pk *packet) {
	if p == nil || p.samplers[stageIngress] == nil {
		return
	}
	if x := p.choose(stageIngress); x.from != nil {
		pk.sampled, pk.chosen = true, x
	}
}

// leavesPipe hands over a packet that was chosen, at the end of the ingress pipe: copies go to ports, the last to out.
func (c *samples) leavesPipe(pk *packet, out *port, copies int, why drop.Reason) {
	s := Sample{Copies: uint16(copies), Port: CPUPort, Dropped: copies == 0 && !pk.verdict.cpu}
	if s.Dropped {
		s.Why = why
	}
	if out != nil {
		s.Port, s.VLAN = out.id, pk.vid
	}
	if cp, queue := c.passes(pk, &pk.chosen); cp != nil {
		c.wires.run(c.told.At)
		c.now = c.told.At
		c.hand(cp, &pk.chosen, s, pk.data, pk.length, queue)
	}
}

// leavesPort hands over a copy that was chosen, at the end of the egress pipe of its port.
func (c *samples) leavesPort(m *mirroring) {
	s := Sample{Egress: true, Copies: 1, Port: m.copy.lane, VLAN: m.copy.pk.vid}
	if cp, queue := c.passes(m.copy.pk, &m.chosen); cp != nil {
		c.wires.run(c.told.At)
		c.now = c.told.At
		data, length := c.egress.unwrapped(&m.copy, false)
		c.hand(cp, &m.chosen, s, data, length, queue)
	}
}

// passes makes the copy for the CPU, and the policer of its trap lets it pass, or it is dropped: nil.
func (c *samples) passes(pk *packet, x *chosen) (cp *copyOf, queue uint8) {
	to := c.traps.cpu(config.TrapSample)
	cp = c.copy(pk, tagAction{})
	cp.sample = true
	c.books.Copies++
	if c.ledger != nil {
		c.ledger.Copied(pk.id, 1)
	}
	if c.observer != nil {
		c.watch.saw(MomentMirrored, pk, cp.number, CPUPort)
	}
	c.told = Out{At: c.now}
	if to.policer == nil || to.policer.passes(c.now, uint64(pk.length+fcsLen)) {
		return cp, to.queue
	}
	x.from.lost++
	p := c.port(pk.in)
	if p != nil {
		p.totals.PolicedCopies++
	}
	c.fates.dropWith(p, cp, drop.Policer, Trail{}) // the trail is that of the frame, which goes on
	c.freeCopy(cp)
	return nil, 0
}

// hand hands a sample to the CPU. What leaves by ports up to now has come first.
func (c *samples) hand(cp *copyOf, x *chosen, s Sample, data []byte, length int, queue uint8) {
	pk := cp.pk
	if x.truncate > 0 && len(data) > x.truncate {
		data = data[:x.truncate]
	}
	c.books.ToCPU++
	if c.observer != nil {
		m := c.watch.moment(MomentPunted, pk, cp.number, CPUPort)
		m.Data, m.Len = data, length
		c.observer(m)
	}
	s.Rate, s.Pool, s.Lost = x.rate, x.pool, x.from.lost
	c.told = Out{
		Port: CPUPort, In: pk.in, At: c.now, Data: data, Len: length, ID: pk.id, Trap: config.TrapSample, Queue: queue,
		VLAN: pk.cameIn(), Sample: s,
	}
	c.out(&c.told)
	c.freeCopy(cp)
	c.fates.release(pk)
}
