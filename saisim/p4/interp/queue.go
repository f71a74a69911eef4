package interp

// Queues hold packets between ingress and egress. A packet is a number to them. The switch calls Enqueue, and then Next
// until nothing leaves any more.
type Queues interface {
	// Enqueue stores a packet at a cycle and returns the number of packets in its queue before it. It returns false if
	// the queue has no space.
	Enqueue(now uint64, port uint32, priority, bytes, packet int) (depth int, ok bool)
	// Next removes the packet that leaves next, at limit or before. depth is the number of packets that its queue has
	// left. ok is false if no packet leaves until then.
	Next(limit uint64) (at uint64, packet, depth int, ok bool)
}

// queueSettings are the rate and the size of the queues of one port and priority.
type queueSettings struct {
	rate uint64 // packets per second; 0 for no limit
	size int    // packets
}

type queueID struct {
	port     uint32
	priority int
}

// A waiting is a packet in a queue.
type waiting struct {
	packet   int
	leaves   uint64
	priority int
	order    int
}

type queue struct {
	queueSettings
	packets []waiting
	last    uint64 // cycle at which the last packet left or will leave; 0 before the first, as in bmv2
}

// IdealQueues are queues with a rate in packets and a size each, as in bmv2's simple_switch. Queues of one port do not
// wait for each other.
type IdealQueues struct {
	hz       uint64
	queues   map[queueID]*queue
	defaults queueSettings
	ports    map[uint32]queueSettings
	order    int
}

// NewIdealQueues returns queues without a rate, of 64 packets each, for a clock of so many cycles per second.
func NewIdealQueues(hz uint64) *IdealQueues {
	return &IdealQueues{
		hz: hz, queues: map[queueID]*queue{}, ports: map[uint32]queueSettings{}, defaults: queueSettings{0, 64},
	}
}

// SetRate sets the rate in packets per second; 0 means no limit. A negative port means all ports, a negative priority
// all priorities.
func (q *IdealQueues) SetRate(rate uint64, port, priority int) {
	q.change(port, priority, func(s *queueSettings) { s.rate = rate })
}

// SetSize sets the size in packets, for ports and priorities as in SetRate.
func (q *IdealQueues) SetSize(size, port, priority int) {
	q.change(port, priority, func(s *queueSettings) { s.size = size })
}

func (q *IdealQueues) change(port, priority int, f func(*queueSettings)) {
	switch {
	case port < 0:
		f(&q.defaults)
		for p, s := range q.ports {
			f(&s)
			q.ports[p] = s
		}
	case priority < 0:
		s := q.settings(uint32(port))
		f(&s)
		q.ports[uint32(port)] = s
	default:
		f(&q.queue(queueID{uint32(port), priority}).queueSettings)
		return
	}
	for id, s := range q.queues {
		if port < 0 || uint32(port) == id.port {
			f(&s.queueSettings)
		}
	}
}

func (q *IdealQueues) settings(port uint32) queueSettings {
	if s, ok := q.ports[port]; ok {
		return s
	}
	return q.defaults
}

func (q *IdealQueues) queue(id queueID) *queue {
	if q.queues[id] == nil {
		q.queues[id] = &queue{queueSettings: q.settings(id.port)}
	}
	return q.queues[id]
}

// Enqueue implements Queues. Packets of a queue leave one per period of its rate, rounded up to a cycle. The
// first leaves one period after cycle 0 or later.
func (q *IdealQueues) Enqueue(now uint64, port uint32, priority, _, packet int) (int, bool) {
	s := q.queue(queueID{port, priority})
	depth := len(s.packets)
	if depth >= s.size {
		return depth, false
	}
	leaves := now
	if s.rate > 0 {
		leaves = max(now, s.last+(q.hz+s.rate-1)/s.rate)
	}
	s.last = leaves
	q.order++
	s.packets = append(s.packets, waiting{packet, leaves, priority, q.order})
	return depth, true
}

// Next implements Queues. Of packets that leave at the same cycle, the one of the highest priority leaves
// first, and then the one that was enqueued first.
func (q *IdealQueues) Next(limit uint64) (uint64, int, int, bool) {
	var best *queue
	for _, s := range q.queues {
		if len(s.packets) == 0 || s.packets[0].leaves > limit {
			continue
		}
		if best == nil || s.packets[0].before(best.packets[0]) {
			best = s
		}
	}
	if best == nil {
		return 0, 0, 0, false
	}
	w := best.packets[0]
	best.packets = best.packets[1:]
	return w.leaves, w.packet, len(best.packets), true
}

func (w waiting) before(o waiting) bool {
	switch {
	case w.leaves != o.leaves:
		return w.leaves < o.leaves
	case w.priority != o.priority:
		return w.priority > o.priority
	}
	return w.order < o.order
}
