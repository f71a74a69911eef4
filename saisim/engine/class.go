package engine

// A qosClass defines how a port sorts frames: received frames into traffic classes, leaving frames into queues. A nil
// map is not configured.
type qosClass struct {
	dscp      *[64]uint8 // traffic class of IP packets
	dot1p     *[8]uint8  // traffic class of tagged frames
	defaultTC uint8      // traffic class of all other frames
	queue     *[16]uint8 // queue of each traffic class
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

// queueOf returns the queue of a traffic class at a port with n queues.
func (q *qosClass) queueOf(tc uint8, n int) uint8 {
	if q.queue != nil && int(tc) < len(q.queue) {
		tc = q.queue[tc]
	}
	return min(tc, uint8(n-1))
}
