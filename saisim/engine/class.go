package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/tm"
)

// A qosClass defines how a port sorts frames: received frames into traffic classes, leaving frames into queues. A nil
// map is not configured.
type qosClass struct {
	dscp      *[64]uint8 // traffic class of IP packets
	dot1p     *[8]uint8  // traffic class of tagged frames
	defaultTC uint8      // traffic class of all other frames
	queue     *[16]uint8 // queue of each traffic class
	colours   colourMaps
	group     *[16]uint8 // ingress priority group of each traffic class
	trimDSCP  *config.TrimDSCP
}

// colourMaps defines the colours of received frames, with which WRED distinguishes them. Without a map that applies, a
// frame is green.
type colourMaps struct {
	dscp  *[64]uint8 // colour of IP packets
	dot1p *[8]uint8  // colour of tagged frames
}

// trafficClass returns the traffic class of a received frame. The DSCP map applies to IP packets, then the 802.1p map
// to tagged frames. Without a map that applies, it is the default.
func (q *qosClass) trafficClass(h *headers) uint8 {
	switch {
	case q.dscp != nil && h.flags&flagIP != 0:
		return q.dscp[h.tos>>2]
	case q.dot1p != nil && h.flags&flagTagged != 0:
		return q.dot1p[h.tci[0]>>13]
	}
	return q.defaultTC
}

// colour returns the colour of a received frame, by the maps in the order of those of traffic classes.
func (m *colourMaps) colour(h *headers) tm.Colour {
	switch {
	case m.dscp != nil && h.flags&flagIP != 0:
		return tm.Colour(m.dscp[h.tos>>2])
	case m.dot1p != nil && h.flags&flagTagged != 0:
		return tm.Colour(m.dot1p[h.tci[0]>>13])
	}
	return tm.Green
}

// queueOf returns the queue of a traffic class at a port with n queues.
func (q *qosClass) queueOf(tc uint8, n int) uint8 {
	if q.queue != nil && int(tc) < len(q.queue) {
		tc = q.queue[tc]
	}
	return min(tc, uint8(n-1))
}
