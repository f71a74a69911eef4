package reference

import (
	"encoding/binary"
	"math/big"

	"tamtam/saisim"
)

// A pause is a frame of priority flow control on a port's ingress wire, complete at ready.
type pause struct {
	ready  saisim.Cycle
	vector uint8
	quanta [8]uint16
}

// flowControl is the state of a port's priority flow control, by priority.
type flowControl struct {
	pauses         []pause
	received, sent [8]pauses
}

// pauses are all pauses of a priority in one direction. Each lasts for its quanta, or until the next frame.
type pauses []span

type span struct {
	from, until saisim.Cycle // first cycle, and the first after all quanta
	quanta      int
}

// until returns the first cycle after the last pause.
func (l pauses) until() saisim.Cycle {
	if len(l) == 0 {
		return 0
	}
	return l[len(l)-1].until
}

// counts counts the pauses up to a cycle.
func (l pauses) counts(now saisim.Cycle) (n saisim.PauseCount) {
	for i, x := range l {
		n.Frames++
		end := min(x.until, now)
		if i+1 < len(l) {
			end = min(x.until, l[i+1].from)
		}
		if i > 0 && x.quanta == 0 && l[i-1].until > x.from {
			n.Ended++
		}
		if end > x.from {
			n.Cycles += uint64(end - x.from)
			n.Quanta += uint64(x.quanta) * uint64(end-x.from) / uint64(x.until-x.from)
		}
	}
	return n
}

// pauseOf returns what a frame of priority flow control contains. It returns false for any other frame.
func pauseOf(b []byte) (x pause, ok bool) {
	if len(b) < 34 || string(b[:6]) != "\x01\x80\xc2\x00\x00\x01" || string(b[12:16]) != "\x88\x08\x01\x01" {
		return x, false
	}
	x.vector = b[17]
	for i := range x.quanta {
		x.quanta[i] = binary.BigEndian.Uint16(b[18+2*i:])
	}
	return x, true
}

// cyclesOf returns the number of cycles in which the port's line carries n bytes, rounded up.
func (p *port) cyclesOf(n int) saisim.Cycle { return ceil(p.rx.later(new(big.Rat), n)) }

// obey applies frames of flow control that were complete before this cycle.
func (c *Chip) obey(p *port) {
	for len(p.pauses) > 0 && p.pauses[0].ready < c.now {
		x := p.pauses[0]
		p.pauses = p.pauses[1:]
		for i, quanta := range x.quanta {
			if x.vector>>i&1 != 0 && up(p.Port) {
				end := x.ready + p.cyclesOf(64*int(quanta))
				p.flowControl.received[i] = append(p.flowControl.received[i], span{x.ready, end, int(quanta)})
				c.Queueing("a priority is paused, or goes on")
			}
		}
	}
}

// pausedUntil returns the first cycle after all pauses of a queue.
func (p *port) pausedUntil(queue int) (until saisim.Cycle) {
	for i := range 8 {
		of := i
		if p.FlowControl.Queue != nil {
			of = int(p.FlowControl.Queue[i])
		}
		if min(of, len(p.queues)-1) == queue && p.FlowControl.RX>>i&1 != 0 {
			until = max(until, p.flowControl.received[i].until())
		}
	}
	return until
}

// holdQueues sets how long the queues of a port are paused.
func (p *port) holdQueues() {
	for i, q := range p.queues {
		q.paused = p.pausedUntil(i)
	}
}

// signal sends a frame of flow control for the priorities of a group, if there are any.
func (c *Chip) signal(n groupName, g *group) {
	p := c.portAt(n.lane)
	if p == nil {
		return
	}
	g.due = c.now + p.cyclesOf(32768*64)
	frame := make([]byte, 60)
	copy(frame, "\x01\x80\xc2\x00\x00\x01")
	copy(frame[12:], "\x88\x08\x01\x01")
	for i := range 8 {
		of := i
		if p.FlowControl.Group != nil {
			of = int(p.FlowControl.Group[i])
		}
		if of != n.index || p.FlowControl.TX>>i&1 == 0 {
			continue
		}
		frame[17] |= 1 << i
		if g.paused {
			frame[18+2*i], frame[19+2*i] = 0xff, 0xff
		}
	}
	if frame[17] == 0 || !up(p.Port) {
		return
	}
	sfd, _ := p.tx.put(cycle(c.now+saisim.Cycle(len(c.egress))), len(frame))
	c.egress[0] = append(c.egress[0], &transmission{port: p, at: ceil(sfd), pause: frame})
	c.Queueing("a frame of flow control")
}

// sendPause sends a frame of flow control, unless the port is down.
func (c *Chip) sendPause(p *port, frame []byte) {
	if !up(p.Port) {
		return
	}
	copy(frame[6:], c.conf.Switch.MAC[:])
	for i := range 8 {
		if frame[17]>>i&1 != 0 {
			quanta := int(binary.BigEndian.Uint16(frame[18+2*i:]))
			p.flowControl.sent[i] = append(p.flowControl.sent[i], span{c.now, c.now + p.cyclesOf(64*quanta), quanta})
		}
	}
	c.Output(saisim.Out{Port: p.Port.Port, In: saisim.CPUPort, At: c.now, Data: frame, Len: len(frame)})
}

// refresh repeats the frames of groups that have been paused for a while.
func (c *Chip) refresh(p *port) {
	for i := range p.QoS.Groups {
		n := groupName{p.Port.Port, i}
		if g := c.groups[n]; g != nil && g.paused && g.due <= c.now {
			c.Queueing("a pause is refreshed")
			c.signal(n, g)
		}
	}
}

// nextFlowControl returns the next cycle in which a port obeys a frame of flow control, or refreshes one.
func (c *Chip) nextFlowControl() saisim.Cycle {
	next := ^saisim.Cycle(0)
	for _, p := range c.ports {
		if len(p.pauses) > 0 {
			next = min(next, p.pauses[0].ready+1)
		}
		for i := range p.QoS.Groups {
			if g := c.groups[groupName{p.Port.Port, i}]; g != nil && g.paused {
				next = min(next, g.due)
			}
		}
	}
	return next
}

// PauseCounts returns the counts of flow control of a port.
func (c *Chip) PauseCounts(id saisim.PortID) (n saisim.PauseCounts) {
	if p := c.portAt(id); p != nil {
		for i := range n.Rx {
			n.Rx[i], n.Tx[i] = p.flowControl.received[i].counts(c.now), p.flowControl.sent[i].counts(c.now)
		}
	}
	return n
}
