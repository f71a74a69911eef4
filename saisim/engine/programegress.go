package engine

import "tamtam/saisim/pipe"

// Copies run the egress pipe one at a time. alone is the PHV index of that copy, and aloneSet is the set that contains
// only this index.
const (
	alone             = 0
	aloneSet pipe.Set = 1 << alone
)

// runEgress runs the program's stages of the egress pipe except the last one. It returns false if the program has
// dropped the copy.
func (c *programs) runEgress(p *port, cp *copyOf) bool {
	v, pk := c.phv, cp.pk
	prog := pk.run.program
	if prog.Empty(true) {
		return true
	}
	if v.Traced = pk.graph != nil; v.Traced {
		v.Ran[alone], v.Hit[alone] = pk.run.ran, pk.run.hit
	}
	prog.BeginEgress(v, alone, &pk.run.bridge)
	c.fill(v, alone, pk, &pk.h, prog.Reads(true)|prog.Writes(true))
	v.W[pipe.WordClass][alone] |= uint64(cp.queue) << 40
	v.W[pipe.WordPorts][alone] = uint64(pk.in)<<48 | uint64(p.id)<<32 | uint64(pk.meta)
	v.W[pipe.WordQueue][alone] = uint64(cp.depth)<<32 | uint64(min(c.now-cp.queued, 1<<32-1))
	v.W[pipe.WordControl][alone] = noPort << 16
	if c.noting {
		c.egressMet.ran.begin(prog)
	}
	return c.runEgressStages(p, pk, 0, max(c.prof.EgressStages, 1)-1)
}

func (c *programs) runEgressStages(p *port, pk *packet, from, to uint32) bool {
	if c.found != nil {
		c.phv.Found = func(_ uint8, table string, entry uint32, hit bool) {
			c.found(pk, Finding{Table: "egress." + table, Hit: hit, Number: entry, Port: p.id})
		}
	}
	if c.noting {
		c.phv.Looked[alone] = &c.egressMet.ran.of
	}
	on := pk.run.program.RunEgress(c.phv, aloneSet, from, to)
	c.phv.Looked[alone] = nil
	if pk.graph != nil {
		pk.run.program.Always(c.phv, true, aloneSet, on, from, to)
	}
	return on != 0
}

// finishEgress runs the program in the last stage, where it sees the results of that stage's fixed functions. It notes
// the headers with which the copy leaves, and returns false if the program has dropped it.
func (c *programs) finishEgress(p *port, cp *copyOf) bool {
	v, pk := c.phv, cp.pk
	prog := pk.run.program
	rewrites := prog.Writes(true)&headerWords != 0
	if !rewrites && prog.Empty(true) {
		if pk.run.rewritten {
			cp.head = c.newHeading()
			*cp.head = pk.heading()
			cp.head.edit(cp)
		}
		return true
	}
	h := headingOf(v, alone)
	h.edit(cp)
	h.to(v, alone)
	if !c.runEgressStages(p, pk, max(c.prof.EgressStages, 1)-1, c.prof.EgressStages) {
		return false
	}
	if rewrites || pk.run.rewritten {
		cp.head = c.newHeading()
		*cp.head = headingOf(v, alone)
	}
	return true
}

func (c *programs) newHeading() *heading {
	if n := len(c.spareHeads); n > 0 {
		h := c.spareHeads[n-1]
		c.spareHeads = c.spareHeads[:n-1]
		return h
	}
	return new(heading)
}

// copyHeading returns a copy of a heading, for another copy of the same frame.
func (c *programs) copyHeading(h *heading) *heading {
	if h == nil {
		return nil
	}
	n := c.newHeading()
	*n = *h
	return n
}

// freeHeading frees the heading of a copy that has ended.
func (c *programs) freeHeading(cp *copyOf) {
	if cp.head != nil {
		c.spareHeads = append(c.spareHeads, cp.head)
		cp.head = nil
	}
}
