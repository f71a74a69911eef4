package engine

import (
	"fmt"
	"math/bits"
	"strings"

	"tamtam/saisim/describe"
	"tamtam/saisim/drop"
	"tamtam/saisim/pipe"
	"tamtam/saisim/tm"
)

// Programs in the pipes. The tables of a program's stage run directly after the fixed function of that stage, if it has
// one:
//
//	ingress  stage 0: admission; IngressStages/2: ACL; the last: learning and forwarding
//	egress   the last stage: MTU, ACL, routing's and ACL's rewrite
//
// Later fixed functions see values that a program writes (addresses, DSCP, TTL, ACL metadata, traffic class). The
// program sees their changes in later stages. Header fields reach the bytes of a copy when it leaves, with its IPv4
// checksum adjusted. Frames for the CPU and mirror copies leave as received. Mirror copies do not run the program of
// the egress pipe.
//
// If ctl.drop is set at the end of a stage, the packet is dropped, for drop.Program. A copy for the CPU is still made
// if ctl.punt or a trap requests it. In the egress pipe the copy is dropped. If ctl.punt is set at the end of the
// ingress pipe, the CPU receives a copy, whatever forwarding decides. ctl.port replaces the decision of forwarding,
// which is skipped unless ctl.port is set in the last stage. A packet that ACLs, traps or the bridge drop is dropped
// nevertheless. If the port does not exist, the reason is drop.NoDestination.
//
// A packet runs the program that was loaded when it entered the ingress pipe, in both pipes. A packet that the CPU
// injects runs the program that was loaded at the cycle of the injection.

// programs is the chip's programmable part.
type programs struct {
	*core
	program       *pipe.Compiled // program of packets that enter the ingress pipe; nil if there is none
	phv           *pipe.PHV
	passive       passive
	batches       tm.Ring[scheduled]
	planned       *pipe.Compiled // program after all scheduled batches
	plannedFaults []pipe.Fault
	// programGraph is the chip's graph with the program, nil until it is needed.
	programGraph *chipGraph

	done []func() // functions to be called once the chip is unlocked

	sparePassages []*passage
	spareHeads    []*heading
}

// board assigns the current program to a packet that enters.
func (c *programs) board(pk *packet) {
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

// alight frees the program state of a packet that ends.
func (c *programs) alight(pk *packet) {
	c.sparePassages = append(c.sparePassages, pk.run)
	pk.run = nil
}

// begin fills the PHV with the admitted packets, each in the lane of its index, and returns the set of these lanes.
func (c *programs) begin(vec []entering) (on pipe.Set) {
	v, prog := c.phv, c.program
	v.Traced = c.tracking
	for i := range vec {
		x := &vec[i]
		if x.p == nil || !x.on {
			continue
		}
		on |= 1 << i
		c.now = x.at
		pk := x.pk
		pk.noted |= notedProgram
		if c.off&cutPassage != 0 {
			c.board(pk)
		} else {
			c.took(cutPassage)
		}
		if pk.graph != nil {
			v.Ran[i], v.Hit[i] = pk.run.ran, pk.run.hit
		}
		c.fillAll(i, pk, &pk.h)
		if c.noting {
			if pk.met.ran == nil {
				pk.met.ran = new(programLooks)
			}
			v.Looked[i] = pk.met.ran.begin(prog)
		}
	}
	prog.Begin(v, on)
	return on
}

// fillAll writes the fixed fields of a packet that enters the ingress pipe now.
func (c *programs) fillAll(i int, pk *packet, h *headers) {
	v := c.phv
	c.fill(v, i, pk, h, c.program.Reads(false)|c.program.Writes(false))
	v.W[pipe.WordPorts][i] = uint64(pk.in)<<48 | noPort<<32 | uint64(pk.meta)
	v.W[pipe.WordQueue][i] = 0
	v.W[pipe.WordControl][i] = noPort << 16
}

// setACL replaces the results of admission by those of ACL.
func (c *programs) setACL(i int, meta uint32, tc uint8) {
	ports, class := &c.phv.W[pipe.WordPorts][i], &c.phv.W[pipe.WordClass][i]
	*ports = *ports&^(1<<32-1) | uint64(meta)
	*class = *class&^(0xff<<32) | uint64(tc)<<32
}

// fill writes a packet's fixed fields that are the same in both pipes, as far as they are needed.
func (c *programs) fill(v *pipe.PHV, i int, pk *packet, h *headers, need uint32) {
	w := &v.W
	i &= pipe.Lanes - 1
	w[pipe.WordEthDst][i] = h.dmac | uint64(h.etherType)<<48
	w[pipe.WordEthSrc][i] = h.smac | uint64(h.ipID)<<48
	w[pipe.WordSrcHi][i], w[pipe.WordSrcLo][i] = h.src[0], h.src[1]
	w[pipe.WordDstHi][i], w[pipe.WordDstLo][i] = h.dst[0], h.dst[1]
	w[pipe.WordL4][i] = uint64(h.l4src)<<48 | uint64(h.l4dst)<<32 | uint64(h.proto)<<24 | uint64(h.tos)<<16 |
		uint64(h.ttl)<<8 | uint64(h.tcpFlags)
	w[pipe.WordFlags][i] = uint64(h.flags) | uint64(h.ipFlags)<<20 | uint64(h.flowLabel)<<24 | uint64(h.icmpCode)<<48 |
		uint64(h.icmpType)<<56
	w[pipe.WordFrame][i] = uint64(pk.length)<<44 | uint64(pk.vid&0xfff)<<32 | uint64(h.tci[1])<<16 | uint64(h.tci[0])
	w[pipe.WordClass][i] = uint64(pk.tc) << 32
	if need&(1<<pipe.WordClass) != 0 {
		w[pipe.WordClass][i] |= uint64(flowHash(h, uint64(c.lagHash.Seed)<<32|saltLAG))
	}
	if need&(1<<pipe.WordRxCycle|1<<pipe.WordCycle) != 0 {
		w[pipe.WordRxCycle][i], w[pipe.WordCycle][i] = uint64(pk.rx), uint64(c.now)
	}
	if need&rxWords != 0 {
		w[pipe.WordRxSec][i], w[pipe.WordRxFrac][i], w[pipe.WordRxNs][i] = c.clockWords(pk.rx)
	}
	if need&nowWords != 0 {
		w[pipe.WordSec][i], w[pipe.WordFrac][i], w[pipe.WordNs][i] = c.clockWords(c.now)
	}
}

// clockWords returns the time of day as three words of the PHV.
func (c *programs) clockWords(at Cycle) (seconds, fraction, ns uint64) {
	t, _ := c.timeOfDay(at)
	n := uint64(t.Nanoseconds)
	return t.Seconds & (1<<48 - 1), n<<32 | n<<32/nanos, t.Seconds*nanos + n
}

// runIngress runs stages of the ingress pipe for packets, and returns the packets that the program has not dropped.
func (c *programs) runIngress(vec []entering, in pipe.Set, from, to uint32) pipe.Set {
	v, prog := c.phv, c.program
	if c.found != nil {
		v.Found = func(lane uint8, table string, entry uint32, hit bool) {
			c.found(vec[lane].pk, Finding{Table: "ingress." + table, Hit: hit, Number: entry, Port: CPUPort})
		}
	}
	on := prog.Run(v, in, from, to)
	if c.tracking {
		prog.Always(v, false, in, on, from, to)
	}
	if wrote := prog.Writes(false); wrote&(headerWords|1<<pipe.WordPorts|1<<pipe.WordClass) != 0 {
		for rest := in; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(uint64(rest))
			c.writeBack(v, i, vec[i].pk, wrote)
		}
	}
	for gone := in &^ on; gone != 0; gone &= gone - 1 {
		i := bits.TrailingZeros64(uint64(gone))
		pk := vec[i].pk
		pk.why = drop.Program
		pk.verdict = verdict{cpu: pk.act&(actCopy|actCancel) == actCopy || c.punted(i)}
	}
	return on
}

// punted reports whether the program also sends the packet at an index to the CPU.
func (c *programs) punted(i int) bool { return c.phv.W[pipe.WordControl][i]>>1&1 != 0 }

// writeBack copies values that the program has written to where fixed functions read them.
func (c *programs) writeBack(v *pipe.PHV, i int, pk *packet, wrote uint32) {
	pk.meta = uint32(v.W[pipe.WordPorts][i])
	pk.tc = uint8(v.W[pipe.WordClass][i] >> 32)
	if wrote&headerWords == 0 {
		return
	}
	pk.run.rewritten = true
	h := headingOf(v, i)
	h.into(pk)
}

// steered reports whether the program chose the port of the packet at an index.
func (c *programs) steered(i int) bool {
	return uint16(c.phv.W[pipe.WordControl][i]>>16) != noPort
}

// steer sends the packet to the port that the program chose, unless it is dropped.
func (c *programs) steer(pk *packet, i int) {
	if !c.steered(i) || pk.barred || pk.aclDrop || pk.act&actDrop != 0 {
		return
	}
	pk.verdict = verdict{cpu: pk.verdict.cpu}
	pk.why = drop.NoDestination
	if p := c.port(PortID(c.phv.W[pipe.WordControl][i] >> 16)); p != nil {
		pk.verdict.kind, pk.verdict.port = toPort, p
	}
}

// A Batch changes the programs in the pipes at one cycle, and reads values.
type Batch struct {
	pipe.Batch
	// Done, if not nil, is called with the values read when the batch has taken effect. Like notifications, calls are
	// made in order and while the chip is unlocked.
	Done func(BatchResult)
}

// A BatchResult holds the values that a batch has read.
type BatchResult struct {
	At Cycle
	pipe.Result
}

// A scheduled batch waits for its cycle.
type scheduled struct {
	at      Cycle
	batch   Batch
	program *pipe.Compiled // program that runs afterwards
	faults  []pipe.Fault
}

// bits returns the number of PHV bits used by the current and all planned programs.
func (c *programs) bits(l pipe.Limits) uint64 {
	need := uint64(pipe.HeaderBits)
	programs := []*pipe.Compiled{c.program, c.planned}
	for i := range c.batches.Len() {
		programs = append(programs, c.batches.At(i).program)
	}
	for _, p := range programs {
		if p != nil {
			need = max(need, p.Program().Usage(l).PHVBits)
		}
	}
	return need
}

// skipped returns the fixed functions that faults skip.
func skipped(faults []pipe.Fault) (skips describe.Marks, err error) {
	for _, f := range faults {
		if !strings.HasPrefix(f.Table, "chip.") {
			continue
		}
		which := describe.NumFixed
		for _, x := range []describe.Fixed{describe.Trap, describe.ACL, describe.Learning, describe.IPv4Route,
			describe.IPv6Route, describe.FDB} {
			if x.String() == f.Table {
				which = x
			}
		}
		if which == describe.NumFixed {
			return 0, fmt.Errorf("fault: %.80q cannot be skipped, want a table of the program, chip.trap, chip.acl, "+
				"chip.learning, chip.ipv4_route, chip.ipv6_route or chip.fdb", f.Table)
		}
		skips |= which.Ran()
	}
	return skips, nil
}

// reset unloads the program and discards pending batches.
func (c *programs) reset() {
	c.program, c.planned, c.plannedFaults, c.programGraph, c.batches = nil, nil, nil, nil, tm.Ring[scheduled]{}
	c.passive = passive{most: c.passive.most}
}

// source returns the program that runs, nil if there is none.
func (c *programs) source() *pipe.Program {
	if c.program == nil {
		return nil
	}
	return c.program.Program()
}

// described returns the graph of the chip with the running program.
func (c *programs) described() *chipGraph {
	if c.programGraph == nil {
		var program *pipe.Program
		if c.program != nil {
			program = c.program.Program()
		}
		c.programGraph = newChipGraph(&c.prof, program)
	}
	return c.programGraph
}
