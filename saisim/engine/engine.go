package engine

import "tamtam/saisim/pipe"

// An Engine is the packet path: what it knows of the configuration is compiled from
// rows of tables. It is a core, which all stations share, and the stations: each keeps its own state, and
// knows only those below it.
type Engine struct {
	core

	macs      macs
	ingress   ingressPipe
	mirrors   mirrors
	queues    queues
	egress    egressPipe
	sketch    sketching
	acl       acl
	marking   marking
	router    router
	bridge    bridge
	traps     traps
	fates     fates
	recording recording
	programs  programs
	watch     watch
}

// wire gives each station the others that it uses; none uses one that uses it.
func (c *Engine) wire() {
	c.watch = watch{core: &c.core}
	c.programs = programs{core: &c.core}
	c.recording = recording{core: &c.core, programs: &c.programs}
	c.fates = fates{core: &c.core, watch: &c.watch, programs: &c.programs, recording: &c.recording}
	c.traps = traps{core: &c.core}
	c.bridge = bridge{core: &c.core, traps: &c.traps}
	c.router = router{core: &c.core, traps: &c.traps, bridge: &c.bridge}
	c.marking = marking{core: &c.core}
	c.acl = acl{core: &c.core, recording: &c.recording, marking: &c.marking}
	c.sketch = sketching{core: &c.core}
	c.egress = egressPipe{
		core: &c.core, programs: &c.programs, recording: &c.recording, fates: &c.fates, acl: &c.acl,
		sketch: &c.sketch,
	}
	c.queues = queues{core: &c.core, watch: &c.watch, fates: &c.fates, egress: &c.egress}
	c.mirrors = mirrors{
		core: &c.core, watch: &c.watch, programs: &c.programs, recording: &c.recording, fates: &c.fates,
		bridge: &c.bridge, queues: &c.queues,
	}
	c.ingress = ingressPipe{
		core: &c.core, watch: &c.watch, programs: &c.programs, recording: &c.recording, fates: &c.fates,
		traps: &c.traps, bridge: &c.bridge, router: &c.router, acl: &c.acl, queues: &c.queues,
		mirrors: &c.mirrors,
	}
	c.macs = macs{
		core: &c.core, watch: &c.watch, programs: &c.programs, recording: &c.recording, fates: &c.fates,
		egress: &c.egress, queues: &c.queues, ingress: &c.ingress,
	}
}

func (c *Engine) next(ageing bool) (event, bool) {
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
	if c.enter.Len() > 0 {
		if f := (event{c.enter.First().at, eventKey(classEnter, 0)}); f.before(e) {
			e = f
		}
	}
	if ageing && c.bridge.fdb.sweepAt < e.at {
		e = event{c.bridge.fdb.sweepAt, eventKey(classAge, 0)}
	}
	if ageing && c.programs.batches.Len() > 0 && c.programs.batches.First().at <= e.at {
		e = event{c.programs.batches.First().at, eventKey(classControl, 0)}
	}
	return e, e.at != never
}

// handle lets an event happen. What follows from several rows is up to date then: changes come between events.
func (c *Engine) handle(e event) {
	if c.stale {
		c.derive()
	}
	switch e.class() {
	case classSent:
		c.agenda.pop(e)
		c.macs.sent(c.byID[e.port()])
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
		pk := c.enter.First().pk
		c.enter.Pop()
		c.ingress.enterPipe(pk)
	case classReceived:
		c.agenda.pop(e)
		c.macs.received(c.byID[e.port()])
	case classAge:
		c.bridge.ageFDB()
	case classControl:
		c.takeEffect(*c.programs.batches.First())
		c.programs.batches.Pop()
	}
}

// takeEffect carries out a batch.
func (c *Engine) takeEffect(s scheduled) {
	c.programs.program = s.program
	if s.batch.Program != nil || s.batch.Unload {
		c.programs.programGraph = nil
		if len(c.recording.plans) > 0 && c.programs.described().graph.Version != c.recording.paths.graph.graph.Version {
			c.recording.paths.begin(c.programs.described())
		}
	}
	c.skips, _ = skipped(s.faults)
	if c.programs.phv == nil {
		c.programs.phv = new(pipe.PHV)
	}
	r := BatchResult{At: s.at}
	if c.programs.program != nil {
		r.Result = c.programs.program.Access(s.batch.Batch)
	}
	if f := s.batch.Done; f != nil {
		c.programs.done = append(c.programs.done, func() { f(r) })
	}
}
