package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A Drop is the end of a packet, or of one copy of it, that nobody gets, and all that is known of it there. With Punted
// it is none: the CPU has the packet, and Why says why it goes nowhere else.
type Drop struct {
	At     Cycle
	ID     uint64 // the sender's name of the frame
	Number uint64 // the chip's own: 1 for the first frame received or injected
	Copy   uint32 // 0: the frame itself
	In     PortID // where it came in; CPUPort: injected
	Port   PortID // whose counters have it; CPUPort: no port's, only the books
	Why    drop.Reason
	Punted bool
	Trap   config.Trap // that has taken it to the CPU; of a copy that a policer dropped, too
	Mirror bool        // it is a copy for a mirror session, or of a record
	// Queued says that it has asked Queue of Port for room, where Depth bytes were before it.
	Queued bool
	Queue  uint8
	Depth  uint32
	// Data is the frame as it came in, valid during the call only; Len is its length before a capture cut it. The FCS is
	// in neither.
	Data []byte
	Len  int
}

// dropTakers are those who want drops told, each nil if there is none. They must keep nothing of what they are told by
// pointer, allocate nothing, and leave the chip as it is.
type dropTakers struct {
	told func(*Drop)
	now  Drop // what is being told, so that it is not made anew each time
}

// TellDrops has a function told of every drop from now on; nil: none.
func (c *Engine) TellDrops(f func(*Drop)) {
	if c.takers = nil; f != nil {
		c.takers = &dropTakers{told: f}
	}
}

// tell tells the takers of a drop at a port, nil if no port counts it. It is called only where there are takers.
func (c *fates) tell(p *port, cp *copyOf, why drop.Reason, punted bool) {
	t, pk := c.takers, cp.pk
	d := &t.now
	*d = Drop{
		At: c.now, ID: pk.id, Number: pk.number, Copy: uint32(cp.number), In: pk.in, Port: CPUPort, Why: why, Punted: punted,
		Mirror: cp.mirror != nil, Data: pk.data, Len: pk.length,
	}
	if p != nil {
		d.Port = p.id
	}
	if cp.asked {
		d.Queued, d.Queue, d.Depth = true, cp.queue, cp.depth
	}
	if punted || why == drop.Policer {
		d.Trap = pk.trap
	}
	if t.told != nil {
		t.told(d)
	}
}
