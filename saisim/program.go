package saisim

import (
	"tamtam/saisim/pipe"
	"tamtam/saisim/tm"
)

// Programs in the pipes. The tables of a program's stage run right after the
// fixed function of that stage, if it has one:
//
//	ingress  stage 0: admission; IngressStages/2: ACL; the last: learning and forwarding
//	egress   the last stage: MTU, ACL, routing's and ACL's rewrite
//
// What a program writes is what later fixed functions see (addresses, DSCP, TTL,
// ACL metadata, traffic class), and what they do the program sees in later
// stages. Header fields reach the bytes of a copy when it leaves, its IPv4
// checksum adjusted; frames for the CPU and mirror copies leave as they came in,
// and mirror copies do not run the program of the egress pipe.
//
// ctl.drop at the end of a stage: the packet goes nowhere, for DropProgram, but to
// the CPU if ctl.punt or a trap says so; in the egress pipe the copy is dropped.
// ctl.punt at the end of the ingress pipe: a copy goes to the CPU, whatever
// forwarding says. ctl.port: forwarding does not decide, or if it is set in the
// last stage its decision is replaced; a packet that ACLs, traps or the bridge
// drop goes nowhere all the same. There is no such port: DropNoDestination.
//
// A packet runs the program that it met as it entered the ingress pipe (injected
// by the CPU: at that cycle), in the egress pipe too.

// programs is the chip's programmable part.
type programs struct {
	program       *pipe.Compiled // what enters the ingress pipe runs it; nil: none
	phv           *pipe.PHV
	batches       tm.Ring[scheduled]
	planned       *pipe.Compiled // after the last batch
	plannedFaults []pipe.Fault
	// programGraph is what the program makes of the chip; nil: nobody has asked.
	programGraph *chipGraph

	done []func() // to be told once the chip is unlocked

	sparePassages []*passage
	spareHeads    []*heading
}

// A passage is what a packet carries of its program.
type passage struct {
	program   *pipe.Compiled
	bridge    [pipe.BridgeWords]uint64
	rewritten bool // the ingress pipe has written header fields, which are in the packet's headers
	// ran and hit are what the ingress pipe leaves of them in the PHV, if the packet's
	// trail is kept.
	ran, hit [pipe.TapWords]uint64
}

const noPort = 0xffff // of ctl.port and out.port

const (
	headerWords = 1<<pipe.WordEthDst | 1<<pipe.WordEthSrc | 1<<pipe.WordL4 | 1<<pipe.WordFlags
	rxWords     = 1<<pipe.WordRxSec | 1<<pipe.WordRxFrac | 1<<pipe.WordRxNs
	nowWords    = 1<<pipe.WordSec | 1<<pipe.WordFrac | 1<<pipe.WordNs
)

// board gives a packet that enters the program that there is.
func (c *engine) board(pk *packet) {
	if n := len(c.sparePassages); n > 0 {
		pk.run = c.sparePassages[n-1]
		c.sparePassages = c.sparePassages[:n-1]
	} else {
		pk.run = new(passage)
	}
	r := pk.run
	r.program, r.bridge, r.rewritten = c.program, [pipe.BridgeWords]uint64{}, false
	if c.tracking {
		r.ran, r.hit = [pipe.TapWords]uint64{}, [pipe.TapWords]uint64{}
	}
}

// alight is the end of a packet.
func (c *engine) alight(pk *packet) {
	c.sparePassages = append(c.sparePassages, pk.run)
	pk.run = nil
}

// beginIngress fills the PHV when a packet has been admitted.
func (c *engine) beginIngress(pk *packet) {
	c.board(pk)
	v, prog := c.phv, pk.run.program
	if pk.graph != nil {
		v.Ran, v.Hit = pk.run.ran, pk.run.hit
	}
	prog.Begin(v)
	c.fill(v, pk, prog.Reads(false)|prog.Writes(false))
	v.W[pipe.WordPorts] = uint64(pk.in)<<48 | noPort<<32 | uint64(pk.meta)
	v.W[pipe.WordQueue] = 0
	v.W[pipe.WordControl] = noPort << 16
}

// fill puts a packet into the fixed fields that are the same in both pipes; of
// those that take time only what is needed.
func (c *engine) fill(v *pipe.PHV, pk *packet, need uint32) {
	h, w := &pk.h, &v.W
	w[pipe.WordEthDst] = h.dmac | uint64(h.etherType)<<48
	w[pipe.WordEthSrc] = h.smac | uint64(h.ipID)<<48
	w[pipe.WordSrcHi], w[pipe.WordSrcLo] = h.src[0], h.src[1]
	w[pipe.WordDstHi], w[pipe.WordDstLo] = h.dst[0], h.dst[1]
	w[pipe.WordL4] = uint64(h.l4src)<<48 | uint64(h.l4dst)<<32 | uint64(h.proto)<<24 | uint64(h.tos)<<16 |
		uint64(h.ttl)<<8 | uint64(h.tcpFlags)
	w[pipe.WordFlags] = uint64(h.flags) | uint64(h.ipFlags)<<20 | uint64(h.flowLabel)<<24 | uint64(h.icmpCode)<<48 |
		uint64(h.icmpType)<<56
	w[pipe.WordFrame] = uint64(pk.length)<<44 | uint64(pk.vid&0xfff)<<32 | uint64(h.tci[1])<<16 | uint64(h.tci[0])
	w[pipe.WordClass] = uint64(pk.tc) << 32
	if need&(1<<pipe.WordClass) != 0 {
		w[pipe.WordClass] |= uint64(flowHash(h, uint64(c.lagSeed)<<32|saltLAG))
	}
	w[pipe.WordRxCycle], w[pipe.WordCycle] = uint64(pk.rx), uint64(c.now)
	if need&rxWords != 0 {
		w[pipe.WordRxSec], w[pipe.WordRxFrac], w[pipe.WordRxNs] = c.clockWords(pk.rx)
	}
	if need&nowWords != 0 {
		w[pipe.WordSec], w[pipe.WordFrac], w[pipe.WordNs] = c.clockWords(c.now)
	}
}

// clockWords gives the time of day as three words of the PHV have it.
func (c *engine) clockWords(at Cycle) (seconds, fraction, ns uint64) {
	t := c.tod.Load().at(at)
	n := uint64(t.Nanoseconds)
	return t.Seconds & (1<<48 - 1), n<<32 | n<<32/nanos, t.Seconds*nanos + n
}

// ingressProgram is the ingress pipe, behind admission, where there is a program.
func (c *engine) ingressProgram(p *port, pk *packet) {
	c.ingressStages(p, pk)
	if pk.graph != nil {
		pk.run.ran, pk.run.hit = c.phv.Ran, c.phv.Hit
	}
}

func (c *engine) ingressStages(p *port, pk *packet) {
	last := max(c.prof.IngressStages, 1) - 1
	c.beginIngress(pk)
	if !c.runIngress(pk, 0, c.prof.IngressStages/2) {
		return
	}
	if len(p.tables[stageIngress]) > 0 || c.vlanACLs[stageIngress] {
		c.lookupIngress(p, pk)
		w := &c.phv.W
		w[pipe.WordPorts] = w[pipe.WordPorts]&^(1<<32-1) | uint64(pk.meta)
		w[pipe.WordClass] = w[pipe.WordClass]&^(0xff<<32) | uint64(pk.tc)<<32
	}
	if !c.runIngress(pk, c.prof.IngressStages/2, last) {
		return
	}
	c.forward(pk)
	v := &pk.verdict
	cpu := pk.act&(actCopy|actCancel) == actCopy
	c.steer(pk)
	if v.kind == toNobody && !cpu && !punted(c.phv) || !c.runIngress(pk, last, c.prof.IngressStages) {
		return
	}
	c.steer(pk)
	v.cpu = cpu || punted(c.phv)
	pk.run.program.Bridge(c.phv, &pk.run.bridge)
}

// runIngress runs stages of the ingress pipe and returns false if the program has
// dropped the packet.
func (c *engine) runIngress(pk *packet, from, to uint32) bool {
	v, prog := c.phv, pk.run.program
	on := prog.Run(v, from, to)
	if pk.graph != nil {
		prog.Always(v, false, from, to, on)
	}
	if wrote := prog.Writes(false); wrote&(headerWords|1<<pipe.WordPorts|1<<pipe.WordClass) != 0 {
		c.writeBack(v, pk, wrote)
	}
	if !on {
		pk.why = DropProgram
		pk.verdict = verdict{cpu: pk.act&(actCopy|actCancel) == actCopy || punted(v)}
	}
	return on
}

func punted(v *pipe.PHV) bool { return v.W[pipe.WordControl]>>1&1 != 0 }

// writeBack takes what the program has written to where fixed functions read it.
func (c *engine) writeBack(v *pipe.PHV, pk *packet, wrote uint32) {
	w := &v.W
	pk.meta = uint32(w[pipe.WordPorts])
	pk.tc = uint8(w[pipe.WordClass] >> 32)
	if wrote&headerWords == 0 {
		return
	}
	pk.run.rewritten = true
	h := headingOf(v)
	h.into(pk)
}

// steered reports whether the program says where the packet leaves.
func (c *engine) steered(pk *packet) bool {
	return pk.run != nil && uint16(c.phv.W[pipe.WordControl]>>16) != noPort
}

// steer sends the packet where the program says, if it may go anywhere.
func (c *engine) steer(pk *packet) {
	if !c.steered(pk) || pk.barred || pk.aclDrop || pk.act&actDrop != 0 {
		return
	}
	pk.verdict = verdict{cpu: pk.verdict.cpu}
	pk.why = DropNoDestination
	if p := c.port(PortID(c.phv.W[pipe.WordControl] >> 16)); p != nil {
		pk.verdict.kind, pk.verdict.port = toPort, p
	}
}
