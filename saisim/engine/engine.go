package engine

import "tamtam/saisim/pipe"

// An Engine is the packet path. Its configuration is compiled from rows of tables. It consists of a core, which all
// stations share, and of the stations. Each station keeps its own state and uses only stations below it.
type Engine struct {
	core
	cpu

	macs    macs
	ingress ingressPipe
	mirrors mirrors
	queues  queues
	wires   wires
	egress  egressPipe
	measuringStations
	acl       acl
	marking   marking
	clamps    clamping
	router    router
	bridge    bridge
	traps     traps
	fates     fates
	recording recording
	programs  programs
	watch     watch
	driver    driver
	readouts  readouts
}

// measuringStations are the stations that report measurements to others.
type measuringStations struct {
	sketch   sketching
	reporter reporter
}

// wire gives each station references to the stations that it uses. These references form no cycle.
func (c *Engine) wire() {
	c.names = newTableNames(c.prof.IngressStages, c.prof.EgressStages)
	c.watch = watch{core: &c.core}
	c.programs = programs{core: &c.core}
	c.recording = recording{core: &c.core, programs: &c.programs}
	c.fates = fates{core: &c.core, watch: &c.watch, programs: &c.programs, recording: &c.recording}
	c.traps = traps{core: &c.core}
	c.bridge = bridge{core: &c.core, traps: &c.traps}
	c.router = router{core: &c.core, traps: &c.traps, bridge: &c.bridge, programs: &c.programs}
	c.marking = marking{core: &c.core, outers: outers{core: &c.core, router: &c.router, programs: &c.programs}}
	c.clamps = clamping{core: &c.core}
	c.acl = acl{core: &c.core, recording: &c.recording, marking: &c.marking}
	c.sketch = sketching{core: &c.core, lanes: maxVector}
	c.egress = egressPipe{
		core: &c.core, programs: &c.programs, recording: &c.recording, fates: &c.fates, acl: &c.acl,
		sketch: &c.sketch, ifa: analysing{core: &c.core, programs: &c.programs},
	}
	c.wires = wires{
		core: &c.core, watch: &c.watch, programs: &c.programs, recording: &c.recording, fates: &c.fates,
		egress: &c.egress,
	}
	c.queues = queues{core: &c.core, watch: &c.watch, fates: &c.fates, egress: &c.egress, wires: &c.wires}
	c.reporter = reporter{
		core: &c.core, watch: &c.watch, fates: &c.fates, bridge: &c.bridge, queues: &c.queues, wires: &c.wires,
		egress: &c.egress,
	}
	c.mirrors = mirrors{
		core: &c.core, watch: &c.watch, programs: &c.programs, recording: &c.recording, fates: &c.fates,
		bridge: &c.bridge, queues: &c.queues, samples: samples{
			core: &c.core, watch: &c.watch, fates: &c.fates, traps: &c.traps, egress: &c.egress, wires: &c.wires,
		},
		reporter: &c.reporter,
	}
	c.ingress = ingressPipe{
		core: &c.core, watch: &c.watch, programs: &c.programs, recording: &c.recording, fates: &c.fates,
		traps: &c.traps, bridge: &c.bridge, router: &c.router, acl: &c.acl, clamps: &c.clamps, queues: &c.queues,
		mirrors: &c.mirrors, samples: &c.mirrors.samples, wires: &c.wires,
	}
	c.macs = macs{
		core: &c.core, watch: &c.watch, programs: &c.programs, recording: &c.recording, fates: &c.fates,
		queues: &c.queues, wires: &c.wires, ingress: &c.ingress,
	}
	c.cpu = cpu{
		core: &c.core, watch: &c.watch, programs: &c.programs, fates: &c.fates, queues: &c.queues, macs: &c.macs,
		bridge: &c.bridge, router: &c.router, refresh: c.refresh,
	}
	c.driver = driver{
		core: &c.core, macs: &c.macs, ingress: &c.ingress, bridge: &c.bridge, mirrors: &c.mirrors,
		queues: &c.queues, sketch: &c.sketch, wires: &c.wires, samples: &c.mirrors.samples, reporter: &c.reporter,
		vector: maxVector,
	}
	c.programs.passive.most = maxVector
}

// applyBatch applies a batch.
func (c *Engine) applyBatch(s scheduled) {
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
