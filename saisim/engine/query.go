package engine

import (
	"cmp"
	"net/netip"
	"slices"

	"tamtam/saisim/cmu"
	"tamtam/saisim/config"
	"tamtam/tam/altmark"
	"tamtam/tam/dropreport"
	"tamtam/tam/flymon"
)

// Addresses returns all addresses that are known, by VLAN and address.
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

// Address returns what is known of an address, false if nothing is.
func (c *Engine) Address(vid uint16, mac config.MAC) (FDBRow, bool) {
	if e := c.bridge.fdb.find(fdbKey(vid, mac48(mac[:]))); e != nil {
		return e.row(), true
	}
	return FDBRow{}, false
}

// AddressesLeft returns how many addresses more the FDB takes.
func (c *Engine) AddressesLeft() int { return c.bridge.fdb.max - c.bridge.fdb.n }

// Flush forgets the addresses that want selects.
func (c *Engine) Flush(want func(FDBRow) bool) {
	c.bridge.flushFDB(func(e *fdbEntry) bool { return want(e.row()) })
}

// InterfaceCounts returns the counters of a router interface, in the order of SAI's statistics.
func (c *Engine) InterfaceCounts(id config.ID) [NumInterfaceCounts]uint64 {
	return at[*rif](&c.core, id).counts
}

// An ACLCount is what an ACL counter has counted.
type ACLCount struct {
	Packets, Bytes uint64
	Stamps         [NumStampResults]uint64 // as in a window of tail-stamping
}

// ACLCount returns what a counter has counted.
func (c *Engine) ACLCount(id config.ID) ACLCount {
	x := at[*aclCounter](&c.core, id)
	return ACLCount{x.packets, x.bytes, x.stamps}
}

// SYNCounts returns what a clamp of the MSS has counted.
func (c *Engine) SYNCounts(id config.ID) SYNCounts { return at[*mssClamp](&c.core, id).counts }

// SetACLCount has a counter go on from a number of packets and bytes.
func (c *Engine) SetACLCount(id config.ID, packets, bytes uint64) {
	x := at[*aclCounter](&c.core, id)
	x.packets, x.bytes = packets, bytes
}

// A PortTally is what a port counts for SAI: its [PortCounters], and frames by kind and size.
type PortTally struct {
	PortCounters
	In, Out     Direction
	QueueFrames int // in its queues
	QueueBytes  uint64
}

// PortTally returns what a port counts, and false if there is no such port.
func (c *Engine) PortTally(id config.ID) (t PortTally, ok bool) {
	p := at[*port](&c.core, id)
	if p == nil {
		return t, false
	}
	return PortTally{p.counters(), p.stats.in, p.stats.out, p.queues.Len(), p.queues.Bytes()}, true
}

// QueueState returns the state of a port's queue, false if there is none.
func (c *Engine) QueueState(id PortID, queue int) (QueueState, bool) {
	p := c.port(id)
	if p == nil || queue < 0 || queue >= p.queues.Queues() {
		return QueueState{}, false
	}
	q := p.queues.Queue(queue)
	return QueueState{uint64(q.Len()), q.Bytes(), q.Cells(), q.Counts}, true
}

// ClearWatermark has a watermark of a queue begin at what is in the queue now.
func (c *Engine) ClearWatermark(id PortID, queue int, cells bool) {
	q := c.byID[id].queues.Queue(queue)
	if cells {
		q.MaxCells = q.Cells()
	} else {
		q.MaxBytes = q.Bytes()
	}
}

// PoolUsed returns the cells of a pool of the packet memory that are in use.
func (c *Engine) PoolUsed(pool int) uint64 { return c.queues.buffer.Pools[pool].Used() }

// MarkFlow returns what a flow of alternate marking has counted; its generation is 0 if it has begun none.
func (c *Engine) MarkFlow(index uint32) altmark.ChipFlow { return c.marking.counted(index) }

// CheckTask says why the groups of CMUs cannot have a task, nil if they can.
func (c *Engine) CheckTask(l *flymon.Layout) error { return c.sketch.check(l) }

// Groups returns the groups of CMUs, to be read or cleared; nil: there has been no task.
func (c *Engine) Groups() *cmu.Groups { return c.sketch.groups }

// TaskStatus returns how a task of FlyMon is, false if there is none of that name.
func (c *Engine) TaskStatus(task string) (flymon.ChipStatus, bool) { return c.sketch.status(task) }

// RecordCounts returns what the session of a label has counted, nothing if no plan in effect has it.
func (c *Engine) RecordCounts(label string) RecordCounts { return c.recording.counted(label) }

// ProgramBits returns the bits of the PHV that the programs take which run or are to run.
func (c *Engine) ProgramBits() uint64 { return c.programs.bits(c.prof.Limits()) }

// PathsCounted returns how many packets had their paths counted, and how many of these took one for which
// there was no room.
func (c *Engine) PathsCounted() (packets, other uint64) { return c.recording.paths.counted() }

// Books returns the books at this instant. InFlight is counted, not derived from the rest.
func (c *Engine) Books() Books {
	b := c.books
	b.InFlight = uint64(c.arriving.n + c.enter.Len() + c.ended.Len() + c.pipe.Len() + c.wires.leaving.n)
	for _, p := range c.ports {
		b.InFlight += uint64(p.queues.Len())
		b.Queued += uint64(p.queues.Len())
		b.QueuedBytes += p.queues.Bytes()
	}
	return b
}

// IFAOf returns what IFA has counted by an ACL counter.
func IFAOf(c *Engine, counter config.ID) IFACounts {
	if x := at[*aclCounter](&c.core, counter); x != nil && x.ifa != nil {
		return *x.ifa
	}
	return IFACounts{}
}

// TransitOf returns what transit has counted; nothing if the switch is none.
func TransitOf(c *Engine) IFACounts {
	if x := c.egress.ifa.transit; x != nil {
		return x.counts
	}
	return IFACounts{}
}

// ReportCounts are the counters of a stream of an engine's reports of drops, false if there is none.
func ReportCounts(c *Engine, src, dst netip.AddrPort) ([dropreport.NumWords]uint64, bool) {
	c.refresh()
	return c.reporter.countsOf(src, dst)
}
