package engine

import (
	"math/bits"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
	"tamtam/saisim/tm"
)

var verdictDrops = [...]drop.Reason{tm.Full: drop.Buffer, tm.Tail: drop.QueueLimit, tm.WREDDrop: drop.WRED}

// queues holds the queues between the pipes, and the schedulers of the ports.
type queues struct {
	*core
	watch      *watch
	fates      *fates
	egress     *egressPipe
	wires      *wires
	buffer     *tm.Buffer
	egressFree Cycle        // first cycle at which the egress pipe accepts a frame, one per cycle; never reset
	waiting    waitingPorts // ports that have a frame for the egress pipe
	waitingN   int
	served     PortID // the port served last
	accounts   accounts
	trim       config.Trim
	bursts     *burstLog // nil until a queue has limits
}

// reset empties the buffer and resets the scheduling.
func (c *queues) reset() {
	c.buffer = tm.NewBuffer(c.prof.Buffer.CellBytes, c.prof.Buffer.Cells)
	c.buffer.Hz = c.prof.ClockHz
	c.accounts = accounts{groups: make([]*portGroups, c.prof.FirstLane+c.prof.Lanes)}
	c.waiting, c.waitingN, c.served = waitingPorts{}, 0, profile.MaxLanes-1
	c.trim, c.trimTotals = config.Trim{}, TrimTotals{}
}

// enqueue puts a copy into a queue of a port.
func (c *queues) enqueue(p *port, cp *copyOf) {
	if !p.up {
		c.fates.dropBefore(p, cp, drop.EgressDown)
		return
	}
	tc, own := cp.pk.tc, !cp.trimmed
	if cp.mirror != nil {
		tc, own = cp.mirror.tc, true
	}
	if cp.queue, cp.asked, cp.queued = p.class.queueOf(tc, p.queues.Queues()), true, c.now; !own {
		cp.queue = c.trimQueue(p)
	}
	ecn, colour := cp.pk.ecn && !cp.raw && cp.mirror == nil, cp.colour()
	if p.queues.Len() == 0 && c.egressFree <= c.now && p.txFree.cycle <= c.now+c.egressCycles && !p.queued &&
		colour == tm.Green { // no wait
		c.goOn(p, cp, ecn)
		return
	}
	cp.depth = uint32(min(p.queues.Queue(int(cp.queue)).Bytes(), 1<<32-1))
	v := p.queues.EnqueueColoured(int(cp.queue), cp, uint32(cp.buffered()), ecn, colour)
	if c.found != nil {
		c.foundQueue(p, cp, v)
	}
	switch v {
	case tm.Admitted:
		if p.contents != nil {
			c.holds(p, cp)
		}
	case tm.Marked:
		cp.ce = true
		if p.contents != nil {
			c.holds(p, cp)
		}
	default:
		c.refused(p, cp, v)
		return
	}
	if cp.pk.held > 0 && cp.mirror == nil {
		cp.pk.held++
	}
	if c.observer != nil {
		c.watch.sawQueue(MomentQueued, cp, p.id)
	}
	if !p.paced {
		c.offer(p)
	} else if p.shaped || p.wakes > c.now {
		c.hasten(p)
	}
}

// colour returns the colour of a copy. Copies of mirror sessions are green.
func (cp *copyOf) colour() tm.Colour {
	if cp.mirror != nil {
		return tm.Green
	}
	return cp.pk.colour
}

// goOn does enqueue for a green copy that finds its queue empty and does not wait.
func (c *queues) goOn(p *port, cp *copyOf, ecn bool) {
	v := p.queues.Pass(int(cp.queue), uint32(cp.buffered()), ecn)
	if c.found != nil {
		c.foundQueue(p, cp, v)
	}
	if v > tm.Marked {
		c.refused(p, cp, v)
		return
	}
	cp.ce = cp.ce || v == tm.Marked
	if c.observer != nil {
		c.watch.sawQueue(MomentQueued, cp, p.id)
	}
	c.launch(p, cp)
}

func (c *queues) foundQueue(p *port, cp *copyOf, v tm.Verdict) {
	f := Finding{Table: TableQueue, Hit: v <= tm.Marked, Port: p.id, Queue: cp.queue, Bytes: cp.depth}
	if cp.trimmed && cp.mirror == nil {
		f.Table, f.Number = TableTrim, uint32(cp.stored())
	}
	c.found(cp.pk, f)
}

// offer serves a port that holds frames and whose scheduler will not run again by itself. It sends a frame at once,
// schedules the port, or lets it wait for the egress pipe.
func (c *queues) offer(p *port) {
	switch {
	case p.shaped && c.mayLeave(p) > c.now:
		c.wake(p, c.mayLeave(p))
	case p.txFree.cycle > c.now+c.egressCycles:
		// Just in time for the MAC to send frame after frame without a pause.
		p.paced = true
		c.agenda.push(c.now, event{p.txFree.cycle - c.egressCycles, eventKey(classDequeue, p.id)})
	case c.egressFree <= c.now:
		c.dequeue(p) // no port waits, because a waiting port would have used this cycle
	default:
		c.wait(p)
	}
}

// wait makes a port wait for the egress pipe.
func (c *queues) wait(p *port) {
	p.paced = true
	c.waiting.add(p.id)
	c.waitingN++
}

func (c *queues) stopWaiting(p *port) {
	p.paced = false
	c.waiting.remove(p.id)
	c.waitingN--
}

// due handles a port whose scheduler is due: the port waits for the egress pipe. If the port's speed has changed, so
// that it is too early, due schedules the port again.
func (c *queues) due(p *port) {
	if p.shaped && c.mayLeave(p) > c.now || p.txFree.cycle > c.now+c.egressCycles { // speed or shaper have changed
		c.offer(p)
		return
	}
	c.wait(p)
}

// serve runs the egress pipe for the next waiting port, in the order of port numbers.
func (c *queues) serve() {
	p := c.byID[c.waiting.after(c.served)]
	c.stopWaiting(p)
	c.served = p.id
	c.dequeue(p)
}

// dequeue sends one frame of a port through the egress pipe to its MAC. If the port holds more frames, dequeue offers
// it again.
func (c *queues) dequeue(p *port) {
	p.paced = false
	if p.shaped {
		p.queues.Fill(uint64(c.now))
	}
	cp, _ := p.queues.Dequeue()
	if p.contents != nil {
		c.released(p, cp)
	}
	if cp.pk.held > 0 && cp.mirror == nil {
		c.uncharge(cp.pk)
	}
	c.launch(p, cp)
	if p.queues.Len() > 0 {
		c.offer(p)
	}
}

// launch sends a copy through the egress pipe to the MAC.
func (c *queues) launch(p *port, cp *copyOf) {
	if c.observer != nil {
		c.watch.sawQueue(MomentDequeued, cp, p.id)
	}
	if cp.pk.plain && cp == &cp.pk.own && c.passes(p) {
		c.pass(p, cp)
		return
	}
	c.egressFree = c.now + 1
	if length, ok := c.egress.run(p, cp); ok {
		c.send(p, cp, length)
		if cp.ifa != nil && cp.mirror == nil {
			c.egress.ifa.timeIFA(cp)
		}
	}
}

// send gives a copy to the MAC, which sends the copy after all earlier ones. length is in bytes.
func (c *queues) send(p *port, cp *copyOf, length int) {
	pre := instant{cycle: c.now + c.egressCycles}
	if pre.before(p.txFree) {
		pre = p.txFree
	}
	sfd := p.txRate.after(pre, p.txRate.preamble)
	p.txRate.frames(WireLen(length))
	p.txFree = p.txRate.after(sfd, p.txRate.frameGap)
	cp.at, cp.frac, cp.lane = sfd.ceil(), sfd.frac, p.id
	c.wires.leaving.push(cp)
}

// waitingPorts is a set of ports in which the next port is found quickly.
type waitingPorts struct {
	portSet
	words uint16 // one bit for each word of the set with ports
}

func (s *waitingPorts) add(p PortID) {
	s.portSet.add(p)
	s.words |= 1 << (p / 64)
}

func (s *waitingPorts) remove(p PortID) {
	s.portSet.remove(p)
	if s.portSet[p/64] == 0 {
		s.words &^= 1 << (p / 64)
	}
}

// after returns the next port of the set after p, in the order of numbers, which wraps around. The set must not be
// empty.
func (s *waitingPorts) after(p PortID) PortID {
	i := p / 64
	if w := s.portSet[i] &^ (2<<(p%64) - 1); w != 0 {
		return i*64 + PortID(bits.TrailingZeros64(w))
	}
	words := s.words &^ (2<<i - 1)
	if words == 0 {
		words = s.words
	}
	i = PortID(bits.TrailingZeros16(words))
	return i*64 + PortID(bits.TrailingZeros64(s.portSet[i]))
}

// A QueueState holds a queue's fill and counts.
type QueueState struct {
	Packets, Bytes, Cells uint64
	tm.Counts
}
