package engine

import (
	"encoding/binary"
	"math/bits"

	"tamtam/saisim/pipe"
)

// Passive programs. A program is passive if it only reads packets: it writes its own fields and registers in the
// ingress pipe, and nothing that a fixed function or the egress pipe reads. Then the fixed functions do not depend on
// it. Packets pass them one by one, on their shortcuts, as without a program. The words that the program reads are
// noted in lanes of the PHV on the way, and the program runs later, for all lanes together, stage after stage. It sees
// packets in the order in which they entered the pipe, and always before a control batch.

// passive holds the packets for which a passive program has yet to run: one in each lane, in the order of entry.
type passive struct {
	n       int      // number of lanes in use
	most    int      // maximum number
	nowhere pipe.Set // lanes whose packets have no destination
	// Results of ACL for the lanes in the set changed, which replace those of admission.
	changed pipe.Set
	meta    [pipe.Lanes]uint32
	tc      [pipe.Lanes]uint8
}

// Words of the PHV that usual packets have at fixed places in the frame, and those that ACL changes.
const (
	tupleWords = 1<<pipe.WordSrcLo | 1<<pipe.WordDstLo | 1<<pipe.WordL4 | 1<<pipe.WordFlags
	aclWords   = 1<<pipe.WordPorts | 1<<pipe.WordClass
)

// watches reports whether the program is passive. noted is true if lookups in its tables are noted in packets.
func (c *programs) watches(noted bool) bool {
	const effects = headerWords | aclWords | 1<<pipe.WordControl
	return c.program != nil && c.program.Writes(false)&effects == 0 && c.program.Empty(true) &&
		!(noted && len(c.program.Noted(false)) > 0)
}

// lane returns the lane of the next packet. If all are in use, the program runs first.
func (c *programs) lane() int {
	if c.passive.n >= c.passive.most {
		c.catchUp()
	}
	c.passive.n++
	return c.passive.n - 1
}

// see notes a packet that passed admission now.
func (c *programs) see(pk *packet) { c.fillAll(c.lane(), pk, &pk.h) }

// seeUsual does see for a packet that usualIPv4 accepted, and whose headers may not be parsed. It enters the pipe at a
// cycle.
func (c *programs) seeUsual(pk *packet, at Cycle) {
	i := c.lane() & (pipe.Lanes - 1)
	if c.program.Reads(false)&^tupleWords != 0 {
		var h headers
		h.usual(pk.data)
		c.now = at
		c.fillAll(i, pk, &h)
		return
	}
	w, ip := &c.phv.W, pk.data[ethernetHeader:]
	word, flags := usualWord(ip)
	w[pipe.WordSrcLo][i] = uint64(binary.BigEndian.Uint32(ip[12:]))
	w[pipe.WordDstLo][i] = uint64(binary.BigEndian.Uint32(ip[16:]))
	w[pipe.WordL4][i], w[pipe.WordFlags][i] = word, flags|uint64(ip[6]>>5)<<20
}

// seeACL notes what ACL has changed in the last packet seen.
func (c *programs) seeACL(pk *packet) {
	if c.program.Reads(false)&aclWords != 0 {
		i := c.passive.n - 1
		c.passive.changed |= 1 << i
		c.passive.meta[i], c.passive.tc[i] = pk.meta, pk.tc
	}
}

// seeNowhere notes that the last packet seen has no destination: it does not reach the last stage.
func (c *programs) seeNowhere() { c.passive.nowhere |= 1 << (c.passive.n - 1) }

// catchUp runs a passive program for all packets that were seen.
func (c *programs) catchUp() {
	if c.passive.n == 0 {
		return
	}
	middle, last := c.prof.IngressStages/2, max(c.prof.IngressStages, 1)-1
	v, prog := c.phv, c.program
	on := ^pipe.Set(0) >> (pipe.Lanes - c.passive.n)
	v.Traced = false
	prog.Begin(v, on)
	prog.Run(v, on, 0, middle)
	for changed := c.passive.changed; changed != 0; changed &= changed - 1 {
		i := bits.TrailingZeros64(uint64(changed))
		c.setACL(i, c.passive.meta[i], c.passive.tc[i])
	}
	prog.Run(v, on, middle, last)
	prog.Run(v, on&^c.passive.nowhere, last, c.prof.IngressStages)
	c.passive.n, c.passive.changed, c.passive.nowhere = 0, 0, 0
}
