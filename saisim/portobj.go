package saisim

import (
	"slices"
	"strconv"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/tailstamp"
	"tamtam/saisim/tm"
)

func (c *store) portKind() *kind {
	k := &kind{
		attrs: []sai.AttrID{
			sai.PortAttrHWLaneList, sai.PortAttrSpeed, sai.PortAttrAdminState, sai.PortAttrMTU,
			sai.PortAttrPortVLANID, sai.PortAttrDefaultVLANPriority, sai.PortAttrDropTagged, sai.PortAttrDropUntagged,
			sai.PortAttrIngressACL, sai.PortAttrEgressACL, sai.PortAttrTAMObject, sai.PortAttrMetaData,
			sai.PortAttrIngressMirrorSession, sai.PortAttrEgressMirrorSession,
			sai.PortAttrQoSDefaultTC, sai.PortAttrQoSDSCPToTCMap, sai.PortAttrQoSDot1pToTCMap, sai.PortAttrQoSTCToQueueMap,
			// read only
			sai.PortAttrType, sai.PortAttrOperStatus, sai.PortAttrOperSpeed, sai.PortAttrSupportedSpeed,
			sai.PortAttrQoSNumberOfQueues, sai.PortAttrQoSQueueList, sai.PortAttrSupportedFecMode,
			sai.PortAttrSupportedAutoNegMode, sai.PortAttrSupportedBreakoutModeType, sai.PortAttrNumberOfIngressPriorityGroups,
			sai.PortAttrQoSNumberOfSchedulerGroups, sai.PortAttrQoSSchedulerGroupList, sai.PortAttrIngressPriorityGroupList,
			sai.PortAttrPortSerdesID,
		},
		create: c.createPort,
		set:    c.setPort,
		remove: c.removePort,
		get:    c.getPort,
	}
	k.addPortStats()
	return k
}

// createPort makes a port of lanes that no other port uses; without lanes (at
// power up only) it is the CPU port.
func (c *store) createPort(o *object) error {
	lanes, ok := o.attr(sai.PortAttrHWLaneList).(sai.Uints)
	if !ok {
		return nil
	}
	p := &port{
		o: o, link: true, number: tailstamp.NoPort,
		mtu: uint32(o.number(sai.PortAttrMTU)), pvid: uint16(o.number(sai.PortAttrPortVLANID)),
	}
	bad := func(s sai.Status, format string, args ...any) error {
		return refuse("create", sai.ObjectTypePort, sai.PortAttrHWLaneList, s, format, args...)
	}
	if len(lanes) == 0 {
		return bad(sai.StatusInvalidParameter, "no lanes")
	}
	for _, l := range lanes {
		switch {
		case l < uint64(c.prof.FirstLane) || l >= uint64(len(c.lanes)):
			return bad(sai.StatusInvalidParameter, "the chip has no lane %d, want %d to %d", l, c.prof.FirstLane, len(c.lanes)-1)
		case c.lanes[l] != nil:
			return bad(sai.StatusItemAlreadyExists, "lane %d is in use by the port of lanes %v", l, c.lanes[l].lanes)
		case slices.Contains(p.lanes, uint32(l)):
			return bad(sai.StatusInvalidParameter, "lane %d is given twice", l)
		}
		p.lanes = append(p.lanes, uint32(l))
	}
	p.id = PortID(p.lanes[0])
	p.queues = tm.NewPort[copyOf](c.buffer, uint16(p.id), int(c.prof.Queues))
	o.self = p
	// The admin state is last: it tells of the port, and nothing after it may fail.
	attrs := slices.Clone(o.attrs)
	slices.SortStableFunc(attrs, func(a, b sai.Attr) int {
		return isAdmin(a) - isAdmin(b)
	})
	for _, a := range attrs {
		if err := c.setPort(o, a); err != nil {
			return err
		}
	}
	for _, l := range p.lanes {
		c.lanes[l] = p
	}
	c.byID[p.id] = p
	i, _ := slices.BinarySearchFunc(c.ports, p.id, func(p *port, id PortID) int { return int(p.id) - int(id) })
	c.ports = slices.Insert(c.ports, i, p)
	c.makeQueues(p)
	c.stale = true
	return nil
}

func isAdmin(a sai.Attr) int {
	if a.ID == sai.PortAttrAdminState {
		return 1
	}
	return 0
}

func (c *store) setPort(o *object, a sai.Attr) error {
	p, ok := o.self.(*port)
	if !ok {
		return badValue(a, sai.StatusNotSupported, "the CPU port cannot be changed")
	}
	c.stale = true
	switch v := a.Value.(type) {
	case sai.Bool:
		switch a.ID {
		case sai.PortAttrAdminState:
			was := p.up()
			p.admin = bool(v)
			c.portChanged(p, was)
		case sai.PortAttrDropTagged:
			p.dropTagged = bool(v)
		case sai.PortAttrDropUntagged:
			p.dropUntagged = bool(v)
		}
	case sai.OIDs:
		switch a.ID {
		case sai.PortAttrIngressMirrorSession:
			p.mirror[stageIngress] = c.mirrorSet(v)
		case sai.PortAttrEgressMirrorSession:
			p.mirror[stageEgress] = c.mirrorSet(v)
		}
	case sai.Uint:
		return c.setPortNumber(p, a, uint32(v))
	case sai.OID:
		switch a.ID {
		case sai.PortAttrQoSDSCPToTCMap, sai.PortAttrQoSDot1pToTCMap, sai.PortAttrQoSTCToQueueMap:
			return c.setPortMap(p, a, v)
		}
		return c.bind(a, v, &p.acl, sai.ACLBindPointTypePort, sai.PortAttrIngressACL)
	}
	return nil
}

func (c *store) setPortNumber(p *port, a sai.Attr, v uint32) error {
	switch a.ID {
	case sai.PortAttrSpeed:
		if !c.prof.SpeedFits(v, uint32(len(p.lanes))) {
			return badValue(a, sai.StatusInvalidParameter, "%d lanes do not run at %d Mb/s, want one of %v", len(p.lanes), v, c.speeds(p))
		}
		if v == p.mbps {
			return nil
		}
		p.mbps, p.rate = v, newLineRate(c.prof.ClockHz, v)
		// What is on the wire goes on; fractions of cycles have a new unit.
		p.rxFree, p.txFree = instant{cycle: p.rxFree.ceil()}, instant{cycle: p.txFree.ceil()}
		if c.waiting.has(p.id) { // its MAC may be free a cycle later now
			c.stopWaiting(p)
			c.offer(p)
		}
	case sai.PortAttrMTU:
		if v < minWire || v > c.prof.MTU {
			return badValue(a, sai.StatusInvalidParameter, "MTU %d, want %d to %d", v, minWire, c.prof.MTU)
		}
		p.mtu = v
	case sai.PortAttrQoSDefaultTC:
		if v >= maxTrafficClasses {
			return badValue(a, sai.StatusInvalidParameter, "traffic class %d, want 0 to %d", v, maxTrafficClasses-1)
		}
		p.class.defaultTC = uint8(v)
	case sai.PortAttrPortVLANID:
		if v > 4094 {
			return badValue(a, sai.StatusInvalidVLANID, "VLAN %d, want 0 to 4094", v)
		}
		p.pvid = uint16(v)
	case sai.PortAttrDefaultVLANPriority:
		if v > 7 {
			return badValue(a, sai.StatusInvalidParameter, "priority %d, want 0 to 7", v)
		}
		p.priority = uint8(v)
	}
	return nil
}

// speeds are the speeds that the port's lanes can run at.
func (c *store) speeds(p *port) (speeds sai.Uints) {
	for _, s := range c.prof.SpeedsMbps {
		if c.prof.SpeedFits(s, uint32(len(p.lanes))) {
			speeds = append(speeds, uint64(s))
		}
	}
	return speeds
}

// portChanged tells of a change of the port's operational state.
func (c *store) portChanged(p *port, was bool) {
	if p.up() == was {
		return
	}
	c.stale = true
	if c.portNotify {
		c.notify(sai.PortState{Port: p.o.key.OID, Oper: p.oper()})
	}
}

func (p *port) oper() sai.Enum {
	if p.up() {
		return sai.PortOperStatusUp
	}
	return sai.PortOperStatusDown
}

// SetLink says whether a port has a link; a new port has one. A port is
// operationally up while it has a link and its admin state is up.
func (c *Chip) SetLink(id PortID, up bool) bool {
	c.mu.Lock()
	defer c.unlock()
	p := c.port(id)
	if p == nil {
		return false
	}
	was := p.up()
	p.link = up
	c.portChanged(p, was)
	return true
}

func (c *store) removePort(o *object) error {
	p, ok := o.self.(*port)
	if !ok {
		return refuse("remove", sai.ObjectTypePort, 0, sai.StatusNotSupported, "the CPU port stays")
	}
	c.purge(p)
	p.admin = false // packets that are on their way to it find it down
	for _, l := range p.lanes {
		c.lanes[l] = nil
	}
	c.byID[p.id] = nil
	c.ports = slices.DeleteFunc(c.ports, func(q *port) bool { return q == p })
	for _, q := range p.queueObjects {
		delete(c.objects, q.key.OID)
		c.valid.Removed(q.key)
	}
	c.stale = true
	return nil
}

// purge drops every frame that a port holds.
func (c *engine) purge(p *port) {
	for p.rx.Len() > 0 {
		c.drop(p, p.rx.First().pk, DropPortRemoved)
		p.rx.Pop()
	}
	p.queues.Purge(func(cp copyOf) { c.dropBefore(p, &cp, DropPortRemoved) })
	if c.waiting.has(p.id) {
		c.stopWaiting(p)
	}
	for p.tx.Len() > 0 {
		c.dropSent(p, p.tx.First(), DropPortRemoved)
		p.tx.Pop()
	}
	for _, class := range []int{classSent, classDequeue, classReceived} {
		c.agenda.remove(eventKey(class, p.id))
	}
}

func (c *store) getPort(o *object, id sai.AttrID) sai.Value {
	p, ok := o.self.(*port)
	if !ok {
		switch id {
		case sai.PortAttrType:
			return sai.PortTypeCPU
		case sai.PortAttrOperStatus:
			return sai.PortOperStatusUp
		case sai.PortAttrQoSNumberOfQueues:
			return sai.Uint(0)
		case sai.PortAttrQoSQueueList:
			return sai.OIDs{}
		}
		return nil
	}
	switch id {
	case sai.PortAttrType:
		return sai.PortTypeLogical
	case sai.PortAttrOperStatus:
		return p.oper()
	case sai.PortAttrOperSpeed:
		return sai.Uint(p.mbps)
	case sai.PortAttrSupportedSpeed:
		return c.speeds(p)
	case sai.PortAttrQoSNumberOfQueues:
		return sai.Uint(len(p.queueObjects))
	case sai.PortAttrQoSQueueList:
		oids := make(sai.OIDs, len(p.queueObjects))
		for i, q := range p.queueObjects {
			oids[i] = q.key.OID
		}
		return oids
	case sai.PortAttrQoSNumberOfSchedulerGroups, sai.PortAttrNumberOfIngressPriorityGroups:
		return sai.Uint(0)
	case sai.PortAttrQoSSchedulerGroupList, sai.PortAttrIngressPriorityGroupList:
		return sai.OIDs{} // schedulers are the queues' own; the chip has no priority groups
	case sai.PortAttrSupportedFecMode:
		return sai.Enums{sai.PortFecModeNone}
	case sai.PortAttrSupportedBreakoutModeType:
		return sai.Enums{}
	case sai.PortAttrSupportedAutoNegMode:
		return sai.Bool(false)
	case sai.PortAttrPortSerdesID:
		return sai.NullOID // the chip's SerDes have no settings
	}
	return nil
}

func refuseCreate(t sai.ObjectType, why string) func(*object) error {
	return func(*object) error { return refuse("create", t, 0, sai.StatusNotSupported, "%s", why) }
}

func refuseRemove(why string) func(*object) error {
	return func(o *object) error { return refuse("remove", o.key.Type, 0, sai.StatusNotSupported, "%s", why) }
}

// port returns the port with an id, nil if there is none.
func (c *engine) port(id PortID) *port {
	if int(id) < len(c.byID) {
		return c.byID[id]
	}
	return nil
}

// Ports returns the chip's ports, in order.
func (c *Chip) Ports() []PortID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]PortID, len(c.ports))
	for i, p := range c.ports {
		ids[i] = p.id
	}
	return ids
}

// PortByName returns the port whose host interface has a name.
func (c *Chip) PortByName(name string) (PortID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.names[name]
	if p == nil {
		return 0, false
	}
	return p.id, true
}

// PortName returns the name of a port's host interface, "" if it has none.
func (c *Chip) PortName(id PortID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.port(id); p != nil {
		return p.name
	}
	return ""
}

// portNumber returns N of EthernetN.
func portNumber(name string) uint16 {
	digits, ok := strings.CutPrefix(name, "Ethernet")
	if n, err := strconv.ParseUint(digits, 10, 16); ok && err == nil {
		return uint16(n)
	}
	return tailstamp.NoPort
}
