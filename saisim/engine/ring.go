package engine

import (
	"tamtam/saisim/config"
	"tamtam/saisim/drop"
)

// A keptRow is a [Kept] without pointers, about two thirds of a KiB, so that the garbage collector need not scan a ring
// of them.
type keptRow struct {
	keptEnd
	hop  [16]byte
	vr   config.ID
	path [keptNotes]note
	data [keptHead]byte
}

// A keptEnd is a [Drop] without its bytes.
type keptEnd struct {
	at, queuedAt           Cycle
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
	head, notes            uint8 // number of bytes in data and of notes in path
}

// A ring keeps the last rows. It allocates memory in pieces as rows arrive, up to its size.
type ring struct {
	pieces [][]keptRow
	size   uint64
	n      uint64 // number of rows ever kept
}

func newRing(size int) *ring {
	return &ring{size: uint64((size + keptPiece - 1) / keptPiece * keptPiece)}
}

// next returns the row for one more ended packet or copy. It replaces the oldest row if the ring is full.
func (r *ring) next() *keptRow {
	i := r.n % r.size
	if i/keptPiece == uint64(len(r.pieces)) {
		r.pieces = append(r.pieces, make([]keptRow, keptPiece))
	}
	r.n++
	return &r.pieces[i/keptPiece][i%keptPiece]
}

// keep stores one more ended packet or copy.
func (r *ring) keep(what What, d *Drop, p *path) {
	k := r.next()
	k.at, k.id, k.number, k.length, k.depth = d.At, d.ID, d.Number, uint32(d.Len), d.Depth
	k.in, k.port, k.copy, k.what, k.why, k.trap, k.queue = d.In, d.Port, uint16(d.Copy), what, d.Why, d.Trap, d.Queue
	k.punted, k.mirror, k.queued, k.queuedAt = d.Punted, d.Mirror, d.Queued, d.QueuedAt
	k.head = uint8(copy(k.data[:], d.Data))
	k.notes, k.unkept, k.hop, k.vr = p.n, p.unkept, p.hop, p.vr
	copy(k.path[:p.n], p.of[:p.n])
}

// kept returns the row's contents in to. The bytes stay in the row.
func (k *keptRow) kept(to *Kept, names []string) {
	to.Drop = Drop{
		At: k.at, ID: k.id, Number: k.number, Copy: uint32(k.copy), In: k.in, Port: k.port, Why: k.why,
		Punted: k.punted, Trap: k.trap, Mirror: k.mirror, Queued: k.queued, Queue: k.queue, Depth: k.depth,
		QueuedAt: k.queuedAt, Data: k.data[:k.head], Len: int(k.length),
	}
	to.What, to.Unkept, to.Path = k.what, k.unkept, to.Path[:0]
	for i := range k.notes {
		to.Path = append(to.Path, k.path[i].finding(&k.hop, k.vr, names))
	}
}

// KeptRows holds some rows of a ring, in the ring's form.
type KeptRows struct {
	rows  [keptPiece]keptRow
	n     int
	names []string // names of programs' tables
}

// copyRows copies the rows from position n to position to-1, the oldest first. Positions count all rows ever kept. It
// returns the position of the next row, or to if no row follows.
func (r *ring) copyRows(n, to uint64, into *KeptRows) (next uint64) {
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

// Each calls a function for the rows, the oldest first, until it returns false. It returns the last result. The
// argument is valid only during the call.
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

// Len returns the number of rows.
func (k *KeptRows) Len() int { return k.n }

// A RingState holds the number of ends that a ring has kept, and how many of them it has overwritten since.
type RingState struct{ Kept, Forgotten uint64 }

func (r *ring) state() RingState {
	if r == nil {
		return RingState{}
	}
	return RingState{r.n, r.n - min(r.n, r.size)}
}

// dropListeners holds the listeners of drops. Each field is empty if there is none of its kind. Listeners must not keep
// pointers that they receive, must not allocate, and must not change the chip.
type dropListeners struct {
	reported []*func(*Drop)
	ring     *ring
	// reports is true if drops are noted for reporting.
	reports bool
	now     Drop // the drop that is being reported, reused to avoid allocations
	path    path // path of that drop
	// inside is true if the drop is in the egress pipe. behind is true if it is after that pipe.
	inside, behind bool
	sample         bool // true if the next drop is the end of a sample
}
