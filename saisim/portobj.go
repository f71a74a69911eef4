package saisim

import (
	"slices"
	"strconv"
	"strings"
	"tamtam/saisim/config"

	"tamtam/sai"
	"tamtam/saisim/tailstamp"
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
		row:    c.portRow,
		made:   c.portMade,
		set:    c.setPort,
		remove: c.removePort,
		get:    c.getPort,
	}
	c.addPortStats(k)
	return k
}

// A portObject is a front-panel port as SAI knows it; the CPU port has none.
type portObject struct {
	o         *object
	lanes     []uint32
	name      string // of its host interface
	unplugged bool   // it has no link
	queues    []*object
}

func (p *portObject) id() PortID { return PortID(p.lanes[0]) }

// createPort makes a port of lanes that no other port uses; without lanes (at
// power up only) it is the CPU port.
func (c *store) createPort(o *object) error {
	lanes, ok := o.attr(sai.PortAttrHWLaneList).(sai.Uints)
	if !ok {
		return nil
	}
	p := &portObject{o: o}
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
	o.self = p
	return nil
}

// portMade gives a new port its lanes and queues, and tells of one that is up.
func (c *store) portMade(o *object) {
	p, ok := o.self.(*portObject)
	if !ok {
		return
	}
	for _, l := range p.lanes {
		c.lanes[l] = p
	}
	c.makeQueues(p)
	if o.oper() == sai.PortOperStatusUp {
		c.portChanged(o)
	}
}

// setPort tells of a change of the operational state.
func (c *store) setPort(o *object, a sai.Attr) error {
	if _, ok := o.self.(*portObject); !ok {
		return badValue(a, sai.StatusNotSupported, "the CPU port cannot be changed")
	}
	if next := o.with(a); next.oper() != o.oper() {
		c.portChanged(next)
	}
	return nil
}

func (c *store) portChanged(o *object) {
	if c.portNotify {
		c.notify(sai.PortState{Port: o.key.OID, Oper: o.oper()})
	}
}

// oper is the operational state of a port.
func (o *object) oper() sai.Enum {
	if p := o.self.(*portObject); !p.unplugged && o.flag(sai.PortAttrAdminState) {
		return sai.PortOperStatusUp
	}
	return sai.PortOperStatusDown
}

// portRow is what a port's attributes, its name and the profiles of its queues say.
func (c *store) portRow(o *object) (config.Row, error) {
	p, ok := o.self.(*portObject)
	if !ok {
		return nil, nil
	}
	if err := c.checkPort(o, p); err != nil {
		return nil, err
	}
	n := o.number
	r := config.Port{
		ID: o.id(), Port: p.id(), Mbps: uint32(n(sai.PortAttrSpeed)), Admin: o.flag(sai.PortAttrAdminState),
		Link: !p.unplugged,
		MTU:  uint32(n(sai.PortAttrMTU)), PVID: uint16(n(sai.PortAttrPortVLANID)),
		Priority:   uint8(n(sai.PortAttrDefaultVLANPriority)),
		DropTagged: o.flag(sai.PortAttrDropTagged), DropUntagged: o.flag(sai.PortAttrDropUntagged),
		Number:     portNumber(p.name),
		IngressACL: o.refID(sai.PortAttrIngressACL), EgressACL: o.refID(sai.PortAttrEgressACL),
		IngressMirrors: o.refIDs(sai.PortAttrIngressMirrorSession), EgressMirrors: o.refIDs(sai.PortAttrEgressMirrorSession),
	}
	var err error
	r.QoS, err = c.portQoS(o, p)
	return r, err
}

func (c *store) checkPort(o *object, p *portObject) error {
	if v, set := sai.Find(o.attrs, sai.PortAttrSpeed); set &&
		!c.prof.SpeedFits(uint32(v.(sai.Uint)), uint32(len(p.lanes))) {
		return badValue(sai.Attr{ID: sai.PortAttrSpeed}, sai.StatusInvalidParameter,
			"%d lanes do not run at %d Mb/s, want one of %v", len(p.lanes), v, c.speeds(p))
	}
	for _, x := range []struct {
		id          sai.AttrID
		least, most uint64
		status      sai.Status
		what        string
	}{
		{sai.PortAttrMTU, minWire, uint64(c.prof.MTU), sai.StatusInvalidParameter, "MTU"},
		{sai.PortAttrQoSDefaultTC, 0, maxTrafficClasses - 1, sai.StatusInvalidParameter, "traffic class"},
		{sai.PortAttrPortVLANID, 0, 4094, sai.StatusInvalidVLANID, "VLAN"},
		{sai.PortAttrDefaultVLANPriority, 0, 7, sai.StatusInvalidParameter, "priority"},
	} {
		v, set := sai.Find(o.attrs, x.id)
		if n, _ := v.(sai.Uint); set && (uint64(n) < x.least || uint64(n) > x.most) {
			return badValue(sai.Attr{ID: x.id}, x.status, "%s %d, want %d to %d", x.what, n, x.least, x.most)
		}
	}
	return c.checkBinds(o, sai.ACLBindPointTypePort, sai.PortAttrIngressACL, sai.PortAttrEgressACL)
}

// putPort puts a port's row anew, whose attributes are what they were.
func (c *store) putPort(p *portObject) { _ = c.putRow(c.kinds[sai.ObjectTypePort], p.o) }

// SetLink says whether a port has a link; a new port has one. A port is
// operationally up while it has a link and its admin state is up.
func (c *Chip) SetLink(id PortID, up bool) bool {
	c.mu.Lock()
	defer c.unlock()
	p := c.portObject(id)
	if p == nil {
		return false
	}
	was := p.o.oper()
	p.unplugged = !up
	if p.o.oper() != was {
		c.portChanged(p.o)
	}
	c.putPort(p)
	c.commit()
	return true
}

// portObject returns the port with an id, nil if there is none.
func (c *store) portObject(id PortID) *portObject {
	if int(id) < len(c.lanes) && c.lanes[id] != nil && c.lanes[id].id() == id {
		return c.lanes[id]
	}
	return nil
}

func (c *store) removePort(o *object) error {
	p, ok := o.self.(*portObject)
	if !ok {
		return refuse("remove", sai.ObjectTypePort, 0, sai.StatusNotSupported, "the CPU port stays")
	}
	for _, l := range p.lanes {
		c.lanes[l] = nil
	}
	for _, q := range p.queues {
		delete(c.objects, q.key.OID)
		c.valid.Removed(q.key)
	}
	return nil
}

// speeds are the speeds that the port's lanes can run at.
func (c *store) speeds(p *portObject) (speeds sai.Uints) {
	for _, s := range c.prof.SpeedsMbps {
		if c.prof.SpeedFits(s, uint32(len(p.lanes))) {
			speeds = append(speeds, uint64(s))
		}
	}
	return speeds
}

func (c *store) getPort(o *object, id sai.AttrID) sai.Value {
	p, ok := o.self.(*portObject)
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
		return o.oper()
	case sai.PortAttrOperSpeed:
		return sai.Uint(o.number(sai.PortAttrSpeed))
	case sai.PortAttrSupportedSpeed:
		return c.speeds(p)
	case sai.PortAttrQoSNumberOfQueues:
		return sai.Uint(len(p.queues))
	case sai.PortAttrQoSQueueList:
		return oidsOf(p.queues)
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
	return p.id(), true
}

// PortName returns the name of a port's host interface, "" if it has none.
func (c *Chip) PortName(id PortID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.portObject(id); p != nil {
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
