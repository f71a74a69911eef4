package engine

import (
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/tailstamp"
	"tamtam/saisim/tm"
)

// applyPort compiles a port.
func (c *macs) applyPort(r config.Port, gone bool) {
	c.stale = true
	p := at[*port](c.core, r.ID)
	if gone {
		c.removePort(p)
		delete(c.ids, r.ID)
		return
	}
	fresh := p == nil
	if fresh {
		p = &port{name: r.ID, id: r.Port, sampling: [2]sampling{{stream: 2 * uint64(r.Port)}, {stream: 2*uint64(r.Port) + 1}},
			flow:   flowControl{refresh: never},
			queues: tm.NewPort[*copyOf](c.queues.buffer, uint16(r.Port), int(c.prof.Queues))}
		c.ids[r.ID], c.byID[p.id] = p, p
		i, _ := slices.BinarySearchFunc(c.ports, p.id, func(p *port, id PortID) int { return int(p.id) - int(id) })
		c.ports = slices.Insert(c.ports, i, p)
	}
	p.up, p.mtu, p.number = r.Admin && r.Link, r.MTU, r.Number
	if p.stampMTU = r.MTU; r.StampMTU > 0 {
		p.stampMTU = min(r.MTU, r.StampMTU)
	}
	p.pvid, p.priority, p.dropTagged, p.dropUntagged = r.PVID, r.Priority, r.DropTagged, r.DropUntagged
	p.acl = [2]config.ID{r.IngressACL, r.EgressACL}
	p.tams = r.TAMs
	p.mirrors = [2][]config.ID{r.IngressMirrors, r.EgressMirrors}
	for stage, id := range [2]config.ID{r.IngressSampler, r.EgressSampler} {
		p.sampling[stage].rebind(at[*sampler](c.core, id))
	}
	p.class = qosClass{
		r.QoS.DSCP, r.QoS.Dot1p, r.QoS.DefaultTC, r.QoS.Queue, colourMaps{r.QoS.DSCPColour, r.QoS.Dot1pColour},
		r.QoS.Group, r.QoS.TrimDSCP,
	}
	p.queues.Fill(uint64(c.now))
	for i, s := range r.QoS.Queues {
		p.queues.Configure(i, s)
		c.queues.limitBurst(p, i, s.Burst)
	}
	p.queues.Shape(r.QoS.Shaper)
	p.flow.FlowControl = r.FlowControl
	c.queues.hold(p)
	c.queues.configure(p.id, &r.QoS.Groups, fresh)
	c.queues.accounts.moved = true
	c.queues.reshape(p)
	if p.mbps != r.Mbps {
		c.setSpeed(p, r.Mbps)
	}
}

func (c *macs) setSpeed(p *port, mbps uint32) {
	p.mbps, p.rate = mbps, newLineRate(c.prof.ClockHz, mbps)
	p.txRate = p.rate
	// Frames on the wire continue. Fractions of cycles have a new unit.
	p.rxFree, p.txFree = instant{cycle: p.rxFree.ceil()}, instant{cycle: p.txFree.ceil()}
	p.own = instant{cycle: p.own.ceil()}
	if c.queues.waiting.has(p.id) { // its MAC may now be free a cycle later
		c.queues.stopWaiting(p)
		c.queues.offer(p)
	}
}

func (c *macs) removePort(p *port) {
	c.purge(p)
	c.queues.configure(p.id, new([config.PriorityGroups]tm.GroupSettings), false)
	p.up, p.off = false, everyCut // packets in flight to the port find it down
	p.number = tailstamp.NoPort
	c.byID[p.id] = nil
	c.ports = slices.DeleteFunc(c.ports, func(q *port) bool { return q == p })
}

// purge drops every frame that a port holds.
func (c *macs) purge(p *port) {
	for i := range p.queues.Queues() {
		c.queues.limitBurst(p, i, tm.BurstLimits{})
	}
	c.arriving.remove(p.id, func(cp *copyOf) { c.fates.drop(p, cp.pk, drop.PortRemoved) })
	p.queues.Purge(func(cp *copyOf) {
		if cp.mirror == nil {
			c.queues.uncharge(cp.pk)
		}
		c.fates.dropBefore(p, cp, drop.PortRemoved)
	})
	if c.queues.waiting.has(p.id) {
		c.queues.stopWaiting(p)
	}
	c.wires.leaving.remove(p.id, func(cp *copyOf) {
		if cp.pk == nil {
			c.wires.endPause(cp)
			return
		}
		c.fates.dropSent(p, cp, drop.PortRemoved)
	})
	for _, class := range []int{classDequeue, classPause, classRefresh} {
		c.agenda.remove(eventKey(class, p.id))
	}
}

// applyPool sets a pool's size to that of its row. The cells of a pool of queues come from the pool of the queues that
// have no pool of their own.
func (c *queues) applyPool(r config.Pool, gone bool) {
	b := c.buffer
	for r.Index >= len(b.Pools) {
		b.Pools = append(b.Pools, tm.Pool{})
	}
	if gone {
		r.Cells, r.Headroom = 0, 0
	}
	p := &b.Pools[r.Index]
	if !r.Ingress {
		b.Pools[0].Size += p.Size - r.Cells
	}
	if p.Size, p.Headroom = r.Cells, r.Headroom; gone {
		p.MaxUsed, p.MaxInHeadroom, p.Dropped = 0, 0, 0
	}
}
