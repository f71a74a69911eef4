package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A keptRow is a [Kept] without pointers, two thirds of a KiB, so that the collector of garbage has no work with a ring
// of them.
type keptRow struct {
	keptEnd
	hop  [16]byte
	path [keptNotes]note
	data [keptHead]byte
}

// A keptEnd is a [Drop] without its bytes.
type keptEnd struct {
	at                     Cycle
	id, number             uint64
	length, depth          uint32
	in, port               PortID
	copy                   uint16
	what                   What
	why                    drop.Reason
	trap                   config.Trap
	queue                  uint8
	punted, mirror, queued bool
	unkept                 Unkept
	head, notes            uint8 // how many there are
}

// A ring keeps the last rows. It has memory for as many as there have been, in pieces, up to its size.
type ring struct {
	pieces [][]keptRow
	size   uint64
	n      uint64 // how many there have been
}

func newRing(size int) *ring {
	return &ring{size: uint64((size + keptPiece - 1) / keptPiece * keptPiece)}
}

// next returns the row for one more, in the place of the oldest if there is no room.
func (r *ring) next() *keptRow {
	i := r.n % r.size
	if i/keptPiece == uint64(len(r.pieces)) {
		r.pieces = append(r.pieces, make([]keptRow, keptPiece))
	}
	r.n++
	return &r.pieces[i/keptPiece][i%keptPiece]
}

// keep keeps one more.
func (r *ring) keep(what What, d *Drop, p *path) {
	k := r.next()
	k.at, k.id, k.number, k.length, k.depth = d.At, d.ID, d.Number, uint32(d.Len), d.Depth
	k.in, k.port, k.copy, k.what, k.why, k.trap, k.queue = d.In, d.Port, uint16(d.Copy), what, d.Why, d.Trap, d.Queue
	k.punted, k.mirror, k.queued = d.Punted, d.Mirror, d.Queued
	k.head = uint8(copy(k.data[:], d.Data))
	k.notes, k.unkept, k.hop = p.n, p.unkept, p.hop
	copy(k.path[:p.n], p.of[:p.n])
}

// kept says what is in the row; the bytes stay in it.
func (k *keptRow) kept(to *Kept, names []string) {
	to.Drop = Drop{
		At: k.at, ID: k.id, Number: k.number, Copy: uint32(k.copy), In: k.in, Port: k.port, Why: k.why,
		Punted: k.punted, Trap: k.trap, Mirror: k.mirror, Queued: k.queued, Queue: k.queue, Depth: k.depth,
		Data: k.data[:k.head], Len: int(k.length),
	}
	to.What, to.Unkept, to.Path = k.what, k.unkept, to.Path[:0]
	for i := range k.notes {
		to.Path = append(to.Path, k.path[i].finding(&k.hop, names))
	}
}

// KeptRows has room for some of what a ring keeps, as the ring has it.
type KeptRows struct {
	rows  [keptPiece]keptRow
	n     int
	names []string // of tables of programs
}

// take copies rows that came behind the first n, the oldest first, but none behind the first to. Of those before it
// returns how many there have been.
func (r *ring) take(n, to uint64, into *KeptRows) (next uint64) {
	if into.n = 0; r == nil {
		return to
	}
	if r.n > r.size {
		n = max(n, r.n-r.size)
	}
	if n >= min(to, r.n) {
		return to
	}
	i := n % r.size
	piece := r.pieces[i/keptPiece][i%keptPiece:]
	into.n = copy(into.rows[:], piece[:min(uint64(len(piece)), min(to, r.n)-n)])
	return n + uint64(into.n)
}

// Each calls a function for the rows, the oldest first, until it returns false, which it returns then. What it is given
// is valid during the call only.
func (k *KeptRows) Each(do func(*Kept) bool) bool {
	var x Kept
	for i := range k.rows[:k.n] {
		k.rows[i].kept(&x, k.names)
		if !do(&x) {
			return false
		}
	}
	return true
}

// Len returns how many there are.
func (k *KeptRows) Len() int { return k.n }

// A RingState is how many ends a ring has kept, and how many of them it has forgotten since.
type RingState struct{ Kept, Forgotten uint64 }

func (r *ring) state() RingState {
	if r == nil {
		return RingState{}
	}
	return RingState{r.n, r.n - min(r.n, r.size)}
}

// dropTakers are those who want drops told, each empty if there is none. They must keep nothing of what they are told
// by pointer, allocate nothing, and leave the chip as it is.
type dropTakers struct {
	told []*func(*Drop)
	ring *ring
	// reports says that drops are noted, to be reported.
	reports bool
	now     Drop // what is being told, so that it is not made anew each time
	path    path // of it
	// inside and behind say where it is: in the egress pipe, or behind it.
	inside, behind bool
	sample         bool // what is told next is the end of a sample
}
