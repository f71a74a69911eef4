package objects

import (
	"cmp"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/objects/counts"
	"tamtam/saisim/objects/qosmap"
	"tamtam/saisim/tm"
)

// A queue is a QUEUE object: one of the queues of a port, with its scheduler, WRED and buffer profiles.
type queue struct {
	port  *port
	index int
	group *object // its scheduler group
	// scheduler is its own scheduler, and ofGroup that of its group, which is used if there is one. nil means none.
	scheduler, ofGroup *scheduler
	wred               *wred
	buffer             *bufferProfile
	tams               sai.OIDs // TAM objects that are bound to it
}

// makeParts makes the objects that a new port has from the start: its queues, each with a scheduler group, and its
// ingress priority groups.
func (ps *ports) makeParts(p *port) {
	port := p.o.key.OID
	for i := range ps.prof.Queues {
		q := &queue{port: p, index: int(i)}
		q.group = ps.part(p, sai.ObjectTypeSchedulerGroup, q, []sai.Attr{
			{ID: sai.SchedulerGroupAttrPortID, Value: port}, {ID: sai.SchedulerGroupAttrLevel, Value: sai.Uint(0)},
			{ID: sai.SchedulerGroupAttrMaxChilds, Value: sai.Uint(1)},
			{ID: sai.SchedulerGroupAttrParentNode, Value: port},
		})
		p.schedulers = append(p.schedulers, q.group)
		p.queues = append(p.queues, ps.part(p, sai.ObjectTypeQueue, q, []sai.Attr{
			{ID: sai.QueueAttrType, Value: sai.QueueTypeUnicast}, {ID: sai.QueueAttrPort, Value: port},
			{ID: sai.QueueAttrIndex, Value: sai.Uint(i)},
			{ID: sai.QueueAttrParentSchedulerNode, Value: q.group.key.OID},
		}))
	}
	for i := range config.PriorityGroups {
		g := &priorityGroup{port: p, index: i}
		p.priorityGroups = append(p.priorityGroups, ps.part(p, sai.ObjectTypeIngressPriorityGroup, g, []sai.Attr{
			{ID: sai.IngressPriorityGroupAttrPort, Value: port},
			{ID: sai.IngressPriorityGroupAttrIndex, Value: sai.Uint(i)},
		}))
	}
}

// part makes an object that comes and goes with its port.
func (ps *ports) part(p *port, t sai.ObjectType, self any, attrs []sai.Attr) *object {
	o := &object{key: sai.Obj(t, ps.newOID(t)), self: self, attrs: attrs}
	p.parts = append(p.parts, o)
	ps.objects[o.key.OID] = o
	ps.valid.Found(o.key)
	return o
}

// checkProfiles rejects buffer profiles of pools at the other side of the chip, and those that trim unless trims is
// true.
func (ps *ports) checkProfiles(id sai.AttrID, ingress, trims bool, profiles ...sai.OID) error {
	side := map[bool]string{true: "ingress", false: "egress"}
	for _, oid := range profiles {
		b, ok := self[*bufferProfile](ps.core, oid)
		switch {
		case !ok:
		case b.pool.ingress != ingress:
			return badValue(id, sai.StatusInvalidParameter, "profile %s is of a pool at the %s, want one at the %s", oid,
				side[!ingress], side[ingress])
		case b.trim && !trims:
			return badValue(id, sai.StatusInvalidParameter, "profile %s trims packets, want one that drops them: only queues "+
				"trim", oid)
		}
	}
	return nil
}

func (ps *ports) queueKind() *kind {
	k := &kind{
		attrs: []sai.AttrID{
			sai.QueueAttrType, sai.QueueAttrPort, sai.QueueAttrIndex,
			sai.QueueAttrSchedulerProfileID, sai.QueueAttrWREDProfileID, sai.QueueAttrBufferProfileID,
			sai.QueueAttrParentSchedulerNode, sai.QueueAttrTAMObject,
		},
		create: refuseCreate(sai.ObjectTypeQueue, "every port has its queues"),
		remove: refuseRemove("queues go with their port"),
		check: func(o *object) error {
			q, exists := o.self.(*queue)
			if exists && o.ref(sai.QueueAttrParentSchedulerNode) != q.group.key.OID {
				return badValue(sai.QueueAttrParentSchedulerNode, sai.StatusNotSupported, "want the queue's own group, %s",
					q.group.key.OID)
			}
			if err := ps.checkQueueTAM(o); err != nil {
				return err
			}
			return ps.checkProfiles(sai.QueueAttrBufferProfileID, false, true, o.ref(sai.QueueAttrBufferProfileID))
		},
		set: ps.setQueue,
	}
	ps.addQueueStats(k)
	return k
}

// schedulerGroupKind returns the kind of scheduler groups. Each queue has a group below its port. The scheduler of a
// group replaces that of its queue, because a group has no other child between which it could choose.
func (ps *ports) schedulerGroupKind() *kind {
	return &kind{
		attrs: []sai.AttrID{
			sai.SchedulerGroupAttrChildCount, sai.SchedulerGroupAttrChildList, sai.SchedulerGroupAttrPortID,
			sai.SchedulerGroupAttrLevel, sai.SchedulerGroupAttrMaxChilds, sai.SchedulerGroupAttrSchedulerProfileID,
			sai.SchedulerGroupAttrParentNode,
		},
		create: refuseCreate(sai.ObjectTypeSchedulerGroup, "every queue has its group"),
		remove: refuseRemove("scheduler groups go with their port"),
		check: func(o *object) error {
			q, exists := o.self.(*queue)
			if exists && o.ref(sai.SchedulerGroupAttrParentNode) != q.port.o.key.OID {
				return badValue(sai.SchedulerGroupAttrParentNode, sai.StatusNotSupported, "want the port, %s", q.port.o.key.OID)
			}
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			if q := o.self.(*queue); a.ID == sai.SchedulerGroupAttrSchedulerProfileID {
				q.ofGroup, _ = self[*scheduler](ps.core, a.Value.(sai.OID))
				ps.putPort(q.port)
			}
			return nil
		},
		live: map[sai.AttrID]func(o *object) sai.Value{
			sai.SchedulerGroupAttrChildCount: func(*object) sai.Value { return sai.Uint(1) },
			sai.SchedulerGroupAttrChildList: func(o *object) sai.Value {
				q := o.self.(*queue)
				return sai.OIDs{q.port.queues[q.index].key.OID}
			},
		},
	}
}

func (ps *ports) setQueue(o *object, a sai.Attr) error {
	q := o.self.(*queue)
	oid, _ := a.Value.(sai.OID)
	switch a.ID {
	case sai.QueueAttrTAMObject:
		q.tams, _ = a.Value.(sai.OIDs)
	case sai.QueueAttrSchedulerProfileID:
		q.scheduler, _ = self[*scheduler](ps.core, oid)
	case sai.QueueAttrWREDProfileID:
		q.wred, _ = self[*wred](ps.core, oid)
	case sai.QueueAttrBufferProfileID:
		q.buffer, _ = self[*bufferProfile](ps.core, oid)
	}
	ps.putPort(q.port)
	return nil
}

// settings returns the settings of a queue, by its profiles.
func (q *queue) settings() tm.Settings {
	s := tm.DefaultSettings()
	if x := cmp.Or(q.ofGroup, q.scheduler); x != nil {
		s.Discipline, s.Shaper = x.discipline, x.shaper
	}
	if q.wred != nil {
		s.WRED = *q.wred
	}
	if b := q.buffer; b != nil {
		s.Pool, s.Reserved, s.Limit, s.Trim = b.pool.index, b.reserved, b.limit, b.trim
	}
	return s
}

// portQoS returns how a port classifies frames, how its queues are served, and its flow control.
func (ps *ports) portQoS(o *object, p *port) (r config.QoS, flow config.FlowControl, err error) {
	r.DefaultTC = uint8(o.number(sai.PortAttrQoSDefaultTC))
	if s, ok := self[*scheduler](ps.core, o.ref(sai.PortAttrQoSSchedulerProfileID)); ok {
		r.Shaper = s.shaper
	}
	maps, err := ps.portMaps(o)
	if err != nil {
		return r, flow, err
	}
	flow.TX, flow.RX = uint8(o.number(sai.PortAttrPriorityFlowControl)), uint8(o.number(sai.PortAttrPriorityFlowControl))
	if o.enum(sai.PortAttrPriorityFlowControlMode) == sai.PortPriorityFlowControlModeSeparate {
		flow.TX = uint8(o.number(sai.PortAttrPriorityFlowControlTx))
		flow.RX = uint8(o.number(sai.PortAttrPriorityFlowControlRx))
	}
	if m := maps[sai.QoSMapTypePfcPriorityToPriorityGroup]; m != nil {
		flow.Group = (*[8]uint8)(m)
	}
	if m := maps[sai.QoSMapTypePfcPriorityToQueue]; m != nil {
		flow.Queue = (*[8]uint8)(m)
	}
	if m := maps[sai.QoSMapTypeDSCPToTC]; m != nil {
		r.DSCP = (*[64]uint8)(m)
	}
	if m := maps[sai.QoSMapTypeDot1pToTC]; m != nil {
		r.Dot1p = (*[8]uint8)(m)
	}
	if m := maps[sai.QoSMapTypeDSCPToColor]; m != nil {
		r.DSCPColour = (*[64]uint8)(m)
	}
	if m := maps[sai.QoSMapTypeDot1pToColor]; m != nil {
		r.Dot1pColour = (*[8]uint8)(m)
	}
	if m := maps[sai.QoSMapTypeTCToQueue]; m != nil {
		r.Queue = (*[16]uint8)(m)
	}
	if m := maps[sai.QoSMapTypeTCAndColorToDSCP]; m != nil {
		r.TrimDSCP = qosmap.TrimDSCP(m)
	}
	if m := maps[sai.QoSMapTypeTCToPriorityGroup]; m != nil {
		r.Group = (*[16]uint8)(m)
	}
	for i, g := range p.priorityGroups {
		r.Groups[i] = g.self.(*priorityGroup).settings()
	}
	for i := range ps.prof.Queues {
		s := tm.DefaultSettings()
		if int(i) < len(p.queues) {
			q := p.queues[i].self.(*queue)
			s = q.settings()
			s.Burst = ps.burstLimits(q)
		}
		r.Queues = append(r.Queues, s)
	}
	return r, flow, nil
}

func (ps *ports) addQueueStats(k *kind) {
	table := counts.Queues()
	k.stats = counts.Sorted(table)
	state := func(o *object) engine.QueueState {
		q := o.self.(*queue)
		s, _ := ps.engine.QueueState(q.port.id(), q.index)
		return s
	}
	k.stat = func(o *object, id sai.StatID) uint64 { s := state(o); return table[id](&s) }
	k.reader = readerOf(table, state)
	k.clear = func(o *object, id sai.StatID) bool {
		q := o.self.(*queue)
		switch id {
		case sai.QueueStatCurrOccupancyBytes, sai.QueueStatSharedCurrOccupancyBytes, sai.QueueStatCurrOccupancyCells:
		case sai.QueueStatWatermarkBytes, sai.QueueStatSharedWatermarkBytes:
			ps.engine.ClearWatermark(q.port.id(), q.index, false)
		case sai.QueueStatWatermarkCells:
			ps.engine.ClearWatermark(q.port.id(), q.index, true)
		default:
			return false
		}
		return true
	}
}
