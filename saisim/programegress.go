package saisim

import (
	"encoding/binary"

	"tamtam/saisim/pipe"
)

// A heading holds the header fields of a copy as it leaves.
type heading struct {
	dmac, smac uint64
	tos, ttl   uint8
	reserved   bool
}

// runEgress runs the program's stages of the egress pipe before the last one.
// False: it has dropped the copy.
func (c *engine) runEgress(p *port, cp *copyOf) bool {
	v, pk := c.phv, cp.pk
	prog := pk.run.program
	if prog.Empty(true) {
		return true
	}
	if pk.graph != nil {
		v.Ran, v.Hit = pk.run.ran, pk.run.hit
	}
	prog.BeginEgress(v, &pk.run.bridge)
	c.fill(v, pk, prog.Reads(true)|prog.Writes(true))
	v.W[pipe.WordClass] |= uint64(cp.queue) << 40
	v.W[pipe.WordPorts] = uint64(pk.in)<<48 | uint64(p.id)<<32 | uint64(pk.meta)
	v.W[pipe.WordQueue] = uint64(cp.depth)<<32 | uint64(min(c.now-cp.queued, 1<<32-1))
	v.W[pipe.WordControl] = noPort << 16
	return c.runEgressStages(pk, 0, max(c.prof.EgressStages, 1)-1)
}

func (c *engine) runEgressStages(pk *packet, from, to uint32) bool {
	on := pk.run.program.RunEgress(c.phv, from, to)
	if pk.graph != nil {
		pk.run.program.Always(c.phv, true, from, to, on)
	}
	return on
}

// finishEgress runs the last stage's program, which sees what the fixed functions
// of that stage have done, and notes with what headers the copy leaves.
func (c *engine) finishEgress(cp *copyOf) bool {
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
	h := headingOf(v)
	h.edit(cp)
	h.to(v)
	if !c.runEgressStages(pk, max(c.prof.EgressStages, 1)-1, c.prof.EgressStages) {
		return false
	}
	if rewrites || pk.run.rewritten {
		cp.head = c.newHeading()
		*cp.head = headingOf(v)
	}
	return true
}

// lookupRewritten is lookupEgress for a copy with the headers that the program has
// left so far.
func (c *engine) lookupRewritten(p *port, cp copyOf, hit *hits) {
	pk := cp.pk
	if pk.run.program.Writes(true)&headerWords == 0 {
		c.lookupEgress(p, cp, hit)
		return
	}
	old := pk.heading()
	h := headingOf(c.phv)
	h.into(pk)
	c.lookupEgress(p, cp, hit)
	old.into(pk) // which other copies share
}

// into writes the fields to the packet's headers, those that it has.
func (f *heading) into(pk *packet) {
	h := &pk.h
	h.dmac, h.smac = f.dmac, f.smac
	if h.flags&flagIP != 0 {
		h.tos, h.ttl = f.tos, f.ttl
	}
	if h.flags&flagIPv4 != 0 {
		h.ipFlags &= 3
		if f.reserved {
			h.ipFlags |= 4
		}
	}
}

// heading is what the ingress pipe has left in the packet's headers.
func (pk *packet) heading() heading {
	h := &pk.h
	return heading{h.dmac, h.smac, h.tos, h.ttl, h.ipFlags&4 != 0}
}

// headingOf reads the fields from the PHV.
func headingOf(v *pipe.PHV) heading {
	w := &v.W
	return heading{
		dmac: w[pipe.WordEthDst] & (1<<48 - 1), smac: w[pipe.WordEthSrc] & (1<<48 - 1),
		tos: uint8(w[pipe.WordL4] >> 16), ttl: uint8(w[pipe.WordL4] >> 8), reserved: w[pipe.WordFlags]>>22&1 != 0,
	}
}

// to writes the fields to the PHV.
func (h *heading) to(v *pipe.PHV) {
	w := &v.W
	w[pipe.WordEthDst] = w[pipe.WordEthDst]&^(1<<48-1) | h.dmac
	w[pipe.WordEthSrc] = w[pipe.WordEthSrc]&^(1<<48-1) | h.smac
	w[pipe.WordL4] = w[pipe.WordL4]&^0xffff00 | uint64(h.tos)<<16 | uint64(h.ttl)<<8
	w[pipe.WordFlags] &^= 1 << 22
	if h.reserved {
		w[pipe.WordFlags] |= 1 << 22
	}
}

// edit does what routing, ACLs and the queue want done.
func (h *heading) edit(cp *copyOf) {
	pk := cp.pk
	if e := &pk.edit; e.routed {
		h.dmac, h.smac = e.dmac, e.smac
		h.ttl--
	}
	if pk.edit.setDSCP {
		h.tos = pk.edit.dscp<<2 | h.tos&3
	}
	m := &pk.edit.marks
	h.tos = m.tos(h.tos)
	if m.reservedMask {
		h.reserved = m.reserved
	}
	if cp.ce {
		h.tos |= 3
	}
}

// apply writes the fields to a frame whose IP header, if flags say that it has
// one, is at l3.
func (h *heading) apply(b []byte, l3 int, flags uint32) {
	putMAC(b, h.dmac)
	putMAC(b[6:], h.smac)
	switch {
	case flags&flagIPv4 != 0:
		ip := b[l3:]
		changeWord(ip, 0, uint16(ip[0])<<8|uint16(h.tos))
		changeWord(ip, 8, uint16(h.ttl)<<8|uint16(ip[9]))
		frag := binary.BigEndian.Uint16(ip[6:]) &^ 0x8000
		if h.reserved {
			frag |= 0x8000
		}
		changeWord(ip, 6, frag)
	case flags&flagIPv6 != 0:
		b[l3] = b[l3]&0xf0 | h.tos>>4
		b[l3+1] = h.tos<<4 | b[l3+1]&0xf
		b[l3+7] = h.ttl
	}
}

func (c *engine) newHeading() *heading {
	if n := len(c.spareHeads); n > 0 {
		h := c.spareHeads[n-1]
		c.spareHeads = c.spareHeads[:n-1]
		return h
	}
	return new(heading)
}

// copyHeading is for one more copy of the same frame.
func (c *engine) copyHeading(h *heading) *heading {
	if h == nil {
		return nil
	}
	n := c.newHeading()
	*n = *h
	return n
}

// freeHeading takes back the heading of a copy that is gone.
func (c *engine) freeHeading(cp *copyOf) {
	if cp.head != nil {
		c.spareHeads = append(c.spareHeads, cp.head)
		cp.head = nil
	}
}
