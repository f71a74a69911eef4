package tm

import "math/bits"

// A Shaper limits the rate at which packets leave a queue or a port. The zero value does not limit.
type Shaper struct {
	Rate, Burst uint64 // per second, and at once, beside the packet that exceeds it; in packets or bytes
	Packets     bool   // true for packets, false for bytes of frames with FCS
}

// A bucket holds the tokens of a shaper in parts. A token has as many parts as a second has cycles, so that a bucket of
// rate R gets exactly R parts each cycle.
type bucket struct {
	Shaper
	hz   uint64
	has  uint64 // parts; zero while some are owed
	owed uint64 // parts that packets have used beyond those that there were
}

const mostParts = 1<<64 - 1

// fill adds the tokens of some cycles.
func (b *bucket) fill(cycles uint64) {
	hi, parts := bits.Mul64(b.Rate, cycles)
	if hi != 0 {
		parts = mostParts
	}
	pays := min(b.owed, parts)
	b.owed -= pays
	b.has += min(parts-pays, b.Burst*b.hz-b.has)
}

// spend uses the tokens of a packet of n bytes.
func (b *bucket) spend(n uint64) {
	parts := b.hz
	if !b.Packets {
		parts *= frameBytes(n)
	}
	pays := min(b.has, parts)
	b.has -= pays
	b.owed += parts - pays
}

// wait returns the number of cycles until no parts are owed.
func (b *bucket) wait() uint64 {
	if b.owed == 0 {
		return 0
	}
	return (b.owed-1)/b.Rate + 1
}

// reshaped returns the bucket b with the settings s: nil if they do not limit. A new bucket is full.
func (b *bucket) reshaped(s Shaper, hz uint64) *bucket {
	switch {
	case s.Rate == 0:
		return nil
	case b == nil || b.Packets != s.Packets:
		return &bucket{Shaper: s, hz: hz, has: s.Burst * hz}
	}
	b.Shaper = s
	b.has = min(b.has, s.Burst*hz)
	return b
}

// Shape sets the shaper of the port.
func (p *Port[T]) Shape(s Shaper) {
	if s != (Shaper{}) || p.shaper != nil {
		p.shaper = p.shaper.reshaped(s, p.buffer.Hz)
	}
}

// shapeQueue sets the shaper of a queue.
func (p *Port[T]) shapeQueue(i int, s Shaper) {
	q := &p.queues[i]
	q.shaper = q.shaper.reshaped(s, p.buffer.Hz)
	p.shaped &^= 1 << i
	if q.shaper != nil {
		p.shaped |= 1 << i
	}
	p.hold(i)
}

// hold notes whether its shaper or a pause holds a queue.
func (p *Port[T]) hold(i int) {
	p.held &^= 1 << i
	p.pauses &^= 1 << i
	q := &p.queues[i]
	if q.paused > p.filled {
		p.pauses |= 1 << i
	}
	if b := q.shaper; b != nil && b.owed > 0 || q.paused > p.filled {
		p.held |= 1 << i
	}
}

// Obey sets whether queues of the port may be paused.
func (p *Port[T]) Obey(on bool) { p.obeys = on }

// Pause holds a queue until a cycle, whatever its shaper. Fill must have been called in this cycle.
func (p *Port[T]) Pause(i int, until uint64) {
	p.queues[i].paused = until
	p.hold(i)
}

// Shaped reports whether the port or one of its queues has a shaper, or may be paused.
func (p *Port[T]) Shaped() bool { return p.shaped != 0 || p.shaper != nil || p.obeys }

// Fill adds the tokens of the time up to a cycle, which must not be before that of the last call. It must precede
// Configure, Shape and, if the port is shaped, Wait and Dequeue.
func (p *Port[T]) Fill(now uint64) {
	cycles := now - p.filled
	p.filled = now
	if p.shaper != nil {
		p.shaper.fill(cycles)
	}
	for rest := p.shaped | p.pauses; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros32(rest)
		if b := p.queues[i].shaper; b != nil {
			b.fill(cycles)
		}
		p.hold(i)
	}
}

// Wait returns the number of cycles, from that of the last Fill on, until the shapers let a packet leave. The port must
// hold a packet.
func (p *Port[T]) Wait() (cycles uint64) {
	if p.busy&^p.held == 0 {
		cycles = mostParts
		for rest := p.busy; rest != 0; rest &= rest - 1 {
			cycles = min(cycles, p.queues[bits.TrailingZeros32(rest)].wait(p.filled))
		}
	}
	if p.shaper != nil {
		cycles = max(cycles, p.shaper.wait())
	}
	return cycles
}

// wait returns the number of cycles until neither its shaper nor a pause holds the queue.
func (q *Queue[T]) wait(now uint64) (cycles uint64) {
	if q.shaper != nil {
		cycles = q.shaper.wait()
	}
	return max(cycles, q.paused-min(q.paused, now))
}

// spend charges a packet of n bytes that leaves queue i to the shapers. A queue that they then hold loses its credit,
// and the turn if it has it.
func (p *Port[T]) spend(i int, n uint64) {
	if p.shaper != nil {
		p.shaper.spend(n)
	}
	q := &p.queues[i]
	if q.shaper == nil {
		return
	}
	q.shaper.spend(n)
	p.hold(i)
	if p.held>>i&1 == 0 {
		return
	}
	q.credit = 0
	if p.turn == i && p.strict>>i&1 == 0 {
		p.pass()
	}
}
