package objects

import (
	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/engine"
	"tamtam/saisim/tm"
)

// A queue is a QUEUE object: one of the queues of a port, with its scheduler, WRED and buffer profiles.
type queue struct {
	port      *port
	index     int
	scheduler *tm.Discipline // nil if it has none of its own
	wred      *tm.WRED
	buffer    *bufferProfile
}

// makeQueues makes the QUEUE objects of a new port.
func (ps *ports) makeQueues(p *port) {
	for i := range ps.prof.Queues {
		q := &object{
			key: sai.Obj(sai.ObjectTypeQueue, ps.newOID(sai.ObjectTypeQueue)), self: &queue{port: p, index: int(i)},
			attrs: []sai.Attr{
				{ID: sai.QueueAttrType, Value: sai.QueueTypeUnicast}, {ID: sai.QueueAttrPort, Value: p.o.key.OID},
				{ID: sai.QueueAttrIndex, Value: sai.Uint(i)},
			}}
		p.queues = append(p.queues, q)
		ps.objects[q.key.OID] = q
		ps.valid.Found(q.key)
	}
}

func (ps *ports) queueKind() *kind {
	k := &kind{
		attrs: []sai.AttrID{
			sai.QueueAttrType, sai.QueueAttrPort, sai.QueueAttrIndex,
			sai.QueueAttrSchedulerProfileID, sai.QueueAttrWREDProfileID, sai.QueueAttrBufferProfileID,
		},
		create: refuseCreate(sai.ObjectTypeQueue, "every port has its queues"),
		remove: refuseRemove("queues go with their port"),
		set:    ps.setQueue,
	}
	ps.addQueueStats(k)
	return k
}

func (ps *ports) setQueue(o *object, a sai.Attr) error {
	q, oid := o.self.(*queue), a.Value.(sai.OID)
	switch a.ID {
	case sai.QueueAttrSchedulerProfileID:
		q.scheduler, _ = self[*tm.Discipline](ps.core, oid)
	case sai.QueueAttrWREDProfileID:
		q.wred, _ = self[*tm.WRED](ps.core, oid)
	case sai.QueueAttrBufferProfileID:
		q.buffer, _ = self[*bufferProfile](ps.core, oid)
	}
	ps.putPort(q.port)
	return nil
}

// settings returns the settings of a queue, by its profiles.
func (q *queue) settings() tm.Settings {
	s := tm.DefaultSettings()
	if q.scheduler != nil {
		s.Discipline = *q.scheduler
	}
	if q.wred != nil {
		s.WRED = *q.wred
	}
	if b := q.buffer; b != nil {
		s.Pool, s.Reserved, s.Limit = b.pool.index, b.reserved, b.limit
	}
	return s
}

// portQoS returns how a port classifies frames, and how its queues are served.
func (ps *ports) portQoS(o *object, p *port) (r config.QoS, err error) {
	r.DefaultTC = uint8(o.number(sai.PortAttrQoSDefaultTC))
	fits := func(id sai.AttrID, has func(m *qosMap) bool) *qosMap {
		m, ok := self[*qosMap](ps.core, o.ref(id))
		if ok && !has(m) {
			err = badValue(id, sai.StatusInvalidParameter, "the map is of another type")
		}
		if !ok {
			return &qosMap{}
		}
		return m
	}
	r.DSCP = fits(sai.PortAttrQoSDSCPToTCMap, func(m *qosMap) bool { return m.dscp != nil }).dscp
	r.Dot1p = fits(sai.PortAttrQoSDot1pToTCMap, func(m *qosMap) bool { return m.dot1p != nil }).dot1p
	r.Queue = fits(sai.PortAttrQoSTCToQueueMap, func(m *qosMap) bool { return m.queue != nil }).queue
	for i := range ps.prof.Queues {
		s := tm.DefaultSettings()
		if int(i) < len(p.queues) {
			s = p.queues[i].self.(*queue).settings()
		}
		r.Queues = append(r.Queues, s)
	}
	return r, err
}

// fcsSize is the size of the FCS, which the byte counts of queues include, as those of ports do. The engine's queues
// hold packets without it, and so does what they tell about their depth.
const fcsSize = 4

// queueStatTable returns the statistics of queues. All packets are green. Occupancy and watermarks are levels. A
// cleared watermark begins at the current level.
func (ps *ports) queueStatTable() map[sai.StatID]func(q *queue) uint64 {
	type read = func(q *queue) uint64
	state := func(f func(s *engine.QueueState) uint64) read {
		return func(q *queue) uint64 { s, _ := ps.engine.QueueState(q.port.id(), q.index); return f(&s) }
	}
	sent := state(func(s *engine.QueueState) uint64 { return s.Dequeued })
	sentBytes := state(func(s *engine.QueueState) uint64 { return s.DequeuedBytes + fcsSize*s.Dequeued })
	dropped := state(func(s *engine.QueueState) uint64 { return s.DroppedFull + s.DroppedTail + s.DroppedWRED })
	droppedBytes := state(func(s *engine.QueueState) uint64 {
		return s.DroppedBytes + fcsSize*(s.DroppedFull+s.DroppedTail+s.DroppedWRED)
	})
	wred := state(func(s *engine.QueueState) uint64 { return s.DroppedWRED })
	marked := state(func(s *engine.QueueState) uint64 { return s.Marked })
	bytes := state(func(s *engine.QueueState) uint64 { return s.Bytes })
	most := state(func(s *engine.QueueState) uint64 { return s.MaxBytes })
	return map[sai.StatID]read{
		sai.QueueStatPackets: sent, sai.QueueStatBytes: sentBytes,
		sai.QueueStatDroppedPackets: dropped, sai.QueueStatDroppedBytes: droppedBytes,
		sai.QueueStatGreenPackets: sent, sai.QueueStatGreenBytes: sentBytes,
		sai.QueueStatGreenDroppedPackets: dropped, sai.QueueStatGreenDroppedBytes: droppedBytes,
		sai.QueueStatWREDDroppedPackets: wred, sai.QueueStatGreenWREDDroppedPackets: wred,
		sai.QueueStatWREDECNMarkedPackets: marked, sai.QueueStatGreenWREDECNMarkedPackets: marked,
		sai.QueueStatCurrOccupancyBytes: bytes, sai.QueueStatWatermarkBytes: most,
		sai.QueueStatSharedCurrOccupancyBytes: bytes, sai.QueueStatSharedWatermarkBytes: most,
		sai.QueueStatCurrOccupancyCells: state(func(s *engine.QueueState) uint64 { return s.Cells }),
		sai.QueueStatWatermarkCells:     state(func(s *engine.QueueState) uint64 { return s.MaxCells }),
	}
}

func (ps *ports) addQueueStats(k *kind) {
	table := ps.queueStatTable()
	k.stats = sortedStats(table)
	k.stat = func(o *object, id sai.StatID) uint64 { return table[id](o.self.(*queue)) }
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
