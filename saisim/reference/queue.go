package reference

import (
	"math/big"

	"tamtam/saisim"
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
	"tamtam/saisim/profile"
	"tamtam/saisim/tm"
)

// A queue holds the copies that wait for a port's egress. Its admission and scheduling follow the text of saisim/tm,
// and use none of its code.
type queue struct {
	tm.Settings
	tm.Counts
	items  []*outgoing
	credit int
	random uint64
	shaper shaper
	paused saisim.Cycle // first cycle after its pause
	burst  *burst       // nil if it is in none
	bursts uint64       // number of bursts that have begun
}

// holds reports whether the queue's shaper or a pause holds it in a cycle.
func (q *queue) holds(now saisim.Cycle) bool { return q.shaper.holds(now) || q.paused > now }

func (q *queue) bytes() (n int) {
	for _, o := range q.items {
		n += o.bufferBytes()
	}
	return n
}

func (q *queue) cells(prof profile.Profile) (n int) {
	for _, o := range q.items {
		n += cellsOf(prof, o)
	}
	return n
}

func cellsOf(prof profile.Profile, o *outgoing) int {
	size := int(prof.Buffer.CellBytes)
	return max(1, (o.bufferBytes()+size-1)/size)
}

// A scheduler serves the queues of a port.
type scheduler struct {
	queues []*queue
	turn   int
	begun  bool
	all    shaper // shaper of the port
}

func newScheduler(prof profile.Profile, id saisim.PortID) scheduler {
	var s scheduler
	for i := range int(prof.Queues) {
		s.queues = append(s.queues, &queue{Settings: tm.DefaultSettings(), random: tm.Seed(uint16(id), uint8(i))})
	}
	return s
}

// configure changes the settings of the port's queues, and its shaper, after the work of a cycle.
func (s *scheduler) configure(to config.QoS, now saisim.Cycle, hz uint64) {
	for i, settings := range to.Queues {
		s.queues[i].Settings = settings
		s.queues[i].shaper.set(settings.Shaper, now, hz)
	}
	s.all.set(to.Shaper, now, hz)
}

func (s *scheduler) pass() { s.turn, s.begun = (s.turn+1)%len(s.queues), false }

func (s *scheduler) empty() bool {
	for _, q := range s.queues {
		if len(q.items) > 0 {
			return false
		}
	}
	return true
}

// QueueState returns the content and counters of a queue. It returns false if there is no such queue.
func (c *Chip) QueueState(id saisim.PortID, i int) (saisim.QueueState, bool) {
	p := c.portAt(id)
	if p == nil || i >= len(p.queues) {
		return saisim.QueueState{}, false
	}
	q := p.queues[i]
	return saisim.QueueState{
		Packets: uint64(len(q.items)), Bytes: uint64(q.bytes()), Cells: uint64(q.cells(c.prof)), Counts: q.Counts,
	}, true
}

// choose returns the queue that supplies the next packet. At least one queue that no shaper holds must not be empty.
func (s *scheduler) choose(now saisim.Cycle) *queue {
	for i := len(s.queues) - 1; i >= 0; i-- {
		if q := s.queues[i]; q.Discipline.Strict && len(q.items) > 0 && !q.holds(now) {
			return q
		}
	}
	for ; ; s.pass() {
		q := s.queues[s.turn]
		if q.Discipline.Strict || len(q.items) == 0 || q.holds(now) {
			continue
		}
		quantum, cost := int(q.Discipline.Weight)*tm.Quantum, max(q.items[0].bufferBytes()+fcs, smallest)
		if q.Discipline.Packets {
			quantum, cost = int(q.Discipline.Weight), 1
		}
		if !s.begun {
			s.begun = true
			q.credit += quantum
		}
		if cost > q.credit {
			continue
		}
		q.credit -= cost
		if len(q.items) == 1 {
			s.pass()
		}
		return q
	}
}

// spend takes the tokens of a copy that has left a queue. A queue that is held after that has neither credit nor turn.
func (s *scheduler) spend(q *queue, o *outgoing, now saisim.Cycle) {
	s.all.spend(o, now)
	q.shaper.spend(o, now)
	if !q.shaper.holds(now) {
		return
	}
	q.credit = 0
	if !q.Discipline.Strict && s.queues[s.turn] == q {
		s.pass()
	}
}

// dequeue dequeues the first copy of the queue.
func (q *queue) dequeue() *outgoing {
	o := q.items[0]
	q.items = q.items[1:]
	if len(q.items) == 0 {
		q.credit = 0
	}
	q.Dequeued++
	q.DequeuedBytes += uint64(o.bufferBytes())
	q.count(o, func(n *tm.ColourCounts) {
		n.Dequeued++
		n.DequeuedBytes += uint64(o.bufferBytes())
	})
	return o
}

// free returns how many cells of a pool are neither used nor reserved.
func (c *Chip) free(pool int) int {
	n := c.conf.poolCells(c.prof, pool)
	for _, p := range c.ports {
		for _, q := range p.queues {
			if q.Pool == pool {
				n -= max(q.cells(c.prof), int(q.Reserved))
			}
		}
	}
	return n
}

// ask decides whether a queue accepts a copy. mark reports whether the copy is to be marked.
func (c *Chip) ask(q *queue, o *outgoing, ecnCapable bool) (mark bool, why drop.Reason, ok bool) {
	held, n := q.cells(c.prof), cellsOf(c.prof, o)
	own := min(n, max(0, int(q.Reserved)-held))
	free := c.free(q.Pool)
	switch {
	case n-own > max(0, free) && n > own:
		q.DroppedFull++
		return false, drop.Buffer, false
	case n > own && q.limited(held+n-int(q.Reserved), free):
		q.DroppedTail++
		return false, drop.QueueLimit, false
	}
	w := q.WRED[o.colour()]
	if !w.ECN && !w.Drop || !q.hit(w) {
		return false, 0, true
	}
	if ecnCapable && w.ECN {
		q.Marked++
		q.count(o, func(n *tm.ColourCounts) { n.Marked++ })
		return true, 0, true
	}
	if w.Drop {
		q.DroppedWRED++
		q.count(o, func(n *tm.ColourCounts) { n.DroppedWRED++ })
		return false, drop.WRED, false
	}
	return false, 0, true
}

// limited reports whether so many cells exceed the limit of the queue.
func (q *queue) limited(cells, free int) bool {
	switch {
	case q.Limit.Static:
		return cells > int(q.Limit.Cells)
	case q.Limit.Dynamic && q.Limit.Alpha >= 0:
		return cells > free<<q.Limit.Alpha
	case q.Limit.Dynamic:
		return cells > free/(1<<-q.Limit.Alpha)
	}
	return false
}

// hit reports WRED's decision, computed with fractions of big integers.
func (q *queue) hit(w tm.WRED) bool {
	n := uint64(q.bytes())
	if n < w.Min || n >= w.Max {
		return n >= w.Max
	}
	x := q.random
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	q.random = x
	r := (x * 2685821657736338717) >> 32
	num := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	drawn := new(big.Rat).SetFrac(num(r), num(1<<32))
	chance := new(big.Rat).SetFrac(new(big.Int).Mul(num(w.Percent), num(n-w.Min)),
		new(big.Int).Mul(num(100), num(w.Max-w.Min)))
	return drawn.Cmp(chance) < 0
}

// trafficClass classifies a received frame.
func trafficClass(qos config.QoS, h headers) uint8 {
	if qos.DSCP != nil && h.ip != nil {
		return qos.DSCP[h.ip.tos>>2]
	}
	if qos.Dot1p != nil && len(h.tags) > 0 {
		return qos.Dot1p[h.tags[0].tci>>13]
	}
	return qos.DefaultTC
}

// colourOf returns the colour of a received frame.
func colourOf(qos config.QoS, h headers) tm.Colour {
	if qos.DSCPColour != nil && h.ip != nil {
		return tm.Colour(qos.DSCPColour[h.ip.tos>>2])
	}
	if qos.Dot1pColour != nil && len(h.tags) > 0 {
		return tm.Colour(qos.Dot1pColour[h.tags[0].tci>>13])
	}
	return tm.Green
}

// count counts what happens to a copy of a colour.
func (q *queue) count(o *outgoing, do func(n *tm.ColourCounts)) {
	if colour := o.colour(); colour != tm.Green {
		do(&q.Coloured[colour-tm.Yellow])
	}
}

// queueOf returns which of n queues a traffic class uses.
func queueOf(qos config.QoS, tc uint8, n int) int {
	if qos.Queue != nil && tc < 16 {
		tc = qos.Queue[tc]
	}
	return min(int(tc), n-1)
}

func fold(sum uint32) uint32 {
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return sum
}
