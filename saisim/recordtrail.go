package saisim

import (
	"math/bits"

	"tamtam/saisim/pipe"
	"tamtam/tam/record"
)

// fixedMarks say which fixed functions a packet ran, a bit for each, and from
// fixedHits on which of them hit. They are kept for every packet: two bits cost less
// than to ask whether somebody wants them.
type fixedMarks uint32

const fixedHits = 16

func (f fixedTable) ran() fixedMarks { return 1 << f }
func (f fixedTable) hit() fixedMarks { return 1 << (f + fixedHits) }

// A Trail says which tables a packet or a copy of it ran and which hit, up to where it
// is: bit i is the i-th table of the graph.
type Trail struct {
	Graph uint64 // version; 0: nothing is known
	Ran   [4]uint64
	Hit   [4]uint64
}

// A passed is a trail as the packet path has it: tables of the program are numbered
// by [pipe.PHV]'s Ran.
type passed struct {
	fixed    fixedMarks
	ran, hit [pipe.TapWords]uint64
}

// retrack says whether packets that enter from now on have their trails kept.
func (c *engine) retrack() {
	c.tracking = c.observer != nil || len(c.recording.plans) > 0
}

// sofar is what a packet, or a copy of it in a queue, has passed by now.
func (pk *packet) sofar() passed {
	p := passed{fixed: pk.fixed}
	if pk.run != nil {
		p.ran, p.hit = pk.run.ran, pk.run.hit
	}
	return p
}

// through is what a copy has passed in the egress pipe, the fixed functions given.
func (c *engine) through(cp *copyOf, fixed fixedMarks, runs bool) passed {
	p := cp.pk.sofar()
	p.fixed = fixed
	if runs && !cp.pk.run.program.Empty(true) {
		p.ran, p.hit = c.phv.Ran, c.phv.Hit
	}
	return p
}

// trail is what the observer sees of where a packet that met g was.
func (p *passed) trail(g *chipGraph) Trail {
	t := Trail{Graph: g.graph.Version}
	set := func(words *[4]uint64, i int) { words[i/64] |= 1 << (i % 64) }
	for f := range numFixed {
		if p.fixed&f.ran() != 0 {
			set(&t.Ran, g.fixed[f])
		}
		if p.fixed&f.hit() != 0 {
			set(&t.Hit, g.fixed[f])
		}
	}
	for w := range p.ran {
		for ran := p.ran[w]; ran != 0; ran &= ran - 1 {
			bit := bits.TrailingZeros64(ran)
			set(&t.Ran, g.program[64*w+bit])
			if p.hit[w]>>bit&1 != 0 {
				set(&t.Hit, g.program[64*w+bit])
			}
		}
	}
	return t
}

// trailOf is the trail of a copy that has not come to the egress pipe.
func (c *engine) trailOf(cp *copyOf) Trail {
	if cp.pk.graph == nil || cp.mirror != nil {
		return Trail{}
	}
	p := cp.pk.sofar()
	return p.trail(cp.pk.graph)
}

// Path returns the tables of a trail in the order of the graph, nil if the trail is
// unknown or of another graph than the chip's is now.
func (c *Chip) Path(t Trail) []record.Step {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.described(); t.Graph == g.graph.Version {
		return g.path(t)
	}
	return nil
}

func (g *chipGraph) path(t Trail) []record.Step {
	steps := []record.Step{}
	for i, id := range g.tables {
		if t.Ran[i/64]>>(i%64)&1 != 0 {
			steps = append(steps, record.Step{Table: id, Hit: t.Hit[i/64]>>(i%64)&1 != 0})
		}
	}
	return steps
}

// ended is told where a copy, or a packet without copies, ends: what it has passed,
// the port or CPUPort, and 0 or why it is dropped. It is for packets with a graph only.
func (c *engine) ended(cp *copyOf, p passed, out uint16, why DropReason) {
	c.countPath(cp.pk, &p)
	if cp.pk.record != nil {
		c.take(cp, taken{passed: p, out: out, why: why})
	}
}

// dropBefore drops a copy that has not come to the egress pipe.
func (c *engine) dropBefore(p *port, cp *copyOf, why DropReason) {
	if cp.pk.graph != nil && cp.mirror == nil {
		c.ended(cp, cp.pk.sofar(), p.number, why)
	}
	c.dropCopy(p, *cp, why)
}

// dropInside drops a copy in the egress pipe.
func (c *engine) dropInside(p *port, cp *copyOf, fixed fixedMarks, runs bool, why DropReason) {
	if cp.pk.graph == nil || cp.mirror != nil {
		c.dropCopy(p, *cp, why)
		return
	}
	was := c.through(cp, fixed, runs)
	c.ended(cp, was, p.number, why)
	c.dropWith(p, cp, why, was.trail(cp.pk.graph))
}
