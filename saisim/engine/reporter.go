package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tailstamp"
)

// reporter makes reports of noted drops, and sends them.
type reporter struct {
	*core
	watch  *watch
	fates  *fates
	bridge *bridge
	queues *queues
	wires  *wires
	egress *egressPipe
	reporting

	frame  []byte // the frame under construction
	h      headers
	record reportRecord
	left   packet // a reported frame, as it leaves
}

// maxReport is the longest frame of a report, with IPv6.
const maxReport = ethernetHeader + config.MaxReportMTU

// leave sends the completed frame, which holds a message to a collector.
func (c *reporter) leave(x *sending) {
	x.finish(c.frame)
	n := len(c.frame)
	pk := c.newPacket(&Frame{Data: c.frame}, n)
	pk.in, pk.inN, pk.rx, pk.refs = CPUPort, tailstamp.NoPort, c.now, 1
	pk.h.parse(pk.data, n)
	cp := c.copy(pk, tagAction{})
	cp.raw, cp.mirror = true, &x.encap
	c.frameCounts.Copies++
	if c.ledger != nil {
		c.ledger.Copied(pk.id, 1)
	}
	to := x.port
	if x.lag != nil {
		to = c.bridge.member(x.lag, pk)
	}
	if c.observer != nil {
		port := CPUPort
		if to != nil {
			port = to.id
		}
		c.watch.saw(MomentMirrored, pk, cp.number, port)
	}
	switch {
	case x.row.Local:
		c.toCPU(x, cp)
	case to == nil:
		c.fates.dropCopy(nil, cp, drop.NoLAGMember)
	default:
		x.encap.tc = to.class.defaultTC
		if to.class.dscp != nil {
			x.encap.tc = to.class.dscp[x.dscp]
		}
		c.queues.enqueue(to, cp)
	}
	c.fates.release(pk)
}

// toCPU hands a report to the CPU, unless the policer of its trap drops it.
func (c *reporter) toCPU(x *sending, cp *copyOf) {
	pk, now := cp.pk, c.now
	if x.policer != nil && !x.policer.passes(now, uint64(pk.length+fcsLen)) {
		c.fates.dropCopy(nil, cp, drop.Policer)
		return
	}
	c.wires.run(now)
	c.now = now
	c.frameCounts.ToCPU++
	if c.observer != nil {
		m := c.watch.moment(MomentPunted, pk, cp.number, CPUPort)
		m.Data, m.Len = pk.data, pk.length
		c.observer(m)
	}
	c.out(&Out{
		Port: CPUPort, In: CPUPort, At: now, Data: pk.data, Len: pk.length, ID: pk.id, Trap: config.TrapTAM,
		Queue: x.row.Queue,
	})
	c.freeCopy(cp)
	c.fates.release(pk)
}
