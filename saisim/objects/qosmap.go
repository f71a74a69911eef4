package objects

import (
	"maps"
	"slices"

	"tamtam/sai"
	"tamtam/saisim/objects/qosmap"
)

// A qosMap is a QOS_MAP object. Its values never change: a new list makes a new slice.
type qosMap struct {
	of     sai.Enum // type of the map
	values []uint8  // by key
}

// qosMapKind returns the kind of maps from fields of frames to traffic classes and colours, from traffic classes to
// queues and priority groups, and from priorities of flow control to these, and from traffic classes with colours to
// the DSCP of trimmed packets. Values that a map does not name map to 0, except in the last ones.
func (q *qos) qosMapKind() *kind {
	return profileKind(q, &kind{
		max:   q.prof.QoSMaps,
		attrs: []sai.AttrID{sai.QoSMapAttrType, sai.QoSMapAttrMapToValueList},
		enums: map[sai.AttrID][]sai.Enum{sai.QoSMapAttrType: slices.Sorted(maps.Keys(qosmap.Forms(q.prof.Queues)))},
	}, func(o *object) (m qosMap, err error) {
		m.of = o.enum(sai.QoSMapAttrType)
		list, _ := o.attr(sai.QoSMapAttrMapToValueList).(sai.QoSMap)
		if m.values, err = qosmap.Forms(q.prof.Queues)[m.of].Values(list); err != nil {
			err = badCreate(sai.QoSMapAttrMapToValueList, sai.StatusInvalidParameter, "%v", err)
		}
		return m, err
	})
}

// portMaps returns the values of the maps of a port by their type, nil for a type without a map.
func (ps *ports) portMaps(o *object) (map[sai.Enum][]uint8, error) {
	all, forms := map[sai.Enum][]uint8{}, qosmap.Forms(ps.prof.Queues)
	for _, t := range slices.Sorted(maps.Keys(forms)) {
		m, ok := self[*qosMap](ps.core, o.ref(forms[t].Attr))
		if ok && m.of != t {
			return nil, badValue(forms[t].Attr, sai.StatusInvalidParameter, "%s, want %s",
				sai.EnumName(sai.QoSMapAttrType, m.of), sai.EnumName(sai.QoSMapAttrType, t))
		}
		if ok {
			all[t] = m.values
		}
	}
	return all, nil
}
