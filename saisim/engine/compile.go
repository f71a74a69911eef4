package engine

import (
	"slices"

	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
)

// Apply compiles a change. Compiled rows are changed in place, so that packets that hold them see the change, and
// counts are kept.
func (c *Engine) Apply(ch config.Change) {
	recorded := len(c.recording.plans) > 0
	reporting := false
	for _, x := range ch {
		reporting = reporting || reports(x.Row)
		if c.router.applyRouting(x.Row, x.Gone) {
			continue
		}
		c.applyPorts(x.Row, x.Gone)
		c.acl.applyACL(x.Row, x.Gone)
		c.applyTAM(x.Row, x.Gone)
	}
	if reporting { // immediately, not at the next packet: a stream that ends here begins again, even if it returns
		c.reporter.derive()
	}
	if !recorded && len(c.recording.plans) > 0 { // a first plan, not one that replaces another plan
		c.recording.paths.begin(c.programs.described())
	}
}

// reports reports whether a row affects the reporting of drops or hops.
func reports(row config.Row) bool {
	switch row.(type) {
	case config.TAM, config.TAMEvent, config.TAMCollector, config.TAMInt:
		return true
	}
	return false
}

// applyPorts compiles rows of the switch, of samplers and readouts, of ports and their buffers, and of the bridge
// between the ports.
func (c *Engine) applyPorts(row config.Row, gone bool) {
	switch r := row.(type) {
	case config.Switch:
		c.applySwitch(r, gone)
	case config.Sampler:
		c.mirrors.samples.applySampler(r, gone)
	case config.Port:
		c.macs.applyPort(r, gone)
	case config.LAG:
		c.bridge.applyLAG(r, gone)
	case config.BridgePort:
		c.bridge.applyBridgePort(r, gone)
	case config.VLAN:
		c.bridge.applyVLAN(r, gone)
	case config.FDBEntry:
		c.bridge.applyFDB(r, gone)
	case config.Pool:
		c.queues.applyPool(r, gone)
	case config.Readout:
		c.readouts.apply(r, gone, c.now)
	}
}

// applyTAM compiles rows of measurements and of copies.
func (c *Engine) applyTAM(row config.Row, gone bool) {
	switch r := row.(type) {
	case config.Policer:
		c.traps.applyPolicer(r, gone)
	case config.Counter:
		c.traps.applyCounter(r, gone)
	case config.TrapRule:
		c.traps.applyTrap(r, gone)
	case config.TrapDefault:
		c.traps.applyDefault(r, gone)
	case config.Mirror:
		c.mirrors.applyMirror(r, gone)
	case config.TAMCollector:
		c.reporter.applyCollector(r, gone)
	case config.TAMEvent:
		c.reporter.applyEvent(r, gone)
	case config.TAM:
		c.reporter.applyTAM(r, gone)
		c.egress.ifa.applyTransit(r, gone)
	case config.TAMInt:
		c.applyTAMInt(r, gone)
		c.reporter.applyIFA(r)
	case config.AltMark:
		c.marking.applyAltMark(r, gone)
	case config.AltMarkOuter:
		c.marking.outers.apply(r, gone)
	case config.Sketch:
		c.sketch.apply(r, gone)
	case config.RecordPlan:
		c.recording.applyRecordPlan(r, gone)
	case config.MSSClamp:
		c.clamps.apply(r, gone)
	}
}

// derive updates the lists that follow from several rows, once for all changes between two packets. It visits all
// ports, LAGs and VLANs with their members, and addresses that belong to several neighbours. Its cost is independent of
// the number of ACL entries, routes and addresses.
func (c *Engine) derive() {
	c.stale = false
	c.reporter.derive()
	c.router.sortShared()
	for _, l := range c.bridge.lags {
		l.active = l.active[:0]
		for _, m := range l.members {
			m.port.in = admission{
				lag: l, source: l.bridgePort, router: l.rif, subPorts: l.subPorts, pvid: l.pvid, priority: l.priority,
				dropTagged: l.dropTagged, dropUntagged: l.dropUntagged, closed: m.ingressDisabled,
			}
			if m.port.up && !m.egressDisabled {
				l.active = append(l.active, m.port)
			}
		}
	}
	for _, p := range c.ports {
		if p.lag == nil {
			p.in = admission{
				source: p.bridgePort, router: p.rif, subPorts: p.subPorts, pvid: p.pvid, priority: p.priority,
				dropTagged: p.dropTagged, dropUntagged: p.dropUntagged,
			}
		}
		for stage := range p.tables {
			p.mirror[stage] = c.mirrorSet(p.mirrors[stage])
			points := []config.ID{p.acl[stage], c.acl.switchACL[stage]}
			if p.lag != nil {
				points = append(points, p.lag.acl[stage])
			}
			p.tables[stage] = c.acl.lookups(p.tables[stage][:0], points)
			p.sampled[stage] = p.sampling[stage].chooser(stage, ofPorts)
		}
		p.in.untagged = p.in.vlan(&c.vlans)
		p.in.untaggedRIF = p.in.reaches()
		p.off = p.closed(c.recorders)
	}
	c.acl.preIngress = c.acl.lookups(c.acl.preIngress[:0], []config.ID{c.acl.switchACL[config.PreIngress]})
	c.acl.vlanACLs = [2]bool{}
	for _, v := range c.vlans {
		if v == nil {
			continue
		}
		v.flood = v.flood[:0]
		for _, m := range v.members {
			v.flood = append(v.flood, m.bp)
		}
		slices.SortFunc(v.flood, func(a, b *bridgePort) int { return a.order() - b.order() })
		v.noUnknown = c.bridge.noFlood.Unknown || v.noFlood.Unknown
		v.noMulticast = c.bridge.noFlood.Multicast || v.noFlood.Multicast
		v.noBroadcast = c.bridge.noFlood.Broadcast || v.noFlood.Broadcast
		for stage := range v.tables {
			v.tables[stage] = c.acl.lookups(v.tables[stage][:0], []config.ID{v.acl[stage]})
			c.acl.vlanACLs[stage] = c.acl.vlanACLs[stage] || len(v.tables[stage]) > 0
		}
	}
}

// vlan returns the VLAN of an untagged frame, nil if the frame is not admitted.
func (in *admission) vlan(vlans *[4096]*vlan) *vlan {
	if in.dropUntagged || in.closed || in.router != nil || in.pvid > 4094 || in.source == nil || !in.source.admin ||
		!in.source.member(in.pvid) {
		return nil
	}
	return vlans[in.pvid]
}

// reaches returns the router interface of an untagged frame, nil if the frame is not admitted or there is none.
func (in *admission) reaches() *rif {
	switch {
	case in.untagged != nil:
		return in.untagged.rif
	case in.dropUntagged || in.closed:
		return nil
	}
	return in.router
}

// applySwitch compiles the switch.
func (c *Engine) applySwitch(r config.Switch, gone bool) {
	c.stale = true
	if gone {
		return // a new switch object creates all its objects again
	}
	c.egress.ifa.bind(r.TAMs)
	c.switchMAC, c.router.cpu, c.bridge.noFlood = mac48(r.MAC[:]), r.CPU, r.NoFlood
	c.lagHash, c.router.ecmpHash = r.LAGHash, r.ECMPHash
	c.toReport.tams, c.queues.trim = r.TAMs, r.Trim
	c.acl.switchACL = [config.NumStages]config.ID{r.IngressACL, r.EgressACL, r.PreIngressACL}
	age, _ := mulDiv(uint64(r.AgingSeconds), c.prof.ClockHz, 1)
	if c.bridge.fdb.age != Cycle(age) {
		c.bridge.fdb.age = Cycle(age)
		c.bridge.sweepFor(c.now)
	}
}

// Reset returns the packet path to its state before the switch object is created. Frames in it are dropped. Time and
// the frame counts of [FrameCounts] continue.
func (c *Engine) Reset() {
	c.clear()
	c.agenda = &agenda{}
	c.ids, c.skips, c.switchMAC = map[config.ID]any{}, 0, 0
	c.byID, c.ports = make([]*port, c.prof.FirstLane+c.prof.Lanes), nil
	c.ingressCycles, c.egressCycles = Cycle(c.prof.IngressCycles()), Cycle(c.prof.EgressCycles())
	c.vlans, c.recorders = [4096]*vlan{}, 0
	c.mirrored = make([]*mirrorSession, min(c.prof.MirrorSessions, profile.MaxMirrors))
	c.queues.reset()
	c.programs.reset()
	c.traps.reset()
	c.acl.reset()
	c.bridge.reset()
	c.router.reset()
	c.marking.reset()
	c.clamps.reset()
	c.sketch.reset()
	c.recording.reset()
	c.reporter.reset()
	c.egress.ifa.reset()
	c.readouts.reset()
}

// clear drops every frame.
func (c *Engine) clear() {
	for _, p := range c.ports {
		c.macs.purge(p)
	}
	for c.enter.Len() > 0 {
		c.fates.drop(nil, c.enter.First().pk, drop.PortRemoved)
		c.enter.Pop()
	}
	for c.pipe.Len() > 0 { // c.ended is empty between two calls of the engine
		c.fates.drop(nil, c.pipe.First().pk, drop.PortRemoved)
		c.pipe.Pop()
	}
	for c.leaving.Len() > 0 {
		c.fates.release(c.leaving.First().copy.pk)
		c.leaving.Pop()
	}
}
