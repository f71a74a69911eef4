package engine

import (
	"encoding/binary"
	"math/bits"

	"tamtam/saisim/config"
	"tamtam/saisim/tm"
)

// This file has priority flow control (IEEE 802.1Qbb). Its frames are not among those of [FrameCounts], and have no
// history: an ingress MAC consumes those that it receives, and an egress MAC sends those of the groups of its port.
//
// A frame that is complete at cycle t holds queues from t+1 on, until its quanta have passed since t. A frame that a
// port sends follows those that have entered its egress pipe.

const (
	maxQuanta    = 65535                  // quanta with which a paused group pauses its priorities
	quantumBytes = 512 / 8                // duration of a quantum
	refreshBytes = 1 << 15 * quantumBytes // half of maxQuanta, after which a pause is refreshed
	pauseLen     = minWire - fcsLen
)

// multicastPause is the address of all frames of flow control.
const multicastPause = 0x0180c2000001

// flowControl is the state of a port's flow control.
type flowControl struct {
	config.FlowControl
	arrivals tm.Ring[pauseFrame]
	rx, tx   [8]pause // by priority, as received and sent
	due      [config.PriorityGroups]Cycle
	refresh  Cycle // cycle of the pending classRefresh event, never if there is none
}

// PauseCounts holds the counts of priority flow control by priority, as received and sent by a port.
type PauseCounts struct{ Rx, Tx [8]PauseCount }

// PauseCount holds the counts of priority flow control of a priority in one direction.
type PauseCount struct {
	Frames uint64
	Ended  uint64 // pauses that a frame ended before their time
	Quanta uint64 // quanta for which the priority was paused
	Cycles uint64 // the same in cycles
}

// Microseconds returns for how long the priority was paused, rounded down.
func (n *PauseCount) Microseconds(hz uint64) uint64 {
	hi, lo := bits.Mul64(n.Cycles, 1_000_000)
	us, _ := bits.Div64(hi%hz, lo, hz)
	return us
}

// A pause is the state of a priority's pauses in one direction. Each frame replaces the rest of the one before it. So
// no time is counted twice, and none that did not pass.
type pause struct {
	from, until Cycle // of the last frame: its cycle, and the first cycle after its quanta
	quanta      uint64
	counts      PauseCount // without the last frame's duration
}

// apply applies a frame that is complete at a cycle. span is the number of cycles of its quanta.
func (x *pause) apply(at, span Cycle, quanta uint16) {
	if quanta == 0 && at < x.until {
		x.counts.Ended++
	}
	x.counts = x.at(at)
	x.counts.Frames++
	x.from, x.until, x.quanta = at, at+span, uint64(quanta)
}

// at returns the counts at a cycle. Of the last frame, they have the part that has passed.
func (x *pause) at(now Cycle) PauseCount {
	n := x.counts
	if passed := min(now, x.until) - x.from; passed > 0 {
		n.Quanta += x.quanta * uint64(passed) / uint64(x.until-x.from)
		n.Cycles += uint64(passed)
	}
	return n
}

// pauses returns the counts of all pauses at a cycle.
func (x *flowControl) pauses(now Cycle) (n PauseCounts) {
	for i := range n.Rx {
		if x.rx[i].counts.Frames > 0 {
			n.Rx[i] = x.rx[i].at(now)
		}
		if x.tx[i].counts.Frames > 0 {
			n.Tx[i] = x.tx[i].at(now)
		}
	}
	return n
}

// A pauseFrame is a frame of flow control that an ingress MAC has completely at a cycle.
type pauseFrame struct {
	at     Cycle
	vector uint8
	quanta [8]uint16
}

// leastPause is the length of a frame of flow control without padding.
const leastPause = 34

// receivePause does receive for a frame of at least leastPause bytes, if it is one of priority flow control.
func (c *macs) receivePause(p *port, at Cycle, f *Frame, n int) bool {
	if mac48(f.Data) != multicastPause || binary.BigEndian.Uint32(f.Data[12:]) != 0x8808_0101 {
		return false
	}
	sfd := instant{cycle: at}
	if sfd.before(p.rxFree) {
		sfd = p.rxFree
	}
	p.rate.frames(WireLen(n))
	if f.Late > 0 || p.behind {
		p.late(sfd, at-min(at, f.Late), f.Late > 0)
	} else {
		p.came = at
	}
	end := p.rate.after(sfd, p.rate.frame)
	p.rxFree = p.rate.after(end, p.rate.between)
	x := pauseFrame{at: end.ceil(), vector: f.Data[17]}
	for i := range x.quanta {
		x.quanta[i] = binary.BigEndian.Uint16(f.Data[18+2*i:])
	}
	p.flow.arrivals.Push(x)
	if p.flow.arrivals.Len() == 1 {
		c.agenda.push(c.now, event{x.at + 1, eventKey(classPause, p.id)})
	}
	return true
}

// cyclesOf returns the number of cycles in which a port's line carries n bytes, rounded up.
func (p *port) cyclesOf(n uint32) Cycle {
	s := p.rate.span(n)
	return instant{s.cycles, s.rest}.ceil()
}

// obey applies the frames of flow control that are complete since the last cycle.
func (c *queues) obey(p *port) {
	x := &p.flow
	for x.arrivals.Len() > 0 && x.arrivals.First().at < c.now {
		f := *x.arrivals.First()
		x.arrivals.Pop()
		for i, quanta := range f.quanta {
			if f.vector>>i&1 != 0 && p.up {
				x.rx[i].apply(f.at, p.cyclesOf(uint32(quanta)*quantumBytes), quanta)
			}
		}
	}
	if x.arrivals.Len() > 0 {
		c.agenda.push(c.now, event{x.arrivals.First().at + 1, eventKey(classPause, p.id)})
	}
	p.queues.Fill(uint64(c.now))
	c.hold(p)
	if !p.paced || !p.shaped {
		return
	}
	if c.waiting.has(p.id) {
		c.stopWaiting(p)
	} else {
		c.agenda.cancel(event{p.wakes, eventKey(classDequeue, p.id)})
	}
	c.wake(p, c.mayLeave(p))
}

// hold holds the queues of a port as long as one of their priorities is paused.
func (c *queues) hold(p *port) {
	var until [tm.MaxQueues]Cycle
	for i := range uint8(8) {
		if p.flow.RX>>i&1 != 0 {
			q := min(mapped(p.flow.Queue, i), uint8(p.queues.Queues()-1))
			until[q] = max(until[q], p.flow.rx[i].until)
		}
	}
	p.queues.Obey(p.flow.RX != 0)
	for i := range p.queues.Queues() {
		p.queues.Pause(i, uint64(until[i]))
	}
}

// mapped returns the value of a priority in a map. Without a map it is the priority.
func mapped(m *[8]uint8, priority uint8) uint8 {
	if m == nil {
		return priority
	}
	return m[priority]
}

// changed sends a frame of flow control if a group has been paused, or has resumed.
func (c *queues) changed(lane PortID, i int, was bool) {
	p := c.port(lane)
	is := c.accounts.groups[lane][i].Paused()
	if is == was || p == nil {
		return
	}
	p.flow.due[i] = c.now + p.cyclesOf(refreshBytes)
	c.signal(p, i, is)
	c.planRefresh(p)
}

// signal sends a frame that pauses the priorities of a group, or lets them go on.
func (c *queues) signal(p *port, group int, pause bool) {
	vector := uint8(0)
	for i := range uint8(8) {
		if int(mapped(p.flow.Group, i)) == group {
			vector |= p.flow.TX & (1 << i)
		}
	}
	if vector == 0 || !p.up {
		return
	}
	cp := c.spares.copies.get()
	*cp = copyOf{queue: vector, raw: pause}
	c.send(p, cp, pauseLen)
	c.wires.pauses++
	if c.waiting.has(p.id) && p.txFree.cycle > c.now+c.egressCycles { // its MAC is free later now
		c.stopWaiting(p)
		c.offer(p)
	}
}

// refresh repeats the frames of groups that have been paused for a while.
func (c *queues) refresh(p *port) {
	p.flow.refresh = never
	for i := range p.flow.due {
		if c.accounts.groups[p.id][i].Paused() && p.flow.due[i] <= c.now {
			p.flow.due[i] = c.now + p.cyclesOf(refreshBytes)
			c.signal(p, i, true)
		}
	}
	c.planRefresh(p)
}

// planRefresh schedules the next refresh of a port.
func (c *queues) planRefresh(p *port) {
	next := never
	for i, due := range p.flow.due {
		if c.accounts.groups[p.id][i].Paused() {
			next = min(next, due)
		}
	}
	if next == p.flow.refresh {
		return
	}
	if p.flow.refresh != never {
		c.agenda.cancel(event{p.flow.refresh, eventKey(classRefresh, p.id)})
	}
	if p.flow.refresh = next; next != never {
		c.agenda.push(c.now, event{next, eventKey(classRefresh, p.id)})
	}
}

// sendPause sends a frame of flow control, unless the port is down.
func (c *wires) sendPause(p *port, cp *copyOf) {
	if p.up {
		b := c.spares.scratch[:pauseLen]
		clear(b)
		binary.BigEndian.PutUint64(b, multicastPause<<16)
		binary.BigEndian.PutUint64(b[6:], c.switchMAC<<16|0x8808)
		b[14], b[15], b[17] = 1, 1, cp.queue
		quanta := uint16(0)
		if cp.raw {
			quanta = maxQuanta
		}
		span := p.cyclesOf(uint32(quanta) * quantumBytes)
		for i := range 8 {
			if cp.queue>>i&1 != 0 {
				binary.BigEndian.PutUint16(b[18+2*i:], quanta)
				p.flow.tx[i].apply(c.now, span, quanta)
			}
		}
		o := &c.frame
		*o = Out{Port: p.id, In: CPUPort, At: c.now, Data: b, Len: pauseLen}
		c.out(o)
	}
	c.endPause(cp)
}

// endPause ends a frame of flow control.
func (c *wires) endPause(cp *copyOf) {
	c.pauses--
	c.spares.copies.give(cp)
}

// PauseCounts returns the counts of flow control of a port. They are zero if there is no such port.
func (c *Engine) PauseCounts(id PortID) (n PauseCounts) {
	if p := c.port(id); p != nil {
		n = p.flow.pauses(c.now)
	}
	return n
}
