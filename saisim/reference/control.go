package reference

import (
	"slices"

	"tamtam/saisim"
	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/saisim/profile"
)

// A version is one version of a program with the memory of both pipes. Two versions share memory that is equal in both.
type version struct {
	*program
	ingress, egress *memory
	graph           uint64 // version of the graph
}

// A passage is a packet's path through the programs.
type passage struct {
	*version
	ingress run
	bridged map[string]uint64
	faults  *faults
}

// A batch waits for its cycle.
type batch struct {
	at     saisim.Cycle
	after  *version
	access pipe.Batch
	result *pipe.Result
}

// Control schedules a batch at a cycle, before packets that enter a pipe then. At the current cycle, the batch takes
// effect after its work. It returns the result, which the batch fills in.
func (c *Chip) Control(at saisim.Cycle, b pipe.Batch) (*pipe.Result, error) {
	v := c.planned
	switch {
	case b.Unload:
		v = nil
	case b.Program != nil:
		v = v.next(b.Program, c.prof)
	}
	if len(b.Entries) > 0 {
		p, err := v.Apply(b.Entries)
		if err != nil {
			return nil, err
		}
		v = v.next(p, c.prof)
	}
	c.planned = v
	x := batch{at, v, b, &pipe.Result{
		Registers: make([][]uint64, len(b.Reads)), Counters: make([]pipe.Counter, len(b.Counters)),
	}}
	if at == c.now && len(c.batches) == 0 {
		c.applyBatch(x)
	} else {
		c.batches = append(c.batches, x)
	}
	return x.result, nil
}

// next returns the version of another program that follows v.
func (v *version) next(p *pipe.Program, prof profile.Profile) *version {
	in, out := &memory{}, &memory{}
	if v != nil {
		in, out = v.ingress, v.egress
	}
	return &version{newProgram(p), newMemory(&p.Ingress, in), newMemory(&p.Egress, out),
		describe.Program(&prof, p).Version}
}

// control executes the batches of this cycle.
func (c *Chip) control() {
	for len(c.batches) > 0 && c.batches[0].at == c.now {
		c.applyBatch(c.batches[0])
		c.batches = c.batches[1:]
	}
}

// applyBatch lets a batch into both pipes. In the ingress pipe it travels as a bubble, and operations on a register or
// counter are done in its stage. The egress pipe is computed immediately (see schedule).
func (c *Chip) applyBatch(x batch) {
	if c.graphOf(c.version) != c.graphOf(x.after) {
		c.restart(c.epoch != 0)
	}
	c.version = x.after
	for _, f := range x.access.Faults {
		c.faults = c.faults.with(f)
	}
	if x.after == nil {
		return
	}
	for i := range x.access.Reads {
		x.result.Registers[i] = make([]uint64, x.access.Reads[i].Count)
	}
	x.after.access("egress", &x.after.Egress, x.after.egress, -1, x)
	c.pending = append(c.pending, &bubble{stage: func(stage int) {
		x.after.access("ingress", &x.after.Ingress, x.after.ingress, stage, x)
	}})
}

// access does a batch's operations on the registers and counters of a stage of a pipe. -1 means all stages.
func (v *version) access(name string, p *pipe.Pipe, m *memory, stage int, x batch) {
	here := func(s uint8) bool { return stage < 0 || int(s) == stage }
	register := func(of, reg string) ([]uint64, bool) {
		i := slices.IndexFunc(p.Registers, func(r pipe.Register) bool { return r.Name == reg })
		if of != name || !here(p.Registers[i].Stage) {
			return nil, false
		}
		return m.registers[reg].word, true
	}
	for _, w := range x.access.Writes {
		if w.Pipe != name {
			continue
		}
		if words, ok := register(w.Pipe, w.Register); ok {
			clear(words[w.From : w.From+max(w.Count, uint32(len(w.Values)))])
			copy(words[w.From:], w.Values)
		}
	}
	for i, r := range x.access.Reads {
		if r.Pipe != name {
			continue
		}
		if words, ok := register(r.Pipe, r.Register); ok {
			copy(x.result.Registers[i], words[r.From:])
			if r.Clear {
				clear(words[r.From : r.From+r.Count])
			}
		}
	}
	for i, r := range x.access.Counters {
		if r.Pipe != name {
			continue
		}
		t := p.Tables[slices.IndexFunc(p.Tables, func(t pipe.Table) bool { return t.Name == r.Table })]
		if !here(t.Stage) {
			continue
		}
		k := m.counters[counterName{table: r.Table, stage: t.Stage, entry: r.Entry}]
		if r.Default {
			k = m.counters[counterName{table: r.Table, stage: t.Stage, forDefault: true}]
		}
		x.result.Counters[i] = pipe.Counter(*k)
		if r.Clear {
			*k = count{}
		}
	}
}

// board assigns the program of its entry to an admitted packet.
func (c *Chip) board(pk *packet) {
	if pk.version == nil {
		return
	}
	r := run{program: pk.version.program, name: "ingress", pipe: &pk.version.Ingress, memory: pk.version.ingress,
		outcomes: map[string]outcome{},
		faults:   pk.faults, ran: pk.ranTable, found: pk.findIn(saisim.CPUPort)}
	r.phv = r.newPHV()
	r.fill(r.phv, pk, pk.conf, pk.entered, pk.rxTime, pk.enteredTime)
	pk.passage = &passage{version: pk.version, ingress: r, bridged: map[string]uint64{}, faults: pk.faults}
}

// runIngress runs the program's tables of a stage on a packet.
func (c *Chip) runIngress(stage int, s *slot) {
	pk := s.pk
	if pk.passage == nil {
		return
	}
	r := &pk.passage.ingress
	r.stage(stage)
	pk.h = pk.h.with(r.heading(r.phv))
	pk.meta, pk.tc = uint32(r.get(r.phv, "acl.meta")), uint8(r.get(r.phv, "pkt.tc"))
	if r.get(r.phv, "ctl.drop") == 0 {
		return
	}
	pk.kind = nowhere
	pk.cpu = pk.effects.copy && !pk.effects.cancel || pk.punted()
	pk.ended, pk.why = true, drop.Program
	if !pk.cpu {
		c.end(s, drop.Program)
	}
}

// punted reports whether the program requests a copy for the CPU.
func (pk *packet) punted() bool {
	return pk.passage != nil && pk.passage.ingress.get(pk.passage.ingress.phv, "ctl.punt") == 1
}

// steered returns the port to which the program sends a packet, and false if it does not.
func (pk *packet) steered() (saisim.PortID, bool) {
	if pk.passage == nil {
		return 0, false
	}
	port := saisim.PortID(pk.passage.ingress.get(pk.passage.ingress.phv, "ctl.port"))
	return port, port != 65535
}

// steer sends a packet to the port that the program chose, unless it is dropped.
func (pk *packet) steer() {
	id, ok := pk.steered()
	if !ok || !pk.admitted || pk.aclDrop || pk.effects.drop {
		return
	}
	pk.kind, pk.why = nowhere, drop.NoDestination
	if p, ok := pk.conf.portByID[id]; ok {
		pk.kind, pk.to = toPort, p.ID
	}
}

// finishIngress ends the ingress pipe of a packet with a program.
func (pk *packet) finishIngress() {
	if pk.passage == nil {
		return
	}
	pk.steer()
	pk.cpu = pk.effects.copy && !pk.effects.cancel || pk.punted()
	r := &pk.passage.ingress
	for _, f := range r.Fields {
		if f.Bridged {
			pk.passage.bridged[f.Name] = r.get(r.phv, f.Name)
		}
	}
}

// beginEgress returns the run of a copy through the egress pipe's program, nil if there is none.
func (c *Chip) beginEgress(p *port, o *outgoing) *run {
	x := o.passage
	if x == nil || o.raw || o.made() || len(x.Egress.Tables) == 0 {
		return nil
	}
	r := &run{program: x.program, name: "egress", pipe: &x.Egress, memory: x.egress, outcomes: map[string]outcome{},
		faults: x.faults, ran: o.ranTableToo, found: o.findIn(p.Port.Port)}
	r.phv = r.newPHV()
	r.fill(r.phv, o.packet, c.conf, c.now, c.timeOfDay(o.rx), c.timeOfDay(c.now))
	for name, v := range x.bridged {
		r.set(r.phv, name, v)
	}
	r.set(r.phv, "out.port", uint64(p.Port.Port))
	r.set(r.phv, "q.id", uint64(o.queue))
	r.set(r.phv, "q.depth", uint64(min(o.depth, 1<<32-1)))
	r.set(r.phv, "q.delay", uint64(min(c.now-o.queued, 1<<32-1)))
	return r
}

// runs does runTo for a copy, and keeps its findings separate.
func (o *outgoing) runs(r *run, from, to int) bool {
	n := len(*o.heard)
	on := r.runTo(from, to)
	o.own = append(o.own, o.aside(n)...)
	return on
}

// runTo runs stages, and returns false if the program has dropped the copy.
func (r *run) runTo(from, to int) bool {
	for s := from; s < to; s++ {
		if r.stage(s); r.get(r.phv, "ctl.drop") == 1 {
			return false
		}
	}
	return true
}
