package saisim

import "tamtam/saisim/engine"

// A PacketTrace is what would become of a packet.
type PacketTrace = engine.PacketTrace

// A Finding is what one look of a packet into one table has found.
type Finding = engine.Finding

// TracePacket returns what would become of a frame that came to a port's ingress MAC at a cycle, on the tables as they
// are now and with all that is in the chip and on its way, if nothing came after it. The chip is locked only while a
// fork of it is made, and nothing of it changes.
func (c *Chip) TracePacket(id PortID, at Cycle, f Frame) (*PacketTrace, error) {
	n, err := c.fork()
	if err != nil {
		return nil, err
	}
	return n.Trace(id, at, &f)
}

func (c *Chip) fork() (*engine.Fork, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return engine.NewFork(c.engine)
}
