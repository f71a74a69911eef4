package marking

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"tamtam/lab"
	"tamtam/saisim"
)

// mirrors tracks the mirror copies that come to a switch. They keep the name that the sender gave to the packet, but a
// copy that comes to a measurement point is not the packet.
type mirrors struct {
	tap    *lab.Tap
	seed   maphash.Seed
	beside map[string]*mirrors // the mirrors at the far end of the link, by the name of the port

	made    map[uint64][]uint32 // mirror copies in the chip, by the chip's number of the packet
	passing map[uint64]bool     // frames in the chip that arrived as mirror copies, by number
	newest  uint64              // number of the last packet received
	sent    []sentCopy          // copies sent since the last window
	coming  map[copyName]int    // copies on their way here, and those that a link lost
}

// A copyName distinguishes a copy from the packet of the same name by its bytes.
type copyName struct{ id, data uint64 }

// A sentCopy is a copy that a switch has sent to another one.
type sentCopy struct {
	name copyName
	to   *mirrors
}

// watchMirrors watches all switches of a lab.
func watchMirrors(l *lab.Lab, of func(*lab.Tap) *mirrors) {
	seed, all := maphash.MakeSeed(), map[string]*mirrors{}
	for i := range l.Topology().Switches {
		tap := l.Tap(l.Topology().Switches[i].Name)
		c := of(tap)
		*c = mirrors{tap: tap, seed: seed, beside: map[string]*mirrors{}, made: map[uint64][]uint32{},
			passing: map[uint64]bool{}, coming: map[copyName]int{}}
		all[tap.Name()] = c
		tap.Watch(c)
	}
	for _, k := range l.Topology().Links {
		a, portA, _ := strings.Cut(k.A, ":")
		b, portB, _ := strings.Cut(k.B, ":")
		if all[a] != nil && all[b] != nil {
			all[a].beside[portA], all[b].beside[portB] = all[b], all[a]
		}
	}
}

// Saw processes a moment of the chip.
func (c *mirrors) Saw(m saisim.Moment) {
	switch m.What {
	case saisim.MomentReceived:
		if c.newest = m.Number; len(c.coming) > 0 {
			c.receive(m)
		}
	case saisim.MomentMirrored:
		c.made[m.Number] = append(c.made[m.Number], m.Copy)
	case saisim.MomentSent:
		to := c.beside[c.tap.Port(m.Port)]
		if to != nil && (c.passing[m.Number] || slices.Contains(c.made[m.Number], m.Copy)) {
			c.sent = append(c.sent, sentCopy{c.name(m), to})
		}
	}
}

// receive records that a packet arrived as the copy of another one.
func (c *mirrors) receive(m saisim.Moment) {
	name := c.name(m)
	switch n := c.coming[name]; {
	case n > 1:
		c.coming[name] = n - 1
	case n == 1:
		delete(c.coming, name)
	default:
		return
	}
	c.passing[m.Number] = true
}

func (c *mirrors) name(m saisim.Moment) copyName {
	return copyName{m.ID, maphash.Bytes(c.seed, m.Data)}
}

// Restarted forgets the chip's contents.
func (c *mirrors) Restarted() {
	clear(c.made)
	clear(c.passing)
}

// inChip is a number of packets that no chip holds at a time. Packets with numbers older than this have left it.
const inChip = 1 << 20

// follow passes on the copies that were sent in a window.
func (c *mirrors) follow() {
	if len(c.made)+len(c.passing) > inChip {
		gone := func(number uint64) bool { return number+inChip < c.newest }
		maps.DeleteFunc(c.made, func(number uint64, _ []uint32) bool { return gone(number) })
		maps.DeleteFunc(c.passing, func(number uint64, _ bool) bool { return gone(number) })
	}
	for _, x := range c.sent {
		x.to.coming[x.name]++
	}
	c.sent = c.sent[:0]
}
