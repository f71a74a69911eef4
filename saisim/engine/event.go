package engine

// Events of one cycle are handled class by class, and within a class port by port. Departures free capacity before
// arrivals are queued.
const (
	classControl      = iota // a control batch takes effect
	classSent                // a frame's timestamp point at an egress MAC
	classPause               // queues are held, because a frame of flow control has arrived
	classRefresh             // a pause at the peer is refreshed
	classDequeue             // a port's scheduler is free again
	classServe               // the egress pipe accepts a frame of a waiting port
	classMirror              // a copy to be mirrored leaves an egress pipe
	classRecirculated        // a mirror copy reaches spliced groups of CMUs
	classReport              // drops are reported
	classQueue               // a packet leaves the ingress pipe
	classEnter               // a packet enters the ingress pipe
	classReceived            // an ingress MAC has a complete frame
	classAge                 // an FDB entry may have become too old
	numClasses
)

// An event is due at a cycle. At most one event of each class and port is pending. The order (at, key) is total, so the
// order of work does not depend on the order in which events were scheduled.
type event struct {
	at  Cycle
	key uint32 // class << 16 | port
}

func eventKey(class int, p PortID) uint32 { return uint32(class)<<16 | uint32(p) }

func (e event) class() int { return int(e.key >> 16) }

func (e event) port() PortID { return PortID(e.key & 0xffff) }

func (e event) before(f event) bool {
	return e.at < f.at || e.at == f.at && e.key < f.key
}

// A heap is a binary min-heap. It is typed, so that pushing never boxes.
type heap[T interface{ before(T) bool }] []T

func (h *heap[T]) push(e T) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
	*h = s
}

// pop removes the first element. The heap must not be empty.
func (h *heap[T]) pop() {
	s := *h
	n := len(s) - 1
	e := s[n]
	var zero T
	s[n] = zero
	s = s[:n]
	*h = s
	if n == 0 {
		return
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && s[down+1].before(s[down]) {
			down++
		}
		if !s[down].before(e) {
			break
		}
		s[i] = s[down]
		i = down
	}
	s[i] = e
}
