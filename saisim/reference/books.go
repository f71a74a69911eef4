package reference

import (
	"bytes"

	"tamtam/saisim"
	"tamtam/saisim/drop"
)

// A snapshot is the books at a cycle.
type snapshot struct {
	at saisim.Cycle
	*saisim.Books
}

// drop ends a frame, or a copy of one, counted at port p (nil: only in the books).
func (c *Chip) drop(p *port, why drop.Reason) {
	c.books.Dropped[why]++
	if p != nil {
		p.Dropped[why]++
	}
}

// dropCopy drops a copy before it is through the egress pipe.
func (c *Chip) dropCopy(p *port, o *outgoing, why drop.Reason) {
	c.lose(p, o, why)
	c.recordCopy(o, p, why)
	if o.mirror == nil {
		c.countPath(o.packet, o.path())
	}
}

// lose drops a copy that has its record, or shall have none.
func (c *Chip) lose(p *port, o *outgoing, why drop.Reason) {
	c.drop(p, why)
	if o.recorder != nil {
		o.recorder.Lost++
		c.Recording("lost: " + why.String())
	}
	if o.mirror == nil {
		at := o.in
		if p != nil {
			at = p.Port.Port
		}
		c.Ended(Ending{ID: o.id, In: o.in, Port: at, Why: why, Graph: o.graph, Path: o.path()})
	}
}

// dropPacket drops a packet in, or at the end of, the ingress pipe.
func (c *Chip) dropPacket(p *port, pk *packet, why drop.Reason) {
	c.drop(p, why)
	c.Ended(Ending{ID: pk.id, In: pk.in, Port: pk.in, Why: why, Graph: pk.graph, Path: pk.tables})
}

// Books returns the books at this instant. A frame that the ingress pipe drops
// counts as dropped from its entry on: what will become of the frames that are in
// it is filled in as they go, so read the books when they have left.
func (c *Chip) Books() *saisim.Books {
	b := c.books
	b.InFlight = uint64(len(c.arbiter))
	for _, s := range c.ingress.slots {
		if s.pk != nil {
			b.InFlight++
		}
	}
	for _, slot := range c.egress {
		for _, t := range slot {
			if !t.purged {
				b.InFlight++
			}
		}
	}
	for _, p := range c.ports {
		for _, q := range p.queues {
			b.Queued += uint64(len(q.items))
			b.QueuedBytes += uint64(q.bytes())
		}
		b.InFlight += uint64(len(p.arriving) + len(p.leaving))
	}
	b.InFlight += b.Queued
	c.open = append(c.open, &snapshot{c.now, &b})
	return &b
}

// PortCounters returns a port's counters, false if there is no such port.
func (c *Chip) PortCounters(id saisim.PortID) (saisim.PortCounters, bool) {
	if p := c.portAt(id); p != nil {
		return p.PortCounters, true
	}
	return saisim.PortCounters{}, false
}

// Frames are those that came to a port, or left it, by kind and size.
type Frames struct {
	Kinds [3]uint64  // to a host, to a group, to all
	Sizes [10]uint64 // with FCS: up to 64 bytes, then up to each of the sizes in count, then all longer ones
}

// count counts a frame, whose length with FCS is n.
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

// Frames returns those of a port, both ways, false if there is no such port.
func (c *Chip) Frames(id saisim.PortID) (in, out Frames, ok bool) {
	p := c.portAt(id)
	if p == nil {
		return in, out, false
	}
	return p.in, p.out, true
}
