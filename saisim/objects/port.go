package objects

import (
	"slices"
	"strconv"
	"strings"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects/counts"
	"tamtam/saisim/objects/qosmap"
	"tamtam/saisim/tailstamp"
)

// ports is the area of the front-panel ports with their queues and host interfaces, and of the LAGs.
type ports struct {
	*core
	acls       *acls                      // for bindings to ports and LAGs
	extra      map[sai.StatID]counts.Port // statistics that exist only temporarily
	lanes      []*port                    // port that uses each lane
	names      map[string]*port           // ports by host interface; nil if it is not of a port
	portNotify bool
}

func newPorts(c *core, a *acls) *ports {
	return &ports{
		core: c, acls: a, lanes: make([]*port, c.prof.FirstLane+c.prof.Lanes), names: map[string]*port{},
		extra: map[sai.StatID]counts.Port{},
	}
}

func (ps *ports) portKind() *kind {
	k := &kind{
		attrs: []sai.AttrID{
			sai.PortAttrHWLaneList, sai.PortAttrSpeed, sai.PortAttrAdminState, sai.PortAttrMTU,
			sai.PortAttrPortVLANID, sai.PortAttrDefaultVLANPriority, sai.PortAttrDropTagged, sai.PortAttrDropUntagged,
			sai.PortAttrIngressACL, sai.PortAttrEgressACL, sai.PortAttrTAMObject,
			sai.PortAttrIngressMirrorSession, sai.PortAttrEgressMirrorSession,
			sai.PortAttrIngressSamplepacketEnable, sai.PortAttrEgressSamplepacketEnable,
			sai.PortAttrQoSDefaultTC, sai.PortAttrQoSDSCPToTCMap, sai.PortAttrQoSDot1pToTCMap, sai.PortAttrQoSTCToQueueMap,
			sai.PortAttrQoSTCToPriorityGroupMap, sai.PortAttrQoSPfcPriorityToPriorityGroupMap,
			sai.PortAttrQoSPfcPriorityToQueueMap, sai.PortAttrPriorityFlowControlMode, sai.PortAttrPriorityFlowControl,
			sai.PortAttrPriorityFlowControlRx, sai.PortAttrPriorityFlowControlTx,
			sai.PortAttrQoSSchedulerProfileID, sai.PortAttrQoSDSCPToColorMap, sai.PortAttrQoSDot1pToColorMap,
			sai.PortAttrQoSTCAndColorToDSCPMap,
			// read only
			sai.PortAttrType, sai.PortAttrOperStatus, sai.PortAttrOperSpeed, sai.PortAttrSupportedSpeed,
			sai.PortAttrQoSNumberOfQueues, sai.PortAttrQoSQueueList, sai.PortAttrSupportedFecMode,
			sai.PortAttrSupportedAutoNegMode, sai.PortAttrSupportedBreakoutModeType, sai.PortAttrNumberOfIngressPriorityGroups,
			sai.PortAttrQoSNumberOfSchedulerGroups, sai.PortAttrQoSSchedulerGroupList, sai.PortAttrIngressPriorityGroupList,
			sai.PortAttrPortSerdesID, sai.PortAttrQoSMaximumHeadroomSize,
		},
		stored: map[sai.AttrID]string{
			sai.PortAttrMetaData:                    "packets have no metadata of their port",
			sai.PortAttrQoSIngressBufferProfileList: "the pools of priority groups have no limit per port",
			sai.PortAttrQoSEgressBufferProfileList:  "the pools of queues have no limit per port",
		},
		create: ps.createPort,
		row:    ps.portRow,
		made:   ps.portMade,
		set:    ps.setPort,
		remove: ps.removePort,
		get:    ps.getPort,
	}
	ps.addPortStats(k)
	return k
}

// shortest is the length of the shortest frame on a wire, with FCS.
const shortest = 64

// A port is the SAI state of a front-panel port. The CPU port has none.
type port struct {
	o         *object
	lanes     []uint32
	name      string // name of its host interface
	hostif    *object
	unplugged bool // true if the port has no link
	stampMTU  uint32
	lost      counts.Lost
	// parts holds the objects that come and go with the port, such as its queues.
	parts, queues, schedulers, priorityGroups []*object
	uses
}

func (p *port) id() engine.PortID { return engine.PortID(p.lanes[0]) }

// createPort makes a port of lanes that no other port uses. Without lanes, which occurs at power-up only, it is the CPU
// port.
func (ps *ports) createPort(o *object) error {
	lanes, ok := o.attr(sai.PortAttrHWLaneList).(sai.Uints)
	if !ok {
		return nil
	}
	p := &port{o: o}
	bad := func(s sai.Status, format string, args ...any) error {
		return badCreate(sai.PortAttrHWLaneList, s, format, args...)
	}
	if len(lanes) == 0 {
		return bad(sai.StatusInvalidParameter, "no lanes")
	}
	for _, l := range lanes {
		switch {
		case l < uint64(ps.prof.FirstLane) || l >= uint64(len(ps.lanes)):
			return bad(sai.StatusInvalidParameter, "the chip has no lane %d, want %d to %d",
				l, ps.prof.FirstLane, len(ps.lanes)-1)
		case ps.lanes[l] != nil:
			return bad(sai.StatusItemAlreadyExists, "lane %d is in use by the port of lanes %v", l, ps.lanes[l].lanes)
		case slices.Contains(p.lanes, uint32(l)):
			return bad(sai.StatusInvalidParameter, "lane %d is given twice", l)
		}
		p.lanes = append(p.lanes, uint32(l))
	}
	o.self = p
	return nil
}

// portMade gives a new port its lanes and parts, and sends a notification if it is up.
func (ps *ports) portMade(o *object) {
	p, ok := o.self.(*port)
	if !ok {
		return
	}
	for _, l := range p.lanes {
		ps.lanes[l] = p
	}
	ps.makeParts(p)
	if o.oper() == sai.PortOperStatusUp {
		ps.portChanged(o)
	}
}

// setPort sends a notification if the operational state changes.
func (ps *ports) setPort(o *object, a sai.Attr) error {
	if _, ok := o.self.(*port); !ok {
		return badValue(a.ID, sai.StatusNotSupported, "the CPU port cannot be changed")
	}
	if next := o.with(a); next.oper() != o.oper() {
		ps.portChanged(next)
	}
	return nil
}

func (ps *ports) portChanged(o *object) {
	if ps.portNotify {
		ps.notify(sai.PortState{Port: o.key.OID, Oper: o.oper()})
	}
}

// oper returns the operational state of a port.
func (o *object) oper() sai.Enum {
	if p := o.self.(*port); !p.unplugged && o.flag(sai.PortAttrAdminState) {
		return sai.PortOperStatusUp
	}
	return sai.PortOperStatusDown
}

// portRow returns the row that follows from a port's attributes, its name and the profiles of its queues.
func (ps *ports) portRow(o *object) (config.Row, error) {
	p, ok := o.self.(*port)
	if !ok {
		return nil, nil
	}
	if err := ps.checkPort(o, p); err != nil {
		return nil, err
	}
	n := o.number
	r := config.Port{
		ID: o.id(), Port: p.id(), Mbps: uint32(n(sai.PortAttrSpeed)), Admin: o.flag(sai.PortAttrAdminState),
		Link: !p.unplugged, StampMTU: p.stampMTU,
		MTU: uint32(n(sai.PortAttrMTU)), PVID: uint16(n(sai.PortAttrPortVLANID)),
		Priority:   uint8(n(sai.PortAttrDefaultVLANPriority)),
		DropTagged: o.flag(sai.PortAttrDropTagged), DropUntagged: o.flag(sai.PortAttrDropUntagged),
		Number:     portNumber(p.name),
		IngressACL: o.refID(sai.PortAttrIngressACL), EgressACL: o.refID(sai.PortAttrEgressACL),
		TAMs:           o.refIDs(sai.PortAttrTAMObject),
		IngressMirrors: o.refIDs(sai.PortAttrIngressMirrorSession), EgressMirrors: o.refIDs(sai.PortAttrEgressMirrorSession),
		IngressSampler: o.refID(sai.PortAttrIngressSamplepacketEnable),
		EgressSampler:  o.refID(sai.PortAttrEgressSamplepacketEnable),
	}
	var err error
	r.QoS, r.FlowControl, err = ps.portQoS(o, p)
	return r, err
}

func (ps *ports) checkPort(o *object, p *port) error {
	if v, set := sai.Find(o.attrs, sai.PortAttrSpeed); set &&
		!ps.prof.SpeedFits(uint32(v.(sai.Uint)), uint32(len(p.lanes))) {
		return badValue(sai.PortAttrSpeed, sai.StatusInvalidParameter,
			"%d lanes do not run at %d Mb/s, want one of %v", len(p.lanes), v, ps.speeds(p))
	}
	if err := o.withinIfSet(
		bound{id: sai.PortAttrMTU, what: "MTU ", least: shortest, most: uint64(ps.prof.MTU)},
		bound{id: sai.PortAttrQoSDefaultTC, what: "traffic class ", most: qosmap.TrafficClasses - 1},
		bound{id: sai.PortAttrPortVLANID, what: "VLAN ", most: 4094, status: sai.StatusInvalidVLANID},
		bound{id: sai.PortAttrDefaultVLANPriority, what: "priority ", most: 7},
	); err != nil {
		return err
	}
	for _, list := range []struct {
		id      sai.AttrID
		ingress bool
	}{{sai.PortAttrQoSIngressBufferProfileList, true}, {sai.PortAttrQoSEgressBufferProfileList, false}} {
		profiles, _ := o.attr(list.id).(sai.OIDs)
		if err := ps.checkProfiles(list.id, list.ingress, false, profiles...); err != nil {
			return err
		}
	}
	if err := ps.checkTAMs(o, sai.PortAttrTAMObject, sai.TAMBindPointTypePort); err != nil {
		return err
	}
	return ps.acls.checkBinds(o, sai.ACLBindPointTypePort, sai.PortAttrIngressACL, sai.PortAttrEgressACL)
}

// putPort puts a port's row again, after a change of an object that its attributes refer to.
func (ps *ports) putPort(p *port) { _ = ps.putRow(ps.kinds[sai.ObjectTypePort], p.o) }

// putPorts puts the rows of all ports again, after a change of a profile or map.
func (ps *ports) putPorts() {
	for _, p := range ps.all() {
		ps.putPort(p)
	}
}

// setWire sets the link state and stamp MTU of a port, notifies of a changed operational state, and reports whether
// anything has changed.
func (ps *ports) setWire(p *port, up bool, stampMTU uint32) bool {
	if p.unplugged == !up && p.stampMTU == stampMTU {
		return false
	}
	was := p.o.oper()
	p.unplugged, p.stampMTU = !up, stampMTU
	if p.o.oper() != was {
		ps.portChanged(p.o)
	}
	ps.putPort(p)
	return true
}

// byID returns the port with an id, or nil if there is none.
func (ps *ports) byID(id engine.PortID) *port {
	if int(id) < len(ps.lanes) && ps.lanes[id] != nil && ps.lanes[id].id() == id {
		return ps.lanes[id]
	}
	return nil
}

// all returns all ports, in order.
func (ps *ports) all() (ports []*port) {
	for i, p := range ps.lanes {
		if p != nil && int(p.id()) == i {
			ports = append(ports, p)
		}
	}
	return ports
}

func (ps *ports) oids() sai.OIDs {
	oids := sai.OIDs{}
	for _, p := range ps.all() {
		oids = append(oids, p.o.key.OID)
	}
	return oids
}

func (ps *ports) removePort(o *object) error {
	p, ok := o.self.(*port)
	if !ok {
		return refuse("remove", sai.ObjectTypePort, 0, sai.StatusNotSupported, "the CPU port stays")
	}
	for _, l := range p.lanes {
		ps.lanes[l] = nil
	}
	for _, x := range p.parts {
		delete(ps.objects, x.key.OID)
		ps.valid.Removed(x.key)
	}
	return nil
}

// speeds returns the speeds at which the port's lanes can run.
func (ps *ports) speeds(p *port) (speeds sai.Uints) {
	for _, s := range ps.prof.SpeedsMbps {
		if ps.prof.SpeedFits(s, uint32(len(p.lanes))) {
			speeds = append(speeds, uint64(s))
		}
	}
	return speeds
}

func (ps *ports) getPort(o *object, id sai.AttrID) sai.Value {
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
		return o.oper()
	case sai.PortAttrOperSpeed:
		return sai.Uint(o.number(sai.PortAttrSpeed))
	case sai.PortAttrSupportedSpeed:
		return ps.speeds(p)
	case sai.PortAttrQoSNumberOfQueues:
		return sai.Uint(len(p.queues))
	case sai.PortAttrQoSQueueList:
		return oidsOf(p.queues)
	case sai.PortAttrNumberOfIngressPriorityGroups:
		return sai.Uint(len(p.priorityGroups))
	case sai.PortAttrIngressPriorityGroupList:
		return oidsOf(p.priorityGroups)
	case sai.PortAttrQoSMaximumHeadroomSize:
		// A port can have all memory. SONiC's dynamic buffer model takes SAI's 0, which is no limit, for a limit of 0.
		return sai.Uint(uint64(ps.prof.Buffer.CellBytes) * uint64(ps.prof.Buffer.Cells))
	case sai.PortAttrQoSNumberOfSchedulerGroups:
		return sai.Uint(len(p.schedulers))
	case sai.PortAttrQoSSchedulerGroupList:
		return oidsOf(p.schedulers)
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

// portNumber returns N of EthernetN.
func portNumber(name string) uint16 {
	digits, ok := strings.CutPrefix(name, "Ethernet")
	if n, err := strconv.ParseUint(digits, 10, 16); ok && err == nil {
		return uint16(n)
	}
	return tailstamp.NoPort
}
