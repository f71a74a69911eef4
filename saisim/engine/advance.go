package engine

// maxVector is the maximum number of packets that pass the ingress pipe together.
const maxVector = 64

// Apart from time itself, nothing flows backwards in the chip. The ingress pipe depends on received frames. The traffic
// manager depends on the packets that left the ingress pipe. The egress MACs depend on the packets that left the egress
// pipe. Mirror copies and recirculated packets return to the traffic manager, but not to an earlier part.
//
// So time advances in windows. First, everything due in a window up to the end of the ingress pipe happens, several
// packets together. Then everything due in the traffic manager and the egress pipe happens, in the order of events.
// Finally, everything due at the egress MACs happens. [core].now passes through the window in each of the three parts.
// A control batch affects all three, so it ends a window. Frames for the CPU leave from the traffic manager. Before
// each such frame the egress MACs catch up, so that frames leave in the order of time.

// A driver drives packets through the stations, in time.
type driver struct {
	*core
	macs     *macs
	ingress  *ingressPipe
	bridge   *bridge
	mirrors  *mirrors
	queues   *queues
	sketch   *sketching
	wires    *wires
	reporter *reporter
	samples  *samples
	vector   int // maximum number of packets that pass the ingress pipe together; zero means event by event
	together [maxVector]entering
}

// SetVector sets the maximum number of packets that pass the ingress pipe together, 1 to 64. With 0, all events are
// handled one after another in the order of time, class and port, even if they belong to different parts of the chip.
// An observer then also receives all moments in the order of time, and no packet takes a shortcut. This is slower and
// makes no other difference.
func (c *Engine) SetVector(n int) {
	c.driver.vector = min(max(n, 0), maxVector)
	c.stepping = c.driver.vector == 0
	c.sketch.setLanes(c.driver.vector)
	c.programs.passive.most = c.driver.vector
}

// Advance handles all events up to and including a cycle.
func (c *Engine) Advance(to Cycle) {
	for c.readouts.next <= to { // a readout ends a window, like a control batch
		at := c.readouts.next
		c.advanceTo(at)
		c.readouts.run(at)
	}
	c.advanceTo(to)
}

// advanceTo does the same as Advance, without readouts.
func (c *Engine) advanceTo(to Cycle) {
	c.refresh()
	if to > c.now {
		c.queues.observe()
	}
	c.off = c.closed()
	for c.programs.batches.Len() > 0 && c.programs.batches.First().at <= to {
		at := c.programs.batches.First().at
		if at > c.now {
			c.driver.advance(at - 1)
		}
		c.now = at
		c.applyBatch(*c.programs.batches.First())
		c.off = c.closed()
		c.programs.batches.Pop()
	}
	c.driver.advance(to)
	c.now = max(c.now, to)
}

// refresh updates everything derived from several rows. Rows change only between events.
func (c *Engine) refresh() {
	if c.stale {
		c.derive()
	}
}

// NextEvent returns the cycle of the next event of a frame, and false if the chip holds no frames.
func (c *Engine) NextEvent() (Cycle, bool) {
	e, ok := c.driver.next(false)
	return e.at, ok
}

// advance handles all events up to and including a cycle. No control batch may be due by then.
func (c *driver) advance(to Cycle) {
	if c.vector == 0 {
		c.step(to)
		return
	}
	for {
		e, ok := c.next(true)
		if !ok || e.at > to {
			return
		}
		now := c.now
		if e.at > now { // no event is due before e
			now = e.at - 1
		}
		h := min(to, now+wheelSpan/2)
		c.now, c.during = now, whenEntering
		c.enterAll(h)
		c.now, c.during = now, whenManaged
		c.manage(h)
		c.now = now
		c.wires.run(h)
		c.during = whenControlled
		if c.now = h; h == to {
			return
		}
	}
}

// enterAll moves complete frames from the ingress MACs through the ingress pipe, up to and including a cycle.
func (c *driver) enterAll(to Cycle) {
	n := 0
	for c.enter.Len() > 0 && c.enter.First().at <= to {
		c.samples.enters(c.port(c.enter.First().pk.in), c.enter.First().pk)
		n = c.gather(n, c.enter.First().at, c.enter.First().pk)
		c.enter.Pop()
	}
	for c.arriving.n > 0 {
		cp := c.arriving.removeDue(to)
		if cp == nil {
			break
		}
		for cp != nil {
			next := cp.next
			c.now = cp.at
			c.arriving.n--
			if p, pk := c.byID[cp.lane], cp.pk; c.macs.received(p, pk) {
				// Frames enter in the order of their arrival.
				at := c.macs.enters(cp.at)
				if at > to {
					c.enter.Push(timed{at, pk})
				} else if p.sampled[stageIngress] != nil && c.samples.enters(p, pk) || (c.off|p.off)&cutIngress == cutIngress ||
					at > c.bridge.fdb.sweepAt || !c.ingress.usual(p, pk, at) {
					n = c.gather(n, at, pk)
				}
			}
			cp = next
		}
	}
	c.ingress.run(c.together[:n])
	c.ingress.programs.catchUp()
	c.bridge.sweepBefore(to + 1)
}

// gather adds a packet to the n packets that will run the ingress pipe together, and returns the new number of packets.
// A full vector runs immediately. Without a program, or with a passive one, a single packet is enough, because only
// programs gain from vectors.
func (c *driver) gather(n int, at Cycle, pk *packet) int {
	x := &c.together[n]
	x.at, x.pk = at, pk
	if n++; n == c.vector || c.ingress.programs.program == nil || c.off&cutPassive == 0 {
		now := c.now
		c.ingress.run(c.together[:n])
		c.now, n = now, 0
	}
	return n
}

// manage runs the traffic manager and the egress pipe up to and including a cycle.
func (c *driver) manage(to Cycle) {
	for {
		// Most of the time the only events are arriving packets, and ports that wait for the egress pipe.
		for c.pipe.Len() > 0 && c.ended.Len() == 0 && c.noted == 0 && c.flows == 0 {
			first := c.pipe.First()
			at, serve := first.at, false
			if c.queues.waitingN > 0 {
				if free := max(c.now, c.queues.egressFree); free <= at {
					at, serve = free, true
				}
			}
			if c.agenda.has(c.now, at) {
				break
			}
			if at > to {
				return
			}
			if c.now = at; serve {
				c.queues.serve()
				continue
			}
			pk := first.pk
			c.pipe.Skip()
			c.ingress.replicate(pk)
		}
		e := c.nextManaged(true)
		if e.at > to {
			return
		}
		c.now = e.at
		c.handle(e)
	}
}

// nextManaged returns the next event of the traffic manager. Its time is never if there is none. If flows is true, this
// includes the end of an interval of a flow whose drops are reported.
func (c *driver) nextManaged(flows bool) event {
	e, ok := c.agenda.first(c.now)
	if !ok {
		e = event{never, eventKey(numClasses, 0)}
	}
	if c.queues.waitingN > 0 {
		if f := (event{max(c.now, c.queues.egressFree), eventKey(classServe, 0)}); f.before(e) {
			e = f
		}
	}
	if c.noted > 0 || flows && c.flows > 0 {
		if f := (event{c.reporter.due(flows), eventKey(classReport, 0)}); f.before(e) {
			e = f
		}
	}
	if c.pipe.Len() > 0 {
		if f := (event{c.pipe.First().at, eventKey(classQueue, 0)}); f.before(e) {
			e = f
		}
	}
	if c.ended.Len() > 0 {
		if f := (event{c.ended.First().at, eventKey(classEnter, 0)}); f.before(e) {
			e = f
		}
	}
	return e
}

// next returns the next event of all parts. If ageing is true, this includes sweeps of the FDB and the ends of
// intervals of flows.
func (c *driver) next(ageing bool) (event, bool) {
	e := c.nextManaged(ageing)
	if cp := c.wires.leaving.due(); cp != nil {
		if f := (event{cp.at, eventKey(classSent, cp.lane)}); f.before(e) {
			e = f
		}
	}
	if c.enter.Len() > 0 {
		if f := (event{c.enter.First().at, eventKey(classEnter, 0)}); f.before(e) {
			e = f
		}
	}
	if cp := c.arriving.due(); cp != nil {
		if f := (event{cp.at, eventKey(classReceived, cp.lane)}); f.before(e) {
			e = f
		}
	}
	if ageing && c.bridge.fdb.sweepAt < e.at {
		e = event{c.bridge.fdb.sweepAt, eventKey(classAge, 0)}
	}
	return e, e.at != never
}

// step handles one event after another.
func (c *driver) step(to Cycle) {
	for {
		e, ok := c.next(true)
		if !ok || e.at > to {
			return
		}
		if c.now, c.during = e.at, whenManaged; e.class() >= classEnter {
			c.during = whenEntering
		}
		c.handle(e)
		c.during = whenControlled
	}
}

// handle handles an event.
func (c *driver) handle(e event) {
	switch e.class() {
	case classSent:
		c.wires.run(e.at)
	case classPause:
		c.agenda.pop(e)
		c.queues.obey(c.byID[e.port()])
	case classRefresh:
		c.agenda.pop(e)
		c.queues.refresh(c.byID[e.port()])
	case classDequeue:
		c.agenda.pop(e)
		c.queues.due(c.byID[e.port()])
	case classServe:
		c.queues.serve()
	case classMirror:
		c.agenda.pop(e)
		c.mirrors.mirrorLeaving()
	case classRecirculated:
		c.agenda.pop(e)
		c.sketch.recirculated()
	case classReport:
		c.reporter.run()
	case classQueue:
		pk := c.pipe.First().pk
		c.pipe.Pop()
		c.ingress.replicate(pk)
	case classEnter:
		if c.ended.Len() > 0 {
			pk := c.ended.First().pk
			c.ended.Pop()
			was := c.during
			c.during = whenEntering
			c.ingress.end(pk)
			c.during = was
			return
		}
		pk := c.enter.First().pk
		c.enter.Pop()
		c.samples.enters(c.port(pk.in), pk)
		c.ingress.run([]entering{{at: e.at, pk: pk}})
	case classReceived:
		for cp := c.arriving.removeDue(e.at); cp != nil; cp = cp.next {
			c.arriving.n--
			if c.macs.received(c.byID[cp.lane], cp.pk) {
				c.enter.Push(timed{c.macs.enters(cp.at), cp.pk})
			}
		}
	case classAge:
		c.bridge.ageFDB()
	}
}
