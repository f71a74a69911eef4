package reference

import "tamtam/saisim"

// A snapshot is the books at a cycle.
type snapshot struct {
	at saisim.Cycle
	*saisim.Books
}

// drop ends a frame, or a copy of one, counted at port p (nil: only in the books).
func (c *Chip) drop(p *port, why saisim.DropReason) {
	c.books.Dropped[why]++
	if p != nil {
		p.Dropped[why]++
	}
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
