package engine

// A qosClass says how a port sorts frames: what comes in into traffic classes,
// what goes out into queues. A nil map is not configured.
type qosClass struct {
	dscp      *[64]uint8 // traffic class of IP packets
	dot1p     *[8]uint8  // of tagged frames
	defaultTC uint8      // of the rest
	queue     *[16]uint8 // of each traffic class
}

// trafficClass sorts a frame that came in: by DSCP if it is IP and there is such a
// map, else by its tag if it has one and there is such a map.
func (q *qosClass) trafficClass(h *headers) uint8 {
	switch {
	case q.dscp != nil && h.flags&flagIP != 0:
		return q.dscp[h.tos>>2]
	case q.dot1p != nil && h.flags&flagTagged != 0:
		return q.dot1p[h.tci[0]>>13]
	}
	return q.defaultTC
}

// queueOf returns the queue of a traffic class, where there are n.
func (q *qosClass) queueOf(tc uint8, n int) uint8 {
	if q.queue != nil && int(tc) < len(q.queue) {
		tc = q.queue[tc]
	}
	return min(tc, uint8(n-1))
}
