package saisim

import (
	"net/netip"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects"
	"tamtam/saisim/pipe"
	"tamtam/tam/dropreport"
	"tamtam/tam/flymon"
	"tamtam/tam/record"
)

// The methods below are for code in the same process. They are not part of SAI.

// Control schedules a batch that takes effect at a cycle, completely between two packets. A packet that enters the
// ingress pipe at that cycle or later runs the new program, in the egress pipe too. Earlier packets run the old one.
// Registers and counters are written and read before the first packet that enters their pipe at that cycle or later.
//
// Control immediately returns an error in the batch, which names the object, and then applies nothing of the batch. It
// refuses a cycle in the past, or before the cycle of a pending batch. At the current cycle the batch takes effect
// immediately, after everything that Advance has done.
//
// The program and everything else in the batch must not be changed afterwards.
func (c *Chip) Control(at Cycle, b Batch) error {
	c.mu.Lock()
	defer c.unlock()
	return c.engine.Control(at, b)
}

// Program returns the running program with its current entries, nil if there is none. It must not be changed.
func (c *Chip) Program() *pipe.Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Program()
}

// Describe returns the current graph of the chip's pipes. It must not be changed.
func (c *Chip) Describe() *record.Graph {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Graph()
}

// WithoutEffect returns the attributes that the chip stores without effect on packets, and the statistics that it
// answers with 0 without counting.
func (c *Chip) WithoutEffect() []objects.WithoutEffect {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects.WithoutEffect()
}

// FrameCounts returns the counts of all frames at this instant. InFlight is counted in the chip, not derived from the
// other counts.
func (c *Chip) FrameCounts() FrameCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.FrameCounts()
}

// Shortcuts returns the number of packets that have taken each shortcut of the packet path.
func (c *Chip) Shortcuts() []engine.ShortcutCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Shortcuts()
}

// PortCounters returns a port's counters, and false if there is no such port. ClearStats does not clear them.
func (c *Chip) PortCounters(id PortID) (PortCounters, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.PortCounters(id)
}

// QueueState returns the state of a port's queue, and false if there is no such queue.
func (c *Chip) QueueState(id PortID, queue int) (QueueState, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.QueueState(id, queue)
}

// Bursts returns the bursts of queues that have ended, from a position on, at most a number of them, and all open ones.
func (c *Chip) Bursts(from uint64, most int) BurstReading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Bursts(from, most)
}

// GroupState returns the state of an ingress priority group of a port. It is zero if there is no such port.
func (c *Chip) GroupState(id PortID, group int) GroupState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.GroupState(id, group)
}

// PauseCounts returns the counts of priority flow control of a port. They are zero if there is no such port.
func (c *Chip) PauseCounts(id PortID) PauseCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.PauseCounts(id)
}

// PoolState returns the state of a pool of the packet memory that the chip's tables have.
func (c *Chip) PoolState(index int) PoolState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.PoolState(index)
}

// QueueDeepest returns the largest depth of an existing queue since the start, whatever watermarks were cleared.
func (c *Chip) QueueDeepest(id PortID, queue int) (bytes, cells uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.QueueDeepest(id, queue)
}

// TaskStatus returns the same as a register read of tasks, and false if there is no such task.
func (c *Chip) TaskStatus(task string) (flymon.ChipStatus, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.TaskStatus(task)
}

// Paths returns the counted paths, the number of all packets with paths, and the number of packets on a path beyond the
// limit.
func (c *Chip) Paths() (paths []record.PathCount, packets, other uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	packets, other = c.engine.PathsCounted()
	return c.engine.Paths(), packets, other
}

// Path returns the tables of a trail in the order of the graph. It returns nil if the trail is unknown or belongs to
// another graph than the current one.
func (c *Chip) Path(t Trail) []record.Step {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine.Path(t)
}

// SetObserver sets the function that is called from now on with every moment in the history of every frame. nil removes
// it. Like the function of [Chip.SetOutput], it is called with the chip locked and must not call it. Moments of one
// copy come in the order of time.
func (c *Chip) SetObserver(f func(Moment)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engine.Observe(f)
}

// OnDrop registers a function that is called from now on with every drop, and with packets that go to the CPU only.
// stop unregisters it. All such functions are called with each drop, in the order of registration. They are called with
// the chip locked. They must not call the chip or stop, and must not change or keep their argument.
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

// ReportCounts returns the counters of the drop reports from src to dst, and of the events that send these reports.
// They are indexed by the words of [dropreport].
func (c *Chip) ReportCounts(src, dst netip.AddrPort) [dropreport.NumWords]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _ := engine.ReportCounts(c.engine, src, dst)
	return n
}

// SetLedger sets the ledger that the chip keeps from now on. nil removes it. The ledger's functions are called with the
// chip locked and must not call the chip.
func (c *Chip) SetLedger(l Ledger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.engine.Account(l)
}

// SetLink sets whether a port has a link. A new port has a link. A port is operationally up while it has a link and its
// admin state is up. SetLink returns false if there is no such port.
func (c *Chip) SetLink(id PortID, up bool) bool {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.SetLink(id, up)
}

// SetWire does [Chip.SetLink]. It also sets the length, FCS included, of the longest stamped frame that the wire
// carries; 0 means the port's MTU. If the record would make a frame longer than that, the frame leaves without the
// record, and is counted as beyond the MTU.
func (c *Chip) SetWire(id PortID, up bool, stampMTU uint32) bool {
	c.mu.Lock()
	defer c.unlock()
	return c.objects.SetWire(id, up, stampMTU)
}

// AddLost counts frames that were lost for lack of buffer space before they reached a port's ingress MAC, and frames
// that left its egress MAC but were not sent. [Chip.FrameCounts] does not count them. Only the port's SAI statistics
// do: ETHER_STATS_DROP_EVENTS, which IF_IN_DISCARDS and IN_DROPPED_PKTS include, and IF_OUT_ERRORS. It returns false if
// there is no such port.
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

// PortByName returns the port whose host interface has a name, and false if there is none.
func (c *Chip) PortByName(name string) (PortID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects.PortByName(name)
}

// PortAdmin reports whether a port's admin state is up. It returns false if there is no such port.
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
