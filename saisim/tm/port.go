package tm

import (
	"math/bits"
	"slices"
)

// MaxQueues is the maximum number of queues of a port.
const MaxQueues = 16

// Quantum is the credit in bytes that a queue of weight 1 gets when its turn begins.
const Quantum = 256

// A Discipline defines how a queue is served.
type Discipline struct {
	Strict  bool
	Weight  uint32 // 1 .. 1000; ignored for strict queues
	Packets bool   // true if Weight counts packets instead of units of Quantum bytes
}

// A Limit bounds the cells that a queue holds beyond its reserved ones. The zero value means no limit.
type Limit struct {
	Static  bool
	Cells   uint64 // limit if Static
	Dynamic bool
	Alpha   int8 // if Dynamic, -16 .. 16: the limit is 2^Alpha times the free cells
}

// A WRED marks or drops packets of a colour before a queue is full. The zero value does nothing.
type WRED struct {
	ECN, Drop bool
	Min, Max  uint64 // bytes, Min < Max < 2^40
	Percent   uint64 // 0 .. 100
}

// Settings holds the configuration of one queue.
type Settings struct {
	Discipline Discipline
	Pool       int
	Reserved   uint64 // number of cells
	Limit      Limit
	WRED       [NumColours]WRED // by colour
	Shaper     Shaper
	Trim       bool // true if packets for which there is no space are trimmed; the packet path trims them
}

// DefaultSettings returns the settings of a queue that is not configured.
func DefaultSettings() Settings { return Settings{Discipline: Discipline{Weight: 1}} }

// Counts holds a queue's counters: packets and bytes (without FCS) since the start.
type Counts struct {
	Enqueued, EnqueuedBytes uint64
	Dequeued, DequeuedBytes uint64
	Purged                  uint64 // packets that were removed with the port
	DroppedFull             uint64
	DroppedTail             uint64
	DroppedWRED             uint64
	DroppedBytes            uint64 // bytes of packets dropped for any of the three reasons
	TrimCounts
	Marked             uint64
	Coloured           [NumColours - 1]ColourCounts // those of yellow and red packets
	MaxBytes, MaxCells uint64                       // high watermarks
}

// TrimCounts counts the packets that a queue has not admitted, and that were trimmed. DroppedFull and DroppedTail
// include them. At every instant,
//
//	Trimmed = TrimSent + TrimDropped + trimmed packets that are in the chip
type TrimCounts struct {
	Trimmed     uint64
	TrimSent    uint64 // left by the port
	TrimDropped uint64 // dropped, by the queue of trimmed packets or after it
}

// Add adds the counts of another queue.
func (t *TrimCounts) Add(x *TrimCounts) {
	t.Trimmed += x.Trimmed
	t.TrimSent += x.TrimSent
	t.TrimDropped += x.TrimDropped
}

// A Colour is the colour of a packet.
type Colour uint8

// The colours.
const (
	Green Colour = iota
	Yellow
	Red
	NumColours
)

// ColourCounts holds the counters of a queue for packets of one colour, which its other counters include.
type ColourCounts struct {
	Dequeued, DequeuedBytes uint64
	Dropped, DroppedBytes   uint64
	DroppedWRED, Marked     uint64
}

// An item is a packet in a queue.
type item[T any] struct {
	what   T
	bytes  uint32
	cells  uint16
	colour Colour
}

// A Queue holds packets of one port. The fields for packets that pass straight through are first.
type Queue[T any] struct {
	open  bool // no limit and no WRED: every packet that fits into the pool is admitted
	bytes uint64
	cells uint64
	Counts
	Settings
	items  Ring[item[T]]
	credit uint64
	random uint64
	shaper *bucket // nil if it has none
	paused uint64  // first cycle after its pause

	// The high watermarks that were cleared.
	clearedBytes, clearedCells uint64
}

// ClearBytes restarts the watermark of bytes at the present depth.
func (q *Queue[T]) ClearBytes() {
	q.clearedBytes, q.MaxBytes = max(q.clearedBytes, q.MaxBytes), q.bytes
}

// ClearCells restarts the watermark of cells at the present depth.
func (q *Queue[T]) ClearCells() {
	q.clearedCells, q.MaxCells = max(q.clearedCells, q.MaxCells), q.cells
}

// Deepest returns the largest depth since the start, whatever watermarks were cleared.
func (q *Queue[T]) Deepest() (bytes, cells uint64) {
	return max(q.clearedBytes, q.MaxBytes), max(q.clearedCells, q.MaxCells)
}

// Len returns the number of packets in the queue.
func (q *Queue[T]) Len() int { return q.items.n }

// Bytes returns the number of bytes of these packets.
func (q *Queue[T]) Bytes() uint64 { return q.bytes }

// Cells returns the number of cells that these packets occupy.
func (q *Queue[T]) Cells() uint64 { return q.cells }

// A Port holds the queues of one port.
type Port[T any] struct {
	buffer *Buffer
	queues []Queue[T]
	busy   uint32 // queues that hold packets
	strict uint32
	held   uint32 // queues that their shapers or pauses hold
	turn   int    // queue whose turn it is
	begun  bool   // true if that queue has received its credit
	n      int
	bytes  uint64

	obeys  bool    // true if queues may be paused
	pauses uint32  // queues that may be paused now
	shaped uint32  // queues that have a shaper
	shaper *bucket // shaper of the port; nil if it has none
	filled uint64  // cycle of the last Fill
}

// NewPort returns a port with n empty queues, 1 to MaxQueues. port only seeds their random numbers.
func NewPort[T any](b *Buffer, port uint16, n int) *Port[T] {
	p := &Port[T]{buffer: b, queues: make([]Queue[T], n)}
	for i := range p.queues {
		q := &p.queues[i]
		q.Settings, q.open, q.random = DefaultSettings(), true, Seed(port, uint8(i))
	}
	return p
}

// Queue returns the i-th queue. Its settings may be changed only by Configure.
func (p *Port[T]) Queue(i int) *Queue[T] { return &p.queues[i] }

// Queues returns the number of queues.
func (p *Port[T]) Queues() int { return len(p.queues) }

// Len returns the number of packets in all queues.
func (p *Port[T]) Len() int { return p.n }

// Bytes returns the number of bytes of these packets.
func (p *Port[T]) Bytes() uint64 { return p.bytes }

// Configure changes the settings of a queue. Its packets move to the new pool.
func (p *Port[T]) Configure(i int, s Settings) {
	q := &p.queues[i]
	old := &p.buffer.Pools[q.Pool]
	old.used -= q.cells
	old.reserved -= q.unused()
	q.Settings, q.open = s, !s.Limit.Static && !s.Limit.Dynamic && !s.early()
	to := &p.buffer.Pools[q.Pool]
	to.used += q.cells
	to.reserved += q.unused()
	p.strict &^= 1 << i
	if s.Discipline.Strict {
		p.strict |= 1 << i
	}
	p.shapeQueue(i, s.Shaper)
}

// early reports whether packets may be marked or dropped early.
func (s *Settings) early() bool {
	return slices.ContainsFunc(s.WRED[:], func(w WRED) bool { return w.ECN || w.Drop })
}

// unused returns the number of reserved cells that the queue does not use.
func (q *Queue[T]) unused() uint64 { return q.Reserved - min(q.Reserved, q.cells) }

// Enqueue adds a green packet of n bytes to queue i if it is admitted, and returns the verdict.
func (p *Port[T]) Enqueue(i int, what T, n uint32, ecnCapable bool) Verdict {
	return p.EnqueueColoured(i, what, n, ecnCapable, Green)
}

// EnqueueColoured does Enqueue for a packet of a colour.
func (p *Port[T]) EnqueueColoured(i int, what T, n uint32, ecnCapable bool, colour Colour) Verdict {
	q := &p.queues[i]
	pool := &p.buffer.Pools[q.Pool]
	v, cells, own := Admitted, uint64(1), uint64(0)
	if !q.surely(pool, p.buffer, n) {
		cells = p.buffer.Cells(uint64(n))
		own = min(cells, q.unused())
		v = q.admit(pool, cells, own, ecnCapable, colour)
	}
	if colour != Green {
		q.Coloured[colour-1].asked(v, n)
	}
	if v > Marked {
		q.DroppedBytes += uint64(n)
		pool.Dropped++
		return v
	}
	pool.used += cells
	pool.reserved -= own
	pool.MaxUsed = max(pool.MaxUsed, pool.used)
	q.cells += cells
	q.bytes += uint64(n)
	q.MaxCells, q.MaxBytes = max(q.MaxCells, q.cells), max(q.MaxBytes, q.bytes)
	q.Enqueued++
	q.EnqueuedBytes += uint64(n)
	q.items.Push(item[T]{what, n, uint16(cells), colour})
	p.busy |= 1 << i
	p.n++
	p.bytes += uint64(n)
	return v
}

// Pass does Enqueue and then Dequeue of a green packet for a port without packets. The packet is counted and never
// stored.
func (p *Port[T]) Pass(i int, n uint32, ecnCapable bool) Verdict {
	q := &p.queues[i]
	pool := &p.buffer.Pools[q.Pool]
	if !q.surely(pool, p.buffer, n) {
		return p.passClosely(i, n, ecnCapable)
	}
	if pool.MaxUsed == pool.used {
		pool.MaxUsed++
	}
	if q.MaxBytes < uint64(n) {
		q.MaxCells, q.MaxBytes = max(q.MaxCells, 1), uint64(n)
	}
	q.passed(uint64(n))
	if !q.Discipline.Strict {
		p.had(i)
	}
	return Admitted
}

// surely reports whether the queue admits a packet of n bytes in one cell of the pool, whatever else it holds.
func (q *Queue[T]) surely(pool *Pool, b *Buffer, n uint32) bool {
	return q.open && q.Reserved == 0 && uint64(n) <= b.CellBytes && pool.free() >= 1
}

// passClosely does Pass if admission needs a closer check.
func (p *Port[T]) passClosely(i int, n uint32, ecnCapable bool) Verdict {
	q := &p.queues[i]
	cells := p.buffer.Cells(uint64(n))
	pool := &p.buffer.Pools[q.Pool]
	v := q.admit(pool, cells, min(cells, q.Reserved), ecnCapable, Green)
	if v > Marked {
		q.DroppedBytes += uint64(n)
		pool.Dropped++
		return v
	}
	pool.MaxUsed = max(pool.MaxUsed, pool.used+cells)
	q.MaxCells, q.MaxBytes = max(q.MaxCells, cells), max(q.MaxBytes, uint64(n))
	q.passed(uint64(n))
	if !q.Discipline.Strict {
		p.had(i)
	}
	return v
}

// passed counts a packet of n bytes that passes straight through.
func (q *Queue[T]) passed(n uint64) {
	q.Enqueued++
	q.EnqueuedBytes += n
	q.Dequeued++
	q.DequeuedBytes += n
}

// had ends the turn of a queue that was served and is empty.
func (p *Port[T]) had(i int) {
	p.turn = i
	p.pass()
}

func (q *Queue[T]) admit(pool *Pool, cells, own uint64, ecnCapable bool, colour Colour) Verdict {
	free := pool.free()
	if shared := int64(cells - own); shared > 0 {
		if shared > free {
			q.DroppedFull++
			return Full
		}
		if (q.Limit.Static || q.Limit.Dynamic) && q.cells+cells-q.Reserved > q.Limit.of(uint64(free)) {
			q.DroppedTail++
			return Tail
		}
	}
	w := &q.WRED[colour]
	if !w.ECN && !w.Drop || !q.hit(w) {
		return Admitted
	}
	switch {
	case ecnCapable && w.ECN:
		q.Marked++
		return Marked
	case w.Drop:
		q.DroppedWRED++
		return WREDDrop
	}
	return Admitted
}

// asked counts the verdict on a packet of n bytes.
func (c *ColourCounts) asked(v Verdict, n uint32) {
	switch {
	case v == Marked:
		c.Marked++
	case v > Marked:
		c.Dropped++
		c.DroppedBytes += uint64(n)
		if v == WREDDrop {
			c.DroppedWRED++
		}
	}
}

// of returns the limit, given the number of free cells. There must be one.
func (l *Limit) of(free uint64) uint64 {
	switch {
	case l.Static:
		return l.Cells
	case l.Alpha >= 0:
		return free << l.Alpha
	}
	return free >> -l.Alpha
}

// hit reports whether WRED hits a packet in the queue's current state.
func (q *Queue[T]) hit(w *WRED) bool {
	switch {
	case q.bytes < w.Min:
		return false
	case q.bytes >= w.Max:
		return true
	}
	r := next(&q.random) >> 32
	hi, lo := bits.Mul64(r*100, w.Max-w.Min)
	phi, plo := bits.Mul64(w.Percent<<32, q.bytes-w.Min)
	return hi < phi || hi == phi && lo < plo
}

// Dequeue removes the next packet. The port must hold a packet that its shapers let leave. It returns the packet and
// its queue.
func (p *Port[T]) Dequeue() (what T, queue int) {
	if s := p.busy & p.strict &^ p.held; s != 0 {
		queue = bits.Len32(s) - 1
	} else {
		queue = p.roundRobin()
	}
	it := p.dequeue(queue)
	if it.colour != Green {
		n := &p.queues[queue].Coloured[it.colour-1]
		n.Dequeued++
		n.DequeuedBytes += uint64(it.bytes)
	}
	if p.Shaped() {
		p.spend(queue, uint64(it.bytes))
	}
	return it.what, queue
}

// roundRobin returns the queue to be served next, and charges its first packet.
func (p *Port[T]) roundRobin() int {
	for {
		if waiting := p.busy &^ p.strict &^ p.held; waiting>>p.turn&1 == 0 { // turns of empty and held queues end
			later := waiting >> p.turn << p.turn
			if later == 0 {
				later = waiting
			}
			p.turn, p.begun = bits.TrailingZeros32(later), false
		}
		q := &p.queues[p.turn]
		if !p.begun {
			p.begun = true
			q.credit += q.quantum()
		}
		if cost := q.cost(); cost <= q.credit {
			q.credit -= cost
			if q.items.n == 1 {
				turn := p.turn
				p.pass()
				return turn
			}
			return p.turn
		}
		p.pass()
	}
}

// pass ends a turn.
func (p *Port[T]) pass() {
	p.begun = false
	if p.turn++; p.turn == len(p.queues) {
		p.turn = 0
	}
}

func (q *Queue[T]) quantum() uint64 {
	if q.Discipline.Packets {
		return uint64(q.Discipline.Weight)
	}
	return uint64(q.Discipline.Weight) * Quantum
}

// Bytes of the FCS, and of the smallest frame with it.
const (
	fcs      = 4
	minFrame = 64
)

// cost returns the credit that the queue's first packet costs.
func (q *Queue[T]) cost() uint64 {
	if q.Discipline.Packets {
		return 1
	}
	return frameBytes(uint64(q.items.First().bytes))
}

// frameBytes returns the bytes of a frame with FCS.
func frameBytes(n uint64) uint64 { return max(n+fcs, minFrame) }

// dequeue removes the first packet of a queue.
func (p *Port[T]) dequeue(i int) item[T] {
	q := &p.queues[i]
	it := *q.items.First()
	q.items.Pop()
	if q.items.n == 0 {
		p.busy &^= 1 << i
		q.credit = 0
	}
	pool := &p.buffer.Pools[q.Pool]
	was := q.unused()
	q.cells -= uint64(it.cells)
	q.bytes -= uint64(it.bytes)
	pool.used -= uint64(it.cells)
	pool.reserved += q.unused() - was
	q.Dequeued++
	q.DequeuedBytes += uint64(it.bytes)
	p.n--
	p.bytes -= uint64(it.bytes)
	return it
}

// Purge empties all queues, in the order of queues and oldest packets first, and passes the packets to f. It also ends
// the reservations. The port must not be used afterwards.
func (p *Port[T]) Purge(f func(T)) {
	for i := range p.queues {
		q := &p.queues[i]
		for q.items.n > 0 {
			it := p.dequeue(i)
			q.Dequeued--
			q.DequeuedBytes -= uint64(it.bytes)
			q.Purged++
			f(it.what)
		}
		p.Configure(i, DefaultSettings())
	}
}

// Each calls f with the packets in the queue, oldest first.
func (q *Queue[T]) Each(f func(T)) {
	for i := range q.items.n {
		f(q.items.At(i).what)
	}
}
