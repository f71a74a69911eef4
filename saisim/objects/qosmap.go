package objects

import "tamtam/sai"

// qosMapKind returns the kind of maps from fields of frames to traffic classes, and from traffic classes to queues.
// Values that a map does not name map to 0.
func (q *qos) qosMapKind() *kind {
	k := &kind{
		max:   q.prof.QoSMaps,
		attrs: []sai.AttrID{sai.QoSMapAttrType, sai.QoSMapAttrMapToValueList},
		enums: map[sai.AttrID][]sai.Enum{
			sai.QoSMapAttrType: {sai.QoSMapTypeDSCPToTC, sai.QoSMapTypeDot1pToTC, sai.QoSMapTypeTCToQueue},
		},
		create: func(o *object) error {
			list, _ := o.attr(sai.QoSMapAttrMapToValueList).(sai.QoSMap)
			m, err := q.mapOf(o.enum(sai.QoSMapAttrType), list)
			o.self = &m
			return err
		},
		set: func(o *object, a sai.Attr) error {
			m, err := q.mapOf(o.enum(sai.QoSMapAttrType), a.Value.(sai.QoSMap))
			if err != nil {
				return err
			}
			*o.self.(*qosMap) = m
			q.ports.putPorts()
			return nil
		},
	}
	return k
}

// mapOf makes a map of a type from its list.
func (q *qos) mapOf(t sai.Enum, list sai.QoSMap) (m qosMap, err error) {
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
		to, most = m.queue[:], uint8(q.prof.Queues-1)
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
			return m, badCreate(sai.QoSMapAttrMapToValueList, sai.StatusInvalidParameter,
				"%d to %d, want 0-%d to 0-%d", from, value, len(to)-1, most)
		}
		to[from] = value
	}
	return m, nil
}
