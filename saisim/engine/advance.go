package engine

// maxVector is how many packets pass the ingress pipe together, at most.
const maxVector = 64

// Apart from time itself, nothing flows backwards in the chip: what the ingress pipe does depends on what came in, what
// the traffic manager does on what left the ingress pipe, and what the egress MACs do on what left that. (Mirror copies
// and what is recirculated go back to the traffic manager, not before it.) So time is advanced in windows: all that is
// due in a window up to the ingress pipe's end happens first, some packets together, then what is due in the traffic
// manager and the egress pipe, in the order of events, then what is due at the egress MACs. [core].now goes through
// the window in each of the three. Control batches, which all of them see, end a window. What goes to the CPU goes from
// the traffic manager; before each such frame the egress MACs catch up, so that frames come out in the order of time.

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
	vector   int // how many packets pass the ingress pipe together, at most; 0: event by event
	together [maxVector]entering
}

// SetVector sets how many packets pass the ingress pipe together, at most: 1 to 64. 0 has all events handled
// one after another, in the order of time, class and port, whichever part of the chip they belong to, so that what
// an observer sees comes in the order of time, too; it is slower, and else makes no difference.
func (c *Engine) SetVector(n int) {
	c.driver.vector = min(max(n, 0), maxVector)
	c.sketch.setLanes(c.driver.vector)
}

// Advance handles every event up to and including a cycle.
func (c *Engine) Advance(to Cycle) {
	c.refresh()
	for c.programs.batches.Len() > 0 && c.programs.batches.First().at <= to {
		at := c.programs.batches.First().at
		if at > c.now {
			c.driver.advance(at - 1)
		}
		c.now = at
		c.takeEffect(*c.programs.batches.First())
		c.programs.batches.Pop()
	}
	c.driver.advance(to)
	c.now = max(c.now, to)
}

// refresh brings what follows from several rows up to date: changes come between events.
func (c *Engine) refresh() {
	if c.stale {
		c.derive()
	}
}

// NextEvent returns the cycle of the next thing that happens to a frame, false
// if there are no frames in the chip.
func (c *Engine) NextEvent() (Cycle, bool) {
	e, ok := c.driver.next(false)
	return e.at, ok
}

// advance handles every event up to and including a cycle, of which none is a control batch's.
func (c *driver) advance(to Cycle) {
	if c.vector == 0 {
		c.step(to)
		return
	}
	for done := !c.due(to); !done; {
		now := c.now
		var h Cycle
		h, done = c.enterAll(c.together[:0], to)
		c.now = now
		c.manage(h)
		c.now = now
		c.wires.run(h)
		c.now = h
	}
}

// due reports whether anything is to be done up to and including a cycle.
func (c *driver) due(to Cycle) bool {
	if c.arriving.n+c.enter.Len()+c.pipe.Len()+c.wires.leaving.n == 0 && c.agenda.empty() && c.queues.waitingN == 0 {
		return c.bridge.fdb.sweepAt <= to
	}
	e, ok := c.next(true)
	return ok && e.at <= to
}

// enterAll has frames come whole from the ingress MACs and run the ingress pipe, up to and including a cycle or until
// there are as many as may run it together. It returns the cycle up to which all of this has been done, and
// whether that is the last.
func (c *driver) enterAll(vec []entering, to Cycle) (Cycle, bool) {
	h := to
	for {
		if c.enter.Len() > 0 {
			at := c.enter.First().at
			if a := c.arriving.due(); at <= to && (a == nil || at <= a.at) {
				if len(vec) == c.vector {
					h = at - 1
					break
				}
				vec = append(vec, entering{at: at, pk: c.enter.First().pk})
				c.enter.Pop()
				continue
			}
		}
		if len(vec) == c.vector {
			a := c.arriving.due()
			if a != nil && a.at <= to {
				h = a.at - 1
				break
			}
		}
		cp := c.arriving.pop(to)
		if cp == nil {
			break
		}
		if at, ok := c.arrive(cp); ok && at == c.now {
			vec = append(vec, entering{at: at, pk: cp.pk})
		} else if ok {
			c.enter.Push(timed{at, cp.pk})
		}
	}
	c.ingress.run(vec)
	c.bridge.sweepBefore(h + 1)
	return h, h == to
}

// arrive takes a frame from its ingress MAC and returns when it enters the ingress pipe. False: it does not.
func (c *driver) arrive(cp *copyOf) (Cycle, bool) {
	c.now = cp.at
	if !c.macs.received(c.byID[cp.lane], cp.pk) {
		return 0, false
	}
	at := max(c.macs.entered, c.now)
	c.macs.entered = at + 1
	return at, true
}

// manage is the traffic manager and the egress pipe, up to and including a cycle.
func (c *driver) manage(to Cycle) {
	for {
		e := c.nextManaged()
		if e.at > to {
			return
		}
		c.now = e.at
		c.handle(e)
	}
}

// nextManaged returns the next event of the traffic manager, at never if there is none.
func (c *driver) nextManaged() event {
	e, ok := c.agenda.first(c.now)
	if !ok {
		e = event{never, eventKey(numClasses, 0)}
	}
	if c.queues.waitingN > 0 {
		if f := (event{max(c.now, c.queues.egressFree), eventKey(classServe, 0)}); f.before(e) {
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

// next returns the next event, of all parts; that of a sweep of the FDB, too, if ageing is true.
func (c *driver) next(ageing bool) (event, bool) {
	e := c.nextManaged()
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

// step handles event by event.
func (c *driver) step(to Cycle) {
	for {
		e, ok := c.next(true)
		if !ok || e.at > to {
			return
		}
		c.now = e.at
		c.handle(e)
	}
}

// handle lets an event happen.
func (c *driver) handle(e event) {
	switch e.class() {
	case classSent:
		c.wires.run(e.at)
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
	case classQueue:
		pk := c.pipe.First().pk
		c.pipe.Pop()
		c.ingress.replicate(pk)
	case classEnter:
		if c.ended.Len() > 0 {
			pk := c.ended.First().pk
			c.ended.Pop()
			c.ingress.end(pk)
			return
		}
		pk := c.enter.First().pk
		c.enter.Pop()
		c.ingress.run([]entering{{at: e.at, pk: pk}})
	case classReceived:
		cp := c.arriving.pop(e.at)
		if at, ok := c.arrive(cp); ok {
			c.enter.Push(timed{at, cp.pk})
		}
	case classAge:
		c.bridge.ageFDB()
	}
}
