package saisim

import (
	"net/netip"
	"tamtam/saisim/engine"
	"tamtam/saisim/pipe"
	"tamtam/tam/dropreport"
	"tamtam/tam/flymon"
	"tamtam/tam/record"
)

// What a chip offers besides SAI to code in the same process.

// Control has a batch take effect at a cycle, all of it between two packets: a
// packet that enters the ingress pipe at that cycle or later runs the new
// program, in the egress pipe too, and those before it the old one; registers and
// counters are written and read before the first packet that enters their pipe at
// that cycle or later. What is wrong with the batch is said now, by name, and then
// nothing of it happens. A cycle that is past, or before that of an earlier batch
// still to come, is refused; at the current cycle it takes effect at once, behind
// all that Advance has done.
//
// The program and what else the batch holds must not be changed afterwards.
func (c *Chip) Control(at Cycle, b Batch) error {
	c.mu.Lock()
	defer c.unlock()
	return c.engine.Control(at, b)
}

// Program returns the program that runs, with its entries as they are now, nil if
// there is none. It must not be changed.
func (c *Chip) Program() *pipe.Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Program()
}

// Describe returns the graph of the chip's pipes as they are now. It must not be
// changed.
func (c *Chip) Describe() *record.Graph {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Graph()
}

// Books returns the chip's books at this instant. InFlight is counted in the
// chip, not derived from the rest.
func (c *Chip) Books() Books {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Books()
}

// PortCounters returns a port's counters, false if there is no such port. They
// are not cleared by ClearStats.
func (c *Chip) PortCounters(id PortID) (PortCounters, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.PortCounters(id)
}

// QueueState returns the state of a port's queue, false if there is none.
func (c *Chip) QueueState(id PortID, queue int) (QueueState, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.QueueState(id, queue)
}

// TaskStatus is what a window of tasks reads; false: there is no such task.
func (c *Chip) TaskStatus(task string) (flymon.ChipStatus, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.TaskStatus(task)
}

// Paths returns the paths that were counted, how many packets took them or others, and
// how many of these took one for which there was no room.
func (c *Chip) Paths() (paths []record.PathCount, packets, other uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	packets, other = c.engine.PathsCounted()
	return c.engine.Paths(), packets, other
}

// Path returns the tables of a trail in the order of the graph, nil if the trail is
// unknown or of another graph than the chip's is now.
func (c *Chip) Path(t Trail) []record.Step {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Path(t)
}

// SetObserver sets the function that is called with every moment in the history of
// every frame from now on; nil ends that. Like the function of
// [Chip.SetOutput] it is called with the chip locked and must not call it.
// Moments of one copy come in the order of time.
func (c *Chip) SetObserver(f func(Moment)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engine.Observe(f)
}

// OnDrop has a function told of every drop from now on, and of packets that the CPU alone has, until stop is called;
// of each drop all such functions are told, in the order in which they came. They are called with the chip locked, must
// not call it nor stop, change nothing of what they are given, and keep nothing of it.
func (c *Chip) OnDrop(f func(*Drop)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.engine.OnDrop(f)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		end()
	}
}

// ReportCounts returns the counters of the reports of drops from one address and port to another, and of the events
// that report there, by the words of [dropreport].
func (c *Chip) ReportCounts(src, dst netip.AddrPort) [dropreport.NumWords]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _ := engine.ReportCounts(c.engine, src, dst)
	return n
}

// SetLedger sets the ledger that is kept from now on; nil: none. Its functions are called with the chip
// locked and must not call it.
func (c *Chip) SetLedger(l Ledger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engine.Account(l)
}

// SetLink says whether a port has a link; a new port has one. A port is
// operationally up while it has a link and its admin state is up.
func (c *Chip) SetLink(id PortID, up bool) bool {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.SetLink(id, up)
}

// SetWire is [Chip.SetLink], and says the longest frame with a stamp, FCS included, that the wire takes: one that its
// record would make longer leaves without, counted as one beyond the MTU. 0: as much as the port's MTU.
func (c *Chip) SetWire(id PortID, up bool, stampMTU uint32) bool {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.SetWire(id, up, stampMTU)
}

// AddLost counts frames that were lost before they came to a port's ingress MAC, for want of room, and such as had
// left its egress MAC and were not sent. They are in no book of the chip, only in the port's statistics of SAI:
// ETHER_STATS_DROP_EVENTS, which IF_IN_DISCARDS and IN_DROPPED_PKTS count too, and IF_OUT_ERRORS. It returns false
// if there is no such port.
func (c *Chip) AddLost(id PortID, in, out uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects.AddLost(id, in, out)
}

// Ports returns the chip's ports, in order.
func (c *Chip) Ports() []PortID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects.Ports()
}

// PortByName returns the port whose host interface has a name.
func (c *Chip) PortByName(name string) (PortID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects.PortByName(name)
}

// PortAdmin reports whether a port's admin state is up; false if there is no such port.
func (c *Chip) PortAdmin(id PortID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects.PortAdmin(id)
}

// PortName returns the name of a port's host interface, "" if it has none.
func (c *Chip) PortName(id PortID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects.PortName(id)
}
