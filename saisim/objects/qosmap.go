package objects

import (
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/tm"
)

// A mapForm describes a type of QoS maps.
type mapForm struct {
	attr     sai.AttrID // attribute of ports
	key      func(p sai.QoSMapParams) uint8
	value    func(p sai.QoSMapParams) uint8
	keys     int
	greatest uint8 // greatest value
}

// mapForms returns the types of maps of a chip whose ports have that many queues.
func mapForms(queues uint32) map[sai.Enum]mapForm {
	tc := func(p sai.QoSMapParams) uint8 { return p.TC }
	dscp := func(p sai.QoSMapParams) uint8 { return p.DSCP }
	dot1p := func(p sai.QoSMapParams) uint8 { return p.Dot1p }
	queue := func(p sai.QoSMapParams) uint8 { return p.Queue }
	group := func(p sai.QoSMapParams) uint8 { return p.PG }
	pfc := func(p sai.QoSMapParams) uint8 { return p.Prio }
	colour := func(p sai.QoSMapParams) uint8 { return uint8(p.Color) }
	last := uint8(queues - 1)
	return map[sai.Enum]mapForm{
		sai.QoSMapTypeDSCPToTC:          {sai.PortAttrQoSDSCPToTCMap, dscp, tc, 64, maxTrafficClasses - 1},
		sai.QoSMapTypeDot1pToTC:         {sai.PortAttrQoSDot1pToTCMap, dot1p, tc, 8, maxTrafficClasses - 1},
		sai.QoSMapTypeDSCPToColor:       {sai.PortAttrQoSDSCPToColorMap, dscp, colour, 64, uint8(tm.Red)},
		sai.QoSMapTypeDot1pToColor:      {sai.PortAttrQoSDot1pToColorMap, dot1p, colour, 8, uint8(tm.Red)},
		sai.QoSMapTypeTCToQueue:         {sai.PortAttrQoSTCToQueueMap, tc, queue, maxTrafficClasses, last},
		sai.QoSMapTypeTCToPriorityGroup: {sai.PortAttrQoSTCToPriorityGroupMap, tc, group, maxTrafficClasses, 7},
		sai.QoSMapTypePfcPriorityToPriorityGroup: {
			sai.PortAttrQoSPfcPriorityToPriorityGroupMap, pfc, group, 8, numPriorityGroups - 1,
		},
		sai.QoSMapTypePfcPriorityToQueue: {sai.PortAttrQoSPfcPriorityToQueueMap, pfc, queue, 8, last},
	}
}

// noPFC is the reason why settings of priority flow control have no effect.
const noPFC = "the chip neither sends nor obeys priority flow control"

// qosMapKind returns the kind of maps from fields of frames to traffic classes and colours, and from traffic classes to
// queues.
// Values that a map does not name map to 0. Maps for priority groups and for flow control are only stored.
func (q *qos) qosMapKind() *kind {
	k := &kind{
		max:   q.prof.QoSMaps,
		attrs: []sai.AttrID{sai.QoSMapAttrType, sai.QoSMapAttrMapToValueList},
		enums: map[sai.AttrID][]sai.Enum{sai.QoSMapAttrType: slices.Sorted(maps.Keys(mapForms(q.prof.Queues)))},
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
func (q *qos) mapOf(t sai.Enum, list sai.QoSMap) (qosMap, error) {
	form := mapForms(q.prof.Queues)[t]
	m := qosMap{of: t, values: make([]uint8, form.keys)}
	for _, e := range list {
		from, value := form.key(e.Key), form.value(e.Value)
		if int(from) >= form.keys || value > form.greatest {
			return m, badCreate(sai.QoSMapAttrMapToValueList, sai.StatusInvalidParameter,
				"%d to %d, want 0-%d to 0-%d", from, value, form.keys-1, form.greatest)
		}
		m.values[from] = value
	}
	return m, nil
}

// portMaps returns the values of the maps of a port by their type, nil for a type without a map.
func (ps *ports) portMaps(o *object) (map[sai.Enum][]uint8, error) {
	all := map[sai.Enum][]uint8{}
	forms := mapForms(ps.prof.Queues)
	for _, t := range slices.Sorted(maps.Keys(forms)) {
		attr := forms[t].attr
		m, ok := self[*qosMap](ps.core, o.ref(attr))
		if !ok {
			continue
		}
		if m.of != t {
			return nil, badValue(attr, sai.StatusInvalidParameter, "%s, want %s", sai.EnumName(sai.QoSMapAttrType, m.of),
				sai.EnumName(sai.QoSMapAttrType, t))
		}
		all[t] = m.values
	}
	return all, nil
}
