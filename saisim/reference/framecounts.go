package reference

import (
	"bytes"

	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/tam/dropreport"
)

// A snapshot holds the counts of all frames at a cycle.
type snapshot struct {
	at saisim.Cycle
	*saisim.FrameCounts
}

// drop ends a frame, or a copy of one. Port p counts the drop; if p is nil, only FrameCounts does.
func (c *Chip) drop(p *port, d dropping, why drop.Reason) {
	c.frameCounts.Dropped[why]++
	d.Port, d.Why = saisim.CPUPort, why
	if p != nil {
		p.Dropped[why]++
		d.Port = p.Port.Port
	}
	c.Dropped(d.Drop)
	c.keep(d)
	if !c.reporting.own {
		c.noteDrop(d)
	}
}

// A dropping is a dropped packet or copy.
type dropping struct {
	saisim.Drop
	pk     *packet
	own    []saisim.Finding // findings of the copy
	behind bool             // true if it has passed the egress pipe
}

// dropped returns the description of a packet that is dropped at a cycle.
func (pk *packet) dropped(at saisim.Cycle) dropping {
	return dropping{Drop: saisim.Drop{At: at, ID: pk.id, In: pk.in, Data: pk.data, Len: pk.length}, pk: pk}
}

// dropped returns the description of a copy that is dropped at a cycle.
func (o *outgoing) dropped(at saisim.Cycle) dropping {
	d := o.packet.dropped(at)
	d.Mirror, d.own, d.behind = o.made(), o.own, o.behind
	if o.asked {
		d.Queued, d.Queue, d.Depth, d.QueuedAt = true, o.queue, uint32(o.depth), o.queued
	}
	return d
}

// dropCopy drops a copy that has not left the egress pipe.
func (c *Chip) dropCopy(p *port, o *outgoing, why drop.Reason) {
	c.lose(p, o, why)
	c.recordCopy(o, p, why)
	if !o.made() {
		c.countPath(o.packet, o.path())
	}
}

// lose drops a copy whose record has been made, or a copy without a record.
func (c *Chip) lose(p *port, o *outgoing, why drop.Reason) {
	if o.report != nil {
		o.report.counts[dropreport.WordLost]++
	}
	c.trimEnded(o, false)
	c.reporting.own = o.report != nil
	c.drop(p, o.dropped(c.now), why)
	c.reporting.own = false
	if o.recorder != nil {
		o.recorder.Lost++
		c.Recording("lost: " + why.String())
	}
	if !o.made() {
		at := o.in
		if p != nil {
			at = p.Port.Port
		}
		c.Ended(Ending{ID: o.id, In: o.in, Port: at, Why: why, Trap: o.trapBehind(why), Graph: o.graph, Path: o.path()})
	}
}

// dropPacket drops a packet in the ingress pipe or at its end, at a cycle. policing is the finding in the policer, if
// that is the reason.
func (c *Chip) dropPacket(p *port, pk *packet, at saisim.Cycle, why drop.Reason, policing ...saisim.Finding) {
	d := pk.dropped(at)
	d.own = policing
	d.Trap = pk.trapBehind(why)
	c.drop(p, d, why)
	c.Ended(Ending{ID: pk.id, In: pk.in, Port: pk.in, Why: why, Trap: d.Trap, Graph: pk.graph, Path: pk.tables})
}

// FrameCounts returns the counts of all frames at this instant. A frame that the ingress pipe drops counts as dropped
// from its entry on. The outcomes of frames in the pipe are filled in as they become known, so read the result when
// they have left.
func (c *Chip) FrameCounts() *saisim.FrameCounts {
	b := c.frameCounts
	b.InFlight = uint64(len(c.arbiter))
	for _, s := range c.ingress.slots {
		if s.pk != nil {
			b.InFlight++
		}
	}
	for _, slot := range c.egress {
		for _, t := range slot {
			if !t.purged && t.pause == nil {
				b.InFlight++
			}
		}
	}
	for _, p := range c.ports {
		for _, q := range p.queues {
			b.Queued += uint64(len(q.items))
			b.QueuedBytes += uint64(q.bytes())
		}
		b.InFlight += uint64(len(p.arriving))
		for _, t := range p.leaving {
			if t.pause == nil {
				b.InFlight++
			}
		}
	}
	b.InFlight += b.Queued
	c.open = append(c.open, &snapshot{c.now, &b})
	return &b
}

// PortCounters returns a port's counters, and false if there is no such port.
func (c *Chip) PortCounters(id saisim.PortID) (saisim.PortCounters, bool) {
	if p := c.portAt(id); p != nil {
		return p.PortCounters, true
	}
	return saisim.PortCounters{}, false
}

// Frames holds the numbers of frames received by a port, or sent, by kind and size.
type Frames struct {
	Kinds [3]uint64  // unicast, multicast, broadcast
	Sizes [10]uint64 // with FCS: up to 64 bytes, then up to each of the sizes in count, then all longer ones
}

// count counts a frame. n is its length with FCS.
func (f *Frames) count(data []byte, n int) {
	switch {
	case bytes.Equal(data[:6], []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}):
		f.Kinds[2]++
	case data[0]&1 == 1:
		f.Kinds[1]++
	default:
		f.Kinds[0]++
	}
	for i, most := range []int{64, 127, 255, 511, 1023, 1518, 2047, 4095, 9216} {
		if n <= most {
			f.Sizes[i]++
			return
		}
	}
	f.Sizes[9]++
}

// Frames returns a port's frame counts in both directions, and false if there is no such port.
func (c *Chip) Frames(id saisim.PortID) (in, out Frames, ok bool) {
	p := c.portAt(id)
	if p == nil {
		return in, out, false
	}
	return p.in, p.out, true
}
