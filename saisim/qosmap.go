package saisim

import (
	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/tm"
)

// qosMapKind: maps of what comes in to traffic classes, and of traffic classes to
// queues. What a map does not name maps to 0.
func (c *store) qosMapKind() *kind {
	k := &kind{
		max:   c.prof.QoSMaps,
		attrs: []sai.AttrID{sai.QoSMapAttrType, sai.QoSMapAttrMapToValueList},
		enums: map[sai.AttrID][]sai.Enum{
			sai.QoSMapAttrType: {sai.QoSMapTypeDSCPToTC, sai.QoSMapTypeDot1pToTC, sai.QoSMapTypeTCToQueue},
		},
		create: func(o *object) error {
			list, _ := o.attr(sai.QoSMapAttrMapToValueList).(sai.QoSMap)
			m, err := c.mapOf(o.enum(sai.QoSMapAttrType), list)
			o.self = &m
			return err
		},
		set: func(o *object, a sai.Attr) error {
			m, err := c.mapOf(o.enum(sai.QoSMapAttrType), a.Value.(sai.QoSMap))
			if err != nil {
				return err
			}
			*o.self.(*qosMap) = m
			c.putPorts()
			return nil
		},
	}
	return k
}

// mapOf makes a map of a type from its list.
func (c *store) mapOf(t sai.Enum, list sai.QoSMap) (m qosMap, err error) {
	var to []uint8
	most := uint8(maxTrafficClasses - 1)
	switch t {
	case sai.QoSMapTypeDSCPToTC:
		m.dscp = new([64]uint8)
		to = m.dscp[:]
	case sai.QoSMapTypeDot1pToTC:
		m.dot1p = new([8]uint8)
		to = m.dot1p[:]
	case sai.QoSMapTypeTCToQueue:
		m.queue = new([16]uint8)
		to, most = m.queue[:], uint8(c.prof.Queues-1)
	}
	for _, e := range list {
		from, value := e.Key.TC, e.Value.TC
		switch t {
		case sai.QoSMapTypeDSCPToTC:
			from = e.Key.DSCP
		case sai.QoSMapTypeDot1pToTC:
			from = e.Key.Dot1p
		case sai.QoSMapTypeTCToQueue:
			value = e.Value.Queue
		}
		if int(from) >= len(to) || value > most {
			return m, refuse("create", sai.ObjectTypeQoSMap, sai.QoSMapAttrMapToValueList, sai.StatusInvalidParameter,
				"%d to %d, want 0-%d to 0-%d", from, value, len(to)-1, most)
		}
		to[from] = value
	}
	return m, nil
}

// portQoS is how a port sorts frames, and how its queues are served.
func (c *store) portQoS(o *object, p *portObject) (r config.QoS, err error) {
	r.DefaultTC = uint8(o.number(sai.PortAttrQoSDefaultTC))
	fits := func(id sai.AttrID, has func(m *qosMap) bool) *qosMap {
		m, ok := self[*qosMap](c, o.ref(id))
		if ok && !has(m) {
			err = badValue(sai.Attr{ID: id}, sai.StatusInvalidParameter, "the map is of another type")
		}
		if !ok {
			return &qosMap{}
		}
		return m
	}
	r.DSCP = fits(sai.PortAttrQoSDSCPToTCMap, func(m *qosMap) bool { return m.dscp != nil }).dscp
	r.Dot1p = fits(sai.PortAttrQoSDot1pToTCMap, func(m *qosMap) bool { return m.dot1p != nil }).dot1p
	r.Queue = fits(sai.PortAttrQoSTCToQueueMap, func(m *qosMap) bool { return m.queue != nil }).queue
	for i := range c.prof.Queues {
		s := tm.DefaultSettings()
		if int(i) < len(p.queues) {
			s = p.queues[i].self.(*queueObject).settings()
		}
		r.Queues = append(r.Queues, s)
	}
	return r, err
}

// queueStatTable are the statistics of queues. All packets are green. Occupancy and
// watermarks are levels: clearing a watermark lets it begin at what is there now.
func (c *store) queueStatTable() map[sai.StatID]func(q *queueObject) uint64 {
	type read = func(q *queueObject) uint64
	state := func(f func(s *QueueState) uint64) read {
		return func(q *queueObject) uint64 { s := c.byID[q.port.id()].queueState(q.index); return f(&s) }
	}
	sent := state(func(s *QueueState) uint64 { return s.Dequeued })
	sentBytes := state(func(s *QueueState) uint64 { return s.DequeuedBytes })
	dropped := state(func(s *QueueState) uint64 { return s.DroppedFull + s.DroppedTail + s.DroppedWRED })
	droppedBytes := state(func(s *QueueState) uint64 { return s.DroppedBytes })
	wred := state(func(s *QueueState) uint64 { return s.DroppedWRED })
	marked := state(func(s *QueueState) uint64 { return s.Marked })
	bytes := state(func(s *QueueState) uint64 { return s.Bytes })
	most := state(func(s *QueueState) uint64 { return s.MaxBytes })
	return map[sai.StatID]read{
		sai.QueueStatPackets: sent, sai.QueueStatBytes: sentBytes,
		sai.QueueStatDroppedPackets: dropped, sai.QueueStatDroppedBytes: droppedBytes,
		sai.QueueStatGreenPackets: sent, sai.QueueStatGreenBytes: sentBytes,
		sai.QueueStatGreenDroppedPackets: dropped, sai.QueueStatGreenDroppedBytes: droppedBytes,
		sai.QueueStatWREDDroppedPackets: wred, sai.QueueStatGreenWREDDroppedPackets: wred,
		sai.QueueStatWREDECNMarkedPackets: marked, sai.QueueStatGreenWREDECNMarkedPackets: marked,
		sai.QueueStatCurrOccupancyBytes: bytes, sai.QueueStatWatermarkBytes: most,
		sai.QueueStatSharedCurrOccupancyBytes: bytes, sai.QueueStatSharedWatermarkBytes: most,
		sai.QueueStatCurrOccupancyCells: state(func(s *QueueState) uint64 { return s.Cells }),
		sai.QueueStatWatermarkCells:     state(func(s *QueueState) uint64 { return s.MaxCells }),
	}
}

func (c *store) addQueueStats(k *kind) {
	table := c.queueStatTable()
	k.stats = sortedStats(table)
	k.stat = func(o *object, id sai.StatID) uint64 {
		q := o.self.(*queueObject)
		return table[id](q) - q.cleared[id]
	}
	k.clear = func(o *object, id sai.StatID) {
		q := o.self.(*queueObject)
		switch id {
		case sai.QueueStatCurrOccupancyBytes, sai.QueueStatSharedCurrOccupancyBytes, sai.QueueStatCurrOccupancyCells:
		case sai.QueueStatWatermarkBytes, sai.QueueStatSharedWatermarkBytes:
			x := c.byID[q.port.id()].queues.Queue(q.index)
			x.MaxBytes = x.Bytes()
		case sai.QueueStatWatermarkCells:
			x := c.byID[q.port.id()].queues.Queue(q.index)
			x.MaxCells = x.Cells()
		default:
			if q.cleared == nil {
				q.cleared = map[sai.StatID]uint64{}
			}
			q.cleared[id] = table[id](q)
		}
	}
}
