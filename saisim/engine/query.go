package engine

import (
	"cmp"
	"net/netip"
	"slices"

	"tamtam/saisim/cmu"
	"tamtam/saisim/config"
	"tamtam/saisim/tm"
	"tamtam/tam/altmark"
	"tamtam/tam/dropreport"
	"tamtam/tam/flymon"
)

// Addresses returns all known addresses, by VLAN and address.
func (c *Engine) Addresses() (rows []FDBRow) {
	for i := range c.bridge.fdb.slots {
		if e := &c.bridge.fdb.slots[i]; e.key != 0 {
			rows = append(rows, e.row())
		}
	}
	slices.SortFunc(rows, func(a, b FDBRow) int {
		return cmp.Or(cmp.Compare(a.VLAN, b.VLAN), slices.Compare(a.MAC[:], b.MAC[:]))
	})
	return rows
}

// Address returns the row of an address, and false if it is unknown.
func (c *Engine) Address(vid uint16, mac config.MAC) (FDBRow, bool) {
	if e := c.bridge.fdb.find(fdbKey(vid, mac48(mac[:]))); e != nil {
		return e.row(), true
	}
	return FDBRow{}, false
}

// AddressesLeft returns the number of addresses for which the FDB has capacity left.
func (c *Engine) AddressesLeft() int { return c.bridge.fdb.max - c.bridge.fdb.n }

// Flush removes the addresses that want selects.
func (c *Engine) Flush(want func(FDBRow) bool) {
	c.bridge.flushFDB(func(e *fdbEntry) bool { return want(e.row()) })
}

// InterfaceCounts returns the counters of a router interface, in the order of SAI's statistics.
func (c *Engine) InterfaceCounts(id config.ID) [NumInterfaceCounts]uint64 {
	return at[*rif](&c.core, id).counts
}

// An ACLCount holds the values of an ACL counter.
type ACLCount struct {
	Packets, Bytes uint64
	Stamps         [NumStampResults]uint64 // as in a register read of tail-stamping
}

// ACLCount returns the values of a counter.
func (c *Engine) ACLCount(id config.ID) ACLCount {
	x := at[*aclCounter](&c.core, id)
	return ACLCount{x.packets, x.bytes, x.stamps}
}

// SYNCounts returns the counts of an MSS clamp.
func (c *Engine) SYNCounts(id config.ID) SYNCounts { return at[*mssClamp](&c.core, id).counts }

// SetACLCount sets the packets and bytes of a counter.
func (c *Engine) SetACLCount(id config.ID, packets, bytes uint64) {
	x := at[*aclCounter](&c.core, id)
	x.packets, x.bytes = packets, bytes
}

// A PortTally holds a port's counters for SAI: its [PortCounters], and frames by kind and size.
type PortTally struct {
	PortCounters
	In, Out     Direction
	QueueFrames int // number of frames in the port's queues
	QueueBytes  uint64
	Trim        tm.TrimCounts // of all its queues
	Pauses      PauseCounts
	hz          uint64 // the chip's clock
}

// Microseconds returns for how long a priority was paused, rounded down.
func (t *PortTally) Microseconds(n *PauseCount) uint64 { return n.Microseconds(t.hz) }

// PortTally returns a port's counters, and false if there is no such port.
func (c *Engine) PortTally(id config.ID) (t PortTally, ok bool) {
	p := at[*port](&c.core, id)
	if p == nil {
		return t, false
	}
	t = PortTally{
		PortCounters: p.counters(), In: p.stats.in, Out: p.stats.out,
		QueueFrames: p.queues.Len(), QueueBytes: p.queues.Bytes(), Pauses: p.flow.pauses(c.now), hz: c.prof.ClockHz,
	}
	for i := range p.queues.Queues() {
		t.Trim.Add(&p.queues.Queue(i).TrimCounts)
	}
	return t, true
}

// QueueState returns the state of a port's queue, and false if there is no such queue.
func (c *Engine) QueueState(id PortID, queue int) (QueueState, bool) {
	p := c.port(id)
	if p == nil || queue < 0 || queue >= p.queues.Queues() {
		return QueueState{}, false
	}
	q := p.queues.Queue(queue)
	return QueueState{uint64(q.Len()), q.Bytes(), q.Cells(), q.Counts}, true
}

// ClearWatermark restarts a watermark of a queue at the queue's current fill.
func (c *Engine) ClearWatermark(id PortID, queue int, cells bool) {
	q := c.byID[id].queues.Queue(queue)
	if cells {
		q.ClearCells()
	} else {
		q.ClearBytes()
	}
}

// QueueDeepest returns the largest depth of an existing queue since the start, whatever watermarks were cleared.
func (c *Engine) QueueDeepest(id PortID, queue int) (bytes, cells uint64) {
	return c.port(id).queues.Queue(queue).Deepest()
}

// MarkFlow returns the counts of a flow of alternate marking. The generation is 0 if the flow has never begun.
func (c *Engine) MarkFlow(index uint32) altmark.ChipFlow { return c.marking.counted(index) }

// CheckTask returns an error if the groups of CMUs cannot add a task.
func (c *Engine) CheckTask(l *flymon.Layout) error { return c.sketch.check(l) }

// Groups returns the groups of CMUs, to be read or cleared. It returns nil if there has been no task.
func (c *Engine) Groups() *cmu.Groups { return c.sketch.groups }

// TaskStatus returns the status of a FlyMon task, and false if no task has that name.
func (c *Engine) TaskStatus(task string) (flymon.ChipStatus, bool) { return c.sketch.status(task) }

// RecordCounts returns the counts of the session with a label. They are zero if no plan in effect has it.
func (c *Engine) RecordCounts(label string) RecordCounts { return c.recording.counted(label) }

// ProgramBits returns the number of PHV bits used by the current and all planned programs.
func (c *Engine) ProgramBits() uint64 { return c.programs.bits(c.prof.Limits()) }

// PathsCounted returns the number of packets whose paths were counted, and the number of packets among them whose path
// was beyond the capacity.
func (c *Engine) PathsCounted() (packets, other uint64) { return c.recording.paths.counted() }

// FrameCounts returns the counts of all frames at this instant. InFlight is counted, not derived from the other counts.
func (c *Engine) FrameCounts() FrameCounts {
	b := c.frameCounts
	b.InFlight = uint64(c.arriving.n + c.enter.Len() + c.ended.Len() + c.pipe.Len() + c.wires.leaving.n - c.wires.pauses)
	for _, p := range c.ports {
		b.InFlight += uint64(p.queues.Len())
		b.Queued += uint64(p.queues.Len())
		b.QueuedBytes += p.queues.Bytes()
	}
	return b
}

// IFAOf returns the IFA counts of an ACL counter.
func IFAOf(c *Engine, counter config.ID) IFACounts {
	if x := at[*aclCounter](&c.core, counter); x != nil && x.ifa != nil {
		return *x.ifa
	}
	return IFACounts{}
}

// TransitOf returns the IFA counts of transit. They are zero if the switch is no transit.
func TransitOf(c *Engine) IFACounts {
	if x := c.egress.ifa.transit; x != nil {
		return x.counts
	}
	return IFACounts{}
}

// ReportCounts returns the counters of a stream of drop reports, and false if there is none.
func ReportCounts(c *Engine, src, dst netip.AddrPort) ([dropreport.NumWords]uint64, bool) {
	c.refresh()
	return c.reporter.countsOf(src, dst)
}
