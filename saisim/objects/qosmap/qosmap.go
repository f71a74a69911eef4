// Package qosmap turns the lists of SAI's QoS maps into arrays. It contains the types of maps that the chip has, and
// the ranges of their keys and values. What a map is used for does not belong here.
package qosmap

import (
	"bytes"
	"fmt"

	"tamtam/sai"
	"tamtam/saisim/config"
	"tamtam/saisim/tm"
)

// TrafficClasses is the number of traffic classes of the chip's maps.
const TrafficClasses = 16

// A Form describes a type of maps.
type Form struct {
	Attr       sai.AttrID // attribute of ports that names such a map
	key, value func(p sai.QoSMapParams) uint8
	keys       int
	greatest   uint8 // greatest value
}

// Forms returns the types of maps of a chip whose ports have that many queues.
func Forms(queues uint32) map[sai.Enum]Form {
	tc := func(p sai.QoSMapParams) uint8 { return p.TC }
	dscp := func(p sai.QoSMapParams) uint8 { return p.DSCP }
	dot1p := func(p sai.QoSMapParams) uint8 { return p.Dot1p }
	queue := func(p sai.QoSMapParams) uint8 { return p.Queue }
	group := func(p sai.QoSMapParams) uint8 { return p.PG }
	pfc := func(p sai.QoSMapParams) uint8 { return p.Prio }
	colour := func(p sai.QoSMapParams) uint8 { return uint8(p.Color) }
	last := uint8(queues - 1)
	return map[sai.Enum]Form{
		sai.QoSMapTypeDSCPToTC:         {sai.PortAttrQoSDSCPToTCMap, dscp, tc, 64, TrafficClasses - 1},
		sai.QoSMapTypeDot1pToTC:        {sai.PortAttrQoSDot1pToTCMap, dot1p, tc, 8, TrafficClasses - 1},
		sai.QoSMapTypeDSCPToColor:      {sai.PortAttrQoSDSCPToColorMap, dscp, colour, 64, uint8(tm.Red)},
		sai.QoSMapTypeDot1pToColor:     {sai.PortAttrQoSDot1pToColorMap, dot1p, colour, 8, uint8(tm.Red)},
		sai.QoSMapTypeTCToQueue:        {sai.PortAttrQoSTCToQueueMap, tc, queue, TrafficClasses, last},
		sai.QoSMapTypeTCAndColorToDSCP: {sai.PortAttrQoSTCAndColorToDSCPMap, tc, dscp, TrafficClasses, 63},
		sai.QoSMapTypeTCToPriorityGroup: {
			sai.PortAttrQoSTCToPriorityGroupMap, tc, group, TrafficClasses, config.PriorityGroups - 1,
		},
		sai.QoSMapTypePfcPriorityToPriorityGroup: {
			sai.PortAttrQoSPfcPriorityToPriorityGroupMap, pfc, group, 8, config.PriorityGroups - 1,
		},
		sai.QoSMapTypePfcPriorityToQueue: {sai.PortAttrQoSPfcPriorityToQueueMap, pfc, queue, 8, last},
	}
}

// Values returns the values of a list by their keys. Keys that the list does not name map to 0. For the form of traffic
// classes with colours, see [TrimDSCP].
func (f Form) Values(list sai.QoSMap) ([]uint8, error) {
	if f.Attr == sai.PortAttrQoSTCAndColorToDSCPMap {
		return f.coloured(list)
	}
	values := make([]uint8, f.keys)
	for _, e := range list {
		from, value := f.key(e.Key), f.value(e.Value)
		if int(from) >= f.keys || value > f.greatest {
			return nil, fmt.Errorf("%d to %d, want 0-%d to 0-%d", from, value, f.keys-1, f.greatest)
		}
		values[from] = value
	}
	return values, nil
}

// coloured does Values for a form of traffic classes with colours. A colour that the list does not name has the value
// of green, because SONiC's lists name no other. A traffic class that it does not name has none.
func (f Form) coloured(list sai.QoSMap) ([]uint8, error) {
	const colours = int(tm.NumColours)
	values := bytes.Repeat([]byte{config.KeepDSCP}, f.keys*colours)
	for _, e := range list {
		tc, colour, value := int(f.key(e.Key)), int(e.Key.Color), f.value(e.Value)
		if tc >= f.keys || colour < 0 || colour >= colours || value > f.greatest {
			return nil, fmt.Errorf("traffic class %d of colour %d to %d, want 0-%d of colour 0-%d to 0-%d", tc, colour, value,
				f.keys-1, colours-1, f.greatest)
		}
		values[tc*colours+colour] = value
	}
	for i := range values {
		if values[i] == config.KeepDSCP {
			values[i] = values[i-i%colours]
		}
	}
	return values, nil
}

// TrimDSCP returns the map with the values of the form of traffic classes with colours.
func TrimDSCP(values []uint8) *config.TrimDSCP {
	m := &config.TrimDSCP{}
	for i, dscp := range values {
		m[i/int(tm.NumColours)][i%int(tm.NumColours)] = dscp
	}
	return m
}
