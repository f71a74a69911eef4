package reference

import (
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A choosing is the state of a sampler for the frames of a port in one direction, or of all ports if it is shared.
type choosing struct {
	stream     uint64
	rate       uint32
	gaps       uint64 // number of gaps drawn for this rate
	next       uint64 // number of the frame that is chosen next
	seen, lost uint64 // seen counts frames, lost counts samples that a policer dropped
}

// A sample is a frame that was chosen.
type sample struct {
	*choosing
	config.Sampler
	number uint64
	entry  config.ID // entry that chose it; None if a port did
	rule   string    // label of the entry's counter
}

// A chooser is the key of sampler state: a shared sampler in a direction for ports, the same for ACL entries, or one
// entry.
type chooser struct {
	sampler config.ID // None if the state belongs to an entry
	entry   config.ID // the entry that has its own state
	entries bool      // the state is shared by all entries
	egress  bool
}

// sees shows a frame of a port to a sampler, and returns the sample if the frame is chosen.
func (c *Chip) sees(conf *settings, id config.ID, p *port, egress bool) []*sample {
	at := slices.IndexFunc(conf.Samplers, func(s config.Sampler) bool { return s.ID == id })
	if id == config.None || at < 0 {
		return nil
	}
	s := conf.Samplers[at]
	x, direction := &p.choosing[0], uint64(0)
	if egress {
		x, direction = &p.choosing[1], 1
	}
	x.stream = uint64(p.Port.Port)*2 + direction
	if s.Shared {
		x = c.choosing(chooser{sampler: id, egress: egress}, 1<<20+direction)
	}
	return x.see(s)
}

// seenByEntries shows a frame to the samplers of all entries that it hits, and returns the samples.
func (c *Chip) seenByEntries(conf *settings, hits []hit, egress bool) (all []*sample) {
	for _, h := range hits {
		for _, s := range conf.Samplers {
			if !slices.Contains(h.entry.Of(config.ActSample), s.ID) {
				continue
			}
			x := c.choosing(chooser{entry: h.entry.ID}, 1<<31|uint64(h.entry.ID))
			if s.Shared {
				stream := uint64(1<<20 + 2)
				if egress {
					stream++
				}
				x = c.choosing(chooser{sampler: s.ID, entries: true, egress: egress}, stream)
			}
			for _, chosen := range x.see(s) {
				chosen.entry = h.entry.ID
				for _, counter := range h.entry.Of(config.ActCounter) {
					chosen.rule = conf.aclCounters[counter].Label
				}
				all = append(all, chosen)
			}
		}
	}
	return all
}

// choosing returns the state of a chooser. A new state begins with the given stream of random numbers.
func (c *Chip) choosing(k chooser, stream uint64) *choosing {
	if c.choosings[k] == nil {
		c.choosings[k] = &choosing{stream: stream}
	}
	return c.choosings[k]
}

// see counts a frame for a sampler, and returns the sample if the frame is chosen.
func (x *choosing) see(s config.Sampler) []*sample {
	x.seen++
	if x.rate != s.Rate {
		x.rate, x.gaps = s.Rate, 0
		x.next = x.seen - 1 + x.gap()
	}
	if x.seen < x.next {
		return nil
	}
	x.next += x.gap()
	return []*sample{{choosing: x, Sampler: s, number: x.seen}}
}

// gap returns the distance in frames to the next sample, from 1 to twice the rate less one. It uses the mix of
// SplitMix64.
func (x *choosing) gap() uint64 {
	x.gaps++
	z := 0x9e3779b97f4a7c15 * (x.stream<<32 + x.gaps)
	for _, step := range []struct {
		shift  int
		factor uint64
	}{{30, 0xbf58476d1ce4e5b9}, {27, 0x94d049bb133111eb}} {
		z = (z ^ z>>step.shift) * step.factor
	}
	z ^= z >> 31
	return z%(uint64(x.rate)*2-1) + 1
}

// give sends a sample to the CPU, or drops it if its trap's policer does not admit it.
func (c *Chip) give(pk *packet, s *sample, note saisim.Sample, data []byte, length int) {
	c.frameCounts.Copies++
	c.countTrap(pk, config.TrapSample)
	if toCPU := c.conf.toCPU(config.TrapSample); c.policedAs(pk, toCPU.Policer) {
		s.lost++
		p := c.portAt(pk.in)
		if p != nil {
			p.PolicedCopies++
		}
		d := pk.dropped(c.now)
		d.Trap, d.own = config.TrapSample, []saisim.Finding{{Table: "policer", Entry: toCPU.Policer}}
		c.drop(p, d, drop.Policer)
		return
	}
	if s.Truncate > 0 {
		data = data[:min(len(data), s.Truncate)]
	}
	c.frameCounts.ToCPU++
	note.Rate, note.Pool, note.Lost, note.Entry, note.Rule = s.Sampler.Rate, s.number, s.lost, s.entry, s.rule
	c.Output(saisim.Out{Port: saisim.CPUPort, In: pk.in, At: c.now, Data: data, Len: length, ID: pk.id,
		Trap: config.TrapSample, Queue: c.conf.toCPU(config.TrapSample).Queue, VLAN: pk.cameIn(), Sample: note})
}

// sampledIn gives the CPU the samples of a packet that was chosen on arrival. last is the port of its last copy.
func (c *Chip) sampledIn(pk *packet, copies int, last config.ID, why drop.Reason) {
	note := saisim.Sample{Copies: uint16(copies), Port: saisim.CPUPort}
	if p := c.portWith(last); copies > 0 && p != nil {
		note.Port, note.VLAN = p.Port.Port, pk.vid
		if pk.routed != nil {
			note.NextHop, note.Prefix = pk.routed.hop, pk.routed.bits
		}
	}
	if copies == 0 && !pk.cpu {
		note.Dropped, note.Why = true, why
	}
	for _, s := range pk.samples {
		c.give(pk, s, note, pk.data, pk.length)
	}
}

// sampledOut gives the CPU the samples of a copy that was chosen as it leaves at a port, without the changes of IFA
// there. If the egress pipe dropped it for the reason why, the frame is as received.
func (c *Chip) sampledOut(p *port, samples []*sample, o outgoing, why drop.Reason) {
	note, frame, length := saisim.Sample{Egress: true, Port: p.Port.Port}, o.data, o.length
	if why != 0 {
		note.Dropped, note.Why = true, why
	} else {
		note.Copies, note.VLAN = 1, o.vid
		if len(samples) > 0 {
			frame, length = o.frame(), o.frameLength()
		}
		if o.packet.routed != nil {
			note.NextHop, note.Prefix = o.packet.routed.hop, o.packet.routed.bits
		}
	}
	for _, s := range samples {
		c.give(o.packet, s, note, frame, length)
	}
}

// sampledDropped does the same as sampledOut for a copy that the egress pipe drops. It applies at the cycle in which
// the copy would be through.
func (c *Chip) sampledDropped(p *port, samples []*sample, o *outgoing, why drop.Reason) {
	if len(samples) > 0 {
		plain := *o
		plain.job = nil
		c.later(func() { c.sampledOut(p, samples, plain, why) })
	}
}
